#!/usr/bin/env python3
"""Compares scans of ORC files with those of Parquet files with the same rows, and with pyarrow.

    bench/orc.py --volley target/release/volley
    bench/orc.py --volley target/release/volley --scale 10 --compression snappy --runs 5

Volley writes TPC-H's lineitem and orders as ORC and as Parquet with the same compression into
data/orc-sf<scale> on first use. Each statement runs `--runs` times in a process of its own; the
least wall time counts, less that of `SELECT 1`. pyarrow reads the columns that the statement uses,
in a process of its own, with as many threads. Needs pyarrow.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# By name: the table, the statement, and the columns that it reads.
STATEMENTS = {
    "sum of a decimal": ("lineitem", "SELECT sum(l_extendedprice) FROM {t}", ["l_extendedprice"]),
    "sums of integers": ("lineitem", "SELECT sum(l_orderkey), sum(l_partkey), sum(l_suppkey) FROM {t}",
                         ["l_orderkey", "l_partkey", "l_suppkey"]),
    "groups of codes": ("lineitem", "SELECT l_returnflag, l_shipmode, count(*) FROM {t} GROUP BY ALL",
                        ["l_returnflag", "l_shipmode"]),
    "longest text": ("lineitem", "SELECT max(length(l_comment)) FROM {t}", ["l_comment"]),
    "TPC-H 1": ("lineitem", "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), "
                "sum(l_extendedprice * (1 - l_discount)), avg(l_tax), count(*) FROM {t} "
                "WHERE l_shipdate <= DATE '1998-09-02' GROUP BY ALL",
                ["l_returnflag", "l_linestatus", "l_quantity", "l_extendedprice", "l_discount",
                 "l_tax", "l_shipdate"]),
    "TPC-H 6": ("lineitem", "SELECT sum(l_extendedprice * l_discount) FROM {t} WHERE l_shipdate >= DATE '1994-01-01' "
                "AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
                ["l_extendedprice", "l_discount", "l_shipdate", "l_quantity"]),
    "one key": ("orders", "SELECT * FROM {t} WHERE o_orderkey = 3000001", None),
    "all columns": ("orders", "SELECT count(o_orderkey), max(o_custkey), max(o_orderstatus), max(o_totalprice), "
                    "max(o_orderdate), max(o_orderpriority), max(o_clerk), max(o_shippriority), max(o_comment) FROM {t}",
                    None),
}

PYARROW = """
import sys, time, pyarrow, pyarrow.orc
pyarrow.set_cpu_count(int(sys.argv[2]))
begin = time.perf_counter()
pyarrow.orc.ORCFile(sys.argv[1]).read(columns=sys.argv[3].split(",") if sys.argv[3] else None)
print(time.perf_counter() - begin)
"""


def run(volley, threads, sql):
    begin = time.perf_counter()
    done = subprocess.run([volley, "--threads", str(threads), "-c", sql], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{sql}\n{done.stdout}{done.stderr}")
    return time.perf_counter() - begin, done.stdout


def prepare(volley, folder, scale, compression):
    source = ROOT / "data" / f"tpch-sf{scale}"
    if not source.exists():
        subprocess.run([volley, "tpch", "--scale", str(scale)], check=True, cwd=ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    for table in ["lineitem", "orders"]:
        for ending in ["orc", "parquet"]:
            path = folder / f"{table}-{compression}.{ending}"
            if not path.exists():
                run(volley, 2, f"COPY (SELECT * FROM '{source / table}.parquet') TO '{path}' "
                    f"(COMPRESSION {compression})")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--volley", default="target/release/volley")
    parser.add_argument("--scale", default="1")
    parser.add_argument("--compression", default="zstd", choices=["none", "snappy", "zstd", "lz4", "gzip"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    folder = ROOT / "data" / f"orc-sf{arguments.scale}"
    prepare(arguments.volley, folder, arguments.scale, arguments.compression)
    best = lambda take: min(take() for _ in range(arguments.runs))
    start = best(lambda: run(arguments.volley, arguments.threads, "SELECT 1")[0])
    for table in ["lineitem", "orders"]:
        sizes = [os.path.getsize(folder / f"{table}-{arguments.compression}.{it}") >> 10
                 for it in ["orc", "parquet"]]
        print(f"{table}: ORC {sizes[0]} KiB, Parquet {sizes[1]} KiB")
    print(f"{'':18} {'ORC':>8} {'Parquet':>8} {'ratio':>6} {'pyarrow':>8} {'ratio':>6}")
    for name, (table, sql, columns) in STATEMENTS.items():
        times, answers = [], []
        for ending in ["orc", "parquet"]:
            path = folder / f"{table}-{arguments.compression}.{ending}"
            statement = sql.format(t=f"'{path}'")
            take = lambda: run(arguments.volley, arguments.threads, statement)
            answers.append(sorted(take()[1].splitlines()))
            times.append(max(best(lambda: take()[0]) - start, 0.0005))
        if answers[0] != answers[1]:
            sys.exit(f"{name}: answers differ\n{answers[0]}\n{answers[1]}")
        path = folder / f"{table}-{arguments.compression}.orc"
        command = [sys.executable, "-c", PYARROW, path, str(arguments.threads), ",".join(columns or [])]
        times.append(best(lambda: float(subprocess.run(command, capture_output=True, text=True,
                                                       check=True).stdout)))
        orc, parquet, pyarrow = times
        print(f"{name:18} {orc:8.3f} {parquet:8.3f} {orc / parquet:6.2f} {pyarrow:8.3f} {orc / pyarrow:6.2f}")


if __name__ == "__main__":
    main()
