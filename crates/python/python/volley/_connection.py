"""Connections: sessions of the engine."""

from __future__ import annotations

from collections.abc import Sequence

from . import _volley
from ._errors import InvalidQuery
from ._frame import _MARKS, _NAMES, Frame, caller
from ._scan import is_table, to_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from types import FrameType
    from typing import Any

    Path = str | PathLike[str]


class Connection:
    """Tables, settings and queries of one user.

    >>> import volley as vl
    >>> db = vl.connect(threads=2)
    >>> db.sql("SELECT 6 * 7 AS answer").fetchall()
    [(42,)]
    """

    __slots__ = ("_inner", "_file", "__weakref__")

    def __init__(self, inner: _volley.Connection) -> None:
        self._inner = inner
        # The database of the file that it was opened with, quoted.
        self._file: str | None = None

    def sql(
        self, query: str, /, *positional: Any, _tables: Mapping[str, Any] | None = None, **named: Any
    ) -> Frame:
        """A query, which runs when its rows are needed. Other statements run at once.

        Parameters are `?`, `$1` or `$name`. Names of tables may mean variables of the caller: frames,
        Arrow tables, Polars, pandas, dictionaries of columns. Of several statements, the values are
        for the last one. A statement without rows gives the number of rows that it wrote, if it
        wrote some.

        >>> import volley as vl
        >>> numbers = {"n": [1, 2, 3]}
        >>> vl.sql("SELECT sum(n) FROM numbers WHERE n > $least", least=1).fetchall()
        [(5,)]
        """
        statements = self._inner.parse(query)
        if not statements:
            return self._of_count(None)
        code = caller()
        for statement in statements[:-1]:
            tables, _ = self._captured(statement, code, _tables)
            self._inner.run(statement, [], {}, tables.get if tables else None)
        last = statements[-1]
        tables, inner_named = self._captured(last, code, _tables)
        parameters = (list(positional), {**inner_named, **named})
        if not last.is_query():
            rows, written = self._inner.run(last, *parameters, tables.get if tables else None)
            if rows is None or not rows.schema():
                return self._of_count(written)
            return self._of_collected(rows.collect())
        return self._of_statement(last, tables, parameters)

    def execute(self, query: str, parameters: Any = None) -> Frame:
        """As `sql`, with the values of parameters as a sequence or a dictionary."""
        if parameters is None:
            return self.sql(query)
        if isinstance(parameters, dict):
            return self.sql(query, **parameters)
        return self.sql(query, *parameters)

    def _captured(
        self, statement: _volley.Statement, code: FrameType, given: Mapping[str, Any] | None
    ) -> tuple[dict[str, _volley.Table | str], dict[str, Any]]:
        """The variables that names of tables mean, and parameters of frames among them."""
        tables: dict[str, _volley.Table | str] = {}
        parameters: dict[str, Any] = {}
        for name in statement.table_names():
            if given is not None and name in given:
                value = given[name]
            elif name in code.f_locals:
                value = code.f_locals[name]
            elif name in code.f_globals:
                value = code.f_globals[name]
            else:
                continue
            if isinstance(value, Frame):
                if value._parameters[0]:
                    raise InvalidQuery("a frame of SQL with parameters by position in another one")
                tables.update(value._tables)
                tables[name] = value.show_sql()
                parameters.update(value._parameters[1])
            elif isinstance(value, str) and given is not None and name in given:
                tables[name] = value
            elif isinstance(value, _volley.Table) or is_table(value) or hasattr(value, "__next__"):
                tables[name] = to_table(value)
        if given is not None:
            for name, value in given.items():
                if isinstance(value, (_volley.Table, str)):
                    tables.setdefault(name, value)
        return tables, parameters

    def _of_statement(
        self,
        statement: _volley.Statement,
        tables: dict[str, _volley.Table | str],
        parameters: tuple[list[Any], dict[str, Any]],
    ) -> Frame:
        name = f"sql${next(_NAMES)}"
        query = _volley.Query.table([name])
        frame = Frame(self, query, {**tables, name: statement.text()}, next(_MARKS))
        frame._direct = statement
        frame._parameters = parameters
        return frame

    def _of_count(self, written: int | None) -> Frame:
        cells = [] if written is None else [written]
        return self._of_collected(_volley.Table.from_columns(["rows"], [cells]))

    def _of_table(self, table: _volley.Table) -> Frame:
        name = f"df${next(_NAMES)}"
        frame = Frame(self, _volley.Query.table([name]), {name: table}, next(_MARKS))
        frame._known_schema = dict(table.schema())
        return frame

    def _of_collected(self, table: _volley.Table) -> Frame:
        """A frame of rows that the engine collected, in their order."""
        frame = self._of_table(table)
        frame._table = table
        return frame

    def frame(self, data: Any, schema: Any = None) -> Frame:
        """A frame of data: Arrow data of any library, pandas, numpy, dictionaries, lists of rows.

        >>> import volley as vl
        >>> vl.frame([{"a": 1, "b": "x"}, {"a": 2}]).fetchall()
        [(1, 'x'), (2, None)]
        """
        if isinstance(data, Frame):
            return data
        return self._of_table(to_table(data, schema))

    def table(self, name: str) -> Frame:
        """A frame of a table or view, by its name, which may have a schema: `main.orders`."""
        return Frame(self, _volley.Query.table(name.split(".")), {}, next(_MARKS))

    def scan(
        self, path: Path | Sequence[Path], format: str | None = None, **options: Any
    ) -> Frame:
        """A frame of files: a path, a glob or a folder, of Parquet, CSV, JSON or ORC.

        Options are those of `read_parquet`, `read_csv` and `read_json` in SQL.
        """
        many = isinstance(path, Sequence) and not isinstance(path, (str, bytes))
        paths = [_path(it) for it in path] if many else [_path(path)]  # type: ignore[arg-type,union-attr,unused-ignore]
        if not paths:
            raise InvalidQuery("scan() needs a path")
        if format is None and not options and not many:
            return Frame(self, _volley.Query.files(paths[0]), {}, next(_MARKS))
        suffix = paths[0].rsplit(".", 1)[-1].lower()
        kind = format or {"ndjson": "json", "jsonl": "json", "tsv": "csv"}.get(suffix, suffix)
        return self.call(f"read_{kind}", paths if many else paths[0], **options)

    def scan_parquet(self, path: Path | Sequence[Path], **options: Any) -> Frame:
        """A frame of Parquet files."""
        return self.scan(path, "parquet", **options)

    def scan_csv(self, path: Path | Sequence[Path], **options: Any) -> Frame:
        """A frame of CSV files."""
        return self.scan(path, "csv", **options)

    def scan_json(self, path: Path | Sequence[Path], **options: Any) -> Frame:
        """A frame of JSON files."""
        return self.scan(path, "json", **options)

    def call(self, function: str, /, *arguments: Any, **named: Any) -> Frame:
        """A frame of the rows of a table function of SQL.

        >>> import volley as vl
        >>> vl.call("range", 3).fetchall()
        [(0,), (1,), (2,)]
        """
        if not function.isidentifier() or not all(it.isidentifier() for it in named):
            raise InvalidQuery(f"no name of a function: {function}")
        literal = _volley.Expr.literal
        options = [(name, literal(it)) for name, it in named.items()]
        query = _volley.Query.call(function, [literal(it) for it in arguments], options)
        return Frame(self, query, {}, next(_MARKS))

    def register(self, name: str, data: Any) -> None:
        """Makes data a table under a name: a frame, or what `frame` takes. A frame runs now."""
        table = data._collected() if isinstance(data, Frame) else to_table(data)
        self._inner.register(name, table)

    def unregister(self, name: str) -> bool:
        """Forgets a table or view; false if there was none."""
        return self._inner.deregister(name)

    def create_function(self, function: Any, name: str | None = None) -> None:
        """Makes a function of Python callable in SQL: one of `volley.func`, `volley.aggregate` or
        `volley.table_function`, or a plain one.

        >>> import volley as vl
        >>> db = vl.connect()
        >>> db.create_function(lambda x: x * 2 + 1, "odd")
        >>> db.sql("SELECT odd(20)").item()
        41
        """
        from ._aggregate import Aggregate, TableFunction
        from ._func import Function, func

        is_made = isinstance(function, (Function, Aggregate, TableFunction))
        made = function if is_made else func(function)
        made.create(self, name)

    def interrupt(self) -> None:
        """Stops all statements of this connection that run, from another thread."""
        self._inner.interrupt()

    def cursor(self) -> Connection:
        """Another session on the same tables, with its own transactions and settings."""
        return Connection(self._inner.another())

    def begin(self) -> None:
        """Begins a transaction."""
        self.sql("BEGIN")

    def commit(self) -> None:
        """Commits the transaction."""
        self.sql("COMMIT")

    def rollback(self) -> None:
        """Takes back what the transaction did."""
        self.sql("ROLLBACK")

    def transaction(self) -> Transaction:
        """A block that commits at its end, and rolls back on an exception.

        >>> import volley as vl
        >>> db = vl.connect()
        >>> with db.transaction():
        ...     _ = db.sql("CREATE TABLE t AS SELECT 1 AS a")
        >>> db.table("t").fetchall()
        [(1,)]
        """
        return Transaction(self)

    def close(self) -> None:
        """Stops what runs, and closes the database file that `connect` opened. Tables in memory go with
        the last session on them."""
        self._inner.interrupt()
        if self._file is not None:
            name, self._file = self._file, None
            self.sql(f"USE memory; DETACH {name}")

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Transaction:
    """A block in a transaction."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> Connection:
        self._connection.begin()
        return self._connection

    def __exit__(self, kind: object, *exception: object) -> None:
        if kind is None:
            self._connection.commit()
        else:
            self._connection.rollback()


def connect(path: Path | None = None, /, **settings: Any) -> Connection:
    """A session with settings: those of SET in SQL, such as `threads` and `memory_limit`.

    With the path of a database file, the tables are in that file; it is made if it does not exist.

    >>> import volley as vl
    >>> vl.connect(memory_limit="1GB").sql("SELECT 1").fetchall()
    [(1,)]
    """
    pairs = [(name, _setting(value)) for name, value in settings.items()]
    made = Connection(_volley.Connection(pairs))
    if path is not None:
        import os.path

        file = _path(path)
        name = os.path.basename(file).split(".")[0] or "database"
        text, made._file = file.replace("'", "''"), '"' + name.replace('"', '""') + '"'
        made.sql(f"ATTACH '{text}' AS {made._file}; USE {made._file}")
    return made


def _path(path: Path) -> str:
    """A path as text."""
    import os

    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError("paths are texts, not bytes")
    return text


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
