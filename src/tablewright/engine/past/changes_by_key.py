"""The history of a table by key: which changes of a range of keys were made after a point of it.

The history (``backups.point_in_time``) is in the order of the changes. To read a few keys as they were, the first
change of each since then must be found. This is an SQL index of the history for that, and of the index entries of
replaced images. It is built on first use, in slices, from the changes since the requested moment, and is extended from
there both ways: a change is processed once in the life of an engine, for all readers.

    history    1 ─── unprocessed ─── first ───────── in the SQL index ─────── last ─── new, processed next ─── newest

It is in a temporary database: none of it has to be durable, and a write to a table with recovery costs no more than
before. An SQL index on the history itself made such a put 15 % to 20 % slower.

The change that a time stands for is searched from the newest back, by the least time of each block of changes, which is
cached.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from time import thread_time
from typing import NamedTuple

from tablewright.engine.backups.point_in_time import Replaced, history
from tablewright.engine.database import Database
from tablewright.engine.slices import Sliced, slice_end
from tablewright.engine.tables.table_schema import Index, Table

__all__ = ["Changed", "ChangesByKey", "changes_by_key"]

# The changes that are processed without checking the clock.
_AT_ONCE = 100
_BLOCK = 1024
# Some trimmed changes are kept: finding each of them by its number would take longer.
_KEPT_TRIMMED = 10_000
# Pages of 4 KB; the rest goes to a temporary file.
_CACHED_PAGES = 2000


class Changed(NamedTuple):
    """A key of the table or of an index, and the first change of it after a point; None if there is none."""

    key: bytes
    sequence: int | None


@dataclass(slots=True)
class _Covered:
    """An SQL table of keys and sequence numbers, and the changes that it covers: from ``first`` to ``last``."""

    name: str
    # 0 until it is begun.
    first: int = 0
    last: int = 0


@dataclass(slots=True)
class _OfHistory:
    """The processed part of one history."""

    # Of the table's own keys, under an empty name, and of those of indexes, under the names of their SQL tables.
    covered: dict[str, _Covered] = field(default_factory=dict)
    # The least time of each block of changes that is complete.
    least: dict[int, float] = field(default_factory=dict)


class ChangesByKey:
    """The histories of an engine by key. Every method expects to be called inside a turn of the storage."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute(f"PRAGMA cache_size = {_CACHED_PAGES}")
        self._of: dict[str, _OfHistory] = {}
        self._tables = 0

    def known_of(self, table: Table) -> object:
        """The processed part of a table's history: another object once the history is another."""
        return self._of.setdefault(table.history, _OfHistory())

    def forget(self, source: str) -> None:
        """An SQL table was replaced: if it is a history, its processed part is void."""
        known = self._of.pop(source, None)
        for covered in known.covered.values() if known is not None else ():
            self._connection.execute(f"DROP TABLE {covered.name}")

    # -- time -------------------------------------------------------------------------------------------------------

    def last_until(self, db: Database, table: Table, time: float) -> Sliced[int]:
        """The last change made at a time or before; 0 if there is none. It holds in the slice that returns it."""
        until = slice_end()
        while True:
            found = self._last_until(db, table, time, until)
            if found is not None:
                return found
            yield
            until = slice_end()

    def _last_until(self, db: Database, table: Table, time: float, until: float) -> int | None:
        """The same within one slice; None if the slice ends first."""
        execute = db.storage.execute
        least = self._of.setdefault(table.history, _OfHistory()).least
        newest = newest_change(db, table)
        (oldest,) = execute(f"SELECT coalesce(min(sequence), 1) FROM {table.history}").fetchone()
        for block in range(newest // _BLOCK, oldest // _BLOCK - 1, -1):
            bounds = (block * _BLOCK, (block + 1) * _BLOCK - 1)
            earliest = least.get(block)
            if earliest is None:
                (earliest,) = execute(
                    f"SELECT min(at) FROM {table.history} WHERE sequence BETWEEN ? AND ?", bounds
                ).fetchone()
                if earliest is None:
                    continue
                if bounds[1] < newest:
                    least[block] = earliest
                    if thread_time() > until:
                        return None
            if earliest <= time:
                (last,) = execute(
                    f"SELECT max(sequence) FROM {table.history} WHERE sequence BETWEEN ? AND ? AND at <= ?",
                    (*bounds, time),
                ).fetchone()
                if last is not None:
                    for _ in history(db, table, last, last):
                        pass  # its time, which decides what is read, is as it was written
                    return int(last)
        return 0

    # -- keys -------------------------------------------------------------------------------------------------------

    def missing(self, db: Database, table: Table, index: Index | None, point: int) -> int:
        """The number of changes after a point that are not processed yet."""
        covered = self._covered(table, index)
        newest = newest_change(db, table)
        if covered.first == 0:
            return newest - point
        return max(0, newest - covered.last) + max(0, covered.first - 1 - point)

    def look_at_some(self, db: Database, table: Table, index: Index | None, point: int) -> bool:
        """Process a few changes after a point; returns whether these were all."""
        covered = self._covered(table, index)
        self._leave_trimmed(db, table, covered)
        key_of = _key_of(table, index)
        newest = newest_change(db, table)
        if covered.first == 0:
            covered.first, covered.last = newest + 1, newest
        if covered.last < newest:
            last = min(covered.last + _AT_ONCE, newest)
            self._note(db, table, covered, key_of, covered.last + 1, last)
            covered.last = last
        elif point + 1 < covered.first:
            first = max(covered.first - _AT_ONCE, point + 1)
            self._note(db, table, covered, key_of, first, covered.first - 1)
            covered.first = first
        return covered.last == newest and covered.first <= point + 1

    def _leave_trimmed(self, db: Database, table: Table, covered: _Covered) -> None:
        """Start over if most of the processed changes are no longer in the history."""
        (oldest,) = db.storage.execute(f"SELECT coalesce(min(sequence), 0) FROM {table.history}").fetchone()
        trimmed = oldest - covered.first
        if covered.first and trimmed > _KEPT_TRIMMED and trimmed > covered.last - oldest:
            self._connection.execute(f"DELETE FROM {covered.name}")
            covered.first = covered.last = 0

    def first_change(self, table: Table, key: bytes, point: int) -> int | None:
        """The first change of a key of the table after a point."""
        (found,) = self._connection.execute(
            f"SELECT min(sequence) FROM {self._covered(table, None).name} WHERE key = ? AND sequence > ?", (key, point)
        ).fetchone()
        return None if found is None else int(found)

    def changed(
        self, table: Table, index: Index | None, low: bytes, high: bytes | None, forward: bool, limit: int, point: int
    ) -> list[Changed]:
        """Keys in a range that the SQL index has, in order, each once, with their first change after a point."""
        name = self._covered(table, index).name
        most, follows = ("min", ">") if forward else ("max", "<")
        upper = "" if high is None else "AND key < :high"
        # One seek for each key, however many changes it has.
        rows = self._connection.execute(
            f"WITH RECURSIVE found (key) AS (SELECT {most}(key) FROM {name} WHERE key >= :low {upper} UNION ALL "
            f"SELECT (SELECT {most}(key) FROM {name} WHERE key {follows} found.key AND key >= :low {upper}) "
            f"FROM found WHERE found.key IS NOT NULL LIMIT :limit) "
            f"SELECT key, (SELECT min(sequence) FROM {name} AS change "
            "WHERE change.key = found.key AND sequence > :point) FROM found WHERE key IS NOT NULL",
            {"low": low, "high": high, "limit": limit, "point": point},
        )
        return [Changed(*row) for row in rows]

    def _covered(self, table: Table, index: Index | None) -> _Covered:
        known = self._of.setdefault(table.history, _OfHistory())
        of = "" if index is None else index.rows
        if of not in known.covered:
            self._tables += 1
            name = f"changes_{self._tables}"
            self._connection.execute(
                f"CREATE TABLE {name} (key BLOB NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (key, sequence)) "
                "WITHOUT ROWID"
            )
            known.covered[of] = _Covered(name)
        return known.covered[of]

    def _note(
        self,
        db: Database,
        table: Table,
        covered: _Covered,
        key_of: Callable[[Replaced], bytes | None],
        first: int,
        last: int,
    ) -> None:
        noted = [
            (key, change.sequence) for change in history(db, table, first, last) if (key := key_of(change)) is not None
        ]
        # Again if changes were added in between: they are the same.
        self._connection.executemany(f"INSERT OR IGNORE INTO {covered.name} VALUES (?, ?)", noted)


def changes_by_key(db: Database) -> ChangesByKey:
    """The processed histories of a database, created on first use."""
    if db.changes_by_key is None:
        db.changes_by_key = ChangesByKey()
    assert isinstance(db.changes_by_key, ChangesByKey)
    return db.changes_by_key


def newest_change(db: Database, table: Table) -> int:
    (newest,) = db.storage.execute(f"SELECT coalesce(max(sequence), 0) FROM {table.history}").fetchone()
    return int(newest)


def _key_of(table: Table, index: Index | None) -> Callable[[Replaced], bytes | None]:
    """The key under which a change is noted: that of the item, or of the entry of the image that it replaced."""
    if index is None:
        return lambda change: change.key

    def entry(change: Replaced) -> bytes | None:
        if change.row is None or not index.holds(change.row.item):
            return None
        return table.index_key(index, change.row.item, change.key)

    return entry
