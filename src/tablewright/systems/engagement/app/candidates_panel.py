"""The candidates of a program by channel, best first; and the details of one, in a drawer beside the list."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

from nicegui import ui

from tablewright.systems.engagement.app.engagement_parts import (
    Body,
    number,
    path_of,
    place_of,
    reason_text,
    subject_name,
)
from tablewright.systems.engagement.app.trial_panel import draw_scores
from tablewright.systems.engagement.model import Candidate, ChannelEntry, Delivery, Preferences
from tablewright.ui.api_calls import ApiResponse, Refused
from tablewright.ui.components import (
    Tone,
    box,
    button,
    empty,
    fact,
    facts,
    icon,
    link,
    pill,
    section,
    set_attribute,
    text,
    time,
)
from tablewright.ui.data_list import DataList
from tablewright.ui.feedback import dialog, toast
from tablewright.ui.forms import Form
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["DELIVERY_TONES", "CandidateList"]

_PAGE = 25
# A run changes candidates all the time; this limits how often the list is read again.
_PAUSE = 0.7
DELIVERY_TONES: dict[str, Tone] = {"sent": "good", "sending": "info", "refused": "bad"}


class CandidateList:
    """The best candidates of a channel, in the element that is open when it is made."""

    def __init__(self, page: Page, program: Body) -> None:
        self._page = page
        self._program = program
        self._chosen = ""
        self._detail: _CandidateDetail | None = None
        t = page.t
        with box("tw-list-card"):
            self._tabs = box("tw-list-tabs", "nav", aria_label=t("engagement.channels"))
            self._list: DataList[Body] = DataList(
                t,
                read=self._read,
                key=lambda each: f"{each['customerId']}/{each['subject']['type']}/{each['subject']['id']}",
                row=self._draw_row,
                nothing=lambda: empty(t("engagement.no_candidates"), t("engagement.no_candidates_about"), "users"),
            )
        self._drawer = box("tw-drawer", "aside", aria_label=t("engagement.candidates"))
        self._drawer.set_visibility(False)

    async def load(self, program: Body) -> None:
        page, self._program = self._page, program
        channels = [
            each["channelId"]
            for each in sorted(program["channels"], key=lambda each: (each["priority"], each["channelId"]))
        ]
        asked = page.query.get("channel", "")
        chosen = asked if asked in channels else channels[0]
        if (chosen, channels) != (self._chosen, getattr(self, "_channels", None)):
            self._chosen, self._channels = chosen, channels
            self._tabs.clear()
            with self._tabs:
                for each in channels:
                    path = path_of(page, program, "candidates", channel=each)
                    current = "page" if each == chosen else None
                    with box("tw-list-tab", "a", href=path, data_go=True, aria_current=current):
                        text(each)
            await self._list.load()
        else:
            await self._list.refresh()

    async def open(self, candidate: tuple[str, str, str] | None) -> None:
        """Show a candidate beside the list, or close it."""
        before = self._detail
        if before is not None and candidate == before.place:
            await before.load(self._program)
            return
        self._drawer.clear()
        self._drawer.set_visibility(candidate is not None)
        self._detail = None
        if candidate is not None:
            with self._drawer:
                self._detail = _CandidateDetail(self._page, candidate, self._list_path())
            await self._detail.load(self._program)
        for place in (None if before is None else before.place, candidate):
            if place is not None:
                self._list.redraw("/".join(place))

    async def changed(self, found: list[Any], program: Body) -> None:
        self._program = program
        mine = [each for each in found if isinstance(each, ChannelEntry | Candidate | Delivery)]
        wishes = any(isinstance(each, Preferences) for each in found)
        if wishes or any(each.program_id == program["programId"] for each in mine):
            await self._list.refresh()
            if self._detail is not None:
                await self._detail.load(program)
            await asyncio.sleep(_PAUSE)

    def _list_path(self) -> str:
        return path_of(self._page, self._program, "candidates", channel=self._chosen)

    async def _read(self, cursor: str | None) -> tuple[list[Body], str | None]:
        answer = await self._page.api.call(
            "top_of_marketplace", channel_id=self._chosen, limit=_PAGE, cursor=cursor, **place_of(self._program)
        )
        return answer.body["candidates"], answer.body.get("cursor")

    def _draw_row(self, each: Body) -> None:
        page, t = self._page, self._page.t
        place = each["customerId"], each["subject"]["type"], each["subject"]["id"]
        is_open = self._detail is not None and self._detail.place == place
        path = path_of(page, self._program, "candidates", *place, channel=self._chosen)
        current = "true" if is_open else None
        with (
            box("tw-item", "a", href=path, data_go=True, data_row=True, aria_current=current),
            box("tw-row-between"),
        ):
            with box("tw-row"):
                text(each["customerId"], "tw-item-title tw-mono")
                text(subject_name(each["programId"], each["subject"]), "tw-mute tw-clip")
            with box("tw-row"):
                text(number(t, each["score"]), "tw-strong tw-num")
                time(t, parsed_time(each["created"]))


class _CandidateDetail:
    """A candidate: scores and weights, filters passed, consent, deliveries."""

    def __init__(self, page: Page, place: tuple[str, str, str], list_path: str) -> None:
        self._page = page
        self.place = place
        self._list_path = list_path
        self._drawn: Any = None
        self._body = box()

    def _named(self, program: Body) -> dict[str, Any]:
        customer, kind, id_ = self.place
        return {**place_of(program), "customer_id": customer, "subject_type": kind, "subject_id": id_}

    async def load(self, program: Body) -> None:
        """Read everything; it is drawn again if it has changed."""
        api, customer = self._page.api, self.place[0]
        try:
            answer = await api.call("get_candidate", consistent=True, **self._named(program))
        except Refused as error:
            if error.status not in (404, 422):
                raise
            self._draw_gone()
            return
        wishes = (await api.call("preferences", customer_id=customer)).body
        sent = (await api.call("deliveries_to", customer_id=customer, limit=20, **place_of(program))).body["deliveries"]
        configuration, run = await self._made_by(program, answer.body)
        shown = [answer.body, wishes, sent, configuration["filterChain"], run and run["started"]]
        if shown != self._drawn:
            self._drawn = shown
            self._draw(program, answer, wishes, sent, configuration, run)

    async def _made_by(self, program: Body, candidate: Body) -> tuple[Body, Body | None]:
        """The program version of the run that created a candidate, and that run; the current program for an event."""
        if candidate["runId"] is None:
            return program, None
        api = self._page.api
        try:
            run = (await api.call("get_run", run_id=candidate["runId"], **place_of(program))).body
            version = await api.call("get_version", number=run["programVersion"], **place_of(program))
        except Refused as error:
            if error.status != 404:
                raise
            return program, None
        found: Body = version.body["configuration"]
        return found, run

    def _draw_gone(self) -> None:
        self._drawn = None
        self._body.clear()
        with self._body:
            with box("tw-thing-head"):
                self._close()
            empty(self._page.t("shell.not_found"), self._page.t("shell.not_found_about"))

    def _close(self) -> ui.element:
        with box("tw-btn tw-btn-icon tw-btn-small", "a", href=self._list_path, data_go=True, data_back=True) as made:
            set_attribute(made, "aria-label", self._page.t("shell.close"))
            icon("close")
        return made

    def _draw(
        self, program: Body, answer: ApiResponse, wishes: Body, sent: list[Body], configuration: Body, run: Body | None
    ) -> None:
        page, t, candidate = self._page, self._page.t, answer.body
        self._body.clear()
        with self._body:
            with box("tw-thing-head"):
                with box("tw-grow tw-stack-tight"):
                    text(candidate["customerId"], "", "h2")
                    text(subject_name(candidate["programId"], candidate["subject"]), "tw-mute")
                if candidate["rejected"]:
                    pill(t("engagement.rejected"), "bad")
                elif page.may("reject"):
                    button(t("engagement.reject"), lambda: self._reject(program, answer), kind="danger", small=True)
                self._close()
            with box("tw-thing-body"):
                with section(t("engagement.why")):
                    weights = {each["modelId"]: float(each["weight"]) for each in configuration["scoringModels"]}
                    draw_scores(page, candidate["scores"], weights, candidate["score"])
                    with box("tw-row tw-wrap"):
                        text(t("engagement.filters_passed"), "tw-mute")
                        if not candidate["rejected"]:
                            for name in dict.fromkeys(["preference", *configuration["filterChain"]["filters"]]):
                                pill(name, "good", "check")
                with facts():
                    fact(t("engagement.channels"), ", ".join(candidate["channels"]) or t("engagement.none"))
                    fact(t("engagement.came"), self._came(run))
                    fact(t("engagement.made"), lambda: time(t, parsed_time(candidate["created"])))
                    expires = parsed_time(candidate["expires"])
                    fact(t("engagement.expires"), "" if expires is None else t.day(expires.date()))
                self._draw_consent(wishes)
                self._draw_deliveries(sent)
                if candidate["rejectionHistory"]:
                    with section(t("engagement.rejections")):
                        for each in reversed(candidate["rejectionHistory"][-5:]):
                            with box("tw-row-between"):
                                text(f"{each['filter']}: {reason_text(t, each['reason'])}")
                                time(t, parsed_time(each["at"]))
                if candidate["attributes"]:
                    with section(t("engagement.attributes")), facts():
                        for name, value in candidate["attributes"].items():
                            fact(name, str(value))

    def _came(self, run: Body | None) -> str:
        t = self._page.t
        started = None if run is None else parsed_time(run["started"])
        return t("engagement.by_event") if started is None else t("engagement.by_run", when=t.time(started))

    def _draw_consent(self, wishes: Body) -> None:
        page, t = self._page, self._page.t
        off = [*wishes["channelsOff"], *wishes["programsOff"]]
        with section(t("engagement.consent_of")), box("tw-row-between"):
            if wishes["optedOut"]:
                pill(t("engagement.opted_out"), "bad")
            elif off:
                pill(t("engagement.some_off", what=", ".join(off)), "warn")
            else:
                pill(t("engagement.wants_all"), "good")
            link(t("engagement.history"), page.path(f"/customers/{quote(self.place[0], safe='')}"))

    def _draw_deliveries(self, sent: list[Body]) -> None:
        t = self._page.t
        if not sent:
            return
        with section(t("engagement.deliveries")):
            for each in sent:
                with box("tw-row-between"):
                    with box("tw-row tw-wrap"):
                        text(each["channelId"], "tw-strong")
                        pill(t(f"engagement.{each['state']}"), DELIVERY_TONES[each["state"]])
                        text(reason_text(t, each["reason"] or ""), "tw-mute tw-small")
                    time(t, parsed_time(each["at"]))

    def _reject(self, program: Body, seen: ApiResponse) -> None:
        page, t = self._page, self._page.t

        async def send(values: dict[str, Any], _: str) -> None:
            await page.api.call("reject", body=values, seen=seen.etag, **self._named(program))
            made.close()
            toast(t("engagement.rejected_now", who=self.place[0]))
            await self.load(program)

        with dialog(t("engagement.reject")) as made:
            text(t("engagement.reject_about"), "tw-mute", "p")
            form = Form(t, submit=send, action=t("engagement.reject"), cancel=made.close)
            form.text("reason", t("engagement.reason"), most=500)
            form.end()
