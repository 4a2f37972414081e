#!/usr/bin/env python3
"""Compares Volley with DuckDB, Polars and DataFusion on the 22 TPC-H queries.

    bench/compare.py                          scale 1, all engines, all queries
    bench/compare.py --scale 10 --threads 8 --runs 7 --queries 1,3-5 --json result.json
    bench/compare.py --engines duckdb,polars,datafusion

On first use it makes a virtual environment in bench/.venv with the newest versions of the peers
from PyPI, builds Volley with `cargo build --release`, and generates the data with Volley into
data/tpch-sfS. All engines read the same Parquet files with the same number of threads, and each
runs in a process of its own, held to as many CPUs as it has threads.

The runs are interleaved: in each round every query runs in every engine, one engine after the
other, so that slow changes of the machine meet all alike. A time is taken from the text of the
query to the whole result in memory (as Arrow), with the file open and nothing cached but what
the operating system caches; within a round each query runs `--repeat` times in a row, so that all
engines run it at least once with warm caches. The table shows the best time of each engine and
Volley's ratio to each peer (below 1: Volley is faster); `--json` keeps all times. The number of
rows must be the same in all engines.

Polars runs the SQL text through its SQLContext and its streaming engine.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "volley"
VENV = ROOT / "bench" / ".venv"
QUERIES = ROOT / "crates" / "tpch" / "queries"
TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]
PEERS = ["duckdb", "polars", "datafusion"]
ENGINES = ["volley", *PEERS]


# The engines as they run in a worker process: `open(data, threads)` gives a function from SQL
# text to the number of rows of the collected result.


def open_duckdb(data, threads):
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    for table in TABLES:
        connection.execute(f"create view {table} as from read_parquet('{data}/{table}.parquet')")
    return lambda sql: connection.sql(sql).to_arrow_table().num_rows


def open_polars(data, threads):
    import polars

    assert polars.thread_pool_size() == threads
    context = polars.SQLContext({table: polars.scan_parquet(f"{data}/{table}.parquet") for table in TABLES})
    return lambda sql: context.execute(sql).collect(engine="streaming").height


def open_datafusion(data, threads):
    import datafusion

    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(threads))
    for table in TABLES:
        context.register_parquet(table, f"{data}/{table}.parquet")
    return lambda sql: sum(batch.num_rows for batch in context.sql(sql).collect())


def worker(engine, data, threads):
    """Answers each line of standard input, `QUERY REPEAT`, with a line of JSON."""
    run = {"duckdb": open_duckdb, "polars": open_polars, "datafusion": open_datafusion}[engine](data, threads)
    for line in sys.stdin:
        query, repeat = map(int, line.split())
        seconds, rows = [], 0
        try:
            for _ in range(repeat):
                sql = query_text(query)
                start = time.perf_counter()
                rows = run(sql)
                seconds.append(time.perf_counter() - start)
            answer = {"seconds": seconds, "rows": rows}
        except BaseException as problem:  # Polars' panics are no Exception
            answer = {"error": str(problem).splitlines()[0][:200]}
        print(json.dumps(answer), flush=True)


def query_text(number):
    return (QUERIES / f"q{number:02}.sql").read_text().strip().removesuffix(";")


# The engines as the comparison sees them: `run(query, repeat)` gives {"seconds", "rows"} or
# {"error"}.


def hold_to(threads):
    """Limits the calling process to the first CPUs it may use, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


class Peer:
    """A peer in a worker process that lives as long as the comparison."""

    SCRIPT = __file__

    def __init__(self, engine, data, threads):
        environment = os.environ | {
            "POLARS_MAX_THREADS": str(threads),
            "TOKIO_WORKER_THREADS": str(threads),
            "RAYON_NUM_THREADS": str(threads),
        }
        command = [sys.executable, self.SCRIPT, "--worker", engine, "--data", str(data), "--threads", str(threads)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            preexec_fn=lambda: hold_to(threads),
        )

    def run(self, query, repeat):
        print(query, repeat, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process ended"}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Volley:
    """Volley's command, started anew for each query of each round."""

    def __init__(self, data, threads):
        self.data, self.threads = data, threads
        self.binary = BINARY

    def run(self, query, repeat):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "result.json"
            command = [self.binary, "tpch", "run", "--data", self.data, "--query", query, "--runs", repeat]
            command += ["--threads", self.threads, "--json", target]
            done = subprocess.run(
                list(map(str, command)), capture_output=True, text=True, preexec_fn=lambda: hold_to(self.threads)
            )
            if done.returncode != 0:
                lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
                return {"error": lines[0][:200]}
            (result,) = json.loads(target.read_text())["queries"]
        # The command tells no more of its runs than these two.
        seconds = [result["best_seconds"], result["median_seconds"]]
        return {"seconds": seconds, "rows": result["rows"], "checksum": result.get("checksum")}

    def close(self):
        pass


# Preparation.


def enter_venv(engines):
    """Runs the program anew in bench/.venv, made on first use."""
    if not set(engines) & set(PEERS) or pathlib.Path(sys.prefix).resolve() == VENV.resolve():
        return
    python = VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", *PEERS, "pyarrow"], check=True)
    os.execv(python, [str(python), *sys.argv])


def build_volley():
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "volley-cli"], cwd=ROOT, check=True)


def generate(data, scale):
    if all((data / f"{table}.parquet").exists() for table in TABLES):
        return
    command = [BINARY, "tpch", "generate", "--scale", scale, "--out", data]
    if not pathlib.Path(command[0]).exists():
        build_volley()
    subprocess.run(list(map(str, command)), check=True)


def query_numbers(text):
    """`1,3-5` as [1, 3, 4, 5]."""
    numbers = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


# Measuring and printing.


def measure(engines, queries, rounds, repeat):
    """Returns {query: {engine: {"seconds": [...], "rows": n} or {"error": text}}}."""
    results = {query: {name: {"seconds": []} for name in engines} for query in queries}
    for round_ in range(rounds):
        for query in queries:
            # Each round begins with another engine.
            names = list(engines)
            names = names[round_ % len(names) :] + names[: round_ % len(names)]
            for name in names:
                into = results[query][name]
                if "error" in into:
                    continue
                answer = engines[name].run(query, repeat)
                if "error" in answer:
                    into["error"] = answer["error"]
                else:
                    into["seconds"] += answer["seconds"]
                    into["rows"] = answer["rows"]
        if sys.stderr.isatty():
            print(f"\rround {round_ + 1} of {rounds}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return results


def best(result):
    return None if "error" in result else min(result["seconds"])


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def cell(value, width=10, digits=4):
    return f"{'-' if value is None else format(value, f'.{digits}f'):>{width}}"


def report(results, names):
    """Prints the table; returns the messages about what is wrong."""
    ratios = [peer for peer in names if peer != "volley"] if "volley" in names else []
    print("query".rjust(5) + "".join(f"{name:>11}" for name in names) + "".join(f"{'/ ' + peer:>13}" for peer in ratios) + "   rows")
    columns, quotients, wrong = {name: [] for name in names}, {peer: [] for peer in ratios}, []
    for query, by_engine in results.items():
        times = {name: best(by_engine[name]) for name in names}
        line = f"{query:>5}" + "".join(" " + cell(times[name]) for name in names)
        for peer in ratios:
            quotient = times["volley"] / times[peer] if times["volley"] and times[peer] else None
            line += cell(quotient, 13, 2)
            if quotient:
                quotients[peer].append(quotient)
        rows = {name: by_engine[name]["rows"] for name in names if "rows" in by_engine[name]}
        print(line + f"{next(iter(rows.values()), '-'):>7}")
        if len(set(rows.values())) > 1:
            wrong.append(f"query {query}: numbers of rows differ: {rows}")
        wrong += [f"query {query}: {name}: {by_engine[name]['error']}" for name in names if "error" in by_engine[name]]
        for name in names:
            if times[name] is not None:
                columns[name].append(times[name])
    print("  sum" + "".join(" " + cell(sum(columns[name])) for name in names))
    line = " geom" + "".join(" " + cell(geomean(columns[name])) for name in names)
    print(line + "".join(cell(geomean(quotients[peer]), 13, 2) for peer in ratios))
    slowest = [
        (query, times["volley"] / max(times[peer] for peer in ratios))
        for query, by_engine in results.items()
        if (times := {name: best(by_engine[name]) for name in names}) and all(times.values()) and ratios
    ]
    over = [f"{query} ({ratio:.2f})" for query, ratio in slowest if ratio > 2]
    if ratios:
        print("queries over twice the slowest peer: " + (", ".join(over) or "none"))
    return wrong


def versions(names):
    import importlib.metadata

    found = {name: importlib.metadata.version(name) for name in names if name in PEERS}
    if "volley" in names:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
        found["volley"] = commit.stdout.strip() or "unknown"
    return found


def write_json(path, arguments, names, results):
    for by_engine in results.values():
        for result in by_engine.values():
            if result["seconds"]:
                result["best_seconds"] = min(result["seconds"])
                result["median_seconds"] = statistics.median(result["seconds"])
    settings = {key: getattr(arguments, key) for key in ["scale", "threads", "runs", "repeat"]}
    content = {"settings": settings, "versions": versions(names), "cpus": os.cpu_count(), "queries": results}
    path.write_text(json.dumps(content, indent=1) + "\n")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", default="1", help="TPC-H scale factor")
    parser.add_argument("--data", type=pathlib.Path, help="folder with TABLE.parquet (default: data/tpch-sfSCALE)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of each engine (default: all)")
    parser.add_argument("--runs", type=int, default=5, help="rounds")
    parser.add_argument("--repeat", type=int, default=2, help="runs of a query in a row within a round")
    parser.add_argument("--queries", type=query_numbers, default=query_numbers("1-22"), help="such as 1,3-5")
    parser.add_argument("--engines", default=",".join(ENGINES), help="some of " + ",".join(ENGINES))
    parser.add_argument("--json", type=pathlib.Path, help="write all times to this file")
    parser.add_argument("--no-build", action="store_true", help="take the release binary as it is")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.worker:
        return worker(arguments.worker, arguments.data, arguments.threads)
    names = arguments.engines.split(",")
    if unknown := set(names) - set(ENGINES):
        sys.exit(f"unknown engines: {', '.join(sorted(unknown))}")
    enter_venv(names)
    if "volley" in names and not arguments.no_build:
        build_volley()
    data = (arguments.data or ROOT / "data" / f"tpch-sf{arguments.scale}").resolve()
    generate(data, arguments.scale)

    engines = {}
    for name in names:
        engines[name] = Volley(data, arguments.threads) if name == "volley" else Peer(name, data, arguments.threads)
    print(f"TPC-H scale {arguments.scale}, {arguments.threads} threads, best of {arguments.runs} x {arguments.repeat} runs, seconds")
    print(", ".join(f"{name} {version}" for name, version in versions(names).items()))
    try:
        results = measure(engines, arguments.queries, arguments.runs, arguments.repeat)
    finally:
        for engine in engines.values():
            engine.close()
    wrong = report(results, names)
    if arguments.json:
        write_json(arguments.json, arguments, names, results)
    for message in wrong:
        print(message, file=sys.stderr)
    return sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
