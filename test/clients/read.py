"""Reads every view of both warehouses as analysts do, and prints what each client saw, as one JSON document.

Called by clients.test.ts with the SQLite file, the URL of Postgres, and the schema of its views.
"""
import json
import sys
from decimal import Decimal

import duckdb
import pandas as pd
from duckdb_extensions import import_extension
from sqlalchemy import create_engine

file, url, schema = sys.argv[1:4]


def duck():
    """A connection with both warehouses attached, read only, without the network."""
    con = duckdb.connect()
    for extension in ("sqlite_scanner", "postgres_scanner"):
        import_extension(extension, con=con)
        con.execute(f"load {extension}")
    con.execute(f"attach '{file}' as lite (type sqlite, read_only)")
    con.execute(f"attach '{url}' as pg (type postgres, read_only)")
    con.execute("set timezone = 'UTC'")
    return con


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
    """How many orders aren't a first visit: as `~` has it, and after the conversion of docs/bi.md."""
    orders = pd.read_sql_query("select is_first_visit from orders", engine, dtype_backend="numpy_nullable")
    flag = orders["is_first_visit"]
    return {
        "type": str(flag.dtype),
        "naive": int((~flag).sum()),
        "right": int((~flag.astype("boolean")).sum()),
        "rows": int((flag == 0).sum()),
    }


def main():
    con = duck()
    engines = {"sqlite": create_engine(f"sqlite:///{file}")}
    options = {"options": f"-csearch_path={schema}"}
    engines["postgres"] = create_engine(url.replace("postgres://", "postgresql+psycopg://"), connect_args=options)
    names = [row[0] for row in con.execute(
        "select table_name from information_schema.tables where table_catalog = 'lite' and table_type = 'VIEW' order by 1"
    ).fetchall()]
    seen = {}
    for name in names:
        types = con.execute(f'describe lite."{name}"').fetchall()
        seen[name] = {
            "untyped": [column for column, kind, *_ in types if kind in ("BLOB", "NULL")],
            "duckdb sqlite": summary(con.execute(f'select * from lite."{name}"').df()),
            "duckdb postgres": summary(con.execute(f'select * from pg."{schema}"."{name}"').df()),
            **{
                f"pandas {kind}": summary(
                    pd.read_sql_query(f'select * from "{name}"', engine, dtype_backend="numpy_nullable"))
                for kind, engine in engines.items()
            },
        }
    print(json.dumps({"views": seen, "flags": {kind: flags(engine) for kind, engine in engines.items()}}))


main()
