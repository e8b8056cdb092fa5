"""
Tables of what `npm run bench -- peers` found: prints them, and writes them into pages between their marks.

    python3 bench/peers/tables.py bench/peers/results.json [docs/comparison.md README.md]
"""

import json
import re
import sys
from statistics import median
from textwrap import fill

MARKS = r"(<!-- peers{}: written by npm run bench -- peers -->\n).*(<!-- end of peers -->)"


def table(heads, rows):
    """In Markdown; columns of numbers are aligned to the right."""

    def is_number(cell):
        return re.fullmatch(r"[-+\d.,+×–\s]*", cell) is not None

    lines = ["---:" if i > 0 and all(is_number(row[i]) for row in rows) else "---" for i in range(len(heads))]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [heads, lines, *rows])


def number(value):
    return f"{value:,.0f}"


def tool(results, one):
    if "peer" not in one:
        name = f"{one['name']} {results['shopsync']} on Node {results['node']}"
        return f"- {name}, with its defaults: writes {one['writes']}."
    versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
    return f"- {one['name']} ({versions}): {one['how']}; writes {one['writes']}."


def arrivals(results):
    its = results["list"]
    heads = [
        "",
        "missing after the first load",
        "after another run, nothing changes",
        f"after {its['late']} late commits",
        f"shown after {its['deleted']} more are deleted",
        "after `shopsync reconcile`",
        "requests of each run",
    ]
    rows = []
    for one in results["arrivals"]:
        runs = one["runs"]
        last = runs[4] if len(runs) > 4 else None
        rows.append(
            [
                one["contender"],
                *[str(run["missing"]) for run in runs[:3]],
                str(runs[3]["shown"]),
                f"{last['missing']} missing, {last['shown']} shown" if last else "–",
                ", ".join(str(run["requests"]) for run in runs),
            ]
        )
    fewest = min((one["runs"][0]["listed"] for one in results["arrivals"]), default=its["notes"])
    what = f"A list of {number(its['notes'])} notes, newest first, into Postgres. During the first load, {its['notes'] - fewest} notes"
    return f"{what} that have been read already are deleted.\n\n{table(heads, rows)}"


def scene(its):
    orders = f"{number(its['orders'])} repair orders"
    tenants = "" if its["tenants"] == 1 else f" in each of {its['tenants']} tenants, with their four other lists"
    latency = f", each page answered after {its['latency']} ms" if its["latency"] else ""
    rounds = "one round" if its["rounds"] == 1 else f"medians of {its['rounds']} rounds"
    return f"{orders}{tenants}{latency} ({rounds})"


def loads(its):
    samples = {}
    for one in its["samples"]:
        samples.setdefault((one["contender"], one["warehouse"]), []).append(one)

    def middle(which, of):
        return median(of(one) for one in samples[which])

    rows = []
    for which, all_of in samples.items():
        name, warehouse = which
        own = ("shopsync", "Postgres" if warehouse == "Postgres" else "SQLite")
        seconds = middle(which, lambda one: one["seconds"])
        times = seconds / middle(own, lambda one: one["seconds"]) if own in samples and own != which else None
        tables = all_of[-1]["rows"]
        rows.append(
            [
                f"{name}, {warehouse}",
                f"{seconds:.1f}",
                f"{times:.1f} ×" if times else "",
                f"{middle(which, lambda one: one['cpu']):.1f}",
                number(middle(which, lambda one: one["megabytes"])),
                f"{middle(which, lambda one: one['again']['seconds']):.1f}",
                f"{all_of[-1]['requests']} + {all_of[-1]['again']['requests']}",
                number(sum(tables.values())),
            ]
        )
    heads = ["", "seconds", "of shopsync's", "processor s", "peak MB", "nothing new, s", "requests", "rows written"]
    return f"{scene(its)}:\n\n{table(heads, rows)}"


def text_of(results):
    tools = "\n".join(tool(results, one) for one in results["contenders"] if "lag" not in one)
    parts = [
        f"Measured on {results['date']} on {results['cores']} cores, the source in another process on the same machine, one "
        f"program after the other:\n\n{tools}\n",
        arrivals(results),
        *[loads(one) for one in results["loads"]],
        *[f"Failed: {one}\n" for one in results["failures"]],
    ]
    return "\n" + "\n".join(parts) + "\n"


def in_short(results):
    """What README compares: each tool at its best, with its state."""
    columns = [
        ("shopsync", "shopsync", "shopsync", None),
        ("dlt", "dlt", "dlt", "dlt, `lag` of 300 s"),
        ("Meltano (Singer SDK)", "Singer SDK", "Singer SDK", None),
        (
            "Airbyte (PyAirbyte)",
            "PyAirbyte",
            "PyAirbyte, source in a process of its own",
            "the same, `lookback_window` of 300 s",
        ),
    ]
    runs = {one["contender"]: one["runs"] for one in results["arrivals"]}
    writes = {one["name"]: one.get("writes", "") for one in results["contenders"]}

    def late(usual, lagging):
        missing = runs[usual][2]["missing"]
        return f"{missing}; with a lag {runs[lagging][2]['missing']}" if lagging else str(missing)

    def speed(name):
        samples = [
            one
            for one in results["loads"][0]["samples"]
            if one["contender"] == name and one["warehouse"] == "Postgres"
        ]
        seconds, peak = (median(one[of] for one in samples) for of in ("seconds", "megabytes"))
        tables = "" if "per nested array" in writes[name] else ", one table"
        return f"{seconds:.1f} s, {number(peak)} MB{tables}"

    listed = runs["shopsync"][0]["listed"]
    first = [runs[usual][0] for _, _, usual, _ in columns]
    rows = [
        [f"records lost for good, of {number(listed)}, on a list that shifts", *[str(run["missing"]) for run in first]],
        [f"and after {results['list']['late']} records show up late", *[late(usual, lag) for _, _, usual, lag in columns]],
        ["requests of that first load: the price of it", *[str(run["requests"]) for run in first]],
        ["reports whether a list was read completely", "for each list and run", "no", "no", "no"],
        ["finds deletions without reading everything again", "yes", "no", "no", "no"],
        [f"{number(results['loads'][0]['orders'])} orders into Postgres", *[speed(name) for _, name, _, _ in columns]],
    ]
    versions = [
        f"{one['name']} {next(iter(one['versions'].values()))}"
        for one in results["contenders"]
        if one.get("versions") and "lag" not in one
    ]
    how = (
        f"Measured on {results['date']} on a machine with {results['cores']} cores, with shopsync {results['shopsync']}, "
        f"{', '.join(versions)}, each set up as in the first example of its documentation; PyAirbyte's lists with its state "
        "(by itself, each run reads everything again)."
    )
    return f"{table(['', *[head for head, _, _, _ in columns]], rows)}\n{fill(how, 128)}\n"


with open(sys.argv[1], encoding="utf-8") as file:
    results = json.load(file)
print(text_of(results))
is_whole = len(results["arrivals"]) == len(results["contenders"])
for name in sys.argv[2:]:
    with open(name, encoding="utf-8") as file:
        page = file.read()
    if not re.search(MARKS.format(".*"), page, re.S):
        sys.exit(f"{name} lacks the marks {MARKS}")
    for part, text in [("", text_of), *([(" in short", in_short)] if is_whole else [])]:
        page = re.sub(MARKS.format(part), lambda marks: marks[1] + text(results) + marks[2], page, flags=re.S)
    with open(name, "w", encoding="utf-8") as file:
        file.write(page)
