"""A list of tickets with the one that is open beside it: what the inbox of staff and the portal of customers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tablewright.store import AnyChange
from tablewright.systems.support.app.support_parts import (
    TicketBody,
    changed_lists,
    changed_tickets,
    new_ticket,
    parsed,
    priority_pill,
    status_pill,
    title_of,
)
from tablewright.systems.support.app.ticket_detail import TicketDetail
from tablewright.systems.support.model import tickets
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import avatar, box, button, empty, text, time
from tablewright.ui.data_list import DataList
from tablewright.ui.feedback import toast
from tablewright.ui.screen_page import Page

__all__ = ["TicketList"]


class TicketList(ABC):
    """A list, and a ticket; subclasses say which lists there are."""

    # The address of the view, and the names of its lists, the first one being what is shown at first.
    PATH: str
    LISTS: tuple[str, ...]
    # Those that have a tab; the first stands for those that have none.
    TABS: tuple[str, ...]
    for_customer: bool

    def __init__(self, page: Page) -> None:
        self._page = page
        self._shown = self._asked_for()
        self._ticket: TicketDetail | None = None
        self._columns = page.columns(self._path())
        with self._columns.list:
            self._tabs = box("tw-list-tabs", "nav", aria_label=page.t("support.lists"))
            with box("tw-col-scroll", tabindex="0"):
                self._list: DataList[TicketBody] = DataList(
                    page.t,
                    read=self._read,
                    key=lambda ticket: str(ticket["ticket_id"]),
                    row=self._draw_row,
                    nothing=self._draw_nothing,
                )

    @abstractmethod
    async def _read(self, cursor: str | None) -> tuple[list[TicketBody], str | None]: ...

    @abstractmethod
    def _belongs(self, ticket: TicketBody) -> bool | None:
        """Whether a ticket is in the list that is shown; None if only the service knows."""

    def _asked_for(self) -> str:
        asked = self._page.query.get("list", "")
        return asked if asked in self.LISTS else self.LISTS[0]

    def _path(self, ticket_id: str = "", shown: str | None = None) -> str:
        chosen = shown or self._shown
        path = f"{self.PATH}/{ticket_id}" if ticket_id else self.PATH
        return self._page.path(path, list=None if chosen == self.LISTS[0] else chosen)

    async def begin(self, ticket_id: str) -> None:
        page = self._page
        await page.live(tickets, self._changed)
        page.on_navigate(self.show)
        page.on_search(self._search, typed=self._filter)
        if page.may("create_ticket"):
            with page.actions:
                button(page.t("support.new_ticket"), self._new, kind="primary", icon_name="plus", key="n")
        self._draw_tabs()
        await self._list.load()
        await self._open(ticket_id)

    def _new(self) -> None:
        new_ticket(self._page, self.PATH, for_customer=self.for_customer)

    async def show(self, ticket_id: str = "") -> None:
        """Another list, or another ticket."""
        asked = self._asked_for()
        if asked != self._shown:
            self._shown = asked
            self._draw_tabs()
            await self._list.load()
        await self._open(ticket_id)

    # -- changes --------------------------------------------------------------------------------------------------

    async def _changed(self, changes: Sequence[AnyChange] | None) -> None:
        concerned = changed_lists(changes)
        if concerned is None or not await self._update(concerned):
            # Where it stands is known to the service.
            await self._list.refresh()
        found = changed_tickets(changes)
        if self._ticket is not None and (found is None or self._ticket.ticket_id in found):
            await self._load(self._ticket)

    async def _update(self, concerned: set[str]) -> bool:
        """Draw tickets again that stay where they are in the list; whether that was all there is to do."""
        for ticket_id in concerned:
            before = self._list.items.get(ticket_id)
            try:
                ticket = (await self._page.api.call("get_ticket", ticket_id=ticket_id)).body
            except Refused as error:
                if error.status != 404:
                    raise
                # Gone; or never theirs to see.
                self._list.remove(ticket_id)
                continue
            belongs = self._belongs(ticket)
            if belongs is None or (belongs and before is None):
                return False
            if not belongs:
                self._list.remove(ticket_id)
            else:
                self._list.change(ticket)
        return True

    def _filter(self, looked_for: str) -> None:
        words = looked_for.casefold().split()
        self._list.filter(
            lambda ticket: all(
                word in f"{ticket['ticket_id']} {ticket['symptom_text']} {ticket['customer_id']}".casefold()
                for word in words
            )
        )

    async def _search(self, looked_for: str) -> bool:
        """Open the ticket with an id; other words are looked for everywhere."""
        looked_for = looked_for.strip()
        self._filter("" if looked_for.startswith("tkt_") else looked_for)
        if not looked_for.startswith("tkt_"):
            return False
        try:
            await self._page.api.call("get_ticket", ticket_id=looked_for)
        except Refused as error:
            toast(error.detail, bad=True)
            return True
        await self._page.go(self._path(looked_for))
        return True

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw_tabs(self) -> None:
        self._tabs.clear()
        with self._tabs:
            for name in self.TABS:
                is_current = name == self._shown or (name == self.TABS[0] and self._shown not in self.TABS)
                current = "page" if is_current else None
                with box("tw-list-tab", "a", href=self._path(shown=name), data_go=True, aria_current=current):
                    text(self._page.t(f"support.{name}"))

    def _draw_row(self, ticket: TicketBody) -> None:
        t = self._page.t
        is_open = self._ticket is not None and self._ticket.ticket_id == ticket["ticket_id"]
        current = "true" if is_open else None
        path = self._path(ticket["ticket_id"])
        with box("tw-item", "a", href=path, data_go=True, data_row=True, aria_current=current):
            with box("tw-row-between"):
                text(title_of(ticket), "tw-item-title tw-clip", dir="auto")
                time(t, parsed(ticket["created_at"]))
            with box("tw-row-between"):
                with box("tw-row tw-wrap"):
                    status_pill(t, ticket)
                    if ticket["priority"] in ("HIGH", "CRITICAL"):
                        priority_pill(t, ticket)
                    if not self.for_customer:
                        text(ticket["customer_id"], "tw-mute tw-small tw-clip")
                if ticket["assigned_to"]:
                    avatar(ticket["assigned_to"])

    def _draw_nothing(self) -> None:
        t = self._page.t
        key = f"support.nothing_{self._shown}"
        empty(t(key if key in t else "support.nothing"), t("support.nothing_about"), "inbox")

    async def _open(self, ticket_id: str) -> None:
        before, self._ticket = self._ticket, None
        columns = self._columns
        columns.show("thing" if ticket_id else "list")
        columns.thing.clear()
        columns.context.clear()
        if ticket_id:
            self._ticket = TicketDetail(
                self._page, ticket_id, columns.thing, columns.context, columns.back, for_customer=self.for_customer
            )
        for each in (before, self._ticket):
            # The row that was open, and the one that is.
            if each is not None:
                self._list.redraw(each.ticket_id)
        if self._ticket is not None:
            await self._load(self._ticket)
        else:
            with columns.thing:
                about = "support.choose_about_customer" if self.for_customer else "support.choose_about"
                empty(self._page.t("support.choose"), self._page.t(about), "lifebuoy")

    async def _load(self, ticket: TicketDetail) -> None:
        try:
            await ticket.load()
        except Refused as error:
            if error.status not in (404, 422):
                raise
            ticket.clear()
            with self._columns.thing:
                with box("tw-thing-head"):
                    self._columns.back()
                empty(self._page.t("shell.not_found"), self._page.t("shell.not_found_about"))
