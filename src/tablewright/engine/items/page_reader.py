"""A page of items: a range of the keys of a table or an index, read in order.

Query, Scan and PartiQL's SELECT all use ``read_page``: the source (table or index), a range of its key bytes, and what
to do with each item. A page ends at its limit, or as ``page_limits`` says. Items that need no filter or projection are
not parsed, unless there are so many of them that the page may end. The stored bytes of an item go into the response;
projected items are serialized at once, so that nothing remains to be done for all of them at the end.

A page that takes long is read in slices (``slices``): each continues after the item that the last one ended with. A few
items are always read together, unless they are large: those are processed outside of the storage's turn, one by one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from time import thread_time
from typing import Any
from zlib import crc32

import orjson

from tablewright.dynamo import AttributeValue, Item, ValidationException, item_size, read_units
from tablewright.dynamo.expressions import ConditionProgram, ProjectionProgram
from tablewright.engine.database import Database, ReadPaused, Rows, checked_row, parsed_item
from tablewright.engine.items.consumed_capacity import Meter
from tablewright.engine.items.page_limits import PageFill
from tablewright.engine.slices import LARGE_ITEM, Sliced, beside, slice_end
from tablewright.engine.storage.checksums import NOT_COMPARABLE, DamagedRecord, damaged
from tablewright.engine.tables.table_schema import Index, Key, Table

# The rows that are fetched together: enough for most pages, and few enough if each has 400 KB, which can be more than a
# megabyte of JSON. Later fetches depend on the size of the first.
_FETCHED_FIRST = 12
_FETCHED_AT_ONCE = 32
_FETCHED_BYTES = 512 * 1024
# The bytes of items that are parsed and filtered without checking the clock.
_PARSED_TOGETHER = 16 * 1024
# The bytes that are parsed in the time of a comparison.
_COMPARED = 32


@dataclass(frozen=True, slots=True)
class Source:
    """What is read: a table, or one of its indexes."""

    table: Table
    index: Index | None

    @property
    def key(self) -> Key:
        return self.table.key if self.index is None else self.index.key

    @property
    def start_names(self) -> tuple[str, ...]:
        """The attributes that a position in this source consists of."""
        if self.index is None:
            return self.table.key.names
        return tuple(dict.fromkeys(self.table.key.names + self.index.key.names))

    def position(self, item: Mapping[str, AttributeValue]) -> bytes:
        row_key = self.table.row_key(item)
        return row_key if self.index is None else self.table.index_key(self.index, dict(item), row_key)

    def check_there(self, db: Database) -> None:
        """Refuse to continue with a table or index that was deleted between two slices."""
        table = db.table_again(self.table)
        if self.index is not None:
            found = table.indexes.get(self.index.name)
            if found is None or found.rows != self.index.rows:
                raise ValidationException(f"The table does not have the specified index: {self.index.name}")


@dataclass(slots=True)
class PageRead:
    """What to read for one page: a range of keys, and what to do with each item in it."""

    source: Source
    low: bytes = b""
    high: bytes | None = None
    forward: bool = True
    limit: int | None = None
    condition: ConditionProgram | None = None
    values: Mapping[str, AttributeValue] = field(default_factory=dict)
    projection: ProjectionProgram | None = None
    # An index read that needs attributes the index does not have (local indexes only).
    whole_items: bool = False
    # The partition key, where the range is within one partition.
    partition: Mapping[str, AttributeValue] | None = None


@dataclass(slots=True)
class Page:
    """The items of one page, and what was read for them."""

    # As JSON: the stored bytes of those that are returned as they are.
    contents: list[bytes] = field(default_factory=list)
    scanned: int = 0
    # Bytes read from the source, and from the table behind a local index.
    size: int = 0
    base_sizes: list[int] = field(default_factory=list)
    is_full: bool = False
    last: Item | None = None

    @property
    def items(self) -> list[orjson.Fragment]:
        """What a serializer makes the items from."""
        return list(map(orjson.Fragment, self.contents))

    @property
    def document(self) -> orjson.Fragment:
        """The same for all of them at once, which costs less."""
        return orjson.Fragment(b"[%b]" % b",".join(self.contents))


def read_page(db: Database, read: PageRead) -> Sliced[Page]:
    """Read one page; ``last`` is set unless it is the last page of the range."""
    source = read.source
    table, index = source.table, source.index
    page = Page()
    is_whole = index is None or index.projected is None
    fill = PageFill(table.key.sort)
    take = _take_stored if is_whole and read.condition is None and read.projection is None else _take_parsed
    low, high = read.low, read.high
    while True:
        rows = db.rows_between(table, index, low, high, read.forward)
        try:
            last = take(rows, read, page, fill)
        except _NotWhole:
            rows.close()
            raise _damage(source, db.rows_between(table, index, low, high, read.forward, with_keys=True)) from None
        except ReadPaused as pause:
            yield
            source.check_there(db)
            low, high = (pause.position, high) if read.forward else (low, pause.position)
            continue
        rows.close()
        if last is None:
            return page
        if isinstance(last, _LargeRow):
            item: Item = yield from beside(partial(_take_large, last, read, page, fill))
            source.check_there(db)
        else:
            item = orjson.loads(last) if isinstance(last, bytes) else last
        if page.is_full:
            page.last = {name: item[name] for name in source.start_names}
            return page
        yield
        source.check_there(db)
        if read.forward:
            low = source.position(item) + b"\x00"
        else:
            high = source.position(item)


@dataclass(slots=True)
class _LargeRow:
    """A row that is processed outside of the storage's turn. If it is returned unchanged, it is done already."""

    size: int
    data: bytes
    is_stored: bool


def _take_large(row: _LargeRow, read: PageRead, page: Page, fill: PageFill) -> Item:
    item = parsed_item(row.data)
    if not row.is_stored:
        _take_item(item, row.size, row.data, read, page, fill)
    elif not page.is_full:
        page.scanned = len(page.contents)
        page.is_full = fill.add(row.size, item)
    return item


class _NotWhole(Exception):
    """One of the rows is damaged."""


def _checked(whole_crc: int, rows: list[tuple[Any, ...]]) -> tuple[tuple[int, ...], list[bytes]]:
    """The sizes and contents of rows, unless one of them is damaged."""
    sizes, items = zip(*rows, strict=True)
    try:
        crcs = set(map(crc32, items, sizes))
    except NOT_COMPARABLE:
        raise _NotWhole from None
    if crcs != {whole_crc}:
        raise _NotWhole
    return sizes, [item[:-4] for item in items]


def _damage(source: Source, rows: Rows) -> DamagedRecord:
    """What is wrong with the first row that is damaged, read once more with its key."""
    table, index = source.table, source.index
    for key, row_key, size, item in rows:
        if index is not None and row_key is None:
            where = f"{index.key.shown(key)} of index {index.name}"
            return damaged(f"table {table.name}: the entry {where} points to no item, and")
        try:
            checked_row(table, row_key, 0, size, item)
        except DamagedRecord as error:
            return error
    return damaged(f"table {table.name}: an item that was read a moment ago")


def _take_stored(rows: Rows, read: PageRead, page: Page, fill: PageFill) -> bytes | _LargeRow | None:
    """Fill a page with stored bytes; returns those of the item that page or slice end with, or None at the end."""
    items, limit, whole_crc = page.contents, read.limit, read.source.table.whole_crc
    until, wanted = 0.0, _FETCHED_FIRST
    while some := rows.fetchmany(wanted if limit is None else min(wanted, limit - len(items))):
        sizes, contents = _checked(whole_crc, some)
        total = sum(sizes)
        if fill.take_all(total, contents):
            page.size += total
            items += contents
        else:
            if not until:
                until = slice_end(is_first=not items)
            for size, data in zip(sizes, contents, strict=True):
                page.size += size
                items.append(data)
                if len(data) > LARGE_ITEM:
                    if len(items) == limit:
                        page.scanned, page.is_full = limit, True
                    return _LargeRow(size, data, is_stored=True)
                if fill.add(size, data):
                    page.scanned, page.is_full = len(items), True
                    return data
                if len(data) > _PARSED_TOGETHER and len(items) != limit and thread_time() > until:
                    return data
        if len(items) == limit:
            page.scanned, page.is_full = limit, True
            return contents[-1]
        if len(some) < wanted and isinstance(rows, sqlite3.Cursor):
            # There are no more (rows of the past may come in smaller numbers). Most pages end here, and looking at the
            # clock is not cheap.
            break
        if not until:
            until = slice_end(is_first=len(items) == wanted)
        if thread_time() > until:
            return contents[-1]
        wanted = min(_FETCHED_AT_ONCE, 1 + _FETCHED_BYTES * len(some) // sum(map(len, contents)))
    page.scanned = len(items)
    return None


def _take_parsed(rows: Rows, read: PageRead, page: Page, fill: PageFill) -> Item | _LargeRow | None:
    """Fill a page with items that have to be parsed, to filter or project them; returns the item that page or slice
    end with, or None at the end.
    """
    condition = read.condition
    together = 0
    weight = 0 if condition is None else condition.weight * _COMPARED
    until = slice_end(is_first=not page.scanned)
    for row in rows:
        (size,), (data,) = _checked(read.source.table.whole_crc, [row])
        if len(data) > LARGE_ITEM:
            return _LargeRow(size, data, is_stored=False)
        whole: Item = orjson.loads(data)
        _take_item(whole, size, data, read, page, fill)
        if page.is_full:
            return whole
        together += len(data) + weight
        if together > _PARSED_TOGETHER or page.scanned % _FETCHED_AT_ONCE == 0:
            if thread_time() > until:
                return whole
            together = 0
    return None


def _take_item(whole: Item, size: int, data: bytes, read: PageRead, page: Page, fill: PageFill) -> None:
    """Filter and project one item, and count it."""
    index, item = read.source.index, whole
    page.scanned += 1
    if index is not None and index.projected is not None:
        stored = index.entry(item)
        if read.whole_items:
            page.base_sizes.append(size)
        else:
            item = stored
        size = item_size(stored)
    page.size += size
    full = fill.add_parsed(size, item, data if item is whole else item)
    if read.condition is None or read.condition.evaluate(item, read.values):
        if read.projection is not None:
            item = read.projection.apply(item)
        page.contents.append(data if item is whole else orjson.dumps(item))
    page.is_full = full or page.scanned == read.limit


def meter_page(meter: Meter, read: PageRead, page: Page, consistent: bool) -> None:
    """Charge a page to the index it was read from, and what a local index fetched from the table to the table."""
    source, units = read.source, read_units(page.size, consistent)
    key = None if read.partition is None else dict(read.partition)
    if source.index is None:
        meter.table(source.table, units, key)
    else:
        # A local index has the partition key of its table; a global one fetches nothing.
        behind = sum(read_units(size, consistent) for size in page.base_sizes)
        meter.table(source.table, behind, None if source.index.is_global else key)
        meter.index(source.table, source.index, units, key)
