"""The screens of Service Desk: the queue (``app``); and what needs a user's attention, for the start page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from tablewright.model import Entity
from tablewright.systems.servicedesk.app.desk_parts import TicketBody, title_of
from tablewright.systems.servicedesk.app.desk_texts import texts
from tablewright.systems.servicedesk.app.queue_view import queue
from tablewright.systems.servicedesk.model import Ticket
from tablewright.ui.applications import Application, Thing, Waiting
from tablewright.ui.components import Tone
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["app"]

# The most tickets of the queue that are counted for the start page.
_MOST = 100

app = Application("servicedesk", title="desk.title", icon="phone", texts=texts)
app.view("/queue", "/queue/{ticket_id}", title="desk.queue", tab=True, needs=["queue"])(queue)
app.search = {"ticket": "/queue/{ticket_id}"}


async def waiting(page: Page) -> Sequence[Waiting]:
    """The user's tickets, the unassigned ones, and those whose first answer is overdue."""
    t, api = page.t, page.api_of("servicedesk")
    if not api.may("queue"):
        return []
    tickets = (await api.call("queue", limit=_MOST)).body["tickets"]
    now = datetime.now(UTC)

    def shown(key: str, name: str, tone: Tone, found: list[TicketBody]) -> Waiting:
        things = [
            Thing(
                title_of(each, 80),
                page.path_in("servicedesk", f"/queue/{each['ticket_id']}"),
                f"{name} {each['status']}",
            )
            for each in found
        ]
        path = page.path_in("servicedesk", "/queue", list=name or None)
        own = [] if tone == "neutral" else [each["ticket_id"] for each in found]
        return Waiting(t(key), len(found), path, tone, things, tone != "neutral", own)

    late = [each for each in tickets if (due := parsed_time(each["answer_due"])) is not None and due < now]
    mine = [each for each in tickets if each["assignee"] == page.user_id]
    unassigned = [each for each in tickets if each["assignee"] is None]
    found = [shown("desk.waiting_mine", "mine", "info", mine)]
    found.append(shown("desk.waiting_unassigned", "unassigned", "neutral", unassigned))
    if late:
        found.insert(0, shown("desk.waiting_late", "", "bad", late))
    dues = [due for each in tickets if (due := parsed_time(each["answer_due"])) is not None and due >= now]
    return [*found[:-1], replace(found[-1], until=min(dues, default=None))]


def concerns(page: Page, watched: Collection[str], before: Entity | None, after: Entity | None) -> bool:
    """Whether a change is of a ticket that is or was the user's, or whose first answer is overdue."""
    return any(
        isinstance(each, Ticket) and (each.assignee == page.user_id or str(each.ticket_id) in watched)
        for each in (before, after)
    )


async def thing_of(page: Page, ticket_id: str) -> Thing:
    """The ticket of a notice."""
    ticket = (await page.api_of("servicedesk").call("get_ticket", ticket_id=ticket_id)).body
    return Thing(title_of(ticket, 80), page.path_in("servicedesk", f"/queue/{ticket_id}"))


app.waiting = waiting
app.concerns = concerns
app.thing_of = thing_of
