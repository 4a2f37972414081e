"""Aggregates and table functions of Python."""

from __future__ import annotations

import io
import pickle
from itertools import chain, count

from . import _volley
from ._errors import InvalidQuery
from ._expr import Expr, _column, _root, _sql_type, lit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, overload

    from ._connection import Connection
    from ._frame import Frame

_KEYS = count(1)

#: Aggregates whose states merge, by key, and the keys by class. Pickled states name their class by
#: its key, so that the class may be local to a function.
_MERGING: dict[str, Aggregate] = {}
_KEYS_BY_CLASS: dict[type, str] = {}


class Aggregate:
    """An aggregate that a class of Python computes; made by `volley.aggregate`."""

    def __init__(
        self, made_by: type, types: tuple[Any, ...], returns: Any, nulls: bool, name: str | None
    ) -> None:
        for method in ("update", "finish"):
            if not callable(getattr(made_by, method, None)):
                raise InvalidQuery(f"the aggregate {made_by.__name__} has no method {method}")
        self._class = made_by
        self._types = [_sql_type(it) for it in types]
        self._returns = _sql_type(returns)
        self._nulls = nulls
        self._key: str | None = None
        self.name = name or made_by.__name__
        self.__doc__ = made_by.__doc__
        self.__wrapped__ = made_by

    def __repr__(self) -> str:
        return f"<volley aggregate {self.name}>"

    def __call__(self, *arguments: Any) -> Expr:
        """The aggregate of expressions; a text is the name of a column."""
        columns = [_column(it) for it in arguments]
        if not columns:
            raise InvalidQuery(f"the aggregate {self.name} needs an argument")
        if self._types:
            if len(self._types) != len(columns):
                message = f"{self.name} takes {len(self._types)} arguments, not {len(columns)}"
                raise InvalidQuery(message)
            pairs = zip(columns, self._types, strict=True)
            columns = [it._with(it._tree.cast(of, False)) for it, of in pairs]
        name = next((n for it in columns if (n := it._name or _root(it))), self.name)
        return Expr(self._tree([it._tree for it in columns]), name)

    def _tree(self, columns: list[_volley.Expr]) -> _volley.Expr:
        if callable(getattr(self._class, "merge", None)):
            return self._merging_tree(columns)
        fields = [(f"_{at}", it) for at, it in enumerate(columns)]
        rows = _volley.Expr.call("list", [_volley.Expr.row(fields)])
        return _volley.Expr.call("python_function", [lit(self._registered())._tree, rows])

    def _merging_tree(self, columns: list[_volley.Expr]) -> _volley.Expr:
        """The call without lists of rows: pickled states, and what finishes them."""
        key = lit(self._registered())._tree
        state = _volley.Expr.call("python_aggregate", [key, *columns])
        return _volley.Expr.call("python_function", [key, state])

    def _registered(self) -> str:
        if self._key is None:
            from . import default_connection

            key = f"{self.name} (aggregate {next(_KEYS)})"
            merges = callable(getattr(self._class, "merge", None))
            run = self._finish if merges else self._run
            _volley.register_function(default_connection()._inner, key, run, self._returns)
            if merges:
                _MERGING[key] = self
                _KEYS_BY_CLASS[self._class] = key
            self._key = key
        return self._key

    def _finish(self, stream: object, rows: int) -> Any:
        """The results of pickled states; no state is a group without rows."""
        states = _volley.Table.from_stream(stream).cells(0)
        objects: list[Any] = [self._class() if it is None else _load(it) for it in states]
        return _volley.Table.from_cells([it.finish() for it in objects], self._returns)

    def _run(self, stream: object, rows: int) -> Any:
        """The results of groups, each a list of rows; no list is a group without rows."""
        groups = _volley.Table.from_stream(stream).cells(0)
        return _volley.Table.from_cells([self._of(it or []) for it in groups], self._returns)

    def _of(self, group: list[dict[str, Any]]) -> Any:
        state: Any = self._class()
        update = state.update
        for row in group:
            values = row.values()
            if self._nulls or None not in values:
                update(*values)
        return state.finish()

    def create(self, connection: Connection, name: str | None = None) -> None:
        """Makes the aggregate callable in SQL under a name."""
        import inspect

        update: Any = self._class.update  # type: ignore[attr-defined]
        parameters = list(inspect.signature(update).parameters)[1:]
        body = self._tree([_volley.Expr.column(it) for it in parameters]).to_sql()
        names = ", ".join(_quoted(it) for it in parameters)
        connection.sql(f"CREATE OR REPLACE MACRO {_quoted(name or self.name)}({names}) AS {body}")


class _Pickler(pickle.Pickler):
    def persistent_id(self, found: Any) -> str | None:
        return _KEYS_BY_CLASS.get(found) if isinstance(found, type) else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, key: str) -> type:
        return _MERGING[key]._class


def _find(key: str) -> tuple[type, bool]:
    """The class of an aggregate, and whether it gets rows with nulls. The engine calls it, as it
    does the next two."""
    found = _MERGING.get(key)
    if found is None:
        raise InvalidQuery(f"no aggregate of Python in this process: {key}")
    return found._class, found._nulls


def _dump(state: Any) -> bytes:
    """A state as bytes."""
    written = io.BytesIO()
    try:
        _Pickler(written, pickle.HIGHEST_PROTOCOL).dump(state)
    except Exception as error:
        name = type(state).__name__
        message = f"a state of the aggregate {name} cannot be pickled, so it cannot merge: {error}"
        raise InvalidQuery(message) from error
    return written.getvalue()


def _load(pickled: bytes) -> Any:
    """The state that bytes are."""
    return _Unpickler(io.BytesIO(pickled)).load()


class TableFunction:
    """A table that a generator of Python makes; made by `volley.table_function`."""

    def __init__(self, function: Callable[..., Any], returns: Any, name: str | None) -> None:
        self._function = function
        self._returns = returns
        self._key: str | None = None
        self.name = str(name or getattr(function, "__name__", "table"))
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<volley table function {self.name}>"

    def __call__(self, *arguments: Any) -> Frame:
        """A frame of the default connection with the rows for some arguments."""
        from . import default_connection

        return self.frame(default_connection(), *arguments)

    def frame(self, connection: Connection, *arguments: Any) -> Frame:
        """A frame of a connection with the rows for some arguments."""
        return connection.call("python_table", self._registered(), *arguments)

    def _registered(self) -> str:
        if self._key is None:
            self._key = f"{self.name} (table {next(_KEYS)})"
            _volley.register_table_function(self._key, self._open)
        return self._key

    def _open(self, arguments: list[Any]) -> _volley.Table:
        """The table for some arguments: each scan runs the generator anew."""
        import pyarrow

        schema, started = self._schema(arguments)

        def scan(names: list[str], filters: list[Any]) -> Any:
            nonlocal started
            # The rows that told the types are those of the first scan.
            batches, started = started or self._batches(arguments, schema), None
            chosen = pyarrow.schema([schema.field(it) for it in names])
            parts = (it.select(names) for it in batches)
            return pyarrow.RecordBatchReader.from_batches(chosen, parts)

        return _volley.Table.from_function(scan, schema.empty_table())

    def _schema(self, arguments: list[Any]) -> tuple[Any, Iterator[Any] | None]:
        """The Arrow schema, and the rows if they had to begin for it."""
        import pyarrow

        from . import default_connection

        if isinstance(self._returns, pyarrow.Schema):
            return self._returns, None
        if self._returns is not None:
            casts = [
                f"CAST(NULL AS {_sql_type(of)}) AS {_quoted(name)}"
                for name, of in self._returns.items()
            ]
            empty = default_connection().sql(f"SELECT {', '.join(casts)} LIMIT 0").to_arrow()
            return empty.schema, None
        batches = self._batches(arguments, None)
        first = next(batches, None)
        if first is None:
            raise InvalidQuery(
                f"the table function {self.name} has no rows that tell its columns; "
                "name them: volley.table_function(returns={'a': 'BIGINT'})"
            )
        return first.schema, chain([first], batches)

    def _batches(self, arguments: list[Any], schema: Any) -> Iterator[Any]:
        import pyarrow

        for item in self._function(*arguments):
            if isinstance(item, dict):
                table = pyarrow.table(item, schema=schema)
            elif isinstance(item, pyarrow.RecordBatch):
                table = pyarrow.Table.from_batches([item])
            else:
                table = pyarrow.table(item)
            if schema is not None and table.schema != schema:
                table = table.select(schema.names).cast(schema)
            yield from table.to_batches()

    def create(self, connection: Connection, name: str | None = None) -> None:
        """Makes the function callable in FROM under a name."""
        import inspect

        parameters = list(inspect.signature(self._function).parameters)
        names = ", ".join(_quoted(it) for it in parameters)
        key = "'" + self._registered().replace("'", "''") + "'"
        arguments = ", ".join([key, *map(_quoted, parameters)])
        connection.sql(
            f"CREATE OR REPLACE MACRO {_quoted(name or self.name)}({names}) AS TABLE "
            f"SELECT * FROM python_table({arguments})"
        )


def aggregate(
    *types: Any, returns: Any, nulls: bool = False, name: str | None = None
) -> Callable[[type], Aggregate]:
    """Makes a class an aggregate that expressions can call, and SQL after `create_function`.

    An object of the class is made for each group. `update` gets the values of a row, `finish` returns
    the result. Rows with a null are left out, unless there is `nulls`.

    With a method `merge`, which adds another object of the class to this one, each thread of the
    engine has objects of its own, and rows reach them in any order. Objects must be ones that can be
    pickled. Without `merge` the engine gathers the rows of a group before the class sees them; it may
    spill them.

    >>> import volley as vl
    >>> @vl.aggregate(float, returns=float)
    ... class GeometricMean:
    ...     def __init__(self):
    ...         self.product, self.count = 1.0, 0
    ...     def update(self, value):
    ...         self.product *= value
    ...         self.count += 1
    ...     def merge(self, other):
    ...         self.product *= other.product
    ...         self.count += other.count
    ...     def finish(self):
    ...         return self.product ** (1 / self.count) if self.count else None
    >>> f = vl.frame({"k": ["a", "a", "b"], "v": [2.0, 8.0, 5.0]})
    >>> f.group_by("k").agg(GeometricMean("v")).sort("k").fetchall()
    [('a', 4.0), ('b', 5.0)]
    """

    def decorate(made_by: type) -> Aggregate:
        return Aggregate(made_by, types, returns, nulls, name)

    return decorate


if TYPE_CHECKING:

    @overload
    def table_function(function: Callable[..., Any]) -> TableFunction: ...

    @overload
    def table_function(
        *, returns: Any = None, name: str | None = None
    ) -> Callable[[Callable[..., Any]], TableFunction]: ...


def table_function(
    function: Callable[..., Any] | None = None, *, returns: Any = None, name: str | None = None
) -> Any:
    """Makes a generator of tables a function for frames, and for FROM after `create_function`.

    The generator yields Arrow data of any library, or dictionaries of columns. `returns` is a schema
    of pyarrow or a dictionary of types by name; without it the first table tells the types.

    >>> import volley as vl
    >>> @vl.table_function(returns={"n": "BIGINT", "square": "BIGINT"})
    ... def squares(end):
    ...     for n in range(end):
    ...         yield {"n": [n], "square": [n * n]}
    >>> squares(4).filter(vl.col("n") > 1).fetchall()
    [(2, 4), (3, 9)]
    >>> db = vl.connect()
    >>> db.create_function(squares)
    >>> db.sql("SELECT sum(square) FROM squares(4)").item()
    14
    """

    def decorate(made_by: Callable[..., Any]) -> TableFunction:
        return TableFunction(made_by, returns, name)

    return decorate if function is None else decorate(function)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
