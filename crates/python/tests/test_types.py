"""The types of the package, as type checkers see them: those inside, and those of its users."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif("VOLLEY_SLOW" not in os.environ, reason="VOLLEY_SLOW=1 runs it: a minute")

PACKAGE = pathlib.Path(__file__).parents[1]

USER = """
import volley as vl

db = vl.connect(threads=2)
frame = db.frame({"k": ["a"], "v": [1]}).filter(vl.col("v") > 0)
total: vl.Frame = frame.group_by("k").agg(vl.col("v").sum().alias("total"), n=vl.len())
rows: list[tuple[object, ...]] = total.sort("total", descending=True).fetchall()
count: int = frame.count() + frame.write_csv("/dev/null")
names: list[str] = frame.join(total, on="k", how="left").columns


@vl.func("BIGINT", returns="BIGINT")
def twice(x: int) -> int:
    return x * 2


try:
    frame.select(vl.fn.upper("k"), vl.when(vl.col("v") > 1).then(1).otherwise(0)).fetchall()
except vl.InvalidQuery as error:
    print(error.message, error.hint, error.span)
"""

WRONG = """
import volley as vl

vl.frame({"a": [1]}).filter(vl.col("a") > 0).fetch_everything()
vl.sql(5)
"""


def pyright(folder):
    """What pyright says of a folder; the tests are skipped where it cannot run."""
    if importlib.util.find_spec("pyright") is None or shutil.which("node") is None:
        pytest.skip("no pyright, or no Node.js to run it")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"})
    return done.returncode, done.stdout


def test_pyright_accepts_the_package():
    code, said = pyright(PACKAGE)
    assert code == 0, said


def test_pyright_accepts_what_users_write(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    code, said = pyright(tmp_path)
    assert code == 0, said


def test_pyright_finds_errors_of_users(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    code, said = pyright(tmp_path)
    assert code == 1
    assert "fetch_everything" in said and said.count("error:") == 2, said


@pytest.mark.parametrize(("text", "code"), [(USER, 0), (WRONG, 1)])
def test_mypy_agrees(tmp_path, text, code):
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
