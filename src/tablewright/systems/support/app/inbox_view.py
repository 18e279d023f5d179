"""The inbox: tickets by status, of a customer, of somebody who works on them, those that wait for an answer, all."""

from __future__ import annotations

from typing import Any

from tablewright.systems.support.app.support_parts import TicketBody
from tablewright.systems.support.app.ticket_list import TicketList
from tablewright.systems.support.model import Status
from tablewright.ui.components import box, icon, text
from tablewright.ui.forms import select
from tablewright.ui.screen_page import Page

__all__ = ["inbox"]

_PAGE = 30
_STATUSES = {"new": "NEW", "processing": "PROCESSING", "escalated": "ESCALATED", "failed": "FAILED", "ready": "READY"}


async def inbox(page: Page, ticket_id: str = "") -> None:
    """The inbox, and a ticket."""
    await _Inbox(page).begin(ticket_id)


class _Inbox(TicketList):
    PATH = "/inbox"
    LISTS = ("all", "mine", "unanswered", *_STATUSES)
    TABS = ("all", "mine", "unanswered")
    for_customer = False

    def __init__(self, page: Page) -> None:
        # Those of one customer, or of one who works on them, instead of a list.
        self._customer, self._engineer = self._asked_people(page)
        super().__init__(page)

    @staticmethod
    def _asked_people(page: Page) -> tuple[str, str]:
        return page.query.get("customer", "")[:200], page.query.get("engineer", "")[:200]

    def _asked_for(self) -> str:
        found = super()._asked_for()
        return found if not (self._customer or self._engineer) else "people"

    def _path(self, ticket_id: str = "", shown: str | None = None) -> str:
        if (shown or self._shown) == "people":
            path = f"{self.PATH}/{ticket_id}" if ticket_id else self.PATH
            return self._page.path(path, customer=self._customer or None, engineer=self._engineer or None)
        return super()._path(ticket_id, shown)

    async def show(self, ticket_id: str = "") -> None:
        people = self._asked_people(self._page)
        if people != (self._customer, self._engineer):
            self._customer, self._engineer = people
            # Whatever it was, it is another list now.
            self._shown = ""
        await super().show(ticket_id)

    async def _choose_status(self, name: str) -> None:
        await self._page.go(self._path(shown=name or "all"))

    async def _read(self, cursor: str | None) -> tuple[list[TicketBody], str | None]:
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

    def _belongs(self, ticket: TicketBody) -> bool | None:
        if self._customer:
            return bool(ticket["customer_id"] == self._customer)
        if self._engineer or self._shown == "mine":
            who = self._engineer or self._page.user_id
            return bool(ticket["assigned_to"] == who and ticket["status"] != Status.READY)
        if self._shown == "unanswered":
            return None
        status = _STATUSES.get(self._shown)
        return status is None or bool(ticket["status"] == status)

    def _draw_tabs(self) -> None:
        t = self._page.t
        if self._shown != "people":
            super()._draw_tabs()
            options = {"": t("support.any_status"), **{name: t(f"support.{name}") for name in _STATUSES}}
            with self._tabs, box("tw-list-select tw-push"):
                chosen = self._shown if self._shown in _STATUSES else ""
                select(options, chosen, self._choose_status, label=t("support.status"))
            return
        who = self._customer or self._engineer
        key = "support.of_customer" if self._customer else "support.of_engineer"
        self._tabs.clear()
        with self._tabs:
            text(t(key, who=who), "tw-list-tab tw-clip tw-grow", aria_current="page")
            with box(
                "tw-list-tab", "a", href=self._path(shown="all"), data_go=True, title=t("support.all_lists")
            ) as back:
                back.props["aria-label"] = t("support.all_lists")
                icon("close")
