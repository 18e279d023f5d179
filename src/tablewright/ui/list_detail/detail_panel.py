"""``DetailPanel``: one open thing, such as a ticket; its place and text being written stay while it changes.

    ┌ thing ──────────────┐┌ context ┐
    │ head: name, actions ││         │     class Ticket(DetailPanel):
    │ body                ││ facts   │         async def _read(self) -> Parts: ...        calls of the API
    │ foot: a composer    ││ history │         def _draw_head(self) -> None: ...          _draw_body, _draw_context
    └─────────────────────┘└─────────┘

``load`` reads it, one read after the other (``OrderedReads``), and redraws only the parts that have changed: a user's
own change arrives through the stream as well, and a button that is redrawn between the press and the release of the
mouse loses the click. Changes are conditional on the version that was seen (``_change``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from nicegui import ui

from tablewright.ui.api_calls import ApiResponse, Refused
from tablewright.ui.components import box, empty
from tablewright.ui.feedback import Handler, toast
from tablewright.ui.list_detail.ordered_reads import OrderedReads
from tablewright.ui.screen_page import Page

__all__ = ["DetailPanel", "Parts"]

# Not there, not for this person, or nothing that could be an id.
_MISSING = (400, 404, 422)


@dataclass(frozen=True, slots=True)
class Parts:
    """What each part of a thing shows; an unchanged part is not redrawn."""

    head: object
    body: object
    context: object = None


class DetailPanel(ABC):
    """A thing in two elements: the thing and its context."""

    ID: ClassVar[str]
    """The parameter of calls that identifies the thing."""

    def __init__(
        self, page: Page, key: str, thing: ui.element, context: ui.element, close: Callable[[], object]
    ) -> None:
        """``close`` draws the button that goes back to where the thing was opened from."""
        self._page = page
        self.key = key
        self._thing = thing
        self._context = context
        self._close = close
        # The entity tag of what was read last.
        self._etag: str | None = None
        self._drawn: Parts | None = None
        self._head: ui.element | None = None
        self._body: ui.element | None = None
        self._is_closed = False
        self.load = OrderedReads(self._load)

    # -- what a subclass says ---------------------------------------------------------------------------------------

    @abstractmethod
    async def _read(self) -> Parts:
        """Read the thing, and keep what the parts are drawn from; Refused if it does not exist."""

    @abstractmethod
    def _draw_head(self) -> None: ...

    @abstractmethod
    def _draw_body(self) -> None: ...

    @abstractmethod
    def _draw_context(self) -> None: ...

    @abstractmethod
    def _draw_foot(self) -> None:
        """Draw what stays while the thing changes, such as a composer; it is not drawn again."""

    def _said_meanwhile(self) -> str:
        """The message for a user whose change came second."""
        return self._page.t("shell.changed_meanwhile")

    # -- reading ------------------------------------------------------------------------------------------------------

    async def _load(self) -> bool:
        """Read the thing, and draw what has changed of it; returns whether it exists."""
        try:
            shown = await self._read()
        except Refused as error:
            if error.status not in _MISSING:
                raise
            if not self._is_closed:
                self._show_missing()
            return False
        if self._is_closed:
            return False
        if self._head is None or self._body is None:
            self._begin()
        before, self._drawn = self._drawn, shown
        for part, draw, is_same in (
            (self._head, self._draw_head, before is not None and before.head == shown.head),
            (self._body, self._draw_body, before is not None and before.body == shown.body),
            (self._context, self._draw_context, before is not None and before.context == shown.context),
        ):
            if part is not None and not is_same:
                part.clear()
                with part:
                    draw()
        return True

    def _begin(self) -> None:
        self._thing.clear()
        with self._thing:
            self._head = box("tw-thing-head", "header")
            with box("tw-thing-body", tabindex="0"):
                self._body = box("tw-stack")
            self._draw_foot()

    def end(self) -> None:
        """Something else is open in its place: a pending read draws nothing."""
        self._is_closed = True

    def clear(self) -> None:
        """Remove it from the screen; the next ``load`` draws all of it."""
        self._head = self._body = self._drawn = None
        self._thing.clear()
        self._context.clear()

    def _show_missing(self) -> None:
        t = self._page.t
        self.clear()
        with self._thing:
            with box("tw-thing-head"):
                self._close()
            empty(t("shell.not_found"), t("shell.not_found_about"))

    # -- changing -----------------------------------------------------------------------------------------------------

    async def _call(self, name: str, /, **values: Any) -> ApiResponse:
        """Make a call about this thing."""
        return await self._page.api.call(name, **{self.ID: self.key, **values})

    async def _change(self, call: str, message: str, *, body: Any = None, undo: Handler | None = None) -> None:
        """Change the thing as it was seen, or report that another change came first. In both cases, show the latest."""
        try:
            await self._call(call, body=body, seen=self._etag)
            toast(message, undo=None if undo is None else (self._page.t("shell.undo"), undo))
        except Refused as error:
            if not error.is_conflict:
                raise
            toast(self._said_meanwhile(), bad=True)
        await self.load()
