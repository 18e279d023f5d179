"""Trends from the stream: what a ticket or a feedback adds to its hour, day and operator.

As with the metrics (``metric_counters``), this is a function of the item alone.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import NamedTuple

from tablewright.model import Entity, FieldChange, Lookup, attr
from tablewright.systems.support.model import Feedback, Ticket
from tablewright.systems.support.trends.trend_entities import OperatorDay, Trend, Unit

__all__ = ["Gain", "OfOperator", "OfTime", "additions_of", "lookup_of", "period_of", "trends_of"]


class OfTime(NamedTuple):
    """An hour or a day."""

    unit: Unit
    period: str


class OfOperator(NamedTuple):
    """The day of an operator."""

    day: date
    operator_id: str


class Gain(NamedTuple):
    """What an item adds, by fields."""

    opened: int = 0
    resolved: int = 0
    total_time: Decimal = Decimal(0)
    ratings: int = 0
    total_ratings: int = 0

    def plus(self, other: Gain, sign: int) -> Gain:
        return Gain(
            self.opened + sign * other.opened,
            self.resolved + sign * other.resolved,
            self.total_time + sign * other.total_time,
            self.ratings + sign * other.ratings,
            self.total_ratings + sign * other.total_ratings,
        )


def trends_of(item: Entity | None) -> dict[OfTime | OfOperator, Gain]:
    """What an item adds to its hours, days and operators."""
    found: dict[OfTime | OfOperator, Gain] = {}

    def add(place: OfTime | OfOperator, gain: Gain) -> None:
        found[place] = found.get(place, Gain()).plus(gain, 1)

    if isinstance(item, Ticket) and item.created_at is not None:
        for each in _times(item.created_at):
            add(each, Gain(opened=1))
        if item.completed_at is not None:
            seconds = Decimal(str((item.completed_at - item.created_at).total_seconds()))
            resolved = Gain(resolved=1, total_time=seconds)
            for each in _times(item.completed_at):
                add(each, resolved)
            if item.completed_by is not None:
                add(OfOperator(_day(item.completed_at), item.completed_by), resolved)
    elif isinstance(item, Feedback) and item.about is not None:
        rated = Gain(ratings=1, total_ratings=item.rating)
        for each in _times(item.submitted_at):
            add(each, rated)
        add(OfOperator(_day(item.submitted_at), item.about), rated)
    return found


def _times(at: datetime) -> tuple[OfTime, OfTime]:
    return OfTime(Unit.HOUR, period_of(Unit.HOUR, at)), OfTime(Unit.DAY, period_of(Unit.DAY, at))


def period_of(unit: Unit, at: datetime) -> str:
    """The hour or the day that a time is in."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H" if unit is Unit.HOUR else "%Y-%m-%d")


def _day(at: datetime) -> date:
    return at.astimezone(UTC).date()


def lookup_of(place: OfTime | OfOperator) -> Lookup[Trend] | Lookup[OperatorDay]:
    if isinstance(place, OfTime):
        return Trend.by_period(place.unit, place.period)
    return OperatorDay.by_day(place.day, place.operator_id)


def additions_of(place: OfTime | OfOperator, gain: Gain) -> list[FieldChange]:
    """The changes that a gain makes to its item, without those that cancel out."""
    if isinstance(place, OfTime):
        changes = [
            attr(Trend.opened).add(gain.opened),
            attr(Trend.resolved).add(gain.resolved),
            attr(Trend.total_time).add(gain.total_time),
            attr(Trend.ratings).add(gain.ratings),
            attr(Trend.total_ratings).add(gain.total_ratings),
        ]
    else:
        changes = [
            attr(OperatorDay.resolved).add(gain.resolved),
            attr(OperatorDay.total_time).add(gain.total_time),
            attr(OperatorDay.ratings).add(gain.ratings),
            attr(OperatorDay.total_ratings).add(gain.total_ratings),
        ]
    return [each for each in changes if each.value]
