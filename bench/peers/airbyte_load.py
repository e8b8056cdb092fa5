"""
The load of PyAirbyte: `get_source` and `read` as in the first example of its documentation, with a declarative manifest
(incremental by `updated_at`, one partition per tenant), into its default cache, DuckDB, or into Postgres. PyAirbyte 0.71.3
doesn't give the state that it stored to a manifest that it runs itself, so each run reads everything. With a `lag`, if only
of 0, the same manifest is run by `source-declarative-manifest` in a process of its own, as Airbyte's platform does it, which
gets the state; the lag is the manifest's `lookback_window`. With `count`: the rows of each table.
"""

import sys
from pathlib import Path

import airbyte
from airbyte.caches import DuckDBCache, PostgresCache
from source import api, headers, is_postgres, key, lag, password, report, schema_of, server, start, task, tenants

FORMATS = ["%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M:%SZ"]


def stream_of(name):
    cursor = {
        "type": "DatetimeBasedCursor",
        "cursor_field": "updated_at",
        "datetime_format": FORMATS[0],
        "cursor_datetime_formats": FORMATS,
        "start_datetime": {"type": "MinMaxDatetime", "datetime": start, "datetime_format": FORMATS[1]},
        "start_time_option": {"type": "RequestOption", "inject_into": "request_parameter", "field_name": "updated_after"},
    }
    if lag:
        cursor["lookback_window"] = f"PT{lag}S"
    return {
        "type": "DeclarativeStream",
        "name": name,
        "primary_key": key,
        "incremental_sync": cursor,
        "retriever": {
            "type": "SimpleRetriever",
            "requester": {
                "type": "HttpRequester",
                "url_base": api,
                "path": "/tenants/{{ stream_partition.tenant_id }}/" + name,
                "http_method": "GET",
                "request_headers": headers,
            },
            "record_selector": {
                "type": "RecordSelector",
                "extractor": {"type": "DpathExtractor", "field_path": ["results"]},
            },
            "partition_router": {
                "type": "ListPartitionRouter",
                "values": [str(tenant) for tenant in tenants],
                "cursor_field": "tenant_id",
            },
            "paginator": {
                "type": "DefaultPaginator",
                "page_token_option": {"type": "RequestOption", "inject_into": "request_parameter", "field_name": "page"},
                "page_size_option": {
                    "type": "RequestOption",
                    "inject_into": "request_parameter",
                    "field_name": "per_page",
                },
                "pagination_strategy": {
                    "type": "PageIncrement",
                    "start_from_page": 1,
                    "page_size": 100,
                    "inject_on_first_request": True,
                },
            },
        },
        "transformations": [
            {
                "type": "AddFields",
                "fields": [
                    {
                        "type": "AddedFieldDefinition",
                        "path": ["tenant_id"],
                        "value": "{{ stream_partition.tenant_id }}",
                        "value_type": "integer",
                    }
                ],
            }
        ],
        "schema_loader": {"type": "InlineSchemaLoader", "schema": schema_of(name)},
    }


def cache():
    if is_postgres:
        return PostgresCache(
            host=server.hostname,
            port=server.port,
            username=server.username,
            password=password,
            database=server.path[1:],
            schema_name=task["schema"],
            cache_dir=task["folder"] + "/files",
        )
    return DuckDBCache(db_path=task["folder"] + "/cache.duckdb", cache_dir=task["folder"] + "/files")


def load():
    manifest = {
        "version": "6.0.0",
        "type": "DeclarativeSource",
        "check": {"type": "CheckStream", "stream_names": task["resources"][:1]},
        "streams": [stream_of(name) for name in task["resources"]],
        "spec": {
            "type": "Spec",
            "connection_specification": {"type": "object", "properties": {}, "additionalProperties": True},
        },
    }
    if lag is None:
        source = airbyte.get_source("source-shop", config={}, source_manifest=manifest)
    else:
        name = "source-declarative-manifest"
        config = {"__injected_declarative_manifest": manifest}
        source = airbyte.get_source(name, config=config, local_executable=Path(sys.executable).with_name(name))
    source.select_all_streams()
    source.read(cache=cache())


def counts():
    from sqlalchemy import text

    its = cache()
    with its.get_sql_engine().connect() as db:
        return {name: db.execute(text(f"select count(*) from {its.schema_name}.{name}")).scalar() for name in task["resources"]}


if sys.argv[2:] == ["count"]:
    report(counts)
else:
    load()
