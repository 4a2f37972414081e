#!/usr/bin/env python3
"""Compares Volley with DuckDB, Polars and DataFusion on the 22 TPC-H queries.

    bench/compare.py                          scale 1, all engines, all queries
    bench/compare.py --scale 10 --threads 8 --runs 7 --queries 1,3-5 --json result.json
    bench/compare.py --engines duckdb,polars,datafusion
    bench/compare.py --memory --json result.json         then: bench/render.py result.json

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

`--memory` (Linux only) adds a pass that runs every query once more in every engine, each time in a
new process, and reports the largest resident memory during the query, less what the process held
before: Python with the engine's library and the open tables, or Volley after SELECT 1. What counts
is what the operating system sees, pages of mapped files included.
"""

import argparse
import json
import math
import os
import pathlib
import platform
import re
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
    answer_lines({"duckdb": open_duckdb, "polars": open_polars, "datafusion": open_datafusion}[engine](data, threads))


def answer_lines(run):
    """Runs the query of each line of standard input, as a worker does."""
    for line in sys.stdin:
        query, repeat = map(int, line.split())
        seconds, rows = [], 0
        start_bytes = forget_peak()
        try:
            for _ in range(repeat):
                sql = query_text(query)
                start = time.perf_counter()
                rows = run(sql)
                seconds.append(time.perf_counter() - start)
            answer = {"seconds": seconds, "rows": rows, "start_bytes": start_bytes, "peak_bytes": status_bytes("VmHWM")}
        except BaseException as problem:  # Polars' panics are no Exception
            answer = {"error": str(problem).splitlines()[0][:200]}
        print(json.dumps(answer), flush=True)


def status_bytes(name):
    """A line of /proc/self/status, such as VmRSS, in bytes; None where there is no such file."""
    status = pathlib.Path("/proc/self/status")
    found = re.search(rf"^{name}:\s+(\d+) kB", status.read_text(), re.MULTILINE) if status.exists() else None
    return int(found[1]) << 10 if found else None


def forget_peak():
    """Lets the process's peak memory begin anew; returns what is resident."""
    if os.path.exists("/proc/self/clear_refs"):
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    return status_bytes("VmRSS")


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

    def memory(self, query):
        """{"start_bytes", "peak_bytes"} of one run; tells of this query only if it is the first."""
        return self.run(query, 1)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Volley:
    """Volley's command, started anew for each query of each round."""

    OPTION = "--data"

    def __init__(self, data, threads):
        self.data, self.threads = data, threads
        self.binary = BINARY

    def run(self, query, repeat):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "result.json"
            command = [self.binary, "tpch", "run", self.OPTION, self.data, "--query", query, "--runs", repeat]
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

    def memory(self, query):
        return {
            "start_bytes": self.peak("--data", self.data, "-c", "select 1"),
            "peak_bytes": self.peak("tpch", "run", "--data", self.data, "--query", query),
        }

    def peak(self, *arguments):
        """The largest resident memory of the command (or of this program, if that is larger)."""
        command = [self.binary, *arguments, "--threads", self.threads]
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.DEVNULL, preexec_fn=lambda: hold_to(self.threads)
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_maxrss << 10

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
                    into["checksum"] = answer.get("checksum")
        if sys.stderr.isatty():
            print(f"\rround {round_ + 1} of {rounds}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return results


def measure_memory(open_engine, names, queries, results):
    """Adds "start_bytes" and "peak_bytes" to the results, each of a process that runs nothing else."""
    for query in queries:
        for name in names:
            engine = open_engine(name)
            answer = engine.memory(query)
            engine.close()
            results[query][name] |= {key: answer[key] for key in ["start_bytes", "peak_bytes"] if answer.get(key)}


def added_bytes(result):
    """What a query added to the memory of its process at most."""
    if "peak_bytes" not in result or "error" in result:
        return None
    return max(result["peak_bytes"] - result["start_bytes"], 1 << 20)


def report_memory(results, names):
    """Prints the table of memory, in MiB; what is below 1 counts as 1."""
    ratios = [peer for peer in names if peer != "volley"] if "volley" in names else []
    print("\npeak memory that the query adds to its process, MiB")
    print("query".rjust(5) + "".join(f"{name:>11}" for name in names) + "".join(f"{'/ ' + peer:>13}" for peer in ratios))
    quotients, largest = {peer: [] for peer in ratios}, {name: 0 for name in names}
    for query, by_engine in results.items():
        bytes_ = {name: added_bytes(by_engine[name]) for name in names}
        line = f"{query:>5}" + "".join(" " + cell(bytes_[name] and bytes_[name] / 2**20, digits=1) for name in names)
        for peer in ratios:
            quotient = bytes_["volley"] / bytes_[peer] if bytes_["volley"] and bytes_[peer] else None
            quotients[peer] += [quotient] if quotient else []
            line += cell(quotient, 13, 2)
        largest = {name: max(largest[name], bytes_[name] or 0) for name in names}
        print(line)
    line = " most" + "".join(" " + cell(largest[name] / 2**20, digits=1) for name in names)
    print(line + "".join(cell(largest["volley"] / largest[peer] if largest[peer] else None, 13, 2) for peer in ratios))
    print(" geom" + " " * 11 * len(names) + "".join(cell(geomean(quotients[peer]), 13, 2) for peer in ratios))


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


def machine():
    """What the figures depend on, beside the engines."""
    info = pathlib.Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", info.read_text()) if info.exists() else None
    cpu = model[1] if model else platform.processor() or platform.machine()
    return {"cpu": cpu, "cpus": os.cpu_count(), "system": platform.system(), "date": time.strftime("%Y-%m-%d")}


def write_json(path, arguments, names, results):
    for by_engine in results.values():
        for result in by_engine.values():
            if result["seconds"]:
                result["best_seconds"] = min(result["seconds"])
                result["median_seconds"] = statistics.median(result["seconds"])
    settings = {key: getattr(arguments, key) for key in ["scale", "threads", "runs", "repeat"]}
    content = {"settings": settings, "versions": versions(names), "machine": machine(), "queries": results}
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
    parser.add_argument("--memory", action="store_true", help="measure peak memory, too")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures to this file")
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

    def open_engine(name):
        return Volley(data, arguments.threads) if name == "volley" else Peer(name, data, arguments.threads)

    if arguments.memory and not os.path.exists("/proc/self/clear_refs"):
        sys.exit("--memory needs Linux")
    engines = {name: open_engine(name) for name in names}
    print(f"TPC-H scale {arguments.scale}, {arguments.threads} threads, best of {arguments.runs} x {arguments.repeat} runs, seconds")
    print(", ".join(f"{name} {version}" for name, version in versions(names).items()))
    try:
        results = measure(engines, arguments.queries, arguments.runs, arguments.repeat)
    finally:
        for engine in engines.values():
            engine.close()
    wrong = report(results, names)
    if arguments.memory:
        measure_memory(open_engine, names, arguments.queries, results)
        report_memory(results, names)
    if arguments.json:
        write_json(arguments.json, arguments, names, results)
    for message in wrong:
        print(message, file=sys.stderr)
    return sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
