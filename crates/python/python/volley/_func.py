"""Functions of Python in queries."""

from __future__ import annotations

from itertools import count

from . import _volley
from ._errors import InvalidQuery
from ._expr import Expr, _literal, _root, _sql_type, col, lit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._connection import Connection

_KEYS = count(1)

#: Ways to run a function, the fastest first.
_WAYS = ("traced", "batch", "row")


class Function:
    """A function of Python that expressions and SQL can call; made by `volley.func`."""

    def __init__(
        self,
        function: Callable[..., Any],
        types: tuple[Any, ...],
        returns: Any,
        way: str | None,
        nulls: bool,
        name: str | None,
    ) -> None:
        if way is not None and way not in _WAYS:
            raise InvalidQuery(f"no such way to run a function: {way}; there are {', '.join(_WAYS)}")
        self._function = function
        self._types = [_sql_type(it) for it in types]
        self._returns = None if returns is None else _sql_type(returns)
        self._nulls = nulls
        self._given_way = way
        self._key: str | None = None
        self.name = str(name or getattr(function, "__name__", "function"))
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<volley function {self.name}>"

    def __call__(self, *arguments: Any) -> Any:
        """An expression, if an argument is one; otherwise what the function returns."""
        if not any(isinstance(it, Expr) for it in arguments):
            return self._function(*arguments)
        return self._expr([_literal(it) for it in arguments])

    def _expr(self, arguments: list[Expr]) -> Expr:
        if self._types and len(self._types) != len(arguments):
            message = f"{self.name} takes {len(self._types)} arguments, not {len(arguments)}"
            raise InvalidQuery(message)
        if self._types:
            pairs = zip(arguments, self._types, strict=True)
            arguments = [it._with(it._tree.cast(of, False)) for it, of in pairs]
        traced = self._traced(arguments)
        if traced is not None:
            return traced
        key = self._registered()
        tree = _volley.Expr.call("python_function", [lit(key)._tree, *(it._tree for it in arguments)])
        return Expr(tree, next((n for it in arguments if (n := it._name or _root(it))), self.name))

    def way(self, *arguments: Expr) -> str:
        """The way in which a call with these arguments runs: `traced`, `batch` or `row`."""
        if self._traced(list(arguments)) is not None:
            return "traced"
        return self._given_way or "row"

    def _traced(self, arguments: list[Expr]) -> Expr | None:
        """What the function makes of expressions; `None` if it needs values."""
        if self._given_way not in (None, "traced"):
            return None
        try:
            made = _literal(self._function(*arguments))
        except Exception as error:
            # It looks at values, or passes them to what takes no expressions.
            if self._given_way == "traced":
                message = f"the function {self.name} cannot be traced: {error}"
                raise InvalidQuery(message) from error
            return None
        return made if self._returns is None else made.cast(self._returns)

    def _registered(self) -> str:
        if self._key is None:
            if self._returns is None:
                raise InvalidQuery(
                    f"the function {self.name} cannot be traced, so it needs the type of its result: "
                    "volley.func(returns='BIGINT')"
                )
            from . import default_connection

            way = self._given_way or "row"
            run = self._run_batch if way == "batch" else self._run_rows
            key = f"{self.name} ({way} {next(_KEYS)})"
            _volley.register_function(default_connection()._inner, key, run, self._returns)
            self._key = key
        return self._key

    def _run_batch(self, stream: object, rows: int) -> Any:
        """Calls the function with arrays of pyarrow."""
        import pyarrow

        table = pyarrow.RecordBatchReader._import_from_c_capsule(stream).read_all()
        arrays = [it.combine_chunks() for it in table.columns]
        result = self._function(*arrays)
        if isinstance(result, pyarrow.Scalar):
            result = pyarrow.array([result.as_py()] * rows, type=result.type)
        elif not isinstance(result, (pyarrow.Array, pyarrow.ChunkedArray)):
            result = pyarrow.array(result)
        return pyarrow.table({"result": self._of_type(result)})

    def _of_type(self, array: Any) -> Any:
        import pyarrow

        wanted = _ARROW.get(self._returns or "")
        return array if wanted is None else array.cast(getattr(pyarrow, wanted[0])(*wanted[1:]))

    def _run_rows(self, stream: object, rows: int) -> Any:
        """Calls the function for each row. Without `nulls`, a null argument makes a null result."""
        table = _volley.Table.from_stream(stream)
        columns = [table.cells(at) for at in range(len(table.schema()))]
        function = self._function
        if not columns:
            cells = [function() for _ in range(rows)]
        elif self._nulls:
            cells = list(map(function, *columns))
        elif len(columns) == 1:
            cells = [None if it is None else function(it) for it in columns[0]]
        else:
            cells = [None if None in row else function(*row) for row in zip(*columns, strict=True)]
        return _volley.Table.from_cells(cells, self._returns)

    def create(self, connection: Connection, name: str | None = None) -> None:
        """Makes the function callable in SQL under a name."""
        import inspect

        parameters = list(inspect.signature(self._function).parameters)
        body = self._expr([col(it) for it in parameters])._tree.to_sql()
        names = ", ".join(_quoted(it) for it in parameters)
        sql_name = _quoted(name or self.name)
        connection.sql(f"CREATE OR REPLACE MACRO {sql_name}({names}) AS {body}")


#: Types of Arrow that the engine reads as a type of SQL.
_ARROW: dict[str, tuple[Any, ...]] = {
    "BOOLEAN": ("bool_",),
    "TINYINT": ("int8",),
    "SMALLINT": ("int16",),
    "INTEGER": ("int32",),
    "BIGINT": ("int64",),
    "REAL": ("float32",),
    "DOUBLE": ("float64",),
    "VARCHAR": ("string",),
    "VARBINARY": ("binary",),
    "DATE": ("date32",),
    "TIMESTAMP": ("timestamp", "us"),
    "TIME": ("time64", "us"),
}


def func(
    *types: Any, returns: Any = None, way: str | None = None, nulls: bool = False, name: str | None = None
) -> Any:
    """Makes a function of Python one that expressions can call, and SQL after `create_function`.

    Types are those of SQL by name, or classes such as `int` and `float`. There are three ways:

    - `traced`: the function is called once with expressions, and becomes an expression.
    - `batch`: it is called with arrays of pyarrow, one batch of rows after the other.
    - `row`: it is called for each row. Without `nulls`, a null argument makes a null result.

    Without `way` the function is traced, or runs row by row if that does not work.

    >>> import volley as vl
    >>> @vl.func
    ... def taxed(price, rate=0.5):
    ...     return price * (1 + rate)
    >>> vl.frame({"p": [1.0, 2.0]}).select(taxed(vl.col("p"))).fetchall()
    [(1.5,), (3.0,)]
    >>> @vl.func(returns=str)
    ... def spelled(number):
    ...     return "one" if number == 1 else "many"
    >>> vl.frame({"n": [1, None, 3]}).select(spelled(vl.col("n"))).fetchall()
    [('one',), (None,), ('many',)]
    """
    if len(types) == 1 and callable(types[0]) and not isinstance(types[0], type):
        return Function(types[0], (), returns, way, nulls, name)

    def decorate(function: Callable[..., Any]) -> Function:
        return Function(function, types, returns, way, nulls, name)

    return decorate


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
