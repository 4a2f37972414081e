"""Objects of Python as tables: no copies, all types, streams."""

import datetime
import decimal

import duckdb
import hypothesis
import hypothesis.strategies as st
import numpy
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest

import volley as vl
from volley import _volley

ROWS = [(1, "one", 1.5), (2, None, 2.5), (None, "tr\u00e9s", None)]
ARROW = pyarrow.table({
    "n": pyarrow.array([1, 2, None], pyarrow.int64()),
    "s": ["one", None, "tr\u00e9s"],
    "d": [1.5, 2.5, None],
})


def frames():
    relation = duckdb.arrow(ARROW)
    return {
        "pyarrow": ARROW,
        "batch": ARROW.to_batches()[0],
        "polars": polars.DataFrame(ARROW),
        "pandas": pandas.DataFrame({"n": [1, 2, None], "s": ["one", None, "tr\u00e9s"],
                                    "d": [1.5, 2.5, None]}).astype({"n": "Int64"}),
        "duckdb": relation,
        "columns": {"n": [1, 2, None], "s": ["one", None, "tr\u00e9s"], "d": [1.5, 2.5, None]},
        "rows": [{"n": 1, "s": "one", "d": 1.5}, {"n": 2, "d": 2.5}, {"s": "tr\u00e9s"}],
        "reader": ARROW.to_reader(),
        "generator": (it for it in ARROW.to_batches(max_chunksize=1)),
    }


@pytest.mark.parametrize("kind", list(frames()))
def test_variables_are_tables(db, kind):
    data = frames()[kind]
    rows = db.sql("SELECT n, s, d FROM data").fetchall()
    assert rows == ROWS
    data = frames()[kind]
    assert db.frame(data).filter(vl.col("n") == 2).select("n", "d").fetchall() == [(2, 2.5)]


def test_a_stream_is_read_once(db):
    reader = ARROW.to_reader()
    frame = db.frame(reader)
    assert frame.count() == 3
    with pytest.raises(vl.InvalidQuery, match="can be read once"):
        frame.count()


def test_a_stream_that_fails_is_an_error_of_the_query(db):
    def batches():
        yield ARROW.to_batches()[0]
        raise RuntimeError("the producer failed")

    with pytest.raises(vl.InvalidValue, match="the producer failed"):
        db.frame(batches()).count()
    assert db.sql("SELECT 1").item() == 1


def test_a_generator_may_be_larger_than_memory():
    db = vl.connect(memory_limit="64MB")
    batch = pyarrow.record_batch({"a": numpy.arange(1_000_000)})
    frame = db.frame(batch for _ in range(20))
    assert frame.select(vl.len(), vl.col("a").max()).fetchall() == [(20_000_000, 999_999)]


def test_tables_of_databases_come_before_variables(db):
    numbers = {"a": [1]}
    assert db.sql("FROM numbers").fetchall() == [(1,)]
    db.sql("CREATE TABLE numbers AS SELECT 2 AS a")
    assert db.sql("FROM numbers").fetchall() == [(2,)]
    del numbers


def test_registered_data_is_a_table(db):
    db.register("t", ARROW)
    assert db.table("t").fetchall() == ROWS
    db.register("t", db.sql("SELECT 5 AS a"))
    assert db.table("t").fetchall() == [(5,)]
    assert db.unregister("t")
    assert not db.unregister("t")
    with pytest.raises(vl.InvalidQuery, match="no such table: t"):
        db.table("t").fetchall()


def test_numpy_arrays_are_tables(db):
    matrix = numpy.arange(6).reshape(3, 2)
    assert db.sql("SELECT sum(column_1) FROM matrix").item() == 9
    records = numpy.array([(1, 2.5), (2, 3.5)], dtype=[("a", "i8"), ("b", "f8")])
    assert db.sql("SELECT a, b FROM records").fetchall() == [(1, 2.5), (2, 3.5)]
    columns = {"a": numpy.array([1, 2], dtype="int8")}
    assert db.frame(columns).schema == {"a": "TINYINT"}


def test_columns_of_values_have_a_common_type(db):
    frame = db.frame({
        "a": [1, 2.5], "b": [None, decimal.Decimal("1.25")], "c": [datetime.date(2024, 1, 1), None],
        "d": [[1], None], "e": [{"x": 1}, {"x": None}], "f": [None, None],
    })
    assert frame.schema["a"] == "DOUBLE"
    assert frame.fetchall()[1] == (2.5, decimal.Decimal("1.25"), None, None, {"x": None}, None)
    with pytest.raises(vl.InvalidValue, match="different types"):
        db.frame({"a": [1, "x"]})
    with pytest.raises(vl.InvalidValue, match="columns of 1 and of 2 rows"):
        db.frame({"a": [1], "b": [1, 2]})
    with pytest.raises(TypeError, match="no table"):
        db.frame(5)


def test_fixed_width_buffers_are_not_copied(db):
    values = pyarrow.array(numpy.arange(1000))
    table = pyarrow.table({"a": values})
    frame = db.frame(table)
    (inner,) = frame._tables.values()
    out = pyarrow.table(inner)
    assert out.column("a").chunk(0).buffers()[1].address == values.buffers()[1].address


SCALARS = {
    pyarrow.bool_(): st.booleans(),
    pyarrow.int8(): st.integers(-(2**7), 2**7 - 1),
    pyarrow.int16(): st.integers(-(2**15), 2**15 - 1),
    pyarrow.int32(): st.integers(-(2**31), 2**31 - 1),
    pyarrow.int64(): st.integers(-(2**63), 2**63 - 1),
    pyarrow.uint8(): st.integers(0, 2**8 - 1),
    pyarrow.uint16(): st.integers(0, 2**16 - 1),
    pyarrow.uint32(): st.integers(0, 2**32 - 1),
    pyarrow.float32(): st.floats(width=32, allow_nan=False),
    pyarrow.float64(): st.floats(allow_nan=False),
    pyarrow.string(): st.text(),
    pyarrow.large_string(): st.text(),
    pyarrow.string_view(): st.text(),
    pyarrow.binary(): st.binary(),
    pyarrow.date32(): st.dates(),
    pyarrow.time64("us"): st.times(),
    pyarrow.timestamp("us"): st.datetimes(),
    pyarrow.decimal128(12, 3): st.decimals(-(10**8), 10**8, places=3),
    pyarrow.decimal128(30, 2): st.decimals(-(10**20), 10**20, places=2),
}


@st.composite
def columns(draw, depth=2):
    kinds = list(SCALARS)
    choice = draw(st.integers(0, len(kinds) - 1 + (3 if depth else 0)))
    if choice < len(kinds):
        of = kinds[choice]
        return of, st.none() | SCALARS[of]
    of, cells = draw(columns(depth=depth - 1))
    match choice - len(kinds):
        case 0:
            return pyarrow.list_(of), st.none() | st.lists(cells, max_size=4)
        case 1:
            return pyarrow.struct([("a", of), ("b", pyarrow.int32())]), st.none() | st.fixed_dictionaries(
                {"a": cells, "b": st.none() | st.integers(0, 9)})
        case _:
            return pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), st.none() | st.sampled_from(
                ["a", "b", "\u00e9\u00e9"])


# One thread, so that the rows stay in order.
DB = vl.connect(threads=1)


@hypothesis.settings(max_examples=120, deadline=None, derandomize=True)
@hypothesis.given(st.data())
def test_arrow_columns_survive_a_round_trip(data):
    of, cells = data.draw(columns())
    values = data.draw(st.lists(cells, max_size=40))
    array = pyarrow.array(values, type=of)
    chunk = data.draw(st.integers(1, 10))
    table = pyarrow.table({"a": array})
    table = pyarrow.Table.from_batches(table.to_batches(max_chunksize=chunk), table.schema)
    frame = DB.frame(table)
    expected = table.column("a").to_pylist()
    # Through the engine, and a filter that keeps all rows.
    assert frame.filter(vl.lit(True)).to_arrow().column("a").to_pylist() == expected
    offset = data.draw(st.integers(0, len(values)))
    sliced = DB.frame(table.slice(offset)).filter(vl.lit(True)).to_arrow().column("a").to_pylist()
    assert sliced == expected[offset:]
    if expected:
        rows = [it for (it,) in frame.fetchall()]
        if pyarrow.types.is_floating(of):
            rows = [it if it is None else pyarrow.scalar(it, of).as_py() for it in rows]
        assert rows == expected


@pytest.mark.parametrize("size", [0, 1, 12, 13, 100_000, 5_000_000])
def test_large_texts_survive(db, size):
    text = "\u00e9" * size
    table = pyarrow.table({"a": [text, None, text]})
    assert db.frame(table).to_arrow().column("a").to_pylist() == [text, None, text]


def test_results_agree_with_duckdb_and_polars(db):
    n = 50_000
    generator = numpy.random.default_rng(7)
    table = pyarrow.table({
        "k": pyarrow.array(generator.integers(0, 100, n), mask=generator.random(n) < 0.05),
        "v": generator.random(n).round(3),
        "s": pyarrow.array([f"w{it}" for it in generator.integers(0, 1000, n)]),
    })
    query = "SELECT k, count(*) AS c, round(sum(v), 6) AS t, min(s) AS s FROM table_ GROUP BY k ORDER BY k NULLS LAST"
    table_ = table
    ours = db.sql(query).fetchall()
    theirs = duckdb.sql(query).fetchall()
    assert ours == theirs
    frame = db.frame(table).group_by("k").agg(c=vl.len(), t=vl.col("v").sum().round(6), s=vl.col("s").min())
    assert frame.sort("k", nulls_last=True).fetchall() == theirs
    import polars as pl
    lazy = pl.from_arrow(table).lazy().group_by("k").agg(
        c=pl.len(), t=pl.col("v").sum().round(6), s=pl.col("s").min())
    assert lazy.sort("k", nulls_last=True).collect().rows() == theirs
    del table_


def test_data_sets_of_pyarrow_are_read_by_column_and_more_than_once(db, tmp_path):
    for part in range(3):
        table = pyarrow.table({"a": list(range(part * 10, part * 10 + 10)), "b": ["x"] * 10})
        pyarrow.parquet.write_table(table, tmp_path / f"{part}.parquet")
    data = pyarrow.dataset.dataset(tmp_path)
    assert db.sql("SELECT sum(a), count(*) FROM data WHERE b = 'x' AND a > 4").fetchall() == [(425, 25)]
    frame = db.frame(data)
    assert frame.count() == 30
    assert frame.select(vl.col("a").max()).item() == 29


def test_a_data_set_is_asked_for_the_columns_that_a_query_reads(db):
    asked = []
    table = pyarrow.table({"a": [1, 2], "b": ["x", "y"], "c": [1.0, 2.0]})

    class Data:
        schema = table.schema

        def scanner(self, columns):
            asked.append(columns)
            return pyarrow.dataset.Scanner.from_batches(
                table.select(columns).to_batches(), schema=table.select(columns).schema)

    inner = _volley.Table.from_function(
        lambda names, filters: Data().scanner(names).to_reader(), table.schema.empty_table())
    frame = db.frame(inner)
    assert frame.filter(vl.col("c") > 1.5).select("b").fetchall() == [("y",)]
    assert asked == [["b", "c"]]

    def wrong(names, filters):
        return pyarrow.table({"b": [1]})

    bad = db.frame(_volley.Table.from_function(wrong, table.schema.empty_table()))
    with pytest.raises(vl.InvalidValue, match="other columns than its table"):
        bad.select("b").fetchall()


def test_filters_are_pushed_into_a_data_set(db):
    table = pyarrow.table({
        "a": pyarrow.array(range(100)), "s": [f"w{it % 10}" for it in range(100)],
        "f": pyarrow.array([float(it) for it in range(100)]),
        "t": pyarrow.array(range(100), pyarrow.timestamp("us")),
        "n": pyarrow.array(range(100), pyarrow.timestamp("ns")),
        "d": pyarrow.array(range(100), pyarrow.date32()), "u": pyarrow.array(range(100), pyarrow.uint32()),
        "z": pyarrow.array([None if it % 2 else it for it in range(100)]),
    })
    asked = []

    class Data:
        schema = table.schema

        def scanner(self, columns, filter):
            asked.append(filter)
            return pyarrow.dataset.dataset(table).scanner(columns=columns, filter=filter)

    Data.__module__ = "pyarrow.test"
    data = Data()

    def check(where, pushed):
        asked.clear()
        plain = db.frame(table).filter(vl.sql_expr(where)).select("a").fetchall()
        assert db.frame(data).filter(vl.sql_expr(where)).select("a").fetchall() == plain
        (found,) = asked
        assert (found is not None) == pushed, (where, found)

    check("a > 90", True)
    check("95 <= a", True)
    check("s = 'w3'", True)
    check("a = 5 OR a = 7 OR a = 9", True)
    check("s IN ('w1', 'w2') AND f > 50", True)
    check("z IS NULL", True)
    check("z IS NOT NULL AND a <> 4", True)
    check("d < DATE '1970-01-05'", True)
    check("t >= TIMESTAMP '1970-01-01 00:00:00.000095'", True)
    # NaN, other units and other types compare in another way there.
    check("f > 50", False)
    check("a + 1 > 90", False)
    check("n < TIMESTAMP '1970-01-01 00:00:00.000001'", False)
    check("u = 5", False)
    check("a = 5 OR f > 98", False)


def test_dictionaries_and_runs_survive(db):
    words = pyarrow.array(["a", "b", None, "a"] * 500).dictionary_encode()
    runs = pyarrow.RunEndEncodedArray.from_arrays(
        pyarrow.array([500, 2000], pyarrow.int32()), pyarrow.array([1, 2]))
    table = pyarrow.table({"w": words, "r": runs, "n": list(range(2000))})
    frame = db.frame(table)
    out = frame.filter(vl.col("n") >= 1).select("w", "n").to_arrow()
    assert pyarrow.types.is_dictionary(out.schema.field("w").type)
    assert out.column("w").to_pylist() == words.to_pylist()[1:]
    assert pyarrow.types.is_int64(out.schema.field("n").type)
    # Other libraries read them.
    assert polars.DataFrame(frame.select("w"))["w"].to_list() == words.to_pylist()
    assert frame.select("w").to_polars()["w"].to_list() == words.to_pylist()
    assert frame.select("w").to_pandas()["w"].iloc[0] == "a"
    # A dictionary may come from one batch, and plain values from the next.
    grown = frame.select(vl.when(vl.col("n") > 1500).then(vl.sql_expr("'x' || w")).otherwise(vl.col("w")).alias("w"))
    expected = [it if at <= 1500 or it is None else "x" + it for at, it in enumerate(words.to_pylist())]
    assert sorted(map(str, grown.to_arrow().column("w").to_pylist())) == sorted(map(str, expected))
    assert not pyarrow.types.is_dictionary(frame.select("w").to_arrow(encoded=False).schema.field("w").type)
    assert frame.select("r").to_arrow().column("r").to_pylist() == runs.to_pylist()
    plain = db.frame(pyarrow.table({"s": ["x", "y"]}))
    assert not pyarrow.types.is_dictionary(plain.filter(vl.lit(True)).to_arrow().schema.field("s").type)


def test_names_of_time_zones_survive(db):
    def zone(name):
        return pyarrow.timestamp("us", name)

    moments = [datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.UTC), None]
    table = pyarrow.table({
        "b": pyarrow.array(moments, zone("Europe/Berlin")), "t": pyarrow.array(moments, zone("Asia/Tokyo")),
        "u": pyarrow.array(moments, zone("UTC")), "n": [1, 2],
    })

    def zones(frame):
        return [it.type.tz for it in frame.to_arrow().schema if pyarrow.types.is_timestamp(it.type)]

    data, frame = table, db.frame(table)
    assert data is table
    assert zones(frame.filter(vl.col("n") > 0)) == ["Europe/Berlin", "Asia/Tokyo", "UTC"]
    assert zones(frame.select("t", "b").sort("t")) == ["Asia/Tokyo", "Europe/Berlin"]
    assert zones(db.sql("SELECT max(b) AS b, min(t) AS t FROM data")) == ["Europe/Berlin", "Asia/Tokyo"]
    assert zones(db.sql("SELECT b FROM data UNION ALL SELECT b FROM data")) == ["Europe/Berlin"]
    assert zones(frame.join(frame.select("n", c="b"), on="n")) == ["Europe/Berlin", "Asia/Tokyo", "UTC", "Europe/Berlin"]
    assert frame.filter(vl.lit(True)).to_arrow().column("b").to_pylist() == table.column("b").to_pylist()
    # What is made of other values is in UTC.
    made = frame.select(a=vl.sql_expr("CAST('2024-01-01 00:00:00+00' AS TIMESTAMP WITH TIME ZONE)"))
    assert zones(made) == ["UTC"]
    # Zones do not make other types.
    assert frame.filter(vl.col("b") == vl.col("t")).count() == 1
    both = frame.select(z=vl.coalesce("b", "t"), l=vl.concat_list("t", "b"))
    assert both.fetchall()[0][0] == moments[0]
    assert both.to_arrow().column("l").to_pylist()[0] == [moments[0], moments[0]]
    # Another zone of the session writes texts, and results keep their zones.
    berlin = vl.connect(TimeZone="Europe/Berlin").frame(table)
    assert berlin.select(vl.col("t").cast(str)).fetchall()[0] == ("2024-07-01 14:00:00+02",)
    assert zones(berlin.filter(vl.col("n") > 0).select("t")) == ["Asia/Tokyo"]
    batches = list(frame.filter(vl.col("n") > 0).batches())
    assert batches[0].schema.field("b").type == zone("Europe/Berlin")
    assert polars.DataFrame(frame.select("b")).schema["b"] == polars.Datetime("us", "Europe/Berlin")


def test_lazy_frames_and_series_of_polars_are_tables(db):
    lazy = polars.LazyFrame({"a": [1, 2]}).filter(polars.col("a") > 1)
    assert db.sql("SELECT a FROM lazy").fetchall() == [(2,)]
    assert db.frame(polars.Series("a", [1])).fetchall() == [(1,)]
    with pytest.raises(TypeError, match="a row is of class int"):
        db.frame([(1,), 2])
    with pytest.raises(vl.InvalidValue, match="column of pandas with values of different types"):
        db.frame(pandas.DataFrame({"t": [1, "a"]}))


def test_paths_are_texts_or_objects(tmp_path):
    path = tmp_path / "rows.parquet"
    assert vl.sql("SELECT 1 AS a").write_parquet(path) == 1
    assert vl.scan(path).fetchall() == [(1,)]
    assert vl.scan([path, str(path)]).count() == 2
    assert vl.scan_parquet(path).columns == ["a"]
    with pytest.raises(TypeError, match="not bytes"):
        vl.scan(b"rows.parquet")


def test_a_connection_may_have_a_database_file(tmp_path):
    path = tmp_path / "a shop.volley"
    with vl.connect(path, threads=2) as db:
        db.sql("CREATE TABLE t AS SELECT 5 AS a")
    with vl.connect(str(path)) as db:
        assert db.table("t").fetchall() == [(5,)]
    (tmp_path / "file.volley").write_text("no folder")
    with pytest.raises(vl.Error):
        vl.connect(tmp_path / "file.volley")
