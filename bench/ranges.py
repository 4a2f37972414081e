#!/usr/bin/env python3
"""Compares Volley with DuckDB and Polars on range joins, ASOF joins and recursion.

    bench/ranges.py
    bench/ranges.py --rows 10000000 --only asof --runs 1

`--rows` counts the rows of the larger tables. Polars' SQL has neither ASOF nor range joins; there,
statements are written in its own expressions, and it has no recursion. DuckDB writes the data into
data/ on first use. See `statements.py` for how times are taken.
"""

import sys

import compare
import statements

TABLES = {
    "trades": "i AS id, hash(i) % 1000 AS sym, (hash(i * 7) % 100000000)::BIGINT AS t FROM range({rows}) r(i)",
    "quotes": "i AS q, hash(i * 3) % 1000 AS sym, (i * 97) % 100000000 AS t FROM range({rows}) r(i)",
    "points": "i AS id, (hash(i * 11) % 10000000)::BIGINT AS x FROM range({rows}) r(i)",
    "spans": "i AS id, (hash(i * 13) % 10000000)::BIGINT AS f, (hash(i * 13) % 10000000)::BIGINT + 20 + i % 100 AS u FROM range({rows} // 10) r(i)",
    "edges": "i AS a, i + 1 AS b FROM range(10000) r(i)",
    "graph": "(hash(i) % ({rows} // 10))::BIGINT AS a, (hash(i * 5 + 1) % ({rows} // 10))::BIGINT AS b FROM range({rows} * 3 // 10) r(i)",
}

# By name: the statement, and the same in Polars where it can say it.
STATEMENTS = {
    "asof": (
        "SELECT count(*), sum(q) FROM trades a ASOF JOIN quotes b ON a.sym = b.sym AND a.t >= b.t",
        "trades.sort('t').join_asof(quotes.sort('t'), on='t', by='sym').drop_nulls('q').select(pl.len(), pl.col('q').sum())",
    ),
    "asof without keys": (
        "SELECT count(*), sum(q) FROM trades a ASOF JOIN quotes b ON a.t >= b.t",
        "trades.sort('t').join_asof(quotes.sort('t'), on='t').drop_nulls('q').select(pl.len(), pl.col('q').sum())",
    ),
    "one inequality": (
        "SELECT count(*), sum(s.id) FROM (SELECT * FROM points WHERE id < 3000) p JOIN spans s ON p.x < s.f",
        "points.filter(pl.col('id') < 3000).join_where(spans, pl.col('x') < pl.col('f')).select(pl.len(), pl.col('id_right').sum())",
    ),
    "points in spans": (
        "SELECT count(*), sum(s.id) FROM points p JOIN spans s ON p.x BETWEEN s.f AND s.u",
        "points.join_where(spans, pl.col('x') >= pl.col('f'), pl.col('x') <= pl.col('u')).select(pl.len(), pl.col('id_right').sum())",
    ),
    "overlaps": (
        "SELECT count(*), sum(p.id) FROM spans p JOIN spans q ON p.f < q.u AND q.f < p.u AND p.id < q.id",
        "spans.join_where(spans, pl.col('f') < pl.col('u_right'), pl.col('f_right') < pl.col('u'), pl.col('id') < pl.col('id_right'))"
        ".select(pl.len(), pl.col('id').sum())",
    ),
    "points in no span": (
        "SELECT count(*), sum(p.id) FROM (SELECT * FROM points WHERE id < 3000) p WHERE NOT EXISTS (SELECT 1 FROM spans s WHERE p.x >= s.f AND p.x <= s.u)",
        None,
    ),
    "10000 iterations": (
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 10000) SELECT count(*), sum(n) FROM t",
        None,
    ),
    "chain of 10000": (
        "WITH RECURSIVE t(n) AS (SELECT 0::BIGINT UNION SELECT b FROM t JOIN edges ON a = n) SELECT count(*), sum(n) FROM t",
        None,
    ),
    "reach in a graph": (
        "WITH RECURSIVE t(n) AS (SELECT 1::BIGINT UNION SELECT b FROM t JOIN graph ON a = n) SELECT count(*), sum(n) FROM t",
        None,
    ),
}


def make_data(folder, rows):
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in TABLES.items():
        path = folder / f"{name}.parquet"
        if not path.exists():
            duckdb.sql(f"COPY (SELECT {columns.format(rows=rows)}) TO '{path}' (ROW_GROUP_SIZE 122880)")


def make_statements(options):
    folder = compare.ROOT / "data" / f"ranges-{options.rows}"
    make_data(folder, options.rows)
    views = {name: folder / f"{name}.parquet" for name in TABLES}
    wanted = {name: it for name, it in STATEMENTS.items() if statements.is_wanted(options, name)}
    return [(name, sql, views, expression) for name, (sql, expression) in wanted.items()]


if __name__ == "__main__":
    sys.exit(statements.main(__doc__, lambda parser: parser.set_defaults(rows=1_000_000), make_statements))
