"""Query and Scan: a range of keys, walked in order, a page at a time.

Both come down to ``read_page``: the source (table or index), a range of its key bytes, and what to do with
each item. A page ends at its limit or at the item that takes it to 1 MB, counted before the filter. Items
that need no filter or projection are not parsed, unless there are so many of them that the page may end: the
stored bytes go into the response."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from tablewright.dynamo.attribute_values import (
    AttributeValue,
    Item,
    checked,
    item_size,
    page_size,
    page_size_bound,
)
from tablewright.dynamo.errors import RequestValidationException, ValidationException
from tablewright.dynamo.expressions import Condition, Projection, bind_bounds, check_parameters
from tablewright.dynamo.expressions.placeholders import hash_order
from tablewright.engine.database import Database
from tablewright.engine.items import legacy_parameters
from tablewright.engine.items.consumed_capacity import Meter, read_units
from tablewright.engine.items.item_operations import attributes_to_get, check_key_paths
from tablewright.engine.items.request_expressions import Parameters
from tablewright.engine.storage import key_encoding
from tablewright.engine.tables.table_schema import Index, Key, Table

_INVALID = "One or more parameter values were invalid: "
_START = "The provided starting key is invalid"
_PAGE_BYTES = 1024 * 1024
# The rows that are fetched together: enough for most pages, and few enough where each has 400 KB.
_AT_ONCE = 32

SortCondition = tuple[str, str, tuple[AttributeValue, ...]]
"""A sort key attribute, an operator and its operands."""


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
class Reading:
    """How the items of a range are read."""

    source: Source
    low: bytes = b""
    high: bytes | None = None
    forward: bool = True
    limit: int | None = None
    condition: Condition | None = None
    values: Mapping[str, AttributeValue] = field(default_factory=dict)
    projection: Projection | None = None
    # An index read that needs attributes the index does not have (local indexes only).
    whole_items: bool = False
    # The partition key, where the range is within one partition.
    partition: Mapping[str, AttributeValue] | None = None


@dataclass(slots=True)
class Page:
    items: list[Any] = field(default_factory=list)
    scanned: int = 0
    # Bytes read from the source, and from the table behind a local index.
    size: int = 0
    base_sizes: list[int] = field(default_factory=list)
    last: Item | None = None


def read_page(db: Database, reading: Reading) -> Page:
    source = reading.source
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
    order = "ASC" if reading.forward else "DESC"
    upper = "" if reading.high is None else f" AND {key} < ?"
    parameters = (reading.low,) if reading.high is None else (reading.low, reading.high)
    rows = db.storage.execute(
        f"SELECT {columns} FROM {table} WHERE {key} >= ?{upper} ORDER BY {key} {order}", parameters
    )
    page = Page()
    is_whole = index is None or index.projected is None
    fill = _Fill(source.table.key.sort)
    if is_whole and reading.condition is None and reading.projection is None:
        last = _take_stored(rows, reading.limit, page, fill)
    else:
        last = _take_parsed(rows, reading, page, fill)
    rows.close()
    if last is not None:
        item: Item = orjson.loads(last)
        page.last = {name: item[name] for name in source.start_names}
    return page


def _take_stored(rows: sqlite3.Cursor, limit: int | None, page: Page, fill: _Fill) -> bytes | None:
    """Fill a page with stored bytes; gives those of the item that the page ends with, or None at the end."""
    items = page.items
    while some := rows.fetchmany(_AT_ONCE if limit is None else min(_AT_ONCE, limit - len(items))):
        total = sum([size for size, _ in some])
        contents = [data for _, data in some]
        if fill.takes(total, contents):
            page.size += total
            items += map(orjson.Fragment, contents)
        else:
            for size, data in some:
                page.size += size
                items.append(orjson.Fragment(data))
                if fill.add(size, data):
                    page.scanned = len(items)
                    return data  # type: ignore[no-any-return]
        if len(items) == limit:
            page.scanned = limit
            return contents[-1]  # type: ignore[no-any-return]
    page.scanned = len(items)
    return None


def _take_parsed(rows: sqlite3.Cursor, reading: Reading, page: Page, fill: _Fill) -> bytes | None:
    """The same with what is projected of items, and of those only what the condition holds of."""
    index, condition, projection = reading.source.index, reading.condition, reading.projection
    entry = index.entry if index is not None and index.projected is not None else None
    for size, data in rows:
        page.scanned += 1
        item: Item = orjson.loads(data)
        if entry is not None:
            stored = entry(item)
            if reading.whole_items:
                page.base_sizes.append(size)
            else:
                item = stored
            size = item_size(stored)
        page.size += size
        if condition is None or condition.evaluate(item, reading.values):
            page.items.append(item if projection is None else projection.apply(item))
        if fill.add(size, item) or page.scanned == reading.limit:
            return data  # type: ignore[no-any-return]
    return None


class _Fill:
    """How full a page is. Items are measured only once their sizes say that it might be."""

    __slots__ = ("_bound", "_measured", "_sort_key", "_unmeasured")

    def __init__(self, sort: tuple[str, ...]) -> None:
        self._sort_key = sort[0] if sort else None
        self._measured = 0
        self._bound = 0
        self._unmeasured: list[bytes | Item] = []

    def takes(self, total: int, items: list[bytes]) -> bool:
        """Add some items, of so many bytes in total, if the page surely does not end with any of them."""
        bound = self._bound + page_size_bound(total, len(items))
        if bound >= _PAGE_BYTES:
            return False
        self._unmeasured += items
        self._bound = bound
        return True

    def add(self, size: int, item: bytes | Item) -> bool:
        """Whether the page ends with this item."""
        self._unmeasured.append(item)
        self._bound += page_size_bound(size)
        if self._bound < _PAGE_BYTES:
            return False
        for waiting in self._unmeasured:
            measurable = orjson.loads(waiting) if isinstance(waiting, bytes) else waiting
            self._measured += page_size(measurable, self._sort_key)
        self._unmeasured.clear()
        self._bound = self._measured
        return self._measured >= _PAGE_BYTES


# -- the operations ------------------------------------------------------------------------------------------


def query(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    check_parameters("Query", request)
    condition = legacy_parameters.condition_from_filter(request.get("QueryFilter"), request.get("ConditionalOperator"))
    attributes = attributes_to_get(request)
    start = _checked_start(request)
    if "KeyConditions" not in request and "KeyConditionExpression" not in request:
        raise ValidationException(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
        )
    parameters = Parameters(request)
    program = parameters.key_condition()
    condition = parameters.condition("FilterExpression") or condition
    projection = attributes or parameters.projection()
    parameters.finish()
    if program is None:
        conditions = legacy_parameters.bounds_from_key_conditions(request["KeyConditions"])
    else:
        conditions = program.bounds(parameters.values)
    try:
        _check_select(request)
    except RequestValidationException as error:
        raise error.counted() from None
    source = _source(db, request)
    if start is not None:
        if len(start) != len(source.start_names):
            raise ValidationException(_START)
        _check_start(source, start)
    partition, sort = bind_bounds(conditions, source.key.partition, source.key.sort)
    _check_key_types(source.key, partition, sort)
    low, high = bounds(source.key, partition, sort)
    reading = Reading(
        source,
        low,
        high,
        request.get("ScanIndexForward", True),
        request.get("Limit"),
        condition,
        parameters.values,
        partition=partition,
    )
    if start is not None:
        _check_table_start(source, start)
        _start_within(reading, partition, bool(sort), start)
    if projection is not None:
        check_key_paths(source.table, projection)
    if condition is not None:
        name = "QueryFilter" if "QueryFilter" in request else "Filter Expression"
        for attribute in source.key.names:
            if attribute in condition.top_level_attributes:
                raise ValidationException(
                    f"{name} can only contain non-primary key attributes: Primary key attribute: {attribute}"
                )
        _check_filter_projected(source, condition)
    _project(reading, request, projection)
    if condition is not None:
        check_key_paths(source.table, condition)
    return _respond(db, request, reading)


def scan(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    check_parameters("Scan", request)
    attributes = attributes_to_get(request)
    condition = legacy_parameters.condition_from_filter(request.get("ScanFilter"), request.get("ConditionalOperator"))
    start = _checked_start(request)
    _check_segment(request)
    parameters = Parameters(request)
    condition = parameters.condition("FilterExpression", size_told=True) or condition
    projection = attributes or parameters.projection()
    parameters.finish()
    _check_select(request)
    source = _source(db, request)
    segment, total = request.get("Segment", 0), request.get("TotalSegments", 1)
    low, high = key_encoding.segment_bounds(segment, total)
    reading = Reading(source, low, high, limit=request.get("Limit"), condition=condition, values=parameters.values)
    if start is not None:
        if len(start) != len(source.start_names):
            raise ValidationException(
                f"{_START}: The provided key element does not match the schema" if source.index is None else _START
            )
        if source.index is not None:
            _check_start(source, start)
    _project(reading, request, projection)
    if start is not None:
        _check_table_start(source, start)
        position = source.position(start)
        if position < low or (high is not None and position >= high):
            raise ValidationException(
                f"{_START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
                f"TotalSegments: {total} Segment: {segment}"
            )
        reading.low = position + b"\x00"
    for program in (projection, condition):
        if program is not None:
            check_key_paths(source.table, program)
    return _respond(db, request, reading)


def _respond(db: Database, request: Mapping[str, Any], reading: Reading) -> dict[str, Any]:
    page = read_page(db, reading)
    response: dict[str, Any] = {"Count": len(page.items), "ScannedCount": page.scanned}
    if request.get("Select") != "COUNT":
        response["Items"] = page.items
    if page.last is not None:
        response["LastEvaluatedKey"] = page.last
    meter = Meter.for_request(request)
    if meter is not None:
        meter_page(meter, reading, page, request.get("ConsistentRead", False))
        response["ConsumedCapacity"] = meter.one()
    return response


def meter_page(meter: Meter, reading: Reading, page: Page, consistent: bool) -> None:
    """Charge a page to the index it was read from, and what lay behind a local index to the table."""
    source, units = reading.source, read_units(page.size, consistent)
    key = None if reading.partition is None else dict(reading.partition)
    if source.index is None:
        meter.table(source.table, units, key)
    else:
        # A local index has the partition key of its table; nothing lies behind a global one.
        behind = sum(read_units(size, consistent) for size in page.base_sizes)
        meter.table(source.table, behind, None if source.index.is_global else key)
        meter.index(source.table, source.index, units, key)


def _project(reading: Reading, request: Mapping[str, Any], projection: Projection | None) -> None:
    reading.projection = projection
    index = reading.source.index
    if index is not None and index.projected is not None:
        reading.whole_items = _needs_whole_items(request, index, projection)


def _needs_whole_items(request: Mapping[str, Any], index: Index, projection: Projection | None) -> bool:
    """Whether a local index has to be completed from the table; a global one cannot be."""
    if request.get("Select") == "ALL_ATTRIBUTES":
        if index.is_global:
            raise ValidationException(
                f"{_INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index "
                f"{index.name} because its projection type is not ALL"
            )
        return True
    assert index.projected is not None
    missing = [] if projection is None else sorted(projection.top_level_attributes - index.projected)
    if missing and index.is_global:
        raise ValidationException(
            f"{_INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]"
        )
    return bool(missing)


def _check_filter_projected(source: Source, condition: Condition) -> None:
    """A query does not filter on what its index does not store. (A scan does, and finds nothing there.)"""
    if source.index is None or source.index.projected is None:
        return
    missing = condition.top_level_attributes - source.index.projected
    if missing:
        names = ", ".join(hash_order(sorted(missing), len(missing)))
        raise ValidationException(
            f"{_INVALID}Secondary index {source.index.name} does not project one or more filter attributes: [{names}]"
        )


# -- checks --------------------------------------------------------------------------------------------------


def _source(db: Database, request: Mapping[str, Any]) -> Source:
    table = db.table(request["TableName"])
    name = request.get("IndexName")
    if name is None:
        return Source(table, None)
    index = table.indexes.get(name)
    if index is None:
        raise ValidationException(f"The table does not have the specified index: {name}")
    if index.is_global and request.get("ConsistentRead"):
        raise ValidationException("Consistent reads are not supported on global secondary indexes")
    if not index.queryable:
        raise ValidationException(f"Cannot read from backfilling global secondary index: {name}")
    return Source(table, index)


def _check_select(request: Mapping[str, Any]) -> None:
    select = request.get("Select")
    if select is None:
        return
    named = next((name for name in ("ProjectionExpression", "AttributesToGet") if name in request), None)
    if select == "SPECIFIC_ATTRIBUTES":
        if named is None:
            raise RequestValidationException(
                "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
            )
    elif named is not None:
        target = "only the Count" if select == "COUNT" else select
        raise RequestValidationException(f"Cannot specify the {named} when choosing to get {target}")
    if select == "ALL_PROJECTED_ATTRIBUTES" and "IndexName" not in request:
        raise RequestValidationException("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")


def _check_segment(request: Mapping[str, Any]) -> None:
    segment, total = request.get("Segment"), request.get("TotalSegments")
    if segment is not None and total is None:
        raise ValidationException(
            "The TotalSegments parameter is required but was not present in the request "
            "when Segment parameter is present"
        )
    if total is not None:
        if segment is None:
            raise ValidationException(
                "The Segment parameter is required but was not present in the request "
                "when parameter TotalSegments is present"
            )
        if segment >= total:
            raise ValidationException(
                "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
                f"Segment: {segment} is not less than TotalSegments: {total}"
            )


_BARE_START_ERRORS = (
    "contains duplicates",
    "number set",
    "numeric value",
    "significant digits",
    "number with magnitude",
)


def _checked_start(request: Mapping[str, Any]) -> Item | None:
    start = request.get("ExclusiveStartKey")
    if start is None:
        return None
    result: Item = {}
    for name, value in start.items():
        try:
            result[name] = checked(value)[0]
        except ValidationException as error:
            message = error.message or ""
            if any(part in message for part in _BARE_START_ERRORS):
                raise
            raise ValidationException(f"{_START}: {message}") from None
    return result


def _check_start(source: Source, start: Item) -> None:
    """The part of a starting key that is the key of what is read."""
    for name in source.key.names:
        if name not in start:
            raise ValidationException(_START)
        source.table.check_key_element(source.key, start, name)


def _check_table_start(source: Source, start: Item) -> None:
    try:
        source.table.check_key({name: start[name] for name in source.table.key.names if name in start})
    except ValidationException as error:
        raise ValidationException(f"{_START}: {error.message}") from None


def _check_key_types(key: Key, partition: Mapping[str, AttributeValue], sort: Sequence[SortCondition]) -> None:
    for name, value in partition.items():
        _check_key_operand(key, name, value)
    for name, _, values in sort:
        for value in values:
            _check_key_operand(key, name, value)


def _check_key_operand(key: Key, name: str, value: AttributeValue) -> None:
    expected = key.types[name]
    if expected not in value:
        raise ValidationException(f"{_INVALID}Condition parameter type does not match schema type")
    key.check_value(name, value)


def bounds(
    key: Key, partition: Mapping[str, AttributeValue], sort: Sequence[SortCondition]
) -> tuple[bytes, bytes | None]:
    """The range of key bytes in which exactly the matching keys are."""
    prefix = key.partition_prefix(partition)
    for _, operator, values in sort:
        first = key_encoding.scalar_bytes(values[0])
        whole = prefix + key_encoding.sort_bytes(first)
        match operator:
            case "=":
                prefix = whole
            case "<":
                return prefix, whole
            case "<=":
                return prefix, key_encoding.after(whole)
            case ">":
                return key_encoding.after(whole) or whole, key_encoding.after(prefix)
            case ">=":
                return whole, key_encoding.after(prefix)
            case "begins_with":
                beginning = prefix + key_encoding.sort_prefix(first)
                return beginning, key_encoding.after(beginning)
            case "BETWEEN":
                return whole, key_encoding.after(prefix + key_encoding.sort_bytes(key_encoding.scalar_bytes(values[1])))
    return prefix, key_encoding.after(prefix)


def _start_within(reading: Reading, partition: Mapping[str, AttributeValue], ranged: bool, start: Item) -> None:
    """Go on behind the starting key, which must lie in the range."""
    source = reading.source
    same_partition = all(start[name] == value for name, value in partition.items())
    position = source.position(start)
    if ranged:
        # The starting key as it would be in the partition that is queried.
        moved = source.key.partition_prefix(partition) + position[len(source.key.partition_prefix(start)) :]
        if moved < reading.low or (reading.high is not None and moved >= reading.high):
            raise ValidationException("The provided starting key does not match the range key predicate")
        if not same_partition:
            raise ValidationException("The query can return at most one row and cannot be restarted")
    elif not same_partition:
        raise ValidationException("The provided starting key is outside query boundaries based on provided conditions")
    if reading.forward:
        reading.low = position + b"\x00"
    else:
        reading.high = position
