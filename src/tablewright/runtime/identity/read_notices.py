"""Which notices a person has read, shared by all processes.

A notice is something in an application that needs a person's attention; it is new until it is read. Only notices that
were read and are still pending are stored: once one is no longer pending, it is forgotten, and is new if it comes back.
So the item stays as small as the number of pending notices.
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
    """The pending notices that a person has read."""

    user_id: Annotated[str, Personal("subject")]
    read: list[str]
    ttl: Annotated[EpochSeconds | None, Retain(days=KEPT_FOR_DAYS)] = None
    version: Version = 0

    keys = Keys(PK="NOTICES#{user_id}", SK="READ")

    @Get(consistent=True)
    def of_user(self, user_id: str) -> None:
        """The notices that a person has read."""


class ReadNotices:
    """The notices that people have read."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def of(self, user_id: str) -> frozenset[str]:
        found = await self._store.get(NoticesOfPerson.of_user(user_id))
        return frozenset() if found is None else frozenset(found.read)

    async def add(self, user_id: str, notices: Collection[str]) -> frozenset[str]:
        """Record that a person has read some; returns all that they have read."""
        return await self._change(user_id, lambda read: [*(each for each in read if each not in notices), *notices])

    async def keep(self, user_id: str, waiting: Collection[str]) -> frozenset[str]:
        """Forget those that are no longer pending; returns the rest."""
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
