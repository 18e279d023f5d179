"""Notices: tell a person that someone else wrote about something of theirs; stored, so that all processes find them.

    comment ──┐
    notify("tasks", task_id, people, by=…, at=…) ──┴──▶ one transaction: the comment, and a notice for each

A notice is written in the transaction of what it is about; people are not notified of their own actions. It only refers
to the thing: its title is read when the notice is shown, with the rights of the reader.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated
from uuid import uuid4

from tablewright.model import Entity, EpochSeconds, ItemWrite, Keys, Personal, Query, Retain
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore, Create

__all__ = ["KEPT_FOR_DAYS", "MOST_PEOPLE", "NOTIFIED", "Notice", "StoredNotices", "notify"]

KEPT_FOR_DAYS = 90
# How many people are notified at once: their notices have to fit into one transaction with what they are about.
MOST_PEOPLE = 50
# How many of the latest notices are looked at, and how many things they may be about.
_LATEST = 100
_MOST_THINGS = 20


class Notice(Entity, table=internal_table):
    """Another person wrote about a thing of this person's."""

    user_id: Annotated[str, Personal("subject")]
    system: str
    at: datetime
    notice_id: str
    thing_id: str
    by: Annotated[str, Personal("reference")]
    ttl: Annotated[EpochSeconds | None, Retain(days=KEPT_FOR_DAYS)] = None

    keys = Keys(PK="NOTICES#{user_id}", SK="NOTICE#{system}#{at}#{notice_id}")

    @Query(newest_first=True, expected=10)
    def of_user(self, user_id: str, system: str) -> None:
        """The notices of a person in a system, newest first."""


NOTIFIED = ItemWrite(Notice, "create")
"""The notice of what a person wrote, as part of the declared write that stores it."""


def notify(system: str, thing_id: str, people: Iterable[str | None], *, by: str, at: datetime) -> list[Create]:
    """The notices for the people concerned, except the author."""
    concerned = [each for each in dict.fromkeys(people) if each is not None and each != by]
    return [
        Create(Notice(user_id=each, system=system, at=at, notice_id=uuid4().hex, thing_id=thing_id, by=by))
        for each in concerned[:MOST_PEOPLE]
    ]


class StoredNotices:
    """The notices of people."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def of(self, user_id: str, system: str) -> list[Notice]:
        """The latest notice about each of the latest things, newest first."""
        page = await self._store.query(Notice.of_user(user_id, system), limit=_LATEST, consistent=True)
        latest: dict[str, Notice] = {}
        for notice in page.items:
            latest.setdefault(notice.thing_id, notice)
        return [*latest.values()][:_MOST_THINGS]
