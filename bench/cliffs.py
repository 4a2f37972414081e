#!/usr/bin/env python3
"""Compares Volley with DuckDB and Polars on statements that were far slower than in a peer.

    bench/cliffs.py                                all cases
    bench/cliffs.py --only cte,rollup --runs 5     those whose names contain one of these
    bench/cliffs.py --tpcds data/tpcds-sf1         TPC-DS queries, too: DIR/data/*.parquet, DIR/queries/qNN.sql
    bench/cliffs.py --rows 1000000 --json out.json

Each case is a statement, or a script whose last statement returns rows, with what must
be done before: that is not timed. `--rows` counts the rows of the larger tables. On first use
DuckDB writes the data into data/, where statements that write files write them, too. TPC-DS data and queries come from DuckDB's tpcds extension
(`CALL dsdgen(sf = 1)`, `FROM tpcds_queries()`).

The runs are interleaved: in each round every case runs in every engine, one after the other, each
engine in a process of its own that is held to as many CPUs as it has threads. A time is from the
text to the last row. With `--clock cpu` it is the CPU time of the engine's process, which a busy
machine distorts less, but which does not show idle threads. The table shows the best time of each engine and, last, Volley's ratio to
the best peer. Rows must be the same in all engines, but for their order and for rounding; a case
with others is reported and counted. The cases are those here and the statements of other_statements.py.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time

import compare
import other_statements

ENGINES = ["volley", "duckdb", "polars"]

# Written as Parquet by DuckDB; {rows} is that of the command line.
TABLES = {
    "fact": """i AS id, (hash(i) % 100000)::INTEGER AS k, (hash(i * 3) % 1000)::INTEGER AS g, (hash(i * 5) % 20)::INTEGER AS h,
        (hash(i * 7) % 8)::INTEGER AS j, CASE WHEN hash(i * 11) % 10 = 0 THEN NULL ELSE (hash(i * 11) % 5000)::INTEGER END AS x,
        (hash(i * 13) % 1000000)::BIGINT AS v, (hash(i * 13) % 1000000) / 7.0 AS d, 'text ' || hash(i * 17) % 50000 AS s,
        DATE '1998-01-01' + (hash(i * 19) % 1826)::INTEGER AS day, (hash(i * 23) % 100000000 / 100)::DECIMAL(15, 2) AS m,
        TIMESTAMP '2001-02-03 04:05:06' + INTERVAL (hash(i * 29) % 1000000) MINUTE AS ts FROM range({rows}) r(i)""",
    "dim": "i::INTEGER AS k, 'name ' || i AS name, 'city ' || i % 700 AS city, 'state ' || i % 50 AS state, (i % 100)::INTEGER AS c FROM range(100000) r(i)",
    "returned": "i * 10 AS id, (hash(i * 31) % 100)::INTEGER AS n FROM range({rows} // 10) r(i)",
    "calendar": "DATE '1900-01-01' + i::INTEGER AS day, (1900 + i // 365)::INTEGER AS y, (i // 7)::INTEGER AS week FROM range(73049) r(i)",
    "patterns": "i::INTEGER AS j, 'text ' || i || '%' AS p FROM range(8) r(i)",
    "nested": "i AS id, {{'a': i % 10, 'b': {{'c': (hash(i) % 100)::INTEGER, 'd': 'x' || i % 1000}}}} AS st, [i, i + 1, i + 2] AS l FROM range({rows} // 2) r(i)",
    "heavy": "(CASE WHEN i % 10 < 8 THEN 0 ELSE hash(i) % 100000 END)::INTEGER AS k, i AS v FROM range({rows}) r(i)",
}

# Written as JSON and CSV, from the tables above.
TEXTS = {"lines": ("json", "SELECT id, k, v, s, day FROM fact WHERE id < {rows} // 5"), "table": ("csv", "SELECT id, k, v, s, day FROM fact WHERE id < {rows} // 5")}

MEMORY = "CREATE OR REPLACE TABLE mem AS SELECT id, k, v, s FROM fact"


class Case:
    def __init__(self, name, sql, before=(), polars=None):
        self.name, self.before, self.polars = name, list(before), polars
        self.statements = [sql] if isinstance(sql, str) else list(sql)


def script(statement, times, last):
    return [statement.format(i=i * 997) for i in range(times)] + [last]


CHECK = "SELECT count(*), sum(v) FROM mem"
CASES = [
    # Tables in memory.
    Case("memory: 50 updates of a row", script("UPDATE mem SET v = v + 1 WHERE id = {i}", 50, CHECK), [MEMORY]),
    Case("memory: 50 deletes of a row", script("DELETE FROM mem WHERE id = {i}", 50, CHECK), [MEMORY]),
    Case("memory: add a column", ["ALTER TABLE mem ADD COLUMN z INTEGER DEFAULT 5", "SELECT count(z), sum(v) FROM mem"], [MEMORY]),
    Case("memory: update all rows", ["UPDATE mem SET v = v + 1", CHECK], [MEMORY]),
    Case("memory: delete half of the rows", ["DELETE FROM mem WHERE id % 2 = 0", CHECK], [MEMORY]),
    Case("memory: update of texts", ["UPDATE mem SET s = s || 'x' WHERE id % 100 = 0", "SELECT count(*), sum(length(s)) FROM mem"], [MEMORY]),
    Case("memory: 1000 ids in a range", script("SELECT count(*), sum(v) FROM mem WHERE id BETWEEN {i} AND {i} + 1000", 20, CHECK), [MEMORY]),
    Case("memory: sum after deletes", "SELECT sum(v), count(*) FROM mem", [MEMORY, "DELETE FROM mem WHERE id % 1000 = 0"]),
    Case("memory: 200 lookups by id", script("SELECT count(*), sum(v) FROM mem WHERE id = {i}", 200, CHECK), [MEMORY]),
    # Common table expressions.
    Case("cte: filters of two references", """WITH t AS (SELECT k, extract(year FROM day) AS y, extract(month FROM day) AS mo, sum(v) AS sv, count(*) AS n
        FROM fact GROUP BY ALL) SELECT count(*), sum(a.sv), sum(b.sv) FROM t a, t b WHERE a.k = b.k AND a.y = 1999 AND a.mo = 1 AND b.y = 1999 AND b.mo = 2"""),
    Case("cte: branches of a union", """WITH t AS (SELECT 's' AS kind, k, sum(v) AS sv FROM fact WHERE h < 10 GROUP BY k
        UNION ALL SELECT 'w', k, sum(v) FROM fact WHERE h >= 10 GROUP BY k UNION ALL SELECT 'n', k, sum(id) FROM fact GROUP BY k)
        SELECT count(*), sum(a.sv), sum(b.sv) FROM t a, t b WHERE a.kind = 's' AND b.kind = 'w' AND a.k = b.k"""),
    Case("cte: under semi joins", """WITH t AS (SELECT a.k, a.h AS h1, b.h AS h2 FROM fact a, fact b WHERE a.id % 10 = 0 AND b.id % 10 = 1 AND a.k = b.k AND a.h <> b.h)
        SELECT count(*), sum(v) FROM fact WHERE g < 5 AND k IN (SELECT k FROM t)"""),
    # Grouping sets.
    Case("sets: cube of many groups", "SELECT count(*), sum(n), sum(sv) FROM (SELECT count(*) AS n, sum(v) AS sv FROM fact GROUP BY CUBE (x, h, j))"),
    Case("sets: rollup of many groups", "SELECT count(*), sum(n), sum(sv) FROM (SELECT count(*) AS n, sum(v) AS sv FROM fact GROUP BY ROLLUP (x, h, j))"),
    Case("sets: rollup over a dimension", """SELECT count(*), sum(a) FROM (SELECT avg(v) AS a FROM fact JOIN dim ON fact.k = dim.k WHERE day < DATE '2000-01-01'
        GROUP BY ROLLUP (name, city, state, c))"""),
    # Aggregation and joins.
    Case("join: groups by a dimension's columns", "SELECT count(*), sum(sv), sum(n) FROM (SELECT name, city, state, sum(v) AS sv, count(x) AS n FROM fact JOIN dim ON fact.k = dim.k GROUP BY ALL)"),
    Case("join: averages by a dimension's columns", "SELECT count(*), sum(a) FROM (SELECT name, city, avg(v) AS a FROM fact JOIN dim ON fact.k = dim.k GROUP BY ALL)"),
    Case("join: two calendars", """SELECT count(*), sum(v) FROM fact, calendar d1, calendar d2, dim
        WHERE fact.day = d2.day AND d1.week = d2.week AND d1.y = 1999 AND fact.k = dim.k AND dim.c = 3 AND fact.g < 20"""),
    Case("join: left with IS NULL", "SELECT count(*), sum(v) FROM fact LEFT JOIN returned r ON fact.id = r.id WHERE r.id IS NULL"),
    Case("join: left, grouped", "SELECT count(*), sum(n) FROM (SELECT g, sum(r.n) AS n FROM fact LEFT JOIN returned r ON fact.id = r.id GROUP BY g)"),
    Case("join: left, summed", "SELECT count(*), sum(fact.v), sum(r.n) FROM fact LEFT JOIN returned r ON fact.id = r.id"),
    Case("join: integers", "SELECT count(*), sum(fact.v), sum(dim.c) FROM fact JOIN dim ON fact.k = dim.k"),
    Case("join: many to many", "SELECT count(*) FROM (SELECT k FROM fact WHERE id < 1000000) a JOIN (SELECT k FROM fact WHERE id >= 1000000 AND id < 2000000) b ON a.k = b.k"),
    Case("join: unequal", "SELECT count(*) FROM (SELECT g FROM fact WHERE id < 3000) a JOIN (SELECT g FROM fact WHERE id < 6000) b ON a.g <> b.g"),
    Case("join: expressions of one side", """SELECT sum(CASE WHEN name LIKE '%1' THEN v END), sum(CASE WHEN name LIKE '%2' THEN v END), sum(CASE WHEN name LIKE '%3' THEN v END)
        FROM fact JOIN dim ON fact.k = dim.k"""),
    Case("intersect", "SELECT count(*) FROM (SELECT k, g FROM fact WHERE h = 1 INTERSECT SELECT k, g FROM fact WHERE h = 2)"),
    Case("except", "SELECT count(*) FROM (SELECT k, g FROM fact WHERE h = 1 EXCEPT SELECT k, g FROM fact WHERE h <> 1)"),
    Case("groups: one heavy key", "SELECT count(*), sum(sv) FROM (SELECT k, sum(v) AS sv FROM heavy GROUP BY k)"),
    # Statistics.
    Case("statistics: count of nulls", "SELECT count(*) FROM fact WHERE x IS NULL", polars="fact.filter(pl.col('x').is_null()).select(pl.len())"),
    Case("statistics: extremes", "SELECT min(v), max(v) FROM fact WHERE v IS NOT NULL"),
    # Nested columns.
    Case("nested: groups by a field", "SELECT count(*), sum(n) FROM (SELECT st.b.c AS c, count(*) AS n FROM nested GROUP BY 1)",
        polars="nested.group_by(pl.col('st').struct.field('b').struct.field('c')).agg(pl.len().alias('n')).select(pl.len(), pl.col('n').sum())"),
    Case("nested: filter on a field", "SELECT count(*), sum(id) FROM nested WHERE st.b.d = 'x7'",
        polars="nested.filter(pl.col('st').struct.field('b').struct.field('d') == 'x7').select(pl.len(), pl.col('id').sum())"),
    Case("nested: unnest", "SELECT count(*), sum(u) FROM (SELECT unnest(l) AS u FROM nested)"),
    Case("nested: sums of two fields", "SELECT sum(st.a), sum(st.b.c) FROM nested"),
    Case("nested: lengths of lists", "SELECT sum(len(l)) FROM nested"),
    # Text files.
    Case("json: count", "SELECT count(*) FROM lines", polars="lines.select(pl.len())"),
    Case("json: groups", "SELECT count(*), sum(n) FROM (SELECT k, count(*) AS n FROM lines GROUP BY k)"),
    Case("json: sum of all columns", "SELECT sum(id), sum(k), sum(v), sum(length(s)), max(day) FROM lines"),
    Case("csv: count", 'SELECT count(*) FROM "table"', polars="table.select(pl.len())"),
    Case("copy: csv of numbers", ["COPY (SELECT id, k, v, m, day FROM fact) TO '{out}/numbers.csv'", "SELECT count(*), sum(v) FROM '{out}/numbers.csv'"]),
    Case("copy: csv of texts", ["COPY (SELECT s, s AS t FROM fact) TO '{out}/texts.csv'", "SELECT count(*), sum(length(t)) FROM read_csv('{out}/texts.csv', header = true)"]),
    Case("copy: parquet", ["COPY (SELECT id, k, v, s FROM fact) TO '{out}/all.parquet'", "SELECT count(*), sum(v) FROM '{out}/all.parquet'"]),
    # Constants and typed loops.
    Case("function: date_diff", "SELECT sum(date_diff('day', day, DATE '2005-01-01')) FROM fact"),
    Case("function: strftime", "SELECT count(DISTINCT strftime(ts, '%Y-%m-%d %H')) FROM fact"),
    Case("function: round of decimals", "SELECT sum(round(m, 1)) FROM fact"),
    Case("function: LIKE a column", "SELECT count(*) FROM fact JOIN patterns p ON fact.j = p.j WHERE s LIKE p"),
    Case("function: greatest and least", "SELECT sum(greatest(k, g, h)), sum(least(k, g, h)) FROM fact"),
    Case("function: greatest with nulls", "SELECT sum(greatest(x, g, h)), sum(least(x, g, h)) FROM fact"),
    Case("function: date_diff of timestamps", "SELECT sum(date_diff('hour', ts, TIMESTAMP '2005-01-01 00:00:00')), sum(date_sub('month', ts, TIMESTAMP '2005-01-01 00:00:00')) FROM fact"),
    Case("function: round of doubles and integers", "SELECT sum(round(d, 2)), sum(round(v, -2)) FROM fact"),
    Case("function: doubles as text", "SELECT sum(length(CAST(d AS VARCHAR))) FROM fact"),
    Case("function: IS DISTINCT FROM", "SELECT count(*) FROM fact WHERE x IS DISTINCT FROM g"),
    Case("function: BETWEEN columns", "SELECT count(*) FROM fact WHERE g BETWEEN h AND k"),
    Case("function: timestamps as text", "SELECT count(DISTINCT CAST(ts AS VARCHAR)) FROM fact"),
    # Others.
    Case("range", "SELECT count(*), sum(i) FROM range({rows} * 5) t(i)"),
    Case("window: global row_number", "SELECT sum(n), count(*) FROM (SELECT row_number() OVER () AS n FROM fact)"),
    Case("window: sums of partitions", "SELECT count(*), sum(p) FROM (SELECT sum(v) OVER (PARTITION BY k) AS p FROM fact)"),
    Case("string_agg of many groups", "SELECT count(*), sum(length(t)) FROM (SELECT k, string_agg(s, ',') AS t FROM fact GROUP BY k)"),
    Case("top 100000", "SELECT count(*), sum(v) FROM (SELECT v FROM fact ORDER BY v DESC, id LIMIT 100000)"),
    Case("distinct on", "SELECT count(*), sum(v) FROM (SELECT DISTINCT ON (k) k, v FROM fact ORDER BY k, id)"),
    Case("lateral top 1", "SELECT count(*), sum(t.v) FROM dim, LATERAL (SELECT v FROM fact WHERE fact.k = dim.k ORDER BY v DESC, id LIMIT 1) t"),
    Case("limit far behind", "SELECT count(*), sum(v) FROM (SELECT v FROM fact LIMIT 10 OFFSET {rows} - 10)"),
    Case("recursion", "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 10000) SELECT count(*), sum(n) FROM t"),
]


class DuckDb:
    def __init__(self, views):
        import duckdb

        self.connection = duckdb.connect(config={"threads": int(os.environ["THREADS"])})
        for name, path in views.items():
            self.connection.execute(f"CREATE OR REPLACE VIEW \"{name}\" AS FROM '{path}'")

    def run(self, before, statements, _):
        for statement in before:
            self.connection.execute(statement)
        start = time.perf_counter()
        for statement in statements:
            rows = self.connection.execute(statement).fetchall()
        return time.perf_counter() - start, rows


class Polars:
    def __init__(self, views):
        import polars

        scan = {".parquet": polars.scan_parquet, ".json": polars.scan_ndjson, ".csv": polars.scan_csv}
        self.frames = {"pl": polars} | {name: scan[pathlib.Path(path).suffix](path) for name, path in views.items()}

    def run(self, before, statements, expression):
        if not expression:
            return None, None
        start = time.perf_counter()
        rows = eval(expression, dict(self.frames)).collect(engine="streaming").rows()
        return time.perf_counter() - start, rows


def worker(engine):
    """Answers each line of standard input with a line of JSON: the first has the views, each other a case."""
    connection = {"duckdb": DuckDb, "polars": Polars}[engine](json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        try:
            seconds, rows = connection.run(*json.loads(line))
            answer = {"seconds": seconds, "rows": rows and [["" if it is None else str(it) for it in row] for row in rows]}
        except BaseException as problem:  # Polars' panics are no Exception
            answer = {"error": (str(problem).splitlines() or [type(problem).__name__])[0][:200]}
        print(json.dumps(answer), flush=True)


class Peer:
    def __init__(self, engine, views, threads, clock):
        environment = os.environ | {"POLARS_MAX_THREADS": str(threads), "THREADS": str(threads)}
        self.clock = clock
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker", engine],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            preexec_fn=lambda: compare.hold_to(threads),
        )
        print(json.dumps(views), file=self.process.stdin, flush=True)

    def run(self, case):
        if self.clock == "cpu" and case.before:
            self.ask([case.before, ["SELECT 1"], None])
        start = cpu_seconds(self.process)
        answer = self.ask([[] if self.clock == "cpu" else case.before, case.statements, case.polars])
        if self.clock == "cpu" and answer.get("seconds") is not None:
            answer["seconds"] = cpu_seconds(self.process) - start
        return answer

    def ask(self, question):
        print(json.dumps(question), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process ended"}


class Volley:
    """A shell that runs statements as they are written to its standard input."""

    END = "end of the rows"

    def __init__(self, binary, views, threads, clock):
        self.arguments = (binary, views, threads, clock)
        self.process = subprocess.Popen(
            [str(binary), "--threads", str(threads), "--format", "csv", "--keep-going"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: compare.hold_to(threads),
        )
        self.all_rows([f"CREATE OR REPLACE VIEW \"{name}\" AS FROM '{path}'" for name, path in views.items()])

    def run(self, case):
        try:
            problems = self.all_rows(case.before)
            start = self.now()
            lines = self.all_rows(case.statements[:-1]) + problems
            if any("rror" in it for it in lines):
                return {"error": lines[0][:200]}
            lines = self.all_rows(case.statements[-1:])
            seconds = self.now() - start
        except OSError:
            self.__init__(*self.arguments)
            return {"error": "the shell ended"}
        if lines and lines[0].startswith(("error", "Error")):
            return {"error": lines[0][:200]}
        return {"seconds": seconds, "rows": list(csv.reader(lines))[1:]}

    def now(self):
        return cpu_seconds(self.process) if self.arguments[-1] == "cpu" else time.perf_counter()

    def all_rows(self, statements):
        """The lines that the statements print."""
        text = "".join(" ".join(it.split()).rstrip("; ") + ";\n" for it in statements)
        print(f"{text}SELECT '{self.END}' AS line;", file=self.process.stdin, flush=True)
        lines = []
        while (line := self.process.stdout.readline()).rstrip("\n") != self.END:
            if not line:
                raise OSError
            lines.append(line.rstrip("\n"))
        return lines[:-1]


def cpu_seconds(process):
    """CPU seconds that a child process used so far: Linux has a clock of each process."""
    return time.clock_gettime((~process.pid << 3) | 2)


def canonical(rows):
    def value(text):
        try:
            return f"{float(text):.9g}"
        except ValueError:
            return text

    return sorted([value(it) for it in row] for row in rows)


def is_same(left, right):
    def is_close(a, b):
        try:
            return math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-9)
        except ValueError:
            return a == b

    rows = zip(canonical(left), canonical(right))
    return len(left) == len(right) and all(len(a) == len(b) and all(map(is_close, a, b)) for a, b in rows)


def measure(cases, engines, runs):
    """{name: {engine: best seconds or an error's text}}, and the names of cases with other rows."""
    best, others = {case.name: {} for case in cases}, set()
    for _ in range(runs):
        for case in cases:
            first = None
            for engine, connection in engines.items():
                answer = connection.run(case)
                if "error" in answer or answer["seconds"] is None:
                    best[case.name][engine] = answer.get("error")
                    continue
                before = best[case.name].get(engine)
                best[case.name][engine] = min(answer["seconds"], before if isinstance(before, float) else math.inf)
                first = answer["rows"] if first is None else first
                if not is_same(first, answer["rows"]):
                    others.add(case.name)
    return best, others


def report(best, others, engines):
    print(f"{'':42}" + "".join(f"{it:>10}" for it in engines) + f"{'ratio':>8}")
    ratios = []
    for name, times in best.items():
        cells = [f"{times[it]:10.3f}" if isinstance(times[it], float) else f"{'error' if times[it] else '-':>10}" for it in engines]
        peers = [it for engine, it in times.items() if engine != "volley" and isinstance(it, float)]
        if peers and isinstance(times.get("volley"), float):
            ratios.append(times["volley"] / min(peers))
            cells.append(f"{ratios[-1]:8.2f}")
        print(f"{name:42}" + "".join(cells) + ("   OTHER ROWS" if name in others else ""))
        for engine, problem in times.items():
            if isinstance(problem, str):
                print(f"    {engine}: {problem}")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        behind = {limit: sum(it > limit for it in ratios) for limit in (1.3, 2.0)}
        print(f"{len(ratios)} cases: geometric mean {mean:.2f}, {behind[1.3]} above 1.3, {behind[2.0]} above 2.0, {len(others)} with other rows")


def make_data(folder, rows):
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in TABLES.items():
        path = folder / f"{name}.parquet"
        if not path.exists():
            duckdb.sql(f"COPY (SELECT {columns.format(rows=rows)}) TO '{path}.part' (FORMAT PARQUET)")
            os.rename(f"{path}.part", path)
    views = {name: str(folder / f"{name}.parquet") for name in TABLES}
    for name, (ending, query) in TEXTS.items():
        views[name] = str(folder / f"{name}.{ending}")
        if not os.path.exists(views[name]):
            query = query.format(rows=rows).replace("FROM fact", f"FROM '{views['fact']}'")
            duckdb.sql(f"COPY ({query}) TO '{views[name]}.part' (FORMAT {ending.upper()})")
            os.rename(f"{views[name]}.part", views[name])
    return views


def tpcds(folder):
    """The views and cases of TPC-DS data and queries in a folder."""
    views = {it.stem: str(it) for it in sorted((folder / "data").glob("*.parquet"))}
    # The shell reads a statement from one line, which a comment would end.
    texts = {it.stem: re.sub(r"--.*", "", it.read_text()) for it in sorted((folder / "queries").glob("q*.sql"))}
    return views, [Case(f"tpcds {name}", text) for name, text in texts.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="what to measure")
    parser.add_argument("--engines", default=",".join(ENGINES), help="some of " + ",".join(ENGINES))
    parser.add_argument("--only", type=lambda it: it.split(","), default=[""], help="parts of names")
    parser.add_argument("--tpcds", type=pathlib.Path, help="a folder of TPC-DS data and queries")
    parser.add_argument("--binary", type=pathlib.Path, help="run this shell, and build nothing")
    parser.add_argument("--json", type=pathlib.Path, help="write the times to this file")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker)
    names = options.engines.split(",")
    if not options.binary:
        compare.enter_venv(["duckdb", "polars"])
        compare.build_volley()
    folder = compare.ROOT / "data" / f"cliffs-{options.rows}"
    views = make_data(folder, options.rows)
    cases = CASES + [Case(*it) for it in other_statements.STATEMENTS]
    if options.tpcds:
        more_views, more = tpcds(options.tpcds)
        views, cases = views | more_views, cases + more
    cases = [it for it in cases if any(part in it.name for part in options.only)]
    for case in cases:
        case.statements = [it.replace("{rows}", str(options.rows)).replace("{out}", str(folder)) for it in case.statements]
    binary = options.binary or compare.BINARY
    settings = (views, options.threads, options.clock)
    opened = {it: Volley(binary, *settings) if it == "volley" else Peer(it, *settings) for it in names}
    best, others = measure(cases, opened, options.runs)
    report(best, others, names)
    if options.json:
        options.json.write_text(json.dumps(best, indent=1))


if __name__ == "__main__":
    main()
