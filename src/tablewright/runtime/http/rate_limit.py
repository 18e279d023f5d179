"""The rate limit: a token bucket for each caller, refilled at a steady rate."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from tablewright.runtime.errors import TooManyRequests

# Callers that are remembered; the least recent one is forgotten first, with a full bucket.
_MAX_CALLERS = 10_000


class RateLimit:
    """A token bucket for each caller: ``rate`` requests a second on average, ``burst`` at once."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count one request; TooManyRequests if the caller has no tokens left."""
        now = self._clock()
        tokens, at = self._buckets.pop(caller, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        allowed = tokens >= 1
        self._buckets[caller] = tokens - 1 if allowed else tokens, now
        if len(self._buckets) > _MAX_CALLERS:
            self._buckets.popitem(last=False)
        if not allowed:
            wait = (1 - tokens) / self._rate
            raise TooManyRequests(f"too many requests; try again in {math.ceil(wait)} s", wait)
