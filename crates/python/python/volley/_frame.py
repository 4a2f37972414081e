"""Lazy frames: queries that run when their rows are needed."""

from __future__ import annotations

import gc
import sys
from itertools import count

from . import _expr, _volley
from ._errors import Error, InvalidQuery, InvalidValue
from ._expr import Expr, _all, _column, _expand, _flat, _order, _output, _root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from types import FrameType
    from typing import Any

    from ._connection import Connection, Path
    from ._profile import Profile

    Tables = dict[str, "_volley.Table | str"]

#: Numbers of the calls that make frames, which errors name.
_MARKS = count(1)

#: Numbers of tables and statements of Python in SQL.
_NAMES = count(1)

#: The folder of this package, by which its own code is told from the caller's.
_FOLDER = __file__[: __file__.rindex("_frame")]


def _origin() -> tuple[str, int]:
    """File and line of the code that called this package."""
    frame = caller()
    return frame.f_code.co_filename, frame.f_lineno


def caller() -> FrameType:
    """The code that called this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER):
        frame = frame.f_back
    return frame


class Frame:
    """A query over tables, files or objects of Python. Nothing runs before its rows are needed.

    >>> import volley as vl
    >>> f = vl.frame({"k": ["a", "b", "a"], "v": [1, 2, 3]})
    >>> f.group_by("k").agg(total=vl.col("v").sum()).sort("k").fetchall()
    [('a', 4), ('b', 2)]
    """

    __slots__ = (
        "_connection", "_query", "_tables", "_mark", "_at", "_parents", "_known_schema", "_known_names",
        "_direct", "_parameters", "_rows", "_prepared", "_table", "_fetched",
        "__weakref__",
    )

    def __init__(
        self,
        connection: Connection,
        query: _volley.Query,
        tables: Tables,
        mark: int = 0,
        parents: tuple[Frame, ...] = (),
    ) -> None:
        self._connection = connection
        self._query = query
        self._tables = tables
        self._mark = mark
        self._at = _origin()
        self._parents = parents
        self._known_schema: dict[str, str] | None = None
        # The names alone, where they follow from the steps.
        self._known_names: list[str] | None = None
        # A statement of SQL, which runs as it is when nothing was added to it.
        self._direct: _volley.Statement | None = None
        self._parameters: tuple[list[Any], dict[str, Any]] = ([], {})
        self._rows: _volley.Rows | None = None
        # Rows in memory to which nothing was added.
        self._table: _volley.Table | None = None
        # How many of them were fetched.
        self._fetched = 0
        self._prepared: tuple[_volley.Statement, list[tuple[int, int, int]]] | None = None

    def __reduce__(self) -> Any:
        """Pickles the query as SQL. Tables of files are files there, too; data of Python are refused."""
        if any(not isinstance(it, str) for it in self._tables.values()):
            raise TypeError("a frame of data in memory cannot be pickled; write the data to a file")
        sql = self.show_sql()
        named = {name: it for name, it in self._tables.items() if name not in sql_name(self)}
        return _unpickled, (sql, named, self._parameters)

    def _on(self, connection: Connection) -> Frame:
        """The same query on another session."""
        frame = Frame(connection, self._query, self._tables, self._mark, self._parents)
        frame._direct, frame._parameters, frame._table = self._direct, self._parameters, self._table
        return frame

    # Running

    def _statement(self) -> tuple[_volley.Statement, list[tuple[int, int, int]]]:
        if self._direct is not None:
            return self._direct, []
        if self._prepared is None:
            try:
                self._prepared = self._query.statement(self._connection._inner)
            except Error as error:
                raise self._located(error, []) from None
        return self._prepared

    def _start(self, encoded: bool = False, token: _volley.Token | None = None) -> _volley.Rows:
        statement, marks = self._statement()
        positional, named = self._parameters
        inner = self._connection._inner
        try:
            rows, _ = inner.run(
                statement, positional, named, self._lookup(), encoded=encoded, token=token
            )
        except Error as error:
            raise self._located(error, marks) from None
        if rows is None:
            raise InvalidQuery("the statement has no rows")
        return rows

    def _lookup(self) -> Callable[[str], _volley.Table | str | None] | None:
        # A statement that names no table of Python has all of its parameters itself.
        return self._tables.get if len(self._tables) > (self._direct is not None) else None

    def _keeps_encodings(self) -> bool:
        """Whether a table of Python that the query reads has dictionaries or runs."""
        return any(not isinstance(it, str) and it.has_encodings() for it in self._tables.values())

    def _collected(
        self, encoded: bool = False, token: _volley.Token | None = None
    ) -> _volley.Table:
        if self._table is not None:
            return self._table
        statement, marks = self._statement()
        rows = self._start(encoded, token)
        try:
            return rows.collect()
        except Error as error:
            raise self._located(error, marks) from None

    def _located(self, error: Error, marks: list[tuple[int, int, int]]) -> Error:
        """The error with the line of Python that its place in the SQL comes from."""
        if error.span is None or self._direct is not None:
            error.origin = error.origin or self._at
            return error
        start, end = error.span
        around = [it for it in marks if it[0] <= start and end <= it[1]]
        mark = min(around, key=lambda it: it[1] - it[0])[2] if around else self._mark
        error.origin = self._find(mark) or self._at
        return error

    def _find(self, mark: int) -> tuple[str, int] | None:
        todo: list[Frame] = [self]
        while todo:
            frame = todo.pop()
            if frame._mark == mark:
                return frame._at
            todo.extend(frame._parents)
        return None

    @property
    def schema(self) -> dict[str, str]:
        """Names and types of the columns, the types as SQL writes them.

        >>> import volley as vl
        >>> vl.frame({"a": [1], "b": ["x"]}).schema
        {'a': 'BIGINT', 'b': 'VARCHAR'}
        """
        if self._known_schema is None:
            statement, marks = self._statement()
            positional, named = self._parameters
            try:
                pairs = self._connection._inner.schema(
                    statement, positional, named, self._lookup()
                )
            except Error as error:
                raise self._located(error, marks) from None
            self._known_schema = dict(pairs or [])
        return dict(self._known_schema)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.schema)

    def _names(self) -> list[str]:
        """Names of the columns; the engine is asked only if they do not follow from the steps. Each
        question takes as long as planning the query so far."""
        if self._known_names is None:
            self._known_names = list(self.schema)
        return self._known_names

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} {of}" for name, of in self.schema.items())
        return f"<volley.Frame ({columns})>"

    def _repr_html_(self) -> str:
        from ._html import table

        return table(self)

    # Results

    def collect(self) -> Frame:
        """Runs the query; the rows are in memory.

        >>> import volley as vl
        >>> vl.sql("SELECT 1 AS a").collect().fetchall()
        [(1,)]
        """
        return self._connection._of_collected(self._collected())

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that were not fetched yet, as tuples.

        >>> import volley as vl
        >>> vl.sql("SELECT * FROM range(3) r(i)").fetchall()
        [(0,), (1,), (2,)]
        """
        return self._fetch(None)

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """The next rows, at most `size`."""
        return self._fetch(size)

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; `None` at the end."""
        rows = self._fetch(1)
        return rows[0] if rows else None

    def _fetch(self, size: int | None) -> list[tuple[Any, ...]]:
        if self._table is not None:
            start = self._fetched
            found: list[tuple[Any, ...]] = self._table.tuples(start, size)
            # Asked for all, and again, it starts anew.
            self._fetched = 0 if size is None else start + len(found)
            return found
        if self._rows is None:
            self._rows = self._start()
        # Many tuples make the collector look for cycles again and again; there are none in them.
        collects = size is None and gc.isenabled()
        if collects:
            gc.disable()
        try:
            rows: list[tuple[Any, ...]] = self._rows.fetch(size)
        except Error as error:
            self._rows = None
            raise self._located(error, self._statement()[1]) from None
        finally:
            if collects:
                gc.enable()
        if size is None:
            # Asked again, the query runs again.
            self._rows = None
        return rows

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        if self._table is not None:
            return self._table.__arrow_c_stream__(requested_schema)
        return self._start(self._keeps_encodings()).__arrow_c_stream__(requested_schema)

    def to_arrow(self, encoded: bool | None = None) -> Any:
        """The rows as a `pyarrow.Table`.

        With `encoded`, columns that are dictionaries or runs in the engine are so in Arrow. Otherwise
        they are if a table of Python has such columns that the query reads.

        >>> import volley as vl
        >>> vl.sql("SELECT 1 AS a").to_arrow().num_rows
        1
        """
        import pyarrow

        return pyarrow.table(self._collected(self._keeps_encodings() if encoded is None else encoded))

    def to_polars(self) -> Any:
        """The rows as a `polars.DataFrame`. Intervals become durations; a month counts as 30 days."""
        import polars

        table = self._collected(self._keeps_encodings())
        columns = table.schema()
        intervals = [at for at, (_, data_type) in enumerate(columns) if "INTERVAL" in data_type]
        if not intervals:
            return polars.DataFrame(table)
        # Polars cannot read Arrow's intervals.
        names = [name for name, _ in columns]
        others = [name for at, name in enumerate(names) if at not in intervals]
        made = []
        for at in intervals:
            is_plain = columns[at][1] == "INTERVAL"
            kind = polars.Duration("us") if is_plain else None
            made.append(polars.Series(names[at], table.cells(at), dtype=kind))
        if not others:
            return polars.DataFrame(made)
        rest = polars.DataFrame(self._connection._of_collected(table).select(*others))
        return rest.with_columns(made).select(names)

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`."""
        try:
            import pyarrow
        except ImportError:
            import pandas

            table = self._collected()
            columns = [(name, table.cells(at)) for at, (name, _) in enumerate(table.schema())]
            return pandas.DataFrame(dict(columns))
        table = pyarrow.table(self._collected())
        # Texts with offsets become pandas' own in less time than views of them.
        views, texts = pyarrow.string_view(), pyarrow.large_string()
        fields = [it.with_type(texts) if it.type == views else it for it in table.schema]
        return table.cast(pyarrow.schema(fields)).to_pandas()

    def to_numpy(self) -> dict[str, Any]:
        """The columns as arrays of numpy. Numbers with nulls are masked arrays."""
        from ._tensors import numpy_column

        table = self._collected()
        return {
            name: numpy_column(table, at, data_type)
            for at, (name, data_type) in enumerate(table.schema())
        }

    def numpy_batches(self) -> Iterator[dict[str, Any]]:
        """The columns of numbers as arrays of numpy, batch by batch, while the query runs.

        Arrays share the memory of the batch, and cannot be written to. Lists are pairs of values and
        offsets; arrays of a fixed size have two dimensions. Nulls are NaN, and an error in columns of
        integers.

        >>> import volley as vl
        >>> sum(int(it["n"].sum()) for it in vl.sql("SELECT range AS n FROM range(5000)").numpy_batches())
        12497500
        """
        import numpy

        from ._tensors import tensor_columns

        for table in self._table_batches():
            yield tensor_columns(table, numpy.from_dlpack)

    def _table_batches(self) -> Iterator[_volley.Table]:
        """The rows as tables, batch by batch, while the query runs."""
        rows = self._start()
        try:
            while (table := self._next_table(rows)) is not None:
                yield table
        finally:
            rows.close()

    def _next_table(self, rows: _volley.Rows) -> _volley.Table | None:
        try:
            return rows.next_table()
        except Error as error:
            raise self._located(error, self._statement()[1]) from None

    def to_torch(self) -> dict[str, Any]:
        """The columns of numbers as tensors of PyTorch. Other columns are an error.

        Lists are pairs of values and offsets; arrays of a fixed size are tensors of two dimensions.
        Nulls are NaN, and an error in columns of integers.
        """
        import torch

        from ._tensors import tensor_columns

        return tensor_columns(self._collected(), torch.from_dlpack)

    def to_torch_dataset(
        self,
        batch_size: int = 1024,
        *,
        shuffle_buffer: int = 0,
        seed: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> Any:
        """The rows as a dataset of PyTorch that streams batches: dictionaries of tensors.

        Each worker of a loader, and each rank of a distributed run, gets its share of the batches.
        `shuffle_buffer` rows are mixed at a time; equal seeds and epochs mix equally.
        """
        from ._tensors import dataset

        return dataset(self, batch_size, shuffle_buffer, seed, (rank, world_size))

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists.

        >>> import volley as vl
        >>> vl.sql("SELECT 1 AS a, 'x' AS b").to_dict()
        {'a': [1], 'b': ['x']}
        """
        table = self._collected()
        return {name: table.cells(at) for at, (name, _) in enumerate(table.schema())}

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        table = self._collected()
        names = [name for name, _ in table.schema()]
        return [dict(zip(names, row, strict=True)) for row in table.tuples()]

    def batches(self) -> Iterator[Any]:
        """The rows as `pyarrow.RecordBatch`es, while the query runs.

        >>> import volley as vl
        >>> sum(batch.num_rows for batch in vl.sql("SELECT * FROM range(5000)").batches())
        5000
        """
        rows = self._start()
        try:
            while (batch := self._next_batch(rows)) is not None:
                yield batch
        finally:
            rows.close()

    def _next_batch(self, rows: _volley.Rows) -> Any:
        import pyarrow

        try:
            capsule = rows.next_batch()
        except Error as error:
            raise self._located(error, self._statement()[1]) from None
        if capsule is None:
            return None
        return pyarrow.RecordBatchReader._import_from_c_capsule(capsule).read_next_batch()

    async def collect_async(self) -> Frame:
        """Runs the query while the event loop goes on; the rows are in memory.

        Cancelling the task cancels the query.

        >>> import asyncio
        >>> import volley as vl
        >>> async def answer():
        ...     return (await vl.sql("SELECT 42 AS a").collect_async()).item()
        >>> asyncio.run(answer())
        42
        """
        from ._async import call

        token = self._connection._inner.token()
        table = await call(token, self._collected, False, token)
        return self._connection._of_collected(table)

    async def __aiter__(self) -> AsyncIterator[Any]:
        """The rows as record batches of pyarrow, while the query and the event loop run.

        >>> import asyncio
        >>> import volley as vl
        >>> async def rows():
        ...     return sum([batch.num_rows async for batch in vl.call("range", 5000)])
        >>> asyncio.run(rows())
        5000
        """
        from ._async import call

        token = self._connection._inner.token()
        rows = await call(token, self._start, False, token)
        try:
            while (batch := await call(token, self._next_batch, rows)) is not None:
                yield batch
        finally:
            rows.close()

    def item(self) -> Any:
        """The value of the only row and column."""
        rows = self._collected().tuples()
        if len(rows) != 1 or len(rows[0]) != 1:
            raise InvalidQuery(f"item() needs one row of one column, not {len(rows)} rows")
        return rows[0][0]

    def show(self, n: int = 20) -> None:
        """Prints the first rows."""
        from ._html import text

        print(text(self, n))

    def explain(self, analyze: bool = False) -> str:
        """The plan as text; with `analyze` the query runs, and the plan says what each operator did.

        >>> import volley as vl
        >>> "Values" in vl.sql("SELECT 1 AS a").explain() or True
        True
        """
        prefix = "EXPLAIN ANALYZE " if analyze else "EXPLAIN "
        rows = self._run_around(prefix, "")
        return "\n".join(line for (line,) in rows.fetch(None))

    def profile(self) -> Profile:
        """Runs the query; a page of what each operator did, to save or to see in a notebook.

        >>> import volley as vl
        >>> "SELECT 1 AS a" in vl.sql("SELECT 1 AS a").profile().html
        True
        """
        from ._profile import Profile

        rows = self._run_around("EXPLAIN (ANALYZE, FORMAT HTML) ", "")
        return Profile("\n".join(line for (line,) in rows.fetch(None)))

    def show_sql(self) -> str:
        """The query in SQL.

        >>> import volley as vl
        >>> print(vl.table("t").filter(vl.col("a") > 1).select("b").show_sql())
        SELECT b
        FROM t
        WHERE a > 1
        """
        return self._direct.text() if self._direct is not None else self._query.to_sql()

    def write_parquet(self, path: Path, **options: Any) -> int:
        """Writes the rows to a Parquet file; how many."""
        return self._write(path, "parquet", options)

    def write_csv(self, path: Path, **options: Any) -> int:
        """Writes the rows to a CSV file; how many."""
        return self._write(path, "csv", options)

    def write_json(self, path: Path, **options: Any) -> int:
        """Writes the rows to a file of JSON lines; how many."""
        return self._write(path, "json", options)

    def _write(self, path: Path, file_format: str, options: dict[str, Any]) -> int:
        settings = [f"FORMAT {file_format}"]
        for name, value in options.items():
            if not name.isidentifier():
                raise InvalidQuery(f"no name of an option: {name}")
            settings.append(f"{name} {_quoted(value) if isinstance(value, str) else value}")
        suffix = f") TO {_quoted(str(path))} ({', '.join(settings)})"
        return int(self._run_around("COPY (", suffix))

    def _run_around(self, prefix: str, suffix: str) -> Any:
        """Runs a statement that has the query in it."""
        inner = self._connection._inner
        (statement,) = inner.parse(f"{prefix}{self.show_sql()}{suffix}")
        positional, named = self._parameters
        rows, written = inner.run(statement, positional, named, self._lookup())
        return written if rows is None else rows

    # Steps

    def _next(
        self, query: _volley.Query, mark: int, *others: Frame, names: Sequence[str | None] | None = None
    ) -> Frame:
        """The frame of a query over this one; `names` are those of its columns, if all are known."""
        tables = dict(self._tables)
        frame = Frame(self._connection, query, tables, mark, (self, *others))
        if names is not None:
            known = [it for it in names if it is not None]
            frame._known_names = known if len(known) == len(names) else None
        named = dict(self._parameters[1])
        for it in others:
            if it._connection is not self._connection:
                raise InvalidQuery("frames of different connections; collect one of them first")
            tables.update(it._tables)
            named.update(it._parameters[1])
        positional = [p for it in (self, *others) for p in it._parameters[0]]
        if positional and (named or sum(bool(it._parameters[0]) for it in (self, *others)) > 1):
            raise InvalidQuery("frames of SQL with parameters by position cannot be combined")
        frame._parameters = (positional, named)
        return frame

    def _exprs(self, exprs: Sequence[Any], named: dict[str, Any]) -> list[Expr]:
        all_exprs = [_column(it) for it in _flat(exprs)]
        all_exprs += [_column(it).alias(name) for name, it in named.items()]
        return _expand(all_exprs, lambda: self.schema)

    def select(self, *exprs: Any, **named: Any) -> Frame:
        """Columns made of the columns. Aggregates of all rows make one row.

        >>> import volley as vl
        >>> vl.frame({"a": [1, 2]}).select("a", b=vl.col("a") * 10).fetchall()
        [(1, 10), (2, 20)]
        """
        mark = next(_MARKS)
        columns = self._exprs(exprs, named)
        aggregated = [it._tree.is_aggregate() for it in columns]
        if any(aggregated) and not all(
            is_one or not it._tree.columns() for it, is_one in zip(columns, aggregated, strict=True)
        ):
            columns = [
                _broadcast(it) if is_one else it
                for it, is_one in zip(columns, aggregated, strict=True)
            ]
        items = [(it._tree, _output(it)) for it in columns]
        if not items:
            raise InvalidQuery("select() needs a column")
        if any(aggregated) and all(not it._tree.columns() or it._tree.is_aggregate() for it in columns):
            return self._next(self._query.aggregate([], items, None, mark), mark)
        return self._next(self._query.select(items, mark), mark)

    def with_columns(self, *exprs: Any, **named: Any) -> Frame:
        """The columns and others, which replace those of their names.

        >>> import volley as vl
        >>> vl.frame({"a": [1, 2]}).with_columns(vl.col("a") + 1, b=vl.col("a").sum()).fetchall()
        [(2, 3), (3, 3)]
        """
        mark = next(_MARKS)
        made = {_output(it): _broadcast(it) for it in self._exprs(exprs, named)}
        items = []
        for name in self._names():
            given = made.pop(name, None)
            items.append((_volley.Expr.column(name) if given is None else given._tree, name))
        items += [(it._tree, name) for name, it in made.items()]
        return self._next(self._query.select(items, mark), mark, names=[it for _, it in items])

    def filter(self, *predicates: Any, **equal: Any) -> Frame:
        """The rows that satisfy all predicates.

        >>> import volley as vl
        >>> vl.frame({"a": [1, 2, 3]}).filter(vl.col("a") > 1, vl.col("a") < 3).fetchall()
        [(2,)]
        """
        mark = next(_MARKS)
        conditions = _expand([_column(it) for it in _flat(predicates)], lambda: self.schema)
        conditions += [_expr.col(name) == value for name, value in equal.items()]
        windowed = " OVER (" in _all(conditions)._tree.to_sql()
        if any(it._tree.is_aggregate() for it in conditions) or windowed:
            # SQL evaluates WHERE before windows.
            names = self.columns
            extra = "\x00keep"
            marked = self.with_columns(**{extra: _broadcast(_all(conditions))})
            kept = marked._next(marked._query.filter(_volley.Expr.column(extra), mark), mark)
            items = [(_volley.Expr.column(it), it) for it in names]
            return kept._next(kept._query.select(items, mark), mark)
        query = self._query.filter(_all(conditions)._tree, mark)
        return self._next(query, mark, names=self._known_names)

    def group_by(self, *keys: Any, **named: Any) -> GroupBy:
        """Groups of rows with equal keys: `group_by("a").agg(...)`.

        >>> import volley as vl
        >>> f = vl.frame({"k": [1, 1, 2], "v": [1.0, 3.0, 5.0]})
        >>> f.group_by("k").agg(vl.col("v").mean()).sort("k").fetchall()
        [(1, 2.0), (2, 5.0)]
        """
        return GroupBy(self, self._exprs(keys, named))

    def join(
        self,
        other: Frame,
        on: Any = None,
        how: str = "inner",
        *,
        left_on: Any = None,
        right_on: Any = None,
        suffix: str = "_right",
        coalesce: bool | None = None,
        nulls_equal: bool = False,
    ) -> Frame:
        """Pairs of rows of two frames: `inner`, `left`, `right`, `full`, `semi`, `anti`, `cross`.

        `on` names columns of both, or is a condition, in which columns of the other frame have
        the suffix where both have the name. A join by a condition has all columns of both.

        >>> import volley as vl
        >>> a = vl.frame({"k": [1, 2], "x": ["a", "b"]})
        >>> b = vl.frame({"k": [2, 3], "y": ["c", "d"]})
        >>> a.join(b, on="k").fetchall()
        [(2, 'b', 'c')]
        >>> a.join(b, on=vl.col("k") < vl.col("k_right"), how="semi").fetchall()
        [(1, 'a'), (2, 'b')]
        """
        mark = next(_MARKS)
        how = {"outer": "full", "full_outer": "full"}.get(how, how)
        if isinstance(on, Expr) and on._tree.column_name() is None:
            return self._join_by(other, on, how, suffix)
        left_keys, right_keys = _join_keys(on, left_on, right_on)
        condition = None
        pairs = list(zip(left_keys, right_keys, strict=True))
        for left, right in pairs:
            operator = "IS NOT DISTINCT FROM" if nulls_equal else "="
            equal = _volley.Expr.binary(left._tree.of_table("l"), operator, right._tree.of_table("r"))
            condition = equal if condition is None else _volley.Expr.binary(condition, "AND", equal)
        if condition is None and how != "cross":
            raise InvalidQuery(f"a join of the kind {how} needs keys: on, or left_on and right_on")
        merges = coalesce if coalesce is not None else how in ("inner", "left", "right")
        named: dict[str, str] = {}
        for left, right in pairs:
            left_name, right_name = left._tree.column_name(), right._tree.column_name()
            if merges and left_name is not None and right_name is not None:
                named[right_name] = left_name
        items = _join_items(self._names(), other._names(), named, how, suffix)
        query = self._query.join(other._query, how, condition, items, mark)
        return self._next(query, mark, other, names=[it for _, it in items])

    def _join_by(self, other: Frame, condition: Expr, how: str, suffix: str) -> Frame:
        """Pairs of rows for which a condition over the columns of both is true."""
        if how == "cross":
            raise InvalidQuery("a cross join has no condition; leave on out, or join in another way")
        mark = next(_MARKS)
        left, right = self._names(), other._names()
        columns = {name: ("r", name) for name in right}
        columns |= {name + suffix: ("r", name) for name in right if name in left}
        columns |= {name: ("l", name) for name in left}
        items = _join_items(left, right, {}, how, suffix)
        query = self._query.join(other._query, how, condition._tree.placed(columns), items, mark)
        return self._next(query, mark, other, names=[it for _, it in items])

    def join_where(
        self, other: Frame, *predicates: Any, how: str = "inner", suffix: str = "_right"
    ) -> Frame:
        """Pairs of rows of two frames that satisfy predicates over the columns of both.

        >>> import volley as vl
        >>> a, b = vl.frame({"x": [1, 5]}), vl.frame({"low": [0], "high": [3]})
        >>> a.join_where(b, vl.col("x") > vl.col("low"), vl.col("x") < vl.col("high")).fetchall()
        [(1, 0, 3)]
        >>> a.join_where(b, vl.col("x") > vl.col("low"), vl.col("x") < vl.col("high"), how="anti").item()
        5
        """
        made = [_column(it) for it in _flat(list(predicates))]
        if not made:
            raise InvalidQuery("join_where needs a predicate")
        condition = made[0]
        for it in made[1:]:
            condition = condition & it
        return self._join_by(other, condition, how, suffix)

    def join_asof(
        self,
        other: Frame,
        on: str | None = None,
        *,
        left_on: str | None = None,
        right_on: str | None = None,
        by: Any = None,
        strategy: str = "backward",
        suffix: str = "_right",
    ) -> Frame:
        """For each row the nearest row of another frame that is not later (`backward`) or earlier.

        >>> import volley as vl
        >>> trades = vl.frame({"t": [5, 10], "q": [1, 2]})
        >>> prices = vl.frame({"t": [1, 6], "p": [1.5, 2.5]})
        >>> trades.join_asof(prices, on="t").sort("t").fetchall()
        [(5, 1, 1.5), (10, 2, 2.5)]
        """
        mark = next(_MARKS)
        left, right = left_on or on, right_on or on
        if left is None or right is None:
            raise InvalidQuery("join_asof needs a key: on, or left_on and right_on")
        operators = {"backward": ">=", "forward": "<="}
        if strategy not in operators:
            raise InvalidQuery(f"no such strategy: {strategy}; there are backward and forward")
        column = _volley.Expr.column
        condition = _volley.Expr.binary(column(left, "l"), operators[strategy], column(right, "r"))
        names = {right: left} if left == right else {}
        for key in _flat([] if by is None else [by]):
            equal = _volley.Expr.binary(column(key, "l"), "=", column(key, "r"))
            condition = _volley.Expr.binary(equal, "AND", condition)
            names[key] = key
        items = _join_items(self._names(), other._names(), names, "left", suffix)
        query = self._query.join(other._query, "asof_left", condition, items, mark)
        return self._next(query, mark, other, names=[it for _, it in items])

    def sort(
        self, *by: Any, descending: bool | Sequence[bool] = False, nulls_last: bool | Sequence[bool] = False
    ) -> Frame:
        """The rows in order. Nulls come first, unless `nulls_last`.

        >>> import volley as vl
        >>> vl.frame({"a": [2, None, 1]}).sort("a", descending=True, nulls_last=True).fetchall()
        [(2,), (1,), (None,)]
        """
        mark = next(_MARKS)
        keys = _expand([_column(it) for it in _flat(by)], lambda: self.schema)
        query = self._query.sort(_order(keys, descending, nulls_last), mark)
        return self._next(query, mark, names=self._known_names)

    def limit(self, n: int, offset: int = 0) -> Frame:
        """At most `n` rows, after `offset` rows.

        >>> import volley as vl
        >>> vl.sql("SELECT * FROM range(9) r(i)").limit(2, offset=3).fetchall()
        [(3,), (4,)]
        """
        mark = next(_MARKS)
        return self._next(self._query.limit(n, offset, mark), mark, names=self._known_names)

    def head(self, n: int = 5) -> Frame:
        """The first rows."""
        return self.limit(n)

    def slice(self, offset: int, length: int | None = None) -> Frame:
        """Rows from an offset on."""
        mark = next(_MARKS)
        return self._next(self._query.limit(length, offset, mark), mark, names=self._known_names)

    def distinct(self, *on: Any) -> Frame:
        """Each row once, or one row for equal values of some columns.

        >>> import volley as vl
        >>> vl.frame({"a": [1, 1, 2]}).distinct().sort("a").fetchall()
        [(1,), (2,)]
        """
        mark = next(_MARKS)
        keys = [it._tree for it in self._exprs(on, {})]
        return self._next(self._query.distinct(keys, mark), mark, names=self._known_names)

    def unique(self, subset: Any = None) -> Frame:
        """Each row once; the name in Polars."""
        return self.distinct(*([] if subset is None else _flat([subset])))

    def sample(
        self, n: int | None = None, *, fraction: float | None = None, seed: int | None = None
    ) -> Frame:
        """Some rows at random: a number, or a fraction. Equal seeds draw equal samples.

        >>> import volley as vl
        >>> len(vl.sql("SELECT * FROM range(1000)").sample(10, seed=1).fetchall())
        10
        """
        mark = next(_MARKS)
        if (n is None) == (fraction is None):
            raise InvalidQuery("sample() needs a number of rows or a fraction")
        size = f"reservoir({int(n)} ROWS)" if n is not None else f"bernoulli({100 * (fraction or 0)} PERCENT)"
        return self._next(self._query.sample(size, seed, mark), mark)

    def union(self, *others: Frame, distinct: bool = False, by_name: bool = False) -> Frame:
        """The rows of all frames, columns matched by position or by name.

        >>> import volley as vl
        >>> vl.frame({"a": [1]}).union(vl.frame({"a": [1, 2]})).sort("a").fetchall()
        [(1,), (1,), (2,)]
        """
        frame = self
        for other in others:
            operator = "union" if distinct else "union all by name" if by_name else "union all"
            frame = frame._next(frame._query.set(operator, other._query), next(_MARKS), other)
        return frame

    def except_(self, other: Frame) -> Frame:
        """The distinct rows that another frame does not have."""
        return self._next(self._query.set("except", other._query), next(_MARKS), other)

    def intersect(self, other: Frame) -> Frame:
        """The distinct rows that another frame has too."""
        return self._next(self._query.set("intersect", other._query), next(_MARKS), other)

    def rename(self, names: dict[str, str]) -> Frame:
        """The columns under other names."""
        mark = next(_MARKS)
        missing = [it for it in names if it not in self.schema]
        if missing:
            raise InvalidQuery(f"no such column: {missing[0]}")
        items = [(_volley.Expr.column(it), names.get(it, it)) for it in self.schema]
        return self._next(self._query.select(items, mark), mark)

    def drop(self, *columns: Any) -> Frame:
        """The other columns."""
        dropped = {_output(it) for it in self._exprs(columns, {})}
        missing = dropped - set(self.schema)
        if missing:
            raise InvalidQuery(f"no such column: {sorted(missing)[0]}")
        return self.select([it for it in self.schema if it not in dropped])

    def drop_nulls(self, *columns: Any) -> Frame:
        """The rows without a null, in all or in some columns."""
        names = [_output(it) for it in self._exprs(columns, {})] or self.columns
        return self.filter(*[_expr.col(it).is_not_null() for it in names])

    def fill_null(self, value: Any) -> Frame:
        """A value in place of nulls, in columns of its kind."""
        from . import selectors as cs

        kind = cs.string() if isinstance(value, str) else cs.numeric()
        return self.with_columns(kind.as_expr().fill_null(value))

    def with_row_index(self, name: str = "index", offset: int = 0) -> Frame:
        """A column that numbers the rows, before the others."""
        number = _volley.Expr.call("row_number", []).over([], [])
        shifted = _volley.Expr.binary(number, "+", _expr.lit(offset - 1)._tree)
        mark = next(_MARKS)
        items = [(shifted, name), *((_volley.Expr.column(it), it) for it in self.schema)]
        return self._next(self._query.select(items, mark), mark)

    def explode(self, *columns: Any) -> Frame:
        """A row for each element of lists.

        >>> import volley as vl
        >>> vl.frame({"a": [1, 2], "b": [[10, 20], [30]]}).explode("b").fetchall()
        [(1, 10), (1, 20), (2, 30)]
        """
        mark = next(_MARKS)
        names = {_output(it) for it in self._exprs(columns, {})}
        column = _volley.Expr.column
        items = [
            (_volley.Expr.call("unnest", [column(it)]) if it in names else column(it), it)
            for it in self.schema
        ]
        return self._next(self._query.select(items, mark), mark)

    def unnest(self, *columns: Any) -> Frame:
        """The fields of rows as columns; of lists, a row for each element.

        >>> import volley as vl
        >>> vl.frame({"a": [{"x": 1, "y": 2}]}).unnest("a").fetchall()
        [(1, 2)]
        """
        mark = next(_MARKS)
        names = {_output(it) for it in self._exprs(columns, {})}
        lists = [it for it in names if self.schema[it].startswith("ARRAY(")]
        if lists:
            return self.explode(*lists)
        items: list[tuple[_volley.Expr, str | None]] = []
        column = _volley.Expr.column
        for name in self.schema:
            if name in names:
                items.append((_volley.Expr.call("unnest", [column(name)]), None))
            else:
                items.append((column(name), name))
        return self._next(self._query.select(items, mark), mark)

    def pivot(
        self,
        on: str,
        *,
        index: Any = None,
        values: str | None = None,
        aggregate_function: str = "first",
        on_columns: Sequence[Any] | None = None,
    ) -> Frame:
        """A column for each value of a column. Without `on_columns` a query finds the values. Without
        `index` or `values` these are the other columns.

        >>> import volley as vl
        >>> f = vl.frame({"k": [1, 1, 2], "m": ["a", "b", "a"], "v": [10, 20, 30]})
        >>> f.pivot("m", index="k", values="v", aggregate_function="sum").sort("k").fetchall()
        [(1, 10, 20), (2, 30, None)]
        """
        keys = [] if index is None else self._exprs([index], {})
        known = {on, *map(_output, keys)}
        if values is None:
            left = [it for it in self.columns if it not in known]
            if index is None or len(left) != 1:
                raise InvalidValue(f"pivot needs `values`, the name of one of the columns {left}")
            (values,) = left
        if index is None:
            keys = [_expr.col(it) for it in self.columns if it not in (on, values)]
        found = on_columns
        if found is None:
            found = [it for (it,) in self.select(on).distinct().sort(on).fetchall()]
        function = {"mean": "avg", "len": "count"}.get(aggregate_function, aggregate_function)
        made = {}
        for value in found:
            same = _expr.col(on).eq_missing(value)
            made[str(value)] = _expr.col(values)._call(function).filter(same)
        return self.group_by(*keys).agg(**made) if keys else self.select(**made)

    def unpivot(
        self,
        on: Any = None,
        *,
        index: Any = None,
        variable_name: str = "variable",
        value_name: str = "value",
    ) -> Frame:
        """A row for each of some columns: its name and its value.

        >>> import volley as vl
        >>> vl.frame({"k": [1], "a": [10], "b": [20]}).unpivot(index="k").sort("value").fetchall()
        [(1, 'a', 10), (1, 'b', 20)]
        """
        mark = next(_MARKS)
        keys = [_output(it) for it in self._exprs([] if index is None else [index], {})]
        if on is None:
            names = [it for it in self.schema if it not in keys]
        else:
            names = [_output(it) for it in self._exprs([on], {})]
        column, call = _volley.Expr.column, _volley.Expr.call
        labels = _volley.Expr.array([_volley.Expr.literal(it) for it in names])
        cells = _volley.Expr.array([column(it) for it in names])
        items = [(column(it), it) for it in keys]
        items += [(call("unnest", [labels]), variable_name), (call("unnest", [cells]), value_name)]
        return self._next(self._query.select(items, mark), mark)

    def describe(self) -> Frame:
        """Statistics of each column."""
        return self._connection.sql(f"SUMMARIZE {self.show_sql()}", _tables=self._tables)

    def count(self) -> int:
        """The number of rows."""
        return int(self.select(_expr.len()).item())

    def sql(self, query: str, /, name: str = "self") -> Frame:
        """A query in SQL over this frame, called `self`, or another name.

        >>> import volley as vl
        >>> vl.frame({"a": [1, 2]}).sql("SELECT sum(a) FROM self").fetchall()
        [(3,)]
        """
        return self._connection.sql(query, _tables={name: self})

    def pipe(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """What a function makes of the frame."""
        return function(self, *args, **kwargs)

    def register(self, name: str) -> Frame:
        """Makes the rows a table of the connection under a name."""
        self._connection.register(name, self)
        return self


def sql_name(frame: Frame) -> set[str]:
    """The name that stands for a frame's own statement of SQL."""
    if frame._direct is None:
        return set()
    text = frame._direct.text()
    return {name for name, it in frame._tables.items() if name.startswith("sql$") and it == text}


def _unpickled(
    sql: str, tables: dict[str, str], parameters: tuple[list[Any], dict[str, Any]]
) -> Frame:
    from . import default_connection

    positional, named = parameters
    return default_connection().sql(sql, *positional, _tables=tables, **named)


class GroupBy:
    """Groups of rows; `agg` makes a row of each."""

    __slots__ = ("_frame", "_keys", "_having")

    def __init__(self, frame: Frame, keys: list[Expr], having: Expr | None = None) -> None:
        self._frame = frame
        self._keys = keys
        self._having = having

    def having(self, *predicates: Any) -> GroupBy:
        """Keeps the groups that satisfy predicates over aggregates."""
        return GroupBy(self._frame, self._keys, _all(predicates))

    def agg(self, *exprs: Any, **named: Any) -> Frame:
        """The keys and aggregates of each group. What is no aggregate becomes a list."""
        frame, mark = self._frame, next(_MARKS)
        keys = {_output(it) for it in self._keys}
        made = [_column(it) for it in _flat(exprs)]
        made += [_column(it).alias(name) for name, it in named.items()]
        expanded = _expand(
            made, lambda: {name: of for name, of in frame.schema.items() if name not in keys}
        )
        items = [(it._tree, _output(it)) for it in self._keys]
        for it in expanded:
            tree = it._tree
            if not tree.is_aggregate():
                tree = _volley.Expr.call("list", [tree])
            items.append((tree, _output(it)))
        having = None if self._having is None else self._having._tree
        trees = [it._tree for it in self._keys]
        query = frame._query.aggregate(trees, items, having, mark)
        return frame._next(query, mark, names=[it for _, it in items])

    def len(self, name: str = "len") -> Frame:
        """The number of rows of each group."""
        return self.agg(_expr.len().alias(name))

    def _each(self, function: str) -> Frame:
        return self.agg(_expr.all()._call(function))

    def sum(self) -> Frame:
        """The sums of all other columns."""
        return self._each("sum")

    def mean(self) -> Frame:
        """The means of all other columns."""
        return self._each("avg")

    def min(self) -> Frame:
        """The smallest values of all other columns."""
        return self._each("min")

    def max(self) -> Frame:
        """The greatest values of all other columns."""
        return self._each("max")

    def first(self) -> Frame:
        """A first value of all other columns."""
        return self._each("first")


def _broadcast(expr: Expr) -> Expr:
    """The expression with aggregates over all rows, as a column of each row."""
    if not expr._tree.is_aggregate():
        return expr
    return Expr(expr._tree.over([], []), expr._name or _root(expr), None, expr._affixes)


def _join_keys(on: Any, left_on: Any, right_on: Any) -> tuple[list[Expr], list[Expr]]:
    if on is not None:
        keys = [_column(it) for it in _flat([on])]
        return keys, keys
    left = [_column(it) for it in _flat([] if left_on is None else [left_on])]
    right = [_column(it) for it in _flat([] if right_on is None else [right_on])]
    if len(left) != len(right):
        raise InvalidQuery(f"left_on has {len(left)} keys, right_on has {len(right)}")
    return left, right


def _join_items(
    left: list[str], right: list[str], merged: dict[str, str], how: str, suffix: str
) -> list[tuple[_volley.Expr, str]]:
    """The columns of a join. `merged`: names of right keys and of the left keys that they equal."""
    column, items = _volley.Expr.column, []
    merged_left = {name: key for key, name in merged.items()}
    for name in left:
        tree = column(name, "l")
        if name in merged_left and how == "right":
            # The keys are those of the right frame.
            continue
        if name in merged_left and how == "full":
            tree = _volley.Expr.call("coalesce", [tree, column(merged_left[name], "r")])
        items.append((tree, name))
    if how in ("semi", "anti"):
        return items
    kept = set(left) - (set(merged_left) if how == "right" else set())
    for name in right:
        if name not in merged or how == "right":
            items.append((column(name, "r"), name + suffix if name in kept else name))
    return items


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
