#!/usr/bin/env python3
"""The MPI join of 16-byte tuples: Volley against a program written by hand (radix_join.c).

    cargo build --release -p volley-cli --features mpi
    bench/mpi/run.py --volley target/release/volley --tuples 64000000 --ranks 2,4

Both sides have each key from 0 to TUPLES - 1 once, in an order of their own, and a payload of 8 bytes.
The program makes its tuples in memory; Volley reads them from Parquet files, so the time of a query that only
reads both tables is measured, too, and subtracted in `join_seconds`. Runs alternate; medians are reported,
with the phases of the program (figure 9 of the Modularis paper, VLDB 2021). `join_ratio` is the figure of the goal.

With `--join` the composed join over windows is measured instead, which makes its tuples in memory, too:

    cargo build --release -p volley-platform-mpi --features mpi --example radix_join
    bench/mpi/run.py --join target/release/examples/radix_join --tuples 16000000 --ranks 2

It reports the phases of both as wall and processor time; `ratio` and `cpu_ratio` are the figures of the goal.

Also measured: group by with few and many keys, and a sequence of three joins on one key with and without the rule
`local_joins` (figures 10 and 11).
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
JOIN = "SELECT count(*), sum(a.payload + b.payload) FROM a JOIN b ON a.key = b.key"
READ = "SELECT (SELECT sum(key + payload) FROM a), (SELECT sum(key + payload) FROM b)"
GROUPS = {
    "few_groups": "SELECT count(*) FROM (SELECT key % 1000 AS k, sum(payload) FROM a GROUP BY 1)",
    "many_groups": "SELECT count(*) FROM (SELECT key AS k, sum(payload) FROM a GROUP BY 1)",
}
SEQUENCE = (
    "SELECT count(*) FROM a JOIN b ON a.key = b.key JOIN a c ON b.key = c.key "
    "JOIN b d ON c.key = d.key"
)


def mpirun(ranks, command):
    """Runs a command in `ranks` processes; its standard output and standard error."""
    launch = ["mpirun", "-n", str(ranks), "--oversubscribe"]
    if os.geteuid() == 0:
        launch.append("--allow-run-as-root")
    if ranks > (os.cpu_count() or 1):
        launch += ["--mca", "mpi_yield_when_idle", "1"]
    done = subprocess.run(launch + command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(launch + command)}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def make_tables(volley, folder, tuples):
    """Two Parquet files of 16-byte tuples, each key once, in different orders."""
    for name, step in (("a", 7919), ("b", 104_729)):
        while tuples % step == 0:
            step += 2
        path = os.path.join(folder, f"{name}.parquet")
        key = f"(i * {step}) % {tuples}"
        sql = f"COPY (SELECT {key} AS key, {key} + {step} AS payload FROM range({tuples}) r(i)) TO '{path}'"
        subprocess.run([volley, "--no-progress", "-c", sql], check=True)


def volley_times(options, ranks, folder, queries, settings=()):
    """Seconds of each query, and its rows as text, in one job."""
    command = [options.volley, "--platform", "mpi", "--no-progress", "--timer", "--format", "csv"]
    command += ["--data", folder]
    for setting in settings:
        command += ["--set", setting]
    for sql in queries:
        command += ["-c", sql]
    out, err = mpirun(ranks, command)
    times = [float(it) for it in re.findall(r"time: ([0-9.]+) s", err)]
    if len(times) != len(queries):
        sys.exit(f"{len(queries)} times expected:\n{out}{err}")
    return times, [it for it in out.splitlines() if it]


def measure(options, program, ranks, folder):
    by_hand, joins, reads = [], [], []
    phases = {}
    for _ in range(options.repetitions):
        line = mpirun(ranks, [program, str(options.tuples), "1"])[0]
        found = json.loads(line)
        by_hand.append(found["seconds"])
        for phase in ("histogram", "network", "local", "join"):
            phases.setdefault(phase, []).append(found[phase])
        # The first query warms up files and allocator.
        times, rows = volley_times(options, ranks, folder, [READ, READ, JOIN])
        if not rows[-1].startswith(f"{options.tuples},"):
            sys.exit(f"wrong result: {rows[-1]}")
        reads.append(times[1])
        joins.append(times[2])
    by_hand, read, join = (statistics.median(it) for it in (by_hand, reads, joins))
    return {
        "ranks": ranks,
        "tuples": options.tuples,
        "by_hand_seconds": by_hand,
        "by_hand_phases": {name: statistics.median(it) for name, it in phases.items()},
        "volley_seconds": join,
        "read_seconds": read,
        "join_seconds": join - read,
        "ratio": join / by_hand,
        "join_ratio": (join - read) / by_hand,
    }


def measure_composed(options, program, ranks):
    """Medians of both programs, which run in turn, by phase."""
    command = [options.join, str(options.tuples), "1", str(options.bits)]
    runs = {"by_hand": [], "composed": []}
    for _ in range(options.repetitions):
        runs["by_hand"].append(json.loads(mpirun(ranks, [program, str(options.tuples), "1"])[0]))
        runs["composed"].append(json.loads(mpirun(ranks, command)[0]))
    names = [it for it in runs["by_hand"][0] if isinstance(runs["by_hand"][0][it], float)]
    figures = {"ranks": ranks, "tuples": options.tuples, "bits": options.bits}
    for form, found in runs.items():
        figures[form] = {name: statistics.median(it[name] for it in found) for name in names}
    figures["ratio"] = figures["composed"]["seconds"] / figures["by_hand"]["seconds"]
    figures["cpu_ratio"] = figures["composed"]["cpu"] / figures["by_hand"]["cpu"]
    return figures


def others(options, ranks, folder):
    figures = {"ranks": ranks}
    names = list(GROUPS)
    runs = [volley_times(options, ranks, folder, [GROUPS[it] for it in names])[0]
            for _ in range(options.repetitions)]
    for position, name in enumerate(names):
        figures[name] = statistics.median(it[position] for it in runs)
    for name, rules in (("sequence", "broadcast_joins"), ("naive", "broadcast_joins,local_joins")):
        setting = [f"disabled_rules={rules}"]
        runs = [volley_times(options, ranks, folder, [SEQUENCE], setting)[0][0]
                for _ in range(options.repetitions)]
        figures[name] = statistics.median(runs)
    figures["sequence_ratio"] = figures["sequence"] / figures["naive"]
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    program = parser.add_mutually_exclusive_group(required=True)
    program.add_argument("--volley", help="the command, built with --features mpi")
    program.add_argument("--join", help="the example radix_join of platform-mpi")
    parser.add_argument("--bits", type=int, default=10, help="bits of partitions of --join")
    parser.add_argument("--tuples", type=int, default=64_000_000, help="tuples per side")
    parser.add_argument("--ranks", default="2,4", help="numbers of processes, with commas between")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--others", action="store_true", help="also groups and join sequences")
    parser.add_argument("--json", help="writes the figures to this file")
    options = parser.parse_args()
    for name in ("volley", "join"):
        path = getattr(options, name)
        setattr(options, name, path and os.path.abspath(path))
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "radix_join")
        source = os.path.join(FOLDER, "radix_join.c")
        subprocess.run(["mpicc", "-O3", "-march=native", "-o", program, source], check=True)
        if options.join:
            figures = [measure_composed(options, program, int(it)) for it in options.ranks.split(",")]
            print("\n".join(map(json.dumps, figures)), flush=True)
            if options.json:
                with open(options.json, "w") as file:
                    json.dump(figures, file, indent=2)
            return
        tables = os.path.join(folder, "tables")
        os.mkdir(tables)
        make_tables(options.volley, tables, options.tuples)
        figures = []
        for ranks in map(int, options.ranks.split(",")):
            figures.append(measure(options, program, ranks, tables))
            print(json.dumps(figures[-1]), flush=True)
            if options.others:
                figures.append(others(options, ranks, tables))
                print(json.dumps(figures[-1]), flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=2)


if __name__ == "__main__":
    main()
