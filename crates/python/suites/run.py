"""Runs the suites of other projects against the package, and prints what passes.

    python crates/python/suites/run.py narwhals     # Narwhals' own tests, next to its DuckDB backend
    python crates/python/suites/run.py sqlalchemy   # SQLAlchemy's suite for dialects

The sources of Narwhals come from PyPI, in the version that is installed.
"""

import importlib.metadata
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).parent


def pytest(folder, *arguments):
    """The counts of a run of pytest, and the names of the tests that failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly",
               "--no-header", "--tb=line", "-rfE", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    last = [line for line in done.stdout.splitlines() if re.search(r"\d+ (passed|failed)", line)]
    counts = {kind: int(number) for number, kind in re.findall(r"(\d+) ([a-z]+)", last[-1])} if last else {}
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)(.*)$", done.stdout, re.M)
    if not last:
        print(done.stdout[-3000:], done.stderr[-3000:])
    return counts, failed


def narwhals():
    version = importlib.metadata.version("narwhals")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "narwhals",
                        f"narwhals=={version}", "-d", folder], check=True)
        (archive,) = pathlib.Path(folder).glob("narwhals-*.tar.gz")
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
        root = pathlib.Path(folder) / f"narwhals-{version}"
        tests = [str(it.relative_to(root)) for it in sorted((root / "tests").rglob("*_test.py"))
                 if "constructor" in it.read_text()]
        ours, failed = pytest(root, "-p", "narwhals_constructor", "--use-external-constructor", *tests)
        theirs, _ = pytest(root, "--constructors=duckdb", *tests)
    for name, why in failed:
        print(name, why)
    print(f"volley: {ours}\nduckdb: {theirs}")
    print(f"{ours.get('passed', 0) / max(1, theirs.get('passed', 0)):.1%} of what DuckDB's backend passes")


def sqlalchemy():
    counts, failed = pytest(HERE / "sqlalchemy_suite", "--rootdir", ".", "-c", "setup.cfg", "--maxfail", "100000",
                            "test_suite.py")
    for name, why in failed:
        print(name, why)
    print(f"volley: {counts}")


if __name__ == "__main__":
    import os

    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    {"narwhals": narwhals, "sqlalchemy": sqlalchemy}[sys.argv[1]]()
