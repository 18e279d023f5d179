"""Demo data: two weeks of calls, during working hours."""

from __future__ import annotations

from datetime import datetime, timedelta

from tablewright.runtime import OnProgress, ResourceNotFound, Runtime
from tablewright.runtime.idempotency import UNKEYED
from tablewright.systems.calls.model import Status
from tablewright.systems.calls.service import Basis, Calls, NewCall

__all__ = ["fill"]

# Who calls whom: on which working day, counted from today (0 is today, or the Monday after it), and when, in UTC.
# Those in the past have taken place, but for one that was cancelled.
_CALLS = (
    ("ada", "p-garcia", -3, 9.0),
    ("ada", "p-okafor", -1, 14.0),
    ("bob", "p-garcia", -1, 10.5),
    ("ada", "p-garcia", 1, 9.5),
    ("bob", "p-lindholm", 1, 11.0),
    ("ada", "p-okafor", 2, 15.0),
    ("cy", "p-lindholm", 5, 10.0),
    ("dee", "p-garcia", -4, 11.5),
    ("eli", "p-lindholm", -2, 16.0),
    ("cy", "p-okafor", -2, 9.0),
    ("bob", "p-okafor", 0, 10.0),
    ("dee", "p-garcia", 0, 13.5),
    ("eli", "p-lindholm", 0, 15.5),
    ("dee", "p-okafor", 1, 14.0),
    ("eli", "p-garcia", 2, 11.0),
    ("cy", "p-garcia", 3, 9.0),
    ("bob", "p-lindholm", 3, 13.0),
    ("dee", "p-lindholm", 4, 10.5),
    ("eli", "p-okafor", 4, 16.0),
    ("ada", "p-lindholm", 6, 14.5),
)
_CANCELLED = 9


async def fill(runtime: Runtime, service: Calls, on_progress: OnProgress) -> None:
    """Calls that exist already, after an interrupted fill, are not changed."""
    now = runtime.now()
    for number, (user, provider, day, hour) in enumerate(_CALLS, 1):
        call_id = f"demo-{number}"
        at = _working_day(now, day) + timedelta(hours=hour)
        try:
            call = await service.get(call_id, consistent=True)
        except ResourceNotFound:
            call = await service.create(NewCall(user, provider, at, call_id=call_id), UNKEYED)
        if at < now and call.status is Status.SCHEDULED:
            status = Status.CANCELLED if number == _CANCELLED else Status.COMPLETED
            await service.change_status(call_id, status, basis=Basis(call.version))
        on_progress("calls", number, len(_CALLS))


def _working_day(now: datetime, days: int) -> datetime:
    """The start of the working day that is so many working days from today."""
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    while day.weekday() > 4:
        day += timedelta(days=1)
    step = timedelta(days=1 if days > 0 else -1)
    while days:
        day += step
        if day.weekday() < 5:
            days -= int(step.days)
    return day
