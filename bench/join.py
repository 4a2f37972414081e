#!/usr/bin/env python3
"""Compares Volley with DuckDB and Polars on joining rows of two Parquet files.

    bench/join.py                                        10 million probe rows, 1,000 to 10 million build rows
    bench/join.py --rows 100000000 --builds 1000000 --only integer --runs 1

The build side has each key once, in random order; the keys are those of `groupby.py`. Of the probe
rows, all find a match in `all`, and one of ten does in `tenth`. Every query counts the pairs and adds
up a column of each side. DuckDB writes the data into data/ on first use. See `statements.py` for how
times are taken.
"""

import sys

import compare
import statements
from groupby import KEYS


PROBES = ["all", "tenth"]


def make_data(folder, rows, builds, columns):
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    keys = ", ".join(f"{how} as {name}" for name, how in columns.items())
    sides = {
        "build": f"select {keys}, (hash(g) % 1000)::bigint as w from range({builds}) t(g) order by hash(g + 1)",
        "all": f"select {keys}, v from (select (hash(i) % {builds})::bigint as g, i % 1000 as v from range({rows}) t(i))",
        "tenth": f"select {keys}, v from (select (hash(i) % {builds * 10})::bigint as g, i % 1000 as v from range({rows}) t(i))",
    }
    for side, sql in sides.items():
        if not (folder / f"{side}.parquet").exists():
            duckdb.sql(f"copy ({sql}) to '{folder / side}.parquet' (row_group_size 122880)")


def make_statements(options):
    made = []
    for builds in options.builds:
        for name, columns in KEYS.items():
            if not any(statements.is_wanted(options, f"{name} / {builds} / {it}") for it in PROBES):
                continue
            folder = compare.ROOT / "data" / f"join-{options.rows}" / f"{name.replace(' ', '-')}-{builds}"
            make_data(folder, options.rows, builds, columns)
            condition = " and ".join(f"p.{it} = b.{it}" for it in columns)
            sql = f"select count(*), sum(p.v), sum(b.w) from p join b on {condition}"
            for probe in PROBES:
                views = {"p": folder / f"{probe}.parquet", "b": folder / "build.parquet"}
                made.append((f"{name} / {builds} / {probe}", sql, views))
    return [it for it in made if statements.is_wanted(options, it[0])]


def add_arguments(parser):
    numbers = lambda text: [int(it) for it in text.split(",")]
    parser.add_argument("--builds", type=numbers, default=[1000, 100_000, 1_000_000, 10_000_000])


if __name__ == "__main__":
    sys.exit(statements.main(__doc__, add_arguments, make_statements))
