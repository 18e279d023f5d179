"""One call: its time, people, actions and activity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from nicegui import ui

from tablewright.systems.calls.app.call_parts import (
    AfterChange,
    CallBody,
    Times,
    Whose,
    begins,
    change_person,
    people_in,
    refuse,
    reschedule_call,
    status_pill,
    what_of,
)
from tablewright.systems.calls.model import Side, Status
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import avatar, box, button, link, text
from tablewright.ui.feedback import confirm, toast
from tablewright.ui.list_detail.conversation import activity
from tablewright.ui.list_detail.ordered_reads import OrderedReads
from tablewright.ui.screen_page import Page

__all__ = ["CallDetail"]

_ACTIVITIES = 20
_CALLS = ("create_call", "reschedule", "reassign", "change_provider", "change_status", "cancel")


class CallDetail:
    """A call beside the calendar; read again when it changes."""

    def __init__(
        self,
        page: Page,
        times: Times,
        call_id: str,
        place: ui.element,
        *,
        close: Callable[[], object],
        calendar_of: Callable[[Whose], str],
        known: Callable[[], list[Whose]],
        after: AfterChange,
    ) -> None:
        """``close`` draws the back button, ``calendar_of`` returns a calendar's address, ``after`` follows a change."""
        self._page = page
        self._times = times
        self.call_id = call_id
        self.zone = times.zone
        self._place = place
        self._close = close
        self._calendar_of = calendar_of
        self._known = known
        self._after = after
        self._call: CallBody = {}
        self._drawn: object = None
        self.load = OrderedReads(self._load)

    async def _load(self) -> None:
        """Read the call and draw it."""
        api = self._page.api
        self._call = (await api.call("get_call", callId=self.call_id, consistent=True)).body
        audit: list[dict[str, Any]] = []
        if api.may("audit"):
            audit = (await api.call("audit", callId=self.call_id, limit=_ACTIVITIES)).body["audit"]
        drawn = self._call, audit
        if drawn == self._drawn:
            # The stream reports own changes as well; buttons that are about to be clicked must not move.
            return
        self._drawn = drawn
        self._place.clear()
        with self._place:
            self._draw(audit)

    def clear(self) -> None:
        """Clear it; the next read draws it again."""
        self._drawn = None
        self._place.clear()

    def _draw(self, audit: list[dict[str, Any]]) -> None:
        page, t, times, call = self._page, self._page.t, self._times, self._call
        with box("tw-thing-head", "header"):
            with box("tw-grow tw-stack-tight"):
                with box("tw-row"):
                    status_pill(t, call)
                text(t("calls.with", who=call["userId"], other=call["providerId"]), "", "h2")
            self._close()
        with box("tw-thing-body"):
            with box("tw-cal-when"):
                text(times.hours(call), "", "b")
                text(times.long_day(times.day(begins(call))))
                length = t.span(timedelta(minutes=call["durationMinutes"]))
                text(f"{length} · {times.zone.key}", "tw-mute tw-small")
            self._draw_actions()
            with box("tw-stack"):
                for each in people_in(call):
                    with box("tw-row"):
                        avatar(each.person_id, large=True)
                        with box("tw-grow"):
                            text(each.person_id, "tw-strong tw-clip", "div")
                            text(t(f"calls.{each.side}"), "tw-mute tw-small", "div")
                        if page.may("calls_of_provider"):
                            made = link(t("calls.calendar"), self._calendar_of(each), "tw-link tw-small")
                            made.props["aria-label"] = t("calls.calendar_of", who=each.person_id)
            link(t("calls.link"), page.path(f"/call/{self.call_id}"), "tw-link tw-small")
            if audit:
                activity(t, t("calls.activity"), audit, self._describe)

    def _describe(self, entry: Mapping[str, Any]) -> str:
        """An entry of the audit as text."""
        t, call, changes = self._page.t, entry["call"], entry["changes"]
        values = {"who": entry["by"], "what": ", ".join(changes), "old": "", "new": ""}
        if call == "change_status" and "status" in changes:
            values["old"], values["new"] = (t(f"calls.{changes['status'][each]}") for each in ("old", "new"))
        elif call in ("reassign", "change_provider"):
            values["what"] = ", ".join(str(each["new"]) for each in changes.values())
        return t(f"calls.did_{call}" if call in _CALLS else "calls.did_something", **values)

    def _draw_actions(self) -> None:
        page, t, call = self._page, self._page.t, self._call
        with box("tw-cal-actions"):
            if call["status"] == Status.SCHEDULED:
                if page.may("change_status"):
                    button(t("calls.complete"), lambda: self._set(Status.COMPLETED), kind="primary", icon_name="check")
                button(
                    t("calls.reschedule"),
                    lambda: reschedule_call(page, self._times, self._call, self._changed),
                    icon_name="clock",
                )
                button(t("calls.change_provider"), lambda: self._give(Side.PROVIDER), icon_name="users")
                if page.may("reassign"):
                    button(t("calls.reassign"), lambda: self._give(Side.USER), icon_name="user")
                button(t("calls.cancel"), self._cancel, kind="danger", icon_name="close")
            else:
                if page.may("change_status"):
                    button(t("calls.reopen"), lambda: self._set(Status.SCHEDULED), kind="primary", icon_name="undo")
                if page.may("audit"):
                    button(t("calls.delete"), self._delete, kind="danger", icon_name="trash")

    # -- changing -------------------------------------------------------------------------------------------------

    async def _changed(self) -> None:
        await self._after()
        try:
            await self.load()
        except Refused as error:
            if error.status != 404:
                raise

    def _give(self, side: Side) -> None:
        change_person(self._page, self._call, side, self._known(), self._changed)

    async def _set(self, status: Status, *, is_undo: bool = False) -> None:
        """Change the status of the version that was seen."""
        t, call = self._page.t, self._call
        before = Status(call["status"])
        body = {"status": status, "version": call["version"]}
        try:
            answer = await self._page.api.call("change_status", callId=self.call_id, body=body)
        except Refused as error:
            await self._changed()
            raise refuse(t, error, call) from None
        self._call = answer.body
        key = {Status.COMPLETED: "completed_now", Status.CANCELLED: "cancelled_now", Status.SCHEDULED: "reopened"}
        undo = None if is_undo else (t("shell.undo"), lambda: self._set(before, is_undo=True))
        toast(t(f"calls.{key[status]}", what=what_of(t, self._times, call)), undo=undo)
        await self._changed()

    async def _cancel(self) -> None:
        """Cancel it: with an undo for users who may schedule it again, with a confirmation for all others."""
        t, call = self._page.t, self._call
        if self._page.may("change_status"):
            await self._set(Status.CANCELLED)
        elif await confirm(t("calls.cancel_question"), t("calls.cancel_about"), t("calls.cancel")):
            await self._page.api.call("cancel", callId=self.call_id, version=call["version"])
            toast(t("calls.cancelled_now", what=what_of(t, self._times, call)))
            await self._changed()

    async def _delete(self) -> None:
        t = self._page.t
        if await confirm(t("calls.delete_question"), t("calls.delete_about"), t("calls.delete")):
            await self._page.api.call("cancel", callId=self.call_id, version=self._call["version"])
            toast(t("calls.deleted"))
            await self._after()
