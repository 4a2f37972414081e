#!/usr/bin/env python3
"""Compares Volley with DuckDB and Polars on window functions over 10 million rows of a Parquet file.

    bench/window.py                                    10, 1,000 and a million partitions
    bench/window.py --rows 1000000 --threads 4 --runs 7 --only rank,lag

A statement sums up the results of its window function, so that all of them are computed and next to
no rows are returned. Polars' SQL has no frames; there, statements are written in its own expressions.
DuckDB writes the data into data/ on first use. See `statements.py` for how times are taken.
"""

import sys

import compare
import statements

PARTITIONS = {"10": "g10", "1000": "g1k", "1000000": "g1m"}
# By name: the call, and the same in Polars where it can say it.
CALLS = {
    "row_number": ("row_number() OVER (PARTITION BY {g} ORDER BY k, id)", "pl.int_range(1, pl.len() + 1).over('{g}', order_by=['k', 'id'])"),
    "rank": ("rank() OVER (PARTITION BY {g} ORDER BY k)", "pl.col('k').rank('min').over('{g}').cast(pl.Int64)"),
    "lag": ("lag(v) OVER (PARTITION BY {g} ORDER BY k, id)", "pl.col('v').cast(pl.Int64).shift(1).over('{g}', order_by=['k', 'id'])"),
    "sum of partition": ("sum(v) OVER (PARTITION BY {g})", "pl.col('v').cast(pl.Int64).sum().over('{g}')"),
    "running sum": (
        "sum(v) OVER (PARTITION BY {g} ORDER BY k, id ROWS UNBOUNDED PRECEDING)",
        "pl.col('v').cast(pl.Int64).cum_sum().over('{g}', order_by=['k', 'id'])",
    ),
    "sliding sum": (
        "sum(v) OVER (PARTITION BY {g} ORDER BY k, id ROWS BETWEEN 100 PRECEDING AND CURRENT ROW)",
        "pl.col('v').cast(pl.Int64).rolling_sum(101, min_samples=1).over('{g}', order_by=['k', 'id'])",
    ),
    "sum of a range": (
        "sum(v) OVER (PARTITION BY {g} ORDER BY k RANGE BETWEEN 100000 PRECEDING AND 100000 FOLLOWING)",
        None,
    ),
}
LIMITED_CALLS = {
    "row_number to 3": ("row_number() OVER (PARTITION BY {g} ORDER BY k, id)", "pl.int_range(1, pl.len() + 1).over('{g}', order_by=['k', 'id'])"),
    "rank to 3": ("rank() OVER (PARTITION BY {g} ORDER BY k)", "pl.col('k').rank('min').over('{g}')"),
}


def make_data(path, rows):
    import duckdb

    if path.exists():
        return
    path.parent.mkdir(exist_ok=True)
    keys = "(hash(i) % 10)::INTEGER g10, (hash(i * 7 + 1) % 1000)::INTEGER g1k, (hash(i * 13 + 5) % 1000000)::INTEGER g1m"
    others = f"(hash(i * 17 + 3) % {rows})::INTEGER k, (hash(i * 23 + 9) % 1000)::INTEGER v"
    duckdb.sql(f"COPY (SELECT i AS id, {keys}, {others} FROM range({rows}) t(i)) TO '{path}'")


def make_statements(options):
    path = compare.ROOT / "data" / f"window-{options.rows}.parquet"
    make_data(path, options.rows)
    made = []

    def add(name, sql, expression):
        if statements.is_wanted(options, name):
            made.append((name, sql, {"t": path}, expression))

    for partitions, g in PARTITIONS.items():
        for name, (call, expression) in CALLS.items():
            sql = f"SELECT sum(w) FROM (SELECT {call.format(g=g)} AS w FROM t) s"
            add(f"{name} / {partitions}", sql, expression and f"t.select(({expression.format(g=g)}).sum())")
        for name, (call, expression) in LIMITED_CALLS.items():
            sql = f"SELECT sum(id) FROM (SELECT id FROM t QUALIFY {call.format(g=g)} <= 3) s"
            add(f"{name} / {partitions}", sql, f"t.filter({expression.format(g=g)} <= 3).select(pl.col('id').sum())")
    return made


if __name__ == "__main__":
    sys.exit(statements.main(__doc__, lambda parser: None, make_statements))
