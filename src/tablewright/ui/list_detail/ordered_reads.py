"""``OrderedReads``: of several reads of the same thing, the one that started last is shown.

A view reads a thing when it is opened, when the stream reports a change, and after a change of its own. Two concurrent
reads may finish in the opposite order, and the older state would stay until something changes again. So a read starts
when the previous one has ended, and all requests made meanwhile share one read that starts after that:

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
        """The result of a read that starts after this call; a caller that started the read gets its error."""
        self._asked += 1
        number = self._asked
        async with self._lock:
            if self._served < number:
                asked = self._asked
                self._found = [await self._read()]
                self._served = asked
            return self._found[0]
