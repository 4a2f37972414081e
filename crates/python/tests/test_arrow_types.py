"""Types and values of Arrow, pyarrow, Polars, pandas, numpy and DuckDB that come back as they were."""

import datetime
import decimal
import uuid

import duckdb
import hypothesis
import hypothesis.strategies as st
import numpy
import pandas
import polars
import pyarrow
import pytest

import volley as vl

# One thread, so that the rows stay in order.
DB = vl.connect(threads=1)


def integers(bits, signed=True):
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


#: Types that come back as they are, and cells of them as pyarrow takes them.
KEPT = {
    pyarrow.null(): st.none(),
    pyarrow.bool_(): st.booleans(),
    **{getattr(pyarrow, f"int{it}")(): integers(it) for it in (8, 16, 32, 64)},
    **{getattr(pyarrow, f"uint{it}")(): integers(it, False) for it in (8, 16, 32, 64)},
    pyarrow.float32(): st.floats(width=32),
    pyarrow.float64(): st.floats(),
    pyarrow.string_view(): st.text(),
    pyarrow.binary_view(): st.binary(),
    pyarrow.date32(): integers(32),
    pyarrow.time64("us"): st.integers(0, 86_399_999_999),
    **{pyarrow.timestamp(it): integers(64) for it in ("s", "ms", "us", "ns")},
    pyarrow.timestamp("us", "UTC"): integers(64),
    pyarrow.timestamp("us", "America/New_York"): integers(64),
    pyarrow.decimal128(12, 3): st.decimals(-(10**8), 10**8, places=3),
    pyarrow.decimal128(38, 0): st.integers(-(10**37), 10**37).map(decimal.Decimal),
    pyarrow.month_day_nano_interval(): st.builds(
        lambda m, d, n: pyarrow.MonthDayNano([m, d, n]), integers(32), integers(32), integers(64)),
}

#: Types that become others, which hold the same values.
CHANGED = {
    pyarrow.float16(): (st.floats(width=16).map(numpy.float16), pyarrow.float32()),
    pyarrow.string(): (st.text(), pyarrow.string_view()),
    pyarrow.large_string(): (st.text(), pyarrow.string_view()),
    pyarrow.binary(): (st.binary(), pyarrow.binary_view()),
    pyarrow.large_binary(): (st.binary(), pyarrow.binary_view()),
    pyarrow.binary(3): (st.binary(min_size=3, max_size=3), pyarrow.binary_view()),
    pyarrow.date64(): (st.integers(-10_000, 10_000).map(lambda it: it * 86_400_000), pyarrow.date32()),
    pyarrow.time32("s"): (st.integers(0, 86_399), pyarrow.time64("us")),
    pyarrow.time32("ms"): (st.integers(0, 86_399_999), pyarrow.time64("us")),
    pyarrow.time64("ns"): (st.integers(0, 86_399_999_999).map(lambda it: it * 1000), pyarrow.time64("us")),
    pyarrow.timestamp("s", "UTC"): (st.integers(-(10**11), 10**11), pyarrow.timestamp("us", "UTC")),
    pyarrow.timestamp("ms", "Asia/Tokyo"): (
        st.integers(-(10**14), 10**14), pyarrow.timestamp("us", "Asia/Tokyo")),
    pyarrow.timestamp("ns", "UTC"): (
        st.integers(-(10**15), 10**15).map(lambda it: it * 1000), pyarrow.timestamp("us", "UTC")),
    pyarrow.decimal32(5, 2): (st.decimals(-100, 100, places=2), pyarrow.decimal128(5, 2)),
    pyarrow.decimal64(12, 2): (st.decimals(-(10**8), 10**8, places=2), pyarrow.decimal128(12, 2)),
}


@st.composite
def columns(draw, depth=2):
    """A type, cells of it, and the type that comes back."""
    scalars = [(of, cells, of) for of, cells in KEPT.items() if of != pyarrow.null()]
    scalars += [(of, cells, to) for of, (cells, to) in CHANGED.items()]
    choice = draw(st.integers(0, len(scalars) - 1 + (5 if depth else 0)))
    if choice < len(scalars):
        of, cells, to = scalars[choice]
        # Zones in lists and rows are UTC.
        if depth < 2 and pyarrow.types.is_timestamp(to) and to.tz:
            to = pyarrow.timestamp("us", "UTC")
        return of, st.none() | cells, to
    of, cells, to = draw(columns(depth=depth - 1))
    lists = st.none() | st.lists(cells, max_size=4)
    match choice - len(scalars):
        case 0:
            return pyarrow.list_(of), lists, pyarrow.list_(to)
        case 1:
            return pyarrow.large_list(of), lists, pyarrow.list_(to)
        case 2:
            pairs = st.none() | st.lists(cells, min_size=2, max_size=2)
            return pyarrow.list_(of, 2), pairs, pyarrow.list_(to, 2)
        case 3:
            rows = st.none() | st.fixed_dictionaries({"a": cells, "b": st.none() | integers(8, False)})
            fields = [("b", pyarrow.uint8())]
            return pyarrow.struct([("a", of), *fields]), rows, pyarrow.struct([("a", to), *fields])
        case _:
            entries = st.none() | st.lists(st.tuples(integers(16), cells), max_size=3, unique_by=lambda it: it[0])
            return pyarrow.map_(pyarrow.int16(), of), entries, pyarrow.map_(pyarrow.int16(), to)


def same(left, right):
    """Whether arrays have equal values; NaN equals itself."""
    return repr(left.to_pylist()) == repr(right.to_pylist()) if _prints(left.type) else left.equals(right)


def _prints(of):
    """Whether Python has all values of a type."""
    return not any(it in str(of) for it in ("timestamp", "date", "time", "interval"))


def whole(table, name="a"):
    column = table.column(name)
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


@hypothesis.settings(max_examples=250, deadline=None, derandomize=True)
@hypothesis.given(st.data())
def test_columns_of_arrow_come_back(data):
    of, cells, to = data.draw(columns())
    values = data.draw(st.lists(cells, max_size=30))
    table = pyarrow.table({"a": pyarrow.array(values, type=of)})
    chunk = data.draw(st.integers(1, 10))
    table = pyarrow.Table.from_batches(table.to_batches(max_chunksize=chunk), table.schema)
    back = DB.frame(table).filter(vl.lit(True)).to_arrow()
    assert back.schema.field("a").type == to
    expected = whole(table)
    if of != to and pyarrow.types.is_nested(of):
        # Python's datetime has fewer years than timestamps.
        if _prints(to) and "half" not in str(of):
            assert repr(back.column("a").to_pylist()) == repr(expected.to_pylist())
        return
    if of == pyarrow.float16():
        expected = pyarrow.array([None if it is None else float(it) for it in values], pyarrow.float32())
    elif of != to:
        expected = expected.cast(to)
    assert same(whole(back), expected), (of, to)
    offset = data.draw(st.integers(0, len(values)))
    sliced = DB.frame(table.slice(offset)).filter(vl.lit(True)).to_arrow()
    assert same(whole(sliced), expected.slice(offset))


@pytest.mark.parametrize("of", [*KEPT, *CHANGED], ids=str)
def test_every_type_without_rows_and_with_nulls_alone(of):
    to = KEPT.get(of) and of or CHANGED[of][1] if of in CHANGED else of
    for count in (0, 1, 5000):
        table = pyarrow.table({"a": pyarrow.nulls(count, of)})
        back = DB.frame(table).filter(vl.lit(True)).to_arrow()
        assert back.column("a").null_count == count and back.schema.field("a").type == to


@pytest.mark.parametrize("of", [it for it in KEPT if it != pyarrow.null()], ids=str)
def test_types_survive_tables_of_databases(of):
    db = vl.connect(threads=1)
    values = pyarrow.array([1, None, 0], pyarrow.int64())
    try:
        array = values.cast(pyarrow.int32()).cast(of) if of == pyarrow.date32() else values.cast(of)
    except (pyarrow.ArrowNotImplementedError, pyarrow.ArrowInvalid):
        array = pyarrow.nulls(3, of)
    db.register("source", pyarrow.table({"a": array}))
    db.sql("CREATE TABLE t AS SELECT a FROM source")
    back = db.table("t").to_arrow()
    assert back.schema.field("a").type == of
    assert whole(back).equals(array)


def test_units_and_unsigned_integers_are_types_of_sql():
    table = pyarrow.table({
        "u8": pyarrow.array([255], pyarrow.uint8()), "u64": pyarrow.array([2**64 - 1], pyarrow.uint64()),
        "s": pyarrow.array([1], pyarrow.timestamp("s")), "ms": pyarrow.array([1001], pyarrow.timestamp("ms")),
        "ns": pyarrow.array([1_000_000_001], pyarrow.timestamp("ns")),
    })
    frame = DB.frame(table)
    assert frame.schema == {
        "u8": "UTINYINT", "u64": "UBIGINT", "s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "ns": "TIMESTAMP_NS"}
    second = datetime.datetime(1970, 1, 1, 0, 0, 1)
    assert frame.fetchall() == [(255, 2**64 - 1, second, second.replace(microsecond=1000), second)]
    made = frame.select(vl.sql_expr("u64 > 5"), vl.sql_expr("s < ns"), vl.sql_expr("date_trunc('day', ms)"))
    assert made.fetchall() == [(True, True, datetime.datetime(1970, 1, 1))]


def test_uuids_come_back():
    one = uuid.uuid4()
    array = pyarrow.ExtensionArray.from_storage(pyarrow.uuid(), pyarrow.array([one.bytes, None], pyarrow.binary(16)))
    frame = DB.frame(pyarrow.table({"a": array}))
    assert frame.schema == {"a": "UUID"}
    assert frame.fetchall() == [(one,), (None,)]
    assert frame.filter(vl.col("a") == vl.lit(one)).count() == 1
    assert whole(frame.filter(vl.lit(True)).to_arrow()).equals(array)


def test_dictionaries_of_numbers_stay_dictionaries():
    for of in (pyarrow.int64(), pyarrow.uint16(), pyarrow.timestamp("ns"), pyarrow.string_view()):
        values = pyarrow.array([5, 6, None, 5] * 300, pyarrow.int64())
        array = values.cast(pyarrow.string()).cast(of) if of == pyarrow.string_view() else values.cast(of)
        encoded = array.cast(pyarrow.string()).dictionary_encode() if of == pyarrow.string_view() else array.dictionary_encode()
        back = DB.frame(pyarrow.table({"a": encoded})).filter(vl.lit(True)).to_arrow()
        assert back.schema.field("a").type == pyarrow.dictionary(pyarrow.int32(), of)
        assert back.column("a").to_pylist() == array.to_pylist()


POLARS = {
    polars.UInt8: [0, 255, None], polars.UInt16: [0, 2**16 - 1, None], polars.UInt32: [0, 2**32 - 1, None],
    polars.UInt64: [0, 2**64 - 1, None], polars.Int8: [-128, 127, None], polars.Int64: [-(2**63), 2**63 - 1, None],
    polars.Float32: [1.5, None], polars.Float64: [0.1, None], polars.Boolean: [True, None],
    polars.String: ["a", "\u00e9" * 20, None], polars.Binary: [b"\x00", None],
    polars.Date: [datetime.date(2024, 2, 29), None], polars.Time: [datetime.time(1, 2, 3, 4), None],
    polars.Datetime("ms"): [datetime.datetime(2024, 1, 1, 1, 1, 1, 5000), None],
    polars.Datetime("us"): [datetime.datetime(2024, 1, 1, 1, 1, 1, 5), None],
    polars.Datetime("ns"): [datetime.datetime(2024, 1, 1, 1, 1, 1, 5), None],
    polars.Datetime("us", "Europe/Rome"): [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), None],
    polars.List(polars.UInt32): [[1, None], [], None],
    polars.Array(polars.Int16, 2): [[1, 2], None],
    polars.Struct({"a": polars.UInt8, "b": polars.Datetime("ns")}): [{"a": 1, "b": datetime.datetime(2024, 1, 1)}],
    polars.Decimal(20, 3): [decimal.Decimal("1.125"), None],
}


@pytest.mark.parametrize("of", list(POLARS), ids=str)
def test_types_of_polars_come_back(of):
    frame = polars.DataFrame({"a": POLARS[of]}, schema={"a": of})
    back = DB.frame(frame).filter(vl.lit(True)).to_polars()
    assert back.schema == frame.schema
    assert back.equals(frame)


@pytest.mark.parametrize("kind", [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool",
    "datetime64[s]", "datetime64[ms]", "datetime64[us]", "datetime64[ns]", "datetime64[D]",
])
def test_types_of_numpy_and_pandas_come_back(kind):
    array = numpy.array([0, 1, 77], dtype="int64").astype(kind)
    frame = DB.frame({"a": array})
    back = frame.filter(vl.lit(True)).to_numpy()["a"]
    assert back.dtype == array.dtype and (back == array).all()
    back[0] = back[1]
    if kind != "datetime64[D]":
        data = pandas.DataFrame({"a": array})
        again = DB.frame(data).filter(vl.lit(True)).to_pandas()
        assert again["a"].dtype == data["a"].dtype and (again["a"] == data["a"]).all()
    masked = DB.frame(pyarrow.table({"a": pyarrow.array(array, mask=numpy.array([False, True, False]))}))
    found = masked.to_numpy()["a"]
    if kind.startswith("datetime"):
        assert numpy.isnat(found).tolist() == [False, True, False] and found.dtype == array.dtype
    else:
        assert found.mask.tolist() == [False, True, False] and found.compressed().tolist() == array[[0, 2]].tolist()


DUCKDB = [
    "TRUE", "1::TINYINT", "1::UTINYINT", "1::USMALLINT", "1::UINTEGER", "18446744073709551615::UBIGINT", "1.5::FLOAT",
    "'x'", "'\\xAA'::BLOB", "DATE '2024-02-29'", "TIME '01:02:03'", "TIMESTAMP '2024-01-01 00:00:01'",
    "'2024-01-01 00:00:01'::TIMESTAMP_S", "'2024-01-01 00:00:01.5'::TIMESTAMP_MS",
    "'2024-01-01 00:00:01.000000001'::TIMESTAMP_NS", "TIMESTAMPTZ '2024-01-01 00:00:00+00'", "1.25::DECIMAL(5, 2)",
    "[1, NULL]", "{'a': 1::UTINYINT}", "MAP {'k': 5}", "INTERVAL 3 DAY",
]


@pytest.mark.parametrize("sql", DUCKDB)
def test_types_of_duckdb_come_back(sql):
    relation = duckdb.sql(f"SELECT {sql} AS a UNION ALL SELECT NULL")
    expected = sorted(relation.fetchall(), key=lambda it: it[0] is None)
    frame = DB.frame(duckdb.sql(f"SELECT {sql} AS a UNION ALL SELECT NULL"))
    assert sorted(frame.fetchall(), key=lambda it: it[0] is None) == expected
    ours = frame.filter(vl.lit(True)).to_arrow()
    again = duckdb.sql("FROM ours")
    assert str(again.types[0]) == str(relation.types[0])
    assert sorted(again.fetchall(), key=lambda it: it[0] is None) == expected


def test_types_without_a_counterpart_are_errors():
    union = pyarrow.UnionArray.from_sparse(
        pyarrow.array([0, 1], pyarrow.int8()), [pyarrow.array([1, 2]), pyarrow.array(["a", "b"])])
    for array in (union, pyarrow.array([decimal.Decimal("1.25")], pyarrow.decimal256(60, 2))):
        with pytest.raises(vl.Unsupported, match="unsupported Arrow type.*column: a"):
            DB.frame(pyarrow.table({"a": array}))
    late = pyarrow.array([2**62], pyarrow.timestamp("s", "UTC"))
    with pytest.raises(vl.InvalidValue, match="out of range"):
        DB.frame(pyarrow.table({"a": late})).filter(vl.lit(True)).to_arrow()
