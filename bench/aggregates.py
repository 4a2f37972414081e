#!/usr/bin/env python3
"""Compares Volley with DuckDB and Polars on aggregates other than sums, by groups.

    bench/aggregates.py                                 10 million rows, 10 to a million groups
    bench/aggregates.py --rows 1000000 --groups 1000 --only median,histogram

Every statement computes one aggregate of each group and sums up over the groups what it says. Polars'
SQL has few of them; there, statements are written in its own expressions. DuckDB writes the data into
data/ on first use. See `statements.py` for how times are taken.
"""

import sys

import compare
import statements

# By name: the aggregate as a number, and the same in Polars where it can say it.
AGGREGATES = {
    "max_by": ("max_by(v, w)", "pl.col('v').get(pl.col('w').arg_max())"),
    "first": ("any_value(g) % 100", None),
    "stddev": ("stddev_samp(v)", "pl.col('v').std()"),
    "corr": ("corr(v, w)", "pl.corr('v', 'w')"),
    "median": ("median(v)", "pl.col('v').median()"),
    "quantile": ("quantile_cont(w, 0.9)", "pl.col('w').quantile(0.9, 'linear')"),
    "mode": ("mode(g) % 100", None),
    "count distinct": ("count(DISTINCT v)", "pl.col('v').n_unique()"),
    "list": ("len(list(v))", "pl.col('v').implode().list.len()"),
    "ordered text": ("len(string_agg(s, ',' ORDER BY w))", "pl.col('s').sort_by('w').str.join(',').str.len_chars()"),
    "histogram": ("len(map_keys(histogram(h)))", "pl.col('h').n_unique()"),
    "bit_xor": ("bit_xor(w)", None),
    "max of text": ("len(max(s))", "pl.col('s').max().str.len_chars()"),
    "filtered": ("count(*) FILTER (WHERE v > 500)", "(pl.col('v') > 500).sum()"),
}
# Approximate ones differ between engines: only their number of rows is compared.
APPROXIMATE = {
    "approx distinct": "approx_count_distinct(w)",
    "approx quantile": "approx_quantile(w, 0.5)",
}


def make_data(path, rows, groups):
    import duckdb

    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = (
        f"(hash(i) % {groups})::BIGINT AS g, (hash(i * 3 + 1) % 1000)::BIGINT AS v, "
        f"(i * 7919 % {rows})::BIGINT AS w, (hash(i * 11 + 2) % 20)::BIGINT AS h, "
        "'s' || lpad((hash(i * 13 + 4) % 100000)::VARCHAR, 6, '0') AS s"
    )
    duckdb.sql(f"COPY (SELECT {columns} FROM range({rows}) t(i)) TO '{path}' (ROW_GROUP_SIZE 122880)")


def make_statements(options):
    made = []
    for groups in options.groups:
        path = compare.ROOT / "data" / f"aggregates-{options.rows}" / f"{groups}.parquet"
        make_data(path, options.rows, groups)

        def add(name, sql, expression):
            if statements.is_wanted(options, f"{name} / {groups}"):
                made.append((f"{name} / {groups}", sql, {"t": path}, expression))

        for name, (call, expression) in AGGREGATES.items():
            if expression is not None:
                expression = f"t.group_by('g').agg(({expression}).alias('a')).select(pl.len(), pl.col('a').sum())"
            add(name, f"SELECT count(*), sum(a) FROM (SELECT g, {call} AS a FROM t GROUP BY g) s", expression)
        for name, call in APPROXIMATE.items():
            add(name, f"SELECT count(*) FROM (SELECT g, {call} AS a FROM t GROUP BY g) s WHERE a IS NOT NULL", None)
    return made


def add_arguments(parser):
    numbers = lambda text: [int(it) for it in text.split(",")]
    parser.add_argument("--groups", type=numbers, default=[10, 1000, 100_000, 1_000_000])


if __name__ == "__main__":
    sys.exit(statements.main(__doc__, add_arguments, make_statements))
