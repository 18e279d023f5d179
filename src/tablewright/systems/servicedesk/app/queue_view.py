"""The queue: tickets by priority and age (all, mine or unassigned), and the open one beside it."""

from __future__ import annotations

from typing import Any

from tablewright.systems.servicedesk.app.desk_parts import (
    caller_name,
    due_pill,
    new_ticket,
    priority_pill,
    status_pill,
    title_of,
)
from tablewright.systems.servicedesk.app.desk_ticket import DeskTicket
from tablewright.systems.servicedesk.model import IN_QUEUE, Ticket, tickets
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, button, empty, text, time
from tablewright.ui.feedback import toast
from tablewright.ui.list_detail.list_screen import Body, ListScreen
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["queue"]

_PAGE = 20


async def queue(page: Page, ticket_id: str = "") -> None:
    """The queue, and a ticket."""
    await _Queue(page).begin([tickets], ticket_id=ticket_id)


class _Queue(ListScreen):
    PATH, ID, TEXTS, ICON = "/queue", "ticket_id", "desk", "phone"
    LISTS = ("all", "mine", "unassigned")
    LISTED = SHOWN = (Ticket,)

    async def _read(self, cursor: str | None) -> tuple[list[Body], str | None]:
        chosen: dict[str, Any] = {}
        if self._shown == "mine":
            chosen["assignee"] = self._page.user_id
        elif self._shown == "unassigned":
            chosen["unassigned"] = True
        answer = await self._page.api.call("queue", limit=_PAGE, cursor=cursor, **chosen)
        return answer.body["tickets"], answer.body.get("cursor")

    async def _read_one(self, key: str) -> Body:
        body: Body = (await self._page.api.call("get_ticket", ticket_id=key)).body
        return body

    def _key(self, item: Body) -> str:
        return str(item["ticket_id"])

    def _words(self, item: Body) -> str:
        return f"{item['number']} {item['issue_description']} {item['caller_id']}"

    def _belongs(self, item: Body, before: Body | None) -> bool | None:
        if item["status"] not in IN_QUEUE:
            return False
        if self._shown == "mine" and item["assignee"] != self._page.user_id:
            return False
        if self._shown == "unassigned" and item["assignee"] is not None:
            return False
        # Only the service knows the position of a new ticket, or of one with another priority.
        return True if before is not None and before["priority"] == item["priority"] else None

    async def _search(self, looked_for: str) -> bool:
        """Open the ticket with this number; other words are searched everywhere."""
        self._list.filter("")
        if not looked_for.strip():
            return True
        try:
            found = await self._page.api.call("get_by_number", number=looked_for.strip())
        except Refused as error:
            self._list.filter(looked_for)
            if error.status == 404:
                toast(error.detail, bad=True)
            return error.status == 404
        await self._page.go(self._path(found.body["ticket_id"]))
        return True

    def _detail_of(self, key: str) -> DeskTicket:
        columns = self._columns
        return DeskTicket(self._page, key, columns.thing, columns.context, columns.back)

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw_actions(self) -> None:
        page = self._page
        if page.may("create_ticket"):
            button(page.t("desk.new"), lambda: new_ticket(page), kind="primary", icon_name="plus", key="n")

    def _draw_row(self, item: Body) -> None:
        t = self._page.t
        with box("tw-row-between"):
            with box("tw-row"):
                text(item["number"], "tw-item-title tw-mono")
                priority_pill(t, item)
            time(t, parsed_time(item["created_at"]))
        text(title_of(item), "tw-clip", dir="auto")
        with box("tw-row tw-wrap"):
            status_pill(t, item)
            due_pill(t, item)
            text(item["assignee"] or caller_name(item["caller_id"]), "tw-mute tw-small")

    def _draw_nothing(self) -> None:
        t = self._page.t
        empty(t("desk.nothing_mine" if self._shown == "mine" else "desk.nothing"), t("desk.nothing_about"), "inbox")
