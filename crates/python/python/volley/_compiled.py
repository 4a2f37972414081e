"""Functions compiled by Numba: machine code for whole batches, which runs without the GIL.

The engine calls `entry(rows, values, validity, output)`: the addresses of the values and validity
bits of each argument, and of the output. The code skips rows with a null. It returns 0, or 1 and
the number of the row whose call raised; then the engine calls the function in Python for that row.
"""

from __future__ import annotations

import dis
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Types in SQL that code takes and returns, as numpy calls them.
DTYPES = {
    "BOOLEAN": "bool",
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "REAL": "float32",
    "DOUBLE": "float64",
}


class Node:
    """A call in a tree of calls. An argument is another call, or the number of an input."""

    __slots__ = ("function", "arguments", "types", "returns")

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: list[Node | int],
        types: list[str],
        returns: str,
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.types = types
        self.returns = returns


class NotCompiled(Exception):
    """Why a function has no compiled form."""


@cache
def is_available() -> bool:
    """Whether Numba is installed."""
    from importlib.util import find_spec

    return find_spec("numba") is not None


@cache
def _pointer() -> Any:
    """The function of Numba that makes a pointer of an address."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    def as_pointer(typing: Any, address: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], cgutils.voidptr_t)

        return types.voidptr(types.uintp), code

    return intrinsic(as_pointer)


def compile_calls(root: Node, inputs: list[str]) -> Any:
    """The code of a tree of calls, with the types in SQL of its inputs; an object with `address`."""
    import numba
    import numpy
    from numba import types

    if any(it not in DTYPES for it in [*inputs, root.returns]):
        raise NotCompiled("its types are not BOOLEAN, integers, REAL or DOUBLE")
    names: dict[str, Any] = {
        "carray": numba.carray,
        "pointer": _pointer(),
        "uint8": numpy.uint8,
        "dtypes": tuple(numpy.dtype(DTYPES[it]) for it in inputs),
        "output_type": numpy.dtype(DTYPES[root.returns]),
    }
    for at, it in enumerate(inputs):
        names[f"type_{at}"] = numpy.dtype(DTYPES[it])
    checks: list[str] = []
    value = _source(root, names, checks)
    may_raise = bool(checks) or _may_raise(root)
    source = _loop_source(value, checks, len(inputs), may_raise)
    exec(source, names)
    signature = types.int64(
        types.int64, types.CPointer(types.uintp), types.CPointer(types.uintp), types.uintp
    )
    try:
        return numba.cfunc(signature, nopython=True)(names["entry"])
    except numba.core.errors.NumbaError as error:
        raise NotCompiled(str(error).strip().split("\n")[0]) from error


def _source(node: Node, names: dict[str, Any], checks: list[str]) -> str:
    """The text of a call; what it names is added to `names`, checks of its value to `checks`."""
    import numba

    arguments = []
    for it in node.arguments:
        arguments.append(f"a{it}[i]" if isinstance(it, int) else _source(it, names, checks))
    number = sum(name.startswith("f_") for name in names)
    function = numba.njit(node.function)
    names[f"f_{number}"] = function
    kinds = tuple(getattr(numba.types, _numba_name(it)) for it in node.types)
    try:
        function.compile(kinds)
        found = function.overloads[kinds].signature.return_type
    except Exception as error:
        raise NotCompiled(str(error).strip().split("\n")[0]) from error
    call = f"f_{number}({', '.join(arguments)})"
    convert, limits = _conversion(found, node.returns)
    names[f"as_{number}"] = convert
    if limits is None:
        return f"as_{number}({call})"
    names[f"low_{number}"], names[f"high_{number}"] = limits
    names[f"checked_{number}"] = _checked(*limits)
    checks.append(node.returns)
    return f"as_{number}(checked_{number}({call}))"


def _numba_name(sql_type: str) -> str:
    return "boolean" if sql_type == "BOOLEAN" else DTYPES[sql_type]


def _conversion(found: Any, returns: str) -> tuple[Any, tuple[int, int] | None]:
    """What makes a value of the type in SQL of one that Numba found, and the range to check."""
    import numba
    import numpy
    from numba import types

    dtype = numpy.dtype(DTYPES[returns])
    convert = getattr(numba, _numba_name(returns))
    if isinstance(found, types.Boolean):
        if returns != "BOOLEAN":
            raise NotCompiled(f"it returns booleans, not {returns}")
        return convert, None
    if isinstance(found, types.Integer) and dtype.kind in "if":
        if dtype.kind == "f" or (found.signed and found.bitwidth <= dtype.itemsize * 8):
            return convert, None
        info = numpy.iinfo(dtype)
        return convert, (int(info.min), int(info.max))
    if isinstance(found, types.Float) and dtype.kind == "f":
        return convert, None
    raise NotCompiled(f"it returns {found}, not {returns}")


def _checked(low: int, high: int) -> Any:
    import numba

    def checked(value: Any) -> Any:
        if value < low or value > high:
            raise OverflowError
        return value

    return numba.njit(checked)


def _may_raise(node: Node) -> bool:
    """Whether a call may raise, as far as its bytecode shows."""
    code = getattr(node.function, "__code__", None)
    if code is None:
        return True
    for it in dis.get_instructions(code):
        divides = it.opname == "BINARY_OP" and it.argrepr.strip("=") in ("/", "//", "%", "**")
        if divides or it.opname.startswith(("RAISE", "CALL", "BINARY_SUBSCR")):
            return True
    return any(isinstance(it, Node) and _may_raise(it) for it in node.arguments)


def _loop_source(value: str, checks: list[str], inputs: int, may_raise: bool) -> str:
    """The text of `entry`: a loop for batches without nulls, and one for those with nulls."""
    lines = ["def entry(rows, values, validity, output):"]
    lines += [f"    a{at} = carray(pointer(values[{at}]), rows, type_{at})" for at in range(inputs)]
    lines.append("    out = carray(pointer(output), rows, output_type)")
    any_null = " or ".join(f"validity[{at}] != 0" for at in range(inputs)) or "False"
    lines.append(f"    if not ({any_null}):")
    lines += _body(value, may_raise, "        ", [])
    lines.append("    else:")
    lines.append("        size = (rows + 7) // 8")
    skips = []
    for at in range(inputs):
        # Without nulls there are no bits; those of the values stand in, and are not looked at.
        lines.append(f"        has_{at} = validity[{at}] != 0")
        lines.append(
            f"        v{at} = carray(pointer(validity[{at}] if has_{at} else values[{at}]), "
            "size, uint8)"
        )
        skips.append(f"has_{at} and not (v{at}[i >> 3] >> (i & 7)) & 1")
    lines += _body(value, may_raise, "        ", skips)
    lines.append("    return 0")
    return "\n".join(lines) + "\n"


def _body(value: str, may_raise: bool, indent: str, skips: list[str]) -> list[str]:
    lines = [f"{indent}for i in range(rows):"]
    lines += [f"{indent}    if {it}:\n{indent}        continue" for it in skips]
    if not may_raise:
        return [*lines, f"{indent}    out[i] = {value}"]
    return [
        *lines,
        f"{indent}    failed = False",
        f"{indent}    try:",
        f"{indent}        out[i] = {value}",
        f"{indent}    except Exception:",
        f"{indent}        failed = True",
        f"{indent}    if failed:",
        f"{indent}        return i + 1",
    ]
