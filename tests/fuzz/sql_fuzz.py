#!/usr/bin/env python3
"""Runs random queries in Volley and in DuckDB and compares the answers.

    pip install duckdb pyarrow
    cargo build --release -p volley-cli
    tests/fuzz/sql_fuzz.py --seed 1 --count 1000 --volley target/release/volley
    tests/fuzz/sql_fuzz.py --seconds 3600         until the time is over, with seeds from --seed on

Each seed gives the same tables and queries on every machine: one to three small tables with nulls,
NaN, infinities, -0.0, limits of BIGINT and non-ASCII text, and 20 queries over them (joins of all
kinds, correlated subqueries, aggregates, set operations, WITH, DISTINCT, ORDER BY and LIMIT).
Volley reads the tables from Parquet files or from VALUES, with one or two threads, with batches of
1, 3 or 1024 rows, sometimes without some of the optimizer's rules, and sometimes with every operator
writing what it holds to disk whenever it can, as the seed says.

Answers are compared as multisets of rows, or row by row under an ORDER BY of all columns; doubles
with a relative tolerance of 1e-9. An error in both engines is agreement. The program reports

- a difference: other rows, an error in one engine only, a crash, or no answer in --timeout seconds;
- constructs that Volley says it does not support, counted by message, at the end.

A difference is cut down, rows and query, while it stays one of the same kind, and printed as a
statement to paste into a shell of both. The exit status is 1 if there was a difference.
"""

import argparse
import collections
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import duckdb

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from expressions import TYPES
from queries import Queries
from tables import Table, random_table
from tree import Listing, Node, reductions

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The optimizer's rules: answers are the same without any of them.
RULES = [
    "fold_constants", "narrow_constants", "simplify_booleans", "inline_ctes", "merge_projections", "simplify_outer_joins",
    "push_filters", "infer_predicates", "derive_from_or", "drop_empty", "drop_distinct", "push_limits", "place_semi_joins",
    "order_joins", "choose_build_sides", "share_subplans", "prune_columns", "split_distinct",
    "aggregate_early", "scan_fields",
]
QUERIES_PER_SEED = 20


class Case:
    """Tables, one query, and how Volley runs it."""

    def __init__(self, tables, query, ordered, options):
        self.tables, self.query, self.ordered, self.options = tables, query, ordered, options

    def changed(self, tables=None, query=None):
        return Case(tables or self.tables, query or self.query, self.ordered, self.options)

    def columns(self):
        """How many columns the query has."""
        query = self.query
        while not (items := [part for part in query.parts if isinstance(part, Listing)]):
            # A set operation or a query below WITH: its last arm.
            query = [part for part in query.parts if isinstance(part, Node) and part.tag == "query"][-1]
        return len(items[0].parts)

    def body(self):
        """The statement without the tables; all columns become text, which has no types to lose."""
        count = self.columns()
        names = ", ".join(f"c{at}" for at in range(count))
        casts = ", ".join(f"q.c{at}::VARCHAR AS v{at}" for at in range(count))
        order = ""
        if self.ordered:
            order = " ORDER BY " + ", ".join(f"q.c{at}{self.ordered[at % len(self.ordered)]}" for at in range(count))
        return f"SELECT {casts} FROM ({self.query}) AS q({names}){order}"

    def with_values(self):
        return "WITH " + ", ".join(table.values() for table in self.tables) + " " + self.body()


def run_duckdb(case):
    """Returns ("rows", rows), ("error", text), or ("not run", text) where DuckDB rejects the query."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("CREATE MACRO regexp_like(s, p) AS regexp_matches(s, p)")
    try:
        # As tables, since views over VALUES would be folded, and DuckDB prunes Parquet files by
        # statistics that leave NaN out.
        for table in case.tables:
            connection.execute(f"CREATE TABLE {table.name} AS WITH {table.values()} SELECT * FROM {table.name}")
        rows = connection.execute(case.body()).fetchall()
        # The sign of NaN says nothing, and only DuckDB prints it.
        return "rows", [["nan" if value == "-nan" else value for value in row] for row in rows]
    except (duckdb.BinderException, duckdb.ParserException, duckdb.NotImplementedException) as problem:
        return "not run", str(problem).splitlines()[0]
    except duckdb.Error as problem:
        if "BindBuiltinScalarFunction did not return" in str(problem):
            return "not run", "a bug of DuckDB"
        return "error", f"{type(problem).__name__}: {str(problem).splitlines()[0]}"
    finally:
        connection.close()


def run_volley(case, binary, timeout):
    """Returns ("rows", rows), ("error", text), ("unsupported", text), ("crash", text)."""
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "--format", "ndjson", "--threads", str(case.options["threads"])]
        command += ["--set", f"batch_rows={case.options['batch_rows']}"]
        if case.options["disabled"]:
            command += ["--set", f"disabled_rules={case.options['disabled']}"]
        if case.options["spills"]:
            command += ["--set", "debug_spill_always=on"]
        if case.options["values"]:
            sql = case.with_values()
        else:
            sql = case.body()
            for table in case.tables:
                table.write(folder, case.options["row_group"])
            command += ["--data", folder]
        try:
            done = subprocess.run([*command, "-c", sql], capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return "crash", f"no answer in {timeout} seconds"
    if done.returncode == 0:
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return "rows", [[row.get(f"v{at}") for at in range(case.columns())] for row in rows]
    first = next((line for line in done.stderr.splitlines() if line.strip()), "")
    if done.returncode != 1 or "panicked" in done.stderr or "a bug in Volley" in done.stderr:
        return "crash", f"exit status {done.returncode}: {first}"
    kind = "unsupported" if "not supported" in first or "unsupported" in first else "error"
    return kind, first


def value_key(value):
    """What sorts rows alike in both engines: numbers by their leading digits."""
    if value is None:
        return "~null"
    try:
        return f"{float(value):.6g}".replace("-0", "0") if float(value) == 0 else f"{float(value):.6g}"
    except ValueError:
        return value


def values_equal(a, b):
    if a == b:
        return True
    if a is None or b is None:
        return False
    # Only doubles have a point or an exponent and may differ in their last digits.
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    if x == y:
        return (x == 0 or "e" in a + b or len(a) == len(b)) and ("." in a) == ("." in b)
    if not ("." in a and "." in b):
        return False
    return math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12) and max(len(a), len(b)) > 12


def rows_equal(left, right, ordered):
    if len(left) != len(right):
        return False
    if not ordered:
        # Texts may be alike as numbers: only rows that differ are paired by their leading digits.
        exact = lambda row: [(value is None, value or "") for value in row]
        if sorted(map(exact, left)) == sorted(map(exact, right)):
            return True
        left, right = (sorted(rows, key=lambda row: [value_key(value) for value in row]) for rows in (left, right))
    return all(values_equal(a, b) for one, two in zip(left, right) for a, b in zip(one, two))


def verdict(case, arguments):
    """Returns (kind of difference or None, DuckDB's answer, Volley's answer)."""
    expected = run_duckdb(case)
    actual = run_volley(case, arguments.volley, arguments.timeout)
    if actual[0] in ("crash", "unsupported"):
        return actual[0], expected, actual
    if expected[0] == "not run":
        return None, expected, actual
    if expected[0] == actual[0] == "error":
        return None, expected, actual
    for name, answer in ("DuckDB", expected), ("Volley", actual):
        if answer[0] == "error":
            # The words of the message keep a case from becoming another one while it shrinks.
            return f"{name} fails: {' '.join(re.findall('[A-Za-z]+', answer[1])[:8])}", expected, actual
    return (None if rows_equal(expected[1], actual[1], case.ordered) else "other rows"), expected, actual


def smaller_tables(case):
    """Cases without a table, without a column, without half of a table's rows, without a row."""
    for at, table in enumerate(case.tables):
        before, after = case.tables[:at], case.tables[at + 1 :]
        if before or after:
            yield case.changed(tables=[*before, *after])
        for column in range(len(table.columns) if len(table.columns) > 1 else 0):
            names = table.columns[:column] + table.columns[column + 1 :]
            rows = [row[:column] + row[column + 1 :] for row in table.rows]
            yield case.changed(tables=[*before, Table(table.name, names, rows), *after])
        size = len(table.rows)
        step = max(1, size // 2)
        while size and step >= 1:
            for start in range(0, size, step):
                rows = table.rows[:start] + table.rows[start + step :]
                yield case.changed(tables=[*before, Table(table.name, table.columns, rows), *after])
            step //= 2


def shrink(case, kind, arguments):
    """Cuts the case down while its verdict stays of this kind, for at most --shrink seconds."""
    end = time.monotonic() + arguments.shrink
    shrunk = True
    while shrunk and time.monotonic() < end:
        shrunk = False
        candidates = [lambda: (case.changed(query=query) for query in reductions(case.query)), lambda: smaller_tables(case)]
        for make in candidates:
            for smaller in make():
                if time.monotonic() > end:
                    break
                if verdict(smaller, arguments)[0] == kind:
                    case, shrunk = smaller, True
                    break
    return case


def show(answer):
    kind, content = answer
    if kind != "rows":
        return f"{kind}: {content}"
    lines = [" | ".join("NULL" if value is None else value for value in row) for row in content[:20]]
    return "\n    ".join([f"{len(content)} rows", *lines])


def cases(seed):
    rng = random.Random(seed)
    tables = [random_table(rng, f"{name}") for name in ["a", "b", "c"][: rng.randint(1, 3)]]
    for _ in range(QUERIES_PER_SEED):
        maker = Queries(rng, [(table.name, table.columns) for table in tables])
        query = maker.query(rng.choices(TYPES, k=rng.randint(1, 4)), rng.choice([1, 2, 3, 3]))
        ordered = [rng.choice(["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]) for _ in range(4)] if rng.random() < 0.3 else None
        disabled = ",".join(rng.sample(RULES, rng.choice([1, 1, 2, 4]))) if rng.random() < 0.3 else ""
        options = {"disabled": disabled, "threads": rng.choice([1, 2]), "batch_rows": rng.choice([1, 3, 1024]), "row_group": rng.choice([1, 4, 1000]), "values": rng.random() < 0.3, "spills": rng.random() < 0.3}
        yield Case(tables, query, ordered, options)


def check(case, seed, number, arguments, counts):
    kind, expected, actual = verdict(case, arguments)
    counts["queries"] += 1
    counts["not run by DuckDB"] += expected[0] == "not run"
    counts["errors in both"] += expected[0] == actual[0] == "error"
    if kind == "unsupported":
        counts["unsupported: " + actual[1]] += 1
        return
    if kind is None:
        return
    counts["differences"] += 1
    if arguments.shrink > 0:
        case = shrink(case, kind, arguments)
        _, expected, actual = verdict(case, arguments)
    print(f"-- {kind}: seed {seed}, query {number}, {case.options}")
    print(case.with_values() + ";")
    print(f"-- DuckDB: {show(expected)}\n-- Volley: {show(actual)}\n", flush=True)


def generate_only(arguments):
    """Runs the queries in DuckDB alone and counts its errors: a check of the generator."""
    counts = collections.Counter()
    for seed in range(arguments.seed, arguments.seed + max(1, arguments.count // QUERIES_PER_SEED)):
        for case in cases(seed):
            kind, content = run_duckdb(case)
            counts[kind] += 1
            counts["not empty"] += kind == "rows" and len(content) > 0
            if kind == "error":
                counts[content.split(":")[0]] += 1
                if arguments.shrink > 0:
                    print(case.with_values(), "\n--", content)
    print(dict(counts))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=200, help="queries to run (20 per seed)")
    parser.add_argument("--seconds", type=float, help="run for this long and not --count queries")
    parser.add_argument("--volley", default=str(ROOT / "target" / "release" / "volley"), help="Volley's binary")
    parser.add_argument("--timeout", type=float, default=20, help="seconds for one query")
    parser.add_argument("--shrink", type=float, default=30, help="seconds to spend on cutting down each difference")
    parser.add_argument("--stop-after", type=int, default=20, help="stop after this number of differences")
    parser.add_argument("--generate-only", action="store_true", help="run DuckDB alone, to check the generator")
    arguments = parser.parse_args()
    if arguments.generate_only:
        return generate_only(arguments)

    counts = collections.Counter()
    start, seed = time.monotonic(), arguments.seed
    while counts["differences"] < arguments.stop_after:
        if time.monotonic() - start > arguments.seconds if arguments.seconds else counts["queries"] >= arguments.count:
            break
        for number, case in enumerate(cases(seed)):
            check(case, seed, number, arguments, counts)
            if counts["differences"] >= arguments.stop_after:
                break
        seed += 1
    for name, count in sorted(counts.items()):
        print(f"{count:>8} {name}")
    print(f"seeds {arguments.seed} to {seed - 1}, {time.monotonic() - start:.0f} seconds")
    return sys.exit(1 if counts["differences"] else 0)


if __name__ == "__main__":
    main()
