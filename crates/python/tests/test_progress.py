"""Progress on a terminal."""

import os
import pty
import subprocess
import sys

import volley as vl
from volley import _progress

CODE = """
import volley as vl
vl.connect(threads=1).sql("SELECT count(*) FROM range(40000) a(i), range(20000) b(j) WHERE a.i + b.j < 0").fetchall()
"""


def output_of(code, **streams):
    return subprocess.run([sys.executable, "-c", code], check=True, **streams)


def test_a_terminal_shows_progress_of_long_queries():
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", CODE], stderr=theirs)
    os.close(theirs)
    data = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        data += part
    assert process.wait() == 0
    os.close(ours)
    text = data.decode()
    assert " rows, " in text and text.endswith("\r\x1b[K")


def test_files_and_pipes_show_none():
    done = output_of(CODE, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    assert done.stderr == b"" and done.stdout == b""


def test_progress_can_be_turned_on_and_off(db, capfd):
    long = "SELECT count(*) FROM range(40000) a(i), range(20000) b(j) WHERE a.i + b.j < 0"
    vl.show_progress(False)
    db.sql("SELECT 1").fetchall()
    vl.show_progress(True)
    try:
        db.sql(long).fetchall()
    finally:
        vl.show_progress()
    shown = capfd.readouterr().err
    # A fast machine may need less than half a second.
    assert shown == "" or shown.endswith("\r\x1b[K")


def test_lines():
    assert _progress.line(0.0, None, 0, 0.6) == f"[{' ' * 24}]   0 % 0 rows, 1 s"
    assert _progress.line(1.0, 200.0, 5, 9.0) == f"[{'#' * 24}] 100 % 5 rows, 9 s, 3 min left"
    assert "value=\"0.2500\"" in _progress.html(0.25, 3.0, 7, 1.0)


def test_a_display_that_raises_stops_the_query(db):
    from volley import _volley

    def display(done, remaining, rows, elapsed):
        raise LookupError("no place to show it")

    _volley.set_progress_display(display)
    try:
        try:
            db.sql("SELECT count(*) FROM range(1000000) a(i), range(1000000) b(j) "
                   "WHERE a.i + b.j < 0").fetchall()
            raise AssertionError("the query ended")
        except LookupError as error:
            assert "no place" in str(error)
    finally:
        vl.show_progress()
    assert db.sql("SELECT 1").item() == 1
