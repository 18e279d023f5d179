"""Shared parts of the views of Support: a ticket as the API returns it, pills, long texts, the dialog for a new one."""

from __future__ import annotations

from typing import Any

from tablewright.systems.support.model import Priority
from tablewright.ui.components import Tone, box, button, icon, pill, text
from tablewright.ui.feedback import dialog, toast
from tablewright.ui.forms import Form
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import Texts

__all__ = [
    "TicketBody",
    "folded",
    "new_ticket",
    "priority_pill",
    "priority_tone",
    "shown_size",
    "stars",
    "status_pill",
    "status_tone",
    "title_of",
]

TicketBody = dict[str, Any]
"""A ticket as the API returns it."""

_STATUS_TONES: dict[str, Tone] = {
    "NEW": "info",
    "PROCESSING": "violet",
    "READY": "good",
    "FAILED": "bad",
    "ESCALATED": "warn",
}
_PRIORITY_TONES: dict[str, Tone] = {"CRITICAL": "bad", "HIGH": "warn", "MEDIUM": "neutral", "LOW": "neutral"}
# How many characters of a text are shown until the user asks for all of it.
_FOLD = 1_500


def status_tone(status: str) -> Tone:
    return _STATUS_TONES.get(status, "neutral")


def priority_tone(priority: str) -> Tone:
    return _PRIORITY_TONES.get(priority, "neutral")


def status_pill(t: Texts, ticket: TicketBody) -> None:
    pill(t(f"support.{ticket['status']}"), status_tone(ticket["status"]))


def priority_pill(t: Texts, ticket: TicketBody) -> None:
    pill(t(f"support.{ticket['priority']}"), priority_tone(ticket["priority"]))


def title_of(ticket: TicketBody, most: int = 160) -> str:
    """The title of a ticket: one line."""
    lines = str(ticket["symptom_text"]).strip().splitlines()
    return lines[0][:most] if lines else str(ticket["ticket_id"])


def shown_size(t: Texts, size: int) -> str:
    """A size in bytes, readable: 12 KB, 3.4 MB."""
    if size < 1_000:
        return f"{size} B"
    if size < 1_000_000:
        return f"{t.number(round(size / 1_000))} KB"
    return f"{t.number(round(size / 1_000_000, 1))} MB"


def stars(t: Texts, rating: float, label: str | None = None) -> None:
    """A rating; for screen readers in words."""
    with box("tw-stars", "span", role="img", aria_label=label or t("support.rated", rating=t.number(rating))):
        for number in range(1, 6):
            icon("star", "tw-star-on" if number <= round(rating) else "tw-star")


def folded(t: Texts, content: str, classes: str = "") -> None:
    """A text of any length: the rest of a long one is shown on request."""
    if len(content) <= _FOLD:
        text(content, f"tw-pre {classes}", "p", dir="auto")
        return
    shown = text(f"{content[:_FOLD]}…", f"tw-pre {classes}", "p", dir="auto")

    def unfold() -> None:
        shown.set_text(content)
        more.delete()

    more = button(t("support.show_all", number=t.number(len(content))), unfold, kind="quiet", small=True)
    more.style("align-self: flex-start")


def new_ticket(page: Page, path: str, *, for_customer: bool) -> None:
    """The dialog that opens a ticket; ``path`` is that of its view."""
    t = page.t

    async def create(values: dict[str, Any], key: str) -> None:
        answer = await page.api.call("create_ticket", body=values, key=key)
        made.close()
        toast(t("support.opened"))
        await page.go(page.path(f"{path}/{answer.body['ticket_id']}"))

    with dialog(t("support.new_ticket")) as made:
        form = Form(t, submit=create, action=t("support.open_ticket"), cancel=made.close)
        if not for_customer:
            form.text("customer_id", t("support.customer"), most=200, hint=t("support.customer_hint"))
        form.text("symptom_text", t("support.symptom"), lines=True, most=10_000, hint=t("support.symptom_hint"))
        options = {each.value: t(f"support.{each}") for each in Priority}
        form.choice("priority", t("support.priority"), options, value=Priority.MEDIUM.value)
        form.end()
