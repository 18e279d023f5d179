"""How calls are drawn: on days side by side, in the cells of a month, or as a list by day.

    DayGrid     a column for each day on one axis of minutes; a call is as high as it is long
    MonthGrid   a cell for each day, with its first calls
    Agenda      days below each other, for phones

Each is drawn once; ``show`` gets all calls of its days, and redraws only the days that have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Protocol

from nicegui import ui

from tablewright.systems.calls.app.calendar_days import Axis, Placed, Span, days_of, lay_out
from tablewright.systems.calls.app.call_parts import CallBody, Times, begins, ends, people_in, status_pill
from tablewright.systems.calls.model import Status
from tablewright.ui.components import box, icon, text
from tablewright.ui.markup import draw_markup
from tablewright.ui.texts import Texts

__all__ = ["Agenda", "DayGrid", "Grid", "Look", "MonthGrid"]

_WORK_BEGINS = 7 * 60 + 30
# Maximum calls shown on a day of a month; the others are counted.
_IN_CELL = 3
# Below these, in minutes, a call is drawn in one line, and in small letters.
_SHORT, _TINY = 40, 20
_MOMENT = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Look:
    """How a calendar shows calls: whose they are, which is open, who may move them."""

    t: Texts
    times: Times
    may_move: bool
    # The address of a call, and of a day.
    call_path: Callable[[CallBody], str]
    day_path: Callable[[date], str]
    title: Callable[[CallBody], str]
    tone: Callable[[CallBody], int]

    def label(self, call: CallBody) -> str:
        t = self.t
        people = t("calls.with", who=call["userId"], other=call["providerId"])
        return f"{self.times.hours(call)}, {people}, {t('calls.' + call['status'])}"


class Grid(Protocol):
    """A view of calls on days."""

    def show(self, calls: Sequence[CallBody], open_id: str) -> None: ...

    def tick(self) -> None: ...


def _of_days(calls: Sequence[CallBody], axis: Axis, days: Sequence[date]) -> Mapping[date, list[CallBody]]:
    """The calls of each day, in order of time; one that goes on past midnight is on both days."""
    found: dict[date, list[CallBody]] = {day: [] for day in days}
    for call in sorted(calls, key=lambda each: (each["scheduledFor"], each["callId"])):
        first, last = (moment.astimezone(axis.zone).date() for moment in (begins(call), ends(call) - _MOMENT))
        while first <= last:
            if first in found:
                found[first].append(call)
            first += timedelta(days=1)
    return found


def _event(look: Look, call: CallBody, is_open: bool, classes: str = "", **attributes: object) -> ui.element:
    is_busy = call["status"] != Status.CANCELLED
    return box(
        f"tw-cal-event tw-cal-tone-{look.tone(call)} tw-cal-event-{call['status']} {classes}",
        "a",
        href=look.call_path(call),
        data_go=True,
        data_row=True,
        data_event=call["callId"],
        data_version=call["version"],
        data_title=look.title(call),
        data_people=" ".join(str(each) for each in people_in(call)),
        data_busy=is_busy,
        data_movable=look.may_move and call["status"] == Status.SCHEDULED and attributes.pop("movable", True),
        aria_label=look.label(call),
        aria_current="true" if is_open else None,
        draggable="false",
        **attributes,
    )


class DayGrid:
    """Days side by side."""

    def __init__(self, look: Look, days: Sequence[date], zone_name: str, *, bookable: bool) -> None:
        self._look = look
        self._days = days
        self._axis = axis = Axis(days, look.times.zone)
        self._layers: dict[date, ui.element] = {}
        self._drawn: dict[date, object] = {}
        self._nows: dict[date, ui.element] = {}
        today = look.times.today()
        columns = f"grid-template-columns: var(--tw-gutter) repeat({len(days)}, minmax(0, 1fr))"
        wide = "tw-cal-wide" if len(days) > 1 else ""
        with box("tw-cal-scroll", tabindex="0", data_scroll_to=_WORK_BEGINS, role="region", aria_label=zone_name):
            head = box(f"tw-cal-head {wide}").style(columns)
            draw_markup(head, lambda: self._draw_head(zone_name, today))
            with box(f"tw-cal-grid {wide}").style(columns):
                draw_markup(box("tw-cal-hours").style(f"height: {axis.length}px"), self._draw_hours)
                draw_markup(box("tw-cal-lines"), self._draw_lines)
                for day in days:
                    self._draw_column(day, day == today, bookable)
        self.tick()

    def _draw_head(self, zone_name: str, today: date) -> None:
        look = self._look
        text(zone_name, "tw-cal-zone", title=look.times.zone.key)
        for day in self._days:
            with box(
                "tw-cal-day",
                "a",
                href=look.day_path(day),
                data_go=True,
                data_today=day == today,
                aria_label=look.times.long_day(day),
            ):
                text(look.t.weekday(day))
                text(day.day, "", "b")

    def _draw_hours(self) -> None:
        for position, label in self._axis.hours():
            text(label, "tw-cal-hour", data_hour=position).style(f"top: {position}px")

    def _draw_lines(self) -> None:
        for position, _ in self._axis.hours():
            if position:
                box("tw-cal-line").style(f"top: {position}px")
            box("tw-cal-line tw-cal-line-half").style(f"top: {position + 30}px")

    def _draw_column(self, day: date, is_today: bool, bookable: bool) -> None:
        t, axis = self._look.t, self._axis
        with box(
            "tw-cal-column",
            data_column=day.isoformat(),
            data_length=axis.length,
            data_bookable=bookable,
            data_today=is_today,
            data_weekend=day.weekday() > 4,
        ):
            gap = axis.gap(day)
            if gap is not None:
                is_short = (axis.end(day) - axis.start(day)) < timedelta(days=1)
                with box("tw-cal-gap").style(f"top: {gap[0]}px; height: {gap[1]}px"):
                    if is_short:
                        text(t("calls.clock_forward"))
            self._layers[day] = box("tw-cal-events", role="list")
            self._nows[day] = box("tw-cal-now")

    def tick(self) -> None:
        """Move the line of the current time to its position."""
        now = datetime.now(UTC)
        for day, line in self._nows.items():
            is_on = self._axis.start(day) <= now < self._axis.end(day)
            line.set_visibility(is_on)
            if is_on:
                line.style(f"top: {self._axis.position(day, now)}px")

    def show(self, calls: Sequence[CallBody], open_id: str) -> None:
        axis = self._axis
        for day, found in _of_days(calls, axis, self._days).items():
            things = [(call, axis.position(day, begins(call)), axis.end_position(day, ends(call))) for call in found]
            placed = lay_out(things)
            state = [(dict(each.thing), each.column, each.columns, each.thing["callId"] == open_id) for each in placed]
            if self._drawn.get(day) == state:
                continue
            self._drawn[day] = state
            draw_markup(self._layers[day], partial(self._draw_events, day, placed, open_id))

    def _draw_events(self, day: date, placed: Sequence[Placed[CallBody]], open_id: str) -> None:
        for each in placed:
            self._draw_event(day, each, each.thing["callId"] == open_id)

    def _draw_event(self, day: date, placed: Placed[CallBody], is_open: bool) -> None:
        look, call = self._look, placed.thing
        minutes = placed.bottom - placed.top
        size = f"{'tw-cal-event-short' if minutes < _SHORT else ''} {'tw-cal-event-tiny' if minutes < _TINY else ''}"
        # It can only be dragged where it begins.
        is_first = look.times.day(begins(call)) == day
        is_last = look.times.day(ends(call) - _MOMENT) == day
        left, width = 100 * placed.column / placed.columns, 100 / placed.columns
        style = f"top: {placed.top}px; height: {max(13, minutes - 2)}px; left: {left:.3f}%; width: {width:.3f}%"
        with box(role="listitem"):
            made = _event(
                look,
                call,
                is_open,
                size,
                movable=is_first,
                data_from=placed.top,
                data_to=placed.bottom,
                data_minutes=call["durationMinutes"],
            ).style(style)
        with made:
            text(look.title(call), "", "b")
            text(look.times.clock(begins(call)) if minutes < _SHORT else look.times.hours(call))
            if made.props.get("data-movable") and is_last and minutes >= _TINY:
                box("tw-cal-resize", data_resize=True)


class MonthGrid:
    """The weeks of a month."""

    def __init__(self, look: Look, month: date) -> None:
        self._look = look
        self._days = days_of(Span.MONTH, month)
        self._axis = Axis(self._days, look.times.zone)
        self._cells: dict[date, ui.element] = {}
        self._drawn: dict[date, object] = {}
        today = look.times.today()
        with box("tw-cal-month"):
            for day in self._days[:7]:
                text(look.t.weekday(day), "tw-cal-month-head")
            for day in self._days:
                with box("tw-cal-cell", data_cell=day.isoformat(), data_other=day.month != month.month):
                    number = box(
                        "tw-cal-number",
                        "a",
                        href=look.day_path(day),
                        data_go=True,
                        data_today=day == today,
                        aria_label=look.times.long_day(day),
                    )
                    draw_markup(number, partial(text, day.day))
                    self._cells[day] = box("tw-stack-tight")

    def tick(self) -> None:
        """A month has no line of the current time."""

    def show(self, calls: Sequence[CallBody], open_id: str) -> None:
        for day, found in _of_days(calls, self._axis, self._days).items():
            state = [(dict(call), call["callId"] == open_id) for call in found]
            if self._drawn.get(day, []) == state:
                continue
            self._drawn[day] = state
            draw_markup(self._cells[day], partial(self._draw_cell, day, found, open_id))

    def _draw_cell(self, day: date, calls: Sequence[CallBody], open_id: str) -> None:
        look = self._look
        shown = calls if len(calls) <= _IN_CELL else calls[: _IN_CELL - 1]
        for call in shown:
            is_first = look.times.day(begins(call)) == day
            with _event(look, call, call["callId"] == open_id, movable=is_first, data_minutes=call["durationMinutes"]):
                text(look.times.clock(begins(call)))
                text(look.title(call), "", "b")
        if len(calls) > len(shown):
            with box("tw-cal-cell-more", "a", href=look.day_path(day), data_go=True):
                text(look.t.count("calls.more", len(calls) - len(shown)))


class Agenda:
    """Days below each other, with all of their calls."""

    def __init__(self, look: Look, days: Sequence[date]) -> None:
        self._look = look
        self._days = days
        self._axis = Axis(days, look.times.zone)
        self._drawn: object = None
        with box("tw-cal-scroll", tabindex="0", role="region", aria_label=look.t("calls.agenda")):
            self._list = box("tw-cal-agenda")

    def tick(self) -> None:
        """An agenda has no line of the current time."""

    def show(self, calls: Sequence[CallBody], open_id: str) -> None:
        state = [*map(dict, calls), open_id]
        if state == self._drawn:
            return
        self._drawn = state
        draw_markup(self._list, lambda: self._draw_days(calls, open_id))

    def _draw_days(self, calls: Sequence[CallBody], open_id: str) -> None:
        look, today = self._look, self._look.times.today()
        for day, found in _of_days(calls, self._axis, self._days).items():
            with box("tw-cal-agenda-day", "section", data_today=day == today, data_free=not found):
                with box("tw-cal-agenda-date", "a", href=look.day_path(day), data_go=True):
                    text(look.t.weekday(day))
                    text(day.day, "", "b")
                    if found:
                        text(look.t.month(day)[:3])
                with box("tw-stack-tight"):
                    if not found:
                        text(look.t("calls.free"), "tw-mute tw-small")
                    for call in found:
                        self._draw_event(call, call["callId"] == open_id)

    def _draw_event(self, call: CallBody, is_open: bool) -> None:
        look = self._look
        with _event(look, call, is_open, movable=False):
            text(look.times.hours(call))
            text(look.title(call), "", "b")
            if call["status"] == Status.COMPLETED:
                icon("check")
            elif call["status"] == Status.CANCELLED:
                status_pill(look.t, call)
