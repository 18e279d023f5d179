"""The deny list: people who were deactivated, refused by every system at once, whatever their tokens say.

    Tasks deactivates ada ──▶ one transaction: her profile, and DeactivatedUser(ada) in the internal table
    any call of any system ──▶ DenyList.check(ada) ──▶ known for five seconds, else one consistent read

The list is where all processes find it. The process that changes it forgets what it knew, so it refuses from the next
request on; other processes on the same endpoint do so within ``REMEMBERED`` seconds. That costs one read of an item for
each caller in that time.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from tablewright.model import CreatedAt, Entity, Get, Keys
from tablewright.runtime.errors import Forbidden
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore

__all__ = ["CHECK_CALLER", "DeactivatedUser", "DenyList"]

REMEMBERED = 5.0
"""Seconds for which a process remembers that somebody is not on the list."""
_MAX_REMEMBERED = 10_000


class DeactivatedUser(Entity, table=internal_table):
    """Somebody whom no system admits, and who decided that."""

    user_id: str
    deactivated_by: str
    deactivated_at: CreatedAt = None

    keys = Keys(PK="DEACTIVATED#{user_id}", SK="DEACTIVATED")

    @Get(consistent=True)
    def by_id(self, user_id: str) -> None:
        """Somebody whom every system refuses."""


CHECK_CALLER = "DeactivatedUser.by_id"
"""What every call reads, for the role of a system's design that may use the internal table."""


class DenyList:
    """The people who are deactivated, as this process knows it."""

    def __init__(self, store: AsyncStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        # Those who were not on the list, and until when that is taken for true.
        self._admitted: OrderedDict[str, float] = OrderedDict()
        # How often the list was changed here: what was read before is not remembered after.
        self._changes = 0

    async def check(self, user_id: str) -> None:
        """Forbidden for somebody on the list."""
        if self._admitted.get(user_id, 0.0) > self._clock():
            return
        changes = self._changes
        # The bound is counted from before the read.
        until = self._clock() + REMEMBERED
        if await self._store.get(DeactivatedUser.by_id(user_id)) is not None:
            self._admitted.pop(user_id, None)
            raise Forbidden("your account is deactivated; ask an admin")
        if changes == self._changes:
            self._admitted[user_id] = until
            self._admitted.move_to_end(user_id)
            if len(self._admitted) > _MAX_REMEMBERED:
                self._admitted.popitem(last=False)

    def forget(self, user_id: str) -> None:
        """For whoever changes the list, as soon as that is done: nothing older counts from now on."""
        self._changes += 1
        self._admitted.pop(user_id, None)
