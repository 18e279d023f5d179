"""Following calls outside of the application: reminders by mail, and the address of a calendar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablewright.systems.calls.app.call_parts import Whose
from tablewright.systems.calls.model import Side
from tablewright.ui.components import banner, box, button, text
from tablewright.ui.feedback import dialog, toast
from tablewright.ui.forms import Form
from tablewright.ui.screen_page import Page

__all__ = ["address_dialog", "followed", "reminders_dialog"]

_NEVER = "0"
_CHOICES = (15, 60, 24 * 60)


async def reminders_dialog(page: Page, user_id: str) -> None:
    """The reminders of a user: on or off, the address, and how long before a call."""
    t = page.t
    answer = await page.api.call("calendar_settings", userId=user_id)
    minutes = answer.body["remindMinutes"]

    async def save(values: dict[str, Any], _: str) -> None:
        chosen = int(values["remindMinutes"])
        wanted = {"email": values["email"].strip(), "remindMinutes": chosen}
        none = {"email": None, "remindMinutes": None}
        await page.api.call(
            "change_calendar_settings", userId=user_id, body=wanted if chosen else none, if_match=answer.etag
        )
        made.close()
        toast(t("calls.reminders_on" if chosen else "calls.reminders_off"))

    with dialog(t("calls.reminders")) as made:
        text(t("calls.reminders_about", who=user_id), "tw-mute", "p")
        form = Form(t, submit=save, action=t("calls.save"), cancel=made.close)
        known = {_NEVER: t("calls.never"), **{str(each): t(f"calls.before_{each}") for each in _CHOICES}}
        if minutes is not None and minutes not in _CHOICES:
            known[str(minutes)] = t("calls.minutes", number=minutes)
        own = page.session.caller.email or "" if user_id == page.user_id else ""
        form.choice("remindMinutes", t("calls.remind"), known, value=str(minutes or _NEVER))
        form.text("email", t("calls.email"), value=answer.body["email"] or own, kind="email", most=254)
        form.end()


async def address_dialog(page: Page, user_id: str) -> None:
    """The secret address of a user's calendar: creating and revoking it."""
    t = page.t
    has_one = (await page.api.call("calendar_settings", userId=user_id)).body["hasAddress"]

    async def make() -> None:
        url = (await page.api.call("new_calendar_address", userId=user_id)).body["url"]
        place.clear()
        with place:
            text(t("calls.address_once"), "tw-mute tw-small", "p")
            box("tw-plain tw-grow", "input", type="text", readonly=True, value=url, aria_label=t("calls.address"))
            with box("tw-form-foot"):
                button(t("shell.close"), made.close, kind="primary")

    async def end() -> None:
        await page.api.call("end_calendar_address", userId=user_id)
        made.close()
        toast(t("calls.address_ended"))

    with dialog(t("calls.subscribe")) as made:
        text(t("calls.subscribe_about", who=user_id), "tw-mute", "p")
        place = box("tw-form")
        with place:
            if has_one:
                banner(t("calls.address_there"), "warn")
            with box("tw-form-foot"):
                if has_one:
                    button(t("calls.end_address"), end)
                button(t("calls.new_address"), make, kind="primary", data_submit=True)


def followed(people: Sequence[Whose]) -> str | None:
    """The one user whose calls are shown, who can follow them."""
    users = [each.person_id for each in people if each.side is Side.USER]
    return users[0] if len(users) == 1 else None
