"""``StudioView``: a view of the studio with its addresses, its place in the side bar, and what it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote

__all__ = ["StudioView"]


@dataclass(frozen=True, slots=True)
class StudioView:
    """A view: its addresses below ``/studio``, the first of which opens it; its title and icon; what draws it; its key.

    An address with ``{table}`` is opened for the current table; if there is none, the first address without it is used.
    """

    paths: tuple[str, ...]
    title: str
    icon: str
    draw: Callable[..., Awaitable[None]]
    # What is typed after "g" to go there.
    key: str = ""

    def path_of(self, table: str) -> str:
        """The address of the view, for the current table if the view is about one."""
        for path in self.paths:
            if ("{table}" in path) == bool(table) and path.replace("{table}", "").count("{") == 0:
                return path.replace("{table}", quote(table, safe=""))
        return next(path for path in self.paths if "{" not in path)
