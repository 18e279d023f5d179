"""Point-in-time recovery: UpdateContinuousBackups, DescribeContinuousBackups, and the history behind them.

While recovery is enabled, a table has an SQL table of the images that its changes replaced, in the order of the
changes. It is an undo log: an earlier state of the table is the present one, with the first image after that point put
back for each key that was changed since.

    history   1:k=a  2:m=nothing  3:k=b        the items now   k=c, m=d, n=e
    after 1                       ╰─ k=b, m=nothing ─╯         k=b,      n=e

Time T stands for the last change made at T or before, by the engine's clock. Changes of one instant are taken together,
and so are those of a transaction. If the clock was set back, T stands for the last time that it was T: a state that
never existed is never restored. Recovery begins with the second in which it was enabled; history older than the
recovery period is deleted in the background, and all of it when recovery is disabled or the table is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import ceil, floor
from time import thread_time
from typing import Any, NamedTuple

from tablewright.dynamo import (
    ContinuousBackupsUnavailableException,
    InvalidRestoreTimeException,
    PointInTimeRecoveryUnavailableException,
)
from tablewright.engine.backups.row_copies import ROWS_AT_ONCE, is_over, new_copy, next_rows
from tablewright.engine.database import Database, Row, checked_row
from tablewright.engine.discarded_tables import cut_copies, discard
from tablewright.engine.slices import Sliced, deleted_together, slice_end
from tablewright.engine.storage import sql_schema
from tablewright.engine.storage.checksums import NOT_COMPARABLE, DamagedRecord, damaged, history_checksum
from tablewright.engine.tables.table_lookup import find_backup_source
from tablewright.engine.tables.table_schema import Table

_DEFAULT_DAYS = 35
_DAY = 24 * 3600.0
_TRIM_INTERVAL = 3600.0
_TRIMMED_AT_ONCE = 500
# For changes that take long to read; concurrent writers must not make them faster than they are noted.
_NOTED_AT_LEAST = 16
_MOST = 2**63 - 1


class Replaced(NamedTuple):
    """A change in the history: the item that it replaced, None if there was none."""

    sequence: int
    at: float
    key: bytes
    row: Row | None


class Window(NamedTuple):
    """The times to which a table can be restored, inclusive."""

    earliest: float
    latest: float


def update_continuous_backups(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    table = find_backup_source(db, request["TableName"])
    check_backups_available(table)
    specification = request["PointInTimeRecoverySpecification"]
    days = specification.get("RecoveryPeriodInDays", _DEFAULT_DAYS)
    if not specification["PointInTimeRecoveryEnabled"]:
        if table.recovery_days is not None:
            forget_history(db, table)
            db.save_table(replace(table, recovery_days=None, recovery_begins=0.0))
    elif table.recovery_days is None:
        db.storage.check_room()
        db.storage.write()(sql_schema.history_table(table.history))
        # Most clients can request whole seconds only: one that requests this very second gets it.
        db.save_table(replace(table, recovery_days=days, recovery_begins=float(floor(db.clock()))))
        db.on_schedule()
    elif table.recovery_days != days:
        db.save_table(replace(table, recovery_days=days))
        db.on_schedule()
    return {"ContinuousBackupsDescription": _description(db, db.tables[table.name])}


def describe_continuous_backups(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    return {"ContinuousBackupsDescription": _description(db, find_backup_source(db, request["TableName"]))}


def check_backups_available(table: Table) -> None:
    if table.is_being_restored:
        raise ContinuousBackupsUnavailableException(
            f"Backups are being enabled for the table: {table.name}. Please retry later"
        )


def _description(db: Database, table: Table) -> dict[str, Any]:
    """Every table has continuous backups, as the service describes it, whether or not recovery is enabled."""
    if table.recovery_days is None:
        recovery: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED"}
    else:
        earliest, latest = window(db, table)
        recovery = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": table.recovery_days,
            # To the millisecond, and never outside of the window: every time in the response can be requested.
            "EarliestRestorableDateTime": ceil(earliest * 1000) / 1000,
            "LatestRestorableDateTime": floor(latest * 1000) / 1000,
        }
    return {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": recovery}


# -- the history ---------------------------------------------------------------------------------------------


def window(db: Database, table: Table) -> Window:
    """The times to which a table with recovery can be restored now."""
    assert table.recovery_days is not None
    now = db.clock()
    earliest = max(table.recovery_begins, now - table.recovery_days * _DAY)
    # If the clock was set back to before the beginning, the beginning is what is left.
    return Window(earliest, max(now, earliest))


def check_time(db: Database, table: Table, time: float) -> None:
    """Refuse a time to which a table with recovery cannot be restored."""
    earliest, latest = window(db, table)
    if not earliest <= time <= latest:
        raise InvalidRestoreTimeException(
            "An invalid restore time was specified. RestoreDateTime must be between EarliestRestorableDateTime and "
            "LatestRestorableDateTime."
        )


def copy_state(db: Database, table: Table, time: float, rows: str, check_source: Callable[[], object]) -> Sliced[None]:
    """Fill an SQL table with the items that a table had at a time in its window, while others change it.

    The keys changed since then are collected first, and the rest during the copy: an unchanged row is copied, and for a
    changed one the image that its first change replaced. Every item gets the rowid that it had, so that no two can get
    the same one. ``check_source`` raises when table, time or history no longer exist; a history that was discarded or
    emptied is not the one that the table has now.
    """
    collected = _last_until(db, table, time)
    position = written = 0
    until = slice_end()
    with new_copy(db, table.history, sql_schema.changes_table) as changed:
        while True:
            db.storage.check_room()
            execute = db.storage.write(unseen=True)
            collected = _collect_changes(db, table, changed.rows, collected, until)
            if collected == _last_until(db, table, None):
                following = next_rows(db, table.rows, position)
                if following is None:
                    break
                last, size = following
                execute(
                    f"INSERT INTO {rows} SELECT id, key, size, item FROM {table.rows} WHERE id > ? AND id <= ? "
                    f"AND key NOT IN (SELECT key FROM {changed.rows})",
                    (position, last),
                )
                position = last
                written += size
            if is_over(until, written):
                yield
                check_source()
                if changed.is_cut:
                    raise unavailable(table)
                until, written = slice_end(), 0
        key = b""
        while some := execute(
            f"SELECT changed.key, sequence, ifnull(length(item), 0) FROM {changed.rows} AS changed "
            f"LEFT JOIN {table.history} USING (sequence) "
            f"WHERE changed.key > ? ORDER BY changed.key LIMIT {ROWS_AT_ONCE}",
            (key,),
        ).fetchall():
            db.storage.check_room()
            execute = db.storage.write(unseen=True)
            for _, sequence, size in some:
                execute(
                    # If the row was copied before it was changed, it exists already.
                    f"INSERT OR IGNORE INTO {rows} SELECT id, key, size, item FROM {table.history} "
                    "WHERE sequence = ? AND item IS NOT NULL",
                    (sequence,),
                )
                written += size
                if is_over(until, written):
                    yield
                    check_source()
                    if changed.is_cut:
                        raise unavailable(table)
                    until, written = slice_end(), 0
                    db.storage.check_room()
                    execute = db.storage.write(unseen=True)
            key = some[-1][0]
    discard(db, changed.rows)


def check_recovery(table: Table) -> None:
    if table.recovery_days is None:
        raise unavailable(table)


def unavailable(table: Table) -> PointInTimeRecoveryUnavailableException:
    return PointInTimeRecoveryUnavailableException(f"Point in time recovery is not enabled for table '{table.name}'")


def _last_until(db: Database, table: Table, time: float | None) -> int:
    """The last change made at a time or before; None: the last of all."""
    condition, values = ("", ()) if time is None else ("WHERE at <= ?", (time,))
    found = db.storage.execute(
        f"SELECT sequence FROM {table.history} {condition} ORDER BY sequence DESC LIMIT 1", values
    ).fetchone()
    if found is None:
        return 0
    if time is not None:
        for _ in history(db, table, found[0], found[0]):
            pass  # its time, which decides what is restored, is as it was written
    return int(found[0])


def _collect_changes(db: Database, table: Table, changed: str, last: int, until: float) -> int:
    """Note the keys that were changed after ``last``, each with its first change; returns the last one noted."""
    execute = db.storage.execute
    newest = _last_until(db, table, None)
    while last < newest:
        # Every one of them is checked: their keys and images decide what is restored.
        for noted, change in enumerate(history(db, table, last + 1, last + ROWS_AT_ONCE), 1):
            execute(f"INSERT OR IGNORE INTO {changed} VALUES (?, ?)", (change.key, change.sequence))
            if noted >= _NOTED_AT_LEAST and thread_time() > until:
                return change.sequence
        last = min(last + ROWS_AT_ONCE, newest)
        if thread_time() > until:
            break
    return last


def history(db: Database, table: Table, first: int = 0, last: int = _MOST) -> Iterator[Replaced]:
    """The changes from one to another, in their order; raises at one that is damaged."""
    for row in db.storage.execute(
        f"SELECT sequence, at, id, key, size, checksum, item FROM {table.history} "
        "WHERE sequence BETWEEN ? AND ? ORDER BY sequence",
        (first, last),
    ):
        yield checked_change(table, *row)


def checked_change(
    table: Table, sequence: int, at: float, row_id: int, key: bytes, size: int, checksum: int, item: bytes | None
) -> Replaced:
    """A change that was selected with all its columns, unless it is damaged."""
    try:
        if history_checksum(at, row_id, key, size, item or b"") == checksum:
            row = None if item is None else checked_row(table, key, row_id, size, item)
            return Replaced(sequence, at, key, row)
    except (*NOT_COMPARABLE, DamagedRecord):
        pass
    raise damaged(f"table {table.name}: change {sequence} in its history, of the key {table.key.shown(key)},")


def forget_history(db: Database, table: Table) -> None:
    discard(db, table.history)


def trim(db: Database) -> float | None:
    """A step of the background work: delete history that is older than the recovery period."""
    tables = [table for table in db.tables.values() if table.recovery_days is not None]
    more = [_trim(db, table) for table in tables]
    if not tables:
        return None
    return 0.0 if any(more) else _TRIM_INTERVAL


def _trim(db: Database, table: Table) -> bool:
    """Delete some of a table's oldest changes; returns whether there may be more."""
    assert table.recovery_days is not None
    horizon = db.clock() - table.recovery_days * _DAY
    oldest = db.storage.execute(
        f"SELECT sequence, at, ifnull(length(item), 0) FROM {table.history} ORDER BY sequence LIMIT {_TRIMMED_AT_ONCE}"
    ).fetchall()
    some = deleted_together(oldest)
    old = [(sequence, at) for sequence, at, _ in some if at <= horizon]
    if not old:
        return False
    last, at = old[-1]
    for _ in history(db, table, last, last):
        pass  # its time is as it was written
    db.storage.write()(f"DELETE FROM {table.history} WHERE sequence <= ?", (last,))
    if _last_until(db, table, None) == 0:
        # Numbers start over: a restore could not tell new changes from those that it has read.
        cut_copies(db, table.history)
    # From that change on the history is complete, and before it there is none.
    db.save_table(replace(table, recovery_begins=at))
    return len(old) == len(some)
