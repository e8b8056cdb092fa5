"""
The load of Singer: `tap | target-postgres`, each a process of its own, with the defaults of target-postgres. The last line
of the target's output is the state that the next run gets. With `count`: the rows of each table.
"""

import json
import subprocess
import sys
from pathlib import Path

from source import password, report, server, task

folder = Path(task["folder"])
state = folder / "state.json"
config = folder / "target.json"
tools = Path(sys.executable).parent


def load():
    settings = {
        "host": server.hostname,
        "port": server.port,
        "user": server.username,
        "password": password,
        "database": server.path[1:],
        "default_target_schema": task["schema"],
    }
    config.write_text(json.dumps(settings))
    tap = [sys.executable, str(Path(__file__).with_name("singer_tap.py")), sys.argv[1]]
    if state.exists():
        tap += ["--state", str(state)]
    with subprocess.Popen(tap, stdout=subprocess.PIPE) as source:
        target = subprocess.run(
            [str(tools / "target-postgres"), "--config", str(config)], stdin=source.stdout, stdout=subprocess.PIPE, check=True
        )
    if source.returncode != 0:
        sys.exit(f"Error: the tap ended with {source.returncode}")
    lines = target.stdout.decode().strip().splitlines()
    if lines:
        state.write_text(lines[-1])


def counts():
    from sqlalchemy import create_engine, text

    address = f"postgresql+psycopg://{server.username}:{password}@{server.hostname}:{server.port}{server.path}"
    with create_engine(address).connect() as db:
        return {name: db.execute(text(f'select count(*) from {task["schema"]}.{name}')).scalar() for name in task["resources"]}


if sys.argv[2:] == ["count"]:
    report(counts)
else:
    load()
