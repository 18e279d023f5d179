"""Bookings: a user or a provider never has two calls at one time.

    Call  12:00, 30 minutes ──▶ BookedDay  user u-1, 2026-03-01      {"call-9": 12:00 to 12:30, ...}
                            └─▶ BookedDay  provider p-1, 2026-03-01  {"call-9": 12:00 to 12:30, ...}

A person has one item for each day (UTC), with the times of all calls that have one; a call past midnight is in both of
its days. A write of a call reads the days, checks that the time is free, and writes them in the transaction of the
call, on condition of the versions that were read: of two calls that overlap, only one is booked. A call may begin when
another ends.

A scheduled call has its time booked, and so has a completed one, as it took place then. A cancelled one has not.

The times of a call that another program stored are not booked until ``booking_check`` has seen them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, date, timedelta
from typing import NamedTuple

from tablewright.runtime import StateConflict
from tablewright.store import AsyncStore, Operation, Put
from tablewright.systems.calls.model import BookedDay, Call, Side, Status
from tablewright.systems.key_times import millis

__all__ = ["PersonDay", "Span", "TimeTaken", "booked_days", "days_to_write", "is_taken", "people_of", "span_of"]

_MILLISECOND = timedelta(milliseconds=1)

Span = tuple[int, int]
"""Start and end of a call, in milliseconds since 1970."""


class PersonDay(NamedTuple):
    """A day of a user or a provider."""

    side: Side
    person_id: str
    day: date


class TimeTaken(StateConflict):
    """The user or the provider has another call at that time."""

    def __init__(self, which: PersonDay) -> None:
        super().__init__(
            f"{which.side} {which.person_id} has another call at that time; choose another time",
            field=f"{which.side}Id",
        )


def people_of(*calls: Call | None) -> list[str]:
    """The people of some calls, as text."""
    return [f"{side} {person}" for call in calls if call is not None for side, person in _sides(call)]


def span_of(call: Call) -> Span:
    return millis(call.scheduled_for), millis(call.scheduled_for + call.duration)


def booked_days(call: Call | None) -> set[PersonDay]:
    """The days on which a call has a booked time."""
    if call is None or call.status is Status.CANCELLED:
        return set()
    first = call.scheduled_for.astimezone(UTC).date()
    last = (call.scheduled_for + call.duration - _MILLISECOND).astimezone(UTC).date()
    days = {first, last}
    return {PersonDay(side, person, day) for side, person in _sides(call) for day in days}


def is_taken(times: Mapping[str, Span], call_id: str, span: Span) -> bool:
    """Whether another call overlaps that time."""
    return any(begin < span[1] and span[0] < end for other, (begin, end) in times.items() if other != call_id)


async def days_to_write(store: AsyncStore, before: Call | None, after: Call | None) -> Sequence[Operation]:
    """The operations that go with the write of a call; the call is None before it is created and after it is deleted.

    TimeTaken if the call cannot have its time.
    """
    call = after or before
    assert call is not None
    wanted, had = booked_days(after), booked_days(before)
    if after is not None and before is not None and wanted == had and span_of(after) == span_of(before):
        return ()
    touched = sorted(wanted | had)
    reads = [store.get(BookedDay.of_day(*which), consistent=True) for which in touched]
    operations: list[Operation] = []
    for which, found in zip(touched, await asyncio.gather(*reads), strict=True):
        booked = found or BookedDay(**which._asdict())
        times = {call_id: span for call_id, span in booked.times.items() if call_id != call.call_id}
        if after is not None and which in wanted:
            span = span_of(after)
            if is_taken(times, call.call_id, span):
                raise TimeTaken(which)
            times[call.call_id] = span
        # A new call is written in any case: the time may be left over from one with the same id, and be removed now.
        if times != booked.times or before is None:
            operations.append(Put(booked.model_copy(update={"times": times})))
    return operations


def _sides(call: Call) -> tuple[tuple[Side, str], ...]:
    return (Side.USER, call.user_id), (Side.PROVIDER, call.provider_id)
