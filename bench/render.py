#!/usr/bin/env python3
"""Makes the tables and the chart of docs/performance.md of what `compare.py --json` wrote.

    bench/compare.py --scale 10 --threads 2 --memory --json result.json
    bench/render.py result.json                            Markdown tables to standard output
    bench/render.py result.json --svg docs/tpch-scale-10.svg

The chart has a bar for every query and peer: how many times as long as Volley the peer takes, on a
logarithmic scale that begins at 1. A bar that goes down is a query in which the peer is faster.
"""

import argparse
import json
import math
import pathlib

import compare

NAMES = {"volley": "Volley", "duckdb": "DuckDB", "polars": "Polars", "datafusion": "DataFusion"}

# Okabe and Ito's palette, which people with any color vision can tell apart.
COLORS = {"duckdb": "#E69F00", "polars": "#0072B2", "datafusion": "#009E73"}


def engines_of(content):
    """Names of the measured engines, Volley first."""
    measured = {name for by_engine in content["queries"].values() for name in by_engine}
    return [name for name in compare.ENGINES if name in measured]


def titles(content):
    """{engine: name with the first two parts of its version}."""
    short = lambda name: "" if name == "volley" else " " + ".".join(content["versions"][name].split(".")[:2])
    return {name: NAMES[name] + short(name) for name in engines_of(content)}


def conditions(content):
    """One line that says what was measured, where and when."""
    settings, machine = content["settings"], content["machine"]
    times = f"best of {settings['runs']} x {settings['repeat']} runs"
    where = f"{machine['cpus']} CPUs ({machine['cpu']}), {machine['system']}, {machine['date']}"
    return f"TPC-H, scale {settings['scale']}, {settings['threads']} threads, {times}; {where}"


# Markdown.


def table(content, value, digits, total):
    """A table of `value(result)` by query and engine, with Volley's ratios to the peers.

    `total` names and makes the line below: a name and a function from a column to its cell.
    """
    names, named = engines_of(content), titles(content)
    peers = names[1:]
    lines = ["| query | " + " | ".join([named[it] for it in names] + ["/ " + NAMES[it] for it in peers]) + " |"]
    lines.append("|---" * (1 + len(names) + len(peers)) + "|")
    columns, quotients = {name: [] for name in names}, {peer: [] for peer in peers}
    for query, by_engine in content["queries"].items():
        values = {name: value(by_engine[name]) for name in names}
        cells = [query] + ["-" if values[it] is None else f"{values[it]:.{digits}f}" for it in names]
        for peer in peers:
            both = values["volley"] and values[peer]
            cells.append(f"{values['volley'] / values[peer]:.2f}" if both else "-")
            quotients[peer] += [values["volley"] / values[peer]] if both else []
        for name in names:
            columns[name] += [] if values[name] is None else [values[name]]
        lines.append("| " + " | ".join(cells) + " |")
    whole = {name: len(column) == len(content["queries"]) for name, column in columns.items()}
    name, combine = total
    sums = [f"{combine(columns[it]):.{digits}f}" if whole[it] else "-" for it in names]
    lines.append(f"| {name} | " + " | ".join(sums + [""] * len(peers)) + " |")
    means = [f"{compare.geomean(columns[it]):.{digits}f}" if whole[it] else "-" for it in names]
    means += [f"{compare.geomean(quotients[it]):.2f}" if quotients[it] else "-" for it in peers]
    lines.append("| geometric mean | " + " | ".join(means) + " |")
    return "\n".join(lines)


def mebibytes(result):
    added = compare.added_bytes(result)
    return added and added / 2**20


def markdown(content):
    digits = 2 if float(content["settings"]["scale"]) >= 10 else 3
    parts = [conditions(content) + ". Seconds:", table(content, compare.best, digits, ("sum", sum))]
    if any("peak_bytes" in it for by_engine in content["queries"].values() for it in by_engine.values()):
        parts += ["Peak memory that the query adds to its process, in MiB:", table(content, mebibytes, 0, ("most", max))]
    return "\n\n".join(parts)


# The chart.

WIDTH, HEIGHT = 1080, 440
LEFT, RIGHT, TOP, BOTTOM = 60, 16, 84, 52
BAR_GAP = 0.28  # of a group's width, between groups


def slowdowns(content):
    """[(label, {peer: its time / Volley's})] by query; the geometric means last."""
    peers = engines_of(content)[1:]
    groups = []
    for query, by_engine in content["queries"].items():
        times = {name: compare.best(by_engine[name]) for name in ["volley", *peers]}
        groups.append((query, {it: times[it] / times["volley"] for it in peers if times["volley"] and times[it]}))
    mean = {it: compare.geomean([ratios[it] for _, ratios in groups if it in ratios]) for it in peers}
    return groups + [("mean", {peer: ratio for peer, ratio in mean.items() if ratio})]


def ticks(low, high):
    """Readable ratios from the one at or below `low` to the one at or above `high`."""
    steps = sorted(base * 2.0**power for base in [1, 1.5] for power in range(-8, 9))
    first = max(it for it in steps if it <= low)
    last = min(it for it in steps if it >= high)
    return [it for it in steps if first <= it <= last]


def text(x, y, content, anchor="middle", size=12, more=""):
    escaped = str(content).replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{more}>{escaped}</text>'


def axis(marks, y_of):
    """Lines at the marks, the one at 1 strong, and their labels."""
    parts = []
    for mark in marks:
        y = y_of(mark)
        stroke = 'stroke="#333" stroke-width="1.5"' if mark == 1 else 'stroke="#ddd"'
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" {stroke}/>')
        parts.append(text(LEFT - 8, y + 4, f"{mark:.3g}", "end"))
    return parts


def bars(groups, peers, y_of):
    """The bars of all groups, each with a title that is shown under the mouse, and labels below."""
    width = (WIDTH - LEFT - RIGHT) / len(groups)
    bar = width * (1 - BAR_GAP) / len(peers)
    parts = []
    for at, (label, ratios) in enumerate(groups):
        left = LEFT + width * (at + BAR_GAP / 2)
        is_mean = label == "mean"
        for place, peer in enumerate(peers):
            if peer not in ratios:
                continue
            x, (top, bottom) = left + place * bar, sorted([y_of(ratios[peer]), y_of(1)])
            title = f"<title>{label if is_mean else 'query ' + label}: {NAMES[peer]} {ratios[peer]:.2f}</title>"
            shape = f'x="{x:.1f}" y="{top:.1f}" width="{bar - 0.5:.1f}" height="{bottom - top:.1f}"'
            parts.append(f'<rect {shape} fill="{COLORS[peer]}">{title}</rect>')
        parts.append(text(left + bar * len(peers) / 2, HEIGHT - BOTTOM + 18, label, more=' font-weight="bold"' * is_mean))
    return parts


def legend(named, mean):
    """A square and a name for each peer, with the geometric mean of its ratios."""
    parts = []
    for place, (peer, ratio) in enumerate(mean.items()):
        x = LEFT + place * (WIDTH - LEFT - RIGHT) / len(mean)
        parts.append(f'<rect x="{x:.1f}" y="54" width="12" height="12" fill="{COLORS[peer]}"/>')
        parts.append(text(x + 18, 64, f"{named[peer]}, geometric mean {ratio:.2f}", "start"))
    return parts


def chart(content):
    groups = slowdowns(content)
    peers, named = engines_of(content)[1:], titles(content)
    ratios = [ratio for _, by_peer in groups for ratio in by_peer.values()]
    marks = ticks(min(1, *ratios), max(1, *ratios))
    low, high = math.log(marks[0]), math.log(marks[-1])

    def y_of(ratio):
        return HEIGHT - BOTTOM - (math.log(ratio) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" fill="#333">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text(LEFT, 24, "Time of each peer / Volley's time, by query: above 1, Volley is faster", "start", 16, ' font-weight="bold"'),
        text(LEFT, 42, conditions(content), "start"),
        *legend(named, groups[-1][1]),
        *axis(marks, y_of),
        *bars(groups, peers, y_of),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "TPC-H query"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("json", type=pathlib.Path, help="what compare.py wrote")
    parser.add_argument("--svg", type=pathlib.Path, help="write the chart to this file")
    arguments = parser.parse_args()
    content = json.loads(arguments.json.read_text())
    if len(engines_of(content)) < 2 or "volley" not in engines_of(content):
        parser.error("the file must have Volley and at least one peer")
    if arguments.svg:
        arguments.svg.write_text(chart(content))
    else:
        print(markdown(content))


if __name__ == "__main__":
    main()
