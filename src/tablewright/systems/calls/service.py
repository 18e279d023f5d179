"""The use cases of calls.

A change is made to the call that the caller has read, by its version or its tag (``Basis``). If there is a newer one,
nothing is written, and the error is StateConflict or PreconditionFailed. ``owner`` limits a use case to the calls of
one user: those of others are not found.

A completed call is history. It cannot be rescheduled, reassigned or given to another provider, unless it is set back to
scheduled first.

A call that cannot be read is left out of lists, and is changed by nobody (Unreadable). Its owner is not known,
so no owner finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, TypeVar
from uuid import uuid4

from tablewright.runtime import (
    UNSEEN,
    Forbidden,
    Idempotency,
    ResourceNotFound,
    Responder,
    Seen,
    ServiceProblem,
    StateConflict,
)
from tablewright.store import (
    AlreadyExists,
    AsyncStore,
    AsyncTolerantReader,
    Conflict,
    Create,
    InvalidCursor,
    NotFound,
    NotUnique,
    Outcome,
    TolerantPage,
    Unreadable,
)
from tablewright.systems.calls.model import Call, Status
from tablewright.systems.key_times import EPOCH
from tablewright.systems.unreadable_log import UnreadableLog

_MILLISECOND = timedelta(milliseconds=1)
# How often a create goes round between a call that is there and one that is being cancelled.
_ATTEMPTS = 3

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Bounds:
    """A range of times, both ends included; None is no bound."""

    since: datetime | None = None
    until: datetime | None = None


ANY_TIME = Bounds()


@dataclass(frozen=True, slots=True)
class Basis:
    """What a change is based on: a version of the call, what was seen of it, or both."""

    version: int | None = None
    seen: Seen = UNSEEN


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

    # -- reading ------------------------------------------------------------------------------------------------

    async def get(self, call_id: str, *, owner: str | None = None, consistent: bool = False) -> Call:
        try:
            call = await self._store.get(Call.by_id(call_id=call_id), consistent=consistent)
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
        """The calls of a user in order of time."""
        selection = Call.of_user(user_id=user_id, since=bounds.since, until=bounds.until)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def of_provider(
        self, provider_id: str, bounds: Bounds = ANY_TIME, *, limit: int = 20, cursor: str | None = None
    ) -> TolerantPage[Call]:
        """The calls of a provider, newest first."""
        selection = Call.of_provider(provider_id=provider_id, since=bounds.since, until=bounds.until)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def upcoming(
        self, user_id: str, bounds: Bounds = ANY_TIME, *, limit: int = 20, cursor: str | None = None
    ) -> TolerantPage[Call]:
        """Scheduled calls from now on (or since another time), the next one first.

        A cursor belongs to one range, so it says when it began: a later page has the "now" of the first.
        """
        since = bounds.since
        if cursor is not None:
            began, _, cursor = cursor.partition(".")
            if not (began.isascii() and began.isdigit() and len(began) <= 13):
                raise InvalidCursor("the cursor was altered, or belongs to another read")
            since = since or EPOCH + int(began) * _MILLISECOND
        since = since or self._now()
        selection = Call.upcoming(user_id=user_id, since=since, until=bounds.until)
        page = await self._reader.page(selection, limit=limit, cursor=cursor)
        return page if page.cursor is None else replace(page, cursor=f"{(since - EPOCH) // _MILLISECOND}.{page.cursor}")

    async def completed(
        self, user_id: str, bounds: Bounds = ANY_TIME, *, limit: int = 20, cursor: str | None = None
    ) -> TolerantPage[Call]:
        """Completed calls, the last one first."""
        selection = Call.completed(user_id=user_id, since=bounds.since, until=bounds.until)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def next_scheduled(self, user_id: str) -> Call:
        """The next call from now on."""
        page = await self._store.query(Call.next_scheduled(user_id=user_id, since=self._now()), limit=1)
        if not page.items:
            raise ResourceNotFound(f"user {user_id} has no scheduled calls")
        return page.items[0]

    async def last_completed(self, user_id: str) -> Call:
        """The call that was completed last, by the time that it was scheduled for."""
        page = await self._store.query(Call.last_completed(user_id=user_id), limit=1)
        if not page.items:
            raise ResourceNotFound(f"user {user_id} has no completed calls")
        return page.items[0]

    # -- writing ------------------------------------------------------------------------------------------------

    async def create(
        self,
        user_id: str,
        provider_id: str,
        scheduled_for: datetime,
        responder: Responder[Call, R],
        *,
        call_id: str | None = None,
        owner: str | None = None,
    ) -> R:
        """Schedule a call; the response to it. Without an id the call gets one.

        The same request again, by an id of the caller's own and without a key, gets the call as it is by then.
        """
        call = _new_call(call_id or str(uuid4()), user_id, provider_id, scheduled_for, is_named=call_id is not None)
        request = {"user_id": user_id, "provider_id": provider_id, "at": scheduled_for, "call_id": call_id}
        for _ in range(_ATTEMPTS):
            try:
                return await self._respond(responder, request, call, is_new=True)
            except (AlreadyExists, NotUnique):
                first = await self._first(call, owner)
            # None if it was cancelled in between: the id is free again.
            if first is not None:
                return await self._respond(responder, request, first, is_new=False)
        raise StateConflict(f"call {call.call_id} is being created and cancelled at the same time; send it again")

    async def _respond(self, responder: Responder[Call, R], request: Any, call: Call, *, is_new: bool) -> R:
        """The response to a call, which is written first if it is new."""
        if responder.key is None:
            return responder.view(await self._store.create(call.model_copy()) if is_new else call)

        async def work() -> Outcome:
            if not is_new:
                return Outcome(responder.view(call))
            # Writing it counts its version up.
            return Outcome(responder.view(call.model_copy(update={"version": 1})), Create(call.model_copy()))

        return await self._idempotency.execute(self._store, "call", request, responder, work)

    async def _first(self, call: Call, owner: str | None) -> Call | None:
        """The call that has the id of another one, if the same request made it; StateConflict if it did not."""
        taken = StateConflict(f"call {call.call_id} already exists, with other content", kind="already-exists")
        try:
            first = await self._store.get(Call.by_id(call_id=call.call_id), consistent=True)
        except Unreadable:
            if owner is None:
                raise
            raise taken from None
        if first is not None and not (owner in (None, first.user_id) and _is_of_request(first, call)):
            raise taken
        return first

    async def change_status(self, call_id: str, status: Status, *, basis: Basis) -> Call:
        """Complete a scheduled call, or set a completed one back to scheduled."""
        call = await self._based_on(call_id, basis)
        if call.status is status:
            raise StateConflict(f"call {call_id} is already {status}")
        return await self._change(call, basis, status=status)

    async def change_provider(self, call_id: str, provider_id: str, *, basis: Basis, owner: str | None = None) -> Call:
        """Give a scheduled call to another provider; it stays where it is."""
        call = await self._scheduled(call_id, basis, owner)
        return await self._change(call, basis, provider_id=provider_id)

    async def reschedule(
        self, call_id: str, scheduled_for: datetime, *, basis: Basis, owner: str | None = None
    ) -> Call:
        """Move a scheduled call to another time."""
        call = await self._scheduled(call_id, basis, owner)
        return await self._change(call, basis, scheduled_for=scheduled_for)

    async def reassign(self, call_id: str, user_id: str, *, basis: Basis) -> Call:
        """Move a scheduled call to another user."""
        call = await self._scheduled(call_id, basis)
        return await self._change(call, basis, user_id=user_id)

    async def cancel(
        self, call_id: str, *, basis: Basis, owner: str | None = None, completed_too: bool = False
    ) -> None:
        """Delete a scheduled call; a completed one only for those who may."""
        call = await self._based_on(call_id, basis, owner)
        if call.status is Status.COMPLETED and not completed_too:
            raise Forbidden(f"call {call_id} is COMPLETED; only Admins can delete completed calls")
        try:
            gone = await self._store.delete(call)
        except Conflict:
            gone = False
        if not gone:
            raise _outrun(call_id, basis)

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

    async def _change(self, call: Call, basis: Basis, **fields: Any) -> Call:
        try:
            return await self._store.update(call, **fields)
        except (Conflict, NotFound):
            raise _outrun(call.call_id, basis) from None

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def _new_call(call_id: str, user_id: str, provider_id: str, scheduled_for: datetime, *, is_named: bool = True) -> Call:
    """A call that is to be; one whose id the caller knows can be asked for again."""
    text = "\x00".join([user_id, provider_id, str((scheduled_for - EPOCH) // _MILLISECOND)])
    return Call(
        user_id=user_id,
        call_id=call_id,
        provider_id=provider_id,
        scheduled_for=scheduled_for,
        request_digest=sha256(text.encode()).hexdigest()[:32] if is_named else None,
    )


def _is_of_request(first: Call, call: Call) -> bool:
    """Whether a call that is there is what the same request made of it."""
    return first.request_digest == call.request_digest or _content(first) == _content(call)


def _content(call: Call) -> tuple[str, str, datetime]:
    return call.user_id, call.provider_id, call.scheduled_for


def _missing(call_id: str) -> ResourceNotFound:
    return ResourceNotFound(f"there is no call {call_id}")


def _outrun(call_id: str, basis: Basis) -> ServiceProblem:
    return basis.seen.outrun(f"somebody else changed call {call_id} at the same moment; read it again")
