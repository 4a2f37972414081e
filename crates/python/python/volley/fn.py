"""Every function of SQL: `vl.fn.name(arguments)`. A text is the name of a column.

>>> import volley as vl
>>> vl.frame({"a": ["x"]}).select(vl.fn.upper("a")).fetchall()
[('X',)]
>>> vl.frame({"a": [4.0]}).select(vl.fn.sqrt(vl.col("a")).alias("root")).columns
['root']
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._expr import Expr


def __getattr__(name: str) -> Callable[..., Expr]:
    if name.startswith("__"):
        raise AttributeError(name)
    function = name.rstrip("_")

    def call(*arguments: Any) -> Expr:
        from . import _volley
        from ._expr import Expr, _column, _root

        items = [_column(it) for it in arguments]
        tree = _volley.Expr.call(function, [it._tree for it in items])
        return Expr(tree, next((it._name or _root(it) for it in items if _root(it)), None) or function)

    call.__name__ = name
    call.__doc__ = f"The function {function} of SQL."
    return call
