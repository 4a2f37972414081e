"""Columns as arrays of numpy and tensors of PyTorch, and streams of batches of tensors."""

from __future__ import annotations

import os

from ._errors import InvalidValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from . import _volley
    from ._frame import Frame

_KINDS = {
    "BOOLEAN": "bool",
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINTEGER": "uint32",
    "UBIGINT": "uint64",
    "REAL": "float32",
    "DOUBLE": "float64",
    "DATE": "datetime64[D]",
    "TIMESTAMP": "datetime64[us]",
    "TIMESTAMP_S": "datetime64[s]",
    "TIMESTAMP_MS": "datetime64[ms]",
    "TIMESTAMP_NS": "datetime64[ns]",
}

#: Types whose columns tensors share.
_NUMBERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "REAL",
    "DOUBLE",
}


def numpy_column(table: _volley.Table, at: int, data_type: str) -> Any:
    """A column as an array of numpy: of objects, if numpy has no such type."""
    import numpy

    kind = _KINDS.get(data_type)
    found = None if kind is None else table.numbers(at)
    if kind is None or found is None:
        cells = table.cells(at)
        objects: Any = numpy.empty(len(cells), dtype=object)
        objects[:] = cells
        return objects
    numbers, nulls = found
    # A copy, into which the caller may write.
    array = numpy.array(numpy.from_dlpack(numbers))
    if kind.startswith("datetime"):
        array = array.astype("int64", copy=False).view(kind)
    if nulls is None:
        return array
    mask: Any = numpy.array(numpy.from_dlpack(nulls))
    if kind.startswith("datetime"):
        array[mask] = numpy.datetime64("NaT")
        return array
    return numpy.ma.masked_array(array, mask=mask)


def tensor_columns(data: Any, from_dlpack: Callable[[Any], Any]) -> dict[str, Any]:
    """The columns of a table or of Arrow data as tensors: pairs of values and offsets for lists."""
    from . import _volley

    table = data if isinstance(data, _volley.Table) else _volley.Table.from_stream(data)
    columns, whole = {}, None
    for at, (name, data_type) in enumerate(table.schema()):
        shared = _shared(table, at, data_type, name)
        if shared is None:
            if whole is None:
                import pyarrow

                whole = pyarrow.table(table)
            columns[name] = _tensor(_one_array(whole.column(at)), name, from_dlpack)
        else:
            columns[name] = from_dlpack(shared)
    return columns


def _shared(table: _volley.Table, at: int, data_type: str, name: str) -> _volley.Numbers | None:
    """The numbers of a column without a copy; `None` where they need one, or are in lists."""
    of, _, size = data_type.removesuffix(")").removeprefix("ARRAY(").rpartition(", ")
    is_fixed = data_type.startswith("ARRAY(") and of in _NUMBERS and size.isdigit()
    if data_type not in _NUMBERS and not is_fixed:
        return None
    found = table.numbers(at)
    if found is None:
        return None
    numbers, nulls = found
    if nulls is None:
        return numbers
    if data_type in ("REAL", "DOUBLE"):
        # Nulls become NaN.
        return None
    raise InvalidValue(f"null in the column {name}; fill it before it becomes a tensor")


def _one_array(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _tensor(array: Any, name: str, from_dlpack: Callable[[Any], Any]) -> Any:
    from pyarrow import types

    of = array.type
    if types.is_list(of) or types.is_large_list(of):
        if array.null_count:
            raise InvalidValue(f"null in the column {name}; fill it before it becomes a tensor")
        return _tensor(array.flatten(), name, from_dlpack), from_dlpack(_offsets(array))
    if types.is_fixed_size_list(of):
        if array.null_count:
            raise InvalidValue(f"null in the column {name}; fill it before it becomes a tensor")
        return _tensor(array.flatten(), name, from_dlpack).reshape(len(array), of.list_size)
    made = from_dlpack(_numbers(array, name))
    if types.is_boolean(of):
        # Older packages have no booleans in DLPack, so that these were bytes.
        return made.bool() if hasattr(made, "bool") else made.view("bool")
    return made


def _offsets(array: Any) -> Any:
    """Where each list begins among the flat values, and where the last one ends."""
    import numpy

    offsets = array.offsets.to_numpy(zero_copy_only=False).astype("int64")
    return offsets - offsets[0] if len(offsets) else numpy.zeros(1, "int64")


def _numbers(array: Any, name: str) -> Any:
    """What DLPack reads without a copy, if the layouts agree."""
    import pyarrow
    from pyarrow import types

    of = array.type
    if types.is_boolean(of):
        if array.null_count:
            raise InvalidValue(f"null in the column {name}; fill it before it becomes a tensor")
        return array.to_numpy(zero_copy_only=False).view("uint8")
    if types.is_decimal(of):
        array = array.cast(pyarrow.float64())
        of = array.type
    if types.is_floating(of):
        # Nulls become NaN. pyarrow's arrays can be read by DLPack, without nulls.
        return array if array.null_count == 0 else array.to_numpy(zero_copy_only=False)
    if types.is_integer(of):
        if array.null_count:
            raise InvalidValue(f"null in the column {name}; fill it before it becomes a tensor")
        return array
    raise InvalidValue(f"the column {name} of {of} cannot become a tensor; leave it out or cast it")


class TensorBatches:
    """The rows of a frame as batches of tensors; a share of them for each of several readers.

    Each reader runs the query on one thread, so that all of them see the rows in the same order, and
    takes every n-th batch.
    """

    def __init__(
        self,
        frame: Frame,
        batch_size: int,
        shuffle_buffer: int,
        seed: int,
        from_dlpack: Callable[[Any], Any],
    ) -> None:
        if batch_size < 1:
            raise InvalidValue("a batch has at least one row")
        self._frame = frame
        self._owner = os.getpid()
        self._batch_size = batch_size
        self._shuffle_buffer = shuffle_buffer
        self._seed = seed
        self._from_dlpack = from_dlpack

    def read(self, reader: int, readers: int, epoch: int) -> Iterator[dict[str, Any]]:
        """The batches of one of several readers."""
        frame = self._one_threaded(readers)
        blocks = (it for at, it in enumerate(self._batches(frame, readers)) if at % readers == reader)
        for table in self._mixed(blocks, reader, epoch):
            yield tensor_columns(table, self._from_dlpack)

    def _batches(self, frame: Frame, readers: int) -> Iterator[Any]:
        """Record batches; of a fixed number of rows if several readers share them."""
        if readers == 1:
            yield from frame.batches()
            return
        yield from _blocks(frame.batches(), self._batch_size)

    def _one_threaded(self, readers: int) -> Frame:
        if readers == 1 and os.getpid() == self._owner:
            return self._frame
        frame = self._frame
        if os.getpid() != self._owner:
            # The session of the parent does not exist here.
            made, arguments = frame.__reduce__()
            frame = made(*arguments)
        session = frame._connection.cursor()
        session.sql("SET threads = 1")
        return frame._on(session)

    def _mixed(self, blocks: Iterator[Any], reader: int, epoch: int) -> Iterator[Any]:
        """Tables of `batch_size` rows, mixed within each buffer; the last one may have fewer."""
        import numpy
        import pyarrow

        generator = numpy.random.default_rng([self._seed, epoch, reader])
        size = max(self._batch_size, self._shuffle_buffer)
        for block in _blocks(blocks, size, self._batch_size):
            table = pyarrow.table(block)
            if self._shuffle_buffer > 1:
                table = table.take(pyarrow.array(generator.permutation(table.num_rows)))
            for start in range(0, table.num_rows, self._batch_size):
                yield table.slice(start, self._batch_size)


def _blocks(batches: Iterator[Any], rows: int, multiple: int = 1) -> Iterator[Any]:
    """The batches as tables of `rows` rows, or the next multiple; the last one may have fewer."""
    import pyarrow

    rows = -(-rows // multiple) * multiple
    held: list[Any] = []
    count = 0
    for batch in batches:
        held.append(pyarrow.table(batch) if isinstance(batch, pyarrow.RecordBatch) else batch)
        count += batch.num_rows
        while count >= rows:
            table = pyarrow.concat_tables(held)
            yield table.slice(0, rows)
            rest = table.slice(rows)
            held, count = ([rest] if rest.num_rows else []), rest.num_rows
    if count:
        yield pyarrow.concat_tables(held)


def dataset(
    frame: Frame,
    batch_size: int,
    shuffle_buffer: int,
    seed: int,
    rank_of_world: tuple[int | None, int | None],
) -> Any:
    """An `IterableDataset` of PyTorch over the batches of a frame."""
    import torch

    from ._torch import FrameDataset

    batches = TensorBatches(frame, batch_size, shuffle_buffer, seed, torch.from_dlpack)
    return FrameDataset(batches, rank_of_world)
