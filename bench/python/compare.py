"""The Python package against its peers, in the same run.

    pip install ./crates/python duckdb polars pandas pyarrow numba
    python bench/python/compare.py results functions --threads 2
    python bench/python/compare.py tpch polars --data data/tpch-sf1
    python bench/python/compare.py ml memory wheel

The interrupts are a test: `VOLLEY_INTERRUPTS=1000 pytest crates/python/tests/test_jupyter.py`.
Each time is the best of some runs. Both use as many threads as the machine has cores, or `--threads`.
"""

import argparse
import os
import subprocess
import sys
import time

ROWS = 1_000_000
QUERY = (
    "SELECT i AS a, CAST(i * 0.5 AS DOUBLE) AS b, 'text ' || CAST(i % 1000 AS VARCHAR) AS c, "
    "CAST(i % 7 AS INTEGER) AS d FROM range({rows}) r(i)"
)


#: The clock of all times; `--cpu` chooses that of the time which the threads of the process use.
clock = time.perf_counter


def best(run, runs):
    """The least time in milliseconds."""
    times = []
    for _ in range(runs):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times) * 1000


def import_time(module, runs):
    """Milliseconds of an import in a new process, without those of an empty one."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"

    def once():
        return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)

    return min(once() for _ in range(runs)) * 1000


def groups(options):
    """The cases by name: a function of the options that returns rows of name, ours and peer in
    milliseconds. The peer is named in the first column."""
    return {
        "results": results, "functions": functions, "tpch": tpch_frames, "polars": tpch_polars, "ml": features,
        "memory": memory, "wheel": wheel,
    }


def functions(options):
    """`x * 2 + 1` over 1 M rows on one thread, in each way, next to what it should be compared with."""
    import duckdb
    import numba
    import numpy
    import pyarrow
    import pyarrow.compute

    import volley as vl

    x = vl.col("x")
    ours = vl.connect(threads=1)
    theirs = duckdb.connect(config={"threads": 1})
    arrow = pyarrow.table({"x": numpy.arange(ROWS)})
    ours.register("numbers", arrow)
    theirs.register("numbers", arrow)
    runs = options.runs

    def loop(values):
        result = numpy.empty_like(values)
        for at in range(len(values)):
            result[at] = values[at] * 2 + 1
        return result

    inlined = numba.njit(loop)
    values = numpy.arange(ROWS)
    inlined(values)

    def plain(x):
        return x * 2 + 1

    def batch(x):
        return pyarrow.compute.add(pyarrow.compute.multiply(x, 2), 1)

    def total(expr):
        return lambda: ours.table("numbers").select(expr.sum()).item()

    way = {name: vl.func("BIGINT", returns="BIGINT", way=name)(batch if name == "batch" else plain)
           for name in ("traced", "compiled", "batch", "row", "process")}
    theirs.create_function("batch", batch, ["BIGINT"], "BIGINT", type="arrow")
    native = best(total(x * 2 + 1), runs)
    nothing = best(total(x), runs)
    numbers = values.tolist()
    yield "traced, against the native expression", best(total(way["traced"](x)), runs), native
    compiled = best(total(way["compiled"](x)), runs) - nothing
    yield "compiled without the scan, against an inlined loop", compiled, best(lambda: inlined(values), runs)
    peer = best(lambda: theirs.sql("SELECT sum(batch(x)) FROM numbers").fetchall(), runs)
    yield "Arrow batch, against DuckDB's", best(total(way["batch"](x)), runs), peer
    comprehension = best(lambda: [it * 2 + 1 for it in numbers], runs)
    yield "row, against a list comprehension", best(total(way["row"](x)), 1), comprehension
    yield "process, against a list comprehension", best(total(way["process"](x)), 1), comprehension


def tpch_frames(options):
    """TPC-H as frames against the same queries in SQL, over Parquet files."""
    import tpch

    import volley as vl

    connection = vl.connect(threads=options.threads)
    for name in tpch.TABLES:
        connection.sql(f"CREATE VIEW {name} AS SELECT * FROM '{options.data}/{name}.parquet'")
    all_ours = all_theirs = 0.0
    for number, make in sorted(tpch.QUERIES.items()):
        frames = tpch.tables(connection, options.data)
        # Both run in turn, so that they see the same machine.
        ours, theirs = [], []
        for _ in range(options.runs):
            ours.append(best(lambda: make(frames).fetchall(), 1))
            theirs.append(best(lambda: connection.sql(tpch.sql(number)).fetchall(), 1))
        all_ours, all_theirs = all_ours + min(ours), all_theirs + min(theirs)
        yield f"TPC-H {number} as a frame, against SQL", min(ours), min(theirs)
    yield "TPC-H as frames, against SQL", all_ours, all_theirs


def tpch_polars(options):
    """Queries of TPC-H over Polars data frames in memory, against Polars' streaming engine."""
    import polars
    import tpch

    import volley as vl

    data = {it: polars.read_parquet(f"{options.data}/{it}.parquet") for it in tpch.TABLES}
    connection = vl.connect(threads=options.threads)
    for name, frame in data.items():
        connection.register(name, frame)
    context = polars.SQLContext(frames={name: it.lazy() for name, it in data.items()})
    all_ours = all_theirs = 0.0
    for number in sorted(tpch.QUERIES):
        text = tpch.sql(number)
        try:
            context.execute(text).collect(engine="streaming")
        except Exception as error:
            # Polars' SQL lacks some constructs.
            print(f"TPC-H {number}: not in Polars' SQL: {str(error).splitlines()[0][:60]}", flush=True)
            continue
        ours = best(lambda: connection.sql(text).to_polars(), options.runs)
        theirs = best(lambda: context.execute(text).collect(engine="streaming"), options.runs)
        all_ours, all_theirs = all_ours + ours, all_theirs + theirs
        yield f"TPC-H {number} in memory, against Polars", ours, theirs
    yield "TPC-H in memory, against Polars", all_ours, all_theirs


def features(options):
    """A set of the shape of Criteo's (13 dense and 26 sparse columns) to tensors, against Polars."""
    import tempfile

    import numpy
    import polars
    import pyarrow
    import pyarrow.parquet

    import volley as vl
    from volley import ml

    generator = numpy.random.default_rng(38)
    dense, sparse = [f"d{it}" for it in range(13)], [f"c{it}" for it in range(26)]
    rows = options.rows
    columns = {it: pyarrow.array(generator.exponential(50, rows), mask=generator.random(rows) < 0.2) for it in dense}
    columns |= {it: generator.integers(0, 1 << 40, rows) for it in sparse}
    borders = [0.5, 1.0, 2.0, 3.0, 4.0]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/criteo.parquet"
        pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=1 << 17)
        connection = vl.connect(threads=options.threads)

        def ours():
            steps = [ml.log(vl.col(it).fill_null(0.0).clip(0.0), 1.0).cast("REAL").alias(it) for it in dense]
            steps += [ml.bucketize(vl.col(it).fill_null(0.0), borders).alias(f"{it}_b") for it in dense]
            steps += [ml.sigrid_hash(it, 7, 1_000_000).alias(it) for it in sparse]
            return sum(len(it["c0"]) for it in connection.scan(path).select(steps).numpy_batches())

        def theirs():
            steps = [(polars.col(it).fill_null(0.0).clip(0.0) + 1.0).log().cast(polars.Float32) for it in dense]
            steps += [polars.col(it).fill_null(0.0).cut(borders).to_physical().alias(f"{it}_b") for it in dense]
            steps += [polars.col(it).hash(7) % 1_000_000 for it in sparse]
            frame = polars.scan_parquet(path).select(steps).collect(engine="streaming")
            return len({it: frame[it].to_numpy() for it in frame.columns}["c0"])

        assert ours() == theirs() == rows
        yield f"Criteo-shaped, {rows} rows to tensors, against Polars", best(ours, options.runs), best(theirs, options.runs)


def memory(options):
    """Megabytes of the process after 10,000 queries, and after 1,000."""
    import volley as vl

    connection = vl.connect(threads=options.threads)
    numbers = {"a": list(range(100))}

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096 / 1e6

    def run(queries):
        for it in range(queries // 4):
            connection.sql("SELECT ? + 1", it).fetchall()
            connection.sql("SELECT sum(a) FROM numbers").to_arrow()
            connection.frame(numbers).filter(vl.col("a") > 50).count()
            connection.sql("SELECT i % 3 AS k, count(*) FROM range(1000) r(i) GROUP BY k").fetchall()

    run(1000)
    after_1000 = resident()
    run(9000)
    yield "MB after 10,000 queries, after 1,000", resident(), after_1000
    del numbers


def wheel(options):
    """Megabytes of the library that is installed, compressed as in a wheel, and the limit."""
    import pathlib
    import zlib

    import volley

    (library,) = pathlib.Path(volley.__file__).parent.glob("_volley*.so")
    size = len(zlib.compress(library.read_bytes(), 6)) / 1e6
    yield "MB of the wheel, the limit", size, 30.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=500_000, help="rows of the case ml")
    parser.add_argument("--data", default="data/tpch-sf1", help="Parquet files of TPC-H")
    parser.add_argument("--cpu", action="store_true", help="CPU time, for machines that do other work, too")
    parser.add_argument("cases", nargs="*", help="results, functions, tpch, polars, ml, memory, wheel")
    options = parser.parse_args()
    if options.cpu:
        global clock
        clock = time.process_time
    print(f"{'':56} {'volley':>10} {'peer':>10} {'ratio':>6}")
    made = groups(options)
    for name in options.cases or ["results"]:
        for case, mine, peer in made[name](options):
            print(f"{case:56} {mine:10.3f} {peer:10.3f} {mine / peer:6.2f}", flush=True)


def results(options):
    """Import, short queries, and results of 1 M rows, against DuckDB; times in milliseconds."""
    import duckdb
    import polars
    import pyarrow

    import volley as vl

    ours = vl.connect(threads=options.threads)
    theirs = duckdb.connect(config={"threads": options.threads})
    query = QUERY.format(rows=ROWS)
    # The rows are in a table, so that the results are measured and not the query.
    for db in (ours, theirs):
        (db.sql if db is ours else db.execute)(f"CREATE TABLE t AS {query}")
    arrow = theirs.sql("FROM t").to_arrow_table()
    frame = polars.DataFrame(arrow)
    theirs.register("arrow", arrow)
    theirs.register("frame", frame)
    runs, many = options.runs, 200
    cases = [
        ("import", lambda: None, lambda: None),
        ("SELECT 1", lambda: ours.sql("SELECT 1").fetchall(), lambda: theirs.execute("SELECT 1").fetchall()),
        ("to Arrow", lambda: ours.table("t").to_arrow(), lambda: theirs.sql("FROM t").to_arrow_table()),
        ("to pandas", lambda: ours.table("t").to_pandas(), lambda: theirs.sql("FROM t").df()),
        ("to Polars", lambda: ours.table("t").to_polars(), lambda: theirs.sql("FROM t").pl()),
        ("fetchall", lambda: ours.table("t").fetchall(), lambda: theirs.execute("FROM t").fetchall()),
        ("sum over an Arrow table", lambda: ours.frame(arrow).select(vl.col("b").sum(), vl.col("c").min()).fetchall(),
         lambda: theirs.execute("SELECT sum(b), min(c) FROM arrow").fetchall()),
        ("groups of a Polars frame",
         lambda: ours.frame(frame).group_by("c").agg(vl.col("b").sum()).fetchall(),
         lambda: theirs.execute("SELECT c, sum(b) FROM frame GROUP BY c").fetchall()),
    ]
    for name, run, peer in cases:
        if name == "import":
            mine, other = import_time("volley", runs), import_time("duckdb", runs)
        else:
            repeats = many if name == "SELECT 1" else runs
            mine, other = best(run, repeats), best(peer, repeats)
        yield name, mine, other
    assert pyarrow.table(ours.table("t")).num_rows == ROWS


if __name__ == "__main__":
    main()
