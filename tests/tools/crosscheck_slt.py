#!/usr/bin/env python3
"""Runs the SQL corpus in tests/slt through DuckDB and reports where the expectations differ.

    pip install duckdb
    tests/tools/crosscheck_slt.py                    check every file
    tests/tools/crosscheck_slt.py tests/slt/join     check a folder or files
    tests/tools/crosscheck_slt.py --fill FILE...     write missing expectations into the files
    tests/tools/crosscheck_slt.py --refill FILE...   write all expectations anew

The files are in the format of the Rust crate `sqllogictest`. Each file starts with an empty
database, and paths in it are relative to the root of the repository. For `--fill`, a record
`query` may lack its column types, its `----` and its rows; a query of several rows without an
ORDER BY at its end gets `rowsort`.

A record below the comment `# skip crosscheck: REASON` is not run: Volley means to differ there,
or DuckDB cannot run it. A `statement error` agrees when DuckDB reports an error of any text.

Each query runs twice in DuckDB, the second time without its optimizer and on two threads; where
the rows differ, their order (or the answer) is not determined and the record is reported.

Rendering of values: null is NULL, the empty string is (empty), all else is DuckDB's cast to
VARCHAR. Types are one letter per column: I for integers, R for REAL, DOUBLE and DECIMAL, B for
BOOLEAN, T for all else.
"""

import argparse
import os
import pathlib
import re
import sys
import tempfile

import duckdb

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIP = "# skip crosscheck"
INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"}
# What gives rows but is no query, or gives others the second time.
STATEMENT = re.compile(
    r"(?is)^\s*(execute\b|(with\b.*)?(insert|update|delete|merge)\b.*\breturning\b|.*\bnextval\s*\()"
)
# Functions that Volley names otherwise.
RENAMES = [
    (r"\bregexp_like\s*\(", "regexp_matches("),
    (r"\bapprox_distinct\s*\(", "approx_count_distinct("),
    (r"\btransform\s*\(", "list_transform("),
]


class Record:
    """One `statement` or `query`: its header, SQL lines, and expected lines (None without ----)."""

    def __init__(self, line, header, skip):
        self.line, self.header, self.skip = line, header, skip
        self.sql, self.expected = [], None

    def text(self):
        lines = [self.header, *self.sql]
        if self.expected is not None:
            lines += ["----", *self.expected]
        return "\n".join(lines)


def parse(text):
    """Cuts a file into comments (strings) and records."""
    blocks, skip = [], False
    lines = text.split("\n")
    position = 0
    while position < len(lines):
        line = lines[position]
        if line.startswith(("statement", "query")):
            record = Record(position + 1, line, skip)
            skip = False
            position += 1
            target = record.sql
            while position < len(lines) and lines[position] != "":
                if lines[position] == "----" and record.expected is None:
                    target = record.expected = []
                else:
                    target.append(lines[position])
                position += 1
            blocks.append(record)
        else:
            if line.startswith(SKIP):
                skip = True
            elif line and not line.startswith(("#", "control substitution")):
                sys.exit(f"line {position + 1} is not understood: {line}")
            blocks.append(line)
            position += 1
    return blocks


def render(value):
    """As in the corpus; the sign of NaN, which depends on the CPU, is left out."""
    if value is None:
        return "NULL"
    return "(empty)" if value == "" else re.sub(r"(?<!\w)-nan\b", "nan", value.rstrip("\n"))


def type_letter(kind):
    name = re.sub(r"\(.*", "", str(kind)) if not str(kind).endswith("]") else ""
    if name in INTEGERS:
        return "I"
    return {"FLOAT": "R", "DOUBLE": "R", "DECIMAL": "R", "BOOLEAN": "B"}.get(name, "T")


class Duck:
    """An empty DuckDB with the functions that Volley names otherwise."""

    def __init__(self, folder, optimize):
        self.folder = folder
        self.connection = duckdb.connect(":memory:", config={"threads": 1 if optimize else 2})
        self.connection.execute("set timezone = 'UTC'")
        self.connection.execute("set lambda_syntax = 'ENABLE_SINGLE_ARROW'")
        if not optimize:
            self.connection.execute("pragma disable_optimizer")

    def adapt(self, sql):
        sql = sql.replace("$__TEST_DIR__", self.folder)
        for pattern, name in RENAMES:
            sql = re.sub(pattern, name, sql)
        return sql

    def statement(self, sql):
        self.connection.execute(self.adapt(sql)).fetchall()

    def query(self, sql):
        """Returns type letters and rows of rendered values."""
        sql = self.adapt(sql)
        relation = self.connection.sql(sql)
        letters = "".join(type_letter(kind) for kind in relation.types)
        if STATEMENT.match(sql):
            # It ran, and is no query that could stand in another one.
            casts = ", ".join(f"#{index + 1}::varchar" for index in range(len(letters)))
            rows = relation.project(casts).fetchall()
            return letters, [[render(value) for value in row] for row in rows]
        names = [f"c{index}" for index in range(len(letters))]
        casts = ", ".join(f"{name}::varchar" for name in names)
        wrapped = f"select {casts} from ({sql}\n) t({', '.join(names)})"
        rows = self.connection.execute(wrapped).fetchall()
        return letters, [[render(value) for value in row] for row in rows]


def has_order(sql):
    """Whether the query ends with an ORDER BY of its own, outside all parentheses."""
    depth, outside = 0, []
    for character in re.sub(r"'(?:[^']|'')*'", "''", sql):
        depth += character == "("
        if depth == 0:
            outside.append(character)
        depth -= character == ")"
    return re.search(r"\border\s+by\b", "".join(outside), re.IGNORECASE) is not None


class Checker:
    def __init__(self, path, mode):
        self.path, self.mode = path, mode
        self.problems, self.records, self.skipped = 0, 0, 0

    def report(self, record, message):
        self.problems += 1
        sql = "\n    ".join(line[:300] for line in record.sql)
        print(f"{self.path}:{record.line}: {message}\n    {sql}")

    def run(self):
        text = self.path.read_text()
        blocks = parse(text)
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            ducks = [Duck(one, True), Duck(two, False)]
            for record in blocks:
                if isinstance(record, str):
                    continue
                self.records += 1
                self.skipped += record.skip
                if not record.skip:
                    self.check(record, ducks)
        if self.mode:
            lines = [block if isinstance(block, str) else block.text() + "\n" for block in blocks]
            # A record ends with one empty line, which `parse` keeps as a block of its own.
            written = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"
            if written != text:
                self.path.write_text(written)

    def check(self, record, ducks):
        sql = "\n".join(record.sql)
        words = record.header.split()
        if words[0] == "statement":
            for duck in ducks:
                try:
                    duck.statement(sql)
                    error = None
                except Exception as problem:  # any error of DuckDB is an answer
                    error = str(problem).split("\n")[0]
                if (error is None) != (words[1] == "ok"):
                    return self.report(record, f"{record.header}, but DuckDB: {error or 'no error'}")
            return None
        try:
            (letters, rows), (_, again) = (duck.query(sql) for duck in ducks)
        except Exception as problem:
            return self.report(record, f"DuckDB: {str(problem).splitlines()[0]}")
        return self.compare(record, words, letters, rows, again)

    def compare(self, record, words, letters, rows, again):
        if len(words) == 1:
            if not self.mode:
                return self.report(record, "no column types")
            sort = len(rows) > 1 and not has_order("\n".join(record.sql))
            record.header = f"query {letters}" + (" rowsort" if sort else "")
        elif self.mode == "refill":
            record.header = " ".join(["query", letters, *words[2:]])
        elif words[1] != letters:
            self.report(record, f"types {words[1]}, but DuckDB: {letters}")
        if "rowsort" in record.header.split():
            rows, again = sorted(rows), sorted(again)
        if rows != again:
            return self.report(record, f"not determined: {rows[:5]} or {again[:5]}")
        lines = [" ".join(row) for row in rows]
        if any("\n" in line or line == "" for line in lines):
            return self.report(record, "a value cannot be written in this format")
        if record.expected is None and not self.mode:
            return self.report(record, "no expected rows")
        if self.mode == "refill" or record.expected is None:
            record.expected = lines
        elif [line.split() for line in record.expected] != [line.split() for line in lines]:
            self.report(record, "DuckDB:\n" + "\n".join(lines))
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--fill", dest="mode", action="store_const", const="fill")
    group.add_argument("--refill", dest="mode", action="store_const", const="refill")
    arguments = parser.parse_args()

    paths = [path.resolve() for path in arguments.paths] or [ROOT / "tests" / "slt"]
    files = [file for path in paths for file in (sorted(path.rglob("*.slt")) if path.is_dir() else [path])]
    # Statements in Presto's dialect mean something else in DuckDB.
    files = [file for file in files if file.parent.name != "presto"]
    os.chdir(ROOT)
    problems = records = skipped = 0
    for file in files:
        checker = Checker(file.relative_to(ROOT) if file.is_relative_to(ROOT) else file, arguments.mode)
        checker.run()
        problems += checker.problems
        records += checker.records
        skipped += checker.skipped
    print(f"{len(files)} files, {records} records, {skipped} skipped, {problems} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
