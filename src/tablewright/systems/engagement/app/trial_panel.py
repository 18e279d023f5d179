"""Trying a program out: the funnel of a dry run, and what one customer would be sent. Nothing is written or sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from tablewright.systems.engagement.app.engagement_parts import Body, number, reason_text, subject_name
from tablewright.ui.charts.funnel import Step, funnel
from tablewright.ui.components import Column, Tone, box, button, card, icon, loading, meter, pill, table, text
from tablewright.ui.feedback import guarded
from tablewright.ui.screen_page import Page

__all__ = ["TrialPanel", "draw_scores", "funnel_steps"]

_PREFERENCE = "preference"
_OUTCOMES: dict[str, Tone] = {"passed": "good", "left out": "warn", "not evaluated": "neutral"}
_MARKS = {"passed": "check", "left out": "filter", "not evaluated": "more"}


class TrialPanel:
    """A card with both, in the element that is open; ``configuration`` returns the edited program, or None."""

    def __init__(
        self, page: Page, place: Callable[[], dict[str, Any]], configuration: Callable[[], Body | None]
    ) -> None:
        self._page = page
        self._place = place
        self._configuration = configuration
        t = page.t
        with card(t("engagement.trial")), box("tw-stack"):
            with box("tw-row tw-wrap"):
                button(t("engagement.dry_run"), self._dry_run, icon_name="chart", data_dry_run=True)
                wanted = ui.input(placeholder=t("engagement.preview_of")).classes("tw-input tw-grow")
                wanted.props(
                    f'borderless dense maxlength=200 aria-label="{t("engagement.preview_of")}" name="previewed"'
                )
                wanted.style("min-width: 150px; max-width: 260px")
                self._customer = wanted
                wanted.on("keydown.enter", guarded(self._preview), [])
                button(t("engagement.preview"), self._preview, icon_name="eye")
            self._result = box("tw-stack", aria_live="polite")
            with self._result:
                text(t("engagement.dry_run_about"), "tw-mute", "p")

    async def _dry_run(self) -> None:
        found = await self._tried("dry_run", {})
        with self._result:
            draw_funnel(self._page, found)

    async def _preview(self) -> None:
        wanted = str(self._customer.value or "").strip()
        found = await self._tried("preview", {"customerId": wanted} if wanted else {})
        with self._result:
            draw_preview(self._page, found)

    async def _tried(self, call: str, body: Body) -> Body:
        configuration = self._configuration()
        if configuration is not None:
            body = {**body, "configuration": configuration}
        self._result.clear()
        with self._result:
            loading(2)
        try:
            answer = await self._page.api.call(call, body=body, **self._place())
        finally:
            self._result.clear()
        found: Body = answer.body
        return found


def funnel_steps(page: Page, found: Body) -> list[Step]:
    """A dry run as the steps of a funnel: consent, models, filters, and then the channels."""
    t = page.t
    notes = []
    if found["withoutId"]:
        notes.append(t("engagement.without_id", number=t.number(found["withoutId"])))
    steps = [Step(t("engagement.read"), found["read"], note=", ".join(notes))]
    left = found["read"]
    for each in found["filters"]:
        left -= each["leftOut"]
        reasons = ", ".join(reason_text(t, reason) for reason in each["reasons"])
        note = t("engagement.left_out", number=t.number(each["leftOut"]), reason=reasons) if each["leftOut"] else ""
        steps.append(Step(each["filter"], left, note=note or t("engagement.left_out_none")))
        if each["filter"] == _PREFERENCE:
            left -= found["failed"]
            note = t("engagement.failed_count", number=t.number(found["failed"])) if found["failed"] else ""
            steps.append(Step(t("engagement.scored"), found["scored"], note=note))
    return [*steps, *(Step(name, count, "good") for name, count in found["channels"].items())]


def draw_funnel(page: Page, found: Body) -> None:
    t = page.t
    funnel(t, funnel_steps(page, found))
    if found["more"]:
        total = t("engagement.many") if found["total"] is None else t.number(found["total"])
        text(t("engagement.more_customers", read=t.number(found["read"]), total=total), "tw-mute tw-small", "p")
    for reason, count in found["errors"].items():
        text(f"{t.number(count)} \u00d7 {reason}", "tw-small", "p")
    if found["best"]:
        columns: list[Column[Body]] = [
            Column(t("engagement.customer"), lambda each: text(each["customerId"], "tw-mono tw-one-line")),
            Column(t("engagement.score"), lambda each: text(number(t, each["score"]), "tw-strong tw-num")),
            Column(t("engagement.why"), lambda each: _why(page, each)),
        ]
        text(t("engagement.best"), "tw-h2", "h3")
        table(columns, found["best"][:5], caption=t("engagement.best"))


def _why(page: Page, each: Body) -> str:
    return " · ".join(f"{name} {number(page.t, score['value'])}" for name, score in each["scores"].items())


def draw_preview(page: Page, found: Body) -> None:
    """One customer: scores, filters, messages."""
    t = page.t
    with box("tw-row tw-wrap"):
        text(found["customerId"], "tw-mono tw-strong")
        text(subject_name("", found["subject"]), "tw-mute")
        if found["error"]:
            pill(t("engagement.could_not"), "bad")
        else:
            is_in = found["isCandidate"]
            pill(t("engagement.is_candidate" if is_in else "engagement.is_left_out"), "good" if is_in else "warn")
    if found["error"]:
        text(found["error"], "", "p")
    if found["scores"]:
        draw_scores(page, found["scores"], {}, found["score"])
    with box("tw-row tw-wrap"):
        for step in found["steps"]:
            outcome = step["outcome"]
            reason = f": {reason_text(t, step['reason'])}" if step["reason"] else ""
            pill(f"{step['filter']} {t(f'engagement.{outcome}')}{reason}", _OUTCOMES[outcome], _MARKS[outcome])
    for channel in found["channels"]:
        _draw_message(page, channel)


def _draw_message(page: Page, channel: Body) -> None:
    t, message = page.t, channel["message"]
    with box("tw-letter"):
        with box("tw-row"):
            icon("mail")
            text(channel["channelId"], "tw-strong")
        if channel["reason"] is not None:
            text(reason_text(t, channel["reason"]), "tw-mute")
        elif not message:
            text(t("engagement.in_list"), "tw-mute")
        else:
            text(f"{t('engagement.to')}: {message['to']}", "tw-mute tw-small")
            if "subject" in message:
                text(message["subject"], "tw-strong")
            text(message["text"], "tw-pre", "p")


def draw_scores(page: Page, scores: Body, weights: dict[str, float], total: float) -> None:
    """The score of each model, with its weight."""
    t = page.t
    largest = max([abs(each["value"]) for each in scores.values()] + [1])
    for name, each in scores.items():
        with box("tw-stack-tight"):
            with box("tw-row-between"):
                with box("tw-row"):
                    text(name)
                    if name in weights:
                        text(t("engagement.weight", number=number(t, weights[name])), "tw-mute tw-small")
                text(number(t, each["value"]), "tw-num tw-strong")
            meter(abs(each["value"]) / largest, name)
    with box("tw-row-between"):
        text(t("engagement.score"), "tw-strong")
        text(number(t, total), "tw-num tw-strong")
