"""Exceptions, interrupts, forks."""

import os
import signal
import subprocess
import sys
import threading

import pytest

import volley as vl

LONG = "SELECT count(*) FROM range(3000000) a(i), range(3000000) b(j) WHERE (i * j) % 7 = 3"


def test_errors_are_classes_with_code_place_and_hint(db):
    db.sql("CREATE TABLE items AS SELECT 1 AS price")
    with pytest.raises(vl.InvalidQuery) as caught:
        db.sql("SELECT prise FROM items").fetchall()
    error = caught.value
    assert error.code == 2
    assert error.span == (7, 12)
    assert error.hint == "did you mean price?"
    assert "SELECT prise FROM items" in str(error)
    assert "  |        ^^^^^" in str(error)
    assert isinstance(error, vl.ProgrammingError)


@pytest.mark.parametrize(("sql", "kind"), [
    ("SELEC 1", vl.InvalidSyntax),
    ("SELECT CAST('x' AS INTEGER)", vl.InvalidValue),
    ("SELECT * FROM 'no such file.parquet'", vl.FileError),
    ("LISTEN a", vl.Unsupported),
])
def test_each_kind_has_its_class(db, sql, kind):
    with pytest.raises(kind):
        db.sql(sql).fetchall()


def test_too_little_memory_and_too_little_time_are_errors():
    db = vl.connect(memory_limit="1MB")
    with pytest.raises(vl.OutOfMemory):
        db.sql("SELECT list(i) FROM range(10000000) r(i)").fetchall()
    assert db.sql("SELECT 1").fetchall() == [(1,)]
    db = vl.connect(statement_timeout="50ms")
    with pytest.raises(vl.TimedOut):
        db.sql(LONG).fetchall()


def test_the_line_of_python_is_named(db):
    frame = db.frame({"a": [1]})
    wrong = frame.filter(vl.col("b") > 1)  # This line is named.
    with pytest.raises(vl.InvalidQuery) as caught:
        wrong.select("a").fetchall()
    assert "# This line is named." in str(caught.value)
    assert "WHERE b > 1" in str(caught.value)
    assert caught.value.origin[0] == __file__


def test_text_with_characters_of_several_bytes_has_the_caret_in_its_place(db):
    with pytest.raises(vl.InvalidQuery) as caught:
        db.sql("SELECT '\u4e16\u754c', nope").fetchall()
    line, caret = str(caught.value).split("\n")[-2:]
    assert line.index("nope") == caret.index("^")


def test_another_thread_interrupts(db):
    # Statements that begin after an interrupt run, so it is repeated until this one ends.
    ended = threading.Event()

    def interrupt():
        while not ended.wait(0.05):
            db.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(vl.Cancelled):
        db.sql(LONG).fetchall()
    ended.set()
    thread.join()
    assert db.sql("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize("call", ["fetchall", "to_arrow", "collect", "to_numpy"])
def test_a_signal_interrupts_and_the_connection_goes_on(db, call):
    for _ in range(3):
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            getattr(db.sql(LONG), call)()
        timer.join()
        assert db.sql("SELECT 41 + 1").fetchall() == [(42,)]


def test_a_forked_process_gets_an_error_and_can_connect(db):
    assert db.sql("SELECT 1").fetchall() == [(1,)]
    code = """
import os, volley as vl
db = vl.connect()
assert db.sql("SELECT 1").fetchall() == [(1,)]
frame = db.sql("SELECT 2")
child = os.fork()
if child == 0:
    status = 1
    try:
        frame.fetchall()
    except vl.Unsupported as error:
        assert "forked process" in str(error) and "volley.connect" in error.hint
        assert vl.connect().sql("SELECT sum(i) FROM range(1000) r(i)").item() == 499500
        assert vl.sql("SELECT 3").item() == 3
        status = 0
    finally:
        os._exit(status)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert frame.fetchall() == [(2,)]
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_many_threads_share_a_connection(db):
    results = []

    def work(number):
        results.append(db.sql("SELECT sum(i) + ? FROM range(10000) r(i)", number).item())

    threads = [threading.Thread(target=work, args=(it,)) for it in range(16)]
    [it.start() for it in threads]
    [it.join() for it in threads]
    assert sorted(results) == [49995000 + it for it in range(16)]


def test_importing_imports_no_other_package():
    code = (
        "import sys, volley; "
        "print([it for it in ('pyarrow', 'pandas', 'numpy', 'polars', 'typing') if it in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
                         check=True, capture_output=True, text=True, timeout=60)
    assert out.stdout.strip() == "[]"
