"""A rate of capacity units per second: a token bucket.

A request takes the units it will probably consume before it is sent, and settles when the response reports the actual
number. Concurrent requests queue.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable


class UnitRate:
    """A rate in units per second; up to one second's units can be saved."""

    def __init__(
        self,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._per_second = per_second
        self._clock, self._sleep = clock, sleep
        self._balance, self._at = per_second, clock()

    async def take(self, units: float) -> None:
        """Wait until so many units may be consumed."""
        now = self._clock()
        self._balance = min(self._balance + (now - self._at) * self._per_second, self._per_second) - units
        self._at = now
        if self._balance < 0:
            await self._sleep(-self._balance / self._per_second)

    def settle(self, taken: float, used: float) -> None:
        """Settle: what was consumed, and what was taken for it."""
        self._balance += taken - used
