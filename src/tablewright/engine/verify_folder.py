"""Verify: whether a data folder is undamaged and consistent.

Every record is compared with its checksum, and SQLite checks its own structures: together they cover every byte that
has a meaning. Then everything that is stored twice is derived again from the items and compared: the key of each row
and its size, the entries of every index, the expiry entries, and the stream, whose records must chain for each item
(the old image is the new image before it) and end at the present item. The history of a table and the items of a backup
must be readable under their keys, and the history must be one that can have led to the table. Entries are looked up one
by one; for a stream, the last image of each item is kept in memory, and for a history, whether the item existed.

``verify`` does not stop at a finding and never raises because of one. ``definition_problems`` is the part that is done
whenever a folder is opened.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from tablewright.dynamo import Item, item_size, same_item
from tablewright.engine.backups.on_demand import Backup, all_backups
from tablewright.engine.backups.point_in_time import checked_change
from tablewright.engine.database import Database, checked_row, expiry
from tablewright.engine.discarded_tables import PREFIX as DISCARDED
from tablewright.engine.storage import sql_schema
from tablewright.engine.storage.checksums import SQLITE_ERRORS, DamagedRecord, check_record, sqlite_message
from tablewright.engine.streams.shards import SELECT_RECORD, all_streams, checked_record, last_number
from tablewright.engine.tables.table_schema import Index, Table
from tablewright.engine.ttl.time_to_live import is_complete

Progress = Callable[[str, int, int], None]

MAX_PROBLEMS = 100
# Some tenths of a second.
_ROWS_BETWEEN_REPORTS = 10_000
# What reading a record raises if it is damaged in an unforeseen way.
_UNREADABLE = (sqlite3.Error, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)


# Called with the location of an item, as text, and the item.
OnItem = Callable[[str, Item], None]


@dataclass(slots=True)
class VerifyReport:
    """What was verified, and the problems found; ``ok`` if there are none."""

    tables: int = 0
    items: int = 0
    index_entries: int = 0
    stream_records: int = 0
    # Rows of histories, and backups.
    history_records: int = 0
    backups: int = 0
    problems: list[str] = field(default_factory=list)
    # Called with the number of records compared so far.
    progress: Callable[[int], None] | None = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        return not self.problems

    def each(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """Iterate over rows, and report their number from time to time."""
        if self.progress is None:
            yield from rows
            return
        for number, row in enumerate(rows, start=1):
            if number % _ROWS_BETWEEN_REPORTS == 0:
                self.progress(_ROWS_BETWEEN_REPORTS)
            yield row

    def found(self, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    @contextmanager
    def finding(self, what: str) -> Iterator[None]:
        """Continue after the block if something in it cannot be read."""
        try:
            yield
        except DamagedRecord as error:
            self.found(f"{error.what} does not match its checksum")
        except SQLITE_ERRORS as error:
            self.found(f"SQLite: {sqlite_message(error)} ({what})")
        except _UNREADABLE as error:
            self.found(f"{what} cannot be read: {type(error).__name__}: {error}")


def verify(db: Database, progress: Progress | None = None, on_item: OnItem | None = None) -> VerifyReport:
    """Compare everything that is stored.

    ``progress`` is called with the current step, how much of it is done, and the total. ``on_item`` is called with
    every readable item of tables and backups, for checks beyond the engine's.
    """
    report = VerifyReport()
    with report.finding("the structure of the database"), _watched(db, progress):
        for (finding,) in db.storage.execute("PRAGMA integrity_check"):
            if finding != "ok":
                report.found(f"SQLite: {finding}")
    if progress is not None:
        report.progress = _counting(progress, "verifying records")
    backups: list[Backup] = []
    with report.finding("the backups"):
        # Also those that are due to be deleted.
        backups = all_backups(db)
    missing: set[str] = set()
    with report.finding("the schema"):
        for problem in (*definition_problems(db), *_schema_problems(db)):
            report.found(problem)
        missing = _missing_rows(db, backups)
    for check in (_verify_tables, _verify_settings, _verify_tokens, _verify_streams):
        with report.finding(check.__name__.removeprefix("_verify_")):
            check(db, report)
    for table in db.tables.values():
        report.tables += 1
        if missing.isdisjoint(_rows_of(table)):
            for verify_part in (partial(_verify_items, on_item=on_item), _verify_stream, _verify_history):
                with report.finding(f"table {table.name}"):
                    verify_part(db, table, report)
    for backup in backups:
        report.backups += 1
        if backup.rows not in missing:
            with report.finding(f"backup {backup.arn}"):
                _verify_backup(db, backup, report, on_item)
    report.progress = None
    return report


def _counting(progress: Progress, what: str) -> Callable[[int], None]:
    """Report the total progress, whenever there is more."""
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        progress(what, done, 0)

    report(0)
    return report


@contextmanager
def _watched(db: Database, progress: Progress | None) -> Iterator[None]:
    """Report SQLite's progress inside of a long statement, in millions of its own steps."""
    if progress is None:
        yield
        return
    report = _counting(progress, "verifying the structure")
    db.storage.watch(lambda: report(1))
    try:
        yield
    finally:
        db.storage.watch(None)


# -- the schema ----------------------------------------------------------------------------------------------


def definition_problems(db: Database) -> list[str]:
    """SQL tables that SQLite knows with another definition, and numbers that would be assigned twice."""
    expected = _expected_tables(db)
    there = _definitions(db)
    problems = [
        f"the SQL table {name} no longer has the definition that it was created with"
        for name in sorted(expected.keys() & there.keys())
        if there[name] not in expected[name]
    ]
    return problems or _log_problems(db)


def _schema_problems(db: Database) -> list[str]:
    """SQL tables that are missing, and those that should not exist."""
    expected = _expected_tables(db).keys()
    there = _definitions(db).keys()
    missing = [f"the SQL table {name} is missing" for name in sorted(expected - there)]
    strange = sorted(name for name in there - expected if not name.startswith(DISCARDED))
    return missing + [f"the SQL table {name} belongs to no table or backup" for name in strange]


def _definitions(db: Database) -> dict[str, str]:
    """The statements that created tables and indexes, as SQLite has stored them."""
    return dict(db.storage.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall())


def _expected_tables(db: Database) -> dict[str, tuple[str, ...]]:
    expected: dict[str, tuple[str, ...]] = {"sqlite_sequence": (sql_schema.SEQUENCE,)}
    for statement in sql_schema.SCHEMA:
        expected[statement.split()[2]] = (statement,)
    for table in db.tables.values():
        for rows, statement in _sql_tables(table):
            # The rows of a restored table were copied under another name.
            expected[rows] = (statement, statement.replace(rows, f'"{rows}"'))
    for (number,) in db.storage.execute("SELECT number FROM backups"):
        name = f"backup_{number}"
        # The rows of a deleted table's backup are the table's own.
        quoted = f'"{name}"'
        expected[name] = (sql_schema.backup_table(quoted), sql_schema.items_table(quoted))
    return expected


def _log_problems(db: Database) -> list[str]:
    """Numbers of the log must not be assigned twice: records below the start of a shard would never be read."""
    counters = db.storage.execute("SELECT name, seq FROM sqlite_sequence").fetchall()
    if any(name != "log" or not isinstance(last, int) for name, last in counters) or len(counters) > 1:
        return ["the counter of the log is damaged"]
    taken = [number for (number,) in db.storage.execute("SELECT coalesce(max(sequence), 0) FROM log")]
    # A damaged one is refused when it is read, and does not prevent the use of the rest.
    with suppress(DamagedRecord):
        for stream in all_streams(db):
            taken.append(stream.trimmed)
            for shard in stream.shards:
                taken += [shard.start, shard.end or 0]
    return ["the counter of the log is behind its records"] if last_number(db) < max(taken) else []


def _sql_tables(table: Table) -> Iterator[tuple[str, str]]:
    yield table.rows, sql_schema.items_table(table.rows)
    for index in table.indexes.values():
        yield index.rows, sql_schema.index_table(index.rows)
    if table.time_to_live is not None:
        yield table.expiries, sql_schema.expiries_table(table.expiries)
    if table.recovery_days is not None:
        yield table.history, sql_schema.history_table(table.history)


def _rows_of(table: Table) -> list[str]:
    """The SQL tables that a table has."""
    return [rows for rows, _ in _sql_tables(table)]


def _missing_rows(db: Database, backups: list[Backup]) -> set[str]:
    there = {name for (name,) in db.storage.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    expected = {rows for table in db.tables.values() for rows in _rows_of(table)}
    return (expected | {backup.rows for backup in backups}) - there


# -- what belongs to the folder ------------------------------------------------------------------------------


def _verify_tables(db: Database, report: VerifyReport) -> None:
    for number, name, definition, checksum in db.storage.execute(
        "SELECT number, name, definition, checksum FROM tables"
    ):
        with report.finding(f"the definition of table {name}"):
            check_record(f"the definition of table {name}", checksum, number, name, definition)


def _verify_settings(db: Database, report: VerifyReport) -> None:
    for name, value, checksum in db.storage.execute("SELECT name, value, checksum FROM settings"):
        with report.finding(f"the setting {name!r}"):
            check_record(f"the setting {name!r}", checksum, name, value)


def _verify_tokens(db: Database, report: VerifyReport) -> None:
    for *columns, checksum in db.storage.execute("SELECT token, fingerprint, at, response, checksum FROM tokens"):
        with report.finding(f"the idempotency token {columns[0]!r}"):
            check_record(f"the idempotency token {columns[0]!r}", checksum, *columns)


def _verify_streams(db: Database, report: VerifyReport) -> None:
    """Definitions of streams, and records of those whose table is gone; the others are verified with their table."""
    of_tables = {table.stream for table in db.tables.values()}
    for stream in all_streams(db):
        if stream.number not in of_tables:
            for _ in _records(db, stream.number, report):
                pass


def _records(db: Database, stream: int, report: VerifyReport) -> Iterator[Any]:
    """The records of a stream that can be read."""
    for row in report.each(db.storage.execute(f"{SELECT_RECORD} WHERE stream = ? ORDER BY sequence", (stream,))):
        report.stream_records += 1
        with report.finding(f"stream record {row[0]}"):
            yield checked_record(*row)


# -- tables --------------------------------------------------------------------------------------------------


def _verify_items(db: Database, table: Table, report: VerifyReport, on_item: OnItem | None) -> None:
    execute = db.storage.execute
    expected = dict.fromkeys(table.indexes, 0)
    expiring = 0
    rows = execute(f"SELECT key, id, size, item FROM {table.rows}")
    for key, row_id, size, data in report.each(rows):
        report.items += 1
        with report.finding(f"{table.name}: item {row_id}"):
            checked_row(table, key, row_id, size, data)
        item = _verify_item(table, f"{table.name}: item {row_id}", key, size, data, report)
        if item is None:
            continue
        if on_item is not None:
            on_item(f"table {table.name}, item {_key_text(table, item)}", item)
        for index in table.indexes.values():
            if index.holds(item):
                expected[index.name] += _verify_entry(db, table, index, item, row_id, key, report)
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
    """The item in a row, if it can be read."""
    try:
        item: Item = orjson.loads(data[:-4])
        own_key, own_size = table.row_key(item), item_size(item)
    except _UNREADABLE:
        report.found(f"{what} cannot be read")
        return None
    if own_key != key:
        report.found(f"{what} is stored under another key than its own")
    if own_size != size:
        report.found(f"{what} has size {own_size}, but the recorded size is {size}")
    return item


def _verify_entry(
    db: Database, table: Table, index: Index, item: Item, row_id: int, key: bytes, report: VerifyReport
) -> int:
    """1 if the item has its entry; an index that is still being filled may lack it."""
    entry = db.storage.execute(
        f"SELECT id FROM {index.rows} WHERE key = ?", (table.index_key(index, item, key),)
    ).fetchone()
    if entry is None:
        if index.queryable and not table.is_being_restored:
            report.found(f"{table.name}.{index.name}: item {row_id} has no entry")
        return 0
    if entry[0] != row_id:
        report.found(f"{table.name}.{index.name}: the entry of item {row_id} points to {entry[0]}")
    return 1


def _verify_expiry(db: Database, table: Table, row_id: int, at: int, report: VerifyReport) -> int:
    entry = db.storage.execute(f"SELECT 1 FROM {table.expiries} WHERE at = ? AND id = ?", (at, row_id)).fetchone()
    if entry is None:
        if is_complete(db, table):
            report.found(f"{table.name}: item {row_id} expires at {at} and has no expiry entry")
        return 0
    return 1


def _verify_stream(db: Database, table: Table, report: VerifyReport) -> None:
    if table.stream is None:
        return
    view = table.view_type
    latest: dict[bytes, tuple[str, bytes | None]] = {}
    for record in _records(db, table.stream, report):
        before = latest.get(record.item_key)
        if before is not None:
            there = before[0] != "REMOVE"
            if there != (record.kind != "INSERT"):
                report.found(
                    f"{table.name}: stream record {record.sequence} ({record.kind}) does not follow {before[0]}"
                )
            elif view == "NEW_AND_OLD_IMAGES" and record.kind != "INSERT" and not _same(before[1], record.old):
                report.found(
                    f"{table.name}: the old image of stream record {record.sequence} differs from the new image "
                    "before it"
                )
        latest[record.item_key] = (record.kind, record.new)
    for item_key, (kind, new) in latest.items():
        with report.finding(f"{table.name}: the item {item_key!r}"):
            row = db.fetch(table, table.row_key(orjson.loads(item_key)))
            if (row is None) != (kind == "REMOVE"):
                state = "missing" if row is None else "there"
                report.found(f"{table.name}: an item is {state}, but its last stream record is {kind}")
            elif row is not None and new is not None and not _same(new, row.data):
                report.found(f"{table.name}: the last stream record of an item differs from the item")


def _verify_history(db: Database, table: Table, report: VerifyReport) -> None:
    """The images that changes replaced. Whether a change left an item must match what the next change found."""
    if table.recovery_days is None:
        return
    # For each key, whether the last change found an item.
    found: dict[bytes, bool] = {}
    rows = db.storage.execute(
        f"SELECT sequence, at, id, key, size, checksum, item FROM {table.history} ORDER BY sequence"
    )
    for row in report.each(rows):
        report.history_records += 1
        sequence, key, size, data = row[0], row[3], row[4], row[6]
        with report.finding(f"{table.name}: change {sequence}"):
            checked_change(table, *row)
        if data is not None:
            _verify_item(table, f"{table.name}: the image that change {sequence} replaced", key, size, data, report)
        elif found.get(key) is False:
            # The previous change created the item.
            report.found(f"{table.name}: change {sequence} found no item, but the previous change left one")
        found[key] = data is not None
    for key, there_before in found.items():
        with report.finding(f"{table.name}: the item with the key {table.key.shown(key)}"):
            if not there_before and db.fetch(table, key) is None:
                report.found(f"{table.name}: an item is missing, but its last change created it")


def _verify_backup(db: Database, backup: Backup, report: VerifyReport, on_item: OnItem | None) -> None:
    name = f"backup {backup.arn}"
    table = Table(
        number=0,
        description=backup.description,
        seed=backup.seed,
        index_numbers={
            index["IndexName"]: number
            for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
            for number, index in enumerate(backup.description.get(member, ()))
        },
    )
    items = 0
    rows = db.storage.execute(f"SELECT key, id, size, item FROM {backup.rows}")
    for key, row_id, size, data in report.each(rows):
        items += 1
        with report.finding(f"{name}: item {row_id}"):
            checked_row(table, key, row_id, size, data)
        item = _verify_item(table, f"{name}: item {row_id}", key, size, data, report)
        if item is not None and on_item is not None:
            on_item(f"{name}, item {_key_text(table, item)}", item)
    if backup.items is not None and items != backup.items:
        report.found(f"{name}: has {items} items, but the recorded number is {backup.items}")


def _key_text(table: Table, item: Item) -> str:
    return orjson.dumps({name: item[name] for name in sorted(table.key_names)}).decode()


def _same(one: bytes | None, other: bytes | None) -> bool:
    if one is None or other is None or one == other:
        return one == other
    try:
        return same_item(orjson.loads(one), orjson.loads(other))
    except (ValueError, TypeError, AttributeError):
        return False
