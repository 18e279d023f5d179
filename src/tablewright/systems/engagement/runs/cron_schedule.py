"""Due times of schedules: cron expressions with five fields, in a time zone."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

_FIELDS = 5
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)


def next_due(cron: str, time_zone: str, after: datetime) -> datetime:
    """The first time after another one, in UTC.

    A time that the clocks skip is due right after the gap, and one that occurs twice is due the first time.
    """
    return next(CronSim(cron, after.astimezone(ZoneInfo(time_zone)))).astimezone(UTC)


def check_cron(text: str) -> str:
    """The expression; ValueError if it is invalid, does not have five fields, or is never due."""
    fields = len(text.split())
    if fields != _FIELDS:
        raise ValueError(f"a cron expression must have five fields (minute hour day month weekday), not {fields}")
    try:
        next(CronSim(text, _SOME_DAY))
    except CronSimError as error:
        raise ValueError(f"it is not a valid cron expression ({error}); use one such as 0 2 * * *") from None
    except StopIteration:
        raise ValueError("this cron expression never matches") from None
    return text


def check_time_zone(name: str) -> str:
    """The name; ValueError if it is not a time zone."""
    if name not in _zones():
        raise ValueError("it is not a time zone; use one such as Europe/Rome or UTC")
    return name


def is_schedule(cron: str, time_zone: str) -> bool:
    """Whether both are valid; stored ones might no longer be."""
    try:
        check_cron(cron)
        check_time_zone(time_zone)
    except ValueError:
        return False
    return True


@cache
def _zones() -> frozenset[str]:
    """Places, and UTC. Other names are local settings, and abbreviations that stand for several zones."""
    return frozenset(name for name in available_timezones() if "/" in name) | {"UTC"}
