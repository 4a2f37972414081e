"""Functions of Python in expressions and in SQL."""

import math
import os
import signal
import threading

import pyarrow
import pyarrow.compute
import pytest

import volley as vl

ROWS = [None if it % 7 == 0 else it for it in range(10_000)]


def numbers(db):
    return db.frame({"n": ROWS})


def test_arithmetic_is_traced_to_an_expression(db):
    @vl.func
    def twice(x):
        return x * 2 + 1

    frame = numbers(db).select(twice(vl.col("n")))
    assert frame.show_sql().startswith("SELECT (n * 2) + 1 AS n")
    assert twice.way(vl.col("n")) == "traced"
    assert frame.fetchall() == [(None if it is None else it * 2 + 1,) for it in ROWS]
    assert twice(20) == 41


@pytest.mark.parametrize("way", ["batch", "row", "traced"])
def test_all_ways_have_the_same_results(db, way):
    def twice(x):
        if way == "batch":
            return pyarrow.compute.add(pyarrow.compute.multiply(x, 2), 1)
        return x * 2 + 1

    function = vl.func("BIGINT", returns="BIGINT", way=way)(twice)
    frame = numbers(db).select(function(vl.col("n")), "n")
    assert sorted(frame.fetchall(), key=str) == sorted(
        ((None if it is None else it * 2 + 1, it) for it in ROWS), key=str)
    assert function.way(vl.col("n")) == way
    plan = frame.explain()
    assert (f"({way} " in plan) == (way != "traced")


def test_what_looks_at_values_runs_row_by_row(db):
    @vl.func(returns=str)
    def parity(x):
        return "even" if x % 2 == 0 else "odd"

    assert parity.way(vl.col("n")) == "row"
    rows = numbers(db).select("n", p=parity(vl.col("n"))).fetchall()
    assert rows == [(it, None if it is None else "even" if it % 2 == 0 else "odd") for it in ROWS]
    named = vl.func(returns=float)(math.sqrt)
    assert db.frame({"x": [4, 9]}).select(named(vl.col("x"))).fetchall() == [(2.0,), (3.0,)]


def test_nulls_reach_a_function_that_wants_them(db):
    function = vl.func(returns=int, way="row", nulls=True)(lambda x, y: -1 if x is None else x + y)
    frame = db.frame({"a": [1, None], "b": [10, 20]})
    assert frame.select(function(vl.col("a"), vl.col("b"))).fetchall() == [(11,), (-1,)]


def test_rows_that_are_not_evaluated_do_not_reach_it(db):
    seen = []

    @vl.func(returns=int, way="row")
    def half(x):
        seen.append(x)
        assert x % 2 == 0
        return x // 2

    n = vl.col("n")
    case = vl.when(n % 2 == 0).then(half(n)).otherwise(0)
    rows = numbers(db).select("n", h=case).fetchall()
    assert rows == [(it, it // 2 if it is not None and it % 2 == 0 else 0) for it in ROWS]
    assert seen and all(it % 2 == 0 for it in seen)


def test_a_function_that_raises_is_an_error_of_the_query(db):
    @vl.func(returns=int, way="row")
    def fails(x):
        raise LookupError(f"no entry for {x}")

    with pytest.raises(vl.InvalidValue, match="LookupError in Python: no entry for 1"):
        db.frame({"n": [1]}).select(fails(vl.col("n"))).fetchall()
    wrong = vl.func(returns=int, way="row")(lambda x: "text")
    with pytest.raises(vl.InvalidValue, match="no value of type BIGINT"):
        db.frame({"n": [1]}).select(wrong(vl.col("n"))).fetchall()
    short = vl.func(returns=int, way="batch")(lambda x: x[:1])
    with pytest.raises(vl.InvalidValue, match="returned 1 rows for 2 rows"):
        db.frame({"n": [1, 2]}).select(short(vl.col("n"))).fetchall()
    with pytest.raises(vl.InvalidQuery, match="needs the type of its result"):
        vl.func(lambda x: math.sqrt(x))(vl.col("n"))
    with pytest.raises(vl.InvalidQuery, match="cannot be traced"):
        vl.func(way="traced")(lambda x: math.sqrt(x))(vl.col("n"))
    assert db.sql("SELECT 1").item() == 1


def test_functions_are_called_in_sql(db):
    db.create_function(lambda x: x * 2 + 1, "odd")
    assert db.sql("SELECT odd(n) FROM (VALUES (1), (2)) t(n)").fetchall() == [(3,), (5,)]

    @vl.func(returns=str)
    def spelled(n):
        return {1: "one"}.get(n, "many")

    db.create_function(spelled)
    assert db.sql("SELECT spelled(n) FROM (VALUES (1), (2)) t(n)").fetchall() == [("one",), ("many",)]
    assert db.sql("SELECT count(*) FROM range(1000) r(i) WHERE spelled(i) = 'one'").item() == 1
    with pytest.raises(vl.InvalidQuery, match="no function of Python in this process"):
        db.sql("SELECT python_function('none', 1)").fetchall()


def test_an_interrupt_stops_functions(db):
    slow = vl.func(returns=int, way="row")(lambda x: sum(range(2000)) + x)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        db.call("range", 3_000_000).select(slow(vl.col("range"))).fetchall()
    timer.join()
    assert db.sql("SELECT 1").item() == 1
