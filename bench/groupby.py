#!/usr/bin/env python3
"""Compares Volley with DuckDB and Polars on grouping rows of a Parquet file.

    bench/groupby.py                                     10 million rows, 10 to 10 million groups
    bench/groupby.py --rows 100000000 --groups 10,1000000 --only integer,text --runs 1

The keys have as many different values as a query makes groups, in random order: integers from 0 on,
integers far apart, two integers, texts of 8 and of 40 bytes, decimals. Every query counts the rows of
each group and adds up two columns, and returns sums over the groups. DuckDB writes the data into
data/ on first use. See `statements.py` for how times are taken.
"""

import sys

import compare
import statements

# By name: the key columns, and how DuckDB makes them from `g`, the number of the group.
KEYS = {
    "integer": {"k": "g"},
    "sparse integer": {"k": "(g * 92233720368 + 17)"},
    "two integers": {"k": "(g % 1000)::integer", "l": "(g // 1000)::integer"},
    "short text": {"k": "'k' || lpad(g::varchar, 7, '0')"},
    "long text": {"k": "md5(g::varchar) || lpad(g::varchar, 8, '0')"},
    "decimal": {"k": "(g / 100)::decimal(12, 2)"},
}


def make_data(path, rows, groups, columns):
    import duckdb

    if path.exists():
        return
    path.parent.mkdir(exist_ok=True)
    keys = ", ".join(f"{how} as {name}" for name, how in columns.items())
    numbered = f"select i, (hash(i) % {groups})::bigint as g from range({rows}) t(i)"
    values = "(hash(i + 1) % 1000)::bigint as v, (hash(i + 2) % 100000 / 100)::decimal(12, 2) as p"
    duckdb.sql(f"copy (select {keys}, {values} from ({numbered})) to '{path}' (row_group_size 122880)")


def make_statements(options):
    made = []
    for groups in options.groups:
        for name, columns in KEYS.items():
            if not statements.is_wanted(options, f"{name} / {groups}"):
                continue
            path = compare.ROOT / "data" / f"groupby-{options.rows}" / f"{name.replace(' ', '-')}-{groups}.parquet"
            make_data(path, options.rows, groups, columns)
            keys = ", ".join(columns)
            grouped = f"select {keys}, count(*) as n, sum(v) as v, sum(p) as p from t group by {keys}"
            sql = f"select count(*), sum(n), sum(v), max(v), sum(p) from ({grouped}) g"
            made.append((f"{name} / {groups}", sql, {"t": path}))
    return made


def add_arguments(parser):
    numbers = lambda text: [int(it) for it in text.split(",")]
    parser.add_argument("--groups", type=numbers, default=[10, 1000, 100_000, 1_000_000, 10_000_000])


if __name__ == "__main__":
    sys.exit(statements.main(__doc__, add_arguments, make_statements))
