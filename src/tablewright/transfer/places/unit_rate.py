"""So many units a second: what is taken is paid back by time.

A request takes what it will probably consume before it is sent, and settles when the response says what it did.
Requests that come at once wait one behind the other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable


class UnitRate:
    """A rate in units a second; a second's worth may be saved up."""

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
        """What was consumed in the end, of what was taken."""
        self._balance += taken - used
