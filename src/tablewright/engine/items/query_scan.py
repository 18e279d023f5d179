"""Query and Scan: their parameters, the checks on them in DynamoDB's order, and the response.

request ──▶ checks ──▶ key_conditions, start_key ──▶ PageRead ──▶ page_reader.read_page ──▶ response
                                                                    └─ page_limits: where the page ends
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tablewright.dynamo import INVALID_VALUES, AttributeValue, Item, RequestValidationException, ValidationException
from tablewright.dynamo.expressions import (
    Bound,
    ConditionProgram,
    KeyConditionProgram,
    ProjectionProgram,
    Values,
    bind_bounds,
    check_parameters,
    hash_order,
)
from tablewright.engine.database import Database
from tablewright.engine.items import legacy_parameters
from tablewright.engine.items.consumed_capacity import CHARGES, Meter
from tablewright.engine.items.item_operations import attributes_to_get, check_key_paths
from tablewright.engine.items.key_conditions import check_key_conditions, key_range
from tablewright.engine.items.page_reader import PageRead, Source, meter_page, read_page
from tablewright.engine.items.request_expressions import Parameters
from tablewright.engine.items.request_shapes import RequestShapes
from tablewright.engine.items.start_key import (
    check_query_start,
    check_scan_start,
    check_table_key,
    checked_start_key,
    continue_query,
    continue_scan,
)
from tablewright.engine.slices import IS_LARGE, Steps, beside, settled
from tablewright.engine.storage import key_encoding
from tablewright.engine.tables.table_schema import Index

# The legacy parameters; each takes some microseconds to read.
_MANY_CONDITIONS = 500


# -- the operations ------------------------------------------------------------------------------------------


def query(db: Database, request: dict[str, Any]) -> Steps:
    asked = _known_query(request)
    if asked is None:
        asked = _queried(request) if _is_short(request) else (yield from beside(settled(partial(_queried, request))))()
    start, condition, projection, values = asked.start, asked.condition, asked.projection, asked.values
    source = _source(db, request)
    if start is not None:
        check_query_start(source, start)
    key = source.key
    partition, sort = bind_bounds(asked.bounds, key.partition, key.sort)
    check_key_conditions(key, source.index, partition, sort)
    low, high = key_range(key, partition, sort)
    read = PageRead(
        source,
        low,
        high,
        request.get("ScanIndexForward", True),
        request.get("Limit"),
        condition,
        values,
        partition=partition,
    )
    if start is not None:
        check_table_key(source, start)
        continue_query(read, partition, bool(sort), start)
    if projection is not None:
        check_key_paths(source.table, projection)
    if condition is not None:
        name = "QueryFilter" if "QueryFilter" in request else "Filter Expression"
        for attribute in key.names:
            if attribute in condition.top_level_attributes:
                raise ValidationException(
                    f"{name} can only contain non-primary key attributes: Primary key attribute: {attribute}"
                )
        _check_filter_projected(source, condition)
    _project(read, request, projection)
    if condition is not None:
        check_key_paths(source.table, condition)
    return (yield from _respond(db, request, read))


@dataclass(slots=True)
class _Asked:
    """What a request says, independent of its table."""

    start: Item | None
    condition: ConditionProgram | None
    projection: ProjectionProgram | None
    values: Mapping[str, AttributeValue]
    bounds: Mapping[str, Bound]


@dataclass(frozen=True, slots=True)
class _QueryPrograms:
    """The expressions of a query."""

    key: KeyConditionProgram
    filter: ConditionProgram | None
    projection: ProjectionProgram | None

    def check(self, values: Values) -> None:
        self.key.check(values)
        if self.filter is not None:
            self.filter.check(values)


_QUERIES: RequestShapes[_QueryPrograms] = RequestShapes(
    ["KeyConditionExpression", "FilterExpression", "ProjectionExpression"],
    [
        "TableName",
        "IndexName",
        "ConsistentRead",
        "ScanIndexForward",
        "Limit",
        "ReturnConsumedCapacity",
        CHARGES,
    ],
)


def _known_query(request: dict[str, Any]) -> _Asked | None:
    found = _QUERIES.find(request)
    if found is None:
        return None
    programs, values = found
    return _Asked(None, programs.filter, programs.projection, values, programs.key.bounds(values))


def _is_short(request: Mapping[str, Any]) -> bool:
    """Whether evaluating a request takes a negligible time."""
    if IS_LARGE in request:
        return False
    return len(request.get("QueryFilter") or request.get("ScanFilter") or ()) < _MANY_CONDITIONS


def _queried(request: dict[str, Any]) -> _Asked:
    check_parameters("Query", request)
    condition = legacy_parameters.condition_from_filter(request.get("QueryFilter"), request.get("ConditionalOperator"))
    attributes = attributes_to_get(request)
    start = checked_start_key(request)
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
        _QUERIES.learn(request, _QueryPrograms(program, condition, projection))
    try:
        _check_select(request)
    except RequestValidationException as error:
        raise error.counted() from None
    return _Asked(start, condition, projection, parameters.values, conditions)


def scan(db: Database, request: dict[str, Any]) -> Steps:
    asked = _scanned(request) if _is_short(request) else (yield from beside(settled(partial(_scanned, request))))()
    start, condition, projection = asked.start, asked.condition, asked.projection
    source = _source(db, request)
    segment, total = request.get("Segment", 0), request.get("TotalSegments", 1)
    low, high = key_encoding.segment_bounds(segment, total)
    read = PageRead(source, low, high, limit=request.get("Limit"), condition=condition, values=asked.values)
    if start is not None:
        check_scan_start(source, start)
    _project(read, request, projection)
    if start is not None:
        check_table_key(source, start)
        continue_scan(read, start, segment, total)
    for program in (projection, condition):
        if program is not None:
            check_key_paths(source.table, program)
    return (yield from _respond(db, request, read))


def _scanned(request: dict[str, Any]) -> _Asked:
    check_parameters("Scan", request)
    attributes = attributes_to_get(request)
    condition = legacy_parameters.condition_from_filter(request.get("ScanFilter"), request.get("ConditionalOperator"))
    start = checked_start_key(request)
    _check_segment(request)
    parameters = Parameters(request)
    condition = parameters.condition("FilterExpression", report_size=True) or condition
    projection = attributes or parameters.projection()
    parameters.finish()
    _check_select(request)
    return _Asked(start, condition, projection, parameters.values, {})


def _respond(db: Database, request: Mapping[str, Any], read: PageRead) -> Steps:
    source = read.source
    page = yield from read_page(db, read)
    if db.storage.syncs.are_slow:
        # An item anywhere in the table may have moved in an index.
        in_one = read.partition is not None and source.index is None
        begin = source.key.partition_prefix(read.partition or {}) if in_one else b""
        db.storage.has_read([(source.table.number, begin)], ranges=True)
    response: dict[str, Any] = {"Count": len(page.contents), "ScannedCount": page.scanned}
    if request.get("Select") != "COUNT":
        response["Items"] = page.document
    if page.last is not None:
        response["LastEvaluatedKey"] = page.last
    meter = Meter.for_request(request)
    if meter is not None:
        meter_page(meter, read, page, request.get("ConsistentRead", False))
        response["ConsumedCapacity"] = meter.one()
    return response


def _project(read: PageRead, request: Mapping[str, Any], projection: ProjectionProgram | None) -> None:
    read.projection = projection
    index = read.source.index
    if index is not None and index.projected is not None:
        read.whole_items = _needs_whole_items(request, index, projection)


def _needs_whole_items(request: Mapping[str, Any], index: Index, projection: ProjectionProgram | None) -> bool:
    """Whether items of a local index have to be completed from the table; those of a global one cannot be."""
    if request.get("Select") == "ALL_ATTRIBUTES":
        if index.is_global:
            raise ValidationException(
                f"{INVALID_VALUES}Select type ALL_ATTRIBUTES is not supported for global secondary index "
                f"{index.name} because its projection type is not ALL"
            )
        return True
    assert index.projected is not None
    missing = [] if projection is None else sorted(projection.top_level_attributes - index.projected)
    if missing and index.is_global:
        raise ValidationException(
            f"{INVALID_VALUES}Global secondary index {index.name} does not project [{', '.join(missing)}]"
        )
    return bool(missing)


def _check_filter_projected(source: Source, condition: ConditionProgram) -> None:
    """A query does not filter on attributes that its index does not store. (A scan does, and finds nothing.)"""
    if source.index is None or source.index.projected is None:
        return
    missing = condition.top_level_attributes - source.index.projected
    if missing:
        names = ", ".join(hash_order(sorted(missing), len(missing)))
        raise ValidationException(
            f"{INVALID_VALUES}Secondary index {source.index.name} does not project one or more filter attributes: "
            f"[{names}]"
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
