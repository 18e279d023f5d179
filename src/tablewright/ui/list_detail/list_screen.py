"""``ListScreen``: lists of things, and the open one next to them; on a phone one or the other.

    class Queue(ListScreen):
        PATH, LISTS, ID, TEXTS, ICON = "/queue", ("all", "mine"), "ticket_id", "desk", "phone"
        LISTED = SHOWN = (Ticket,)

        async def _read(self, cursor): ...             a page of the list that is shown (self._shown)
        def _draw_row(self, item) -> None: ...

    async def queue(page: Page, ticket_id: str = "") -> None:
        await Queue(page).begin([tickets], ticket_id=ticket_id)

The list is in the query of the address (``/queue?list=mine``), the thing in its path (``/queue/t-1``), so that each has
a link. A change from the stream redraws rows in place; if only the service knows what is in the list and in which
order, the list is read again. The thing is a ``DetailPanel``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from tablewright.model import Entity, Table
from tablewright.store import AnyChange
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, empty, tab_link
from tablewright.ui.data_list import DataList
from tablewright.ui.list_detail.detail_panel import DetailPanel
from tablewright.ui.live_changes import changed_entities
from tablewright.ui.screen_page import Page

__all__ = ["Body", "ListScreen"]

Body = dict[str, Any]
"""A thing as the API shows it."""

# Changes that are drawn row by row; more of them, and the list is read again.
_MOST = 50


class ListScreen(ABC):
    """Lists, and a thing; subclasses define what differs."""

    PATH: ClassVar[str]
    """The address of the view."""
    LISTS: ClassVar[tuple[str, ...]]
    """The names of the lists; the first is shown unless the address names another."""
    QUERY: ClassVar[str] = "list"
    """The query parameter with the list, in the address."""
    ID: ClassVar[str]
    """The name of a thing's id: in the path of the view, and in its entities."""
    LISTED: ClassVar[tuple[type[Entity], ...]]
    SHOWN: ClassVar[tuple[type[Entity], ...]]
    """Entities whose changes concern a row of the list; those that concern the thing that is open."""
    TEXTS: ClassVar[str]
    """The prefix of the keys of the texts."""
    ICON: ClassVar[str]

    def __init__(self, page: Page) -> None:
        self._page = page
        self._shown = self._asked_for()
        self._detail: DetailPanel | None = None
        self._columns = page.columns(self._path())
        with self._columns.list:
            self._tabs = box("tw-list-tabs", "nav", aria_label=page.t(f"{self.TEXTS}.lists"))
            with box("tw-col-scroll", tabindex="0"):
                self._list: DataList[Body] = DataList(
                    page.t,
                    read=self._read,
                    key=self._key,
                    row=self._draw_item,
                    nothing=self._draw_nothing,
                    words=self._words,
                )

    # -- what a subclass says ---------------------------------------------------------------------------------------

    @abstractmethod
    async def _read(self, cursor: str | None) -> tuple[list[Body], str | None]:
        """A page of the list that is shown."""

    @abstractmethod
    async def _read_one(self, key: str) -> Body:
        """A thing as the list has it; Refused if it does not exist."""

    @abstractmethod
    def _key(self, item: Body) -> str: ...

    @abstractmethod
    def _words(self, item: Body) -> str:
        """What can be typed into the search field to find it in the list."""

    @abstractmethod
    def _belongs(self, item: Body, before: Body | None) -> bool | None:
        """Whether a thing is in the list that is shown, where it was before, or first if it is new.

        None if only the service knows.
        """

    @abstractmethod
    def _draw_row(self, item: Body) -> None: ...

    @abstractmethod
    def _draw_nothing(self) -> None:
        """Draw that there is nothing in the list."""

    @abstractmethod
    def _detail_of(self, key: str) -> DetailPanel: ...

    @abstractmethod
    def _draw_actions(self) -> None:
        """Draw into the bar at the top what can be done, such as making a new thing."""

    # -- addresses ----------------------------------------------------------------------------------------------------

    async def begin(self, tables: Sequence[Table], **values: str) -> None:
        """Follow some tables, and draw what the address names."""
        page = self._page
        for table in tables:
            await page.live(table, self._changed)
        page.on_navigate(self.show)
        page.on_search(self._search, typed=self._list.filter)
        with page.actions:
            self._draw_actions()
        self._draw_tabs()
        await self._list.load()
        await self._open(**values)

    async def show(self, **values: str) -> None:
        """Go to another list, or another thing."""
        asked = self._asked_for()
        if asked != self._shown:
            self._shown = asked
            self._draw_tabs()
            await self._list.load()
        await self._open(**values)

    def _asked_for(self) -> str:
        asked = self._page.query.get(self.QUERY, "")
        return asked if asked in self.LISTS else self.LISTS[0]

    def _path(self, key: str = "", shown: str | None = None) -> str:
        """The address of a list, and of a thing of it."""
        chosen = shown or self._shown
        path = f"{self.PATH}/{key}" if key else self.PATH
        return self._page.path(path, **{self.QUERY: None if chosen == self.LISTS[0] else chosen})

    async def _search(self, looked_for: str) -> bool:
        """Whether the view has found the text; otherwise all applications are searched."""
        self._list.filter(looked_for)
        return False

    # -- changes ------------------------------------------------------------------------------------------------------

    async def _changed(self, changes: Sequence[AnyChange] | None) -> None:
        if changes is None or not await self._update(self._keys(changes, self.LISTED)):
            await self._list.refresh()
        detail = self._detail
        if detail is not None and (changes is None or detail.key in self._keys(changes, self.SHOWN)):
            await detail.load()

    def _keys(self, changes: Sequence[AnyChange], kinds: tuple[type[Entity], ...]) -> set[str]:
        return {str(getattr(each, self.ID)) for each in changed_entities(changes, *kinds)}

    async def _update(self, keys: set[str]) -> bool:
        """Draw things again where they stand; whether that was all there is to do."""
        if len(keys) > _MOST:
            return False
        for key in keys:
            try:
                item = await self._read_one(key)
            except Refused as error:
                if error.status != 404:
                    raise
                # Gone, or never for them to see.
                self._list.remove(key)
                continue
            belongs = self._belongs(item, self._list.items.get(key))
            if belongs is None:
                return False
            if belongs:
                self._list.change(item)
            else:
                self._list.remove(key)
        return True

    # -- drawing ------------------------------------------------------------------------------------------------------

    def _draw_tabs(self) -> None:
        self._tabs.clear()
        with self._tabs:
            for name in self.LISTS:
                tab_link(self._page.t(f"{self.TEXTS}.{name}"), self._path(shown=name), is_current=name == self._shown)

    def _draw_item(self, item: Body) -> None:
        key = self._key(item)
        is_open = self._detail is not None and self._detail.key == key
        current = "true" if is_open else None
        with box("tw-item", "a", href=self._path(key), data_go=True, data_row=True, aria_current=current):
            self._draw_row(item)

    def _draw_none_open(self) -> None:
        """Draw, in place of a thing, that one can be chosen."""
        t = self._page.t
        empty(t(f"{self.TEXTS}.choose"), t(f"{self.TEXTS}.choose_about"), self.ICON)

    async def _open(self, **values: str) -> None:
        key = values.get(self.ID, "")
        before, self._detail = self._detail, None
        if before is not None:
            before.end()
        columns = self._columns
        columns.show("thing" if key else "list")
        columns.thing.clear()
        columns.context.clear()
        if key:
            self._detail = self._detail_of(key)
        for each in (before, self._detail):
            # The row that was open, and the one that is.
            if each is not None:
                self._list.redraw(each.key)
        if self._detail is not None:
            await self._detail.load()
        else:
            with columns.thing:
                self._draw_none_open()
