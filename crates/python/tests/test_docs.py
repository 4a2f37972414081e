"""The examples in docstrings and in the guide."""

import doctest
import importlib
import pathlib

import pytest

MODULES = ["volley", "volley._func", "volley.dbapi", "volley._connection", "volley._expr", "volley._frame", "volley.fn",
           "volley.selectors"]
GUIDE = pathlib.Path(__file__).parents[3] / "docs" / "python"


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("path", sorted(GUIDE.glob("*.md")), ids=lambda it: it.name)
def test_examples_in_the_guide(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
