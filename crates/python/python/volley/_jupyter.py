"""The magics `%volley` and `%%volley` of IPython."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load(shell: Any) -> None:
    """Adds the magics to a shell."""
    shell.register_magic_function(volley_magic(shell), "line_cell", "volley")


def volley_magic(shell: Any) -> Any:
    """The magic of a shell: SQL in the line or the cell. A word in the line of a cell is the name of
    the variable that gets the frame: `%%volley result`."""

    def volley(line: str, cell: str | None = None) -> Any:
        from . import default_connection
        from ._connection import Connection
        from ._scan import is_table

        names = shell.user_ns
        target, text = (None, line) if cell is None else (line.strip() or None, cell)
        connection = names.get("db")
        if not isinstance(connection, Connection):
            connection = default_connection()
        tables = {
            name: it
            for name, it in names.items()
            if not name.startswith("_") and (is_table(it) or _is_frame(it))
        }
        frame = connection.sql(text, _tables=tables)
        if target is None:
            return frame
        names[target] = frame
        return None

    return volley


def _is_frame(value: Any) -> bool:
    from ._frame import Frame

    return isinstance(value, Frame)
