"""Functions in worker processes."""

import os
import signal
import threading

import pytest

import volley as vl

FACTOR = 3


def test_rows_are_computed_in_other_processes(db):
    where = vl.func("BIGINT", returns="BIGINT", way="process", workers=2)(lambda x: os.getpid())
    frame = db.call("range", 20_000).select(p=where(vl.col("range")))
    pids = {it for (it,) in frame.fetchall()}
    assert os.getpid() not in pids
    assert 1 <= len(pids) <= 2
    assert "(process " in frame.explain()


def test_functions_take_their_surroundings_along(db):
    offset = 7

    def twice(x):
        return 2 * x

    def compute(x, by=FACTOR):
        return twice(x) * by + offset + len(os.sep)

    function = vl.func("BIGINT", returns="BIGINT", way="process", workers=1)(compute)
    rows = db.frame({"n": [1, None, 3]}).select(function(vl.col("n"))).fetchall()
    assert rows == [(14,), (None,), (26,)]


def test_functions_that_call_themselves(db):
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    function = vl.func("BIGINT", returns="BIGINT", way="process", workers=1)(factorial)
    assert db.frame({"n": [5, 10]}).select(function(vl.col("n"))).fetchall() == [(120,), (3628800,)]


def test_texts_and_nulls(db):
    function = vl.func(returns=str, way="process", nulls=True, workers=1)(
        lambda a, b: "none" if a is None else a.upper() + "\u00e9" * b)
    frame = db.frame({"a": ["x", None, "\u00fc"], "b": [1, 2, 0]})
    assert frame.select(function(vl.col("a"), vl.col("b"))).fetchall() == [
        ("X\u00e9",), ("none",), ("\u00dc",)]


def test_what_a_function_prints_does_not_matter(db, capfd):
    function = vl.func("BIGINT", returns="BIGINT", way="process", workers=1)(
        lambda x: (print("printed", x), x)[1])
    assert db.frame({"n": [1, 2]}).select(function(vl.col("n"))).fetchall() == [(1,), (2,)]


def test_an_exception_is_an_error_of_the_query_and_the_process_goes_on(db):
    def fails(x):
        if x == 3:
            raise LookupError("no entry for 3")
        return os.getpid()

    function = vl.func("BIGINT", returns="BIGINT", way="process", workers=1)(fails)
    (before,) = {it for (it,) in db.frame({"n": [1]}).select(function(vl.col("n"))).fetchall()}
    with pytest.raises(vl.InvalidValue, match="LookupError in Python: no entry for 3"):
        db.frame({"n": [3]}).select(function(vl.col("n"))).fetchall()
    (after,) = {it for (it,) in db.frame({"n": [1]}).select(function(vl.col("n"))).fetchall()}
    assert before == after


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_a_process_that_dies_is_an_error_of_that_query(db, end):
    def dies(x):
        if x == 13 and end == "exit":
            os._exit(5)
        if x == 13:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    function = vl.func("BIGINT", returns="BIGINT", way="process", workers=2)(dies)
    wanted = "with exit code 5" if end == "exit" else "by signal 9"
    with pytest.raises(vl.InvalidValue, match=f"the worker process of the function ended {wanted}"):
        db.call("range", 5000).select(function(vl.col("range"))).fetchall()
    rows = db.frame({"n": [1, 2]}).select(function(vl.col("n"))).fetchall()
    assert rows == [(1,), (2,)]


def test_an_interrupt_stops_a_function_that_hangs(db):
    def hangs(x):
        while True:
            pass

    function = vl.func("BIGINT", returns="BIGINT", way="process", workers=1)(hangs)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        db.frame({"n": [1]}).select(function(vl.col("n"))).fetchall()
    timer.join()
    assert db.sql("SELECT 1").item() == 1


def test_what_cannot_be_sent_is_an_error(db):
    lock = threading.Lock()
    function = vl.func("BIGINT", returns="BIGINT", way="process", workers=1)(
        lambda x: x if lock else 0)
    with pytest.raises(vl.Error, match="pickle"):
        db.frame({"n": [1]}).select(function(vl.col("n"))).fetchall()
