"""Functions of Python in queries."""

from __future__ import annotations

import threading
from itertools import count

from . import _volley
from ._errors import InvalidQuery
from ._expr import Expr, _literal, _root, _sql_type, col, lit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, overload

    from ._connection import Connection

_KEYS = count(1)

#: Held while the processes of a function are made.
_POOLS = threading.Lock()

#: Ways to run a function, the fastest first.
_WAYS = ("traced", "compiled", "batch", "process", "row")


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
        workers: int | None = None,
    ) -> None:
        if way is not None and way not in _WAYS:
            raise InvalidQuery(f"no such way to run a function: {way}; there are {', '.join(_WAYS)}")
        self._function = function
        self._types = [_sql_type(it) for it in types]
        self._returns = None if returns is None else _sql_type(returns)
        self._nulls = nulls
        self._given_way = way
        self._workers = workers
        self._key: str | None = None
        #: Keys of compiled calls, by the functions in them; `None` where there is no code.
        self._codes: dict[Any, str | None] = {}
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
        given = arguments
        if self._types:
            pairs = zip(arguments, self._types, strict=True)
            arguments = [it._with(it._tree.cast(of, False)) for it, of in pairs]
        made = self._traced(arguments)
        if made is None:
            made = self._compiled(given, arguments)
        return self._call(self._registered(), arguments) if made is None else made

    def _call(self, key: str, arguments: list[Expr]) -> Expr:
        tree = _volley.Expr.call("python_function", [lit(key)._tree, *(it._tree for it in arguments)])
        return Expr(tree, next((n for it in arguments if (n := it._name or _root(it))), self.name))

    def way(self, *arguments: Expr) -> str:
        """How a call with these arguments runs: `traced`, `compiled`, `batch`, `process`, `row`."""
        given = [_literal(it) for it in arguments]
        if self._traced(given) is not None:
            return "traced"
        if self._compiled(given, given) is not None:
            return "compiled"
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

    def _compiled(self, given: list[Expr], cast: list[Expr]) -> Expr | None:
        """A call of machine code, together with the compiled calls among its arguments; `None` if
        the function is not compiled."""
        is_asked = self._given_way == "compiled"
        from ._compiled import DTYPES, NotCompiled, is_available

        known = self._returns in DTYPES and bool(given) and len(self._types) == len(given)
        known = known and not self._nulls and all(it in DTYPES for it in self._types)
        if not (is_asked or (self._given_way is None and known and is_available())):
            return None
        if not (known and is_available()):
            reason = (
                "it needs Numba" if not is_available() else
                "it needs the types of arguments and result, which are numbers, and no nulls"
            )
            raise InvalidQuery(f"the function {self.name} cannot be compiled: {reason}")
        call = Call(self, [], [])
        for it, of, converted in zip(given, self._types, cast, strict=True):
            inner = it._call_of
            if inner is not None and inner.function._returns == of:
                call.add(inner)
            else:
                call.arguments.append(len(call.inputs))
                call.inputs.append((converted, of))
        try:
            key = self._code_of(call)
        except NotCompiled as error:
            if is_asked:
                message = f"the function {self.name} cannot be compiled: {error}"
                raise InvalidQuery(message) from error
            return None
        if key is None:
            return None
        made = self._call(key, [it for it, _ in call.inputs])
        made._call_of = call
        return made

    def _code_of(self, call: Call) -> str | None:
        """The key of the code of a call, which is compiled once."""
        from ._compiled import NotCompiled, compile_calls

        shape = call.shape()
        if shape not in self._codes:
            types = [of for _, of in call.inputs]
            try:
                code = compile_calls(call.node(), types)
            except NotCompiled:
                if self._given_way == "compiled":
                    raise
                self._codes[shape] = None
                return None
            from . import default_connection

            key = f"{call.text()} (compiled {next(_KEYS)})"
            again = Function(call.evaluate, (), self._returns, "row", True, self.name)
            _volley.register_compiled(
                default_connection()._inner, key, again._run_rows, (code.address, code),
                (types, str(self._returns)),
            )
            self._codes[shape] = key
        return self._codes[shape]

    def _registered(self) -> str:
        if self._key is None:
            if self._returns is None:
                raise InvalidQuery(
                    f"the function {self.name} cannot be traced, so it needs the type of its result: "
                    "volley.func(returns='BIGINT')"
                )
            from . import default_connection

            way = self._given_way or "row"
            runs = {"batch": self._run_batch, "process": self._run_processes}
            key = f"{self.name} ({way} {next(_KEYS)})"
            run = runs.get(way, self._run_rows)
            _volley.register_function(default_connection()._inner, key, run, self._returns)
            self._key = key
        return self._key

    def _run_processes(self, stream: object, rows: int) -> Any:
        """Calls the function for each row in a worker process."""
        table = _volley.Table.from_stream(stream)
        columns = [table.cells(at) for at in range(len(table.schema()))]
        return _volley.Table.from_cells(self._pool().call(columns, rows), self._returns)

    def _pool(self) -> Any:
        import os

        from ._processes import Pool

        with _POOLS:
            pool = getattr(self, "_processes", None)
            # A forked process has its own workers.
            if pool is None or pool._owner != os.getpid():
                pool = self._processes = Pool(self._function, self._nulls, self._workers)
        return pool

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
        from ._worker import call_rows

        cells = call_rows(self._function, self._nulls, columns, rows)
        return _volley.Table.from_cells(cells, self._returns)

    def create(self, connection: Connection, name: str | None = None) -> None:
        """Makes the function callable in SQL under a name."""
        import inspect

        parameters = list(inspect.signature(self._function).parameters)
        body = self._expr([col(it) for it in parameters])._tree.to_sql()
        names = ", ".join(_quoted(it) for it in parameters)
        sql_name = _quoted(name or self.name)
        connection.sql(f"CREATE OR REPLACE MACRO {sql_name}({names}) AS {body}")


class Call:
    """A compiled call: its arguments are inputs of the code, by number, or other calls in it."""

    __slots__ = ("function", "arguments", "inputs")

    def __init__(
        self, function: Function, arguments: list[Call | int], inputs: list[tuple[Expr, str]]
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.inputs = inputs

    def add(self, inner: Call) -> None:
        """Takes a call as an argument, and its inputs as inputs."""
        self.arguments.append(inner._shifted(len(self.inputs)))
        self.inputs.extend(inner.inputs)

    def _shifted(self, by: int) -> Call:
        moved = [it + by if isinstance(it, int) else it._shifted(by) for it in self.arguments]
        return Call(self.function, moved, self.inputs)

    def shape(self) -> Any:
        """What calls with equal code have in common."""
        return id(self.function), tuple(
            it if isinstance(it, int) else it.shape() for it in self.arguments
        )

    def text(self) -> str:
        """The functions, as `explain` shows them."""
        inner = [it.text() for it in self.arguments if not isinstance(it, int)]
        return f"{self.function.name}({', '.join(inner)})" if inner else self.function.name

    def node(self) -> Any:
        """The call as the compiler takes it."""
        from ._compiled import Node

        function = self.function
        arguments = [it if isinstance(it, int) else it.node() for it in self.arguments]
        return Node(function._function, arguments, function._types, function._returns or "")

    def evaluate(self, *values: Any) -> Any:
        """What Python makes of the values of the inputs, which are not null."""
        arguments = [values[it] if isinstance(it, int) else it.evaluate(*values) for it in self.arguments]
        return self.function._function(*arguments)


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


if TYPE_CHECKING:

    @overload
    def func(
        *types: type[Any] | str,
        returns: Any = None,
        way: str | None = None,
        nulls: bool = False,
        name: str | None = None,
        workers: int | None = None,
    ) -> Callable[[Callable[..., Any]], Function]: ...

    @overload
    def func(function: Callable[..., Any], /) -> Function: ...


def func(
    *types: Any,
    returns: Any = None,
    way: str | None = None,
    nulls: bool = False,
    name: str | None = None,
    workers: int | None = None,
) -> Any:
    """Makes a function of Python one that expressions can call, and SQL after `create_function`.

    Types are those of SQL by name, or classes such as `int` and `float`. There are five ways:

    - `traced`: the function is called once with expressions, and becomes an expression.
    - `compiled`: Numba compiles it, if Numba is installed and all types are numbers that are given.
      Integers wrap around at 64 bits, and functions of `math` return NaN where they would raise.
    - `batch`: it is called with arrays of pyarrow, one batch of rows after the other.
    - `process`: it is called for each row, in `workers` processes.
    - `row`: it is called for each row.

    Except in a traced function, a null argument makes a null result, unless there is `nulls`. Without
    `way` the function is traced, or compiled, or runs row by row, whichever works first.

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
        return Function(types[0], (), returns, way, nulls, name, workers)

    def decorate(function: Callable[..., Any]) -> Function:
        return Function(function, types, returns, way, nulls, name, workers)

    return decorate


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
