"""Lists of tickets: the shared parts of the staff's inbox and the customers' portal."""

from __future__ import annotations

from typing import ClassVar

from tablewright.systems.support.app.support_parts import new_ticket, priority_pill, status_pill, title_of
from tablewright.systems.support.app.ticket_detail import TicketDetail
from tablewright.systems.support.model import Conversation, Event, Feedback, Ticket
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import avatar, box, button, empty, text, time
from tablewright.ui.feedback import toast
from tablewright.ui.list_detail.list_screen import Body, ListScreen
from tablewright.ui.texts import parsed_time

__all__ = ["TicketList"]


class TicketList(ListScreen):
    """Tickets; subclasses define the lists."""

    ID, TEXTS, ICON = "ticket_id", "support", "lifebuoy"
    LISTED = (Ticket, Conversation)
    SHOWN = (Ticket, Event, Feedback, Conversation)
    for_customer: ClassVar[bool]

    async def _read_one(self, key: str) -> Body:
        body: Body = (await self._page.api.call("get_ticket", ticket_id=key)).body
        return body

    def _key(self, item: Body) -> str:
        return str(item["ticket_id"])

    def _words(self, item: Body) -> str:
        return f"{item['ticket_id']} {item['symptom_text']} {item['customer_id']}"

    async def _search(self, looked_for: str) -> bool:
        """Open the ticket with an id; other words are searched everywhere."""
        looked_for = looked_for.strip()
        if not looked_for.startswith("tkt_"):
            return await super()._search(looked_for)
        self._list.filter("")
        try:
            await self._read_one(looked_for)
        except Refused as error:
            toast(error.detail, bad=True)
            return True
        await self._page.go(self._path(looked_for))
        return True

    def _detail_of(self, key: str) -> TicketDetail:
        columns = self._columns
        return TicketDetail(
            self._page, key, columns.thing, columns.context, columns.back, for_customer=self.for_customer
        )

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw_actions(self) -> None:
        page = self._page
        if page.may("create_ticket"):
            button(page.t("support.new_ticket"), self._new, kind="primary", icon_name="plus", key="n")

    def _new(self) -> None:
        new_ticket(self._page, self.PATH, for_customer=self.for_customer)

    def _draw_row(self, item: Body) -> None:
        t = self._page.t
        with box("tw-row-between"):
            text(title_of(item), "tw-item-title tw-clip", dir="auto")
            time(t, parsed_time(item["created_at"]))
        with box("tw-row-between"):
            with box("tw-row tw-wrap"):
                status_pill(t, item)
                if item["priority"] in ("HIGH", "CRITICAL"):
                    priority_pill(t, item)
                if not self.for_customer:
                    text(item["customer_id"], "tw-mute tw-small tw-clip")
            if item["assigned_to"]:
                avatar(item["assigned_to"])

    def _draw_nothing(self) -> None:
        t = self._page.t
        key = f"support.nothing_{self._shown}"
        empty(t(key if key in t else "support.nothing"), t("support.nothing_about"), "inbox")
