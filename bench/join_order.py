#!/usr/bin/env python3
"""Measures whether the order of tables in FROM matters: shuffles it and runs TPC-H queries.

    bench/join_order.py                              scale 1, 20 ways, all queries with 3 tables or more
    bench/join_order.py --scale 10 --queries 5,7-9 --runs 2
    bench/join_order.py --explain                    also the plans where the bound is broken

Of each query whose FROM lists name at least `--tables` tables (those of its subqueries are shuffled,
too), it makes up to `--ways` different orders, the written one first and the others at random from a
fixed seed, and runs them in one process of Volley's, in rounds: each round runs every order once.
An order's time is its best one. All orders must give the same rows. The program fails when an order
takes more than `--bound` times as long as the fastest of the same query. `plans` counts the different
shapes of plans, which do not vary with what else the machine does: 1 where the order does not matter.
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys

import compare

# Names with or without an alias, separated by commas, up to WHERE.
ITEM = r"\w+(?:[ ]+\w+)?"
FROM_LIST = re.compile(rf"(\bfrom\s+)({ITEM}(?:,\s*{ITEM})+)(\s+where\b)", re.IGNORECASE)

# A statement whose row stands between the rows of two others.
SEPARATOR = "select 'end' as statement"


def tables_of(sql):
    """The FROM lists with more than one table, as lists of names."""
    return [re.split(r",\s*", found[2]) for found in FROM_LIST.finditer(sql)]


def shuffled(sql, randomness):
    def reorder(found):
        tables = re.split(r",\s*", found[2])
        randomness.shuffle(tables)
        return found[1] + ", ".join(tables) + found[3]

    return FROM_LIST.sub(reorder, sql)


def orders_of(sql, ways, seed):
    """The query in at most `ways` different orders of its FROM lists, the written one first."""
    most = math.prod(math.factorial(len(tables)) for tables in tables_of(sql))
    randomness = random.Random(seed)
    orders = {sql: None}
    while len(orders) < min(ways, most):
        orders[shuffled(sql, randomness)] = None
    return list(orders)


def run(orders, data, threads, runs):
    """The best seconds of each order."""
    command = [compare.BINARY, "--data", data, "--threads", threads, "--format", "csv", "--timer"]
    for sql in orders * runs:
        command += ["-c", sql, "-c", SEPARATOR]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, preexec_fn=lambda: compare.hold_to(threads)
    )
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    seconds = list(map(float, re.findall(r"^time: ([0-9.]+) s$", done.stderr, re.MULTILINE)))[::2]
    rows = re.split(r"^statement\r?\nend\r?\n", done.stdout, flags=re.MULTILINE)[:-1]
    assert len(seconds) == len(rows) == len(orders) * runs
    if len({"\n".join(sorted(it.splitlines())) for it in rows}) > 1:
        sys.exit(f"the rows depend on the order of tables in: {orders[0]}")
    # A millisecond is the resolution of the timer.
    return [max(min(seconds[at :: len(orders)]), 0.001) for at in range(len(orders))]


def explain(orders, data, threads):
    """The plan of each order, as lines."""
    command = [compare.BINARY, "--data", data, "--threads", threads, "--format", "ndjson"]
    for sql in orders:
        command += ["-c", "explain " + sql]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    plans = []
    for row in map(json.loads, done.stdout.splitlines()):
        # All nodes but the first are indented.
        plans += [] if row["plan"].startswith(" ") else [[]]
        plans[-1].append(row["plan"])
    return plans


def shape_of(plan):
    """The nodes of a plan and the tables that it scans, without columns and conditions."""
    return "\n".join(re.split(r" on | #| keys=| \[", line)[0] for line in plan)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", default="1", help="TPC-H scale factor")
    parser.add_argument("--data", type=pathlib.Path, help="folder with TABLE.parquet (default: data/tpch-sfSCALE)")
    parser.add_argument("--queries", type=compare.query_numbers, default=compare.query_numbers("1-22"), help="such as 1,3-5")
    parser.add_argument("--tables", type=int, default=3, help="skip queries whose FROM lists are shorter")
    parser.add_argument("--ways", type=int, default=20, help="orders of each query")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3, help="rounds")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="(default: all)")
    parser.add_argument("--bound", type=float, default=1.5, help="largest ratio of the slowest to the fastest")
    parser.add_argument("--explain", action="store_true", help="print both plans where the bound is broken")
    parser.add_argument("--no-build", action="store_true", help="take the release binary as it is")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if not arguments.no_build:
        compare.build_volley()
    data = (arguments.data or compare.ROOT / "data" / f"tpch-sf{arguments.scale}").resolve()
    compare.generate(data, arguments.scale)
    print(f"{'query':>5}{'orders':>8}{'plans':>7}{'as written':>12}{'fastest':>9}{'slowest':>9}{'ratio':>7}")
    broken = []
    for query in arguments.queries:
        sql = compare.query_text(query)
        if max(map(len, tables_of(sql)), default=0) < arguments.tables:
            continue
        orders = orders_of(sql, arguments.ways, arguments.seed)
        times = run(orders, data, arguments.threads, arguments.runs)
        plans = explain(orders, data, arguments.threads)
        shapes = len(set(map(shape_of, plans)))
        ratio = max(times) / min(times)
        print(f"{query:>5}{len(orders):>8}{shapes:>7}{times[0]:>12.3f}{min(times):>9.3f}{max(times):>9.3f}{ratio:>7.2f}", flush=True)
        if ratio > arguments.bound:
            broken.append(str(query))
            for name, pick in [("fastest", min), ("slowest", max)] if arguments.explain else []:
                at = times.index(pick(times))
                lists = "; ".join(", ".join(tables) for tables in tables_of(orders[at]))
                print("\n".join([f"\nquery {query}, {name}: from {lists}", *plans[at], ""]))
    if broken:
        sys.exit(f"the slowest order takes more than {arguments.bound:g} times the fastest: {', '.join(broken)}")


if __name__ == "__main__":
    main()
