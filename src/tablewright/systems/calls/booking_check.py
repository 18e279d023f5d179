"""Checks that the times of all calls are booked, and no others: ``check_bookings`` compares calls with booked days.

    every call ──▶ times that should be booked ──▶ every day: are these, and only these, booked?

A hash of each time is kept in memory, some 130 MB for a million calls. Where hashes differ, calls and days are compared
exactly.

The table may be in use. Calls and days are read at different moments, so apparent faults are checked again: a call and
its days change in one transaction, so a call that has not changed meanwhile must match the day. A repair writes the day
on condition that neither has changed. A time that two calls have is reported and left: a person has to decide which
call is moved or cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from tablewright.model import Entity
from tablewright.store import Cancelled, Check, Operation, Put, Store, TolerantReader, Unreadable
from tablewright.systems.calls.bookings import PersonDay, Span, booked_days, is_taken, span_of
from tablewright.systems.calls.model import BookedDay, Call

__all__ = ["BookingFault", "BookingFinding", "check_bookings"]

_PAGE = 100
_ATTEMPTS = 5

E = TypeVar("E", bound=Entity)
OnProgress = Callable[[int, int | None], None]


class BookingFault(StrEnum):
    """What is wrong with a booking."""

    MISSING = "the time of the call is not booked"
    LEFT_OVER = "the call is booked at a time that it does not have"
    WRONG = "the booked time differs from the time of the call"
    CLASH = "another call has the same time"
    UNREADABLE = "it cannot be read"
    BUSY = "it kept changing while it was being checked"


@dataclass(frozen=True, slots=True)
class BookingFinding:
    """A booking that is wrong."""

    fault: BookingFault
    # The call, and the day with its user or provider.
    place: str
    is_repaired: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.fault}{' (repaired)' if self.is_repaired else ''}"


def check_bookings(
    store: Store, on_progress: OnProgress = lambda done, of: None, *, repair: bool = False
) -> list[BookingFinding]:
    """Yields the faults of the bookings; ``repair`` books missing times and frees others."""
    return list(_BookingCheck(store, on_progress, repair=repair).run())


class _BookingCheck:
    def __init__(self, store: Store, on_progress: OnProgress, *, repair: bool) -> None:
        self._store = store
        self._reader = TolerantReader(store)
        self._on_progress = on_progress
        self._repair = repair
        self._done = 0
        self._unreadable: dict[str, BookingFinding] = {}

    def run(self) -> Iterator[BookingFinding]:
        looked_at: set[tuple[str, PersonDay]] = set()
        for call_id, which in self._doubts():
            if (call_id, which) not in looked_at:
                looked_at.add((call_id, which))
                finding = self._settle(call_id, which)
                if finding is not None:
                    yield finding
        yield from self._unreadable.values()

    def _doubts(self) -> Iterator[tuple[str, PersonDay]]:
        """Calls and days that do not seem to match."""
        expected = {hash(booking) for call in self._each(Call) for booking in _bookings(call)}
        for day in self._each(BookedDay):
            which = PersonDay(day.side, day.person_id, day.day)
            for call_id, span in day.times.items():
                number = hash((call_id, which, span))
                if number in expected:
                    expected.remove(number)
                else:
                    yield call_id, which
        if expected:
            for call in self._each(Call):
                for booking in _bookings(call):
                    if hash(booking) in expected:
                        yield booking[:2]

    def _each(self, entity: type[E]) -> Iterator[E]:
        cursor = None
        while True:
            page = self._reader.page(entity, limit=_PAGE, cursor=cursor)
            for error in page.unreadable:
                place = f"{error.entity} {error.key}"
                self._unreadable[place] = BookingFinding(BookingFault.UNREADABLE, place)
            yield from page.items
            self._done += len(page.items)
            self._on_progress(self._done, None)
            cursor = page.cursor
            if cursor is None:
                return

    def _call(self, call_id: str) -> Call | Unreadable | None:
        return self._reader.one(Call.by_id(call_id), consistent=True)

    def _settle(self, call_id: str, which: PersonDay) -> BookingFinding | None:
        """Compare a call and a day until neither changes meanwhile, and repair the day; None if they match."""
        place = f"call {call_id}, {which.side} {which.person_id} on {which.day}"
        for _ in range(_ATTEMPTS):
            call, day = self._call(call_id), self._day(which)
            if isinstance(call, Unreadable) or isinstance(day, Unreadable):
                # Reported separately.
                return None
            if call != self._call(call_id):
                continue
            wanted, found = _span_on(call, which), day.times.get(call_id)
            if wanted == found:
                return None
            fault = BookingFault.MISSING if found is None else BookingFault.WRONG
            if wanted is None:
                fault = BookingFault.LEFT_OVER
            elif is_taken(day.times, call_id, wanted):
                return BookingFinding(BookingFault.CLASH, place)
            if not self._repair:
                return BookingFinding(fault, place)
            times = {other: span for other, span in day.times.items() if other != call_id}
            if wanted is not None:
                times[call_id] = wanted
            operations: list[Operation] = [Put(day.model_copy(update={"times": times}))]
            if call is not None:
                operations.append(Check(call))
            try:
                self._store.transact(*operations)
            except Cancelled:
                continue
            return BookingFinding(fault, place, is_repaired=True)
        return BookingFinding(BookingFault.BUSY, place)

    def _day(self, which: PersonDay) -> BookedDay | Unreadable:
        found = self._reader.one(BookedDay.of_day(*which), consistent=True)
        return BookedDay(**which._asdict()) if found is None else found


def _bookings(call: Call) -> Iterator[tuple[str, PersonDay, Span]]:
    """The times that should be booked for a call."""
    for which in sorted(booked_days(call)):
        yield call.call_id, which, span_of(call)


def _span_on(call: Call | Unreadable | None, which: PersonDay) -> Span | None:
    """The time of a call on a day of a user or provider; None if it has none."""
    return span_of(call) if isinstance(call, Call) and which in booked_days(call) else None
