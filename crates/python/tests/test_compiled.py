"""Functions that Numba compiles."""

import math

import numpy
import pyarrow
import pytest

import volley as vl

numba = pytest.importorskip("numba")

ROWS = [None if it % 7 == 0 else it - 5000 for it in range(10_000)]


@vl.func("BIGINT", returns="BIGINT")
def collatz(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def test_what_looks_at_values_is_compiled(db):
    assert collatz.way(vl.col("n")) == "compiled"
    frame = db.frame({"n": ROWS}).select("n", c=collatz(vl.col("n")))
    assert "collatz (compiled " in frame.explain()
    expected = [(it, None if it is None else collatz.__wrapped__(it)) for it in ROWS]
    assert sorted(frame.fetchall(), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("rows", [0, 1, 3, 1024, 5000])
@pytest.mark.parametrize("nulls", [False, True])
def test_compiled_and_row_by_row_agree(db, rows, nulls):
    def shape(x, y, flag):
        if flag and x > 0.5:
            return x * 2.0 + y
        return y - x

    types = ("DOUBLE", "INTEGER", "BOOLEAN")
    compiled = vl.func(*types, returns="DOUBLE", way="compiled")(shape)
    plain = vl.func(*types, returns="DOUBLE", way="row")(shape)
    generator = numpy.random.default_rng(rows)
    mask = generator.random(rows) < 0.3 if nulls else None
    table = pyarrow.table({
        "x": pyarrow.array(generator.random(rows), mask=mask),
        "y": pyarrow.array(generator.integers(-9, 9, rows).astype("int32")),
        "f": pyarrow.array(generator.random(rows) < 0.5),
    })
    # Slices, so that the bits do not begin at a byte.
    for data in (table, table.slice(min(rows, 3))):
        x, y, f = vl.col("x"), vl.col("y"), vl.col("f")
        frame = db.frame(data).select(a=compiled(x, y, f), b=plain(x, y, f))
        assert all(a == b for a, b in frame.fetchall())


@pytest.mark.parametrize("of", ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "REAL", "DOUBLE"])
def test_every_type_of_number(db, of):
    same = vl.func(of, returns=of, way="compiled")(lambda x: x if x > 3 else x - 1)
    frame = db.sql(f"SELECT CAST(i AS {of}) AS a FROM range(10) r(i)").select(same(vl.col("a")))
    assert frame.schema == {"a": of}
    assert sorted(it for (it,) in frame.fetchall()) == [-1, 0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_booleans_are_arguments_and_results(db):
    function = vl.func("BOOLEAN", "BOOLEAN", returns="BOOLEAN", way="compiled")(
        lambda a, b: (a and not b) or (b and not a))
    frame = db.frame({"a": [True, True, False, None], "b": [True, False, True, True]})
    assert frame.select(function(vl.col("a"), vl.col("b"))).fetchall() == [
        (False,), (True,), (True,), (None,)]


def test_nested_calls_become_one_loop(db):
    @vl.func("BIGINT", returns="BIGINT", way="compiled")
    def half(x):
        return x // 2

    @vl.func("BIGINT", "BIGINT", returns="BIGINT", way="compiled")
    def plus(x, y):
        return x + y

    n = vl.col("n")
    frame = db.frame({"n": ROWS}).select("n", v=plus(half(n), half(half(n).alias("h"))))
    plan = frame.explain()
    assert "plus(half, half(half)) (compiled " in plan
    assert plan.count("python_function") == 1
    expected = [(it, None if it is None else it // 2 + it // 2 // 2) for it in ROWS]
    assert sorted(frame.fetchall(), key=str) == sorted(expected, key=str)


def test_an_exception_is_that_of_python(db):
    inverse = vl.func("BIGINT", returns="DOUBLE", way="compiled")(lambda x: 1 / x)
    assert db.frame({"n": [1, 2, None]}).select(inverse(vl.col("n"))).fetchall() == [
        (1.0,), (0.5,), (None,)]
    with pytest.raises(vl.InvalidValue, match="ZeroDivisionError in Python: division by zero"):
        db.frame({"n": [1, 0, 2]}).select(inverse(vl.col("n"))).fetchall()

    @vl.func("BIGINT", returns="BIGINT", way="compiled")
    def picky(x):
        if x == 777:
            raise ValueError("777 is refused")
        return x

    with pytest.raises(vl.InvalidValue, match="ValueError in Python: 777 is refused") as raised:
        db.call("range", 5000).select(picky(vl.col("range"))).fetchall()
    assert "picky" in raised.value.hint and __file__ in raised.value.hint
    assert db.call("range", 700).select(picky(vl.col("range"))).count() == 700


def test_a_result_beyond_its_type_is_an_error(db):
    small = vl.func("BIGINT", returns="TINYINT", way="compiled")(lambda x: x + 100)
    assert db.frame({"n": [1, 27]}).select(small(vl.col("n"))).fetchall() == [(101,), (127,)]
    with pytest.raises(vl.InvalidValue):
        db.frame({"n": [1, 28]}).select(small(vl.col("n"))).fetchall()


def test_rows_that_are_not_evaluated_do_not_reach_it(db):
    inverse = vl.func("BIGINT", returns="DOUBLE", way="compiled")(lambda x: 10 / x)
    n = vl.col("n")
    frame = db.frame({"n": [0, 5, 0, 2]})
    case = vl.when(n != 0).then(inverse(n)).otherwise(-1.0)
    assert frame.select(case.alias("c")).fetchall() == [(-1.0,), (2.0,), (-1.0,), (5.0,)]


def test_what_has_no_compiled_form_runs_row_by_row(db):
    def text(x):
        return int(str(x)[::-1]) if x > 0 else 0

    function = vl.func("BIGINT", returns="BIGINT")(lambda x: text(x))
    assert function.way(vl.col("n")) == "row"
    assert db.frame({"n": [12, -3]}).select(function(vl.col("n"))).fetchall() == [(21,), (0,)]
    with pytest.raises(vl.InvalidQuery, match="cannot be compiled"):
        vl.func("BIGINT", returns="BIGINT", way="compiled")(lambda x: text(x))(vl.col("n"))
    with pytest.raises(vl.InvalidQuery, match="needs the types"):
        vl.func(returns="BIGINT", way="compiled")(lambda x: x)(vl.col("n"))
    with pytest.raises(vl.InvalidQuery, match="which are numbers"):
        vl.func("VARCHAR", returns="BIGINT", way="compiled")(lambda x: 1)(vl.col("n"))
    with pytest.raises(vl.InvalidQuery, match="cannot be compiled: it returns float64"):
        vl.func("BIGINT", returns="BIGINT", way="compiled")(lambda x: x * 0.5)(vl.col("n"))


def test_compiled_functions_are_called_in_sql(db):
    db.create_function(collatz)
    assert db.sql("SELECT collatz(i) FROM range(1, 6) r(i)").fetchall() == [
        (0,), (1,), (7,), (2,), (5,)]


def test_the_square_root_is_numpys(db):
    root = vl.func("DOUBLE", returns="DOUBLE", way="compiled")(lambda x: math.sqrt(x))
    assert db.frame({"x": [4.0, 2.25]}).select(root(vl.col("x"))).fetchall() == [(2.0,), (1.5,)]
