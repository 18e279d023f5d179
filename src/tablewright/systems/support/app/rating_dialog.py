"""The dialog for feedback on the help."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tablewright.ui.feedback import dialog, toast
from tablewright.ui.forms import Form
from tablewright.ui.screen_page import Page

__all__ = ["give_feedback"]

_HELPFUL = {"": None, "yes": True, "no": False}


def give_feedback(page: Page, ticket_id: str, about: str | None, then: Callable[[], Awaitable[object]]) -> None:
    """Ask for feedback on a person's help; or from an operator, on the help that the ticket got."""
    t = page.t

    async def send(values: dict[str, Any], key: str) -> None:
        body = {
            "operator_id": about,
            "rating": int(values["rating"]),
            "was_helpful": _HELPFUL[values["was_helpful"] or ""],
            "comment": values["comment"],
        }
        await page.api.call("give_feedback", ticket_id=ticket_id, body=body, key=key)
        made.close()
        toast(t("support.thanks"))
        await then()

    title = t("support.rate_help") if about is None else t("support.rate_who", who=about)
    with dialog(title) as made:
        form = Form(t, submit=send, action=t("support.send"), cancel=made.close)
        form.choice("rating", t("support.rating"), {str(each): t(f"support.rating_{each}") for each in range(5, 0, -1)})
        answers = {each: t(f"support.helpful_{each or 'unsaid'}") for each in _HELPFUL}
        form.choice("was_helpful", t("support.was_helpful"), answers)
        form.text("comment", t("support.comment"), lines=True, most=5_000, empty_is_none=True)
        form.end()
