"""Filters of the engine as expressions of pyarrow, for data sets."""

from __future__ import annotations

import operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def expression(filters: list[Any], schema: Any) -> Any:
    """The filters as one expression; `None` without any. The engine applies them all again, so what
    pyarrow might compare in another way is left out."""
    made = [it for it in (_one(it, schema) for it in filters) if it is not None]
    result = None
    for it in made:
        result = it if result is None else result & it
    return result


def _one(condition: tuple[Any, ...], schema: Any) -> Any:
    import pyarrow.compute

    kind, *parts = condition
    if kind in ("and", "or"):
        made = [_one(it, schema) for it in parts[0]]
        if kind == "or" and any(it is None for it in made):
            return None
        result = None
        for it in (it for it in made if it is not None):
            if result is None:
                result = it
            else:
                result = result & it if kind == "and" else result | it
        return result
    name = parts[0]
    if schema.get_field_index(name) < 0:
        return None
    field, of = pyarrow.compute.field(name), schema.field(name).type
    if kind == "null":
        return field.is_null()
    if kind == "not null":
        return field.is_valid()
    if kind == "in":
        values = [_scalar(it, of) for it in parts[1]]
        if any(it is None for it in values):
            return None
        return field.isin(pyarrow.array([it.as_py() for it in values], type=of))
    value = _scalar(parts[1], of)
    return None if value is None else _COMPARISONS[kind](field, value)


def _scalar(value: tuple[str, Any], of: Any) -> Any:
    """The constant as a scalar of the column's type; `None` for other types than the engine's."""
    import pyarrow
    from pyarrow import types

    name, raw = value
    same = {
        "BOOLEAN": types.is_boolean,
        "TINYINT": types.is_int8,
        "SMALLINT": types.is_int16,
        "INTEGER": types.is_int32,
        "BIGINT": types.is_int64,
        "VARCHAR": lambda it: types.is_string(it) or types.is_large_string(it),
        "DATE": types.is_date32,
        "TIMESTAMP": lambda it: it == pyarrow.timestamp("us"),
    }
    if name not in same or not same[name](of):
        return None
    if name == "DATE":
        return pyarrow.scalar(raw, pyarrow.int32()).cast(of)
    if name == "TIMESTAMP":
        return pyarrow.scalar(raw, pyarrow.int64()).cast(of)
    return pyarrow.scalar(raw, of)
