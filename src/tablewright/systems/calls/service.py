"""The use cases of calls.

A change is made to the version of the call that the caller has read, by its number or its tag (``Basis``). If there is
a newer one, nothing is written, and the error is StateConflict or PreconditionFailed. ``owner`` limits a use case to
the calls of one user: those of others are not found.

A completed call cannot be rescheduled, reassigned or given to another provider, unless it is set back to scheduled
first. A cancelled one stays readable, but its time is no longer booked; it can be scheduled again if that is free.

A change of the people or the time of a call books the time in the same transaction (``bookings``). With an ``owner``,
times in the past cannot be booked.

A call that cannot be read is left out of lists, and cannot be changed (Unreadable). Its owner is unknown, so no owner
finds it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TypeVar
from uuid import uuid4

from tablewright.model import FieldChange, attr
from tablewright.runtime import (
    UNSEEN,
    Forbidden,
    Idempotency,
    Invalid,
    ResourceNotFound,
    Responder,
    Seen,
    ServiceProblem,
    StateConflict,
)
from tablewright.runtime.audit import Audit, AuditPage, Recorded
from tablewright.store import (
    AlreadyExists,
    AsyncStore,
    AsyncTolerantReader,
    Cancelled,
    Conflict,
    Create,
    Delete,
    InvalidCursor,
    NotFound,
    NotUnique,
    Operation,
    Outcome,
    TolerantPage,
    Unreadable,
    Update,
)
from tablewright.systems.calls.bookings import TimeTaken, days_to_write, people_of
from tablewright.systems.calls.calendar_settings import CalendarSettingsService
from tablewright.systems.calls.icalendar import icalendar
from tablewright.systems.calls.model import DEFAULT_MINUTES, Call, Status
from tablewright.systems.key_times import millis, moment_of
from tablewright.systems.unreadable_log import UnreadableLog

# How often a create is tried when a call with its id exists, then was deleted.
_ATTEMPTS = 3
# How often a booking is tried when others book the same days, and the longest pause in between, in seconds.
_BOOKING_ATTEMPTS = 30
_MAX_WAIT = 0.5
# How far back an iCalendar goes, its maximum number of calls, and how many are read at once.
_CALENDAR_SINCE = timedelta(days=30)
_CALENDAR_CALLS = 1_000
_CALENDAR_PAGE = 100

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Bounds:
    """A range of times, both ends included; None is unbounded."""

    since: datetime | None = None
    until: datetime | None = None


ANY_TIME = Bounds()


@dataclass(frozen=True, slots=True)
class Basis:
    """What a change is based on: a version of the call, its entity tag, or both."""

    version: int | None = None
    seen: Seen = UNSEEN


@dataclass(frozen=True, slots=True)
class NewCall:
    """A call to create; its id is generated if there is none."""

    user_id: str
    provider_id: str
    scheduled_for: datetime
    duration_minutes: int = DEFAULT_MINUTES
    call_id: str | None = None


class PastTime(Invalid):
    """A customer tries to book a time in the past."""

    def __init__(self) -> None:
        message = "this time is in the past; choose a later one"
        errors = [{"field": "body.scheduledFor", "message": message}]
        super().__init__(f"body.scheduledFor: {message}", kind="invalid-request", errors=errors)


class Calls:
    """Calls of users with providers."""

    def __init__(
        self, store: AsyncStore, clock: Callable[[], float], unreadable_log: UnreadableLog | None = None
    ) -> None:
        self.unreadable_log = unreadable_log or UnreadableLog("calls")
        self._store = store
        self._reader = AsyncTolerantReader(store, self.unreadable_log.add)
        self._clock = clock
        self._idempotency = Idempotency("calls")
        self._audit = Audit("calls", clock)
        self.settings = CalendarSettingsService(store, clock)

    # -- reading ------------------------------------------------------------------------------------------------

    async def get(self, call_id: str, *, owner: str | None = None, consistent: bool = False) -> Call:
        try:
            call = await self._store.get(Call.by_id(call_id), consistent=consistent)
        except Unreadable:
            if owner is None:
                raise
            call = None
        if call is None or owner not in (None, call.user_id):
            raise _missing(call_id)
        return call

    async def of_user(
        self, user_id: str, bounds: Bounds = ANY_TIME, *, limit: int = 20, cursor: str | None = None
    ) -> TolerantPage[Call]:
        """The calls of a user, ordered by time."""
        selection = Call.of_user(user_id, since=bounds.since, until=bounds.until)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def of_provider(
        self, provider_id: str, bounds: Bounds = ANY_TIME, *, limit: int = 20, cursor: str | None = None
    ) -> TolerantPage[Call]:
        """The calls of a provider, newest first."""
        selection = Call.of_provider(provider_id, since=bounds.since, until=bounds.until)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def upcoming(
        self, user_id: str, bounds: Bounds = ANY_TIME, *, limit: int = 20, cursor: str | None = None
    ) -> TolerantPage[Call]:
        """Scheduled calls from now on (or since another time), the next one first.

        A cursor belongs to one range, so it contains the start: later pages use the "now" of the first.
        """
        since = bounds.since
        if cursor is not None:
            began, _, cursor = cursor.partition(".")
            if not (began.isascii() and began.isdigit() and len(began) <= 13):
                raise InvalidCursor("the cursor was altered, or belongs to another read")
            since = since or moment_of(int(began))
        since = since or self._now()
        selection = Call.upcoming(user_id, since=since, until=bounds.until)
        page = await self._reader.page(selection, limit=limit, cursor=cursor)
        return page if page.cursor is None else replace(page, cursor=f"{millis(since)}.{page.cursor}")

    async def completed(
        self, user_id: str, bounds: Bounds = ANY_TIME, *, limit: int = 20, cursor: str | None = None
    ) -> TolerantPage[Call]:
        """Completed calls, the latest first."""
        selection = Call.completed(user_id, since=bounds.since, until=bounds.until)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def next_scheduled(self, user_id: str) -> Call:
        """The next call from now on."""
        page = await self._store.query(Call.next_scheduled(user_id, since=self._now()), limit=1)
        if not page.items:
            raise ResourceNotFound(f"user {user_id} has no scheduled calls")
        return page.items[0]

    async def last_completed(self, user_id: str) -> Call:
        """The latest completed call, by the time that it was scheduled for."""
        page = await self._store.query(Call.last_completed(user_id), limit=1)
        if not page.items:
            raise ResourceNotFound(f"user {user_id} has no completed calls")
        return page.items[0]

    async def icalendar(self, user_id: str) -> str:
        """A user's calls of the last days, and later ones, as an iCalendar; unreadable ones are left out."""
        now = self._now()
        found: list[Call] = []
        cursor: str | None = None
        while True:
            page = await self.of_user(user_id, Bounds(now - _CALENDAR_SINCE), limit=_CALENDAR_PAGE, cursor=cursor)
            found += page.items
            cursor = page.cursor
            if cursor is None or len(found) >= _CALENDAR_CALLS:
                return icalendar(found[:_CALENDAR_CALLS], now)

    # -- writing ------------------------------------------------------------------------------------------------

    async def create(self, new: NewCall, responder: Responder[Call, R], *, owner: str | None = None) -> R:
        """Schedule a call, and return the response.

        The same request again, with an id of the caller's own and without a key, returns the call as it is then.
        """
        call = _new_call(new)
        for _ in range(_ATTEMPTS):
            try:
                return await self._respond(responder, new, call, owner=owner)
            except (AlreadyExists, NotUnique):
                first = await self._first(call, owner)
            except (TimeTaken, PastTime):
                # The requested call may exist already, and have the time booked itself, or have had it.
                first = None if new.call_id is None else await self._first(call, owner)
                if first is None:
                    raise
            # None if it was deleted in between: the id is free again.
            if first is not None:
                return await self._respond(responder, new, first, is_new=False)
        raise StateConflict(f"call {call.call_id} is being created and deleted at the same time; send it again")

    async def _respond(
        self, responder: Responder[Call, R], new: NewCall, call: Call, *, owner: str | None = None, is_new: bool = True
    ) -> R:
        """The response to a create, which writes the call if it is new."""
        if not is_new:
            if responder.key is None:
                return responder.view(call)

            async def shown() -> Outcome:
                return Outcome(responder.view(call))

            return await self._keyed(responder, new, shown)
        made = call.model_copy()

        async def write() -> R:
            self._require_future(call.scheduled_for, owner)
            entry = self._audit.created(_thing(call.call_id), call)
            await self._store.transact(Create(made), *await days_to_write(self._store, None, call), entry)
            return responder.view(made)

        async def write_once() -> R:
            async def work() -> Outcome:
                self._require_future(call.scheduled_for, owner)
                days = await days_to_write(self._store, None, call)
                entry = self._audit.created(_thing(call.call_id), call)
                # Writing it increments its version.
                shown = responder.view(call.model_copy(update={"version": 1}))
                return Outcome(shown, Create(call.model_copy()), *days, entry)

            return await self._keyed(responder, new, work)

        try:
            return await self._booking(write if responder.key is None else write_once, call)
        except TimeTaken:
            if responder.key is None:
                raise
            # Perhaps by the same request: then its response is stored by now.
            return await self._booking(write_once, call)

    async def _keyed(self, responder: Responder[Call, R], new: NewCall, work: Callable[[], Awaitable[Outcome]]) -> R:
        request = {
            "user_id": new.user_id,
            "provider_id": new.provider_id,
            "at": new.scheduled_for,
            "minutes": new.duration_minutes,
            "call_id": new.call_id,
        }
        return await self._idempotency.execute(self._store, "call", request, responder, work)

    async def _first(self, call: Call, owner: str | None) -> Call | None:
        """The existing call with this id, if the same request created it; StateConflict otherwise."""
        taken = StateConflict(f"call {call.call_id} already exists with different content", kind="already-exists")
        try:
            first = await self._store.get(Call.by_id(call.call_id), consistent=True)
        except Unreadable:
            if owner is None:
                raise
            raise taken from None
        if first is not None and not (owner in (None, first.user_id) and _is_of_request(first, call)):
            raise taken
        return first

    async def change_status(self, call_id: str, status: Status, *, basis: Basis) -> Call:
        """Complete or cancel a scheduled call, or set one back to scheduled; a cancelled one if its time is free."""
        call = await self._based_on(call_id, basis)
        if call.status is status:
            raise StateConflict(f"call {call_id} is already {status}")
        if Status.SCHEDULED not in (call.status, status):
            raise StateConflict(f"call {call_id} is {call.status}; only a scheduled call can become {status}")
        return await self._change(call, basis, attr(Call.status).set(status))

    async def change_provider(self, call_id: str, provider_id: str, *, basis: Basis, owner: str | None = None) -> Call:
        """Assign a scheduled call to another provider; its key does not change."""
        call = await self._scheduled(call_id, basis, owner)
        if owner is not None and call.scheduled_for < self._now():
            raise StateConflict(f"call {call_id} is in the past; reschedule it, then choose another provider")
        return await self._change(call, basis, attr(Call.provider_id).set(provider_id))

    async def reschedule(
        self,
        call_id: str,
        scheduled_for: datetime,
        duration_minutes: int | None = None,
        *,
        basis: Basis,
        owner: str | None = None,
    ) -> Call:
        """Move a scheduled call to another time; it keeps its duration unless a new one is given."""
        call = await self._scheduled(call_id, basis, owner)
        self._require_future(scheduled_for, owner)
        minutes = call.duration_minutes if duration_minutes is None else duration_minutes
        return await self._change(
            call, basis, attr(Call.scheduled_for).set(scheduled_for), attr(Call.duration_minutes).set(minutes)
        )

    async def reassign(self, call_id: str, user_id: str, *, basis: Basis) -> Call:
        """Move a scheduled call to another user."""
        call = await self._scheduled(call_id, basis)
        return await self._change(call, basis, attr(Call.user_id).set(user_id))

    async def cancel(self, call_id: str, *, basis: Basis, owner: str | None = None, may_delete: bool = False) -> None:
        """Cancel a scheduled call, which stays as a cancelled one; delete any other, if the caller may."""
        call = await self._based_on(call_id, basis, owner)
        if call.status is Status.SCHEDULED:
            await self._change(call, basis, attr(Call.status).set(Status.CANCELLED))
        elif may_delete:
            await self._write(call, None, Delete(call), self._audit.deleted(_thing(call_id), call), basis)
        elif call.status is Status.CANCELLED:
            raise StateConflict(f"call {call_id} is already {call.status}")
        else:
            raise Forbidden(f"call {call_id} is {call.status}; only Admins can delete it")

    async def _scheduled(self, call_id: str, basis: Basis, owner: str | None = None) -> Call:
        call = await self._based_on(call_id, basis, owner)
        if call.status is not Status.SCHEDULED:
            raise StateConflict(f"call {call_id} is {call.status}; only a scheduled call can be changed")
        return call

    async def _based_on(self, call_id: str, basis: Basis, owner: str | None = None) -> Call:
        """The call, if it is the one that a change is based on."""
        call = await self.get(call_id, owner=owner, consistent=True)
        basis.seen.require(call)
        if basis.version not in (None, call.version):
            raise StateConflict(
                f"call {call_id} has version {call.version}, and the change is based on {basis.version}; read it again",
                version=call.version,
            )
        return call

    async def _change(self, call: Call, basis: Basis, *changes: FieldChange) -> Call:
        fields = {change.path: change.value for change in changes}
        entry = self._audit.changed(_thing(call.call_id), call, **fields)
        await self._write(call, call.model_copy(update=fields), Update(call, *changes), entry, basis)
        return call

    async def _write(
        self, before: Call, after: Call | None, operation: Operation, entry: Operation, basis: Basis
    ) -> None:
        """Make a change, record who made it, and update the booked times."""

        async def write() -> None:
            await self._store.transact(operation, *await days_to_write(self._store, before, after), entry)

        try:
            await self._booking(write, before, after)
        except (Conflict, NotFound):
            raise _outrun(before.call_id, basis) from None

    async def _booking(self, write: Callable[[], Awaitable[R]], *calls: Call | None) -> R:
        """Write a call and its booked days, again while others write the same days; raises the error of the call."""
        for attempt in range(_BOOKING_ATTEMPTS):
            try:
                return await write()
            except Cancelled as cancelled:
                own, *days = cancelled.reasons
                if own is not None:
                    raise own from None
                assert any(days)
            await asyncio.sleep(random.uniform(0, min(_MAX_WAIT, 0.01 * 2**attempt)))
        raise StateConflict(f"many calls of {' and '.join(people_of(*calls))} are being booked; try again")

    async def audit(self, call_id: str, *, limit: int, cursor: str | None) -> AuditPage:
        """The audit of a call, newest first; also of a deleted one."""
        call = await self._reader.one(Call.by_id(call_id))
        recorded: list[Recorded] | None = None if call is None else []
        return await self._audit.page(self._store, _thing(call_id), recorded, limit=limit, cursor=cursor)

    def _require_future(self, moment: datetime, owner: str | None) -> None:
        if owner is not None and moment < self._now():
            raise PastTime

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def _thing(call_id: str) -> str:
    return f"calls/{call_id}"


def _new_call(new: NewCall) -> Call:
    """The call to write; with an id of the caller's own, the request can be recognized if it is repeated."""
    content = [new.user_id, new.provider_id, str(millis(new.scheduled_for))]
    if new.duration_minutes != DEFAULT_MINUTES:
        content.append(str(new.duration_minutes))
    return Call(
        user_id=new.user_id,
        call_id=new.call_id or str(uuid4()),
        provider_id=new.provider_id,
        scheduled_for=new.scheduled_for,
        duration_minutes=new.duration_minutes,
        request_digest=None if new.call_id is None else sha256("\x00".join(content).encode()).hexdigest()[:32],
    )


def _is_of_request(first: Call, call: Call) -> bool:
    """Whether an existing call was created by the same request."""
    return first.request_digest == call.request_digest or _content(first) == _content(call)


def _content(call: Call) -> tuple[str, str, datetime, int]:
    return call.user_id, call.provider_id, call.scheduled_for, call.duration_minutes


def _missing(call_id: str) -> ResourceNotFound:
    return ResourceNotFound(f"there is no call {call_id}")


def _outrun(call_id: str, basis: Basis) -> ServiceProblem:
    return basis.seen.outrun(f"someone else changed call {call_id} at the same time; read it again")
