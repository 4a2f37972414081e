"""Objects of Python as tables of the engine."""

from __future__ import annotations

import sys

from . import _volley

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


def is_table(value: Any) -> bool:
    """Whether SQL may name a variable with this value as a table. Imports nothing."""
    if isinstance(value, (str, bytes, int, float, type, type(sys))) or callable(value):
        return False
    if isinstance(value, dict):
        return bool(value) and all(isinstance(it, str) for it in value) and _has_columns(value)
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], dict)
    if type(value).__module__ == "numpy" and type(value).__name__ == "ndarray":
        return value.ndim in (1, 2)
    if type(value).__module__.startswith("pyarrow") and hasattr(value, "scanner"):
        return True
    if type(value).__module__.startswith("polars.") and type(value).__name__ == "LazyFrame":
        return True
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def _has_columns(value: Mapping[str, Any]) -> bool:
    return all(hasattr(it, "__len__") and not isinstance(it, (str, bytes)) for it in value.values())


def to_table(data: Any, schema: Any = None) -> _volley.Table:
    """The table that an object is: Arrow data, pandas, numpy, dictionaries, lists, generators."""
    if isinstance(data, _volley.Table):
        return data
    if isinstance(data, dict):
        return _from_columns(data)
    if isinstance(data, (list, tuple)):
        return _from_rows(data, schema)
    module = type(data).__module__.split(".")[0]
    if module == "pandas":
        return _from_pandas(data)
    if module == "polars":
        # A lazy frame runs in Polars now; a series is a table of one column.
        if hasattr(data, "collect"):
            data = data.collect()
        elif hasattr(data, "to_frame"):
            data = data.to_frame()
        return _volley.Table.from_stream(data)
    if module == "pyarrow":
        return _from_pyarrow(data)
    if module == "numpy":
        return _from_numpy(data)
    if hasattr(data, "__arrow_c_stream__"):
        return _volley.Table.from_stream(data)
    if hasattr(data, "__arrow_c_array__"):
        import pyarrow

        batch = pyarrow.record_batch(data)
        return _volley.Table.from_stream(pyarrow.Table.from_batches([batch]))
    if hasattr(data, "__next__"):
        return _from_batches(data)
    raise TypeError(
        f"no table: {type(data).__name__}; there are Arrow data of any library, pandas, numpy, "
        "dictionaries of columns, lists of dictionaries, and generators of record batches"
    )


def _from_columns(data: Mapping[str, Any]) -> _volley.Table:
    names = [str(it) for it in data]
    columns = list(data.values())
    if any(type(it).__module__.split(".")[0] in ("numpy", "pyarrow", "polars") for it in columns):
        import pyarrow

        return _volley.Table.from_stream(pyarrow.table(dict(zip(names, columns, strict=True))))
    return _volley.Table.from_columns(names, columns)


def _from_rows(data: Iterable[Any], schema: Any) -> _volley.Table:
    rows = list(data)
    if rows and hasattr(rows[0], "__arrow_c_array__") and not isinstance(rows[0], dict):
        return _from_batches(iter(rows))
    if all(isinstance(it, dict) for it in rows):
        names = list(schema) if schema is not None else list(dict.fromkeys(k for it in rows for k in it))
        return _volley.Table.from_columns(names, [[it.get(name) for it in rows] for name in names])
    for it in rows:
        if isinstance(it, (str, bytes)) or not hasattr(it, "__len__"):
            raise TypeError(
                f"no table: a row is of class {type(it).__name__}; rows are dictionaries, tuples or lists"
            )
    width = max((len(it) for it in rows), default=0)
    names = list(schema) if schema is not None else [f"column_{it}" for it in range(width)]
    columns = [[it[index] for it in rows] for index in range(len(names))]
    return _volley.Table.from_columns(names, columns)


def _from_pandas(data: Any) -> _volley.Table:
    if not hasattr(data, "columns"):
        data = data.to_frame()
    try:
        import pyarrow
    except ImportError:
        names = [str(it) for it in data.columns]
        return _volley.Table.from_columns(names, [data[it].tolist() for it in data.columns])
    try:
        table = pyarrow.Table.from_pandas(data, preserve_index=False)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        from ._errors import InvalidValue

        message = f"a column of pandas with values of different types: {' '.join(map(str, error.args))}"
        raise InvalidValue(message) from error
    return _volley.Table.from_stream(table)


def _from_pyarrow(data: Any) -> _volley.Table:
    import pyarrow

    if isinstance(data, pyarrow.RecordBatch):
        data = pyarrow.Table.from_batches([data])
    if isinstance(data, pyarrow.RecordBatchReader):
        return _volley.Table.from_stream_once(data)
    if hasattr(data, "scanner"):
        from ._pushdown import expression

        def scan(names: list[str], filters: list[Any]) -> Any:
            kept = expression(filters, data.schema)
            return data.scanner(columns=list(names), filter=kept).to_reader()

        return _volley.Table.from_function(scan, data.schema.empty_table())
    return _volley.Table.from_stream(data)


def _from_numpy(data: Any) -> _volley.Table:
    import pyarrow

    if data.dtype.names is not None:
        return _from_columns({name: data[name] for name in data.dtype.names})
    columns = [data] if data.ndim == 1 else list(data.T)
    names = [f"column_{it}" for it in range(len(columns))]
    arrays = [pyarrow.array(it.copy() if it.ndim > 1 else it) for it in columns]
    return _volley.Table.from_stream(pyarrow.table(arrays, names=names))


def _from_batches(batches: Any) -> _volley.Table:
    """Record batches that an iterator makes, read when the query wants them."""
    import pyarrow

    first = next(batches, None)
    if first is None:
        from ._errors import InvalidValue

        raise InvalidValue("a generator without record batches has no schema")

    def rest() -> Any:
        for batch in (first, *()):
            yield from _batches_of(batch)
        for batch in batches:
            yield from _batches_of(batch)

    schema = next(_batches_of(first)).schema
    return _volley.Table.from_stream_once(pyarrow.RecordBatchReader.from_batches(schema, rest()))


def _batches_of(item: Any) -> Any:
    import pyarrow

    if isinstance(item, pyarrow.RecordBatch):
        yield item
        return
    if isinstance(item, dict):
        item = pyarrow.table(item)
    elif not isinstance(item, pyarrow.Table):
        item = pyarrow.table(item)
    batches = item.to_batches()
    yield from batches or [pyarrow.RecordBatch.from_pylist([], schema=item.schema)]
