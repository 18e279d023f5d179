"""Verify: whether a data folder is consistent.

Everything that is stored twice is derived again from the items and compared: the key of each row and its size,
the entries of every index, the expiry entries, and the stream, whose records must chain for each item (the old
image is the new image before it) and end at the item as it is. The history of a table and the items of a backup must
be readable under their keys, and the history must be one that can have led to the table. Entries are looked up one by
one; for a stream the last image of each item is kept in memory, and for a history whether there was an item.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, field

import orjson

from tablewright.dynamo import Item, item_size, same_item
from tablewright.engine.backups.on_demand import Backup, all_backups
from tablewright.engine.database import Database, Row, expiry
from tablewright.engine.tables.table_schema import Index, Table
from tablewright.engine.ttl.time_to_live import is_complete

_MAX_PROBLEMS = 100
_ROWS = re.compile(r"(items|index|expiries|history|backup)_[\d_]+")


@dataclass(slots=True)
class VerifyReport:
    """What was verified, and the problems that were found; ``ok`` when there are none."""

    tables: int = 0
    items: int = 0
    index_entries: int = 0
    stream_records: int = 0
    # Rows of histories, and backups.
    history_records: int = 0
    backups: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def found(self, problem: str) -> None:
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(problem)


def verify(db: Database) -> VerifyReport:
    report = VerifyReport()
    try:
        _verify(db, report)
    except sqlite3.Error as error:
        report.found(f"SQLite: {error}")
    return report


def _verify(db: Database, report: VerifyReport) -> None:
    for (finding,) in db.storage.execute("PRAGMA integrity_check"):
        if finding != "ok":
            report.found(f"SQLite: {finding}")
    # Also those that are due to be deleted.
    backups = all_backups(db, expired=True)
    missing = _missing_rows(db, backups, report)
    for table in db.tables.values():
        report.tables += 1
        if not missing.isdisjoint(_rows_of(table)):
            continue
        _verify_items(db, table, report)
        if table.stream is not None:
            _verify_stream(db, table, table.stream, report)
        if table.recovery_days is not None:
            _verify_history(db, table, report)
    for backup in backups:
        report.backups += 1
        if backup.rows not in missing:
            _verify_backup(db, backup, report)


def _rows_of(table: Table) -> list[str]:
    """The SQL tables that a table has."""
    rows = [table.rows, *(index.rows for index in table.indexes.values())]
    if table.time_to_live is not None:
        rows.append(table.expiries)
    if table.recovery_days is not None:
        rows.append(table.history)
    return rows


def _missing_rows(db: Database, backups: list[Backup], report: VerifyReport) -> set[str]:
    """The SQL tables that are missing; one that should not be there is a problem as well."""
    there = {
        name
        for (name,) in db.storage.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        if _ROWS.fullmatch(name)
    }
    expected = {rows for table in db.tables.values() for rows in _rows_of(table)}
    expected |= {backup.rows for backup in backups}
    for name in sorted(expected - there):
        report.found(f"the SQL table {name} is missing")
    for name in sorted(there - expected):
        report.found(f"the SQL table {name} belongs to no table or backup")
    return expected - there


def _verify_items(db: Database, table: Table, report: VerifyReport) -> None:
    execute = db.storage.execute
    expected = dict.fromkeys(table.indexes, 0)
    expiring = 0
    for row_id, key, size, data in execute(f"SELECT id, key, size, item FROM {table.rows}"):
        report.items += 1
        item = _verify_item(table, f"{table.name}: item {row_id}", key, size, data, report)
        if item is None:
            continue
        for index in table.indexes.values():
            if index.holds(item):
                expected[index.name] += _verify_entry(db, table, index, Row(row_id, size, data), key, report)
        if table.time_to_live is not None:
            at = expiry(item, table.time_to_live)
            if at is not None:
                expiring += _verify_expiry(db, table, row_id, at, report)
    for index in table.indexes.values():
        (entries,) = execute(f"SELECT count(*) FROM {index.rows}").fetchone()
        report.index_entries += entries
        if entries != expected[index.name]:
            report.found(f"{table.name}.{index.name}: {entries - expected[index.name]} entries belong to no item")
    if table.time_to_live is not None:
        (entries,) = execute(f"SELECT count(*) FROM {table.expiries}").fetchone()
        if entries != expiring:
            report.found(f"{table.name}: {entries - expiring} expiry entries belong to no item")


def _verify_item(table: Table, what: str, key: bytes, size: int, data: bytes, report: VerifyReport) -> Item | None:
    """The item in a row, when it can be read."""
    try:
        item: Item = orjson.loads(data)
        own_key = table.row_key(item)
    except (ValueError, LookupError, TypeError, AttributeError):
        report.found(f"{what} cannot be read")
        return None
    if own_key != key:
        report.found(f"{what} is stored under another key than its own")
    if item_size(item) != size:
        report.found(f"{what} has size {item_size(item)}, but the recorded size is {size}")
    return item


def _verify_entry(db: Database, table: Table, index: Index, row: Row, key: bytes, report: VerifyReport) -> int:
    """1 if the item has its entry; an index that is still being filled may lack it."""
    entry = db.storage.execute(
        f"SELECT id FROM {index.rows} WHERE key = ?", (table.index_key(index, row.item, key),)
    ).fetchone()
    if entry is None:
        if index.queryable and not table.is_being_restored:
            report.found(f"{table.name}.{index.name}: item {row.id} has no entry")
        return 0
    if entry[0] != row.id:
        report.found(f"{table.name}.{index.name}: the entry of item {row.id} points to {entry[0]}")
    return 1


def _verify_expiry(db: Database, table: Table, row_id: int, at: int, report: VerifyReport) -> int:
    entry = db.storage.execute(f"SELECT 1 FROM {table.expiries} WHERE at = ? AND id = ?", (at, row_id)).fetchone()
    if entry is None:
        if is_complete(db, table):
            report.found(f"{table.name}: item {row_id} expires at {at} and has no expiry entry")
        return 0
    return 1


def _verify_stream(db: Database, table: Table, stream: int, report: VerifyReport) -> None:
    view = table.view_type
    latest: dict[bytes, tuple[str, bytes | None]] = {}
    records = db.storage.execute(
        "SELECT sequence, kind, item_key, old, new FROM log WHERE stream = ? ORDER BY sequence", (stream,)
    )
    for sequence, kind, item_key, old, new in records:
        report.stream_records += 1
        before = latest.get(item_key)
        if before is not None:
            there = before[0] != "REMOVE"
            if there != (kind != "INSERT"):
                report.found(f"{table.name}: stream record {sequence} ({kind}) does not follow {before[0]}")
            elif view == "NEW_AND_OLD_IMAGES" and kind != "INSERT" and not _same(before[1], old):
                report.found(
                    f"{table.name}: the old image of stream record {sequence} differs from the new image before it"
                )
        latest[item_key] = (kind, new)
    for item_key, (kind, new) in latest.items():
        row = db.fetch(table, table.row_key(orjson.loads(item_key)))
        if (row is None) != (kind == "REMOVE"):
            state = "missing" if row is None else "there"
            report.found(f"{table.name}: an item is {state}, but its last stream record is {kind}")
        elif row is not None and new is not None and not _same(new, row.data):
            report.found(f"{table.name}: the last stream record of an item differs from the item")


def _verify_history(db: Database, table: Table, report: VerifyReport) -> None:
    """What changes have replaced. Whether a change left an item must match what the next change found."""
    # For each key, whether the last change found an item there.
    found: dict[bytes, bool] = {}
    changes = db.storage.execute(f"SELECT sequence, key, size, item FROM {table.history} ORDER BY sequence")
    for sequence, key, size, data in changes:
        report.history_records += 1
        if data is not None:
            _verify_item(table, f"{table.name}: what change {sequence} replaced", key, size, data, report)
        elif found.get(key) is False:
            # The change before created the item.
            report.found(f"{table.name}: change {sequence} found no item, but the change before it had left one")
        found[key] = data is not None
    for key, there_before in found.items():
        if not there_before and db.fetch(table, key) is None:
            report.found(f"{table.name}: an item is missing, but its last change created it")


def _verify_backup(db: Database, backup: Backup, report: VerifyReport) -> None:
    name = f"backup {backup.arn}"
    table = Table(
        number=0,
        description=backup.description,
        index_numbers={
            index["IndexName"]: number
            for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
            for number, index in enumerate(backup.description.get(member, ()))
        },
    )
    items = 0
    for row_id, key, size, data in db.storage.execute(f"SELECT id, key, size, item FROM {backup.rows}"):
        items += 1
        _verify_item(table, f"{name}: item {row_id}", key, size, data, report)
    if items != backup.items:
        report.found(f"{name}: has {items} items, but the recorded number is {backup.items}")


def _same(one: bytes | None, other: bytes | None) -> bool:
    if one is None or other is None or one == other:
        return one == other
    try:
        return same_item(orjson.loads(one), orjson.loads(other))
    except (ValueError, TypeError, AttributeError):
        return False
