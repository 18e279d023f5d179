"""The inbox: all tickets, or those with a status, of a customer, of an assignee, or waiting for an answer."""

from __future__ import annotations

from typing import Any

from tablewright.systems.support.app.ticket_list import TicketList
from tablewright.systems.support.model import Status, tickets
from tablewright.ui.components import box, icon, tab_link, text
from tablewright.ui.forms import select
from tablewright.ui.list_detail.list_screen import Body
from tablewright.ui.screen_page import Page

__all__ = ["inbox"]

_PAGE = 20
# Lists that have a tab; the others are by status, selected beside the tabs.
_TABS = ("all", "mine", "unanswered")
_STATUSES = {"new": "NEW", "processing": "PROCESSING", "escalated": "ESCALATED", "failed": "FAILED", "ready": "READY"}


async def inbox(page: Page, ticket_id: str = "") -> None:
    """The inbox, and a ticket."""
    await _Inbox(page).begin([tickets], ticket_id=ticket_id)


class _Inbox(TicketList):
    PATH = "/inbox"
    LISTS = (*_TABS, *_STATUSES)
    for_customer = False

    def __init__(self, page: Page) -> None:
        # Tickets of one customer, or of one assignee, instead of a list.
        self._customer, self._engineer = self._asked_people(page)
        super().__init__(page)

    @staticmethod
    def _asked_people(page: Page) -> tuple[str, str]:
        return page.query.get("customer", "")[:200], page.query.get("engineer", "")[:200]

    def _asked_for(self) -> str:
        found = super()._asked_for()
        return found if not (self._customer or self._engineer) else "people"

    def _path(self, key: str = "", shown: str | None = None) -> str:
        if (shown or self._shown) == "people":
            path = f"{self.PATH}/{key}" if key else self.PATH
            return self._page.path(path, customer=self._customer or None, engineer=self._engineer or None)
        return super()._path(key, shown)

    async def show(self, **values: str) -> None:
        people = self._asked_people(self._page)
        if people != (self._customer, self._engineer):
            self._customer, self._engineer = people
            # The list is a different one now.
            self._shown = ""
        await super().show(**values)

    async def _choose_status(self, name: str) -> None:
        await self._page.go(self._path(shown=name or "all"))

    async def _read(self, cursor: str | None) -> tuple[list[Body], str | None]:
        call = self._page.api.call
        if self._customer:
            answer = await call("of_customer", customer_id=self._customer, limit=_PAGE, cursor=cursor)
        else:
            answer = await call("tickets", limit=_PAGE, cursor=cursor, **self._asked())
        return answer.body["tickets"], answer.body.get("cursor")

    def _asked(self) -> dict[str, Any]:
        if self._engineer:
            return {"assigned_to": self._engineer}
        if self._shown == "mine":
            return {"assigned_to": self._page.user_id}
        if self._shown == "unanswered":
            return {"unanswered": True}
        status = _STATUSES.get(self._shown)
        return {} if status is None else {"status": status}

    def _belongs(self, item: Body, before: Body | None) -> bool | None:
        if self._customer:
            belongs = item["customer_id"] == self._customer
        elif self._engineer or self._shown == "mine":
            who = self._engineer or self._page.user_id
            belongs = item["assigned_to"] == who and item["status"] != Status.READY
        elif self._shown == "unanswered":
            return None
        else:
            status = _STATUSES.get(self._shown)
            belongs = status is None or item["status"] == status
        # Only the service knows the position of a new one.
        return None if belongs and before is None else bool(belongs)

    def _draw_tabs(self) -> None:
        self._tabs.clear()
        with self._tabs:
            if self._shown == "people":
                self._draw_people()
            else:
                self._draw_lists()

    def _draw_lists(self) -> None:
        t = self._page.t
        for name in _TABS:
            is_current = name == self._shown or (name == "all" and self._shown not in _TABS)
            tab_link(t(f"support.{name}"), self._path(shown=name), is_current=is_current)
        options = {"": t("support.any_status"), **{name: t(f"support.{name}") for name in _STATUSES}}
        with box("tw-list-select tw-push"):
            chosen = self._shown if self._shown in _STATUSES else ""
            select(options, chosen, self._choose_status, label=t("support.status"))

    def _draw_people(self) -> None:
        t = self._page.t
        key = "support.of_customer" if self._customer else "support.of_engineer"
        text(t(key, who=self._customer or self._engineer), "tw-list-tab tw-clip tw-grow", aria_current="page")
        back = t("support.all_lists")
        with box("tw-list-tab", "a", href=self._path(shown="all"), data_go=True, title=back, aria_label=back):
            icon("close")
