"""A list that all processes share and every request consults.

    is_listed(ada) ──▶ known not to be for five seconds, else one consistent read

The process that changes a list clears its cache, and sees the change at once; others on the same endpoint do within
``REMEMBERED`` seconds. That costs one read of an item for each name in that time. Names on the list are read each time.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable

REMEMBERED = 5.0
"""Seconds for which a process remembers that a name is not on a list."""
_MAX_REMEMBERED = 10_000


class AbsenceCache:
    """The names that are not on a list, as this process knows them."""

    def __init__(
        self, read: Callable[[str], Awaitable[object | None]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``read`` returns the entry of a name, by a consistent read; None if there is none."""
        self._read = read
        self._clock = clock
        # Those that were not on the list, and until when that is taken for true.
        self._absent: OrderedDict[str, float] = OrderedDict()
        # How often the list was changed here: what was read before is not remembered after.
        self._changes = 0

    async def is_listed(self, name: str) -> bool:
        if self._absent.get(name, 0.0) > self._clock():
            return False
        changes = self._changes
        # The bound is counted from before the read.
        until = self._clock() + REMEMBERED
        if await self._read(name) is not None:
            self._absent.pop(name, None)
            return True
        if changes == self._changes:
            self._absent[name] = until
            self._absent.move_to_end(name)
            if len(self._absent) > _MAX_REMEMBERED:
                self._absent.popitem(last=False)
        return False

    def forget(self, name: str) -> None:
        """To be called after the list has changed: what was read before is discarded."""
        self._changes += 1
        self._absent.pop(name, None)
