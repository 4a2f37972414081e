#!/usr/bin/env python3
"""Compares Volley with DuckDB on window functions over 10 million rows.

    bench/window.py                                    all queries, 2 threads
    bench/window.py --rows 1000000 --threads 4 --runs 7 --queries rank,lag

The data are written once by DuckDB into data/window-ROWS.parquet: keys of 10, 1,000 and a million
partitions, and random integers to order by. As in `compare.py`, the runs are interleaved, each
engine runs in a process of its own that is held to as many CPUs as it has threads, and the table
shows the best time of each. A query sums up the results of its window function, so that all of them
are computed and next to nothing is put out; the sums must be the same in both engines.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "volley"
PARTITIONS = ["g10", "g1k", "g1m"]
# By name: what is computed over partitions in the order of `k, id`.
CALLS = {
    "row_number": "row_number() OVER (PARTITION BY {g} ORDER BY k, id)",
    "rank": "rank() OVER (PARTITION BY {g} ORDER BY k)",
    "lag": "lag(v) OVER (PARTITION BY {g} ORDER BY k, id)",
    "sum_partition": "sum(v) OVER (PARTITION BY {g})",
    "sum_running": "sum(v) OVER (PARTITION BY {g} ORDER BY k, id ROWS UNBOUNDED PRECEDING)",
    "sum_sliding": "sum(v) OVER (PARTITION BY {g} ORDER BY k, id ROWS BETWEEN 50 PRECEDING AND 50 FOLLOWING)",
}


def queries(table):
    all = {}
    for g in PARTITIONS:
        for name, call in CALLS.items():
            call = call.format(g=g)
            all[f"{name}/{g}"] = f"SELECT sum(w) FROM (SELECT {call} AS w FROM {table}) s"
        limited = f"SELECT id FROM {table} QUALIFY row_number() OVER (PARTITION BY {g} ORDER BY k, id) <= 3"
        all[f"top_3/{g}"] = f"SELECT sum(id) FROM ({limited}) s"
    return all


def make_data(path, rows):
    import duckdb

    path.parent.mkdir(exist_ok=True)
    keys = "(hash(i) % 10)::INTEGER g10, (hash(i * 7 + 1) % 1000)::INTEGER g1k, (hash(i * 13 + 5) % 1000000)::INTEGER g1m"
    others = f"(hash(i * 17 + 3) % {rows})::INTEGER k, (hash(i * 23 + 9) % 1000)::INTEGER v"
    duckdb.sql(f"COPY (SELECT i AS id, {keys}, {others} FROM range({rows}) t(i)) TO '{path}'")


def worker_duckdb(threads):
    """Answers each line of standard input, a query, with its time and its result."""
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    for line in sys.stdin:
        start = time.perf_counter()
        value = connection.sql(line).fetchall()[0][0]
        print(json.dumps([time.perf_counter() - start, str(value)]), flush=True)


class DuckDb:
    def __init__(self, threads):
        command = [sys.executable, __file__, "--worker", "--threads", str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: hold(threads))

    def run(self, sql):
        self.process.stdin.write(sql + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Volley:
    """One process for each run: its start takes a few milliseconds, which count."""

    def __init__(self, threads):
        self.threads = threads

    def run(self, sql):
        command = [str(BINARY), "--threads", str(self.threads), "--format", "csv", "-c", sql]
        start = time.perf_counter()
        result = subprocess.run(command, capture_output=True, text=True, preexec_fn=lambda: hold(self.threads))
        seconds = time.perf_counter() - start
        if result.returncode != 0:
            raise SystemExit(f"volley: {result.stderr}\n{sql}")
        return [seconds, result.stdout.strip().split("\n")[-1]]


def hold(threads):
    """Keeps the process on the first `threads` CPUs."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def compare(options):
    path = ROOT / "data" / f"window-{options.rows}.parquet" if options.data is None else options.data
    if not path.exists():
        make_data(path, options.rows)
    chosen = {name: sql for name, sql in queries(f"'{path}'").items() if any(it in name for it in options.queries)}
    engines = {"volley": Volley(options.threads), "duckdb": DuckDb(options.threads)}
    best = {name: {} for name in chosen}
    for _ in range(options.runs):
        for name, sql in chosen.items():
            results = {}
            for engine, connection in engines.items():
                seconds, results[engine] = connection.run(sql)
                best[name][engine] = min(seconds, best[name].get(engine, math.inf))
            if len(set(results.values())) > 1:
                raise SystemExit(f"{name}: the results differ: {results}")
    print(f"{'query':20} {'volley s':>9} {'duckdb s':>9} {'ratio':>6}")
    ratios = []
    for name, times in best.items():
        ratios.append(times["volley"] / times["duckdb"])
        print(f"{name:20} {times['volley']:9.3f} {times['duckdb']:9.3f} {ratios[-1]:6.2f}")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{'geometric mean':40} {mean:6.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--queries", type=lambda it: it.split(","), default=[""], help="parts of names, such as rank,g10")
    parser.add_argument("--data", type=pathlib.Path, help="a Parquet file made before")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker_duckdb(options.threads)
    else:
        compare(options)


if __name__ == "__main__":
    main()
