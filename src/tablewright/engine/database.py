"""The base of the operations: the tables, the clock, and the only path by which an item changes.

``fetch`` reads a row; ``change`` replaces it, with everything that depends on it. Index entries, expiry entries, the
change log and the history cannot get out of sync with the items: they are written by the same few lines, in the same
SQLite transaction, whether the change came from a put, an update, a transaction, a PartiQL statement or the expiry
sweep. ``overwrite`` is ``change`` for tables without anything that depends on an item, and saves reading the old one.
No other code changes an item; a restore fills a table that is not in use yet (``backups.point_in_time.copy_state``).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, Protocol
from zlib import crc32

import orjson

from tablewright.dynamo import (
    AccessDeniedException,
    AttributeValue,
    Item,
    ResourceNotFoundException,
    ValidationException,
    same_item,
)
from tablewright.engine.large_documents import LargeDocument
from tablewright.engine.storage.checksums import (
    NOT_COMPARABLE,
    SEAL_BYTES,
    DamagedRecord,
    check_record,
    damaged,
    history_checksum,
    log_checksum,
    record_checksum,
    sealed,
)
from tablewright.engine.storage.group_commit import Storage
from tablewright.engine.storage.key_encoding import row_id
from tablewright.engine.tables.table_schema import Index, Table

# sqlite3 binds a bytearray as it is; for bytes, and for None, it first looks for an adapter.
_blob = bytearray

# An empty principal or image is stored as NULL.
_LOG = (
    "INSERT INTO log (stream, at, kind, principal, checksum, item_key, old, new) "
    "VALUES (?, ?, ?, nullif(?, ''), ?, ?, nullif(?, x''), nullif(?, x''))"
)

# An item of so many bytes takes milliseconds to parse.
_LARGE = 256 * 1024

# Items deleted before checking whether the file should be shorter.
_DELETES_BETWEEN_LOOKS = 1000
# Most of an item of this size is in pages of its own.
_SEVERAL_PAGES = 32 * 1024

# Expiry times beyond this (year 292 billion) cannot be stored, and never come.
_LAST_SECOND = 2**62


@dataclass(slots=True)
class Row:
    """An item as it is stored: the same bytes that a response has."""

    id: int
    size: int
    data: bytes
    _item: Item | None = None

    @property
    def item(self) -> Item:
        if self._item is None:
            self._item = parsed_item(self.data)
        return self._item


def parsed_item(data: bytes) -> Item:
    """A stored item; a large one in pieces, so that other threads get to run in between."""
    item: Item = orjson.loads(data) if len(data) < _LARGE else LargeDocument().parse(data)
    return item


def checked_row(table: Table, key: bytes, rowid: int, size: int, item: bytes) -> Row:
    """The row of a key, unless it is damaged."""
    try:
        if crc32(item, size) == table.whole_crc:
            return Row(rowid, size, item[:-4])
    except NOT_COMPARABLE:
        pass
    raise damaged_item(table, key)


def damaged_item(table: Table, key: bytes) -> DamagedRecord:
    return damaged(f"table {table.name}: the item with the key {table.key.shown(key)}")


@dataclass(slots=True)
class Images:
    """A new item as stored; and the attributes of it and of the previous one that keys and expiry are made from."""

    # Sealed, and as SQLite takes it: to make that of a megabyte takes as long as to store it. Without an item, nothing.
    stored: bytearray
    before: Item | None
    after: Item | None
    # Whether the items are known to be equal.
    is_same: bool = False

    @property
    def data(self) -> bytes:
        """The new item as JSON."""
        return bytes(self.stored[:-SEAL_BYTES])

    def is_stored_in(self, row: Row) -> bool:
        """Whether the new item equals a row's, byte by byte."""
        return len(self.stored) == len(row.data) + SEAL_BYTES and self.stored.startswith(row.data)


@dataclass(slots=True, eq=False)
class Watch:
    """Keys of rows, by table, that a later slice continues with, each with the reader's own data."""

    keys: dict[tuple[int, bytes], int] = field(default_factory=dict)
    changed: set[int] = field(default_factory=set)


@dataclass(slots=True)
class RowCopy:
    """An unfinished copy of the rows of an SQL table: ``rows`` has all of ``source`` up to a rowid."""

    source: str
    rows: str
    position: int = 0
    # The number of its rows; None if unknown, since changes were rolled back.
    count: int | None = 0
    # Whether the source was discarded, or emptied, since.
    is_cut: bool = False

    def has_grown(self, rows: int) -> None:
        if self.count is not None:
            self.count += rows


class Rows(Protocol):
    """Rows of items, one after the other: a cursor of SQLite, or what acts as one."""

    def fetchmany(self, size: int, /) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...

    def close(self) -> None: ...


class ReadPaused(Exception):
    """Rows took long to find, and none is found yet: the read continues from ``position``, in another slice."""

    def __init__(self, position: bytes) -> None:
        super().__init__(position)
        self.position = position


class ForgetsHistory(Protocol):
    """A cache of histories, which has to forget them when they are discarded or emptied."""

    def forget(self, source: str) -> None: ...


class Schedule(Protocol):
    def __call__(self, seconds: float = 0.0) -> None: ...


def _never(seconds: float = 0.0) -> None:
    """Without an engine around it, a database has no background work."""


class Database:
    """The state behind one engine. Every method expects to be called inside a turn of the storage."""

    def __init__(
        self, storage: Storage, clock: Callable[[], float], entropy: random.Random, region: str, account: str
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.random = entropy
        self.region = region
        self.account = account
        # Called when there is background work to do, now or in so many seconds.
        self.on_schedule: Schedule = _never
        self.tables: dict[str, Table] = {}
        self._deletes = 0
        # When records of a stream were last read, by its number; or when it was first known that they never were.
        self.stream_reads: dict[int, float] = {}
        # By the SQL table that each is made in.
        self.unfinished_copies: dict[str, RowCopy] = {}
        # Whether there may be any, and how they are counted (``on_demand.count_items``).
        self.has_uncounted_backups = True
        self.counting_backups: Iterator[Any] | None = None
        self._watches: list[Watch] = []
        # Created when the past is first read (``past.changes_by_key``).
        self.changes_by_key: ForgetsHistory | None = None
        self.load_tables()

    # -- tables -------------------------------------------------------------------------------------------------

    def load_tables(self) -> None:
        """Read the tables from storage."""
        rows = self.storage.execute("SELECT number, name, definition, checksum FROM tables").fetchall()
        self.tables = {}
        for number, name, definition, checksum in rows:
            check_record(f"the definition of table {name} ({number})", checksum, number, name, definition)
            table = Table(number=number, **orjson.loads(definition))
            self.tables[table.name] = table

    def after_rollback(self) -> None:
        """Read again what a rollback may have undone; copies whose SQL table it undid are dropped."""
        self.load_tables()
        for watch in self._watches:
            watch.changed.update(watch.keys.values())
        self.changes_by_key = None
        there = {name for (name,) in self.storage.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        for name in self.unfinished_copies.keys() - there:
            del self.unfinished_copies[name]
        for copy in self.unfinished_copies.values():
            copy.count = None
        self.has_uncounted_backups = True

    def save_table(self, table: Table) -> None:
        """Store a table's definition, and use it from now on."""
        definition = {
            "description": table.description,
            "seed": table.seed,
            "tags": table.tags,
            "time_to_live": table.time_to_live,
            "stream": table.stream,
            "recovery_days": table.recovery_days,
            "recovery_begins": table.recovery_begins,
            "next_index": table.next_index,
            "index_numbers": table.index_numbers,
        }
        columns = (table.number, table.name, orjson.dumps(definition))
        self.storage.write()(
            "INSERT INTO tables (number, name, definition, checksum) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (number) DO UPDATE SET definition = excluded.definition, checksum = excluded.checksum",
            (*columns, record_checksum(*columns)),
        )
        self.tables[table.name] = table

    def table(self, name: str) -> Table:
        """The table with that name or ARN, for an operation on its items."""
        table = self.tables.get(name)
        if table is None and name.startswith("arn:"):
            self.check_arn(name)
            table = self.tables.get(name.rpartition("/")[2])
        if table is None or table.is_being_restored:
            raise ResourceNotFoundException("Requested resource not found")
        return table

    def table_again(self, table: Table) -> Table:
        """The current state of a table that an operation found in an earlier slice.

        The operation is refused if it was deleted, whether or not another one has its name now.
        """
        found = self.tables.get(table.name)
        if found is None or found.number != table.number:
            raise ResourceNotFoundException("Requested resource not found")
        return found

    def check_arn(self, arn: str) -> None:
        """Refuse an ARN of another partition, region or account."""
        _, partition, _, region, account, _ = arn.split(":", 5)
        if partition != "aws":
            raise ValidationException(f"1 validation error detected: Invalid AWS partition in '{arn}'")
        if region != self.region:
            raise ValidationException(f"1 validation error detected: Invalid AWS region in '{arn}'")
        if account != self.account:
            raise AccessDeniedException("Access is denied")

    # -- settings -----------------------------------------------------------------------------------------------

    def setting(self, name: str) -> int | None:
        """A number that the engine stores for itself."""
        found = self.storage.execute("SELECT value, checksum FROM settings WHERE name = ?", (name,)).fetchone()
        if found is None:
            return None
        check_record(f"the setting {name!r}", found[1], name, found[0])
        return int(found[0])

    def save_setting(self, name: str, value: int) -> None:
        self.storage.write()(
            "INSERT OR REPLACE INTO settings (name, value, checksum) VALUES (?, ?, ?)",
            (name, value, record_checksum(name, value)),
        )

    def forget_setting(self, name: str) -> None:
        self.storage.write()("DELETE FROM settings WHERE name = ?", (name,))

    # -- items --------------------------------------------------------------------------------------------------

    def fetch(self, table: Table, key: bytes) -> Row | None:
        blob = _blob(key)
        found = self.storage.execute(table.select_row, (row_id(key), blob, blob)).fetchone()
        if found is None:
            return None
        rowid, size, item = found
        try:
            # As ``checked_row`` does, without a call.
            if crc32(item, size) == table.whole_crc:
                return Row(rowid, size, item[:-4])
        except NOT_COMPARABLE:
            pass
        raise damaged_item(table, key)

    @contextmanager
    def watching(self) -> Iterator[Watch]:
        """Notes which watched rows are changed, from slice to slice."""
        watch = Watch()
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def _note_change(self, table: Table, key: bytes) -> None:
        for watch in self._watches:
            position = watch.keys.get((table.number, key))
            if position is not None:
                watch.changed.add(position)

    def rows_between(
        self,
        table: Table,
        index: Index | None,
        low: bytes,
        high: bytes | None,
        forward: bool,
        *,
        with_keys: bool = False,
    ) -> Rows:
        """Size and item of the rows of a table, or of an index, whose keys are in a range, in key order; if asked for,
        preceded by its key there, and its own.
        """
        # As bytearrays, and not as bytes.
        parameters = (_blob(low),) if high is None else (_blob(low), _blob(high))
        entries = None if index is None else index.rows
        return self.storage.execute(_range(table.rows, entries, high is not None, forward, with_keys), parameters)

    def overwrite(self, table: Table, key: bytes, data: bytes, size: int) -> None:
        """Put an item without reading the one that it replaces; only while not ``table.needs_old_image``."""
        if self.storage.lacks_room:
            self.check_room(table, self.fetch(table, key), size)
        execute = self.storage.write(table.number, key)
        if self._watches:
            self._note_change(table, key)
        item = _blob(sealed(table.seed, size, data))
        if len(item) > _SEVERAL_PAGES:
            self.storage.checkpoint_pace.wrote_large(len(item))
        if not execute(table.put_row, (row_id(key), _blob(key), size, item)).rowcount:
            execute(
                f"INSERT INTO {table.rows} (key, size, item) VALUES (?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET size = excluded.size, item = excluded.item",
                (key, size, item),
            )
        if self.unfinished_copies:
            (rowid,) = execute(f"SELECT id FROM {table.rows} WHERE key = ?", (key,)).fetchone()
            self._follow_copies(table, rowid)

    def change(
        self,
        table: Table,
        key: bytes,
        old: Row | None,
        new: Item | None,
        size: int = 0,
        principal: str = "",
        at: float | None = None,
        images: Images | None = None,
    ) -> None:
        """Replace ``old``, the row that ``key`` has now, by ``new``; None stands for no item.

        With ``images``, ``new`` need not be complete. ``at`` is the time of the change in the history: one for all
        changes of a transaction, so that no point in time has half of them.
        """
        if new is None:
            if old is None:
                return
            if self.storage.lacks_room and (kept := _images_kept(table)):
                # Its own pages are free before they are needed again.
                self.storage.check_room_for(old.size * (kept - 1))
            data = b""
        elif images is not None:
            data = b""
            if old is not None and images.is_stored_in(old):
                return
            if self.storage.lacks_room:
                self.check_room(table, old, size)
        else:
            data = orjson.dumps(new)
            if old is not None and old.data == data:
                return
            if self.storage.lacks_room:
                self.check_room(table, old, size)
        execute = self.storage.write(table.number, key)
        if self._watches:
            self._note_change(table, key)
        stored = _blob()
        if new is not None:
            stored = _blob(sealed(table.seed, size, data)) if images is None else images.stored
            if len(stored) > _SEVERAL_PAGES:
                self.storage.checkpoint_pace.wrote_large(len(stored) * (1 + _images_kept(table)))
        if old is None:
            rowid = self._insert(table, key, size, stored)
        elif new is None:
            rowid = old.id
            execute(table.delete_row, (rowid,))
            self._deletes += 1
            if self._deletes % _DELETES_BETWEEN_LOOKS == 0:
                self.on_schedule()
        else:
            rowid = old.id
            execute(table.update_row, (size, stored, rowid))
        if self.unfinished_copies:
            self._follow_copies(table, rowid)
        if not table.needs_old_image:
            return
        if table.recovery_days is not None:
            self._record_history(table, key, rowid, old, at)
            if not table.has_derived_rows:
                return
        before = images.before if images is not None else None if old is None else old.item
        self._replace_entries(table, key, rowid, before, new)
        if table.view_type is None:
            return
        if images is None:
            is_same = before is not None and new is not None and same_item(before, new)
        else:
            is_same = images.is_same
            data = b"" if new is None else images.data
        if not is_same:
            self._log(table, old, new if before is None else before, new is None, data, principal)

    def check_room(self, table: Table, old: Row | None, size: int) -> None:
        """While the disk is full, an item may only become smaller, and only if no old image is stored."""
        if old is None or size > old.size or table.recovery_days is not None or table.view_type is not None:
            self.storage.check_room()

    def _insert(self, table: Table, key: bytes, size: int, item: bytearray) -> int:
        """Insert a row under the rowid of its key, or another one if that is taken; returns the rowid."""
        execute = self.storage.execute
        rowid = row_id(key)
        if not execute(table.insert_row, (rowid, _blob(key), size, item)).rowcount:
            displaced = execute(f"INSERT INTO {table.rows} (key, size, item) VALUES (?, ?, ?)", (key, size, item))
            assert displaced.lastrowid is not None
            rowid = displaced.lastrowid
        return rowid

    def _follow_copies(self, table: Table, rowid: int) -> None:
        """Repeat a change of a row in unfinished copies that have it."""
        execute = self.storage.execute
        for copy in self.unfinished_copies.values():
            if copy.source == table.rows and rowid <= copy.position:
                deleted = execute(f"DELETE FROM {copy.rows} WHERE id = ?", (rowid,)).rowcount
                added = execute(f"INSERT INTO {copy.rows} SELECT * FROM {table.rows} WHERE id = ?", (rowid,)).rowcount
                copy.has_grown(added - deleted)

    def _replace_entries(self, table: Table, key: bytes, rowid: int, before: Item | None, after: Item | None) -> None:
        execute = self.storage.execute
        # Most changes touch no key, and comparing values is cheaper than encoding keys.
        if before is None or after is None or not _agree(before, after, table.index_key_names):
            left = _entries(table, before, after)
            entered = _entries(table, after, before)
            if left or entered:
                # The same in every index, as the item's own key is.
                tie_breaker = table.tie_breaker(after or before or {}, key)
                for index in left:
                    execute(index.delete, (_blob(index.key.bytes_of(before or {}) + tie_breaker),))
                for index in entered:
                    execute(index.insert, (_blob(index.key.bytes_of(after or {}) + tie_breaker), rowid))
        if table.time_to_live is not None:
            expired = expiry(before, table.time_to_live)
            expires = expiry(after, table.time_to_live)
            if expired != expires:
                if expired is not None:
                    execute(f"DELETE FROM {table.expiries} WHERE at = ? AND id = ?", (expired, rowid))
                if expires is not None:
                    execute(f"INSERT OR IGNORE INTO {table.expiries} (at, id) VALUES (?, ?)", (expires, rowid))

    def _record_history(self, table: Table, key: bytes, rowid: int, old: Row | None, at: float | None) -> None:
        """Record the image that a change replaced in the history."""
        moment = self.clock() if at is None else at
        size, item = 0, b""
        if old is not None:
            size, item = old.size, sealed(table.seed, old.size, old.data)
        checksum = history_checksum(moment, rowid, key, size, item)
        self.storage.execute(table.insert_history, (moment, rowid, _blob(key), size, checksum, _blob(item)))

    def _log(
        self, table: Table, old: Row | None, image: Item | None, is_removal: bool, data: bytes, principal: str
    ) -> None:
        """Append a change to the stream's log; ``data`` is the new item as stored, and ``image`` has its key."""
        kind = "INSERT" if old is None else "REMOVE" if is_removal else "MODIFY"
        assert image is not None
        view = table.view_type
        before = old.data if old is not None and view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES") else b""
        after = data if view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES") else b""
        item_key = orjson.dumps(table.key_of(image))
        assert table.stream is not None
        at = self.clock()
        checksum = log_checksum(table.stream, at, kind, principal, item_key, before, after)
        self.storage.execute(
            _LOG, (table.stream, at, kind, principal, checksum, _blob(item_key), _blob(before), _blob(after))
        )


@lru_cache(maxsize=1024)
def _range(rows: str, entries: str | None, is_bounded: bool, forward: bool, with_keys: bool) -> str:
    """Reads the rows of a table in key order or, through its entries, in that of an index."""
    if entries is None:
        key, columns, keys, source = "key", "size, item", "key, key, ", rows
    else:
        # Where an entry points to no row, its columns are NULL.
        key, columns, keys = "entry.key", "row.size, row.item", "entry.key, row.key, "
        source = f"{entries} AS entry LEFT JOIN {rows} AS row ON row.id = entry.id"
    upper = f" AND {key} < ?" if is_bounded else ""
    order = "ASC" if forward else "DESC"
    return f"SELECT {keys if with_keys else ''}{columns} FROM {source} WHERE {key} >= ?{upper} ORDER BY {key} {order}"


def _images_kept(table: Table) -> int:
    """How many times an item is stored again when it is deleted."""
    return (table.recovery_days is not None) + (table.view_type in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES"))


def _entries(table: Table, item: Item | None, other: Item | None) -> list[Index]:
    """The indexes that have an item, and not the other one under the same key."""
    if item is None:
        return []
    indexes = table.indexes_of(item)
    return indexes if other is None else [index for index in indexes if not _agree(item, other, index.key.names)]


def _agree(one: Item, other: Item, names: Sequence[str]) -> bool:
    """Whether two items have the same values for these attributes."""
    return [one.get(name) for name in names] == [other.get(name) for name in names]


def expiry(item: Item | None, attribute: str) -> int | None:
    """When an item expires, in epoch seconds; None without a number there."""
    value: AttributeValue | None = None if item is None else item.get(attribute)
    if value is None or "N" not in value:
        return None
    number: str = value["N"]
    seconds = int(number) if number.isdigit() and len(number) < 19 else Decimal(number)
    return int(seconds) if -_LAST_SECOND < seconds < _LAST_SECOND else None
