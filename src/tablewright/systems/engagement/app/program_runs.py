"""The runs of a program: progress, counts and errors; pausing, resuming and cancelling them."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from tablewright.systems.engagement.app.engagement_parts import Body, number, place_of
from tablewright.systems.engagement.model import Run
from tablewright.ui.components import Tone, banner, box, button, card, empty, meter, pill, text, time
from tablewright.ui.data_list import DataList
from tablewright.ui.feedback import confirm, toast
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["RunList", "begin_run", "draw_run"]

_PAGE = 10
_RESUMABLE = ("stopped", "paused", "failed")
_TONES: dict[str, Tone] = {
    "running": "info",
    "stopped": "warn",
    "paused": "warn",
    "completed": "good",
    "failed": "bad",
    "cancelled": "neutral",
}


class RunList:
    """The runs of a program, latest first, in the element that is open when it is made."""

    def __init__(self, page: Page, program: Body) -> None:
        self._page = page
        self._program = program
        t = page.t
        with box("tw-stack"):
            self._list: DataList[Body] = DataList(
                t,
                read=self._read,
                key=lambda run: str(run["runId"]),
                row=self._draw,
                nothing=lambda: empty(t("engagement.no_runs"), t("engagement.no_runs_about"), "play"),
                classes="tw-stack",
                controls=True,
            )

    async def _read(self, cursor: str | None) -> tuple[list[Body], str | None]:
        answer = await self._page.api.call("runs", limit=_PAGE, cursor=cursor, **place_of(self._program))
        return answer.body["runs"], answer.body.get("cursor")

    async def load(self, program: Body) -> None:
        self._program = program
        await self._list.refresh()

    async def changed(self, found: list[Any], program: Body) -> None:
        """A run in progress is read separately; a new or deleted one changes the list."""
        self._program = program
        runs = {each.run_id for each in found if isinstance(each, Run)}
        if runs - self._list.items.keys():
            await self._list.refresh()
            return
        for run_id in runs:
            answer = await self._page.api.call("get_run", run_id=run_id, **place_of(program))
            self._list.change(answer.body)

    def _draw(self, run: Body) -> None:
        with card():
            draw_run(self._page, run)


def draw_run(page: Page, run: Body) -> None:
    """A run: its state, progress, counts and actions."""
    t, counts = page.t, run["counts"]
    with box("tw-stack", data_run=run["runId"], data_state=run["state"]):
        with box("tw-row-between"):
            with box("tw-row tw-wrap"):
                started = parsed_time(run["started"])
                text("" if started is None else t.time(started), "tw-strong")
                is_ending = run["requested"] is not None
                pill(t("engagement.stopping" if is_ending else f"engagement.{run['state']}"), _TONES[run["state"]])
                text(t("engagement.manual" if run["trigger"] == "manual" else "engagement.by_schedule"), "tw-mute")
            time(t, parsed_time(run["updated"]))
        _draw_progress(page, run)
        with box("tw-numbers"):
            for name in ("candidates", "rejected", "failed", "scored", "cached"):
                with box("tw-number", "span"):
                    text(t.number(counts[name]), "tw-num tw-strong")
                    text(t(f"engagement.count_{name}"), "tw-mute tw-small")
        if run["waitingFor"]:
            banner(t("engagement.waits_for", reason=run["waitingFor"]), "warn")
        if run["failure"]:
            banner(run["failure"], "bad" if run["state"] == "failed" else "warn")
        if run["errors"]:
            with box("tw-stack-tight"):
                text(t("engagement.errors"), "tw-section-title", "h3")
                for reason, count in run["errors"].items():
                    text(f"{t.number(count)} \u00d7 {reason}", "tw-small", "p")
        _draw_actions(page, run)


def _draw_progress(page: Page, run: Body) -> None:
    t, counts, total = page.t, run["counts"], run["total"]
    done = counts["read"] + counts["withoutId"]
    if total is None:
        message = t("engagement.progress_of_many", read=t.number(done))
    else:
        message = t("engagement.progress", read=t.number(done), total=t.number(total))
    started, updated = parsed_time(run["started"]), parsed_time(run["finished"] or run["updated"])
    if started is not None and updated is not None and updated > started and run["attempt"] == 1:
        speed = done / (updated - started).total_seconds()
        message += f" · {t('engagement.a_second', number=number(t, round(speed)))}"
    if run["state"] == "running" or total:
        part = 1.0 if run["state"] == "completed" else done / total if total else 0.0
        tone: Tone = "good" if run["state"] == "completed" else "bad" if run["state"] == "failed" else "info"
        meter(part, message, tone)
    text(message, "tw-mute tw-small tw-num", "p")


def _draw_actions(page: Page, run: Body) -> None:
    t, state = page.t, run["state"]
    can_resume = state in _RESUMABLE or (state == "completed" and run["counts"]["failed"] > 0)
    if not page.may("stop_run", "resume_run", "cancel_run") or not (state == "running" or can_resume):
        return
    with box("tw-row"):
        if state == "running" and run["requested"] is None:
            button(
                t("engagement.pause"), lambda: _change(page, run, "stop_run", "pausing"), icon_name="pause", small=True
            )
        if can_resume:
            label = t("engagement.retry_failed" if state == "completed" else "engagement.resume")
            button(label, lambda: _change(page, run, "resume_run", "resumed"), icon_name="play", small=True)
        if state != "completed":
            button(t("engagement.cancel_run"), lambda: _cancel(page, run), kind="danger", small=True)


async def _change(page: Page, run: Body, call: str, message: str) -> None:
    # Without the entity tag: a run changes all the time, and its state decides.
    await page.api.call(call, program_id=run["programId"], marketplace_id=run["marketplaceId"], run_id=run["runId"])
    toast(page.t(f"engagement.{message}"))


async def _cancel(page: Page, run: Body) -> None:
    t = page.t
    if await confirm(t("engagement.cancel_run"), t("engagement.cancel_run_about"), t("engagement.cancel_run")):
        await _change(page, run, "cancel_run", "cancelled_now")


async def begin_run(page: Page, program: Body) -> None:
    await page.api.call("begin_run", key=uuid4().hex, **place_of(program))
    toast(page.t("engagement.run_begun"))
