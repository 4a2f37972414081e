"""A worker process that runs a function row by row, and the pickling of functions for it.

The process runs this file alone, so that it starts fast: it must not import the package. Messages
are pickles with their length in front. The first one is the function, with whether it wants nulls;
each later one is a list of columns, and is answered with ("cells", cells) or ("raised", exception).
"""

from __future__ import annotations

import importlib
import io
import marshal
import pickle
import struct
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

_LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], data: bytes) -> None:
    """Writes a message."""
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Reads a message; `None` at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None


class _Pickler(pickle.Pickler):
    """Pickles functions that no module has by their code, modules by their name."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return importlib.import_module, (value.__name__,)
        if isinstance(value, types.FunctionType) and not _is_importable(value):
            return _function_state(value)
        if isinstance(value, type) and value.__module__ == "__main__":
            raise pickle.PicklingError(
                f"the class {value.__name__} of the main script; put it into a module"
            )
        return NotImplemented


def _is_importable(function: types.FunctionType) -> bool:
    module = sys.modules.get(function.__module__)
    if function.__module__ == "__main__" or module is None:
        return False
    found: Any = module
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for it in code.co_consts:
        if isinstance(it, types.CodeType):
            names |= _names(it)
    return names


def _function_state(function: types.FunctionType) -> Any:
    code = function.__code__
    scope = {it: function.__globals__[it] for it in _names(code) if it in function.__globals__}
    cells: list[tuple[Any, ...]] = []
    for it in function.__closure__ or ():
        try:
            cells.append((it.cell_contents,))
        except ValueError:
            cells.append(())
    state = (scope, function.__defaults__, function.__kwdefaults__, cells)
    made = (marshal.dumps(code), function.__name__, len(cells))
    return _new_function, made, state, None, None, _set_state


def _new_function(code: bytes, name: str, cells: int) -> types.FunctionType:
    closure = tuple(types.CellType() for _ in range(cells))
    scope: dict[str, Any] = {"__builtins__": __builtins__, "__name__": "__volley_function__"}
    return types.FunctionType(marshal.loads(code), scope, name, None, closure)


def _set_state(function: types.FunctionType, state: Any) -> None:
    scope, defaults, keywords, cells = state
    function.__globals__.update(scope)
    function.__defaults__, function.__kwdefaults__ = defaults, keywords
    for cell, content in zip(function.__closure__ or (), cells, strict=True):
        if content:
            (cell.cell_contents,) = content


class _Unpickler(pickle.Unpickler):
    """Finds the functions of this file here, though the package calls it by another name."""

    def find_class(self, module: str, name: str) -> Any:
        if module == "volley._worker":
            return globals()[name]
        return super().find_class(module, name)


def dumps(value: Any) -> bytes:
    """The bytes of a value with functions in it."""
    stream = io.BytesIO()
    _Pickler(stream, pickle.HIGHEST_PROTOCOL).dump(value)
    return stream.getvalue()


def loads(data: bytes) -> Any:
    """The value of bytes that `dumps` made."""
    return _Unpickler(io.BytesIO(data)).load()


def call_rows(
    function: Callable[..., Any], nulls: bool, columns: list[list[Any]], rows: int
) -> list[Any]:
    """The results of a function for each row. Without `nulls`, a null makes a null."""
    if not columns:
        return [function() for _ in range(rows)]
    if nulls:
        return list(map(function, *columns))
    if len(columns) == 1:
        return [None if it is None else function(it) for it in columns[0]]
    return [None if None in row else function(*row) for row in zip(*columns, strict=True)]


def _answer(function: Callable[..., Any], nulls: bool, message: bytes) -> bytes:
    try:
        columns, rows = pickle.loads(message)
        return pickle.dumps(("cells", call_rows(function, nulls, columns, rows)))
    except BaseException as raised:
        try:
            data = pickle.dumps(("raised", raised))
            pickle.loads(data)
            return data
        except Exception:
            text = f"{type(raised).__name__}: {raised}"
            return pickle.dumps(("raised", RuntimeError(text)))


def main() -> None:
    """Answers messages of the standard input until it ends."""
    import os
    import signal

    # Ctrl-C is for the process that waits for the answer; it ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    # What the function prints must not come between the answers.
    os.dup2(2, 1)
    questions = sys.stdin.buffer
    first = receive(questions)
    if first is None:
        return
    try:
        sys.path[:] = pickle.loads(receive(questions) or pickle.dumps(sys.path))
        function, nulls = loads(first)
    except Exception as raised:
        text = f"the function cannot be loaded: {type(raised).__name__}: {raised}"
        send(answers, pickle.dumps(("raised", RuntimeError(text))))
        return
    send(answers, pickle.dumps(("cells", [])))
    while (message := receive(questions)) is not None:
        send(answers, _answer(function, nulls, message))


if __name__ == "__main__":
    main()
