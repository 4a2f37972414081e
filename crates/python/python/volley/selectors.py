"""Selectors: columns by type or name, combined with `|`, `&`, `-` and `~`.

>>> import volley as vl
>>> import volley.selectors as cs
>>> vl.frame({"a": [1], "b": ["x"], "c": [2.5]}).select(cs.numeric()).columns
['a', 'c']
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ._expr import Expr

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")


class Selector:
    """Chooses columns of a frame by their names and types."""

    __slots__ = ("_test", "_names")

    def __init__(
        self, test: Callable[[str, str], bool], names: tuple[str, ...] | None = None
    ) -> None:
        self._test = test
        self._names = names

    def expand(self, schema: dict[str, str]) -> list[str]:
        """The names of the columns that it chooses."""
        if self._names is not None:
            return list(self._names)
        return [name for name, data_type in schema.items() if self._test(name, data_type)]

    def __or__(self, other: Selector) -> Selector:
        return Selector(lambda name, of: self._test(name, of) or other._test(name, of))

    def __and__(self, other: Selector) -> Selector:
        return Selector(lambda name, of: self._test(name, of) and other._test(name, of))

    def __sub__(self, other: Selector) -> Selector:
        return Selector(lambda name, of: self._test(name, of) and not other._test(name, of))

    def __invert__(self) -> Selector:
        return Selector(lambda name, of: not self._test(name, of))

    def as_expr(self) -> Expr:
        """An expression over each of the columns in turn: `cs.numeric().as_expr().sum()`."""
        from ._expr import _each

        return _each(self)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.as_expr(), name)


def all() -> Selector:
    """All columns."""
    return Selector(lambda name, of: True)


def by_name(*names: str) -> Selector:
    """Columns by name, in the order of the names."""
    return Selector(lambda name, of: name in names, names)


def by_dtype(*types: str) -> Selector:
    """Columns of types, by their names in SQL, such as `BIGINT` or `DECIMAL`."""
    wanted = tuple(it.upper() for it in types)
    return Selector(lambda name, of: of in wanted or of.split("(")[0] in wanted)


def numeric() -> Selector:
    """Numbers."""
    return Selector(lambda name, of: of in _INTEGERS or of in ("REAL", "DOUBLE") or _is_decimal(of))


def integer() -> Selector:
    """Whole numbers."""
    return Selector(lambda name, of: of in _INTEGERS)


def float() -> Selector:
    """REAL and DOUBLE."""
    return Selector(lambda name, of: of in ("REAL", "DOUBLE"))


def decimal() -> Selector:
    """Decimals."""
    return Selector(lambda name, of: _is_decimal(of))


def string() -> Selector:
    """Texts."""
    return Selector(lambda name, of: of == "VARCHAR")


def binary() -> Selector:
    """Bytes."""
    return Selector(lambda name, of: of == "VARBINARY")


def boolean() -> Selector:
    """Booleans."""
    return Selector(lambda name, of: of == "BOOLEAN")


def temporal() -> Selector:
    """Dates, times, timestamps and intervals."""
    return Selector(lambda name, of: of.startswith(("DATE", "TIME", "INTERVAL")))


def date() -> Selector:
    """Dates."""
    return Selector(lambda name, of: of == "DATE")


def datetime() -> Selector:
    """Timestamps."""
    return Selector(lambda name, of: of.startswith("TIMESTAMP"))


def starts_with(*prefixes: str) -> Selector:
    """Columns whose names begin with one of some texts."""
    return Selector(lambda name, of: name.startswith(prefixes))


def ends_with(*suffixes: str) -> Selector:
    """Columns whose names end with one of some texts."""
    return Selector(lambda name, of: name.endswith(suffixes))


def contains(*parts: str) -> Selector:
    """Columns whose names have one of some texts in them."""
    return Selector(lambda name, of: any(it in name for it in parts))


def matches(pattern: str) -> Selector:
    """Columns whose names a regular expression matches."""
    import re

    compiled = re.compile(pattern)
    return Selector(lambda name, of: compiled.search(name) is not None)


def exclude(*names: str) -> Selector:
    """All columns but some."""
    return all() - by_name(*names)


def _is_decimal(data_type: str) -> bool:
    return data_type.startswith("DECIMAL")
