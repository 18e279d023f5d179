"""Locks of tickets: the writers of one ticket in this process write one at a time.

Every event of a ticket increments the same counter, so of many concurrent writers one succeeds, and all the others
retry. One after the other, each succeeds at the first attempt. Writers in other processes still conflict, and retry.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from tablewright.runtime import StateConflict

_TIMEOUT = 20.0


class TicketLocks:
    """A lock for each ticket that is being written; those of others are not kept."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, ticket_id: str) -> AsyncIterator[None]:
        """Hold the lock of a ticket; StateConflict if it cannot be acquired in time."""
        lock = self._locks.setdefault(ticket_id, asyncio.Lock())
        try:
            async with asyncio.timeout(_TIMEOUT):
                await lock.acquire()
        except TimeoutError:
            raise StateConflict(f"too many requests are writing to ticket {ticket_id}; try again") from None
        try:
            yield
        finally:
            lock.release()
