"""Which notices somebody has read, where all processes find it.

A notice is something that waits for somebody, in an application; it is new until it is read. What is kept is the
notices that were read and are waiting still: once something waits no longer, it is forgotten, and is new if it waits
again. So the item stays as small as what waits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated

from tablewright.model import Entity, EpochSeconds, Get, Keys, Personal, Retain, Version
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore, ConditionFailed, Conflict

__all__ = ["ReadNotices"]

_ATTEMPTS = 5
_MOST = 1_000
KEPT_FOR_DAYS = 90


class NoticesOfPerson(Entity, table=internal_table):
    """The notices that somebody has read, of those that wait."""

    user_id: Annotated[str, Personal("subject")]
    read: list[str]
    ttl: Annotated[EpochSeconds | None, Retain(days=KEPT_FOR_DAYS)] = None
    version: Version = 0

    keys = Keys(PK="NOTICES#{user_id}", SK="READ")

    @Get(consistent=True)
    def of_user(self, user_id: str) -> None:
        """The notices that somebody has read."""


class ReadNotices:
    """The notices that people have read."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def of(self, user_id: str) -> frozenset[str]:
        found = await self._store.get(NoticesOfPerson.of_user(user_id))
        return frozenset() if found is None else frozenset(found.read)

    async def add(self, user_id: str, notices: Collection[str]) -> frozenset[str]:
        """Note that somebody has read some; all that they have read."""
        return await self._change(user_id, lambda read: [*(each for each in read if each not in notices), *notices])

    async def keep(self, user_id: str, waiting: Collection[str]) -> frozenset[str]:
        """Forget those that wait no longer; what is left."""
        return await self._change(user_id, lambda read: [each for each in read if each in waiting])

    async def _change(self, user_id: str, change: Callable[[list[str]], list[str]]) -> frozenset[str]:
        attempts = 0
        while True:
            found = await self._store.get(NoticesOfPerson.of_user(user_id))
            before = [] if found is None else found.read
            after = change(before)[-_MOST:]
            if after == before:
                return frozenset(before)
            made = NoticesOfPerson(user_id=user_id, read=after, version=0 if found is None else found.version)
            try:
                await self._store.put(made)
                return frozenset(after)
            except (ConditionFailed, Conflict):
                attempts += 1
                if attempts == _ATTEMPTS:
                    raise
