"""The dashboard's reports over time and by operator, read from counters and never from the tickets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from tablewright.runtime import Invalid
from tablewright.store import AsyncTolerantReader
from tablewright.systems.support.trends.live_metrics import average
from tablewright.systems.support.trends.trend_counters import period_of
from tablewright.systems.support.trends.trend_entities import OperatorDay, Trend, Unit

__all__ = ["OperatorReport", "TrendReport", "TrendReports"]

_MAX_DAYS = 92
# The most days of operators that one report adds up.
_MAX_OPERATOR_DAYS = 10_000
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class TrendReport:
    """An hour or a day, by its start."""

    start: datetime
    opened: int = 0
    resolved: int = 0
    average_resolution_seconds: float | None = None
    ratings: int = 0
    average_rating: float | None = None


@dataclass(frozen=True, slots=True)
class OperatorReport:
    """The tickets that an operator resolved, and the ratings of their help."""

    operator_id: str
    resolved: int = 0
    average_resolution_seconds: float | None = None
    ratings: int = 0
    average_rating: float | None = None


@dataclass(frozen=True, slots=True)
class _Sum:
    resolved: int = 0
    total_time: Decimal = Decimal(0)
    ratings: int = 0
    total_ratings: int = 0


class TrendReports:
    """Reports on the counts."""

    def __init__(self, reader: AsyncTolerantReader, now: Callable[[], datetime]) -> None:
        self._reader = reader
        self._now = now

    async def hours(self, number: int) -> list[TrendReport]:
        """The last hours, including the current one, oldest first; also those without any activity."""
        return await self._trend(Unit.HOUR, timedelta(hours=1), number)

    async def days(self, number: int) -> list[TrendReport]:
        """The last days (UTC), including today, oldest first; also those without any activity."""
        return await self._trend(Unit.DAY, timedelta(days=1), number)

    async def _trend(self, unit: Unit, step: timedelta, number: int) -> list[TrendReport]:
        last = self._now().astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        if unit is Unit.DAY:
            last = last.replace(hour=0)
        starts = [last - step * back for back in range(number - 1, -1, -1)]
        periods = [period_of(unit, start) for start in starts]
        selection = Trend.between(unit, since=periods[0], until=periods[-1])
        page = await self._reader.page(selection, limit=number)
        found = {trend.period: trend for trend in page.items}
        return [_report(start, found.get(period)) for start, period in zip(starts, periods, strict=True)]

    async def operators(self, since: date | None, until: date | None) -> list[OperatorReport]:
        """Operators who resolved tickets or were rated in a range of days (the last seven by default), most first."""
        last = until or self._now().date()
        first = since or last - timedelta(days=6)
        if first > last:
            raise Invalid("since is after until", field="since")
        if (last - first).days >= _MAX_DAYS:
            raise Invalid(f"a report covers at most {_MAX_DAYS} days", field="since")
        sums: dict[str, _Sum] = {}
        read, cursor = 0, None
        while True:
            page = await self._reader.page(OperatorDay.between(since=first, until=last), limit=_PAGE, cursor=cursor)
            for each in page.items:
                before = sums.get(each.operator_id, _Sum())
                sums[each.operator_id] = replace(
                    before,
                    resolved=before.resolved + each.resolved,
                    total_time=before.total_time + each.total_time,
                    ratings=before.ratings + each.ratings,
                    total_ratings=before.total_ratings + each.total_ratings,
                )
            read, cursor = read + len(page.items), page.cursor
            if cursor is None:
                break
            if read >= _MAX_OPERATOR_DAYS:
                raise Invalid("too many operators for this range: request fewer days", field="since")
        reports = [
            OperatorReport(
                operator_id,
                each.resolved,
                average(each.total_time, each.resolved),
                each.ratings,
                average(Decimal(each.total_ratings), each.ratings),
            )
            for operator_id, each in sums.items()
            # Leaves out sums that were taken back.
            if each.resolved or each.ratings
        ]
        return sorted(reports, key=lambda each: (-each.resolved, -each.ratings, each.operator_id))


def _report(start: datetime, trend: Trend | None) -> TrendReport:
    if trend is None:
        return TrendReport(start)
    return TrendReport(
        start,
        trend.opened,
        trend.resolved,
        average(trend.total_time, trend.resolved),
        trend.ratings,
        average(Decimal(trend.total_ratings), trend.ratings),
    )
