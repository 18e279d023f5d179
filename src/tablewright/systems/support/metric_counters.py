"""Metrics from the stream.

What an item adds to the metrics is a function of the item alone (``contribution``), and a change adds what the new item
contributes minus what the old one did. So inserts, updates and deletes are all counted, and counting every item of the
table from zero gives the same numbers: that is the rebuild.

The additions are committed with the consumer's checkpoint, so each change counts exactly once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from tablewright.model import Entity, attr
from tablewright.store import AnyChange, Change, Effects, entity_filter
from tablewright.systems.support.model import OPEN, Feedback, Metric, Priority, Status, Ticket
from tablewright.systems.support.trends.trend_counters import (
    Gain,
    OfOperator,
    OfTime,
    additions_of,
    lookup_of,
    trends_of,
)
from tablewright.systems.support.trends.trend_entities import OperatorDay, Trend

RESOLUTION = "avg_resolution_time"
SATISFACTION = "customer_satisfaction"
# What operators think of the help that tickets got.
OPERATOR_RATING = "operator_rating"


class Worth(NamedTuple):
    """What an item adds to a metric, by its fields."""

    count_value: int = 0
    total_time: Decimal = Decimal(0)
    total_ratings: int = 0

    def plus(self, other: Worth, sign: int) -> Worth:
        return Worth(
            self.count_value + sign * other.count_value,
            self.total_time + sign * other.total_time,
            self.total_ratings + sign * other.total_ratings,
        )


def by_status(status: Status) -> str:
    """The name of the metric that counts a status."""
    return f"tickets_by_status#{status}"


def open_of(priority: Priority) -> str:
    """The name of the metric that counts the tickets of a priority that are not READY."""
    return f"open_by_priority#{priority}"


def resolution_of(priority: Priority) -> str:
    """The name of the metric that has the resolution time of a priority."""
    return f"resolution_by_priority#{priority}"


# All metrics.
NAMES = (
    *(by_status(status) for status in Status),
    RESOLUTION,
    SATISFACTION,
    OPERATOR_RATING,
    *(name(priority) for priority in Priority for name in (open_of, resolution_of)),
)
# The entities that the consumer writes, and a rebuild writes again.
WRITTEN = (Metric, Trend, OperatorDay)
# The changes that are counted.
COUNTED = entity_filter(Ticket, Feedback)


def contribution(item: Entity | None) -> dict[str, Worth]:
    """What an item adds to the metrics, by their names."""
    if isinstance(item, Ticket):
        found = {by_status(item.status): Worth(1)}
        if item.status in OPEN:
            found[open_of(item.priority)] = Worth(1)
        if item.completed_at is not None and item.created_at is not None:
            seconds = Decimal(str((item.completed_at - item.created_at).total_seconds()))
            found[RESOLUTION] = found[resolution_of(item.priority)] = Worth(1, total_time=seconds)
        return found
    if isinstance(item, Feedback):
        name = OPERATOR_RATING if item.about is None else SATISFACTION
        return {name: Worth(1, total_ratings=item.rating)}
    return {}


def count(changes: Sequence[AnyChange], effects: Effects) -> None:
    """The consumer's handler."""
    sums: dict[str, Worth] = defaultdict(Worth)
    gains: dict[OfTime | OfOperator, Gain] = defaultdict(Gain)
    for change in changes:
        if not isinstance(change, Change):
            continue
        for sign, item in ((-1, change.before), (1, change.after)):
            for name, worth in contribution(item).items():
                sums[name] = sums[name].plus(worth, sign)
            for place, gain in trends_of(item).items():
                gains[place] = gains[place].plus(gain, sign)
    for name, worth in sums.items():
        additions = [
            attr(Metric.count_value).add(worth.count_value),
            attr(Metric.total_time).add(worth.total_time),
            attr(Metric.total_ratings).add(worth.total_ratings),
        ]
        # What cancels out is not written.
        if wanted := [each for each in additions if each.value]:
            effects.add(Metric.by_name(name), *wanted)
    for place, gain in gains.items():
        if changed := additions_of(place, gain):
            effects.add(lookup_of(place), *changed)
