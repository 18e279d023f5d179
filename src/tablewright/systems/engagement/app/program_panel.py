"""One program: the state of its approval, the actions for that, and its sections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from nicegui import ui

from tablewright.systems.engagement.app.candidates_panel import CandidateList
from tablewright.systems.engagement.app.deliveries_panel import DeliveryList
from tablewright.systems.engagement.app.engagement_parts import Body, path_of, state_of, state_pill
from tablewright.systems.engagement.app.program_overview import Overview
from tablewright.systems.engagement.app.program_runs import RunList, begin_run
from tablewright.ui.api_calls import ApiResponse, Refused
from tablewright.ui.components import banner, box, button, link_button, tab_link, text
from tablewright.ui.feedback import dialog, toast
from tablewright.ui.forms import Form
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["SECTIONS", "ProgramPanel"]


class Section(Protocol):
    """A section of a program's screen."""

    async def load(self, program: Body) -> None:
        """Read and draw what has changed."""

    async def changed(self, found: list[Any], program: Body) -> None:
        """Called with entities that have changed."""


_SECTIONS: dict[str, Callable[[Page, Body], Section]] = {
    "overview": Overview,
    "runs": RunList,
    "candidates": CandidateList,
    "deliveries": DeliveryList,
}
SECTIONS = tuple(_SECTIONS)


class ProgramPanel:
    """A program in an element."""

    def __init__(self, page: Page, place: dict[str, Any], outer: ui.element, back: Callable[[], object]) -> None:
        self._page = page
        self.place = place
        self._back = back
        self._answer: ApiResponse | None = None
        self._shown = ""
        self._section: Section | None = None
        outer.clear()
        with outer:
            self._head = box()
            self._tabs = box("tw-list-tabs tw-thing-tabs", "nav", aria_label=page.t("engagement.sections"))
            self._body = box("tw-thing-body", tabindex="0")

    @property
    def program(self) -> Body:
        assert self._answer is not None
        found: Body = self._answer.body
        return found

    async def load(self) -> None:
        """Read the program, and draw what has changed."""
        before = self._answer
        self._answer = await self._page.api.call("get_program", consistent=True, **self.place)
        if before is None or before.body != self._answer.body:
            self._draw_head()

    async def show(self, section: str, candidate: tuple[str, str, str] | None = None) -> None:
        """Open a section, and one candidate in the section of candidates."""
        shown = section if section in SECTIONS else SECTIONS[0]
        if shown != self._shown or self._section is None:
            self._shown = shown
            self._draw_tabs()
            self._body.clear()
            with self._body:
                self._section = _SECTIONS[shown](self._page, self.program)
        await self._section.load(self.program)
        if isinstance(self._section, CandidateList):
            await self._section.open(candidate)

    async def changed(self, found: list[Any], *, is_program: bool) -> None:
        if is_program:
            version = self.program["version"]
            await self.load()
            if self._section is not None and self.program["version"] != version:
                await self._section.load(self.program)
        if self._section is not None:
            await self._section.changed(found, self.program)

    async def reload(self) -> None:
        await self.load()
        if self._section is not None:
            await self._section.load(self.program)

    def _draw_tabs(self) -> None:
        page = self._page
        self._tabs.clear()
        with self._tabs:
            for name in SECTIONS:
                steps = () if name == SECTIONS[0] else (name,)
                path = path_of(page, self.program, *steps)
                tab_link(page.t(f"engagement.{name}"), path, is_current=name == self._shown)

    def _draw_head(self) -> None:
        t, program = self._page.t, self.program
        self._head.clear()
        with self._head:
            with box("tw-thing-head"):
                self._back()
                with box("tw-grow tw-stack-tight"):
                    with box("tw-row tw-wrap"):
                        text(program["programName"], "", "h2")
                        state_pill(t, program)
                    version = t("engagement.version", number=program["version"])
                    text(f"{program['programId']} · {program['marketplaceId']} · {version}", "tw-mute tw-small")
                with box("tw-row tw-wrap"):
                    self._draw_actions(program)
            message = self._about_approval(program)
            if message is not None:
                with box("tw-head-note"):
                    banner(*message)

    def _about_approval(self, program: Body) -> tuple[str, Any] | None:
        t, approval = self._page.t, program["approval"]
        state = approval["state"]

        def when(name: str) -> str:
            at = parsed_time(approval[name])
            return "" if at is None else t.time(at)

        if state == "requested":
            asked = t("engagement.asked_by", who=approval["requestedBy"], when=when("requestedAt"))
            who = ", ".join(approval["editors"]) or approval["requestedBy"]
            return f"{asked}. {t('engagement.second_person', who=who)}", "warn"
        if state == "declined":
            message = t(
                "engagement.declined_by",
                who=approval["decidedBy"],
                when=when("decidedAt"),
                reason=approval["reason"] or "",
            )
            return message, "bad"
        return (t("engagement.is_draft"), "info") if state == "draft" else None

    def _draw_actions(self, program: Body) -> None:
        page, t, state = self._page, self._page.t, state_of(program)
        if state == "requested" and page.may("approve") and self._is_second(program):
            button(t("engagement.decline"), self._decline)
            button(t("engagement.approve"), self._approve, kind="primary", icon_name="shield")
        if state in ("draft", "declined") and page.may("request_approval"):
            button(t("engagement.request"), self._request, kind="primary", icon_name="shield")
        if state == "disabled" and page.may("enable"):
            button(t("engagement.enable"), lambda: self._switch(True), kind="primary")
        if state == "enabled" and page.may("disable"):
            button(t("engagement.disable"), lambda: self._switch(False))
        if state == "enabled" and page.may("begin_run") and program["dataConnectors"]:
            button(t("engagement.run_now"), self._run, kind="primary", icon_name="play", key="r")
        if page.may("put_program"):
            path = page.path(f"/edit/{program['marketplaceId']}/{program['programId']}")
            link_button(t("engagement.edit"), path, icon_name="edit", data_key="e")

    def _is_second(self, program: Body) -> bool:
        approval = program["approval"]
        return self._page.user_id not in (*approval["editors"], approval["requestedBy"])

    async def _run(self) -> None:
        await begin_run(self._page, self.program)
        await self._page.go(path_of(self._page, self.program, "runs"))

    async def _call(self, name: str, text_key: str, body: Body | None = None) -> None:
        """Make a call about the program as it was seen, and show the result."""
        assert self._answer is not None
        program = self.program
        try:
            await self._page.api.call(name, body=body, seen=self._answer.etag, **self.place)
        except Refused as error:
            if error.is_conflict:
                await self.reload()
            raise
        toast(
            self._page.t(
                f"engagement.{text_key}", **({"name": program["programName"]} if text_key != "requested_now" else {})
            )
        )
        await self.reload()

    async def _request(self) -> None:
        await self._call("request_approval", "requested_now")

    async def _approve(self) -> None:
        await self._call("approve", "approved_now", {"version": self.program["version"]})

    async def _switch(self, enabled: bool, *, is_undo: bool = False) -> None:
        page, t = self._page, self._page.t
        assert self._answer is not None
        await page.api.call("enable" if enabled else "disable", seen=self._answer.etag, **self.place)
        await self.reload()
        undo = None if is_undo else (t("shell.undo"), lambda: self._switch(not enabled, is_undo=True))
        toast(t(f"engagement.{'enabled' if enabled else 'disabled'}_now", name=self.program["programName"]), undo=undo)

    def _decline(self) -> None:
        t = self._page.t

        async def send(values: dict[str, Any], _: str) -> None:
            await self._call("decline", "declined_now", {**values, "version": self.program["version"]})
            made.close()

        with dialog(t("engagement.decline")) as made:
            form = Form(t, submit=send, action=t("engagement.decline"), cancel=made.close)
            form.text("reason", t("engagement.reason"), lines=True, most=500)
            form.end()
