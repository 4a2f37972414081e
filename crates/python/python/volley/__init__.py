"""Volley: SQL and data frames on a vectorized engine, Arrow in and out without copies.

>>> import volley as vl
>>> vl.sql("SELECT 6 * 7 AS answer").fetchall()
[(42,)]
>>> people = {"name": ["Ada", "Bo"], "age": [36, 7]}
>>> vl.frame(people).filter(vl.col("age") > 10).select("name").fetchall()
[('Ada',)]
"""

from __future__ import annotations

from . import _progress, _volley, fn, selectors
from ._aggregate import Aggregate, TableFunction, aggregate, table_function
from ._connection import Connection, Transaction, connect
from ._errors import (
    Cancelled,
    ConstraintViolation,
    Corruption,
    DatabaseError,
    DataError,
    Error,
    FileError,
    IntegrityError,
    InterfaceError,
    InternalError,
    InvalidQuery,
    InvalidSyntax,
    InvalidValue,
    NotSupportedError,
    OperationalError,
    OutOfMemory,
    ProgrammingError,
    TimedOut,
    Unsupported,
)
from ._expr import (
    Expr,
    all,
    coalesce,
    col,
    concat_list,
    concat_str,
    exclude,
    len,
    lit,
    row_number,
    sql_expr,
    struct,
    when,
)
from ._frame import Frame, GroupBy
from ._func import Function, func
from ._progress import show_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._connection import Path

__version__: str = _volley.__version__

_default: tuple[int, Connection] | None = None


def default_connection() -> Connection:
    """The session of `volley.sql` and its like; a forked process has its own."""
    global _default
    import os

    process = os.getpid()
    if _default is None or _default[0] != process:
        _default = (process, connect())
    return _default[1]


def sql(query: str, /, *positional: Any, **named: Any) -> Frame:
    """As `Connection.sql`, of the default connection."""
    return default_connection().sql(query, *positional, **named)


def execute(query: str, parameters: Any = None) -> Frame:
    """As `Connection.execute`, of the default connection."""
    return default_connection().execute(query, parameters)


def frame(data: Any, schema: Any = None) -> Frame:
    """As `Connection.frame`, of the default connection."""
    return default_connection().frame(data, schema)


def table(name: str) -> Frame:
    """As `Connection.table`, of the default connection."""
    return default_connection().table(name)


def scan(path: Path | Sequence[Path], format: str | None = None, **options: Any) -> Frame:
    """As `Connection.scan`, of the default connection."""
    return default_connection().scan(path, format, **options)


def scan_parquet(path: Path | Sequence[Path], **options: Any) -> Frame:
    """As `Connection.scan_parquet`, of the default connection."""
    return default_connection().scan_parquet(path, **options)


def scan_csv(path: Path | Sequence[Path], **options: Any) -> Frame:
    """As `Connection.scan_csv`, of the default connection."""
    return default_connection().scan_csv(path, **options)


def scan_json(path: Path | Sequence[Path], **options: Any) -> Frame:
    """As `Connection.scan_json`, of the default connection."""
    return default_connection().scan_json(path, **options)


def call(function: str, /, *arguments: Any, **named: Any) -> Frame:
    """As `Connection.call`, of the default connection."""
    return default_connection().call(function, *arguments, **named)


def register(name: str, data: Any) -> None:
    """As `Connection.register`, of the default connection."""
    default_connection().register(name, data)


def __getattr__(name: str) -> Any:
    # Modules that are imported when they are used.
    if name in ("ml", "dbapi"):
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'volley' has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """Adds the magics `%volley` and `%%volley`; called by `%load_ext volley`."""
    from ._jupyter import load

    load(shell)


__all__ = [
    "Aggregate", "Cancelled", "Connection", "ConstraintViolation", "Corruption", "DataError",
    "DatabaseError", "Error", "Expr",
    "FileError", "Frame", "Function", "GroupBy", "IntegrityError", "InterfaceError", "InternalError",
    "InvalidQuery", "InvalidSyntax", "InvalidValue", "NotSupportedError", "OperationalError",
    "OutOfMemory", "ProgrammingError", "TimedOut", "TableFunction", "Transaction",
    "Unsupported", "aggregate", "all", "call",
    "coalesce", "col", "concat_list", "concat_str", "connect", "default_connection", "exclude",
    "execute", "fn", "frame", "func", "len", "lit", "register", "row_number", "scan", "scan_csv",
    "scan_json", "scan_parquet", "selectors", "show_progress", "sql", "sql_expr", "struct", "table",
    "table_function", "when",
]
