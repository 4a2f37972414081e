#!/usr/bin/env python3
"""Times range joins, ASOF joins and recursion against DuckDB, over the same Parquet files.

    cargo build --release -p volley-cli
    python bench/ranges.py --volley target/release/volley --threads 2

Each query runs three times, each time in a process of its own for Volley, whose time includes the
start; the best time counts. Answers are compared.
"""

import argparse
import csv
import io
import pathlib
import subprocess
import tempfile
import time

import duckdb

TABLES = {
    "trades": "SELECT i AS id, hash(i) % 1000 AS sym, (hash(i * 7) % 100000000)::BIGINT AS t FROM range(1000000) r(i)",
    "quotes": "SELECT i AS q, hash(i * 3) % 1000 AS sym, (i * 97) % 100000000 AS t FROM range(1000000) r(i)",
    "points": "SELECT i AS id, (hash(i * 11) % 10000000)::BIGINT AS x FROM range(1000000) r(i)",
    "spans": "SELECT i AS id, (hash(i * 13) % 10000000)::BIGINT AS f, (hash(i * 13) % 10000000)::BIGINT + 20 + i % 100 AS u FROM range(100000) r(i)",
    "edges": "SELECT i AS a, i + 1 AS b FROM range(10000) r(i)",
    "graph": "SELECT (hash(i) % 100000)::BIGINT AS a, (hash(i * 5 + 1) % 100000)::BIGINT AS b FROM range(300000) r(i)",
}

QUERIES = {
    "asof": "SELECT count(*), sum(q) FROM trades a ASOF JOIN quotes b ON a.sym = b.sym AND a.t >= b.t",
    "asof without keys": "SELECT count(*), sum(q) FROM trades a ASOF JOIN quotes b ON a.t >= b.t",
    "one inequality": "SELECT count(*), sum(s.id) FROM (SELECT * FROM points WHERE id < 3000) p JOIN spans s ON p.x < s.f",
    "points in spans": "SELECT count(*), sum(s.id) FROM points p JOIN spans s ON p.x BETWEEN s.f AND s.u",
    "overlaps": "SELECT count(*) FROM spans p JOIN spans q ON p.f < q.u AND q.f < p.u AND p.id < q.id",
    "points in no span": "SELECT count(*) FROM points p WHERE NOT EXISTS (SELECT 1 FROM spans s WHERE p.x >= s.f AND p.x <= s.u)",
    "10000 iterations": "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 10000) SELECT count(*), sum(n) FROM t",
    "chain of 10000": "WITH RECURSIVE t(n) AS (SELECT 0::BIGINT UNION SELECT b FROM t JOIN edges ON a = n) SELECT count(*), sum(n) FROM t",
    "reach in a graph": "WITH RECURSIVE t(n) AS (SELECT 1::BIGINT UNION SELECT b FROM t JOIN graph ON a = n) SELECT count(*), sum(n) FROM t",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--volley", default="target/release/volley")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        duck = duckdb.connect(config={"threads": arguments.threads})
        for name, query in TABLES.items():
            path = pathlib.Path(folder, f"{name}.parquet")
            duck.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
            duck.execute(f"CREATE VIEW {name} AS SELECT * FROM '{path}'")
        print(f"{'':20} {'volley':>9} {'duckdb':>9}")
        for name, query in QUERIES.items():
            expected, theirs = best(lambda: [str(it) for it in duck.execute(query).fetchone()])
            answer, ours = best(lambda: volley(arguments, folder, query))
            note = "" if answer == expected else f"  answers differ: {answer} {expected}"
            print(f"{name:20} {ours * 1000:7.0f}ms {theirs * 1000:7.0f}ms{note}")


def best(run):
    """The answer, and the least time of three."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        answer = run()
        times.append(time.perf_counter() - start)
    return answer, min(times)


def volley(arguments, folder, query):
    views = "".join(f"CREATE VIEW {name} AS SELECT * FROM '{folder}/{name}.parquet';" for name in TABLES)
    command = [arguments.volley, "--format", "csv", "--threads", str(arguments.threads), "-c", views + query]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return list(csv.reader(io.StringIO(output)))[-1]


if __name__ == "__main__":
    main()
