"""The plug-in of Narwhals: `narwhals.from_native(frame)` takes frames of this package.

Narwhals' backend for DuckDB writes SQL that the engine understands. The plug-in loads that backend a
second time, over `volley._relation` in the place of the package `duckdb`, which need not be
installed. It was run with Narwhals 2.28 and 2.29.
"""

from __future__ import annotations

import sys
import threading

from . import _relation
from ._frame import Frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NATIVE_PACKAGE = "volley"

_PACKAGE = "volley._narwhals_backend"
_LOCK = threading.Lock()


def is_native(native_object: object, /) -> bool:
    """Whether an object is a frame of this package."""
    return isinstance(native_object, Frame)


def __narwhals_namespace__(version: Any) -> Any:
    """What Narwhals calls to wrap frames, read files and make expressions."""
    return _backend().Namespace(version=version)


def _backend() -> Any:
    with _LOCK:
        if _PACKAGE not in sys.modules:
            from ._narwhals_loader import load

            load(_PACKAGE, _relation)
        return sys.modules[_PACKAGE]
