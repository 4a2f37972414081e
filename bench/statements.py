"""Runs SQL statements over Parquet files in Volley, DuckDB and Polars and compares their times.

For `groupby.py`, `join.py`, `ranges.py` and `window.py`. The runs are interleaved: in each round every statement runs in every
engine, one after the other. Each engine runs all statements in a process of its own, which is held to
as many CPUs as it has threads. The table shows the best time of each. A statement returns one row,
which must be the same in all engines.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import time

import compare

ENGINES = ["volley", "duckdb", "polars"]


def open_duckdb(threads):
    import duckdb

    connection = duckdb.connect(config={"threads": threads})

    def run(sql, views, _):
        for name, path in views.items():
            connection.execute(f"create or replace view {name} as from read_parquet('{path}')")
        return lambda: connection.sql(sql).fetchall()[0]

    return run


def open_polars(threads):
    import polars

    assert polars.thread_pool_size() == threads

    def run(sql, views, expression):
        frames = {name: polars.scan_parquet(path) for name, path in views.items()}
        query = eval(expression, {"pl": polars} | frames) if expression else polars.SQLContext(frames).execute(sql)
        return lambda: query.collect(engine="streaming").row(0)

    return run


def worker(engine, threads):
    """Answers each line of standard input, a statement, its views and what Polars runs, with a line of JSON."""
    prepare = {"duckdb": open_duckdb, "polars": open_polars}[engine](threads)
    for line in sys.stdin:
        try:
            run = prepare(*json.loads(line))
            start = time.perf_counter()
            row = run()
            answer = {"seconds": time.perf_counter() - start, "row": [str(it) for it in row]}
        except BaseException as problem:  # Polars' panics are no Exception
            answer = {"error": str(problem).splitlines()[0][:200]}
        print(json.dumps(answer), flush=True)


class Peer:
    def __init__(self, engine, threads):
        command = [sys.executable, sys.argv[0], "--worker", engine, "--threads", str(threads)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"POLARS_MAX_THREADS": str(threads)},
            preexec_fn=lambda: compare.hold_to(threads),
        )

    def run(self, sql, views, expression):
        print(json.dumps([sql, views, expression]), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process ended"}


class Volley:
    """A shell that runs statements as they are written to its standard input."""

    def __init__(self, threads):
        command = [str(compare.BINARY), "--threads", str(threads), "--format", "csv"]
        self.threads = threads
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: compare.hold_to(threads),
        )

    def run(self, sql, views, _):
        # The time counts from the text to the printed row; views are of the session.
        for name, path in views.items():
            self.write(f"create or replace view {name} as from '{path}'")
        start = time.perf_counter()
        self.write(sql)
        header, row = self.process.stdout.readline(), self.process.stdout.readline()
        seconds = time.perf_counter() - start
        if not header or not row:
            _, errors = self.process.communicate()
            self.__init__(self.threads)
            return {"error": (errors.strip().splitlines() or ["no message"])[0][:200]}
        return {"seconds": seconds, "row": row.strip().split(",")}

    def write(self, statement):
        try:
            print(" ".join(statement.split()) + ";", file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass  # The shell has ended; who reads its output finds out.


def is_same(left, right):
    """Whether two rows, as texts of numbers, are equal but for rounding."""
    pairs = [(float(a), float(b)) for a, b in zip(left, right)]
    is_close = lambda a, b: math.isclose(a, b, rel_tol=1e-9) or (math.isnan(a) and math.isnan(b))
    return len(left) == len(right) and all(is_close(a, b) for a, b in pairs)


def measure(statements, engines, runs):
    """`statements`: (name, SQL, views, optionally the query in Polars' expressions: code over the
    views by name). Returns {name: {engine: best seconds or an error's text}}."""
    best = {name: {} for name, *_ in statements}
    for _ in range(runs):
        for name, sql, views, *expression in statements:
            rows = {}
            for engine, connection in engines.items():
                files = {view: str(path) for view, path in views.items()}
                answer = connection.run(sql, files, expression[0] if expression else None)
                if "error" in answer:
                    best[name][engine] = answer["error"]
                    continue
                rows[engine] = answer["row"]
                best[name][engine] = min(answer["seconds"], best[name].get(engine, math.inf))
            first = next(iter(rows.values()))
            if not all(is_same(first, row) for row in rows.values()):
                raise SystemExit(f"{name}: the results differ: {rows}")
    return best


def report(best, engines):
    peers = [it for it in engines if it != "volley"]
    print(f"{'':28}" + "".join(f"{it:>10}" for it in engines) + "".join(f"{'/ ' + it:>10}" for it in peers))
    ratios = {peer: [] for peer in peers}
    for name, times in best.items():
        cells = [f"{it:10.3f}" if isinstance(it, float) else f"{'error':>10}" for it in (times[it] for it in engines)]
        for peer in peers:
            if isinstance(times.get("volley"), float) and isinstance(times[peer], float):
                ratios[peer].append(times["volley"] / times[peer])
                cells.append(f"{ratios[peer][-1]:10.2f}")
            else:
                cells.append(f"{'':>10}")
        print(f"{name:28}" + "".join(cells))
        for engine, problem in times.items():
            if not isinstance(problem, float):
                print(f"    {engine}: {problem}")
    for peer, all in ratios.items():
        if all:
            print(f"geometric mean / {peer}: {math.exp(sum(map(math.log, all)) / len(all)):.2f} of {len(all)}")


def is_wanted(options, name):
    """Whether a statement of this name is to run."""
    return any(part in name for part in options.only)


def main(doc, add_arguments, make_statements):
    """The program: `make_statements(options)` writes the data if need be and returns what to run."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--engines", default=",".join(ENGINES), help="some of " + ",".join(ENGINES))
    parser.add_argument("--only", type=lambda it: it.split(","), default=[""], help="parts of names")
    parser.add_argument("--json", type=pathlib.Path, help="write the times to this file")
    parser.add_argument("--no-build", action="store_true", help="take the release binary as it is")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    add_arguments(parser)
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker, options.threads)
    compare.enter_venv(["duckdb"])
    if not options.no_build:
        compare.build_volley()
    statements = make_statements(options)
    names = options.engines.split(",")
    engines = {it: Volley(options.threads) if it == "volley" else Peer(it, options.threads) for it in names}
    best = measure(statements, engines, options.runs)
    report(best, names)
    if options.json:
        options.json.write_text(json.dumps(best, indent=1))
