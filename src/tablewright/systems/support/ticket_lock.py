"""Turns: of those in this process who write to one ticket, one at a time does.

Every event of a ticket counts the same counter up, so of many who write at once one gets through, and all the others
begin again. In turn, each gets through at its first try. Other processes are met as before: by trying again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from tablewright.runtime.errors import Clash

_WITHIN = 20.0


class Turns:
    """Those who wait, by ticket; nothing is kept of tickets that nobody waits for."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, ticket_id: str) -> AsyncIterator[None]:
        """Wait for one's turn; Clash if it does not come."""
        lock = self._locks.setdefault(ticket_id, asyncio.Lock())
        try:
            async with asyncio.timeout(_WITHIN):
                await lock.acquire()
        except TimeoutError:
            raise Clash(f"too many are writing to ticket {ticket_id}; try again") from None
        try:
            yield
        finally:
            lock.release()
