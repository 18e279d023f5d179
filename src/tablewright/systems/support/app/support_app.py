"""The screens of Support (``app``): inbox, dashboard, portal; and what needs a user's attention, for the start page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tablewright.model import Entity
from tablewright.systems.support.app.dashboard_view import dashboard
from tablewright.systems.support.app.inbox_view import inbox
from tablewright.systems.support.app.portal_view import portal
from tablewright.systems.support.app.support_parts import title_of
from tablewright.systems.support.app.support_texts import texts
from tablewright.systems.support.model import (
    CUSTOMER_MESSAGE,
    NOTE,
    STAFF_MESSAGE,
    Conversation,
    Event,
    Status,
    Ticket,
)
from tablewright.ui.applications import Application, Thing, Waiting
from tablewright.ui.components import Tone
from tablewright.ui.screen_page import Page

__all__ = ["app"]

# The most tickets of a list that are counted for the start page.
_MOST = 100

app = Application("support", title="support.title", icon="lifebuoy", texts=texts)
app.view("/inbox", "/inbox/{ticket_id}", title="support.inbox", tab=True, needs=["tickets"])(inbox)
app.view("/dashboard", title="support.dashboard", tab=True, needs=["metrics", "trends", "escalations"])(dashboard)
app.view("/mine", "/mine/{ticket_id}", title="support.portal", tab=True, needs=["my_tickets"])(portal)
_TICKET = ("/inbox/{ticket_id}", "/mine/{ticket_id}")
app.search = {"ticket": _TICKET, "comment": _TICKET, "message": _TICKET}


async def waiting(page: Page) -> Sequence[Waiting]:
    """For staff: their own tickets, those waiting for an answer, and new ones. For customers: their open tickets."""
    t, api = page.t, page.api_of("support")

    async def listed(key: str, view: str, tone: Tone, name: str, shown: str | None = None, **chosen: Any) -> Waiting:
        tickets = (await api.call(name, limit=_MOST, **chosen)).body["tickets"]
        own = [] if tone == "neutral" else [each["ticket_id"] for each in tickets]
        if name == "my_tickets" and "status" not in chosen:
            tickets = [each for each in tickets if each["status"] != Status.READY]
        things = [
            Thing(
                title_of(each, 80),
                page.path_in("support", f"{view}/{each['ticket_id']}", list=shown),
                f"{name} {shown} {each['status']}",
            )
            for each in tickets
        ]
        path = page.path_in("support", view, list=shown)
        return Waiting(t(key), len(tickets), path, tone, things, tone != "neutral", own)

    if api.may("tickets"):
        return [
            await listed("support.waiting_unanswered", "/inbox", "warn", "tickets", "unanswered", unanswered=True),
            await listed("support.waiting_mine", "/inbox", "info", "tickets", "mine", assigned_to=page.user_id),
            await listed("support.waiting_new", "/inbox", "neutral", "tickets", "new", status=Status.NEW),
        ]
    if api.may("my_tickets"):
        return [await listed("support.waiting_open", "/mine", "info", "my_tickets")]
    return []


def concerns(page: Page, watched: Collection[str], before: Entity | None, after: Entity | None) -> bool:
    """Whether a change is of a user's own ticket; for staff, also if it is a message or note about any ticket.

    A message does not name the assignee of its ticket, and solved tickets are not watched.
    """
    if page.api_of("support").may("tickets"):
        is_written = isinstance(after, Event) and after.event_type in (CUSTOMER_MESSAGE, STAFF_MESSAGE, NOTE)
        if is_written or _is_answered(before) != _is_answered(after):
            return True
    for each in (before, after):
        if isinstance(each, Ticket) and page.user_id in (each.assigned_to, each.customer_id):
            return True
        if isinstance(each, Ticket | Conversation | Event) and each.ticket_id in watched:
            return True
    return False


def _is_answered(each: Entity | None) -> bool | None:
    return each.is_answered if isinstance(each, Conversation) else None


async def thing_of(page: Page, ticket_id: str) -> Thing:
    """The ticket of a notice."""
    api = page.api_of("support")
    ticket = (await api.call("get_ticket", ticket_id=ticket_id)).body
    view = "/inbox" if api.may("tickets") else "/mine"
    return Thing(title_of(ticket, 80), page.path_in("support", f"{view}/{ticket_id}"))


app.waiting = waiting
app.concerns = concerns
app.thing_of = thing_of
