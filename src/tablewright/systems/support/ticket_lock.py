"""Locks of tickets: of the writers of one ticket in this process, one at a time writes.

Every event of a ticket raises the same counter, so of many concurrent writers one gets through, and all the others
start again. One after the other, each gets through at the first attempt. Writers of other processes conflict as before,
and try again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from tablewright.runtime import StateConflict

_TIMEOUT = 20.0


class TicketLocks:
    """A lock for each ticket that somebody waits for; nothing is kept of the others."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, ticket_id: str) -> AsyncIterator[None]:
        """Hold the lock of a ticket; StateConflict if it cannot be had in time."""
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
