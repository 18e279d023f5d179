"""A database as it was at a moment, for the reading operations: made from the present rows and the history of the
images that were replaced since.

    the present row ─┐
                     ├─▶  a key changed since the moment has the image that its first change replaced, any other its row
    the history ─────┘

Tables and indexes are the present ones, with the items of then, as in a restore. A database serves one request. If it
needs more of the history than a slice can process, it raises ``NeedsChanges``: the caller processes the changes in
slices, and starts the operation over, since a read leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from time import thread_time
from typing import Any, NamedTuple, NoReturn

from tablewright.dynamo import Item, ValidationException
from tablewright.engine.backups.point_in_time import check_recovery, check_time, history
from tablewright.engine.database import Database, Images, ReadPaused, Row, Rows
from tablewright.engine.past.changes_by_key import ChangesByKey, changes_by_key
from tablewright.engine.slices import Sliced, slice_end
from tablewright.engine.storage.checksums import sealed
from tablewright.engine.tables.table_schema import Index, Table

__all__ = ["NeedsChanges", "PastDatabase", "item_at", "read_only"]

# Changes made by others between two slices are processed at once, if there are no more than these.
_CAUGHT_UP_AT_ONCE = 1000
_ROWS_AT_ONCE = 32
_CHANGES_AT_ONCE = 128


class NeedsChanges(Exception):
    """An operation cannot continue until changes of a table have been processed."""

    def __init__(self, table: Table, index: Index | None = None) -> None:
        super().__init__(table.name)
        self.table = table
        self.index = index


@dataclass(frozen=True, slots=True)
class _Moment:
    """The change of a table that the moment stands for, and the processed changes after it."""

    point: int
    changes: ChangesByKey
    # As it was when the change was found: if it is another, the history is another too.
    known: object

    def holds(self, db: Database, table: Table) -> bool:
        return self.changes is db.changes_by_key and self.known is self.changes.known_of(table)


def read_only() -> ValidationException:
    return ValidationException(
        "Tables as they were at an earlier time cannot be changed: write to the engine itself, not to engine.at()"
    )


def _both(index: Index | None) -> tuple[Index | None, ...]:
    """What has to be processed to read a table or an index."""
    return (None,) if index is None else (None, index)


def item_at(db: Database, changes: ChangesByKey, table: Table, key: bytes, point: int) -> Row | None:
    """The row of a key after a change; the changes since must have been processed."""
    sequence = changes.first_change(table, key, point)
    if sequence is None:
        return Database.fetch(db, table, key)
    (change,) = history(db, table, sequence, sequence)
    return change.row


class PastDatabase(Database):
    """A database at a moment. Changes are refused."""

    def __init__(self, db: Database, time: float) -> None:
        # Not initialized like a database: it shares everything with the one that it belongs to.
        self._db = db
        self._time = time
        self._moments: dict[int, _Moment] = {}
        self.storage = db.storage
        self.clock = db.clock
        self.random = db.random
        self.region = db.region
        self.account = db.account
        self.tables = db.tables
        self.unfinished_copies = {}
        self._watches = []
        self.stream_reads = {}

    def begin_slice(self) -> None:
        """Others may have changed tables, or have caused them to be read again."""
        self.tables = self._db.tables

    def look_at(self, needed: NeedsChanges) -> Sliced[None]:
        """Process, in slices, the changes that an operation needs of a table."""
        table, changes = needed.table, changes_by_key(self._db)
        known = changes.known_of(table)
        point = yield from changes.last_until(self._db, table, self._time)
        moment = self._moments[table.number] = _Moment(point, changes, known)
        until = slice_end()
        for index in _both(needed.index):
            while moment.holds(self._db, table) and not changes.look_at_some(self._db, table, index, point):
                if thread_time() > until:
                    yield
                    self.begin_slice()
                    self.table_again(table)
                    until = slice_end()

    # -- tables -----------------------------------------------------------------------------------------------------

    def table(self, name: str) -> Table:
        table = super().table(name)
        self.check_time(table)
        return table

    def check_time(self, table: Table) -> None:
        """Refuse a table that cannot be read as it was at the moment."""
        check_recovery(table)
        check_time(self, table, self._time)

    def table_again(self, table: Table) -> Table:
        found = super().table_again(table)
        self.check_time(found)
        return found

    # -- items ------------------------------------------------------------------------------------------------------

    def fetch(self, table: Table, key: bytes) -> Row | None:
        moment = self._ready(table, None)
        return item_at(self._db, moment.changes, table, key, moment.point)

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
        moment = self._ready(table, index)
        return _PastRows(self._db, table, index, moment, low, high, forward, 0 if with_keys else 2)

    def _ready(self, table: Table, index: Index | None) -> _Moment:
        """The moment of a table, with all changes since processed."""
        moment = self._moments.get(table.number)
        if moment is None or not moment.holds(self._db, table):
            raise NeedsChanges(table, index)
        for each in _both(index):
            if moment.changes.missing(self._db, table, each, moment.point) > _CAUGHT_UP_AT_ONCE:
                raise NeedsChanges(table, index)
            while not moment.changes.look_at_some(self._db, table, each, moment.point):
                pass
        return moment

    def overwrite(self, table: Table, key: bytes, data: bytes, size: int) -> NoReturn:
        raise read_only()

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
    ) -> NoReturn:
        raise read_only()


class _PastRow(NamedTuple):
    """A row in its place: its key there, its own key, and its content."""

    place: bytes
    # None if an entry of an index points to no row, which is damage.
    key: bytes | None
    size: int
    item: bytes


@dataclass(slots=True)
class _PastRows:
    """The rows of a range as they were: the present ones that were not changed since, merged with replaced images."""

    db: Database
    table: Table
    index: Index | None
    moment: _Moment
    low: bytes
    high: bytes | None
    forward: bool
    # The requested columns of a row begin here.
    begin: int
    _found: list[_PastRow] = field(default_factory=list)
    _is_over: bool = False
    _until: float = field(default_factory=slice_end)

    def fetchmany(self, size: int, /) -> list[Any]:
        """Some rows, at most so many; none only at the end."""
        while not (self._found or self._is_over):
            self._found = self._look(min(size, _ROWS_AT_ONCE))
            if not (self._found or self._is_over) and thread_time() > self._until:
                position = self.low if self.forward else self.high
                assert position is not None
                raise ReadPaused(position)
        rows = self._found[:size]
        del self._found[:size]
        return [row[self.begin :] for row in rows]

    def __iter__(self) -> Iterator[Any]:
        while rows := self.fetchmany(_ROWS_AT_ONCE):
            yield from rows

    def close(self) -> None:
        """Nothing is open."""

    def _look(self, size: int) -> list[_PastRow]:
        """Read the next few present rows, and the changes of the keys between them."""
        cursor = Database.rows_between(
            self.db, self.table, self.index, self.low, self.high, self.forward, with_keys=True
        )
        rows = [_PastRow(*row) for row in cursor.fetchmany(size)]
        cursor.close()
        if len(rows) == size:
            rest = self._go_on_after(rows[-1].place)
        else:
            rest, self._is_over = (self.low, self.high), True
        changes, point = self.moment.changes, self.moment.point
        low, high = self._between(rest)
        changed = changes.changed(self.table, self.index, low, high, self.forward, _CHANGES_AT_ONCE, point)
        if len(changed) == _CHANGES_AT_ONCE:
            edge = changed[-1].key
            rest, self._is_over = self._go_on_after(edge), False
            rows = [row for row in rows if (row.place <= edge if self.forward else row.place >= edge)]
        since = {key for key, sequence in changed if sequence is not None}
        if self.index is None:
            rows = [row for row in rows if row.place not in since]
        else:
            rows = [row for row in rows if row.key is None or changes.first_change(self.table, row.key, point) is None]
        rows += self._replaced(sequence for _, sequence in changed if sequence is not None)
        rows.sort(key=lambda row: row.place, reverse=not self.forward)
        self.low, self.high = rest
        return rows

    def _go_on_after(self, place: bytes) -> tuple[bytes, bytes | None]:
        return (place + b"\x00", self.high) if self.forward else (self.low, place)

    def _between(self, rest: tuple[bytes, bytes | None]) -> tuple[bytes, bytes | None]:
        """The part of the range that has been read, if this is the rest; all of it at the end."""
        if self._is_over:
            return self.low, self.high
        return (self.low, rest[0]) if self.forward else (rest[1] or b"", self.high)

    def _replaced(self, sequences: Iterator[int]) -> Iterator[_PastRow]:
        """The images that changes replaced; only those that are the first of their item since the moment."""
        table, index, moment = self.table, self.index, self.moment
        for sequence in sequences:
            ((_, _, key, row),) = history(self.db, table, sequence, sequence)
            if row is None:
                continue
            if index is None:
                place = key
            elif moment.changes.first_change(table, key, moment.point) == sequence:
                place = table.index_key(index, row.item, key)
            else:
                continue
            yield _PastRow(place, key, row.size, sealed(table.seed, row.size, row.data))
