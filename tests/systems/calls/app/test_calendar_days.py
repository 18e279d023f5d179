"""Days in time zones, and where times stand on them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from tablewright.systems.calls.app.calendar_days import Axis, Span, day_start, days_of, lay_out, step

pytestmark = pytest.mark.requirement("AP7")

ROME = ZoneInfo("Europe/Rome")
SHORT, LONG = date(2026, 3, 29), date(2026, 10, 25)


def week(day: date) -> list[date]:
    return days_of(Span.WEEK, day)


def at(zone: ZoneInfo, *parts: int, fold: int = 0) -> datetime:
    return datetime(*parts, tzinfo=zone, fold=fold).astimezone(UTC)  # type: ignore[misc,arg-type]


def test_weeks_begin_on_monday_and_months_have_whole_weeks() -> None:
    assert week(date(2026, 11, 22))[0] == date(2026, 11, 16)
    month = days_of(Span.MONTH, date(2026, 11, 16))
    assert (month[0], month[-1], len(month) % 7) == (date(2026, 10, 26), date(2026, 12, 6), 0)
    assert days_of(Span.MONTH, date(2027, 2, 10))[0] == date(2027, 2, 1)


@pytest.mark.parametrize("day", [date(2026, 1, 31), date(2026, 12, 31), date(2028, 2, 29)])
def test_a_step_forward_in_months_is_the_next_month(day: date) -> None:
    after = step(Span.MONTH, day, 1)
    assert (after.year * 12 + after.month) - (day.year * 12 + day.month) == 1
    before = step(Span.MONTH, day, -1)
    assert (day.year * 12 + day.month) - (before.year * 12 + before.month) == 1


def test_steps_end_where_no_calls_can_be() -> None:
    assert step(Span.WEEK, date(1970, 2, 1), -1) == date(1970, 2, 1)


def test_an_ordinary_week_has_the_hours_of_the_clock() -> None:
    axis = Axis(week(date(2026, 11, 16)), ROME)
    assert axis.length == 24 * 60
    assert axis.hours()[9] == (540, "9:00")
    assert axis.position(date(2026, 11, 17), at(ROME, 2026, 11, 17, 9, 30)) == 570
    assert all(axis.gap(day) is None for day in week(date(2026, 11, 16)))


def test_the_hour_that_is_left_out_is_a_gap() -> None:
    axis = Axis(week(SHORT), ROME)
    assert axis.length == 24 * 60
    assert axis.gap(SHORT) == (120, 60)
    assert axis.end(SHORT) - axis.start(SHORT) == timedelta(hours=23)
    assert axis.position(SHORT, at(ROME, 2026, 3, 29, 3)) == 180
    assert axis.position(SHORT, at(ROME, 2026, 3, 29, 10)) == 600
    # What is dropped into the gap begins when the clock goes on.
    assert axis.moment(SHORT, 150) == at(ROME, 2026, 3, 29, 3)
    assert axis.end_position(SHORT, at(ROME, 2026, 3, 29, 3)) == 120


def test_the_hour_that_is_there_twice_has_two_places() -> None:
    axis = Axis(week(LONG), ROME)
    assert axis.length == 25 * 60
    first, second = at(ROME, 2026, 10, 25, 2, 30), at(ROME, 2026, 10, 25, 2, 30, fold=1)
    assert second - first == timedelta(hours=1)
    assert [axis.position(LONG, each) for each in (first, second)] == [150, 210]
    assert [axis.moment(LONG, each) for each in (150, 210)] == [first, second]
    assert [label for _, label in axis.hours()][1:5] == ["1:00", "2:00 CEST", "2:00 CET", "3:00"]
    # Ten o'clock is at one height on all days.
    other = LONG - timedelta(days=1)
    assert axis.position(LONG, at(ROME, 2026, 10, 25, 10)) == axis.position(other, at(ROME, 2026, 10, 24, 10)) == 660
    assert axis.gap(other) == (180, 60)


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Europe/Rome", LONG),
        ("Europe/Rome", SHORT),
        ("America/Havana", date(2026, 3, 8)),
        ("America/Havana", date(2026, 11, 1)),
        ("Africa/Cairo", date(2026, 4, 24)),
        ("Africa/Cairo", date(2026, 10, 29)),
        ("Australia/Lord_Howe", date(2026, 4, 5)),
        ("Australia/Lord_Howe", date(2026, 10, 4)),
        ("Pacific/Apia", date(2011, 12, 30)),
        ("Asia/Kathmandu", date(2026, 5, 5)),
    ],
)
def test_every_moment_of_a_week_has_a_place_of_its_own(zone: str, day: date) -> None:
    days = week(day)
    axis = Axis(days, ZoneInfo(zone))
    assert axis.start(days[0]) == day_start(days[0], ZoneInfo(zone))
    for one, other in pairwise(days):
        assert axis.end(one) == axis.start(other)
    for each in days:
        moment, places = axis.start(each), []
        while moment < axis.end(each):
            places.append(axis.position(each, moment))
            assert axis.moment(each, places[-1]) == moment
            moment += timedelta(minutes=15)
        assert places == sorted(set(places))
        assert not places or (places[0] >= 0 and places[-1] < axis.length)


def test_what_overlaps_stands_side_by_side_and_the_rest_has_all_the_room() -> None:
    placed = lay_out([("a", 0, 60), ("b", 30, 90), ("c", 60, 120), ("d", 200, 230), ("e", 230, 260)])
    assert {each.thing: (each.column, each.columns) for each in placed} == {
        "a": (0, 2),
        "b": (1, 2),
        "c": (0, 2),
        "d": (0, 1),
        "e": (0, 1),
    }


def test_nothing_that_overlaps_is_in_the_same_column() -> None:
    things = [(number, number * 7 % 50, number * 7 % 50 + 5 + number * 3 % 40) for number in range(60)]
    placed = lay_out(things)
    for one in placed:
        for other in placed:
            if one.thing != other.thing and one.column == other.column:
                assert one.bottom <= other.top or other.bottom <= one.top
