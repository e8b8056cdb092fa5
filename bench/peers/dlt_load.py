"""
The load of dlt: its `rest_api` source as its documentation's first example shows it (merge by key, incremental by
`updated_at`), one pipeline a tenant. Argument: the task of bench/load.ts with two members more, `folder` for dlt's
own state and `destination`. Prints one line of JSON; bench/peers/dlt.ts starts it.
"""

import json
import resource
import sys
import time

import dlt
from dlt.sources.rest_api import rest_api_source

task = json.loads(sys.argv[1])
# Ids are unique within a tenant.
key = ["tenant_id", "id"]


def destination():
    if task["url"].startswith("sqlite:"):
        return dlt.destinations.sqlalchemy("sqlite:///" + task["folder"] + "/dlt.db")
    # dlt insists on a password; the bench's server trusts everybody.
    return dlt.destinations.postgres(task["url"].replace("postgres@", "postgres:none@"))


def list_of(tenant, name):
    def stamped(record):
        record["tenant_id"] = tenant
        return record

    return {
        "name": name,
        "primary_key": key,
        "write_disposition": "merge",
        "endpoint": {
            "path": f"tenants/{tenant}/{name}",
            "params": {
                "per_page": 100,
                "updated_after": "{incremental.start_value}",
            },
            "incremental": {"cursor_path": "updated_at", "initial_value": "1970-01-01T00:00:00Z"},
            "data_selector": "results",
        },
        "processing_steps": [{"map": stamped}],
    }


def load(tenant):
    source = rest_api_source(
        {
            "client": {
                "base_url": task["source"] + "/api/v1/",
                "headers": {"x-api-partner-id": "42", "x-api-secret": "bench"},
                "paginator": {
                    "type": "page_number",
                    "base_page": 1,
                    "page_param": "page",
                    "total_path": "total_pages",
                },
            },
            "resources": [list_of(tenant, name) for name in task["resources"]],
        },
        name="shop",
    )
    pipeline = dlt.pipeline(
        pipeline_name=f"tenant_{tenant}",
        pipelines_dir=task["folder"] + "/pipelines",
        destination=destination(),
        dataset_name="main" if task["url"].startswith("sqlite:") else task["schema"],
    )
    pipeline.run(source)
    return pipeline


start = time.perf_counter()
for number in range(1, task["tenants"] + 1):
    last = load(number)
seconds = time.perf_counter() - start

own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
rows = 0
with last.sql_client() as client:
    for table in last.default_schema.data_tables():
        with client.execute_query(f"SELECT count(*) FROM {client.make_qualified_table_name(table['name'])}") as cursor:
            rows += cursor.fetchone()[0]
print(
    json.dumps(
        {
            "rows": rows,
            "seconds": seconds,
            "cpu": own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime,
            # Kilobytes on Linux, bytes on macOS.
            "megabytes": max(own.ru_maxrss, children.ru_maxrss) / (1024 if sys.platform == "linux" else 1024**2),
        }
    )
)
