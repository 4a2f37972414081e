#!/usr/bin/env python3
"""Measures scans of remote files by where their blocks are: table 1 of the Velox paper.

    tests/cloud/run.py -- bench/remote.py --volley target/release/volley
    tests/cloud/run.py --delay-ms 30 -- bench/remote.py --volley target/release/volley --tpch data/tpch-sf1

Volley writes a Parquet file of random doubles, uncompressed, into the bucket and beside it. A filter
and a sum read it with one thread: from the store, from the cache on disk, from the cache in memory,
and as a local file. GB/s are bytes of the column by the CPU time, of all threads, of a statement in a
running process: that of 17 less that of one, by 16; the least of `--runs`. With `--tpch`, the 22 queries run over
that folder's files, too: from memory and from disk, as ratios to local files.
"""

import argparse
import math
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
STATEMENTS = {
    "filter": "SELECT count(*) FROM {t} WHERE x > 0.99",
    "sum": "SELECT sum(x) FROM {t}",
}
PLACES = {
    "memory": "",
    "disk": "SET cache_directory = '{cache}'; SET cache_memory_size = '0 B'; ",
    "store": "SET cache_memory_size = '0 B'; ",
}


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(volley, text, threads):
    before = cpu_seconds()
    done = subprocess.run([volley, "--threads", str(threads), "--format", "csv"], input=text,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{text[:300]}\n{done.stderr}")
    return cpu_seconds() - before


def seconds(volley, settings, sql, runs, threads):
    """The CPU time of a statement in a process in which it ran before."""
    def measured():
        one = run(volley, settings + sql + ";", threads)
        return (run(volley, settings + f"{sql};\n" * 17, threads) - one) / 16
    return min(measured() for _ in range(runs))


def paper_table(volley, bucket, folder, rows, runs):
    for location in [f"{bucket}/doubles.parquet", f"{folder}/doubles.parquet"]:
        run(volley, f"COPY (SELECT (hash(i) % 1000000)::DOUBLE / 1000000 AS x FROM range({rows}) t(i)) "
                    f"TO '{location}' (COMPRESSION uncompressed);", 2)
    size = pathlib.Path(folder, "doubles.parquet").stat().st_size
    print(f"{'GB/s':10}{'local':>8}" + "".join(f"{it:>8}" for it in PLACES))
    for name, sql in STATEMENTS.items():
        times = [seconds(volley, "", sql.format(t=f"'{folder}/doubles.parquet'"), runs, 1)]
        for place in PLACES.values():
            settings = place.format(cache=f"{folder}/cache")
            over = sql.format(t=f"'{bucket}/doubles.parquet'")
            run(volley, settings + over + ";", 1)
            times.append(seconds(volley, settings, over, runs, 1))
        print(f"{name:10}" + "".join(f"{size / it / 1e9:8.2f}" for it in times), flush=True)


def tpch(volley, bucket, folder, tables, runs):
    files = sorted(pathlib.Path(tables).glob("*.parquet"))
    for file in files:
        for location in [bucket, folder]:
            run(volley, f"COPY (FROM '{file}') TO '{location}/{file.name}';", 2)
    sys.path.insert(0, str(ROOT / "tests" / "cloud"))
    from tpch import BUCKET, over_files
    ratios = {"memory": [], "disk": []}
    print(f"{'':6}{'local':>8}" + "".join(f"{it:>8}" for it in ratios))
    for number in range(1, 23):
        text = (ROOT / f"crates/tpch/queries/q{number:02}.sql").read_text()
        text = re.sub(r"--.*", "", text).strip().rstrip(";")
        def over(place):
            return over_files(text).replace(BUCKET, place)
        local = seconds(volley, "", over(folder), runs, 2)
        line = f"Q{number:<5}{local:8.3f}"
        for place, found in ratios.items():
            settings = PLACES[place].format(cache=f"{folder}/cache")
            run(volley, settings + over(bucket) + ";", 2)
            found.append(seconds(volley, settings, over(bucket), runs, 2) / local)
            line += f"{found[-1]:8.2f}"
        print(line, flush=True)
    print(f"{'mean':14}" + "".join(f"{math.exp(sum(map(math.log, it)) / 22):8.2f}" for it in ratios.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--volley", default="target/release/volley")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tpch")
    arguments = parser.parse_args()
    bucket = "s3://" + os.environ["VOLLEY_S3_BUCKET"]
    folder = tempfile.mkdtemp(prefix="volley-remote-")
    try:
        paper_table(arguments.volley, bucket, folder, arguments.rows, arguments.runs)
        if arguments.tpch:
            tpch(arguments.volley, bucket, folder, arguments.tpch, arguments.runs)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
