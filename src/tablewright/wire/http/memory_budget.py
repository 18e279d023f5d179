"""The memory limit of all connections together.

A server has two budgets: for data that clients have sent and that is not processed yet (unfinished bodies, queued
requests), and for data that they have not read yet (responses). Each connection has an account with both:

    account.set(held) ──▶ budget.used, the sum over all accounts of what is beyond the allowance

The first bytes of each connection are free, so small requests, which are the majority, succeed while large ones have
used up the budget. Memory is reported as free at once; a connection that ends sets its accounts to 0.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable
from functools import cache


class MemoryBudget:
    """``limit`` bytes for all connections, beyond the ``allowance`` that each of them has; ``most`` were ``used``."""

    __slots__ = ("allowance", "limit", "most", "used")

    def __init__(self, limit: int, allowance: int) -> None:
        self.limit = limit
        self.allowance = allowance
        self.used = self.most = 0

    @property
    def exceeded(self) -> bool:
        return self.used > self.limit


class Account:
    """The memory held by one connection."""

    __slots__ = ("_budget", "charged")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.charged = 0

    def set(self, held: int) -> bool:
        """Set the connection's memory; returns whether that is allowed."""
        budget = self._budget
        charged = max(0, held - budget.allowance)
        budget.used += charged - self.charged
        self.charged = charged
        budget.most = max(budget.most, budget.used)
        return charged == 0 or budget.used <= budget.limit


def release_free_memory() -> None:
    """Returns free memory to the system, if the C library keeps it by default (glibc).

    A garbage collection first: it empties Python's lists of free objects, which are scattered over that memory.
    """
    gc.collect()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], object] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


def resident_bytes() -> int:
    """The resident size of this process; 0 if the system does not report it in this way."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
