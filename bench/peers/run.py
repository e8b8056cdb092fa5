"""
Makes the virtual environments of the peers, and measures one run of any contender as its user would start it: the whole
process with its children, from start to end. Called by bench/peers/peer.ts; prints one line of JSON.

    python3 run.py about dlt singer     which contenders there are, with versions; installs what isn't there yet
    python3 run.py load dlt TASK        one load, measured
    python3 run.py count dlt TASK       the rows of each table that it has written
    python3 run.py load node FILE ...   one run of any other program with its arguments, measured

The working directory is where a contender keeps its state.
"""

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

here = Path(__file__).parent
# The environments are kept, one for each set of versions.
cache = Path(os.environ.get("SHOPSYNC_BENCH_PEERS") or Path(tempfile.gettempdir()) / "shopsync-bench-peers")
SAMPLE_SECONDS = 0.1

PACKAGES = {
    "dlt": ["dlt"],
    "singer": ["singer-sdk", "meltanolabs-target-postgres"],
    "airbyte": ["airbyte", "airbyte-cdk"],
}
# A contender with a lag is only compared by what arrives.
CONTENDERS = [
    {"name": "shopsync", "warehouses": ["SQLite", "Postgres"], "how": "its defaults", "writes": "a table per nested array"},
    {
        "name": "dlt",
        "peer": "dlt",
        "warehouses": ["SQLite", "Postgres"],
        "how": "`rest_api` source, merge by key, incremental by `updated_at`",
        "writes": "a table per nested array",
        # Its parallel loaders can lock each other out of a SQLite file.
        "otherwise": {"LOAD__WORKERS": "1"},
    },
    {"name": "dlt, `lag` of 300 s", "peer": "dlt", "warehouses": ["Postgres"], "lag": 300},
    {
        "name": "Singer SDK",
        "peer": "singer",
        "warehouses": ["Postgres"],
        "how": "a REST stream per list, incremental by `updated_at`, piped into target-postgres",
        "writes": "a table per list, nested arrays as JSON",
    },
    {
        "name": "PyAirbyte",
        "peer": "airbyte",
        "warehouses": ["DuckDB", "Postgres"],
        "how": "a declarative manifest, incremental by `updated_at`, into its cache",
        "writes": "a table per list, nested arrays as JSON",
    },
    {"name": "PyAirbyte, source in a process of its own", "peer": "airbyte", "warehouses": ["Postgres"], "lag": 0},
    {"name": "the same, `lookback_window` of 300 s", "peer": "airbyte", "warehouses": ["Postgres"], "lag": 300},
]
# Nothing is reported to anybody, and no registry of connectors is asked.
QUIET = {
    "RUNTIME__DLTHUB_TELEMETRY": "false",
    "DO_NOT_TRACK": "1",
    "AIRBYTE_OFFLINE_MODE": "1",
}


def say(text):
    print(text, file=sys.stderr, flush=True)


def last_line(text):
    """The line that tells what failed; some tools print hints below it."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()] or [""]
    telling = [line for line in lines if "Error" in line or "Exception" in line or "locked" in line]
    return (telling or lines)[-1][:300]


def python_of(name):
    requirements = here / f"requirements-{name}.txt"
    version = ".".join(map(str, sys.version_info[:2]))
    digest = hashlib.sha256(requirements.read_bytes() + version.encode()).hexdigest()[:12]
    folder = cache / f"{name}-{digest}"
    python = folder / "bin" / "python"
    if (folder / "ready").exists():
        return python
    say(f"installing {name} into {folder}")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "-r", requirements]
    try:
        for words in ([sys.executable, "-m", "venv", "--clear", folder], pip):
            subprocess.run(words, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = last_line(getattr(error, "stderr", None) or str(error))
        say(
            f"{name} is left out: it needs Python 3.10 to 3.12 with venv and pip, and a package index that has what "
            f"bench/peers/{requirements.name} names ({reason})"
        )
        return None
    (folder / "ready").touch()
    return python


def tree(pid):
    """A process and all that it started, as Linux shows them."""
    children = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children += [int(child) for child in file.read_text().split()]
        except OSError:
            pass
    return [pid] + [each for child in children for each in tree(child)]


def resident(pid):
    """Memory of a process and all its descendants, in bytes; shared memory counts for each."""
    pages = 0
    for each in tree(pid):
        try:
            pages += int(Path(f"/proc/{each}/statm").read_text().split()[1])
        except (OSError, IndexError):
            pass
    return pages * resource.getpagesize()


def measured(words, env):
    peak = 0
    parent = os.getppid()
    with tempfile.TemporaryFile("w+") as errors:
        begun = time.perf_counter()
        running = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=errors)

        def sample():
            nonlocal peak
            while running.returncode is None:
                peak = max(peak, resident(running.pid))
                # The bench was stopped.
                if os.getppid() != parent:
                    running.kill()
                time.sleep(SAMPLE_SECONDS)

        threading.Thread(target=sample, daemon=True).start()
        code = running.wait()
        seconds = time.perf_counter() - begun
        errors.seek(0)
        said = errors.read()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Kilobytes on Linux, bytes on macOS; of the largest single process.
    largest = used.ru_maxrss * (1024 if sys.platform == "linux" else 1)
    return code, said, {
        "seconds": seconds,
        "cpu": used.ru_utime + used.ru_stime,
        "megabytes": max(peak, largest) / 1024**2,
    }


def about(names):
    """The contenders among these that this machine can install, with their versions."""
    asked = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
    versions = {}
    for name in names:
        python = python_of(name) if name in PACKAGES else None
        if python:
            found = json.loads(subprocess.check_output([python, "-c", asked, *PACKAGES[name]], text=True))
            versions[name] = {**found, "Python": sys.version.split()[0]}
    return [
        {**one, "versions": versions.get(one.get("peer"), {})}
        for one in CONTENDERS
        if one.get("peer", "") in versions or one["name"] in names
    ]


def main():
    what, name, *words = sys.argv[1:]
    if what == "about":
        print(json.dumps(about([name, *words])))
        return
    env = {**os.environ, **QUIET}
    # Whoever has it set would measure the compiler.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    is_peer = name in PACKAGES
    program = [python_of(name), here / f"{name}_load.py", *words] if is_peer else [name, *words]
    if what == "count":
        said = subprocess.run([*program, "count"], env=env, capture_output=True, text=True)
        if said.returncode != 0:
            sys.exit(last_line(said.stderr))
        print(said.stdout.strip().splitlines()[-1])
        return
    code, said, figures = measured(program, env)
    # shopsync's 1: it ran, and something needs attention, such as a list that wasn't read completely.
    if code not in (0, 1) or (code == 1 and is_peer):
        sys.exit(last_line(said) or f"{name} ended with {code}")
    print(json.dumps({**figures, "code": code}))


main()
