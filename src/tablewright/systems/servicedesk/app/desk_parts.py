"""Shared parts of the desk's views: a ticket as the API returns it, its pills, its clock, the dialog to open one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tablewright.systems.servicedesk.model import FIRST_ANSWER, Priority
from tablewright.ui.components import Tone, box, pill, text
from tablewright.ui.feedback import dialog, toast
from tablewright.ui.forms import Form
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import Texts, parsed_time

__all__ = [
    "TicketBody",
    "caller_name",
    "clock_of",
    "due_pill",
    "masked_text",
    "new_ticket",
    "priority_pill",
    "status_pill",
    "title_of",
]

TicketBody = dict[str, Any]
"""A ticket as the API returns it."""

_REMOVED = "[removed]"
_STATUS_TONES: dict[str, Tone] = {"open": "neutral", "in_progress": "info", "resolved": "good", "closed": "violet"}
_PRIORITY_TONES: dict[str, Tone] = {"P1": "bad", "P2": "warn", "P3": "neutral", "P4": "neutral"}
# The last characters of a hash, to tell callers apart.
_SHOWN = 4


def caller_name(caller_id: str) -> str:
    """A caller as shown at the desk: the id of a session, or the end of a hash."""
    kind, _, rest = caller_id.partition("-")
    return f"••• {rest[-_SHOWN:]}" if kind in ("phone", "email") and len(rest) == 40 else caller_id


def title_of(ticket: TicketBody, most: int = 160) -> str:
    """The title of a ticket: one line, as its text may be pages long."""
    lines = str(ticket["issue_description"]).strip().splitlines()
    return lines[0][:most] if lines else str(ticket["number"] or ticket["ticket_id"])


def status_pill(t: Texts, ticket: TicketBody) -> None:
    pill(t(f"desk.{ticket['status']}"), _STATUS_TONES[ticket["status"]])


def priority_pill(t: Texts, ticket: TicketBody) -> None:
    pill(t(f"desk.{ticket['priority']}"), _PRIORITY_TONES[ticket["priority"]])


def clock_of(t: Texts, ticket: TicketBody) -> tuple[float, str, Tone] | None:
    """How much of the time for the first answer is used, what is left in words, and its tone."""
    due, opened = parsed_time(ticket["answer_due"]), parsed_time(ticket["created_at"])
    if due is None or opened is None:
        return None
    now = datetime.now(UTC)
    if now > due:
        return 1.0, t("desk.overdue", span=t.span(now - due)), "bad"
    used = (now - opened) / FIRST_ANSWER[Priority(ticket["priority"])]
    return used, t("desk.due_in", span=t.span(due - now)), "warn" if used > 0.5 else "info"


def due_pill(t: Texts, ticket: TicketBody) -> None:
    """The time left until the first answer, if it is short."""
    clock = clock_of(t, ticket)
    if clock is not None and clock[2] != "info":
        pill(clock[1], clock[2], "clock")


def masked_text(t: Texts, content: str, classes: str = "") -> None:
    """A text, with its masked parts marked as such."""
    with box(f"tw-pre {classes}", "p"):
        for number, part in enumerate(content.split(_REMOVED)):
            if number:
                text(t("desk.masked"), "tw-masked")
            if part:
                text(part)


def new_ticket(page: Page) -> None:
    """The dialog that opens a ticket."""
    t = page.t

    async def create(values: dict[str, Any], key: str) -> None:
        answer = await page.api.call("create_ticket", body=values, key=key)
        made.close()
        toast(t("desk.opened", number=answer.body["number"]))
        await page.go(page.path(f"/queue/{answer.body['ticket_id']}"))

    with dialog(t("desk.new")) as made:
        form = Form(t, submit=create, action=t("desk.open_ticket"), cancel=made.close)
        form.text("caller_id", t("desk.caller"), most=200, hint=t("desk.caller_hint"))
        form.text("issue_description", t("desk.issue"), lines=True, most=50_000, hint=t("desk.masked_hint"))
        form.end()
