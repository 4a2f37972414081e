"""What a run of a query did."""

from __future__ import annotations

import html

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._connection import Path


class Profile:
    """A page that shows where a run of a query spent its time. In a notebook it is shown."""

    __slots__ = ("html",)

    #: The page, which needs no other files.
    html: str

    def __init__(self, page: str) -> None:
        self.html = page

    def save(self, path: Path) -> None:
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        page = html.escape(self.html)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 0"></iframe>'
