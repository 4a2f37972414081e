#!/usr/bin/env python3
"""Computes the TPC-H answers in crates/tpch/answers with DuckDB over Parquet files.

    pip install duckdb tpchgen-cli
    tpchgen-cli parquet -s 0.01 --output-dir=/tmp/tpch-sf0.01
    tests/tools/tpch_answers.py --data /tmp/tpch-sf0.01 --scale 0.01

`tpchgen-cli` is the command of the same generator that the Rust crates `tpchgen` and
`tpchgen-arrow` are, so `volley tpch generate` makes the same rows.

Each `answers/sfS/qNN.csv` has a header line with the column names and then the rows in the
query's order. Integers, text, decimals and dates are written exactly; doubles as the shortest
text that reads back as the same number. `answers/types.csv` names each column's type.

The script fails where the query's ORDER BY does not determine the order of the rows it returns,
or where LIMIT cuts through rows with equal sort keys; so the files can be compared row by row.
"""

import argparse
import csv
import pathlib
import re
import sys

import duckdb

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUERIES = ROOT / "crates" / "tpch" / "queries"
ANSWERS = ROOT / "crates" / "tpch" / "answers"
TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]


def query_text(number):
    """The query without its semicolon."""
    return (QUERIES / f"q{number:02}.sql").read_text().strip().removesuffix(";")


def split_tail(text):
    """Cuts a query into (body, sort keys, limit); keys are empty and limit None without them."""
    match = re.search(r"\norder by\n(.*?)(?:\nlimit (\d+))?$", text, re.DOTALL)
    if match is None:
        return text, [], None
    keys = [re.sub(r"\s+desc$", "", key.strip()) for key in match.group(1).split(",")]
    return text[: match.start()], keys, int(match.group(2)) if match.group(2) else None


def check_order(connection, number, rows, names):
    """Ends the program where the order of the answer, or the cut of its LIMIT, is not determined."""
    text = query_text(number)
    _, keys, limit = split_tail(text)
    if not keys:
        assert len(rows) <= 1, f"q{number:02} has several rows and no order"
        return
    if limit is not None:
        longer = re.sub(r"\nlimit \d+$", f"\nlimit {limit + 1}", text)
        rows = connection.execute(longer).fetchall()
    positions = [names.index(key) for key in keys]
    seen = set()
    for row in rows:
        key = tuple(row[position] for position in positions)
        if key in seen:
            sys.exit(f"q{number:02}: two rows have the sort key {key}")
        seen.add(key)


def answer(connection, number):
    """Runs one query; returns column names, types, and rows as text."""
    text = query_text(number)
    relation = connection.sql(text)
    names, types = relation.columns, [str(kind) for kind in relation.types]
    check_order(connection, number, relation.fetchall(), names)
    columns = ", ".join(f'"{name}"::varchar' for name in names)
    rows = connection.execute(f"select {columns} from ({text})").fetchall()
    assert all(value is not None for row in rows for value in row) or len(rows) == 1
    return names, types, [["NULL" if value is None else value for value in row] for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="folder with TABLE.parquet files")
    parser.add_argument("--scale", required=True, help="scale factor, names the output folder")
    parser.add_argument("--check", action="store_true", help="compare with the files, write nothing")
    arguments = parser.parse_args()

    connection = duckdb.connect()
    # One thread keeps the order of additions, and with it the last digits of doubles.
    connection.execute("set threads = 1")
    for table in TABLES:
        path = pathlib.Path(arguments.data) / f"{table}.parquet"
        connection.execute(f"create view {table} as from read_parquet('{path}')")

    folder = ANSWERS / f"sf{arguments.scale}"
    folder.mkdir(parents=True, exist_ok=True)
    type_rows, different = [], []
    for number in range(1, 23):
        names, types, rows = answer(connection, number)
        type_rows += [[f"q{number:02}", name, kind] for name, kind in zip(names, types)]
        target = folder / f"q{number:02}.csv"
        if arguments.check:
            with open(target, newline="") as file:
                if list(csv.reader(file)) != [names, *rows]:
                    different.append(target.name)
            continue
        with open(target, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([names, *rows])
    if arguments.check:
        sys.exit(f"different: {' '.join(different)}" if different else 0)
    with open(ANSWERS / "types.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([["query", "column", "type"], *type_rows])


if __name__ == "__main__":
    main()
