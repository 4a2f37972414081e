"""Loads Narwhals' backend for DuckDB under another name, over another module than `duckdb`."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any

_ORIGINAL = "narwhals._duckdb"


class _Loader(importlib.abc.Loader):
    """Runs the source of a module of the backend, in which the names of packages are replaced."""

    def __init__(self, path: str, package: str, replacement: str) -> None:
        self._path = path
        self._package = package
        self._replacement = replacement

    def exec_module(self, module: types.ModuleType) -> None:
        import ast

        with open(self._path, encoding="utf-8") as file:
            tree = ast.parse(file.read(), self._path)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                node.module = self._renamed(node.module)
            elif isinstance(node, ast.Import):
                for it in node.names:
                    if it.name == "duckdb":
                        it.name, it.asname = self._replacement, "duckdb"
        exec(compile(tree, self._path, "exec"), module.__dict__)

    def _renamed(self, name: str) -> str:
        if name == "duckdb":
            return self._replacement
        if name == _ORIGINAL or name.startswith(_ORIGINAL + "."):
            return self._package + name.removeprefix(_ORIGINAL)
        return name


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, package: str, replacement: str) -> None:
        self._package = package
        self._replacement = replacement

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(self._package + "."):
            return None
        original = importlib.util.find_spec(_ORIGINAL + fullname.removeprefix(self._package))
        if original is None or original.origin is None:
            return None
        loader = _Loader(original.origin, self._package, self._replacement)
        return importlib.util.spec_from_loader(fullname, loader)


def load(package: str, replacement: types.ModuleType) -> None:
    """Makes a package of the backend, with its classes `Namespace` and `LazyFrame`."""
    made: Any = types.ModuleType(package)
    made.__path__ = []
    sys.modules[package] = made
    sys.meta_path.append(_Finder(package, replacement.__name__))
    dataframe = importlib.import_module(f"{package}.dataframe")
    namespace = importlib.import_module(f"{package}.namespace")
    relation: Any = replacement

    def from_native(cls: Any, data: Any, /, *, context: Any) -> Any:
        return cls(relation.Relation.of(data), version=context._version)

    dataframe.DuckDBLazyFrame.from_native = classmethod(from_native)
    # Narwhals takes what has this method for an eager frame.
    del dataframe.DuckDBLazyFrame.__narwhals_dataframe__

    _use_own_errors(package, dataframe)
    _use_own_durations(package, relation)

    def wrap(self: Any, data: Any, /) -> Any:
        return self._lazyframe.from_native(data, context=self)

    namespace.DuckDBNamespace.from_native = wrap
    made.Namespace = namespace.DuckDBNamespace
    made.LazyFrame = dataframe.DuckDBLazyFrame


def _use_own_errors(package: str, dataframe: Any) -> None:
    """Makes Narwhals' exception of the engine's."""
    from narwhals.exceptions import ColumnNotFoundError

    from ._errors import InvalidQuery

    def translated(exception: Exception, frame: Any, /) -> Exception:
        if not isinstance(exception, InvalidQuery) or "no such column" not in exception.message:
            return exception
        name = exception.message.removeprefix("no such column: ").split(" (view:")[0].strip('"')
        made: Exception = ColumnNotFoundError.from_missing_and_available_column_names(
            [name], frame.columns
        )
        return made

    dataframe.catch_duckdb_exception = translated
    sys.modules[f"{package}.utils"].catch_duckdb_exception = translated  # type: ignore[attr-defined]


def _use_own_durations(package: str, relation: Any) -> None:
    """Makes whole units of intervals, which the function `epoch_us` of the engine does not take."""
    namespace = sys.modules[f"{package}.expr_dt"].DuckDBExprDateTimeNamespace

    def method(micros: int) -> Any:
        def whole(expr: Any) -> Any:
            return relation.duration_micros(expr) // relation.ConstantExpression(micros)

        return lambda self: self.compliant._with_elementwise(whole)

    units = {"minutes": 60_000_000, "seconds": 1_000_000, "milliseconds": 1000, "microseconds": 1}
    for unit, micros in units.items():
        setattr(namespace, f"total_{unit}", method(micros))
