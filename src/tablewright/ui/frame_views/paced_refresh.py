"""Paced reads of many open pages after a change, so that one change does not make all of them read at once.

    change ──▶ PacedRefresh of each page: one look at an application at a time ──▶ Turns of the process ──▶ look

A process looks at most once in ``APART`` seconds, and a page at an application once in ``PAUSE``, however many pages
are open and however much changes. A look sees all changes that came before it started; later ones cause another look.
So nothing is missed, and the work is bounded by time, not by pages times changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

__all__ = ["PacedRefresh", "Turns"]

# Fifty looks a second: a hundred pages have all looked after two.
APART = 0.02
PAUSE = 2.0


class Turns:
    """Schedules the looks of a process."""

    def __init__(self, apart: float = APART) -> None:
        self._apart = apart
        self._next = 0.0

    async def take(self) -> None:
        """Wait for a turn; returns at once if there was none just before."""
        now = asyncio.get_running_loop().time()
        at = max(now, self._next)
        self._next = at + self._apart
        await asyncio.sleep(at - now)


class PacedRefresh:
    """The looks of one page, by what is looked at."""

    def __init__(self, turns: Turns, pause: float = PAUSE) -> None:
        self._turns = turns
        self._pause = pause
        self._waiting: set[str] = set()
        self._looked: dict[str, float] = {}

    async def ask(self, name: str, look: Callable[[], Awaitable[None]]) -> None:
        """Look at something that has changed, unless a look that has not started yet will see it."""
        if name in self._waiting:
            return
        loop = asyncio.get_running_loop()
        self._waiting.add(name)
        try:
            await asyncio.sleep(max(0.0, self._looked.get(name, 0.0) + self._pause - loop.time()))
            await self._turns.take()
        finally:
            self._waiting.discard(name)
        self._looked[name] = loop.time()
        await look()
