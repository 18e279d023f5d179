"""Days of a calendar in a time zone, and the positions of times on them.

    day       elapsed    position on the axis
    ordinary  0 to 24 h  as elapsed
    25 h      0 to 25 h  as elapsed; the axis has an hour more, and the other days a gap there
    23 h      0 to 23 h  with a gap at the hour that is skipped

All days of a view share one axis of minutes, so that ten o'clock is at one height on all of them. A day is from its
first moment in the zone to that of the next, so it can have 23 or 25 hours; a call is drawn as long as it takes.
This module does not depend on how calendars are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Generic, TypeVar
from zoneinfo import ZoneInfo

__all__ = ["FIRST_DAY", "LAST_DAY", "Axis", "Placed", "Span", "day_start", "days_of", "lay_out", "step"]

DAY = 24 * 60
# Where moments of days in any zone are still times of calls.
FIRST_DAY = date(1970, 2, 1)
LAST_DAY = date(2285, 1, 1)
_MINUTE = timedelta(minutes=1)
# Clock changes take place at such times of the day.
_STEP = 15

T = TypeVar("T")


class Span(StrEnum):
    """The range that a calendar shows at once."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    AGENDA = "agenda"


_AGENDA_DAYS = 14


def days_of(span: Span, day: date) -> list[date]:
    """The days that are shown: whole weeks from Monday for a week and a month."""
    if span is Span.DAY:
        return [day]
    if span is Span.AGENDA:
        return [day + timedelta(days=number) for number in range(_AGENDA_DAYS)]
    first = day.replace(day=1) if span is Span.MONTH else day
    last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1) if span is Span.MONTH else day
    first -= timedelta(days=first.weekday())
    last += timedelta(days=6 - last.weekday())
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def step(span: Span, day: date, by: int) -> date:
    """The day that is shown after one step, forward or back."""
    if span is Span.MONTH:
        found = (day.replace(day=15) + timedelta(days=30 * by)).replace(day=1)
    else:
        found = day + by * timedelta(days={Span.DAY: 1, Span.WEEK: 7, Span.AGENDA: _AGENDA_DAYS}[span])
    return min(max(found, FIRST_DAY), LAST_DAY)


def day_start(day: date, zone: ZoneInfo) -> datetime:
    """The first moment of a day, which is not midnight if clocks go forward then."""
    return datetime.combine(day, time(), zone).astimezone(UTC)


@dataclass(frozen=True, slots=True)
class _Day:
    """A day on the axis: its moments, and its gap."""

    start: datetime
    minutes: int
    gap_at: int = DAY
    gap: int = 0


class Axis:
    """The axis of minutes that some days share."""

    def __init__(self, days: Sequence[date], zone: ZoneInfo) -> None:
        self.zone = zone
        found = {day: _day(day, zone) for day in days}
        # The day that repeats an hour, if there is one.
        self._longest = next((each for each in found.values() if each.minutes > DAY), None)
        if self._longest is not None:
            at, more = _change(self._longest, zone), self._longest.minutes - DAY
            for day, each in found.items():
                if each.minutes == DAY:
                    found[day] = _Day(each.start, DAY, at, more)
        self._days = found
        self.length = DAY if self._longest is None else self._longest.minutes

    def start(self, day: date) -> datetime:
        return self._days[day].start

    def end(self, day: date) -> datetime:
        found = self._days[day]
        return found.start + found.minutes * _MINUTE

    def gap(self, day: date) -> tuple[int, int] | None:
        """The gap of a day, as a position and a length."""
        found = self._days[day]
        return (found.gap_at, found.gap) if found.gap else None

    def position(self, day: date, moment: datetime) -> int:
        """The position of a moment on a day; at its start or end if it is on another day."""
        found = self._days[day]
        elapsed = min(max((moment - found.start) // _MINUTE, 0), found.minutes)
        return elapsed if elapsed < found.gap_at else elapsed + found.gap

    def end_position(self, day: date, moment: datetime) -> int:
        """The position of an end: before the gap if it ends where that begins."""
        found = self._days[day]
        elapsed = min(max((moment - found.start) // _MINUTE, 0), found.minutes)
        return elapsed if elapsed <= found.gap_at else elapsed + found.gap

    def moment(self, day: date, position: int) -> datetime:
        """The moment at a position; after the gap if the position is in it."""
        found = self._days[day]
        elapsed = position if position < found.gap_at else max(found.gap_at, position - found.gap)
        return found.start + min(max(elapsed, 0), found.minutes) * _MINUTE

    def hours(self) -> list[tuple[int, str]]:
        """The hours and their positions; repeated ones with the name of their time."""
        if self._longest is None:
            return [(hour * 60, f"{hour}:00") for hour in range(24)]
        found = []
        for position in range(0, self.length, _STEP):
            here = (self._longest.start + position * _MINUTE).astimezone(self.zone)
            if here.minute == 0:
                twice = here.utcoffset() != here.replace(fold=1 - here.fold).utcoffset()
                found.append((position, f"{here.hour}:00{f' {here.tzname()}' if twice else ''}"))
        return found


def _day(day: date, zone: ZoneInfo) -> _Day:
    start = day_start(day, zone)
    found = _Day(start, (day_start(day + timedelta(days=1), zone) - start) // _MINUTE)
    if found.minutes >= DAY:
        return found
    here = start.astimezone(zone)
    is_late = here.hour or here.minute or here.date() != day
    return _Day(start, found.minutes, 0 if is_late else _change(found, zone), DAY - found.minutes)


def _change(day: _Day, zone: ZoneInfo) -> int:
    """The minutes of a day after which clocks change."""
    offset = day.start.astimezone(zone).utcoffset()
    for elapsed in range(_STEP, day.minutes, _STEP):
        if (day.start + elapsed * _MINUTE).astimezone(zone).utcoffset() != offset:
            return elapsed
    return day.minutes


@dataclass(frozen=True, slots=True)
class Placed(Generic[T]):
    """An event on a day: its top and bottom, its column, and the number of columns side by side."""

    thing: T
    top: int
    bottom: int
    column: int
    columns: int


def lay_out(things: Sequence[tuple[T, int, int]]) -> list[Placed[T]]:
    """Put overlapping events side by side, in as few columns as possible, by their top and bottom."""
    placed: list[Placed[T]] = []
    group: list[tuple[T, int, int, int]] = []
    ends: list[int] = []

    def close() -> None:
        placed.extend(Placed(thing, top, bottom, column, len(ends)) for thing, top, bottom, column in group)
        group.clear()
        ends.clear()

    for thing, top, bottom in sorted(things, key=lambda each: (each[1], -each[2])):
        if ends and top >= max(ends):
            close()
        column = next((number for number, end in enumerate(ends) if end <= top), len(ends))
        if column == len(ends):
            ends.append(bottom)
        else:
            ends[column] = bottom
        group.append((thing, top, bottom, column))
    close()
    return placed
