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


@hypothesis.settings(max_examples=120, deadline=None)
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
        lambda names: Data().scanner(names).to_reader(), table.schema.empty_table())
    frame = db.frame(inner)
    assert frame.filter(vl.col("c") > 1.5).select("b").fetchall() == [("y",)]
    assert asked == [["b", "c"]]

    def wrong(names):
        return pyarrow.table({"b": [1]})

    bad = db.frame(_volley.Table.from_function(wrong, table.schema.empty_table()))
    with pytest.raises(vl.InvalidValue, match="other columns than its table"):
        bad.select("b").fetchall()
