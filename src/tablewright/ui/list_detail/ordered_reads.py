"""``OrderedReads``: of several reads of the same thing, what is shown is of the one that began last.

A view reads a thing when it is opened, when the stream tells of a change, and after a change of its own. Two such reads
at once may end in the other order, and the older state would stay until something changes again. So a read begins when
the one before it has ended, and whoever asks meanwhile is served by one read that begins after that:

    ask ──▶ read ─────────▶ drawn
       ask ──▶ (waits) ────▶ read ──▶ drawn
         ask ──▶ (waits) ──▶ the same
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

__all__ = ["OrderedReads"]

T = TypeVar("T")


class OrderedReads(Generic[T]):
    """Reads of one thing, one after the other."""

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._read = read
        self._lock = asyncio.Lock()
        self._asked = 0
        # The last who asked before the latest read began, and what that found.
        self._served = 0
        self._found: list[T] = []

    async def __call__(self) -> T:
        """What a read finds that begins after this was called; the error of that read, for whoever made it."""
        self._asked += 1
        number = self._asked
        async with self._lock:
            if self._served < number:
                asked = self._asked
                self._found = [await self._read()]
                self._served = asked
            return self._found[0]
