"""Continues a copy of the customers by the snippet of docs/increments.md, and compares it with the warehouse.

Called by increments.test.ts with the file of the snippet, the warehouse (a SQLite file or a URL), a file that keeps the
copy, and the schema.
"""
import json
import os
import pickle
import sys

import pandas as pd
from sqlalchemy import create_engine, event

snippet, place, kept, schema = sys.argv[1:5]
customers = "shopsync.customers" if not place.startswith("postgres") else f"{schema}.customers"
is_lite = not place.startswith("postgres")
engine = create_engine("sqlite://" if is_lite else place.replace("postgres://", "postgresql+psycopg://"))
if is_lite:

    @event.listens_for(engine, "connect")
    def attach(connection, _):
        for name in ("shopsync", "shopsync_analytics"):
            connection.execute(f"attach '{place}' as {name}")


if os.path.exists(kept):
    with open(kept, "rb") as file:
        copy, since = pickle.load(file)
else:
    copy = pd.read_sql(f"select * from {customers} where 1 = 0", engine)
    since = pd.Series(dtype=object)

beginning = "1970-01-01T00:00:00.000000Z" if is_lite else pd.Timestamp(0, tz="UTC")
names = {"pd": pd, "engine": engine, "copy": copy, "since": since, "beginning": beginning}
with open(snippet) as file:
    exec(file.read(), names)
with open(kept, "wb") as file:
    pickle.dump((names["copy"], names["since"]), file)

live = pd.read_sql(f"select * from {customers} where _deleted_at is null", engine)
cells = lambda frame: sorted(frame.sort_index(axis=1).astype(str).values.tolist())
print(json.dumps({"rows": len(live), "equal": cells(names["copy"]) == cells(live)}))
