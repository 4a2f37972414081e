"""The Python package against DuckDB's, in the same run: import, short queries, results of 1 M rows.

    pip install ./crates/python duckdb polars pandas pyarrow
    python bench/python/compare.py

Each time is the best of some runs. Both use as many threads as the machine has cores, or `--threads`.
"""

import argparse
import os
import subprocess
import sys
import time

ROWS = 1_000_000
QUERY = (
    "SELECT i AS a, CAST(i * 0.5 AS DOUBLE) AS b, 'text ' || CAST(i % 1000 AS VARCHAR) AS c, "
    "CAST(i % 7 AS INTEGER) AS d FROM range({rows}) r(i)"
)


def best(run, runs):
    """The least time in milliseconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def import_time(module, runs):
    """Milliseconds of an import in a new process, without those of an empty one."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"

    def once():
        return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)

    return min(once() for _ in range(runs)) * 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    import duckdb
    import polars
    import pyarrow

    import volley as vl

    ours = vl.connect(threads=options.threads)
    theirs = duckdb.connect(config={"threads": options.threads})
    query = QUERY.format(rows=ROWS)
    # The rows are in a table, so that the results are measured and not the query.
    for db in (ours, theirs):
        (db.sql if db is ours else db.execute)(f"CREATE TABLE t AS {query}")
    arrow = theirs.sql("FROM t").to_arrow_table()
    frame = polars.DataFrame(arrow)
    theirs.register("arrow", arrow)
    theirs.register("frame", frame)
    runs, many = options.runs, 200
    cases = [
        ("import", lambda: None, lambda: None),
        ("SELECT 1", lambda: ours.sql("SELECT 1").fetchall(), lambda: theirs.execute("SELECT 1").fetchall()),
        ("to Arrow", lambda: ours.table("t").to_arrow(), lambda: theirs.sql("FROM t").to_arrow_table()),
        ("to pandas", lambda: ours.table("t").to_pandas(), lambda: theirs.sql("FROM t").df()),
        ("to Polars", lambda: ours.table("t").to_polars(), lambda: theirs.sql("FROM t").pl()),
        ("fetchall", lambda: ours.table("t").fetchall(), lambda: theirs.execute("FROM t").fetchall()),
        ("sum over an Arrow table", lambda: ours.frame(arrow).select(vl.col("b").sum(), vl.col("c").min()).fetchall(),
         lambda: theirs.execute("SELECT sum(b), min(c) FROM arrow").fetchall()),
        ("groups of a Polars frame",
         lambda: ours.frame(frame).group_by("c").agg(vl.col("b").sum()).fetchall(),
         lambda: theirs.execute("SELECT c, sum(b) FROM frame GROUP BY c").fetchall()),
    ]
    print(f"{'':26} {'volley ms':>10} {'duckdb ms':>10} {'ratio':>6}")
    for name, run, peer in cases:
        if name == "import":
            mine, other = import_time("volley", runs), import_time("duckdb", runs)
        else:
            repeats = many if name == "SELECT 1" else runs
            mine, other = best(run, repeats), best(peer, repeats)
        print(f"{name:26} {mine:10.3f} {other:10.3f} {mine / other:6.2f}", flush=True)
    assert pyarrow.table(ours.table("t")).num_rows == ROWS


if __name__ == "__main__":
    main()
