"""Programs of all marketplaces by their approval, and the one that is open beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablewright.store import AnyChange, Change
from tablewright.systems.engagement.app.engagement_parts import Body, key_of, path_of, place_of, state_pill
from tablewright.systems.engagement.app.program_panel import ProgramPanel
from tablewright.systems.engagement.model import (
    ApprovalState,
    Candidate,
    ChannelEntry,
    Delivery,
    Preferences,
    Program,
    Run,
    candidates,
    programs,
)
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, empty, link_button, tab_link, text
from tablewright.ui.data_list import DataList
from tablewright.ui.feedback import toast
from tablewright.ui.live_changes import changed_entities
from tablewright.ui.screen_page import Page

__all__ = ["program_list"]

_PAGE = 25
# In the order in which they are listed together.
_STATES = tuple(
    map(str, (ApprovalState.REQUESTED, ApprovalState.DECLINED, ApprovalState.DRAFT, ApprovalState.APPROVED))
)


async def program_list(
    page: Page,
    marketplace_id: str = "",
    program_id: str = "",
    section: str = "",
    customer_id: str = "",
    subject_type: str = "",
    subject_id: str = "",
) -> None:
    """The programs, and one of them."""
    view = _Programs(page)
    await page.live(programs, view.changed)
    await page.live(candidates, view.changed)
    page.on_navigate(view.show)
    page.on_search(view.list.filter, typed=view.list.filter)
    if page.may("put_program"):
        with page.actions:
            link_button(page.t("engagement.new"), page.path("/new"), kind="primary", icon_name="plus", data_key="n")
    await view.load()
    await view.show(marketplace_id, program_id, section, customer_id, subject_type, subject_id)


class _Programs:
    def __init__(self, page: Page) -> None:
        self._page = page
        self._shown = self._asked_for()
        self._panel: ProgramPanel | None = None
        self._columns = page.columns(self._path())
        with self._columns.list:
            self._tabs = box("tw-list-tabs", "nav", aria_label=page.t("engagement.lists"))
            with box("tw-col-scroll", tabindex="0"):
                self.list: DataList[Body] = DataList(
                    page.t,
                    read=self._read,
                    key=key_of,
                    row=self._draw_row,
                    nothing=self._draw_nothing,
                    words=lambda each: f"{each['programName']} {each['programId']} {each['marketplaceId']}",
                )

    def _asked_for(self) -> str:
        asked = self._page.query.get("list", "")
        return asked if asked in _STATES else ""

    def _path(self, shown: str | None = None) -> str:
        return self._page.path("/programs", list=(self._shown if shown is None else shown) or None)

    async def load(self) -> None:
        self._draw_tabs()
        await self.list.load()

    async def _read(self, cursor: str | None) -> tuple[list[Body], str | None]:
        """A page of one state, or of one state after the other: a cursor contains its state."""
        states = [self._shown] if self._shown else list(_STATES)
        first, _, at = (cursor or f"{states[0]}:").partition(":")
        found: list[Body] = []
        for state in states[states.index(first) :]:
            answer = await self._page.api.call(
                "programs_by_approval", approval=state, limit=_PAGE, cursor=at if state == first and at else None
            )
            found += answer.body["programs"]
            if answer.body.get("cursor"):
                return found, f"{state}:{answer.body['cursor']}"
        return found, None

    async def changed(self, changes: Sequence[AnyChange] | None) -> None:
        self._announce(changes)
        if changes is None:
            await self.list.refresh()
            if self._panel is not None:
                await self._panel.reload()
            return
        found = changed_entities(changes, Program, Run, Candidate, ChannelEntry, Delivery, Preferences)
        changed = [each for each in found if isinstance(each, Program)]
        if changed:
            await self.list.refresh()
        panel = self._panel
        if panel is not None:
            is_program = any(_place(each) == panel.place for each in changed)
            rest = [each for each in found if not isinstance(each, Program) and _concerns(each, panel.place)]
            if is_program or rest:
                await panel.changed(rest, is_program=is_program)

    def _announce(self, changes: Sequence[AnyChange] | None) -> None:
        """Notify a user of decisions about their programs, and of requests for approval."""
        page, t = self._page, self._page.t
        for each in changes or ():
            before, after = (each.before, each.after) if isinstance(each, Change) else (None, None)
            if not isinstance(after, Program):
                continue
            state, approval = after.approval.state, after.approval
            if isinstance(before, Program) and before.approval.state == state:
                continue
            concerned = page.user_id in (*approval.editors, approval.requested_by)
            if state is ApprovalState.REQUESTED and not concerned and page.may("approve"):
                toast(t("engagement.told_requested", who=approval.requested_by, name=after.program_name))
            elif state in (ApprovalState.APPROVED, ApprovalState.DECLINED) and concerned:
                toast(t(f"engagement.told_{state}", who=approval.decided_by, name=after.program_name))

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw_tabs(self) -> None:
        self._tabs.clear()
        with self._tabs:
            for name in ("", *_STATES):
                label = self._page.t(f"engagement.list_{name}" if name else "engagement.all")
                tab_link(label, self._path(name), is_current=name == self._shown)

    def _draw_row(self, program: Body) -> None:
        t = self._page.t
        is_open = self._panel is not None and self._panel.place == place_of(program)
        path = path_of(self._page, program, list=self._shown or None)
        with box("tw-item", "a", href=path, data_go=True, data_row=True, aria_current="true" if is_open else None):
            with box("tw-row-between"):
                text(program["programName"], "tw-item-title tw-clip")
                state_pill(t, program)
            text(f"{program['marketplaceId']} · {program['programId']}", "tw-mute tw-small")

    def _draw_nothing(self) -> None:
        t = self._page.t
        empty(t("engagement.nothing"), t("engagement.nothing_about"), "target")

    async def show(
        self,
        marketplace_id: str = "",
        program_id: str = "",
        section: str = "",
        customer_id: str = "",
        subject_type: str = "",
        subject_id: str = "",
    ) -> None:
        """Show another list, program, section or candidate."""
        if self._asked_for() != self._shown:
            self._shown = self._asked_for()
            await self.load()
        if customer_id:
            section = "candidates"
        place = {"program_id": program_id, "marketplace_id": marketplace_id}
        before = self._panel
        if not program_id:
            self._panel = None
            self._columns.show("list")
            self._columns.thing.clear()
            with self._columns.thing:
                empty(self._page.t("engagement.choose"), self._page.t("engagement.choose_about"), "target")
        else:
            self._columns.show("thing")
            try:
                if before is None or before.place != place:
                    self._panel = ProgramPanel(self._page, place, self._columns.thing, self._columns.back)
                    await self._panel.load()
                assert self._panel is not None
                await self._panel.show(section, (customer_id, subject_type, subject_id) if customer_id else None)
            except Refused as error:
                if error.status not in (404, 422):
                    raise
                self._draw_missing()
        for each in (before, self._panel):
            if each is not None:
                self.list.redraw(f"{each.place['marketplace_id']}/{each.place['program_id']}")

    def _draw_missing(self) -> None:
        self._panel = None
        self._columns.thing.clear()
        with self._columns.thing:
            with box("tw-thing-head"):
                self._columns.back()
            empty(self._page.t("shell.not_found"), self._page.t("shell.not_found_about"))


def _place(program: Program) -> dict[str, str]:
    return {"program_id": program.program_id, "marketplace_id": program.marketplace_id}


def _concerns(each: Any, place: dict[str, str]) -> bool:
    """Whether an entity belongs to a program; preferences of customers concern all programs."""
    return isinstance(each, Preferences) or (
        each.program_id == place["program_id"] and each.marketplace_id == place["marketplace_id"]
    )
