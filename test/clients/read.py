"""Reads views of both warehouses in pandas as analysts do, and prints what it saw, as one JSON document.

Called by views.test.ts with the SQLite file, the URL of Postgres, the schema of its views, and their names.
"""
import json
import sys
from decimal import Decimal

import pandas as pd
from sqlalchemy import create_engine

file, url, schema, *names = sys.argv[1:]
options = {"options": f"-csearch_path={schema}"}
engines = {
    "sqlite": create_engine(f"sqlite:///{file}"),
    "postgres": create_engine(url.replace("postgres://", "postgresql+psycopg://"), connect_args=options),
}


def read(engine, sql):
    return pd.read_sql_query(sql, engine, dtype_backend="numpy_nullable")


def summary(frame):
    """Rows, and the sum of each column of numbers or flags, with the digits that a binary float keeps."""
    sums = {}
    for name in frame.columns:
        values = [value for value in frame[name].tolist() if not pd.isna(value)]
        # Its minutes go on between one client and the next.
        if name != "minutes_open" and values and all(isinstance(value, (bool, int, float, Decimal)) for value in values):
            sums[name] = float(f"{float(sum(values)):.9g}")
    return {"rows": len(frame), "sums": sums}


def flags(engine):
    """How many orders aren't a first visit: as `~` has it, and after the conversion of docs/analytics.md."""
    flag = read(engine, "select is_first_visit from orders")["is_first_visit"]
    return {
        "type": str(flag.dtype),
        "naive": int((~flag).sum()),
        "right": int((~flag.astype("boolean")).sum()),
        "rows": int((flag == 0).sum()),
    }


views = {
    name: {kind: summary(read(engine, f'select * from "{name}"')) for kind, engine in engines.items()} for name in names
}
print(json.dumps({"views": views, "flags": {kind: flags(engine) for kind, engine in engines.items()}}))
