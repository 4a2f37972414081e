#!/usr/bin/env python3
"""Native tables against DuckDB's own storage and against Volley's scan of Parquet files.

    bench/native/tables.py --scale 10 --folder /data/native            everything
    bench/native/tables.py --scale 1 --only size,queries --queries 1,6 --rounds 3
    bench/native/tables.py --only upserts,lookups --rows 10000000 --changes 1000000

Chapters (`--only`), each with its ratio and the limits of the design next to it:

    load      CREATE TABLE AS of lineitem from Parquet, in a new database each time; DuckDB the same
    size      bytes of the eight tables: native, DuckDB's file, Parquet with Zstandard (by DuckDB)
    queries   22 queries: native tables, DuckDB's tables, Volley on Parquet files; interleaved
    changed   22 queries with 5 % of the rows of the five large tables changed, against clean tables
    refresh   22 queries after TPC-H's refresh functions RF1 and RF2, against clean tables (GeoDiff)
    upserts   one-row upserts by key: connections that sync, and one connection in memory (tmpfs)
    lookups   a row by primary key of a large table, in process

All engines are held to the same number of CPUs. The runs are interleaved: each round begins with
another engine. A query's time is the best of all runs. Results must have the same number of rows, and
those of Volley the same checksum. Folders in FOLDER are kept, and used again by the next run.

`--binary` is the command `volley`, `--bench-binary` is `volley-bench-native`; without them the
release binaries are built. `--json` keeps all figures.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import compare  # noqa: E402

CHAPTERS = ["load", "size", "queries", "changed", "refresh", "upserts", "lookups"]

# The limits of the design: the least that is acceptable, and the goal.
LIMITS = {
    "load": (1.5, 1.0),
    "size / duckdb": (1.1, 1.0),
    "size / parquet zstd": (None, 1.25),
    "queries / duckdb": (0.85, 0.65),
    "queries / parquet": (0.75, 0.5),
    "changed": (1.3, 1.15),
    "refresh": (1.05, 1.028),
    "upserts, synced": (1.0, 0.5),
    "upserts, not synced": (1.0, 0.5),
    "lookup, microseconds": (1000.0, 100.0),
}

# By table: an integer that tells rows apart, and what an UPDATE sets.
CHANGES = {
    "lineitem": ("l_orderkey * 8 + l_linenumber", "l_extendedprice = l_extendedprice + 1"),
    "orders": ("o_orderkey", "o_totalprice = o_totalprice + 1"),
    "partsupp": ("ps_partkey * 4 + ps_suppkey", "ps_supplycost = ps_supplycost + 1"),
    "customer": ("c_custkey", "c_acctbal = c_acctbal + 1"),
    "part": ("p_partkey", "p_retailprice = p_retailprice + 1"),
}

# A third of 5 % of the rows is one of this many.
CHANGED_PART = 60

# RF1 and RF2 add and remove one of this many orders, with their lineitems.
REFRESHED_PART = 1000

# The first eight of 32 order keys are in use: eight more is a key in the gap.
GAP = 8


def pick(key, parts):
    """A number below `parts` that looks random, for an integer."""
    return f"(cast({key} as bigint) % 1000003 * 48271 % 2147483647 % {parts})"


def changing_statements():
    """Statements that delete, modify and insert 5 % of the rows, a third each."""
    for table, (key, setting) in CHANGES.items():
        number = pick(key, CHANGED_PART)
        yield f"delete from {table} where {number} = 0"
        yield f"update {table} set {setting} where {number} = 1"
        yield f"insert into {table} select * from {table} where {number} = 2"


def refresh_statements(columns):
    """RF1 adds orders with their lineitems at keys in the gaps, RF2 removes as many others.

    `columns`: those of each table.
    """
    for table, key in [("orders", "o_orderkey"), ("lineitem", "l_orderkey")]:
        shown = ", ".join(f"{key} + {GAP} as {key}" if it == key else it for it in columns[table])
        yield f"insert into {table} select {shown} from {table} where {pick(key, REFRESHED_PART)} = 0"
    for table, key in [("lineitem", "l_orderkey"), ("orders", "o_orderkey")]:
        yield f"delete from {table} where {pick(key, REFRESHED_PART)} = 1"


class Shell:
    """Volley's shell on a database; statements run as they are written to its standard input."""

    def __init__(self, binary, database, threads):
        command = [str(binary), str(database), "--threads", str(threads)]
        command += ["--format", "csv", "--no-progress", "--bail"]
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            preexec_fn=lambda: compare.hold_to(threads),
        )
        self.steps = 0
        self.run("select 1")

    def run(self, sql):
        """Runs a statement; seconds until the next one has run, too."""
        self.steps += 1
        mark = f"done {self.steps}"
        start = time.perf_counter()
        try:
            print(f"{' '.join(sql.split())};\nselect '{mark}' as mark;", file=self.process.stdin, flush=True)
        except BrokenPipeError:
            self.fail(sql)
        while mark != (line := self.process.stdout.readline()).strip().strip('"'):
            if not line:
                self.fail(sql)
        return time.perf_counter() - start

    def fail(self, sql):
        self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().strip().splitlines() or ["no message"]
        raise SystemExit(f"volley: {sql[:80]}: {lines[0]}")

    def close(self):
        """Ends the process, which writes a checkpoint."""
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()
        if self.process.returncode != 0:
            self.fail("the end of the session")


class Native(compare.Volley):
    """Volley's command on a database, started anew for each query of each round."""

    OPTION = "--database"


class DuckDb(compare.Peer):
    """DuckDB on a file of its own, in a process that lives as long as the measurement."""

    SCRIPT = __file__


def worker(data, threads):
    """DuckDB in a process of its own: answers lines `QUERY REPEAT`, as workers of compare.py do."""
    import duckdb

    connection = duckdb.connect(str(data), read_only=True, config={"threads": threads})
    compare.answer_lines(lambda sql: connection.sql(sql).to_arrow_table().num_rows)


def duckdb_process(options, function, *arguments):
    """What a function of this file that begins with `duckdb_` prints as JSON, in a new process."""
    command = [sys.executable, __file__, "--worker", function, "--threads", options.threads]
    command += ["--arguments", json.dumps([str(it) if isinstance(it, pathlib.Path) else it for it in arguments])]
    done = subprocess.run(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=lambda: compare.hold_to(options.threads),
    )
    return json.loads(done.stdout)


def duckdb_load(threads, path, parquet, tables):
    """Makes tables of Parquet files in a new file; seconds of each."""
    import duckdb

    connection = duckdb.connect(path, config={"threads": threads})
    connection.execute("select 1").fetchall()
    seconds = {}
    for table in tables:
        start = time.perf_counter()
        connection.execute(f"create table {table} as from read_parquet('{parquet}/{table}.parquet')")
        seconds[table] = time.perf_counter() - start
    connection.execute("checkpoint")
    connection.close()
    return seconds


def duckdb_parquet(threads, parquet, out):
    """Writes the tables as Parquet files with Zstandard; the columns of each."""
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    for table in compare.TABLES:
        target = f"'{out}/{table}.parquet' (format parquet, compression zstd)"
        connection.execute(f"copy (from read_parquet('{parquet}/{table}.parquet')) to {target}")
    return None


def duckdb_columns(threads, parquet):
    """The names of the columns of each table."""
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    describe = lambda table: connection.execute(f"describe from read_parquet('{parquet}/{table}.parquet')").fetchall()
    return {table: [row[0] for row in describe(table)] for table in compare.TABLES}


def duckdb_upserts(threads, path, rows, changes, connections):
    """Upserts by connections of one process, each with keys of its own; seconds."""
    import duckdb

    connection = duckdb.connect(path, config={"threads": threads})
    connection.execute("create table t (k bigint primary key, v varchar)")
    connection.execute(f"insert into t select i * 2, 'text of ' || i from range({rows}) r(i)")
    connection.execute("checkpoint")
    sql = "insert into t values (?, ?) on conflict (k) do update set v = excluded.v"
    each, failed = changes // connections, []

    def run(number):
        cursor = connection.cursor()
        keys = [upsert_key(number * each + it, rows) for it in range(each)]
        left = [[key, f"new text of {key}"] for key in keys]
        while left:
            done = 0
            try:
                # A prepared statement runs once for each row, and each run is a transaction.
                for start in range(0, len(left), 256):
                    cursor.executemany(sql, left[start : start + 256])
                    done = start + 256
                left = []
            except duckdb.TransactionException:
                left = left[done:]
            except Exception as problem:
                failed.append(str(problem))
                return

    start = time.perf_counter()
    threads_ = [threading.Thread(target=run, args=[number]) for number in range(connections)]
    for it in threads_:
        it.start()
    for it in threads_:
        it.join()
    seconds = time.perf_counter() - start
    if failed:
        raise SystemExit(failed[0])
    return {"seconds": seconds, "upserts": each * connections}


def upsert_key(number, rows):
    """The key of an upsert, as in `volley-bench-native`: half of them are in the table, no two equal."""
    return number * 2654435761 % (rows * 2)


FUNCTIONS = {it.__name__: it for it in [duckdb_load, duckdb_parquet, duckdb_columns, duckdb_upserts]}


class Report:
    """Prints ratios next to their limits, and keeps them."""

    def __init__(self):
        self.figures, self.missed = {}, []

    def add(self, name, value, details=None):
        minimum, goal = LIMITS[name]
        limit = minimum if minimum is not None else goal
        verdict = "ok" if value <= limit else "MISSED"
        bounds = ", ".join(f"{what} {it:g}" for what, it in [("minimum", minimum), ("goal", goal)] if it is not None)
        print(f"{name}: {value:.3f} ({bounds}): {verdict}", flush=True)
        if value > limit:
            self.missed.append(name)
        self.figures[name] = {"value": value, "minimum": minimum, "goal": goal} | (details or {})


def folder_bytes(folder):
    return sum(it.stat().st_size for it in pathlib.Path(folder).rglob("*") if it.is_file())


class Bench:
    def __init__(self, options):
        self.options = options
        self.folder = options.folder.resolve() / f"sf{options.scale}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.report = Report()
        self.parquet = (options.data or self.folder / "parquet").resolve()

    def path(self, name):
        return self.folder / name

    def shell(self, database):
        return Shell(self.options.binary, database, self.options.threads)

    # What chapters need.

    def make_parquet(self):
        compare.BINARY = self.options.binary
        compare.generate(self.parquet, self.options.scale)

    def make_native(self):
        """The eight tables as native tables, made of the Parquet files."""
        self.make_parquet()
        database = self.path("native")
        if not database.exists():
            building = self.fresh("native.part")
            shell = self.shell(building)
            for table in compare.TABLES:
                shell.run(f"create table {table} as from '{self.parquet}/{table}.parquet'")
            shell.close()
            building.rename(database)
        return database

    def make_duckdb(self):
        self.make_parquet()
        database = self.path("tables.duckdb")
        if not database.exists():
            building = self.fresh("tables.duckdb.part")
            duckdb_process(self.options, "duckdb_load", building, self.parquet, compare.TABLES)
            building.rename(database)
        return database

    def fresh(self, name):
        """A path where nothing is."""
        path = self.path(name)
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
        pathlib.Path(f"{path}.wal").unlink(missing_ok=True)
        return path

    def changed_copy(self, name, statements):
        """A copy of the native tables after some statements; changes stay in deltas."""
        clean, changed = self.make_native(), self.path(name)
        if not changed.exists():
            building = self.fresh(f"{name}.part")
            shutil.copytree(clean, building)
            shell = self.shell(building)
            for statement in statements:
                shell.run(statement)
            shell.close()
            building.rename(changed)
        return changed

    def volley(self, database):
        engine = Native(database, self.options.threads)
        engine.binary = self.options.binary
        return engine

    def volley_on_parquet(self):
        engine = compare.Volley(self.parquet, self.options.threads)
        engine.binary = self.options.binary
        return engine

    def run_queries(self, engines, same_results):
        """{query: {engine: best seconds}}; prints a table. `same_results`: engines whose rows must be equal."""
        options = self.options
        results = compare.measure(engines, options.queries, options.rounds, options.repeat)
        for engine in engines.values():
            engine.close()
        times, names = {}, list(engines)
        print("query".rjust(5) + "".join(f"{name:>11}" for name in names) + "".join(f"{'/ ' + it:>13}" for it in names[1:]))
        for query, by_engine in results.items():
            problems = [f"{name}: {it['error']}" for name, it in by_engine.items() if "error" in it]
            if problems:
                raise SystemExit(f"query {query}: " + "; ".join(problems))
            rows = {by_engine[name]["rows"] for name in same_results}
            sums = {by_engine[name].get("checksum") for name in same_results} - {None}
            if len(rows) > 1 or len(sums) > 1:
                raise SystemExit(f"query {query}: the results differ")
            times[query] = {name: min(it["seconds"]) for name, it in by_engine.items()}
            first = times[query][names[0]]
            print(
                f"{query:>5}"
                + "".join(" " + compare.cell(times[query][name]) for name in names)
                + "".join(compare.cell(first / times[query][name], 13, 2) for name in names[1:])
            )
        return times

    def mean_ratio(self, times, name, peer):
        return compare.geomean([it[name] / it[peer] for it in times.values()])

    # Chapters.

    def load(self):
        self.make_parquet()
        options, seconds = self.options, {"volley": [], "duckdb": []}

        def volley():
            shell = self.shell(self.fresh("load"))
            taken = shell.run(f"create table lineitem as from '{self.parquet}/lineitem.parquet'")
            shell.close()
            return taken

        def duckdb():
            path = self.fresh("load.duckdb")
            return duckdb_process(options, "duckdb_load", path, self.parquet, ["lineitem"])["lineitem"]

        engines = [("volley", volley), ("duckdb", duckdb)]
        for round_ in range(options.rounds):
            for name, run in engines if round_ % 2 == 0 else engines[::-1]:
                seconds[name].append(run())
        self.fresh("load"), self.fresh("load.duckdb")
        best = {name: min(it) for name, it in seconds.items()}
        print(", ".join(f"{name} {it:.2f} s" for name, it in best.items()))
        self.report.add("load", best["volley"] / best["duckdb"], {"seconds": seconds})

    def size(self):
        native, duckdb = folder_bytes(self.make_native()), self.make_duckdb().stat().st_size
        zstd = self.path("zstd")
        if not zstd.exists():
            building = self.fresh("zstd.part")
            building.mkdir()
            duckdb_process(self.options, "duckdb_parquet", self.parquet, building)
            building.rename(zstd)
        parquet = folder_bytes(zstd)
        sizes = {"native": native, "duckdb": duckdb, "parquet zstd": parquet}
        print(", ".join(f"{name} {it / 2**20:.1f} MiB" for name, it in sizes.items()))
        self.report.add("size / duckdb", native / duckdb, {"bytes": sizes})
        self.report.add("size / parquet zstd", native / parquet)
        self.column_sizes()

    def column_sizes(self):
        """Bytes and codecs of the largest columns."""
        sql = (
            "select '{table}' as name, column_name, codec, sum(bytes) as bytes from storage_info('{table}') "
            "group by all"
        )
        union = " union all ".join(sql.format(table=it) for it in ["lineitem", "orders", "partsupp", "part"])
        command = [self.options.binary, self.make_native(), "--read-only", "--format", "csv", "-c"]
        command.append(f"{union} order by bytes desc limit 24")
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        print(done.stdout if done.returncode == 0 else done.stderr.strip().splitlines()[:1])

    def queries(self):
        engines = {
            "native": self.volley(self.make_native()),
            "duckdb": DuckDb("duckdb", self.make_duckdb(), self.options.threads),
            "parquet": self.volley_on_parquet(),
        }
        times = self.run_queries(engines, ["native", "parquet"])
        for peer in ["duckdb", "parquet"]:
            ratio = self.mean_ratio(times, "native", peer)
            over = [str(query) for query, it in times.items() if it["native"] > it[peer]]
            print(f"queries over {peer}'s time: {', '.join(over) or 'none'}")
            self.report.add(f"queries / {peer}", ratio, {"seconds": times})

    def against_clean(self, name, changed):
        engines = {name: self.volley(changed), "clean": self.volley(self.make_native())}
        times = self.run_queries(engines, [])
        self.report.add(name, self.mean_ratio(times, name, "clean"), {"seconds": times})

    def changed(self):
        self.against_clean("changed", self.changed_copy("changed", changing_statements()))

    def refresh(self):
        self.make_parquet()
        columns = duckdb_process(self.options, "duckdb_columns", self.parquet)
        self.against_clean("refresh", self.changed_copy("refreshed", refresh_statements(columns)))

    def bench_binary(self, *arguments):
        """The last line that `volley-bench-native` prints, as JSON."""
        command = list(map(str, [self.options.bench_binary, *arguments, "--threads", self.options.threads]))
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: compare.hold_to(self.options.threads)
        )
        if done.returncode != 0:
            raise SystemExit(f"failed: {' '.join(command)}")
        return json.loads(done.stdout.strip().splitlines()[-1])

    def upserts(self):
        options = self.options
        memory = pathlib.Path("/dev/shm")
        places = [("upserts, synced", self.folder, options.connections)]
        if memory.is_dir():
            places.append(("upserts, not synced", memory, 1))
        else:
            print("no /dev/shm: upserts without sync are left out")
        for name, place, connections in places:
            with tempfile.TemporaryDirectory(prefix="volley-bench-", dir=place) as folder:
                folder = pathlib.Path(folder)
                sizes = ["--rows", options.rows, "--changes", options.changes, "--connections", connections]
                volley = self.bench_binary("upserts", folder / "volley", *sizes)
                duckdb = duckdb_process(
                    options, "duckdb_upserts", folder / "duckdb", options.rows, options.changes, connections
                )
            print(
                f"{volley['upserts']} upserts by {connections} connections: "
                f"volley {volley['seconds']:.2f} s, duckdb {duckdb['seconds']:.2f} s"
            )
            self.report.add(name, volley["seconds"] / duckdb["seconds"], {"volley": volley, "duckdb": duckdb})

    def lookups(self):
        options = self.options
        with tempfile.TemporaryDirectory(prefix="lookups-", dir=self.folder) as folder:
            answer = self.bench_binary("lookups", pathlib.Path(folder) / "volley", "--rows", options.lookup_rows)
        print(", ".join(f"{name} {it:.1f}" for name, it in answer.items()))
        self.report.add("lookup, microseconds", answer["median_micros"], answer)


def build(package):
    command = ["cargo", "build", "--release", "--quiet", "-p", package]
    subprocess.run(command, cwd=compare.ROOT, check=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", default="1", help="TPC-H scale factor")
    parser.add_argument("--folder", type=pathlib.Path, default=compare.ROOT / "data" / "native", help="for databases")
    parser.add_argument("--data", type=pathlib.Path, help="folder with TABLE.parquet (default: made in FOLDER)")
    parser.add_argument("--binary", type=pathlib.Path, help="the command volley")
    parser.add_argument("--bench-binary", type=pathlib.Path, help="volley-bench-native")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3, help="runs of a query in a row within a round")
    parser.add_argument("--queries", type=compare.query_numbers, default=compare.query_numbers("1-22"))
    parser.add_argument("--only", type=lambda it: it.split(","), default=CHAPTERS, help="some of " + ",".join(CHAPTERS))
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the table of upserts")
    parser.add_argument("--changes", type=int, default=1_000_000, help="upserts")
    parser.add_argument("--connections", type=int, default=64, help="connections of synced upserts")
    parser.add_argument("--lookup-rows", type=int, default=100_000_000)
    parser.add_argument("--json", type=pathlib.Path, help="write all figures to this file")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--arguments", type=json.loads, default=[], help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parse_arguments()
    if options.worker in FUNCTIONS:
        return print(json.dumps(FUNCTIONS[options.worker](options.threads, *options.arguments)))
    if options.worker:
        return worker(options.data, options.threads)
    if unknown := set(options.only) - set(CHAPTERS):
        sys.exit(f"unknown chapters: {', '.join(sorted(unknown))}")
    if importlib.util.find_spec("duckdb") is None or importlib.util.find_spec("pyarrow") is None:
        compare.enter_venv(["duckdb"])
    release = compare.BINARY.parent
    if options.binary is None:
        build("volley-cli")
        options.binary = release / "volley"
    if options.bench_binary is None and set(options.only) & {"upserts", "lookups"}:
        build("volley-bench-native")
        options.bench_binary = release / "volley-bench-native"
    for binary in [options.binary, options.bench_binary]:
        if binary is not None and not binary.is_file():
            sys.exit(f"no such file: {binary}")
    bench = Bench(options)
    for chapter in options.only:
        print(f"\n{chapter}, scale {options.scale}, {options.threads} threads", flush=True)
        getattr(bench, chapter)()
    if options.json:
        content = {"settings": {"scale": options.scale, "threads": options.threads}, "machine": compare.machine()}
        options.json.write_text(json.dumps(content | {"figures": bench.report.figures}, indent=1) + "\n")
    if bench.report.missed:
        print("missed: " + ", ".join(bench.report.missed))
    return sys.exit(0)


if __name__ == "__main__":
    main()
