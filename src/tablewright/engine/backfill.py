"""Filling an index that was added to a table with items in it.

Every write maintains every index of its table, finished or not, so the items there were before are all that
is missing. They are entered in the order of their row ids, a chunk at a time, with other operations in
between:

    rows  1 ─── entered ─── cursor ─── to be entered ─── last

An item that is written or removed meanwhile is dealt with by that write; entering it again changes nothing.
The cursor is stored together with the entries of its chunk, so that after a crash the work goes on where it
was. When no rows are left, the index becomes ACTIVE.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace

import orjson

from tablewright.engine.database import Database
from tablewright.engine.schema import Index, Table

_CHUNK = 500


def step(db: Database) -> bool:
    """Do one chunk of the work that there is, and tell whether there is more."""
    for table, index in _unfinished(db):
        _fill(db, table, index)
        break
    return any(True for _ in _unfinished(db))


def begin(db: Database, table: Table, name: str) -> None:
    """Start to fill an index. What can be done in one step is done now."""
    if not _fill(db, table, table.indexes[name]):
        db.on_schedule()


def forget(db: Database, index: Index) -> None:
    """There is nothing left to do for an index: it is complete, or gone."""
    db.storage.write()("DELETE FROM settings WHERE name = ?", (_setting(index),))


def _unfinished(db: Database) -> Iterator[tuple[Table, Index]]:
    for table in db.tables.values():
        for definition in table.description.get("GlobalSecondaryIndexes", ()):
            if definition["IndexStatus"] == "CREATING":
                yield table, table.indexes[definition["IndexName"]]


def _fill(db: Database, table: Table, index: Index) -> bool:
    """Enter the next chunk of items; True when they were the last."""
    execute = db.storage.write()
    name = _setting(index)
    found = execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    cursor = found[0] if found else 0
    rows = execute(
        f"SELECT id, key, item FROM {table.rows} WHERE id > ? ORDER BY id LIMIT {_CHUNK}", (cursor,)
    ).fetchall()
    entries = []
    for row_id, key, data in rows:
        item = orjson.loads(data)
        if index.holds(item):
            entries.append((table.index_key(index, item, key), row_id))
    for entry in entries:
        execute(f"INSERT OR IGNORE INTO {index.rows} (key, id) VALUES (?, ?)", entry)
    if len(rows) < _CHUNK:
        forget(db, index)
        _finish(db, table, index.name)
        return True
    execute(
        "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, rows[-1][0]),
    )
    return False


def _finish(db: Database, table: Table, name: str) -> None:
    description = deepcopy(table.description)
    for definition in description["GlobalSecondaryIndexes"]:
        if definition["IndexName"] == name:
            definition["IndexStatus"] = "ACTIVE"
            definition.pop("Backfilling", None)
    db.save_table(replace(table, description=description))


def _setting(index: Index) -> str:
    return f"backfill of {index.rows}"
