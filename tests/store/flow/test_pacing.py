"""The send rate of a table that throttles: down at once, back slowly, and gone when it is no longer needed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tablewright.store.flow import pacing
from tablewright.store.flow.pacing import Pacing, RetryBudget, SendRate


class Table:
    """A table that lets so many requests a second through, and a client that waits as it is told."""

    def __init__(self, capacity: float) -> None:
        self.capacity = capacity
        self.now = 1000.0
        self.rate = SendRate(self.now)

    def run(self, seconds: float) -> tuple[int, int]:
        """Requests that came through, and that were throttled."""
        end, tokens, filled = self.now + seconds, 0.0, self.now
        passed = throttled = 0
        while self.now < end:
            # A client that could send a thousand a second.
            self.now += max(self.rate.wait(self.now), 0.001)
            tokens = min(tokens + (self.now - filled) * self.capacity, self.capacity)
            filled = self.now
            if tokens >= 1.0:
                tokens -= 1.0
                passed += 1
                self.rate.succeeded(self.now)
            else:
                throttled += 1
                self.rate.throttled(self.now)
        return passed, throttled


@pytest.mark.parametrize("capacity", [5.0, 50.0, 300.0])
def test_a_client_finds_what_a_table_lets_through(capacity: float) -> None:
    table = Table(capacity)
    table.run(20.0)
    passed, throttled = table.run(60.0)
    assert passed > 0.6 * 60.0 * capacity
    assert throttled < 0.3 * passed


def test_a_rate_grows_back_when_there_is_more() -> None:
    table = Table(20.0)
    table.run(20.0)
    table.capacity = 400.0
    table.run(20.0)
    passed, _ = table.run(20.0)
    assert passed > 20.0 * 100


def test_a_rate_is_forgotten_a_minute_after_the_last_throttling(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(pacing, "time", SimpleNamespace(monotonic=lambda: now[0]))
    shared = Pacing()
    shared.throttled(["a", "b"])
    now[0] += 59.0
    shared.wait(["a", "b"])
    assert set(shared.rates) == {"a", "b"}
    shared.throttled(["b"])
    now[0] += 2.0
    shared.wait(["a", "b"])
    assert set(shared.rates) == {"b"}


def test_a_budget_is_never_more_than_full() -> None:
    budget = RetryBudget()
    full = budget.tokens
    assert budget.take()
    for _ in range(10):
        budget.succeeded(retried=True)
    assert budget.tokens == full
