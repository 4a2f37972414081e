"""A plug-in of pytest that gives Narwhals' own tests frames of this package.

    pytest -p narwhals_constructor --use-external-constructor tests

`run.py narwhals` does so.
"""


def volley_duckdb_lazy_constructor(data):
    """A frame of a dictionary of columns. Its name has `duckdb` in it, by which the tests know what
    SQL engines of this kind do not have."""
    import pyarrow

    import volley as vl

    return vl.frame(pyarrow.table(data))


def pytest_generate_tests(metafunc):
    names = set(metafunc.fixturenames)
    if "constructor_eager" in names:
        # The package has no eager frames.
        metafunc.parametrize("constructor_eager", [])
    for name in ("constructor", "constructor_lazy"):
        if name in names:
            metafunc.parametrize(name, [volley_duckdb_lazy_constructor], ids=["volley"])
