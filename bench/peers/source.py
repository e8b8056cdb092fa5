"""
What the loads of all peers share: the task (a file, named by the first argument), the source's addresses and headers, and
the declared fields of its records as a JSON schema. Fields of the task are those of `Task` in bench/peers/peer.ts.
"""

import json
import sys
from urllib.parse import urlsplit

with open(sys.argv[1], encoding="utf-8") as file:
    task = json.load(file)

api = task["source"] + "/api/v1"
headers = {"x-api-partner-id": "42", "x-api-secret": "bench-secret"}
start = "1970-01-01T00:00:00Z"
tenants = range(1, task["tenants"] + 1)
# Ids are unique within a tenant.
key = ["tenant_id", "id"]
lag = task["lag"]

is_postgres = task["url"].startswith("postgres")
server = urlsplit(task["url"])
# The bench's server trusts everybody, and some of the tools insist on a password.
password = "none"

TYPES = {
    "id": "integer",
    "integer": "integer",
    "cents": "integer",
    "number": "number",
    "boolean": "boolean",
    "json": "object",
}


def property_of(member):
    if member["type"] == "field":
        kind = member["kind"]
        time = {"format": "date-time"} if kind == "timestamp" else {}
        return {"type": [TYPES.get(kind, "string"), "null"], **time}
    return {"type": ["array" if member["type"] in ("many", "scalars") else "object", "null"]}


def schema_of(resource):
    """The declared fields; nested objects and arrays are one column each."""
    fields = {name: property_of(member) for name, member in task["fields"][resource].items()}
    fields["id"] = {"type": "integer"}
    fields["updated_at"] = {"type": "string", "format": "date-time"}
    return {"type": "object", "properties": {"tenant_id": {"type": "integer"}, **fields}}


def report(counts):
    """Prints how many rows each table has; `counts` is only called when the bench asks for it."""
    print(json.dumps(counts()))
