"""Time to live: UpdateTimeToLive, DescribeTimeToLive, and the sweep that deletes expired items.

While it is enabled, a table has an SQL table of (expiry time, row) pairs, which every change keeps up to date. The
sweep reads due pairs from it, oldest first, and deletes the items in the same way as every other change, so that
indexes and the stream are updated.

When it is enabled for a table with many items, their pairs are collected in the background, and the status is ENABLING
until that is done. Changes maintain the pairs of the items that they touch from the first moment, so it does not matter
which of the two handles an item first.

The service refuses to change the setting twice within an hour. That limits its own work, and does not apply here.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tablewright.dynamo import ValidationException
from tablewright.engine.database import Database, checked_row, expiry
from tablewright.engine.discarded_tables import discard
from tablewright.engine.storage import sql_schema
from tablewright.engine.storage.checksums import DamagedRecord
from tablewright.engine.tables.table_lookup import find_table
from tablewright.engine.tables.table_operations import find_changeable_table
from tablewright.engine.tables.table_schema import Table

# Items that expired longer ago than this are kept, as in the service: the number is probably not an expiry time.
GUARD = 5 * 365 * 24 * 3600
# The userIdentity of expired items in stream records.
PRINCIPAL = "dynamodb.amazonaws.com"

_INTERVAL = 1.0
# The maximum duration of a step, for which other operations wait (seconds).
_STEP = 0.003
_ROWS_AT_ONCE = 500
# A table with fewer items is ready when UpdateTimeToLive returns.
_FILLED_AT_ONCE = 1000


def update_time_to_live(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    table = find_changeable_table(db, request["TableName"])
    specification = request["TimeToLiveSpecification"]
    attribute, enable = specification["AttributeName"], specification["Enabled"]
    current = table.time_to_live
    if current is None and not enable:
        raise ValidationException("TimeToLive is already disabled")
    if current is not None and current != attribute:
        raise ValidationException(
            f"TimeToLive is active on a different AttributeName: current AttributeName is {current}"
        )
    if current is not None and enable:
        raise ValidationException("TimeToLive is already enabled")
    if enable:
        db.storage.check_room()
    execute = db.storage.write()
    if enable:
        execute(sql_schema.expiries_table(table.expiries))
        table = replace(table, time_to_live=attribute)
        db.save_table(table)
        db.save_setting(_progress_name(table), 0)
        _fill(db, table, _FILLED_AT_ONCE, time.perf_counter() + 5 * _STEP)
    else:
        forget_expiries(db, table)
        db.save_table(replace(table, time_to_live=None))
    db.on_schedule()
    return {"TimeToLiveSpecification": {"AttributeName": attribute, "Enabled": enable}}


def describe_time_to_live(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    table = find_table(db, request["TableName"])
    if table.time_to_live is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    status = "ENABLED" if is_complete(db, table) else "ENABLING"
    return {"TimeToLiveDescription": {"TimeToLiveStatus": status, "AttributeName": table.time_to_live}}


def forget_expiries(db: Database, table: Table) -> None:
    """Drop the expiry entries of a table: when time to live is disabled, and when the table is deleted."""
    discard(db, table.expiries)
    db.forget_setting(_progress_name(table))


# -- the sweep ----------------------------------------------------------------------------------------------


def sweep(db: Database) -> float | None:
    """A step of the background work: collect missing expiry times, delete expired items."""
    tables = [table for table in db.tables.values() if table.time_to_live is not None]
    if not tables:
        return None
    until = time.perf_counter() + _STEP
    more = False
    for table in tables:
        more |= _fill(db, table, _ROWS_AT_ONCE, until)
    # Longest expired first, so that one table with many expiring items does not starve the others.
    due = [(first, table) for table in tables if (first := _first_due(db, table)) is not None]
    for _, table in sorted(due, key=lambda entry: entry[0]):
        more |= _expire(db, table, until)
    return 0.0 if more else _INTERVAL


def _window(db: Database) -> tuple[int, int]:
    now = int(db.clock())
    return now - GUARD, now


def _first_due(db: Database, table: Table) -> int | None:
    found = db.storage.execute(f"SELECT min(at) FROM {table.expiries} WHERE at > ? AND at <= ?", _window(db)).fetchone()
    return None if found is None else found[0]


def _expire(db: Database, table: Table, until: float) -> bool:
    """Delete some expired items; returns whether there are more."""
    assert table.time_to_live is not None
    due = db.storage.execute(
        f"SELECT at, id FROM {table.expiries} WHERE at > ? AND at <= ? ORDER BY at LIMIT {_ROWS_AT_ONCE}",
        _window(db),
    ).fetchall()
    for at, row_id in due:
        found = db.storage.execute(f"SELECT key, id, size, item FROM {table.rows} WHERE id = ?", (row_id,)).fetchone()
        row = None
        if found is not None:
            # A damaged one has been logged, and does not stop others from expiring.
            with suppress(DamagedRecord):
                row = checked_row(table, *found)
        if row is not None and expiry(row.item, table.time_to_live) == at:
            db.change(table, found[0], row, None, principal=PRINCIPAL)
        else:
            # The item's own attribute decides.
            db.storage.write()(f"DELETE FROM {table.expiries} WHERE at = ? AND id = ?", (at, row_id))
        if time.perf_counter() > until:
            return True
    return len(due) == _ROWS_AT_ONCE


# -- the expiry times of items that were there before -------------------------------------------------------


def _progress_name(table: Table) -> str:
    return f"expiries of table {table.number} collected up to row"


def is_complete(db: Database, table: Table) -> bool:
    """Whether every item of a table with time to live has its entry by now."""
    return _progress(db, table) is None


def _progress(db: Database, table: Table) -> int | None:
    """The row up to which expiry times were collected; None if all were."""
    return db.setting(_progress_name(table))


def _fill(db: Database, table: Table, most: int, until: float) -> bool:
    """Collect the expiry times of some items; returns whether there are more."""
    progress = _progress(db, table)
    if progress is None or db.storage.lacks_room:
        return False
    assert table.time_to_live is not None
    execute = db.storage.write()
    rows = execute(
        f"SELECT key, id, size, item FROM {table.rows} WHERE id > ? ORDER BY id LIMIT ?",
        (progress, most),
    )
    for row in rows:
        progress = row[1]
        expires = expiry(checked_row(table, *row).item, table.time_to_live)
        if expires is not None:
            execute(f"INSERT OR IGNORE INTO {table.expiries} (at, id) VALUES (?, ?)", (expires, progress))
        if time.perf_counter() > until:
            break
    rows.close()
    found = execute(f"SELECT 1 FROM {table.rows} WHERE id > ? LIMIT 1", (progress,)).fetchone()
    more = found is not None
    if more:
        db.save_setting(_progress_name(table), progress)
    else:
        db.forget_setting(_progress_name(table))
    return more
