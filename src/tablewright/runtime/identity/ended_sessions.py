"""Sessions of the applications that were signed out, shared by all processes until they would have ended.

    one process: sign-out ──▶ EndedSession(id) in the internal table, which expires with the session
    any other: a request with the cookie ──▶ EndedSessions.has(id) ──▶ refused, within ``REMEMBERED`` seconds

A restarted process refuses them too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

from tablewright.model import AttributeName, Entity, ExpiresAt, Get, Keys
from tablewright.runtime.identity.absence_cache import AbsenceCache
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore

__all__ = ["EndedSessions"]


class EndedSession(Entity, table=internal_table):
    """A session that was signed out before its time."""

    session_id: str
    forgotten_at: Annotated[ExpiresAt, AttributeName("ttl")] = None

    keys = Keys(PK="SESSION#{session_id}", SK="ENDED")

    @Get(consistent=True)
    def by_id(self, session_id: str) -> None:
        """A session that was signed out."""


class EndedSessions:
    """The sessions that were signed out, as this process knows them."""

    def __init__(self, store: AsyncStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._known = AbsenceCache(lambda session_id: store.get(EndedSession.by_id(session_id)), clock)

    async def has(self, session_id: str) -> bool:
        return await self._known.is_listed(session_id)

    async def add(self, session_id: str, expires: float) -> None:
        """Record that a session was signed out, until it would have ended."""
        # A second more, as times to live are whole seconds.
        until = datetime.fromtimestamp(int(expires) + 1, UTC)
        await self._store.put(EndedSession(session_id=session_id, forgotten_at=until))
        self._known.forget(session_id)
