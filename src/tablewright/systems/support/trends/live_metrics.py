"""The current values on the dashboard: the metrics counted from the stream, in one batch read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from tablewright.store import AsyncStore
from tablewright.systems.support import metric_counters
from tablewright.systems.support.model import Metric, Priority, Status

__all__ = ["Dashboard", "LiveMetrics", "PriorityMetrics", "average"]


@dataclass(frozen=True, slots=True)
class PriorityMetrics:
    """The tickets of a priority: how many are not READY, and those that are."""

    open: int
    resolved: int
    average_resolution_seconds: float | None


@dataclass(frozen=True, slots=True)
class Dashboard:
    """The metrics at a moment."""

    tickets_by_status: dict[Status, int]
    average_resolution_seconds: float | None
    resolved: int
    # By customers, and by operators.
    average_rating: float | None
    ratings: int
    average_operator_rating: float | None
    operator_ratings: int
    by_priority: dict[Priority, PriorityMetrics]


class LiveMetrics:
    """The metrics as they are now."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def dashboard(self, *, consistent: bool = False) -> Dashboard:
        """All metrics, by one batch read."""
        lookups = [Metric.by_name(name) for name in metric_counters.NAMES]
        found = await self._store.get_many(lookups, consistent=consistent)
        by_name = {
            name: metric or Metric(metric_name=name) for name, metric in zip(metric_counters.NAMES, found, strict=True)
        }
        resolution, satisfaction = by_name[metric_counters.RESOLUTION], by_name[metric_counters.SATISFACTION]
        operators = by_name[metric_counters.OPERATOR_RATING]
        return Dashboard(
            tickets_by_status={status: by_name[metric_counters.by_status(status)].count_value for status in Status},
            average_resolution_seconds=average(resolution.total_time, resolution.count_value),
            resolved=resolution.count_value,
            average_rating=average(Decimal(satisfaction.total_ratings), satisfaction.count_value),
            ratings=satisfaction.count_value,
            average_operator_rating=average(Decimal(operators.total_ratings), operators.count_value),
            operator_ratings=operators.count_value,
            by_priority={priority: _of_priority(by_name, priority) for priority in Priority},
        )


def _of_priority(by_name: Mapping[str, Metric], priority: Priority) -> PriorityMetrics:
    resolution = by_name[metric_counters.resolution_of(priority)]
    return PriorityMetrics(
        by_name[metric_counters.open_of(priority)].count_value,
        resolution.count_value,
        average(resolution.total_time, resolution.count_value),
    )


def average(total: Decimal, number: int) -> float | None:
    return float(total / number) if number else None
