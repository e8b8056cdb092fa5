"""
The load of dlt: its `rest_api` source as the first example of its documentation shows it (merge by key, incremental by
`updated_at`), one pipeline per tenant. `lag`: its setting of that name, in seconds. With `count`: the rows of each table.
"""

import sys

import dlt
from dlt.sources.rest_api import rest_api_source
from source import api, headers, is_postgres, key, lag, password, report, server, start, task, tenants


def destination():
    if is_postgres:
        return dlt.destinations.postgres(server._replace(netloc=f"postgres:{password}@127.0.0.1:{server.port}").geturl())
    return dlt.destinations.sqlalchemy("sqlite:///" + task["folder"] + "/dlt.db")


def list_of(tenant, name):
    def stamped(record):
        record["tenant_id"] = tenant
        return record

    incremental = {"cursor_path": "updated_at", "initial_value": start}
    if lag:
        incremental["lag"] = lag
    return {
        "name": name,
        "primary_key": key,
        "write_disposition": "merge",
        "endpoint": {
            "path": f"tenants/{tenant}/{name}",
            "params": {"per_page": 100, "updated_after": "{incremental.start_value}"},
            "incremental": incremental,
            "data_selector": "results",
        },
        "processing_steps": [{"map": stamped}],
    }


def pipeline_of(tenant):
    return dlt.pipeline(
        pipeline_name=f"tenant_{tenant}",
        pipelines_dir=task["folder"] + "/pipelines",
        destination=destination(),
        dataset_name=task["schema"] if is_postgres else "main",
    )


def load(tenant):
    paginator = {"type": "page_number", "base_page": 1, "page_param": "page", "total_path": "total_pages"}
    source = rest_api_source(
        {
            "client": {"base_url": api + "/", "headers": headers, "paginator": paginator},
            "resources": [list_of(tenant, name) for name in task["resources"]],
        },
        name="shop",
    )
    pipeline_of(tenant).run(source)


def counts():
    pipeline = pipeline_of(tenants[0])
    rows = {}
    with pipeline.sql_client() as client:
        for table in pipeline.default_schema.data_tables():
            name = client.make_qualified_table_name(table["name"])
            with client.execute_query(f"SELECT count(*) FROM {name}") as cursor:
                rows[table["name"]] = cursor.fetchone()[0]
    return rows


if sys.argv[2:] == ["count"]:
    report(counts)
else:
    for number in tenants:
        load(number)
