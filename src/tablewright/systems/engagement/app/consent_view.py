"""The preferences of a customer, and who changed them, when and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from tablewright.store import AnyChange
from tablewright.systems.engagement.app.engagement_parts import Body
from tablewright.systems.engagement.model import PreferenceChange, Preferences, candidates
from tablewright.ui.api_calls import ApiResponse, Refused
from tablewright.ui.components import box, button, card, empty, fact, facts, pill, text, time
from tablewright.ui.data_list import DataList
from tablewright.ui.feedback import dialog, toast
from tablewright.ui.forms import Form
from tablewright.ui.live_changes import changed_entities
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["consent"]

_PAGE = 20


async def consent(page: Page, customer_id: str = "") -> None:
    """A customer who is looked up, with their preferences."""
    view = _Consent(page)
    await page.live(candidates, view.changed)
    page.on_navigate(view.show)
    await view.show(customer_id)


class _Consent:
    def __init__(self, page: Page) -> None:
        self._page = page
        self._customer = ""
        self._answer: ApiResponse | None = None
        self._history: DataList[Body] | None = None
        t = page.t

        async def find(values: dict[str, Any], _: str) -> None:
            wanted = str(values["customer"]).strip()
            if wanted:
                await page.go(page.path(f"/customers/{quote(wanted, safe='')}"))

        with box("tw-body tw-body-narrow"):
            with card():
                form = Form(t, submit=find, action=t("engagement.show_customer"))
                form.text("customer", t("engagement.find_customer"), most=200, hint=t("engagement.find_about"))
                form.end()
            self._wishes = box()
            self._changes = box()

    async def show(self, customer_id: str = "") -> None:
        self._customer, self._answer, self._history = customer_id, None, None
        self._wishes.clear()
        self._changes.clear()
        if not customer_id:
            return
        t = self._page.t
        try:
            await self._load()
        except Refused as error:
            if error.status != 422:
                raise
            with self._wishes:
                empty(t("shell.not_found"), error.detail, "user")
            return
        with self._changes, card(t("engagement.history")):
            self._history = DataList(
                t,
                read=self._read,
                key=lambda each: str(each["number"]),
                row=self._draw_change,
                nothing=lambda: text(t("engagement.no_history"), "tw-mute", "p"),
            )
        await self._history.load()

    async def changed(self, changes: Sequence[AnyChange] | None) -> None:
        found = None if changes is None else changed_entities(changes, Preferences, PreferenceChange)
        if self._customer and (found is None or any(each.customer_id == self._customer for each in found)):
            await self._load()
            if self._history is not None:
                await self._history.refresh()

    async def _read(self, cursor: str | None) -> tuple[list[Body], str | None]:
        answer = await self._page.api.call("preference_history", customer_id=self._customer, limit=_PAGE, cursor=cursor)
        return answer.body["changes"], answer.body.get("cursor")

    async def _load(self) -> None:
        answer = await self._page.api.call("preferences", customer_id=self._customer)
        if self._answer is None or answer.body != self._answer.body:
            self._answer = answer
            self._draw(answer.body)
        self._answer = answer

    def _draw(self, wishes: Body) -> None:
        page, t = self._page, self._page.t
        self._wishes.clear()
        with self._wishes, box("tw-card", "section"):
            with box("tw-card-head"):
                with box("tw-row tw-wrap"):
                    text(self._customer, "tw-h2 tw-mono", "h2")
                    is_out = wishes["optedOut"]
                    pill(t("engagement.opted_out" if is_out else "engagement.wants_all"), "bad" if is_out else "good")
                if page.may("patch_preferences"):
                    with box("tw-row"):
                        label = t("engagement.opt_in" if is_out else "engagement.opt_out")
                        button(label, lambda: self._set_out(not is_out), kind="plain" if is_out else "danger")
                        button(t("engagement.change_wishes"), self._edit, icon_name="edit")
            with facts():
                fact(t("engagement.channels_off"), ", ".join(wishes["channelsOff"]) or t("engagement.none"))
                fact(t("engagement.programs_off"), ", ".join(wishes["programsOff"]) or t("engagement.none"))
                fact(t("engagement.quiet_hours"), _hours(wishes["quietHours"]) or t("engagement.none"))

    def _draw_change(self, each: Body) -> None:
        t = self._page.t
        with box("tw-item"):
            with box("tw-row-between"):
                with box("tw-row tw-wrap"):
                    text(each["changedBy"], "tw-strong")
                    source = f"engagement.source_{each['source']}"
                    text(t(source) if source in t else each["source"], "tw-mute tw-small")
                time(t, parsed_time(each["at"]))
            for name, change in each["changes"].items():
                label = f"engagement.{_SAID.get(name, '')}"
                shown = t(label) if label in t else name
                text(f"{shown}: {self._value(change['before'])} → {self._value(change['after'])}", "tw-small")

    def _value(self, value: Any) -> str:
        t = self._page.t
        if isinstance(value, bool):
            return t("engagement.yes" if value else "engagement.no")
        if isinstance(value, list):
            return ", ".join(map(str, value)) or t("engagement.none")
        return _hours(value) if isinstance(value, dict) else t("engagement.none") if value is None else str(value)

    async def _set_out(self, is_out: bool, *, is_undo: bool = False) -> None:
        t, customer = self._page.t, self._customer
        await self._patch({"optedOut": is_out})
        undo = None if is_undo else (t("shell.undo"), lambda: self._set_out(not is_out, is_undo=True))
        toast(t(f"engagement.opted_{'out' if is_out else 'in'}_now", who=customer), undo=undo)

    async def _patch(self, body: Body) -> None:
        assert self._answer is not None
        await self._page.api.call("patch_preferences", body=body, seen=self._answer.etag, customer_id=self._customer)
        await self._load()

    def _edit(self) -> None:
        assert self._answer is not None
        t, wishes = self._page.t, self._answer.body
        hours = wishes["quietHours"] or {}

        async def send(values: dict[str, Any], _: str) -> None:
            quiet = None
            if values["start"] or values["end"]:
                quiet = {"start": values["start"], "end": values["end"], "timeZone": values["timeZone"] or "UTC"}
            await self._patch(
                {
                    "channelsOff": _names(values["channelsOff"]),
                    "programsOff": _names(values["programsOff"]),
                    "quietHours": quiet,
                }
            )
            made.close()
            toast(t("engagement.wishes_changed"))

        with dialog(t("engagement.wants")) as made:
            form = Form(t, submit=send, action=t("shell.save"), cancel=made.close)
            for name, key in (("channelsOff", "channels_off"), ("programsOff", "programs_off")):
                hint = t("engagement.separated")
                form.text(name, t(f"engagement.{key}"), value=", ".join(wishes[name]), most=2_000, hint=hint)
            form.text("start", t("engagement.quiet_from"), value=hours.get("start", ""), kind="time")
            form.text("end", t("engagement.quiet_to"), value=hours.get("end", ""), kind="time")
            form.text("timeZone", t("engagement.zone"), value=hours.get("timeZone", ""), most=64)
            form.end()


_SAID = {
    "optedOut": "opted_out",
    "channelsOff": "channels_off",
    "programsOff": "programs_off",
    "quietHours": "quiet_hours",
}


def _names(given: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))


def _hours(hours: Body | None) -> str:
    return "" if not hours else f"{hours['start']} \u2013 {hours['end']} {hours.get('timeZone', '')}".strip()
