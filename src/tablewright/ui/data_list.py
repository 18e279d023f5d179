"""Lists that are read page by page, by cursor, and never as a whole.

    tasks = DataList(read=page_of_tasks, key=lambda task: task["taskId"], row=draw_row, nothing=draw_empty)
    await tasks.load()
    tasks.change(task)                redrawn in its place; first, if it is new
    tasks.remove("t-1")
    await tasks.refresh()             read again, and redrawn only where it has changed

``read`` gets a cursor (None at first) and returns items and the next cursor. The next page is read when its place
scrolls into view. Each row has an element of its own, so that a change of one does not move the others. Rows are markup
(``markup``) unless they have buttons or fields: ``controls=True``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from nicegui import ui

from tablewright.ui.components import box, button, failed, set_attribute, text
from tablewright.ui.feedback import error_text
from tablewright.ui.markup import draw_markup
from tablewright.ui.texts import Texts

__all__ = ["DataList"]

T = TypeVar("T")
Read = Callable[[str | None], Awaitable[tuple[Sequence[T], str | None]]]


class DataList(Generic[T]):
    """A list in the element that is open when it is created."""

    def __init__(
        self,
        t: Texts,
        *,
        read: Read[T],
        key: Callable[[T], str],
        row: Callable[[T], object],
        nothing: Callable[[], object],
        words: Callable[[T], str] = str,
        classes: str = "",
        controls: bool = False,
    ) -> None:
        self._t = t
        self._read = read
        self._key = key
        self._row = row
        self._has_controls = controls
        self._nothing = nothing
        self._words = words
        self._cursor: str | None = None
        self.items: dict[str, T] = {}
        self._elements: dict[str, ui.element] = {}
        self._body = box(classes)
        self._end = box("tw-more")
        self._loads = 0

    @property
    def has_more(self) -> bool:
        """Whether there is another page."""
        return self._cursor is not None

    async def load(self) -> None:
        """Read the first page, and draw it in place of the present rows."""
        await self._load(anew=True)

    async def refresh(self) -> None:
        """Read the first page again; unchanged rows stay in place, so that no click on one is lost."""
        await self._load(anew=False)

    async def _load(self, *, anew: bool) -> None:
        self._loads += 1
        number = self._loads
        try:
            items, cursor = await self._read(None)
        except Exception as error:
            self._clear()
            with self._body:
                failed(self._t("shell.not_shown"), error_text(error, self._t), (self._t("shell.again"), self.load))
            return
        if number != self._loads:
            # Another load has begun since.
            return
        if not anew and self._keep(items, cursor):
            return
        self._clear()
        self._cursor = cursor
        for item in items:
            self._add(item)
        self._finish()

    def _keep(self, items: Sequence[T], cursor: str | None) -> bool:
        """Draw only the rows that have changed, if all of them are where they were; whether that is so."""
        keys, shown = [self._key(item) for item in items], list(self.items)
        # Behind the first page there may be others, which stay as they are.
        is_same = keys == shown if cursor is None else keys == shown[: len(keys)]
        if not keys or not is_same or (cursor is not None and len(shown) == len(keys) and self._cursor is None):
            return False
        for item in items:
            self.change(item)
        return True

    async def more(self) -> None:
        """Read the next page, and append it."""
        if self._cursor is None:
            return
        number, cursor = self._loads, self._cursor
        items, self._cursor = await self._read(cursor)
        if number == self._loads:
            for item in items:
                self._add(item)
            self._finish()

    def change(self, item: T) -> None:
        """Redraw an item in its place, or first in the list if it is new."""
        key = self._key(item)
        if key in self._elements:
            if item != self.items[key]:
                self.items[key] = item
                self._draw(self._elements[key], item)
        else:
            if not self.items:
                self._body.clear()
                set_attribute(self._body, "role", "list")
            self._add(item)
            self._elements[key].move(self._body, 0)

    def redraw(self, key: str) -> None:
        """Redraw an unchanged item because its row shows other state as well, such as that it is open."""
        if key in self._elements:
            self._draw(self._elements[key], self.items[key])

    def remove(self, key: str) -> None:
        element = self._elements.pop(key, None)
        if element is not None:
            del self.items[key]
            element.delete()
            if not self.items:
                self._finish()

    def filter(self, looked_for: str) -> None:
        """Hide the loaded rows that do not contain all of some words; ``words`` returns the words of an item."""
        wanted = looked_for.casefold().split()
        for key, element in self._elements.items():
            has = self._words(self.items[key]).casefold()
            element.set_visibility(all(word in has for word in wanted))

    def _clear(self) -> None:
        self._body.clear()
        self._end.clear()
        self.items.clear()
        self._elements.clear()

    def _add(self, item: T) -> None:
        key = self._key(item)
        if key in self._elements:
            return
        with self._body:
            element = box(role="listitem")
        self.items[key] = item
        self._elements[key] = element
        self._draw(element, item)

    def _draw(self, element: ui.element, item: T) -> None:
        if not self._has_controls:
            draw_markup(element, lambda: self._row(item))
            return
        element.clear()
        with element:
            self._row(item)

    def _finish(self) -> None:
        self._end.clear()
        # A list without items is none to a screen reader.
        set_attribute(self._body, "role", "list" if self.items else None)
        if not self.items and self._cursor is None:
            with self._body:
                self._nothing()
        if self._cursor is not None:
            with self._end:
                button(self._t("shell.more"), self.more, kind="quiet", small=True, data_more=True)
        elif len(self.items) > 20:
            with self._end:
                text(self._t.count("shell.that_is_all", len(self.items)), "tw-mute tw-small")
