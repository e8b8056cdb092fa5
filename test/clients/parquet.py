"""Compares two folders of Parquet files, one for each view, and prints what is in one only, as one JSON document.

Called by views.test.ts with the two folders.
"""
import json
import sys
from pathlib import Path

import duckdb

con = duckdb.connect()
con.execute("set timezone = 'UTC'")

# Minutes that go on between one file and the other, and the instants of two syncs.
moving = {
    "minutes_open",
    "complete_through",
    "deletes_checked_at",
    "last_success_at",
    "deleted_at",
    "deleted_at_local",
}


def relation(folder, name):
    columns = [row[0] for row in con.execute(f"describe select * from '{folder}/{name}'").fetchall()]
    kept = ", ".join(f'"{column}"' for column in columns if column not in moving)
    return f"select {kept} from '{folder}/{name}'"


def count(sql):
    return con.execute(f"select count(*) from ({sql})").fetchone()[0]


folders = sys.argv[1:3]
names = [sorted(path.name for path in Path(folder).glob("*.parquet")) for folder in folders]
seen = {"names": names, "files": {}}
for name in names[0]:
    first, second = (relation(folder, name) for folder in folders)
    seen["files"][name] = {
        "rows": count(first),
        "types": [con.execute(f"describe {sql}").fetchall() for sql in (first, second)],
        "only": [count(f"({a}) except all ({b})") for a, b in ((first, second), (second, first))],
    }
print(json.dumps(seen))
