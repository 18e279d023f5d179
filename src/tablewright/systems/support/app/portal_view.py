"""The portal: a customer's own tickets, and nobody else's."""

from __future__ import annotations

from tablewright.systems.support.app.support_parts import TicketBody
from tablewright.systems.support.app.ticket_list import TicketList
from tablewright.systems.support.model import Status
from tablewright.ui.screen_page import Page

__all__ = ["portal"]

_PAGE = 20
_STATUSES = {"answered": Status.READY}


async def portal(page: Page, ticket_id: str = "") -> None:
    """A customer's tickets, and one of them."""
    await _Portal(page).begin(ticket_id)


class _Portal(TicketList):
    PATH = "/mine"
    LISTS = TABS = ("my_tickets", "answered")
    for_customer = True

    async def _read(self, cursor: str | None) -> tuple[list[TicketBody], str | None]:
        status = _STATUSES.get(self._shown)
        answer = await self._page.api.call("my_tickets", status=status, limit=_PAGE, cursor=cursor)
        return answer.body["tickets"], answer.body.get("cursor")

    def _belongs(self, ticket: TicketBody) -> bool | None:
        status = _STATUSES.get(self._shown)
        is_mine = ticket["customer_id"] == self._page.user_id
        return bool(is_mine and (status is None or ticket["status"] == status))
