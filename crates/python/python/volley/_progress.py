"""Progress of long queries: a line on the terminal, or an output of a notebook."""

from __future__ import annotations

import sys

from . import _volley

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WIDTH = 24


def show_progress(shown: bool | None = None) -> None:
    """Whether the progress of queries that take longer than half a second is shown.

    Without an argument it is shown in notebooks, and on standard error if that is a terminal.

    >>> import volley as vl
    >>> vl.show_progress(False)
    """
    _volley.set_progress_display(None if shown is False else _Display(shown is True))


class _Display:
    """Shows progress where the user is; called by the engine every 100 ms."""

    def __init__(self, is_forced: bool) -> None:
        self._is_forced = is_forced
        self._handle: Any = None

    def __call__(
        self, done: float | None, remaining: float | None, rows: int, elapsed: float
    ) -> None:
        shell = _notebook()
        if shell is not None:
            self._show_in_notebook(done, remaining, rows, elapsed)
        elif self._is_forced or _is_terminal():
            end = "\r\x1b[K"
            sys.stderr.write(end if done is None else end + line(done, remaining, rows, elapsed))
            sys.stderr.flush()

    def _show_in_notebook(
        self, done: float | None, remaining: float | None, rows: int, elapsed: float
    ) -> None:
        # An output with an id, which later ones replace: no widgets are needed.
        from IPython.display import HTML, display

        if done is None:
            if self._handle is not None:
                self._handle.update(HTML(""))
                self._handle = None
            return
        output = HTML(html(done, remaining, rows, elapsed))
        if self._handle is None:
            self._handle = display(output, display_id=True)
        else:
            self._handle.update(output)


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def _notebook() -> Any:
    """The shell of a notebook; `None` elsewhere. Imports nothing."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return shell if shell is not None and hasattr(shell, "kernel") else None


def _left(remaining: float | None) -> str:
    if remaining is None:
        return ""
    if remaining < 90:
        return f", {max(1, round(remaining))} s left"
    return f", {round(remaining / 60)} min left"


def line(done: float, remaining: float | None, rows: int, elapsed: float) -> str:
    """The progress as a line of text.

    >>> line(0.5, 3.2, 1_500_000, 3.1)
    '[############            ]  50 % 1,500,000 rows, 3 s, 3 s left'
    """
    full = round(done * _WIDTH)
    bar = "#" * full + " " * (_WIDTH - full)
    return f"[{bar}] {done * 100:3.0f} % {rows:,} rows, {elapsed:.0f} s{_left(remaining)}"


def html(done: float, remaining: float | None, rows: int, elapsed: float) -> str:
    """The progress as an element of HTML."""
    text = f"{done * 100:.0f} % &middot; {rows:,} rows, {elapsed:.0f} s{_left(remaining)}"
    return f'<progress max="1" value="{done:.4f}"></progress> <small>{text}</small>'


show_progress()
