"""Results of SQL in every form, and values of parameters."""

import datetime
import decimal
import uuid

import numpy
import pandas
import polars
import pyarrow
import pytest

import volley as vl

UTC = datetime.timezone.utc

VALUES = [
    ("TRUE", True),
    ("CAST(7 AS TINYINT)", 7),
    ("CAST(-300 AS SMALLINT)", -300),
    ("CAST(70000 AS INTEGER)", 70000),
    ("CAST(5000000000 AS BIGINT)", 5_000_000_000),
    ("CAST('170141183460469231731687303715884105727' AS HUGEINT)", 2**127 - 1),
    ("CAST(1.5 AS REAL)", 1.5),
    ("CAST(-0.1 AS DOUBLE)", -0.1),
    ("CAST('-1.20' AS DECIMAL(5, 2))", decimal.Decimal("-1.20")),
    ("CAST('0.05' AS DECIMAL(3, 2))", decimal.Decimal("0.05")),
    ("CAST('12345678901234567890.5' AS DECIMAL(30, 1))", decimal.Decimal("12345678901234567890.5")),
    ("'h\u00e9llo \u4e16\u754c \U0001f600'", "h\u00e9llo \u4e16\u754c \U0001f600"),
    ("''", ""),
    ("X'00FF41'", b"\x00\xffA"),
    ("DATE '2024-02-29'", datetime.date(2024, 2, 29)),
    ("DATE '0001-01-01'", datetime.date(1, 1, 1)),
    ("TIME '12:34:56.789012'", datetime.time(12, 34, 56, 789012)),
    ("TIMESTAMP '1969-12-31 23:59:59.999999'", datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)),
    ("TIMESTAMPTZ '2024-01-01 00:00:00+01'", datetime.datetime(2023, 12, 31, 23, tzinfo=UTC)),
    ("INTERVAL '2 days 3 hours'", datetime.timedelta(days=2, hours=3)),
    ("CAST('6f7b1c3e-0000-4000-8000-00000000000a' AS UUID)",
     uuid.UUID("6f7b1c3e-0000-4000-8000-00000000000a")),
    ("[1, NULL, 3]", [1, None, 3]),
    ("{'a': 1, 'b': 'x'}", {"a": 1, "b": "x"}),
    ("MAP(['k'], [5])", {"k": 5}),
    ("[[1], []]", [[1], []]),
    ("NULL", None),
]


@pytest.mark.parametrize(("sql", "expected"), VALUES)
def test_cells_are_objects_of_python(db, sql, expected):
    rows = db.sql(f"SELECT {sql} AS a, 1 AS b UNION ALL SELECT NULL, 2").fetchall()
    assert sorted(rows, key=lambda it: it[1]) == [(expected, 1), (None, 2)]


@pytest.mark.parametrize(("sql", "expected"), VALUES)
def test_a_cell_given_as_a_parameter_is_the_same(db, sql, expected):
    assert db.sql("SELECT ? AS a", expected).fetchall() == [(expected,)]


def test_a_profile_is_a_page(db, tmp_path):
    profile = db.sql("SELECT count(*) AS \"a & b\" FROM range(10)").profile()
    assert profile.html.startswith("<!DOCTYPE html>")
    profile.save(tmp_path / "profile.html")
    assert (tmp_path / "profile.html").read_text(encoding="utf-8") == profile.html
    shown = profile._repr_html_()
    assert shown.startswith("<iframe srcdoc=\"&lt;!DOCTYPE html&gt;") and shown.count("<") == 2
    with pytest.raises(vl.InvalidQuery, match="no such table"):
        db.sql("SELECT * FROM missing").profile()


def test_intervals_become_durations_of_polars(db):
    query = """
        SELECT i AS n, CASE WHEN i <> 1 THEN INTERVAL 3 DAYS + i * INTERVAL 5 SECONDS END AS d, 'a' AS s,
        [INTERVAL 1 MONTH] AS l FROM range(3) r(i)"""
    day = datetime.timedelta(days=1)
    rows = [(i, None if i == 1 else 3 * day + datetime.timedelta(seconds=5 * i), "a", [30 * day]) for i in range(3)]
    frame = db.sql(query).to_polars()
    assert frame.columns == ["n", "d", "s", "l"]
    assert frame.schema["d"] == polars.Duration("us")
    assert frame.rows() == rows == db.sql(query).fetchall()
    assert db.sql("SELECT CAST(NULL AS INTERVAL) AS d WHERE FALSE").to_polars().schema == {"d": polars.Duration("us")}


@pytest.mark.parametrize("rows", [0, 1, 3, 1024, 5000, 200_000])
def test_all_forms_have_the_same_rows(db, rows):
    query = f"SELECT i, CAST(i AS VARCHAR) AS s, i / 2 AS d FROM range({rows}) r(i)"
    frame = db.sql(query)
    expected = [(i, str(i), i / 2) for i in range(rows)]
    assert frame.fetchall() == expected
    table = frame.to_arrow()
    assert table.num_rows == rows
    assert table.column_names == ["i", "s", "d"]
    assert table.column("i").to_pylist() == [it[0] for it in expected]
    assert frame.to_polars().rows() == expected
    assert list(frame.to_pandas().itertuples(index=False, name=None)) == expected
    arrays = frame.to_numpy()
    assert arrays["i"].dtype == numpy.int64
    assert arrays["d"].tolist() == [it[2] for it in expected]
    assert frame.to_dict()["s"] == [it[1] for it in expected]
    assert [tuple(it.values()) for it in frame.to_dicts()] == expected
    assert sum(it.num_rows for it in frame.batches()) == rows
    assert pyarrow.RecordBatchReader.from_stream(frame).read_all() == table


def test_rows_are_fetched_in_steps(db):
    frame = db.sql("SELECT i FROM range(10) r(i)")
    assert frame.fetchone() == (0,)
    assert frame.fetchmany(3) == [(1,), (2,), (3,)]
    assert frame.fetchmany(100) == [(it,) for it in range(4, 10)]
    assert frame.fetchone() is None
    assert frame.fetchall() == []
    assert len(frame.fetchall()) == 10


def test_numbers_with_nulls_are_masked(db):
    arrays = db.sql("SELECT * FROM (VALUES (1, DATE '2024-01-01'), (NULL, NULL)) t(n, d)").to_numpy()
    assert arrays["n"].mask.tolist() == [False, True]
    assert numpy.isnat(arrays["d"]).tolist() == [False, True]


def test_parameters_have_positions_or_names(db):
    assert db.sql("SELECT $2 - $1", 1, 5).fetchall() == [(4,)]
    assert db.sql("SELECT ? || ?", "a", "b").fetchall() == [("ab",)]
    assert db.sql("SELECT $a || $b", a="x", b=None).fetchall() == [(None,)]
    assert db.execute("SELECT $a", {"a": [1, 2]}).fetchall() == [([1, 2],)]
    assert db.execute("SELECT ?", [{"x": 1}]).fetchall() == [({"x": 1},)]
    with pytest.raises(vl.InvalidQuery, match="takes 1 parameter, not 0"):
        db.sql("SELECT ?").fetchall()
    with pytest.raises(vl.InvalidQuery, match="no value for the parameter"):
        db.sql("SELECT $a", b=1).fetchall()
    with pytest.raises(TypeError, match="no type of SQL"):
        db.sql("SELECT ?", object()).fetchall()


def test_statements_run_in_order_and_the_last_one_gives_rows(db):
    frame = db.sql("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2); FROM t WHERE a > ?", 1)
    assert frame.fetchall() == [(2,)]
    assert db.sql("INSERT INTO t VALUES (3), (5)").fetchall() == [(2,)]
    assert db.sql("DELETE FROM t WHERE a = 5").fetchall() == [(1,)]
    assert db.sql("SET threads = 2").fetchall() == []
    assert db.sql("INSERT INTO t VALUES (4) RETURNING a").fetchall() == [(4,)]
    assert db.table("t").count() == 4
    assert db.sql("  ").fetchall() == []
    assert ("t", "table") in db.sql("SHOW TABLES").fetchall()


def test_transactions_commit_or_roll_back(db):
    db.sql("CREATE TABLE t (a INTEGER)")
    other = db.cursor()
    with db.transaction():
        db.sql("INSERT INTO t VALUES (1)")
        assert other.table("t").count() == 0
    assert other.table("t").count() == 1
    with pytest.raises(ZeroDivisionError), db.transaction():
        db.sql("INSERT INTO t VALUES (2)")
        raise ZeroDivisionError
    assert db.table("t").count() == 1


def test_files_are_written_and_scanned(db, tmp_path):
    frame = db.sql("SELECT i, 'n' || i AS s FROM range(100) r(i)")
    for name in ("parquet", "csv", "json"):
        path = str(tmp_path / f"it's.{name}")
        assert getattr(frame, f"write_{name}")(path) == 100
        assert db.scan(path).sort("i").fetchall() == frame.fetchall()
    options = db.scan_csv(str(tmp_path / "it's.csv"), header=False)
    assert options.count() == 101
    assert polars.read_parquet(tmp_path / "it's.parquet").height == 100
    assert pandas.read_csv(tmp_path / "it's.csv").shape == (100, 2)


def test_explain_and_schema_and_show(db, capsys):
    frame = db.sql("SELECT 1 AS a, 'x' AS b")
    assert frame.schema == {"a": "INTEGER", "b": "VARCHAR"}
    assert frame.columns == ["a", "b"]
    assert frame.explain().strip()
    assert "rows" in frame.explain(analyze=True)
    frame.show()
    assert capsys.readouterr().out.splitlines()[0].split() == ["a", "|", "b"]
    assert "<td>x</td>" in frame._repr_html_()


def test_dates_out_of_range_are_an_error(db):
    with pytest.raises(vl.InvalidValue, match="out of range of Python's datetime"):
        db.sql("SELECT DATE '20000-01-01'").fetchall()
    assert db.sql("SELECT CAST(DATE '20000-01-01' AS VARCHAR)").item() == "20000-01-01"
