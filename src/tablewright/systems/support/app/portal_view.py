"""The portal: a customer's own tickets."""

from __future__ import annotations

from tablewright.systems.support.app.ticket_list import TicketList
from tablewright.systems.support.model import Status, tickets
from tablewright.ui.components import empty
from tablewright.ui.list_detail.list_screen import Body
from tablewright.ui.screen_page import Page

__all__ = ["portal"]

_PAGE = 20
_STATUSES = {"answered": Status.READY}


async def portal(page: Page, ticket_id: str = "") -> None:
    """A customer's tickets, and one of them."""
    await _Portal(page).begin([tickets], ticket_id=ticket_id)


class _Portal(TicketList):
    PATH = "/mine"
    LISTS = ("my_tickets", "answered")
    for_customer = True

    async def _read(self, cursor: str | None) -> tuple[list[Body], str | None]:
        status = _STATUSES.get(self._shown)
        answer = await self._page.api.call("my_tickets", status=status, limit=_PAGE, cursor=cursor)
        return answer.body["tickets"], answer.body.get("cursor")

    def _belongs(self, item: Body, before: Body | None) -> bool | None:
        status = _STATUSES.get(self._shown)
        is_mine = item["customer_id"] == self._page.user_id
        belongs = is_mine and (status is None or item["status"] == status)
        # Only the service knows the position of a new one.
        return None if belongs and before is None else belongs

    def _draw_none_open(self) -> None:
        t = self._page.t
        empty(t("support.choose"), t("support.choose_about_customer"), self.ICON)
