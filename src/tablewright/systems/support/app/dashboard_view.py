"""The dashboard: tickets by status and priority, resolution time, satisfaction, trends, operators; live.

Everything is read from the counters that the stream's consumer maintains, never from the tickets: ten million tickets
take as many reads as ten. The streams of the counters say when to read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from nicegui import ui

from tablewright.store import AnyChange
from tablewright.systems.support.app.support_parts import priority_tone, stars, status_tone
from tablewright.systems.support.model import Priority, Status, metrics
from tablewright.systems.support.trends.trend_entities import trends
from tablewright.ui.charts.svg_charts import Bar, Series, bar_list, line_chart
from tablewright.ui.components import Column, Tone, box, button, card, empty, figure, table, text, time
from tablewright.ui.feedback import toast
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["dashboard"]

_HOURS, _DAYS = 24, 30
_ESCALATIONS = 6


async def dashboard(page: Page) -> None:
    """The dashboard."""
    view = _Dashboard(page)
    await page.live(metrics, view.changed)
    await page.live(trends, view.changed)
    if page.may("rebuild"):
        with page.actions:
            button(page.t("support.count_again"), view.rebuild, icon_name="refresh")
    await view.load()


class _Dashboard:
    """Cards, each of which is drawn again when its numbers change."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._drawn: dict[str, Any] = {}
        self._slots: dict[str, ui.element] = {}
        with box("tw-body"):
            self._slots["figures"] = box("tw-figures")
            with box("tw-grid-two"):
                for name in ("hours", "statuses", "days", "priorities", "escalations", "operators"):
                    self._slots[name] = box("tw-slot")

    async def changed(self, _: Sequence[AnyChange] | None) -> None:
        await self.load()

    async def load(self) -> None:
        api = self._page.api
        counted = (await api.call("metrics")).body
        over_time = (await api.call("trends", hours=_HOURS, days=_DAYS)).body
        escalated = (await api.call("escalations", limit=_ESCALATIONS)).body["escalations"]
        operators: list[dict[str, Any]] = []
        if api.may("operator_metrics"):
            operators = (await api.call("operator_metrics")).body["operators"]
        today = over_time["days"][-1]
        self._draw("figures", (counted, today), lambda: self._draw_figures(counted, today))
        self._draw("hours", over_time["hours"], lambda: self._draw_hours(over_time["hours"]))
        self._draw("days", over_time["days"], lambda: self._draw_days(over_time["days"]))
        by_status, by_priority = counted["tickets_by_status"], counted["by_priority"]
        self._draw("statuses", by_status, lambda: self._draw_statuses(by_status))
        self._draw("priorities", by_priority, lambda: self._draw_priorities(by_priority))
        self._draw("escalations", escalated, lambda: self._draw_escalations(escalated))
        if api.may("operator_metrics"):
            self._draw("operators", operators, lambda: self._draw_operators(operators))

    def _draw(self, name: str, shown: Any, draw: Callable[[], None]) -> None:
        if name in self._drawn and self._drawn[name] == shown:
            return
        self._drawn[name] = shown
        self._slots[name].clear()
        with self._slots[name]:
            draw()

    async def rebuild(self) -> None:
        await self._page.api.call("rebuild")
        toast(self._page.t("support.counting"))

    # -- drawing --------------------------------------------------------------------------------------------------

    def _span(self, seconds: float | None) -> str:
        return "—" if seconds is None else self._page.t.span(timedelta(seconds=seconds))

    def _draw_figures(self, counted: dict[str, Any], today: dict[str, Any]) -> None:
        t = self._page.t
        by_status = counted["tickets_by_status"]
        is_open = sum(number for status, number in by_status.items() if status != Status.READY)
        opened = t.count("support.opened_today", today["opened"])
        figure(t("support.open_tickets"), t.number(is_open), opened, "info")
        escalated = by_status[Status.ESCALATED]
        note = t.count("support.escalated_open", escalated)
        figure(t("support.solved_today"), t.number(today["resolved"]), note, "warn" if escalated else "neutral")
        seconds, now = counted["average_resolution_seconds"], today["average_resolution_seconds"]
        tone: Tone = "neutral"
        note = ""
        if now is not None and seconds is not None:
            note = t("support.today_is", value=self._span(now))
            tone = "good" if now <= seconds else "warn"
        figure(t("support.resolution_time"), self._span(seconds), note, tone)
        rating = counted["average_rating"]
        shown = "—" if rating is None else f"{t.number(round(rating, 1))} / 5"
        figure(t("support.satisfaction"), shown, t.count("support.ratings", counted["ratings"]), _rating_tone(rating))

    def _draw_hours(self, hours: list[dict[str, Any]]) -> None:
        t = self._page.t
        starts = [found for each in hours if (found := parsed_time(each["start"])) is not None]
        places = [f"{start.astimezone(t.zone):%H:%M}" for start in starts]
        with card(t("support.by_hour")):
            self._draw_lines(t("support.by_hour"), places, hours, every=4)

    def _draw_days(self, days: list[dict[str, Any]]) -> None:
        t = self._page.t
        places = [f"{start.day}.{start.month}." for each in days if (start := parsed_time(each["start"])) is not None]
        with card(t("support.by_day")):
            self._draw_lines(t("support.by_day"), places, days, every=5)

    def _draw_lines(self, title: str, places: list[str], trend: list[dict[str, Any]], *, every: int) -> None:
        t = self._page.t
        opened = Series(t("support.opened_line"), "accent", [each["opened"] for each in trend])
        resolved = Series(t("support.resolved_line"), "good", [each["resolved"] for each in trend])
        label = t(
            "support.chart_says",
            title=title,
            opened=t.number(sum(opened.values)),
            resolved=t.number(sum(resolved.values)),
        )
        line_chart(label, places, [opened, resolved], table_label=t("support.as_table"), every=every)

    def _draw_statuses(self, by_status: dict[str, int]) -> None:
        t, page = self._page.t, self._page
        with card(t("support.by_status")):
            bars = [
                Bar(
                    t(f"support.{status}"),
                    by_status[status],
                    t.number(by_status[status]),
                    status_tone(status),
                    page.path("/inbox", list=status.lower()),
                )
                for status in Status
            ]
            bar_list(t("support.by_status"), bars)

    def _draw_priorities(self, by_priority: dict[str, dict[str, Any]]) -> None:
        t = self._page.t
        with card(t("support.by_priority")):
            order = list(reversed(Priority))
            bars = [
                Bar(
                    t(f"support.{each}"),
                    by_priority[each]["open"],
                    t(
                        "support.open_and_time",
                        open=t.number(by_priority[each]["open"]),
                        time=self._resolution(by_priority[each]),
                    ),
                    priority_tone(each),
                )
                for each in order
            ]
            bar_list(t("support.by_priority"), bars)

    def _resolution(self, found: dict[str, Any]) -> str:
        return self._span(found["average_resolution_seconds"])

    def _draw_escalations(self, escalated: list[dict[str, Any]]) -> None:
        t, page = self._page.t, self._page
        with card(t("support.latest_escalations")):
            if not escalated:
                empty(t("support.no_escalations"), "", "flag")
                return
            columns: list[Column[dict[str, Any]]] = [
                Column(t("support.reason"), lambda row: (row["escalation_reason"] or "—")[:80]),
                Column(t("support.since"), lambda row: time(t, parsed_time(row["escalated_at"]))),
                Column(t("support.engineer"), lambda row: row["assigned_to"] or t("support.nobody")),
            ]
            table(
                columns,
                escalated,
                caption=t("support.latest_escalations"),
                path=lambda row: page.path(f"/inbox/{row['ticket_id']}", list="escalated"),
            )

    def _draw_operators(self, operators: list[dict[str, Any]]) -> None:
        t = self._page.t
        with card(t("support.operators")):
            if not operators:
                empty(t("support.no_operators"), "", "users")
                return

            def rated(row: dict[str, Any]) -> object:
                if row["average_rating"] is None:
                    return "—"
                with box("tw-row") as made:
                    rating = round(row["average_rating"], 1)
                    stars(t, rating)
                    text(f"{t.number(rating)} · {t.number(row['ratings'])}", "tw-num")
                return made

            columns: list[Column[dict[str, Any]]] = [
                Column(t("support.operator"), lambda row: row["operator_id"]),
                Column(t("support.solved"), lambda row: t.number(row["resolved"]), end=True),
                Column(t("support.average"), lambda row: self._span(row["average_resolution_seconds"]), end=True),
                Column(t("support.satisfaction"), rated),
            ]
            table(columns, operators, caption=t("support.operators"))


def _rating_tone(rating: float | None) -> Tone:
    if rating is None:
        return "neutral"
    return "good" if rating >= 4 else "warn" if rating >= 3 else "bad"
