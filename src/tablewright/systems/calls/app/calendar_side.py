"""The panel beside the calendar: a small month to go to any day, the calendars that are shown, and the time zone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from nicegui import ui

from tablewright.systems.calls.app.calendar_days import Span, days_of, step
from tablewright.systems.calls.app.calendar_follow import address_dialog, followed, reminders_dialog
from tablewright.systems.calls.app.call_parts import Times, Whose, as_whose
from tablewright.systems.calls.model import Side
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, button, icon, text
from tablewright.ui.feedback import dialog
from tablewright.ui.forms import Form, select
from tablewright.ui.markup import draw_markup
from tablewright.ui.screen_page import Page

__all__ = ["MOST_CALENDARS", "TONES", "CalendarSide"]

MOST_CALENDARS = 6
"""Calendars that are shown at once."""
TONES = 6
"""Colours that calls are drawn in; the last one is no colour."""

# Zones that are offered; any other by the address.
_ZONES = (
    "UTC",
    "America/Los_Angeles",
    "America/Denver",
    "America/Chicago",
    "America/New_York",
    "America/Sao_Paulo",
    "Europe/London",
    "Europe/Lisbon",
    "Europe/Rome",
    "Europe/Berlin",
    "Europe/Paris",
    "Europe/Madrid",
    "Europe/Athens",
    "Europe/Istanbul",
    "Africa/Cairo",
    "Africa/Johannesburg",
    "Asia/Dubai",
    "Asia/Kolkata",
    "Asia/Singapore",
    "Asia/Shanghai",
    "Asia/Tokyo",
    "Australia/Sydney",
    "Pacific/Auckland",
)


class CalendarSide:
    """The panel beside the calendar; drawn when it is created."""

    def __init__(
        self,
        page: Page,
        times: Times,
        span: Span,
        day: date,
        who: Sequence[Whose],
        path: Callable[..., str],
        known: Callable[[], list[Whose]],
    ) -> None:
        """``path`` returns the address of the view with some parts changed; ``known`` are people to offer."""
        self._page = page
        self._times = times
        self._span = span
        self._day = day
        self._who = who
        self._path = path
        self._known = known
        self._me = Whose(Side.USER, page.user_id)
        draw_markup(box("tw-stack-tight", "section"), self._draw_month)
        if page.may("calls_of_provider"):
            self._draw_people()
        self._draw_zone()
        self._draw_elsewhere()

    def _draw_month(self) -> None:
        """A small month, to go to any of its days."""
        t, today = self._page.t, self._times.today()
        shown = set() if self._span is Span.MONTH else set(days_of(self._span, self._day))
        days = days_of(Span.MONTH, self._day)
        month = t.month(self._day)
        with box("tw-row-between"):
            text(f"{month[:1].upper()}{month[1:]} {self._day.year}", "tw-strong", "h2")
            with box("tw-row").style("gap: 0"):
                for by, name, symbol in ((-1, "earlier", "back"), (1, "later", "forward")):
                    with box(
                        "tw-btn tw-btn-quiet tw-btn-small tw-btn-icon",
                        "a",
                        href=self._path(day=step(Span.MONTH, self._day, by)),
                        data_go=True,
                        aria_label=f"{t('calls.' + name)}: {t('calls.month')}",
                    ):
                        icon(symbol)
        with box("tw-mini"):
            for day in days[:7]:
                text(t.weekday(day)[:1].upper(), aria_hidden="true")
            for day in days:
                with box(
                    "",
                    "a",
                    href=self._path(day=day),
                    data_go=True,
                    data_other=day.month != self._day.month,
                    data_shown=day in shown,
                    data_today=day == today,
                    aria_label=self._times.long_day(day),
                ):
                    text(day.day)

    def _draw_people(self) -> None:
        t = self._page.t
        with box("tw-stack-tight", "section"):
            text(t("calls.calendars"), "tw-section-title", "h3")
            draw_markup(box("tw-stack-tight"), self._draw_shown_people)
            button(t("calls.add_calendar"), self.add_dialog, kind="quiet", icon_name="plus", small=True)
            if self._me not in self._who and len(self._who) < MOST_CALENDARS:
                with box("tw-btn tw-btn-quiet tw-btn-small", "a", href=self._path(who=[self._me]), data_go=True):
                    icon("user")
                    text(t("calls.my_calls"))

    def _draw_shown_people(self) -> None:
        t = self._page.t
        for number, each in enumerate(self._who):
            with box("tw-cal-person"):
                box(f"tw-swatch tw-cal-tone-{number % TONES if len(self._who) > 1 else TONES - 1}", "span")
                with box(
                    "tw-grow tw-clip",
                    "a",
                    href=self._path(who=[each]),
                    data_go=True,
                    title=t("calls.only", who=each.person_id),
                ):
                    text(t("calls.my_calls") if each == self._me else each.person_id, "tw-strong")
                    text(f" {t(f'calls.{each.side}').lower()}", "tw-mute tw-small")
                left = [other for other in self._who if other != each]
                with box(
                    "tw-btn tw-btn-quiet tw-btn-small tw-btn-icon",
                    "a",
                    href=self._path(who=left),
                    data_go=True,
                    aria_label=t("calls.remove", who=each.person_id),
                ):
                    icon("close")

    def _draw_zone(self) -> None:
        t, here, zone = self._page.t, self._page.t.zone.key, self._times.zone.key
        options = {here: t("calls.zone_here", zone=here), **{each: each for each in (*_ZONES, zone) if each != here}}

        async def choose(name: str) -> None:
            await self._page.go(self._path(zone=name))

        with box("tw-stack-tight", "section"):
            text(t("calls.zone"), "tw-section-title", "h3")
            select(options, zone, choose, label=t("calls.zone"))

    def _draw_elsewhere(self) -> None:
        """Options for following the shown user's calls outside of the application."""
        page, user = self._page, followed(self._who)
        if user is None:
            return
        with box("tw-stack-tight", "section"):
            text(page.t("calls.elsewhere"), "tw-section-title", "h3")
            button(
                page.t("calls.reminders"),
                lambda: reminders_dialog(page, user),
                kind="quiet",
                icon_name="bell",
                small=True,
            )
            button(
                page.t("calls.subscribe"),
                lambda: address_dialog(page, user),
                kind="quiet",
                icon_name="calendar",
                small=True,
            )
            button(page.t("calls.download"), self._download, kind="quiet", icon_name="download", small=True)

    def add_dialog(self) -> None:
        """Add a person's calendar to those that are shown."""
        t = self._page.t

        async def add(values: dict[str, Any], _: str) -> None:
            found = as_whose(f"{values['side']}:{(values['id'] or '').strip()}")
            if found is None:
                raise Refused(400, "invalid-request", t("calls.no_such_id"), {"id": t("calls.no_such_id")})
            if found not in self._who and len(self._who) >= MOST_CALENDARS:
                raise Refused(400, "invalid-request", t("calls.too_many", number=MOST_CALENDARS), {})
            made.close()
            await self._page.go(self._path(who=[*self._who, found]))

        with dialog(t("calls.add_calendar")) as made:
            form = Form(t, submit=add, action=t("calls.add"), cancel=made.close)
            form.choice("side", t("calls.side"), {each: t(f"calls.{each}") for each in reversed(Side)})
            field = form.text("id", t("calls.whose_id"), most=128)
            field.set_autocomplete([each.person_id for each in self._known()])
            form.end()

    async def _download(self) -> None:
        """The calls of the shown user, for other calendar programs."""
        answer = await self._page.api.call("calendar_of_user", userId=followed(self._who))
        ui.download.content(answer.body, "calls.ics", "text/calendar")
