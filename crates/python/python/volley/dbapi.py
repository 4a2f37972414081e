"""DB-API 2.0 (PEP 249).

>>> from volley import dbapi
>>> with dbapi.connect() as connection:
...     cursor = connection.cursor()
...     _ = cursor.execute("SELECT ? + 1 AS n", [41])
...     cursor.fetchone()
(42,)
"""

from __future__ import annotations

import datetime
import time

from . import _connection
from ._errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ._frame import Frame

apilevel = "2.0"
#: Threads may share the module and connections.
threadsafety = 2
paramstyle = "qmark"

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


class Warning(Exception):
    """Something that is no error; this package raises none."""


class _Type:
    """Types in SQL that are of one kind: equal to each of their names."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and other.split("(")[0] in self._names

    def __hash__(self) -> int:
        return hash(self._names)


STRING = _Type("VARCHAR", "UUID", "JSON")
BINARY = _Type("VARBINARY")
NUMBER = _Type(
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "REAL", "DOUBLE", "DECIMAL"
)
DATETIME = _Type("DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "INTERVAL")
ROWID = _Type()


def DateFromTicks(ticks: float) -> datetime.date:
    """The local date of seconds since 1970."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:
    """The local time of seconds since 1970."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """The local time and date of seconds since 1970."""
    return Timestamp(*time.localtime(ticks)[:6])


def connect(connection: _connection.Connection | None = None, **settings: Any) -> Connection:
    """A connection with settings, or one on the tables of a connection of this package."""
    inner = _connection.connect(**settings) if connection is None else connection.cursor()
    return Connection(inner)


class Connection:
    """A session. A transaction begins with the first statement after `commit` or `rollback`."""

    Warning = Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    DataError = DataError
    OperationalError = OperationalError
    IntegrityError = IntegrityError
    InternalError = InternalError
    ProgrammingError = ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(self, inner: _connection.Connection) -> None:
        self._inner: _connection.Connection | None = inner
        self._in_transaction = False

    def _open(self) -> _connection.Connection:
        if self._inner is None:
            raise ProgrammingError("the connection is closed")
        return self._inner

    def cursor(self) -> Cursor:
        """A cursor, which shares the transaction of the connection."""
        self._open()
        return Cursor(self)

    def commit(self) -> None:
        """Makes the changes of the transaction visible to others."""
        self._end("COMMIT")

    def rollback(self) -> None:
        """Takes back the changes of the transaction."""
        self._end("ROLLBACK")

    def _end(self, statement: str) -> None:
        inner = self._open()
        if self._in_transaction:
            self._in_transaction = False
            inner.sql(statement)

    def close(self) -> None:
        """Rolls back, and ends the connection. A connection is closed once."""
        self._open()
        self.rollback()
        self._inner = None

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if self._inner is None:
            return
        if kind is None:
            self.commit()
        self.close()


class Cursor:
    """Runs statements, and fetches the rows of the last one."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._frame: Frame | None = None
        self._is_closed = False
        self._has_rows = False
        self.rowcount = -1

    def _open(self) -> _connection.Connection:
        if self._is_closed:
            raise ProgrammingError("the cursor is closed")
        return self.connection._open()

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """Name and type of each column, and five more values that are not known."""
        if self._frame is None or not self._has_rows:
            return None
        # Columns may have the same name.
        table = self._frame._table
        columns = self._frame.schema.items() if table is None else table.schema()
        return [(name, of, None, None, None, None, None) for name, of in columns]

    def execute(self, operation: str, parameters: Any = ()) -> Cursor:
        """Runs a statement, with values by position or by name."""
        inner = self._open()
        self._frame, self._has_rows, self.rowcount = None, False, -1
        if not self.connection._in_transaction:
            inner.sql("BEGIN")
            self.connection._in_transaction = True
        statements = inner._inner.parse(operation)
        if not statements:
            raise ProgrammingError("no statement")
        named = parameters if isinstance(parameters, dict) else {}
        positional = [] if isinstance(parameters, dict) else list(parameters)
        frame = inner.sql(operation, *positional, **named)
        if statements[-1].is_query():
            # The rows are those that the transaction sees now.
            frame = frame.collect()
            self._has_rows = True
        elif frame.columns == ["rows"] and frame._known_schema is not None:
            written = frame.fetchall()
            self.rowcount = written[0][0] if written else -1
            return self
        else:
            self._has_rows = True
        self._frame = frame
        self.rowcount = self._count(frame)
        return self

    @staticmethod
    def _count(frame: Frame) -> int:
        tables = [it for it in frame._tables.values() if not isinstance(it, str)]
        rows = tables[0].rows() if len(tables) == 1 else None
        return -1 if rows is None else rows

    def executemany(self, operation: str, seq_of_parameters: Sequence[Any]) -> Cursor:
        """Runs a statement for each of several lists of values."""
        total = 0
        for parameters in seq_of_parameters:
            self.execute(operation, parameters)
            total = total + self.rowcount if total >= 0 and self.rowcount >= 0 else -1
        self.rowcount = total
        return self

    def _fetched(self) -> Frame:
        self._open()
        if self._frame is None or not self._has_rows:
            raise ProgrammingError("the last statement has no rows")
        return self._frame

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; `None` at the end."""
        return self._fetched().fetchone()

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows."""
        return self._fetched().fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        rows = []
        frame = self._fetched()
        while part := frame.fetchmany(1 << 16):
            rows += part
        return rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Does nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing, as PEP 249 allows."""

    def close(self) -> None:
        """Ends the cursor."""
        self._is_closed = True
        self._frame = None

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


