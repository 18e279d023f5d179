"""The changes between two moments of the recovery window: the versions of one item, and the items that differ.

Both come in pages. A page continues after a change of the history, whose number is its ``next``; the two moments are
the same for all pages of one read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import thread_time
from typing import NamedTuple, TypeVar

from tablewright.dynamo import AttributeValue, Item
from tablewright.engine.backups.point_in_time import check_recovery, check_time, history
from tablewright.engine.database import Database, Row
from tablewright.engine.items.item_operations import checked_key
from tablewright.engine.past.changes_by_key import ChangesByKey, changes_by_key
from tablewright.engine.past.past_database import item_at
from tablewright.engine.slices import Sliced, slice_end
from tablewright.engine.storage.group_commit import Storage
from tablewright.engine.tables.table_schema import Table

__all__ = ["ChangedItem", "ChangedItems", "ItemVersion", "ItemVersions", "changed_items", "finish", "item_versions"]

_MOST = 1000
# As many bytes of items as a page of a query has, and at least one item.
_PAGE_BYTES = 1 << 20
_CHANGES_AT_ONCE = 100
_T = TypeVar("_T")


class ItemVersion(NamedTuple):
    """An item from a time on; None while it did not exist."""

    at: float
    item: Item | None


@dataclass(frozen=True, slots=True)
class ItemVersions:
    """A page of the versions of an item, oldest first; ``next`` is None on the last."""

    versions: list[ItemVersion]
    next: int | None


class ChangedItem(NamedTuple):
    """An item that differs between two moments; ``at`` is its first change after the earlier one."""

    key: Item
    at: float
    before: Item | None
    after: Item | None


@dataclass(frozen=True, slots=True)
class ChangedItems:
    """A page of changed items, in the order of their first changes; ``next`` is None on the last."""

    items: list[ChangedItem]
    next: int | None


def item_versions(
    db: Database,
    name: str,
    key: Mapping[str, AttributeValue],
    start: float,
    end: float,
    limit: int,
    after: int | None,
) -> Sliced[ItemVersions]:
    """The first version is that of the beginning, unless the page continues another."""
    interval = _Interval(db, name, start, end, limit)
    yield from interval.look()
    table, changes = interval.table, interval.changes
    item_key = checked_key(key)
    table.check_key(item_key)
    row_key = table.row_key(item_key)
    page: list[ItemVersion] = []
    size = 0
    position = interval.first
    if after is None:
        row = item_at(db, changes, table, row_key, position)
        page.append(ItemVersion(start, _item(row)))
        size = _size(row)
    else:
        position = max(after, position)
    while (change := changes.first_change(table, row_key, position)) is not None and change <= interval.last:
        if len(page) >= limit or (page and size > _PAGE_BYTES):
            return ItemVersions(page, position)
        (replaced,) = history(db, table, change, change)
        row = item_at(db, changes, table, row_key, change)
        page.append(ItemVersion(replaced.at, _item(row)))
        size += _size(row)
        position = change
    return ItemVersions(page, None)


def changed_items(
    db: Database, name: str, start: float, end: float, limit: int, after: int | None
) -> Sliced[ChangedItems]:
    interval = _Interval(db, name, start, end, limit)
    yield from interval.look()
    page: list[ChangedItem] = []
    size = 0
    position = interval.first if after is None else max(after, interval.first)
    until = slice_end()
    while position < interval.last:
        table, changes = interval.table, interval.changes
        last = min(position + _CHANGES_AT_ONCE, interval.last)
        for change in list(history(db, table, position + 1, last)):
            if changes.first_change(table, change.key, interval.first) == change.sequence:
                now = item_at(db, changes, table, change.key, interval.last)
                if _data(now) != _data(change.row):
                    if len(page) >= limit or (page and size > _PAGE_BYTES):
                        return ChangedItems(page, change.sequence - 1)
                    before, now_item = _item(change.row), _item(now)
                    page.append(ChangedItem(table.key_of(before or now_item or {}), change.at, before, now_item))
                    size += _size(change.row) + _size(now)
        position = last
        if thread_time() > until:
            yield
            yield from interval.look()
            until = slice_end()
    return ChangedItems(page, None)


class _Interval:
    """Two moments of a table: the changes after ``first``, up to and including ``last``."""

    def __init__(self, db: Database, name: str, start: float, end: float, limit: int) -> None:
        if not 1 <= limit <= _MOST:
            raise ValueError(f"limit must be between 1 and {_MOST}, not {limit}")
        if start > end:
            raise ValueError("the first time must be before the second")
        self._db = db
        self._start = start
        self._end = end
        self.table: Table = db.table(name)
        self.changes: ChangesByKey = changes_by_key(db)
        self.first = 0
        self.last = 0

    def look(self) -> Sliced[None]:
        """Process all changes since, in slices; again in each slice, as the table may have changed."""
        db = self._db
        until = slice_end()
        while True:
            self._check()
            self.changes = changes_by_key(db)
            known = self.changes.known_of(self.table)
            self.first = yield from self.changes.last_until(db, self.table, self._start)
            self.last = yield from self.changes.last_until(db, self.table, self._end)
            while self.changes is db.changes_by_key and known is self.changes.known_of(self.table):
                if self.changes.look_at_some(db, self.table, None, self.first):
                    return
                if thread_time() > until:
                    yield
                    self._check()
                    until = slice_end()

    def _check(self) -> None:
        self.table = self._db.table_again(self.table)
        check_recovery(self.table)
        for time in (self._start, self._end):
            check_time(self._db, self.table, time)


def finish(storage: Storage, work: Sliced[_T]) -> _T:
    """The result of work in slices, each in its own turn, once everything that it has seen is durable."""
    while True:
        done: list[_T] = []
        with storage.turn() as turn:
            try:
                next(work)
            except StopIteration as result:
                done.append(result.value)
        if done:
            if turn.commit is not None:
                storage.wait_durable(turn.commit)
            return done[0]


def _item(row: Row | None) -> Item | None:
    return None if row is None else row.item


def _data(row: Row | None) -> bytes | None:
    return None if row is None else row.data


def _size(row: Row | None) -> int:
    return 0 if row is None else row.size
