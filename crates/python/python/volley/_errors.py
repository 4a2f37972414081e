"""Exceptions: one class for each kind of error of the engine, below the classes of DB-API 2.0."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Error(Exception):
    """An error of the engine.

    Attributes:
        code: The number of the kind, which never changes.
        message: What is wrong.
        hint: What to do about it, if that is known.
        span: The bytes of `sql` that the error is about: start and end.
        sql: The text of SQL, also that of a frame.
        origin: File and line of the Python call that made the part of a frame.
    """

    _kind: int = 9

    def __init__(self, message: str = "", *args: Any) -> None:
        super().__init__(message, *args)
        self.message = message
        self.code: int = self._kind
        self.hint: str | None = None
        self.span: tuple[int, int] | None = None
        self.sql: str | None = None
        self.origin: tuple[str, int] | None = None

    def __str__(self) -> str:
        lines = [self.message]
        if self.origin is not None:
            lines.append(_python_line(*self.origin))
        if self.sql is not None and self.span is not None:
            lines.append(_caret(self.sql, self.span))
        if self.hint is not None:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class DatabaseError(Error):
    """What is wrong with a statement or its data."""


class InterfaceError(Error):
    """What is wrong with a call of this package."""


class ProgrammingError(DatabaseError):
    """A statement that is wrong."""


class DataError(DatabaseError):
    """A value that is wrong."""


class OperationalError(DatabaseError):
    """What the machine or the caller ended."""


class NotSupportedError(DatabaseError):
    """What this engine does not have."""


class IntegrityError(DatabaseError):
    """A constraint that a change would break."""


class InvalidSyntax(ProgrammingError):
    """The text is not SQL that the parser understands."""

    _kind = 1


class InvalidQuery(ProgrammingError):
    """The query names something that does not exist, or its types do not fit."""

    _kind = 2


class Unsupported(NotSupportedError):
    """The query uses a construct that is not supported."""

    _kind = 3


class InvalidValue(DataError):
    """A value left the range of its type, or cannot be converted."""

    _kind = 4


class ConstraintViolation(IntegrityError, InvalidValue):
    """A change would break a constraint of a table: a key, NOT NULL, CHECK."""


class OutOfMemory(OperationalError, MemoryError):
    """The memory limit is exhausted."""

    _kind = 5


class FileError(OperationalError, OSError):
    """A file or folder is missing, unreadable or not writable."""

    _kind = 6


class Corruption(OperationalError):
    """Bytes that are not what their format says."""

    _kind = 7


class Cancelled(OperationalError):
    """The query was cancelled."""

    _kind = 8


class InternalError(DatabaseError):
    """A bug of the engine."""

    _kind = 9


class TimedOut(OperationalError, TimeoutError):
    """The statement took longer than it may."""

    _kind = 10


_CLASSES: dict[str, type[Error]] = {
    "SyntaxError": InvalidSyntax,
    "InvalidQuery": InvalidQuery,
    "Unsupported": Unsupported,
    "InvalidValue": InvalidValue,
    "OutOfMemory": OutOfMemory,
    "IOError": FileError,
    "Corruption": Corruption,
    "Cancelled": Cancelled,
    "TimedOut": TimedOut,
    "InternalError": InternalError,
}


#: How messages of constraints begin.
_CONSTRAINTS = (
    "duplicate key of ", "null in a column that is NOT NULL", "CHECK constraint is not satisfied",
    "foreign key of table ",
)


def _make(
    kind: str,
    code: int,
    message: str,
    hint: str | None,
    span: tuple[int, int] | None,
    sql: str | None,
) -> Error:
    """The exception of an error; called by the engine."""
    made = _CLASSES[kind]
    if made is InvalidValue and message.startswith(_CONSTRAINTS):
        made = ConstraintViolation
    error = made(message)
    error.code = code
    error.hint = hint
    error.span = span
    error.sql = sql
    return error


def _python_line(file: str, line: int) -> str:
    import linecache

    source = linecache.getline(file, line).strip()
    place = f'  File "{file}", line {line}'
    return f"{place}\n    {source}" if source else place


def _caret(sql: str, span: tuple[int, int]) -> str:
    data = sql.encode()
    before = data[: span[0]].decode(errors="replace")
    inside = data[span[0] : span[1]].decode(errors="replace").split("\n")[0]
    number = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1)
    text = sql.split("\n")[number - 1]
    margin = " " * len(str(number))
    return (
        f"{margin}--> line {number}, column {column + 1}\n{margin} |\n{number} | {text}\n"
        f"{margin} | {' ' * column}{'^' * max(1, len(inside))}"
    )
