#!/usr/bin/env python3
"""Runs random sequences of INSERT, UPDATE, DELETE and MERGE in Volley and in DuckDB and compares the
tables after every statement.

    pip install duckdb
    cargo build --release -p volley-cli
    tests/fuzz/dml_fuzz.py --seed 1 --count 100 --volley target/release/volley
    tests/fuzz/dml_fuzz.py --seconds 600            until the time is over, with seeds from --seed on

Each seed gives the same statements on every machine: two tables, one with a PRIMARY KEY, NOT NULL,
CHECK and UNIQUE, and changes of them, some of which fail: then both engines must leave the table as
it was. A statement that fails in one engine only shows in the tables. Statements of which it is not
determined what they do are not made: every row of a join matches at most once.

A difference is printed with the statements that lead to it; the exit status is 1 then.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import time

import duckdb

STATEMENTS = 30
TEXTS = ["'a'", "'b'", "''", "'ä'", "'日本'", "NULL", "'long text that does not fit in twelve bytes'"]
NUMBERS = ["0", "1", "-1", "7", "NULL", "100", "100000"]
DOUBLES = ["0.5", "-0.0::DOUBLE", "'nan'::DOUBLE", "'inf'::DOUBLE", "NULL", "1e300"]
DUMP = {
    "t": "SELECT id, n::VARCHAR AS n, s, d::VARCHAR AS d, g FROM t ORDER BY id, n, s, d",
    "p": "SELECT id, n::VARCHAR AS n, s, d::VARCHAR AS d FROM p ORDER BY id, n, s, d",
}
CREATE = [
    "CREATE TABLE t (id INTEGER, n INTEGER DEFAULT 5, s VARCHAR, d DOUBLE, g INTEGER AS (n % 7))",
    "CREATE TABLE p (id INTEGER PRIMARY KEY, n INTEGER CHECK (n <> 7), s VARCHAR NOT NULL, d DOUBLE DEFAULT 0.5)",
]


class Statements:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.next = 0

    def pick(self, options):
        return self.random.choice(options)

    def id(self):
        return str(self.random.randrange(0, 25)) if self.random.random() < 0.9 else "NULL"

    def row(self):
        return f"({self.id()}, {self.pick(NUMBERS)}, {self.pick(TEXTS)}, {self.pick(DOUBLES)})"

    def condition(self, table):
        other = "p" if table == "t" else "t"
        return self.pick([
            f"{table}.id % {self.random.randrange(2, 6)} = {self.random.randrange(0, 3)}",
            f"{table}.id > {self.id()}",
            f"{table}.n IS NULL",
            f"{table}.s = {self.pick(TEXTS)}",
            f"{table}.s IN ({self.pick(TEXTS)}, {self.pick(TEXTS)})",
            f"{table}.d > {self.pick(DOUBLES)}",
            f"{table}.id IN (SELECT id FROM {other})",
            f"{table}.id NOT IN (SELECT id FROM {other} WHERE id IS NOT NULL)",
            f"EXISTS (SELECT 1 FROM {other} AS o WHERE o.id = {table}.id + 1)",
            f"{table}.id = (SELECT max(id) FROM {table})",
            f"{table}.n < (SELECT avg(n) FROM {table} AS o WHERE o.id < {table}.id)",
            "TRUE",
        ])

    def value(self, table, column):
        if column == "id":
            return self.pick([f"{table}.id + {self.random.randrange(0, 30)}", self.id(), f"-{table}.id"])
        if column == "n":
            return self.pick(["DEFAULT", *NUMBERS, f"{table}.n + 1", f"{table}.n * {table}.id", "(SELECT count(*) FROM t)",
                              f"(SELECT min(o.id) FROM p AS o WHERE o.id > {table}.id)"])
        if column == "s":
            return self.pick([*TEXTS, f"{table}.s || 'x'", f"upper({table}.s)", f"{table}.n::VARCHAR"])
        return self.pick([*DOUBLES, f"{table}.d + 1", f"{table}.id / 2.0", "DEFAULT"])

    def assignments(self, table, values=None):
        columns = self.random.sample(["n", "s", "d", "id"], self.random.randrange(1, 4))
        return ", ".join(f"{column} = {values[column] if values else self.value(table, column)}" for column in columns)

    def source(self):
        """One row per id, so that nothing matches twice."""
        rows = self.random.sample(range(0, 25), self.random.randrange(0, 8))
        if not rows:
            return "(SELECT id, n, s, d FROM t WHERE FALSE)"
        rows = [f"({id}, {self.pick(['1', '2', '3'])}, {self.pick(TEXTS)}, {self.pick(['0.25', 'NULL'])})" for id in rows]
        return f"(SELECT * FROM (VALUES {', '.join(rows)}) AS v(id, n, s, d))"

    def statement(self):
        table = self.pick(["t", "t", "p"])
        other = "p" if table == "t" else "t"
        kind = self.random.random()
        if kind < 0.35:
            return self.insert(table, other)
        if kind < 0.6:
            update = f"UPDATE {table} SET {self.assignments(table)}"
            if self.random.random() < 0.3:
                values = {"n": f"{table}.n + o.n", "s": "o.s", "d": "o.d", "id": f"o.id + {self.random.randrange(3)}"}
                return f"UPDATE {table} SET {self.assignments(table, values)} FROM {self.source()} AS o WHERE o.id = {table}.id"
            return update + (f" WHERE {self.condition(table)}" if self.random.random() < 0.85 else "")
        if kind < 0.78:
            if self.random.random() < 0.3:
                return f"DELETE FROM {table} USING {other} AS o WHERE o.id = {table}.id + {self.random.randrange(3)}"
            return f"DELETE FROM {table} WHERE {self.condition(table)} AND {table}.id % 3 <> 1"
        if kind < 0.97:
            return self.merge(table)
        return self.pick([f"DELETE FROM {table}", f"TRUNCATE {table}"])

    def insert(self, table, other):
        rows = ", ".join(self.row() for _ in range(self.random.randrange(1, 6)))
        return self.pick([
            f"INSERT INTO {table} VALUES {rows}",
            f"INSERT INTO {table} VALUES {rows}",
            f"INSERT INTO {table} (s, id) VALUES ({self.pick(TEXTS)}, {self.id()}), ({self.pick(TEXTS)}, {self.id()})",
            f"INSERT INTO {table} SELECT id + {self.random.randrange(40)}, n, s, d FROM {other} WHERE id IS NOT NULL",
            f"INSERT INTO {table} BY NAME SELECT s || 'y' AS s, id + 50 AS id FROM {table} WHERE id < 10",
            f"INSERT INTO p VALUES {self.row()} ON CONFLICT DO NOTHING",
            f"INSERT INTO p VALUES {self.row()} ON CONFLICT (id) DO UPDATE SET n = excluded.n, s = p.s || excluded.s",
            f"INSERT OR REPLACE INTO p VALUES {self.row()}",
        ])

    def merge(self, table):
        clauses = []
        if self.random.random() < 0.4:
            clauses.append(f"WHEN MATCHED AND {self.pick(['o.n = 1', f'{table}.n > o.n', f'{table}.s IS NULL'])} THEN "
                           + self.pick(["DELETE", "DO NOTHING", f"UPDATE SET s = o.s, n = {table}.n + 1"]))
        if self.random.random() < 0.7:
            clauses.append("WHEN MATCHED THEN " + self.pick(["UPDATE SET n = o.n, s = o.s", "DELETE", f"UPDATE SET d = {table}.d + o.n"]))
        if self.random.random() < 0.7:
            clauses.append("WHEN NOT MATCHED " + self.pick(["", "AND o.n > 1 "]) + "THEN "
                           + self.pick(["INSERT VALUES (o.id, o.n, o.s, o.d)", "INSERT (id, s) VALUES (o.id + 30, 'new')"]))
        if self.random.random() < 0.3:
            clauses.append(f"WHEN NOT MATCHED BY SOURCE AND {table}.id > 15 THEN "
                           + self.pick(["DELETE", f"UPDATE SET n = {table}.n - 1", "DO NOTHING"]))
        if not clauses:
            clauses = ["WHEN MATCHED THEN DELETE"]
        on = self.pick([f"ON o.id = {table}.id", f"ON o.id = {table}.id", "USING (id)"])
        return f"MERGE INTO {table} USING {self.source()} AS o {on} {' '.join(clauses)}"


def text(value):
    return "nan" if value == "-nan" else value


def in_duckdb(statements):
    """The tables after every statement."""
    connection = duckdb.connect(config={"threads": 1})
    states, failed = [], 0
    for sql in statements:
        try:
            connection.execute(sql)
        except duckdb.InternalException:
            return None, 0
        except duckdb.Error:
            failed += 1
        state = []
        for name, dump in DUMP.items():
            try:
                rows = connection.execute(dump).fetchall()
            except duckdb.CatalogException:
                rows = []
            state += [[name, *[text(value) for value in row]] for row in rows]
        states.append(state)
    return states, failed


def in_volley(binary, statements, random_options):
    script = []
    for index, sql in enumerate(statements):
        script.append(sql + ";")
        script.append(f"SELECT {index} AS after;")
        script += [dump.replace("SELECT", f"SELECT '{name}' AS name,", 1) + ";" for name, dump in DUMP.items()]
    command = [binary, "--format", "ndjson", "--keep-going", "--threads", str(random_options.choice([1, 2])),
               "--set", f"batch_rows={random_options.choice([1, 3, 1024])}"]
    done = subprocess.run(command, input="\n".join(script), capture_output=True, text=True, timeout=120)
    if "panicked" in done.stderr or "a bug in Volley" in done.stderr or done.returncode not in (0, 1):
        return None, done.stderr
    states = []
    for line in done.stdout.splitlines():
        row = json.loads(line)
        if "after" in row:
            states.append([])
        else:
            states[-1].append(list(row.values()))
    return states, done.stderr


def check(seed, binary):
    made = Statements(seed)
    statements = [*CREATE, *[made.statement() for _ in range(STATEMENTS)]]
    expected, failed = in_duckdb(statements)
    if expected is None:
        return 0, None
    states, errors = in_volley(binary, statements, random.Random(seed))
    if states is None:
        return failed, f"seed {seed}: Volley crashed\n{errors}"
    for index, (one, other) in enumerate(zip(expected, states)):
        if one != other:
            before = "\n".join(f"{sql};" for sql in statements[: index + 1])
            return failed, (f"seed {seed}: tables differ after\n{before}\nDuckDB: {one}\nVolley: {other}\n"
                            f"errors of Volley:\n{errors}")
    if len(states) != len(expected):
        return failed, f"seed {seed}: Volley ended early\n{errors}"
    return failed, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--volley", default=str(pathlib.Path(__file__).resolve().parents[2] / "target/release/volley"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float)
    arguments = parser.parse_args()
    start, seed, failed, problems = time.monotonic(), arguments.seed, 0, 0
    while (time.monotonic() - start < arguments.seconds) if arguments.seconds else (seed < arguments.seed + arguments.count):
        errors, problem = check(seed, arguments.volley)
        failed += errors
        if problem:
            problems += 1
            print(problem, flush=True)
        seed += 1
    count = seed - arguments.seed
    print(f"{count} sequences, {count * STATEMENTS} statements, of which {failed} failed in DuckDB, {problems} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
