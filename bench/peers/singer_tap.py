"""
A tap made with Meltano's Singer SDK, as the documentation's first REST stream and its example of incremental replication
show them: one stream per list, one partition per tenant, pages by number.
"""

from singer_sdk import RESTStream, Tap
from singer_sdk.pagination import BasePageNumberPaginator
from source import api, headers, key, schema_of, start, task, tenants


class Pages(BasePageNumberPaginator):
    def has_more(self, response):
        return self.current_value < response.json()["total_pages"]


class ShopStream(RESTStream):
    url_base = api
    primary_keys = key
    replication_key = "updated_at"
    records_jsonpath = "$.results[*]"
    http_headers = headers
    partitions = [{"tenant_id": tenant} for tenant in tenants]

    def get_new_paginator(self):
        return Pages(start_value=1)

    def get_url_params(self, context, next_page_token):
        since = self.get_starting_timestamp(context)
        after = since.isoformat() if since else start
        return {"per_page": 100, "page": next_page_token or 1, "updated_after": after}


class TapShop(Tap):
    name = "tap-shop"
    config_jsonschema = {"type": "object", "properties": {}}

    def discover_streams(self):
        return [self.stream_of(name) for name in task["resources"]]

    def stream_of(self, name):
        members = {"name": name, "path": f"/tenants/{{tenant_id}}/{name}", "schema": schema_of(name)}
        return type(name, (ShopStream,), members)(tap=self)


if __name__ == "__main__":
    import sys

    TapShop.cli(args=sys.argv[2:])
