"""The queue: tickets by priority and age, all, mine, or those that nobody has; beside it the one that is open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablewright.store import AnyChange
from tablewright.systems.servicedesk.app.desk_parts import (
    TicketBody,
    caller_name,
    changed_tickets,
    due_pill,
    new_ticket,
    parsed,
    priority_pill,
    status_pill,
)
from tablewright.systems.servicedesk.app.desk_ticket import DeskTicket
from tablewright.systems.servicedesk.model import IN_QUEUE, tickets
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, button, empty, text, time
from tablewright.ui.data_list import DataList
from tablewright.ui.feedback import toast
from tablewright.ui.screen_page import Page

__all__ = ["queue"]

_PAGE = 50
_LISTS = ("all", "mine", "unassigned")


async def queue(page: Page, ticket_id: str = "") -> None:
    """The queue, and a ticket."""
    view = _Queue(page)
    await view.begin(ticket_id)


class _Queue:
    """A list of the queue, and the ticket that is open."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._shown = self._asked_for()
        self._ticket: DeskTicket | None = None
        self._columns = page.columns(self._path())
        with self._columns.list:
            self._tabs = box("tw-list-tabs", "nav", aria_label=page.t("desk.lists"))
            with box("tw-col-scroll", tabindex="0"):
                self._list: DataList[TicketBody] = DataList(
                    page.t,
                    read=self._read,
                    key=lambda ticket: str(ticket["ticket_id"]),
                    row=self._draw_row,
                    nothing=self._draw_nothing,
                )

    async def begin(self, ticket_id: str) -> None:
        page = self._page
        await page.live(tickets, self._changed)
        page.on_navigate(self.show)
        page.on_search(self._search, typed=self._filter)
        if page.may("create_ticket"):
            with page.actions:
                button(page.t("desk.new"), lambda: new_ticket(page), kind="primary", icon_name="plus", key="n")
        self._draw_tabs()
        await self._list.load()
        await self._open(ticket_id)

    async def show(self, ticket_id: str = "") -> None:
        """Another list, or another ticket."""
        asked = self._asked_for()
        if asked != self._shown:
            self._shown = asked
            self._draw_tabs()
            await self._list.load()
        await self._open(ticket_id)

    def _asked_for(self) -> str:
        asked = self._page.query.get("list", "")
        return asked if asked in _LISTS else "all"

    def _path(self, ticket_id: str = "", shown: str | None = None) -> str:
        chosen = shown or self._shown
        path = f"/queue/{ticket_id}" if ticket_id else "/queue"
        return self._page.path(path, list=None if chosen == "all" else chosen)

    async def _read(self, cursor: str | None) -> tuple[list[TicketBody], str | None]:
        chosen: dict[str, Any] = {}
        if self._shown == "mine":
            chosen["assignee"] = self._page.user_id
        elif self._shown == "unassigned":
            chosen["unassigned"] = True
        answer = await self._page.api.call("queue", limit=_PAGE, cursor=cursor, **chosen)
        return answer.body["tickets"], answer.body.get("cursor")

    async def _changed(self, changes: Sequence[AnyChange] | None) -> None:
        found = changed_tickets(changes)
        if found is None or not await self._refresh(found):
            # Where it stands in the order is known to the service.
            await self._list.refresh()
        if self._ticket is not None and (found is None or self._ticket.ticket_id in found):
            await self._load(self._ticket)

    async def _refresh(self, found: set[str]) -> bool:
        """Draw tickets again that stay where they are in the list; whether that was all."""
        for ticket_id in found:
            before = self._list.items.get(ticket_id)
            if before is None:
                return False
            try:
                ticket = (await self._page.api.call("get_ticket", ticket_id=ticket_id)).body
            except Refused as error:
                if error.status != 404:
                    raise
                self._list.remove(ticket_id)
                continue
            if not self._belongs(ticket):
                self._list.remove(ticket_id)
            elif ticket["priority"] != before["priority"]:
                return False
            else:
                self._list.change(ticket)
        return True

    def _belongs(self, ticket: TicketBody) -> bool:
        if ticket["status"] not in IN_QUEUE:
            return False
        if self._shown == "mine":
            return bool(ticket["assignee"] == self._page.user_id)
        return self._shown == "all" or ticket["assignee"] is None

    def _filter(self, looked_for: str) -> None:
        words = looked_for.casefold().split()
        self._list.filter(
            lambda ticket: all(
                word in f"{ticket['number']} {ticket['issue_description']} {ticket['caller_id']}".casefold()
                for word in words
            )
        )

    async def _search(self, looked_for: str) -> bool:
        """Open the ticket whose number was said; other words are looked for everywhere."""
        self._filter("")
        if not looked_for.strip():
            return True
        try:
            found = await self._page.api.call("get_by_number", number=looked_for.strip())
        except Refused as error:
            self._filter(looked_for)
            if error.status == 404:
                toast(error.detail, bad=True)
            return error.status == 404
        await self._page.go(self._path(found.body["ticket_id"]))
        return True

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw_tabs(self) -> None:
        self._tabs.clear()
        with self._tabs:
            for name in _LISTS:
                current = "page" if name == self._shown else None
                with box("tw-list-tab", "a", href=self._path(shown=name), data_go=True, aria_current=current):
                    text(self._page.t(f"desk.{name}"))

    def _draw_row(self, ticket: TicketBody) -> None:
        t = self._page.t
        is_open = self._ticket is not None and self._ticket.ticket_id == ticket["ticket_id"]
        current = "true" if is_open else None
        path = self._path(ticket["ticket_id"])
        with box("tw-item", "a", href=path, data_go=True, data_row=True, aria_current=current):
            with box("tw-row-between"):
                with box("tw-row"):
                    text(ticket["number"], "tw-item-title tw-mono")
                    priority_pill(t, ticket)
                time(t, parsed(ticket["created_at"]))
            text(ticket["issue_description"], "tw-clip")
            with box("tw-row tw-wrap"):
                status_pill(t, ticket)
                due_pill(t, ticket)
                text(ticket["assignee"] or caller_name(ticket["caller_id"]), "tw-mute tw-small")

    def _draw_nothing(self) -> None:
        t = self._page.t
        empty(t("desk.nothing_mine" if self._shown == "mine" else "desk.nothing"), t("desk.nothing_about"), "inbox")

    async def _open(self, ticket_id: str) -> None:
        before, self._ticket = self._ticket, None
        columns = self._columns
        columns.show("thing" if ticket_id else "list")
        columns.thing.clear()
        columns.context.clear()
        if ticket_id:
            self._ticket = DeskTicket(self._page, ticket_id, columns.thing, columns.context, columns.back)
        for each in (before, self._ticket):
            # The row that was open, and the one that is.
            if each is not None:
                self._list.redraw(each.ticket_id)
        if self._ticket is not None:
            await self._load(self._ticket)
        else:
            with columns.thing:
                empty(self._page.t("desk.choose"), self._page.t("desk.choose_about"), "phone")

    async def _load(self, ticket: DeskTicket) -> None:
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
