"""Items that expire: sessions and cached results."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

from tablewright.model import attr
from tablewright.runtime import UNSEEN, Invalid, ResourceNotFound, Seen
from tablewright.store import AsyncStore, AsyncTolerantReader, ConditionFailed, NotFound
from tablewright.systems.support.model import CacheEntry, Session

_MAX_SESSION = timedelta(days=30)
_MAX_CACHED = timedelta(days=1)


class ShortLivedItems:
    """Sessions and cache entries: the part of ``Support`` that does not concern tickets."""

    def __init__(self, store: AsyncStore, reader: AsyncTolerantReader, clock: Callable[[], float]) -> None:
        self._store = store
        self._reader = reader
        self._clock = clock

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    async def begin_session(self, user_id: str, lifetime: timedelta = timedelta(hours=24)) -> Session:
        if not timedelta(0) < lifetime <= _MAX_SESSION:
            raise Invalid(f"a session lasts at most {_MAX_SESSION.days} days", field="hours")
        now = self.now()
        expires = now + lifetime
        session = Session(
            session_id=f"sess_{uuid4()}", user_id=user_id, created_at=now, expires_at=expires, ttl=expires
        )
        return await self._store.create(session)

    async def session(self, session_id: str, *, consistent: bool = False) -> Session:
        """A session that has not expired."""
        found = await self._store.get(Session.by_id(session_id), consistent=consistent)
        if found is None:
            raise ResourceNotFound(f"there is no session {session_id}, or it has expired")
        return found

    async def end_session(self, session_id: str, seen: Seen = UNSEEN) -> None:
        # A session never changes, so its deletion needs no condition.
        await seen.expected(partial(self.session, session_id, consistent=True))
        if not await self._store.delete(Session.by_id(session_id)):
            raise ResourceNotFound(f"there is no session {session_id}, or it has expired")

    async def cache(
        self,
        key: str,
        value: dict[str, Any],
        lifetime: timedelta = timedelta(minutes=15),
        seen: Seen = UNSEEN,
    ) -> CacheEntry:
        if not timedelta(0) < lifetime <= _MAX_CACHED:
            raise Invalid("a cache entry lasts at most a day", field="minutes")
        entry = CacheEntry(cache_key=key, value=value, ttl=self.now() + lifetime)
        if seen.tags is None:
            return await self._store.put(entry)
        lookup = CacheEntry.by_key(key)
        unchanged = await seen.expected(partial(self.cached, key, consistent=True))
        try:
            return await self._store.update(
                lookup, attr(CacheEntry.value).set(entry.value), attr(CacheEntry.ttl).set(entry.ttl), expect=unchanged
            )
        except (ConditionFailed, NotFound):
            raise seen.outrun(f"the cache entry {key} was changed; read it again") from None

    async def cached(self, key: str, *, consistent: bool = False) -> CacheEntry:
        found = await self._reader.one(CacheEntry.by_key(key), consistent=consistent)
        # An unreadable entry is a miss, and is written again.
        if not isinstance(found, CacheEntry):
            raise ResourceNotFound(f"nothing is cached under {key}")
        return found

    async def forget(self, key: str, seen: Seen = UNSEEN) -> None:
        unchanged = await seen.expected(partial(self.cached, key, consistent=True))
        try:
            was_there = await self._store.delete(CacheEntry.by_key(key), expect=unchanged)
        except (ConditionFailed, NotFound):
            raise seen.outrun(f"the cache entry {key} was changed; read it again") from None
        if not was_there:
            raise ResourceNotFound(f"nothing is cached under {key}")
