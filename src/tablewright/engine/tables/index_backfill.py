"""Filling an index that was added to a table with items, and the indexes of a table that is being restored.

Every write maintains every index of its table, finished or not, so only the earlier items are missing. They are
added in the order of their row ids, a chunk at a time, with other operations in between:

    rows  1 ─── added ─── cursor ─── to be added ─── last

An item that is written or removed meanwhile is added or removed by that write; adding it again changes nothing. The
cursor is stored together with the entries of its chunk, so that the work continues there after a crash. When no rows
are left, the index becomes ACTIVE.

A restored table has its items from the beginning, and its indexes are filled together; until then it cannot be read or
changed. Then it becomes ACTIVE.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from copy import deepcopy
from dataclasses import replace
from time import thread_time

from tablewright.engine.database import Database, checked_row
from tablewright.engine.slices import SLICE_BYTES, slice_end
from tablewright.engine.tables.table_schema import Index, Table

# Rows in a chunk, unless they take longer than a slice; this many entries are always added, if the items are small.
_CHUNK = 500
_ENTRIES = 500


def step(db: Database) -> bool:
    """Do one chunk of work; returns whether there is more."""
    for table in _being_restored(db):
        _restore(db, table)
        break
    else:
        for table, index in _unfinished(db):
            _fill(db, table, index)
            break
    return any(True for _ in _being_restored(db)) or any(True for _ in _unfinished(db))


def begin(db: Database, table: Table, name: str) -> None:
    """Start to fill an index. Work that fits into one step is done now."""
    if not _fill(db, table, table.indexes[name]):
        db.on_schedule()


def begin_restore(db: Database, table: Table) -> None:
    """Start to fill the indexes of a table that is being restored. Work that fits into one step is done now."""
    if not _restore(db, table):
        db.on_schedule()


def forget(db: Database, index: Index) -> None:
    """Drop the cursor of an index that is complete or deleted."""
    _forget(db, index.rows)


def _being_restored(db: Database) -> Iterator[Table]:
    return (table for table in db.tables.values() if table.is_being_restored)


def _restore(db: Database, table: Table) -> bool:
    """Add the next chunk of items to all indexes of a restored table; True if they were the last."""
    if table.indexes and not _enter(db, table, table.indexes.values(), table.rows):
        return False
    description = deepcopy(table.description)
    description["TableStatus"] = "ACTIVE"
    description["RestoreSummary"]["RestoreInProgress"] = False
    for definition in description.get("GlobalSecondaryIndexes", ()):
        definition["IndexStatus"] = "ACTIVE"
    db.save_table(replace(table, description=description))
    return True


def _unfinished(db: Database) -> Iterator[tuple[Table, Index]]:
    for table in db.tables.values():
        if table.is_being_restored:
            continue
        for definition in table.description.get("GlobalSecondaryIndexes", ()):
            if definition["IndexStatus"] == "CREATING":
                yield table, table.indexes[definition["IndexName"]]


def _fill(db: Database, table: Table, index: Index) -> bool:
    """Add the next chunk of items to a new index; True if they were the last."""
    done = _enter(db, table, [index], index.rows)
    if done:
        _finish(db, table, index.name)
    return done


def _enter(db: Database, table: Table, indexes: Collection[Index], work: str) -> bool:
    """Add the next chunk of items to some indexes; True if they were the last. ``work`` names the cursor."""
    execute = db.storage.write()
    name = _setting(work)
    rows = execute(
        f"SELECT key, id, size, item FROM {table.rows} WHERE id > ? ORDER BY id LIMIT {_CHUNK}",
        (db.setting(name) or 0,),
    )
    entered = last = parsed = 0
    until = slice_end()
    for key, *columns in rows:
        row = checked_row(table, key, *columns)
        entered, last, parsed = entered + 1, row.id, parsed + len(row.data)
        for index in indexes:
            if index.holds(row.item):
                entry = table.index_key(index, row.item, key)
                execute(f"INSERT OR IGNORE INTO {index.rows} (key, id) VALUES (?, ?)", (entry, row.id))
        if (entered * len(indexes) >= _ENTRIES or parsed > SLICE_BYTES) and thread_time() > until:
            break
    else:
        if entered < _CHUNK:
            _forget(db, work)
            return True
    rows.close()
    db.save_setting(name, last)
    return False


def _finish(db: Database, table: Table, name: str) -> None:
    description = deepcopy(table.description)
    for definition in description["GlobalSecondaryIndexes"]:
        if definition["IndexName"] == name:
            definition["IndexStatus"] = "ACTIVE"
            definition.pop("Backfilling", None)
    db.save_table(replace(table, description=description))


def _forget(db: Database, work: str) -> None:
    db.forget_setting(_setting(work))


def _setting(work: str) -> str:
    return f"backfill of {work}"
