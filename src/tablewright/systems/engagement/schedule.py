"""When a schedule is due: cron expressions in a time zone."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim


def next_due(cron: str, time_zone: str, after: datetime) -> datetime:
    """The first time after another one, in UTC.

    An hour that the clocks leave out is due right behind the gap, and one that comes twice is due the first time.
    """
    return next(CronSim(cron, after.astimezone(ZoneInfo(time_zone)))).astimezone(UTC)
