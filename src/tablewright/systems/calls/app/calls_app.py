"""The screens of Calls: the calendar (``app``); and the user's next calls, for the start page."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tablewright.model import Entity
from tablewright.systems.calls.app.calendar_view import calendar
from tablewright.systems.calls.app.call_parts import Times, begins
from tablewright.systems.calls.app.calls_texts import texts
from tablewright.systems.calls.model import Call
from tablewright.ui.applications import Application, Thing, Waiting
from tablewright.ui.screen_page import Page

__all__ = ["app"]

# How many of a user's next calls are counted for the start page.
_MOST = 100

app = Application("calls", title="calls.title", icon="calendar", texts=texts)
app.view(
    "/calendar",
    "/call/{call_id}",
    "/{span}/{day}",
    "/{span}/{day}/{call_id}",
    title="calls.calendar",
    tab=True,
    needs=["calls_of_user"],
)(calendar)


async def waiting(page: Page) -> Sequence[Waiting]:
    """The user's own next calls."""
    t, times = page.t, Times(page.t, page.t.zone)
    answer = await page.api_of("calls").call("upcoming_calls", userId=page.user_id, limit=_MOST)
    calls = answer.body["calls"]
    things = [
        Thing(
            t("calls.next_one", when=times.when(begins(call)), who=call["providerId"]),
            page.path_in("calls", f"/call/{call['callId']}"),
            # A call that was moved is a new notice.
            str(begins(call)),
        )
        for call in calls
    ]
    return [Waiting(t("calls.waiting_next"), len(calls), page.path_in("calls", ""), "info", things, True)]


def concerns(page: Page, watched: Collection[str], before: Entity | None, after: Entity | None) -> bool:
    """Whether a change is of a call that a user has, or had."""
    return any(isinstance(each, Call) and each.user_id == page.user_id for each in (before, after))


app.waiting = waiting
app.concerns = concerns
