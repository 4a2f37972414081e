#!/usr/bin/env python3
"""Counts the instructions of ten small queries and compares them with the counts on record.

    bench/instructions.py                     all queries; fails when one grew by more than 5 %
    bench/instructions.py --only join,groups  those whose names contain one of these
    bench/instructions.py --update            writes the counts to bench/instructions.json
    bench/instructions.py --keep DIR          leaves the profiles for callgrind_annotate

Needs valgrind. Volley's release binary runs each query once under callgrind, with one thread, on
TPC-H data of a small scale that is generated into data/ on first use. What the command takes to
start, open the tables and answer SELECT 1 is subtracted, so that a count is the query's own:
planning, reading, computing and printing a few rows.

Unlike times, counts vary by 2 % at most from run to run and do not depend on what else the machine
does. They do depend on the compiler, on the release profile, on the C library, on the Parquet writer
that makes the data, and on the instruction sets that kernels choose at run time; valgrind offers
AVX2 where the CPU has it, and never AVX-512. So counts compare on one setup only: the record names
the compiler and the instruction set that it was made with, and a difference is printed. They say
nothing of cache misses.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import compare

RECORD = compare.ROOT / "bench" / "instructions.json"
SCALE = "0.05"
BASELINE = "select 1"


def tpch(number):
    return compare.query_text(number)


# Every query returns a few rows, since printing is not what is counted.
STATEMENTS = {
    "filter and sum (TPC-H 6)": tpch(6),
    "few groups (TPC-H 1)": tpch(1),
    "groups by integer": "select count(*), max(q) from (select l_orderkey, sum(l_quantity) as q from lineitem group by l_orderkey)",
    "groups by text": "select count(*), max(n) from (select o_clerk, o_orderpriority, count(*) as n from orders group by all)",
    "joins (TPC-H 3)": tpch(3),
    "join of existence (TPC-H 4)": tpch(4),
    "window": "select max(n) from (select row_number() over (partition by l_suppkey order by l_shipdate, l_orderkey) as n from lineitem)",
    "top rows": "select l_orderkey, l_comment from lineitem order by l_extendedprice desc, l_orderkey limit 10",
    "texts": "select count(*) from orders where o_comment like '%special%requests%' or upper(substr(o_comment, 5, 4)) = 'CARE'",
    "planning (TPC-H 8)": "explain " + tpch(8),
}


def count(sql, data, profile):
    """The instructions of the whole command, with `profile` as callgrind's output."""
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", compare.BINARY]
    command += ["--threads", "1", "--format", "csv", "--data", data, "-c", sql]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"{sql[:60]}: {done.stderr.strip() or done.stdout.strip()}")
    return int(found[1])


def count_all(names, data, folder):
    """{name: instructions above those of the baseline}."""
    baseline = count(BASELINE, data, folder / "baseline.callgrind")
    print(f"{BASELINE}: {baseline:,} instructions, subtracted", flush=True)
    counts = {}
    for name in names:
        file = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        counts[name] = count(STATEMENTS[name], data, folder / f"{file}.callgrind") - baseline
    return counts


def setup():
    """What counts depend on, beside the code."""
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, cwd=compare.ROOT).stdout.strip()
    flags = pathlib.Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
    avx2 = " with AVX2" if re.search(r"\bavx2\b", flags) else ""
    return {"scale": SCALE, "compiler": compiler, "cpu": platform.machine() + avx2}


def report(counts, recorded, growth):
    """Prints the table; returns the names of queries that need more than the record allows."""
    print(f"{'query':30}{'instructions':>16}{'recorded':>16}{'ratio':>8}")
    grown = []
    for name, value in counts.items():
        before = recorded.get(name)
        ratio = value / before if before else None
        note = ""
        if ratio and ratio > growth:
            grown.append(name)
            note = "  GREW"
        elif ratio and ratio < 1 / growth:
            note = "  fewer: --update keeps it so"
        cells = f"{before:>16,}{ratio:>8.3f}" if before else f"{'-':>16}{'-':>8}"
        print(f"{name:30}{value:>16,}{cells}{note}")
    return grown


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", type=lambda it: it.split(","), default=[""], help="parts of names")
    parser.add_argument("--percent", type=float, default=5, help="how much a count may grow")
    parser.add_argument("--update", action="store_true", help="write the counts to the record")
    parser.add_argument("--keep", type=pathlib.Path, help="leave callgrind's profiles in this folder")
    parser.add_argument("--no-build", action="store_true", help="take the release binary as it is")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if not shutil.which("valgrind"):
        sys.exit("valgrind is not installed")
    names = [name for name in STATEMENTS if any(part in name for part in arguments.only)]
    if not names:
        sys.exit("no such query; there are: " + ", ".join(STATEMENTS))
    if not arguments.no_build:
        compare.build_volley()
    data = compare.ROOT / "data" / f"tpch-sf{SCALE}"
    compare.generate(data, SCALE)

    record = json.loads(RECORD.read_text()) if RECORD.exists() else {"setup": {}, "instructions": {}}
    for key, value in setup().items():
        if record["setup"].get(key, value) != value:
            print(f"the record was made with another {key}: {record['setup'][key]}, here {value}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        counts = count_all(names, data, folder)
    grown = report(counts, record["instructions"], 1 + arguments.percent / 100)
    if arguments.update:
        kept = record["instructions"] if record["setup"] == setup() else {}
        merged = kept | counts
        ordered = {name: merged[name] for name in STATEMENTS if name in merged}
        RECORD.write_text(json.dumps({"setup": setup(), "instructions": ordered}, indent=1) + "\n")
    elif grown:
        sys.exit(f"over {arguments.percent:g} % more instructions than recorded: {', '.join(grown)}")
    elif missing := [name for name in counts if name not in record["instructions"]]:
        sys.exit(f"not on record, --update adds them: {', '.join(missing)}")


if __name__ == "__main__":
    main()
