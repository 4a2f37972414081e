"""Frames as tables of text and of HTML."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._frame import Frame

_CELL_MAX = 80


def _cell(value: object) -> str:
    text = "NULL" if value is None else str(value)
    text = text.replace("\n", "\\n")
    return text if len(text) <= _CELL_MAX else text[: _CELL_MAX - 1] + "…"


def table(frame: Frame, rows_max: int = 10) -> str:
    """The first rows in HTML."""
    import time
    from html import escape

    schema = frame.schema
    start = time.perf_counter()
    rows = frame.limit(rows_max + 1).fetchall()
    duration = f"{(time.perf_counter() - start) * 1000:,.0f} ms"
    head = "".join(
        f"<th>{escape(name)}<br><small>{escape(of)}</small></th>" for name, of in schema.items()
    )
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(it))}</td>" for it in row) + "</tr>"
        for row in rows[:rows_max]
    )
    total = frame._table.rows() if frame._table is not None else None
    if len(rows) <= rows_max:
        size = f"{len(rows)} rows"
    else:
        size = "more rows" if total is None else f"{total:,} rows"
    more = f"<p><small>{size}, {len(schema)} columns, {duration}</small></p>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def text(frame: Frame, rows_max: int = 20) -> str:
    """The first rows as text."""
    names = frame.columns
    rows = frame.limit(rows_max + 1).fetchall()
    cells = [names, *[[_cell(it) for it in row] for row in rows[:rows_max]]]
    widths = [max(len(row[at]) for row in cells) for at in range(len(names))]
    lines = [" | ".join(it.ljust(w) for it, w in zip(row, widths, strict=True)) for row in cells]
    lines.insert(1, "-+-".join("-" * it for it in widths))
    if len(rows) > rows_max:
        lines.append("...")
    return "\n".join(lines)
