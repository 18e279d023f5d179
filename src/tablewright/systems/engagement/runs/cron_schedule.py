"""When a schedule is due: cron expressions of five fields, in a time zone."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

_FIELDS = 5
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)


def next_due(cron: str, time_zone: str, after: datetime) -> datetime:
    """The first time after another one, in UTC.

    An hour that the clocks leave out is due right behind the gap, and one that comes twice is due the first time.
    """
    return next(CronSim(cron, after.astimezone(ZoneInfo(time_zone)))).astimezone(UTC)


def check_cron(text: str) -> str:
    """The expression; ValueError if it is none, or none of five fields, or never due."""
    fields = len(text.split())
    if fields != _FIELDS:
        raise ValueError(f"a cron expression has five fields (minute hour day month weekday), not {fields}")
    try:
        next(CronSim(text, _SOME_DAY))
    except CronSimError as error:
        raise ValueError(f"it is not a cron expression ({error}); an example is 0 2 * * *") from None
    except StopIteration:
        raise ValueError("this cron expression never matches") from None
    return text


def check_time_zone(name: str) -> str:
    """The name; ValueError if it is not a time zone."""
    if name not in _zones():
        raise ValueError("it is not a time zone; examples are Europe/Rome and UTC")
    return name


def is_schedule(cron: str, time_zone: str) -> bool:
    """Whether both can be; what was stored once need not be so any more."""
    try:
        check_cron(cron)
        check_time_zone(time_zone)
    except ValueError:
        return False
    return True


@cache
def _zones() -> frozenset[str]:
    """Places, and UTC. What else a system lists are settings of its own, and abbreviations that mean several zones."""
    return frozenset(name for name in available_timezones() if "/" in name) | {"UTC"}
