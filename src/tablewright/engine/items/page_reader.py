"""A page of items: a range of the keys of a table or an index, read in order.

Query, Scan and PartiQL's SELECT come down to ``read_page``: the source (table or index), a range of its key bytes, and
what to do with each item. A page ends at its limit, or where ``page_limits`` says. Items that need no filter or
projection are not parsed, unless there are so many of them that the page may end: the stored bytes go into the
response.

A page that takes long is read in slices (``slices``): each goes on behind the item that the last one ended with. A few
items are always read together, unless they are large.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import orjson

from tablewright.dynamo import AttributeValue, Item, item_size, read_units
from tablewright.dynamo.expressions import ConditionProgram, ProjectionProgram
from tablewright.engine.database import Database
from tablewright.engine.items.consumed_capacity import Meter
from tablewright.engine.items.page_limits import PageFill
from tablewright.engine.slices import SLICE_BYTES, Sliced, slice_end
from tablewright.engine.tables.table_schema import Index, Key, Table

# The rows that are fetched together: enough for most pages, and few enough where each has 400 KB.
_FETCHED_AT_ONCE = 32


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
    """The items of one page, and what reading them took."""

    items: list[Any] = field(default_factory=list)
    scanned: int = 0
    # Bytes read from the source, and from the table behind a local index.
    size: int = 0
    base_sizes: list[int] = field(default_factory=list)
    is_full: bool = False
    last: Item | None = None


def read_page(db: Database, read: PageRead) -> Sliced[Page]:
    """Read one page; ``last`` is set unless it is the last page of the range."""
    source = read.source
    index = source.index
    if index is None:
        columns, table = "size, item", source.table.rows
        key = "key"
    else:
        columns, table = (
            "row.size, row.item",
            f"{index.rows} AS entry JOIN {source.table.rows} AS row ON row.id = entry.id",
        )
        key = "entry.key"
    order = "ASC" if read.forward else "DESC"
    page = Page()
    is_whole = index is None or index.projected is None
    fill = PageFill(source.table.key.sort)
    take = _take_stored if is_whole and read.condition is None and read.projection is None else _take_parsed
    low, high = read.low, read.high
    while True:
        upper = "" if high is None else f" AND {key} < ?"
        rows = db.storage.execute(
            f"SELECT {columns} FROM {table} WHERE {key} >= ?{upper} ORDER BY {key} {order}",
            (low,) if high is None else (low, high),
        )
        last = take(rows, read, page, fill, slice_end())
        rows.close()
        if last is None:
            return page
        item: Item = orjson.loads(last)
        if page.is_full:
            page.last = {name: item[name] for name in source.start_names}
            return page
        yield
        if read.forward:
            low = source.position(item) + b"\x00"
        else:
            high = source.position(item)


def _take_stored(rows: sqlite3.Cursor, read: PageRead, page: Page, fill: PageFill, until: float) -> bytes | None:
    """Fill a page with stored bytes; gives those of the item that page or slice end with, or None at the end."""
    items, limit = page.items, read.limit
    while some := rows.fetchmany(_FETCHED_AT_ONCE if limit is None else min(_FETCHED_AT_ONCE, limit - len(items))):
        total = sum([size for size, _ in some])
        contents = [data for _, data in some]
        if fill.take_all(total, contents):
            page.size += total
            items += map(orjson.Fragment, contents)
        else:
            for size, data in some:
                page.size += size
                items.append(orjson.Fragment(data))
                if fill.add(size, data):
                    page.scanned, page.is_full = len(items), True
                    return data  # type: ignore[no-any-return]
        if len(items) == limit:
            page.scanned, page.is_full = limit, True
            return contents[-1]  # type: ignore[no-any-return]
        if perf_counter() > until:
            return contents[-1]  # type: ignore[no-any-return]
    page.scanned = len(items)
    return None


def _take_parsed(rows: sqlite3.Cursor, read: PageRead, page: Page, fill: PageFill, until: float) -> bytes | None:
    """Fill a page with items that have to be parsed: to filter them, or to project them."""
    index, condition, projection = read.source.index, read.condition, read.projection
    entry = index.entry if index is not None and index.projected is not None else None
    for size, data in rows:
        page.scanned += 1
        item: Item = orjson.loads(data)
        if entry is not None:
            stored = entry(item)
            if read.whole_items:
                page.base_sizes.append(size)
            else:
                item = stored
            size = item_size(stored)
        page.size += size
        if condition is None or condition.evaluate(item, read.values):
            page.items.append(item if projection is None else projection.apply(item))
        page.is_full = fill.add(size, item) or page.scanned == read.limit
        together = size < SLICE_BYTES and page.scanned % _FETCHED_AT_ONCE
        if page.is_full or (not together and perf_counter() > until):
            return data  # type: ignore[no-any-return]
    return None


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
