"""Limits on the requests to a service that fails or throttles, shared by all requests of a store.

A **budget** limits retries: each costs some of it, and each success refills it a little. While most requests fail, it
is empty, and nothing is retried any more; a few failures among many successes never empty it.

A **send rate** follows what a table accepts. It exists from the first throttled request until a minute has passed
without one: each throttling reduces it by three tenths of the rate sent, and it grows back as a cubic, slowly near the
rate that was too much and faster beyond. The AWS SDKs call this the adaptive mode; here it applies to each table
separately, so that one that throttles does not slow down the others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

_CAPACITY = 500
_RETRY_COST = 5

_DECREASE = 0.7
_CUBIC_SCALE = 0.4
_MIN_RATE = 0.5
# Of the newest half second, and of all before.
_SMOOTHING = 0.8
_FORGET_SECONDS = 60.0
_MAX_WAIT = 5.0


class RetryBudget:
    """The tokens that retries cost."""

    __slots__ = ("tokens",)

    def __init__(self) -> None:
        self.tokens = _CAPACITY

    def take(self) -> bool:
        """Whether another retry is allowed."""
        if self.tokens < _RETRY_COST:
            return False
        self.tokens -= _RETRY_COST
        return True

    def succeeded(self, retried: bool) -> None:
        if self.tokens < _CAPACITY:
            self.tokens = min(_CAPACITY, self.tokens + (_RETRY_COST if retried else 1))


class SendRate:
    """The number of requests per second that are sent to a table."""

    def __init__(self, now: float) -> None:
        self._rate = math.inf
        self._tokens, self._filled_at = 0.0, now
        # The measured rate.
        self._measured, self._count, self._half = 0.0, 0, math.floor(now * 2) / 2
        self._last_max = self._window = 0.0
        self.throttled_at = now

    def wait(self, now: float) -> float:
        """Seconds to wait before the next request is sent."""
        self._measure(now)
        if self._rate == math.inf:
            return 0.0
        # At most one second's worth is saved.
        self._tokens = min(self._tokens + (now - self._filled_at) * self._rate, max(self._rate, 1.0)) - 1.0
        self._filled_at = now
        return min(max(0.0, -self._tokens / self._rate), _MAX_WAIT)

    def _measure(self, now: float) -> None:
        self._count += 1
        half = math.floor(now * 2) / 2
        if half > self._half:
            current = self._count / (half - self._half)
            self._measured = current * _SMOOTHING + self._measured * (1 - _SMOOTHING) if self._measured else current
            self._count, self._half = 0, half

    def throttled(self, now: float) -> None:
        self.throttled_at = now
        if not self._measured:
            return
        self._last_max = min(self._measured, self._rate)
        self._window = math.cbrt(self._last_max * (1 - _DECREASE) / _CUBIC_SCALE)
        self._set(self._last_max * _DECREASE)

    def succeeded(self, now: float) -> None:
        if self._rate != math.inf:
            self._set(_CUBIC_SCALE * (now - self.throttled_at - self._window) ** 3 + self._last_max)

    def _set(self, rate: float) -> None:
        self._rate = max(min(rate, 2 * self._measured), _MIN_RATE)


class Pacing:
    """The budget and the send rates of one store, shared by its threads and tasks."""

    def __init__(self) -> None:
        self.budget = RetryBudget()
        self.blob_budget = RetryBudget()
        # By table; empty unless one is throttled.
        self.rates: dict[str, SendRate] = {}

    def wait(self, tables: Iterable[str]) -> float:
        """Seconds to wait before a request on these tables is sent."""
        now = time.monotonic()
        longest = 0.0
        for table in tables:
            rate = self.rates.get(table)
            if rate is None:
                continue
            if now - rate.throttled_at > _FORGET_SECONDS:
                self.rates.pop(table, None)
            else:
                longest = max(longest, rate.wait(now))
        return longest

    def throttled(self, tables: Iterable[str]) -> None:
        now = time.monotonic()
        for table in tables:
            self.rates.setdefault(table, SendRate(now)).throttled(now)

    def succeeded(self, tables: Iterable[str]) -> None:
        now = time.monotonic()
        for table in tables:
            rate = self.rates.get(table)
            if rate is not None:
                rate.succeeded(now)
