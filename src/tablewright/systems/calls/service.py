"""The use cases of calls.

A change is based on a version of the call, which whoever wants it has read. If the call has another one by now, nothing
is written, and they are told (Clash). ``owner`` bounds a use case to the calls of one user: others are not there.

A completed call is history. It cannot be rescheduled, reassigned or given to another provider, unless it is set back to
scheduled first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4, uuid5

from tablewright.runtime.errors import Clash, Forbidden, Missing
from tablewright.store import (
    AlreadyExists,
    AsyncStore,
    Conflict,
    InvalidCursor,
    KeyMismatch,
    NotFound,
    NotUnique,
    Page,
)
from tablewright.systems.calls.model import Call, Status

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
# Calls that are created under an idempotency key have an id that follows from it.
_NAMESPACE = UUID("0b0e7f2a-64c0-5a0c-8f0f-5b3f4d9a7c21")
# How often a create goes round between a call that is there and one that is being cancelled.
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Bounds:
    """A range of times, both ends included; None is no bound."""

    since: datetime | None = None
    until: datetime | None = None


ANY_TIME = Bounds()


class Calls:
    """Calls of users with providers."""

    def __init__(self, store: AsyncStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock

    # -- reading ------------------------------------------------------------------------------------------------

    async def get(self, call_id: str, *, owner: str | None = None, consistent: bool = False) -> Call:
        call = await self._store.get(Call.by_id(call_id=call_id), consistent=consistent)
        if call is None or owner not in (None, call.user_id):
            raise _missing(call_id)
        return call

    async def of_user(
        self, user_id: str, bounds: Bounds = ANY_TIME, *, limit: int = 20, cursor: str | None = None
    ) -> Page[Call]:
        """The calls of a user in order of time."""
        selection = Call.of_user(user_id=user_id, since=bounds.since, until=bounds.until)
        return await self._store.query(selection, limit=limit, cursor=cursor)

    async def of_provider(
        self, provider_id: str, bounds: Bounds = ANY_TIME, *, limit: int = 20, cursor: str | None = None
    ) -> Page[Call]:
        """The calls of a provider, newest first."""
        selection = Call.of_provider(provider_id=provider_id, since=bounds.since, until=bounds.until)
        return await self._store.query(selection, limit=limit, cursor=cursor)

    async def upcoming(
        self, user_id: str, bounds: Bounds = ANY_TIME, *, limit: int = 20, cursor: str | None = None
    ) -> Page[Call]:
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
        page = await self._store.query(selection, limit=limit, cursor=cursor)
        return page if page.cursor is None else Page(page.items, f"{(since - EPOCH) // _MILLISECOND}.{page.cursor}")

    async def completed(
        self, user_id: str, bounds: Bounds = ANY_TIME, *, limit: int = 20, cursor: str | None = None
    ) -> Page[Call]:
        """Completed calls, the last one first."""
        selection = Call.completed(user_id=user_id, since=bounds.since, until=bounds.until)
        return await self._store.query(selection, limit=limit, cursor=cursor)

    async def next_scheduled(self, user_id: str) -> Call:
        """The next call from now on."""
        page = await self._store.query(Call.next_scheduled(user_id=user_id, since=self._now()), limit=1)
        if not page.items:
            raise Missing(f"no call is scheduled for user {user_id}")
        return page.items[0]

    async def last_completed(self, user_id: str) -> Call:
        """The call that was completed last, by the time that it was scheduled for."""
        page = await self._store.query(Call.last_completed(user_id=user_id), limit=1)
        if not page.items:
            raise Missing(f"user {user_id} has completed no call")
        return page.items[0]

    # -- writing ------------------------------------------------------------------------------------------------

    async def create(
        self,
        user_id: str,
        provider_id: str,
        scheduled_for: datetime,
        *,
        call_id: str | None = None,
        agent: str = "",
        idempotency_key: str | None = None,
        owner: str | None = None,
    ) -> Call:
        """Schedule a call. The same request again is answered with the call, as it is by then.

        Without an id it gets one: under an idempotency key of an agent always the same.
        """
        keyed = call_id is None and idempotency_key is not None
        digest = _digest(user_id, provider_id, scheduled_for) if keyed or call_id is not None else None
        if call_id is None:
            call_id = str(uuid5(_NAMESPACE, f"{agent}\x00{idempotency_key}") if keyed else uuid4())
        for _ in range(_ATTEMPTS):
            call = Call(
                user_id=user_id,
                call_id=call_id,
                provider_id=provider_id,
                scheduled_for=scheduled_for,
                request_digest=digest,
            )
            try:
                return await self._store.create(call)
            except (AlreadyExists, NotUnique):
                first = await self._store.get(Call.by_id(call_id=call_id), consistent=True)
            if first is None:
                # Cancelled in between: the id is free again.
                continue
            is_same = first.request_digest == digest or _content(first) == _content(call)
            if is_same and owner in (None, first.user_id):
                return first
            if keyed:
                raise KeyMismatch(f"the idempotency key {idempotency_key} was used before, for another call")
            raise Clash(f"there is a call {call_id} already, with other content", kind="already-exists")
        raise Clash(f"call {call_id} is being created and cancelled at the same time; send it again")

    async def change_status(self, call_id: str, status: Status, *, version: int) -> Call:
        """Complete a scheduled call, or set a completed one back to scheduled."""
        call = await self._based_on(call_id, version)
        if call.status is status:
            raise Clash(f"call {call_id} is {status} already")
        return await self._change(call, status=status)

    async def change_provider(self, call_id: str, provider_id: str, *, version: int, owner: str | None = None) -> Call:
        """Give a scheduled call to another provider; it stays where it is."""
        call = await self._scheduled(call_id, version, owner)
        return await self._change(call, provider_id=provider_id)

    async def reschedule(
        self, call_id: str, scheduled_for: datetime, *, version: int, owner: str | None = None
    ) -> Call:
        """Move a scheduled call to another time."""
        call = await self._scheduled(call_id, version, owner)
        return await self._change(call, scheduled_for=scheduled_for)

    async def reassign(self, call_id: str, user_id: str, *, version: int) -> Call:
        """Move a scheduled call to another user."""
        call = await self._scheduled(call_id, version)
        return await self._change(call, user_id=user_id)

    async def cancel(
        self, call_id: str, *, version: int, owner: str | None = None, completed_too: bool = False
    ) -> None:
        """Delete a scheduled call; a completed one only for those who may."""
        call = await self._based_on(call_id, version, owner)
        if call.status is Status.COMPLETED and not completed_too:
            raise Forbidden(f"call {call_id} is COMPLETED; only Admins delete what has taken place")
        try:
            gone = await self._store.delete(call)
        except Conflict:
            gone = False
        if not gone:
            raise _outrun(call_id)

    async def _scheduled(self, call_id: str, version: int, owner: str | None = None) -> Call:
        call = await self._based_on(call_id, version, owner)
        if call.status is not Status.SCHEDULED:
            raise Clash(f"call {call_id} is {call.status}; only a scheduled call can be changed")
        return call

    async def _based_on(self, call_id: str, version: int, owner: str | None = None) -> Call:
        """The call, if it has the version that a change is based on."""
        call = await self.get(call_id, owner=owner, consistent=True)
        if call.version != version:
            raise Clash(
                f"call {call_id} has version {call.version}, and the change is based on {version}; read it again",
                version=call.version,
            )
        return call

    async def _change(self, call: Call, **fields: Any) -> Call:
        try:
            return await self._store.update(call, **fields)
        except (Conflict, NotFound):
            raise _outrun(call.call_id) from None

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def _content(call: Call) -> tuple[str, str, datetime]:
    return call.user_id, call.provider_id, call.scheduled_for


def _digest(user_id: str, provider_id: str, scheduled_for: datetime) -> str:
    text = "\x00".join([user_id, provider_id, str((scheduled_for - EPOCH) // _MILLISECOND)])
    return sha256(text.encode()).hexdigest()[:32]


def _missing(call_id: str) -> Missing:
    return Missing(f"call {call_id} is not there")


def _outrun(call_id: str) -> Clash:
    return Clash(f"somebody else changed call {call_id} at the same moment; read it again")
