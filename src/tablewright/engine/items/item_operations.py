"""PutItem, GetItem, UpdateItem, DeleteItem.

A write to one item is a ``Write``: which item, under which condition, and how the new item follows from the
old one. The single-item operations make one and run it; a transaction makes many and checks all of them before
it applies any; a PartiQL statement makes one from its own syntax. So every rule about a write is in one place. If the
item is large, all of that is planned outside of the storage's turn (``planned_writes``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import orjson

from tablewright.dynamo import (
    INVALID_VALUES,
    ITEM_TOO_LARGE,
    WRITTEN_TOO_DEEPLY,
    AttributeValue,
    Item,
    RequestValidationException,
    ValidationException,
    check_name,
    checked,
    checked_item,
    item_size,
    read_units,
    text_size,
    value_size,
)
from tablewright.dynamo.expressions import (
    TOO_LARGE_TO_UPDATE,
    ConditionProgram,
    ProjectionProgram,
    UpdateProgram,
    Values,
    check_parameters,
)
from tablewright.dynamo.limits import MAX_ITEM_SIZE
from tablewright.engine.database import Database, Row
from tablewright.engine.items import legacy_parameters
from tablewright.engine.items.consumed_capacity import CHARGES, Meter
from tablewright.engine.items.planned_writes import run_in_slices
from tablewright.engine.items.request_expressions import Parameters
from tablewright.engine.items.request_shapes import RequestShapes
from tablewright.engine.items.write import Write, item_on_failure
from tablewright.engine.requests import ITEM_SIZE
from tablewright.engine.slices import IS_LARGE, LARGE_ITEM, Response, Steps, beside, finished, settled
from tablewright.engine.storage import key_encoding
from tablewright.engine.tables.table_schema import Table

Handler = Callable[[Database, dict[str, Any]], Response]
_T = TypeVar("_T")

# The members of a get or a put that concern the item alone: most have no others, so there is little to check.
_WHERE = frozenset({"TableName", "Key", "ConsistentRead", "ReturnConsumedCapacity", CHARGES})
_WHAT = frozenset({"TableName", "Item", ITEM_SIZE, IS_LARGE})
# What was computed for a large request outside of the storage's turn.
_LOOKED_AT = "\0looked at"
# A number that is not canonical takes 2 us to check.
_MANY_VALUES = 3000
# Of the older kind; each takes some microseconds to read.
_MANY_CONDITIONS = 500
# The rows of a large item collection that its size is estimated from.
_SAMPLED_ROWS = 2000
# Its size is reported as a range of a gigabyte.
_RANGE_BITS = 30


@dataclass(frozen=True, slots=True)
class _UpdatePrograms:
    """The expressions of an update."""

    update: UpdateProgram
    condition: ConditionProgram | None

    def check(self, values: Values) -> None:
        self.update.check(values)
        if self.condition is not None:
            self.condition.check(values)


_RETURNED = (
    "ReturnValues",
    "ReturnValuesOnConditionCheckFailure",
    "ReturnConsumedCapacity",
    "ReturnItemCollectionMetrics",
    CHARGES,
)
_UPDATES: RequestShapes[_UpdatePrograms] = RequestShapes(
    ["UpdateExpression", "ConditionExpression"], ["TableName", "Key", *_RETURNED]
)
_CONDITIONS: RequestShapes[ConditionProgram] = RequestShapes(
    ["ConditionExpression"], ["TableName", "Key", "Item", ITEM_SIZE, *_RETURNED]
)


class Changes(Protocol):
    """How an update makes a new item; from an expression, from AttributeUpdates or from PartiQL."""

    @property
    def top_level_attributes(self) -> frozenset[str]: ...

    @property
    def nested_attributes(self) -> frozenset[str]: ...

    @property
    def only_removes(self) -> bool: ...

    def static_types(self, values: Mapping[str, AttributeValue]) -> dict[str, str]: ...

    def apply(self, item: Item, values: Mapping[str, AttributeValue]) -> Item: ...

    def updated(self, item: Item) -> Item: ...


# -- the operations ------------------------------------------------------------------------------------------


def put_item(db: Database, request: dict[str, Any]) -> Response:
    item, size = request["Item"], request.get(ITEM_SIZE)
    if size is None:
        if takes_long(item):
            return _put_in_slices(db, request)
        item, size = checked_item(item)
    if (
        IS_LARGE in request or ("Expected" in request and len(request["Expected"]) >= _MANY_CONDITIONS)
    ) and _LOOKED_AT not in request:
        return _looked_at_beside(put_item, db, {**request, "Item": item, ITEM_SIZE: size}, _condition)
    condition: ConditionProgram | None = None
    values: Mapping[str, AttributeValue] = {}
    needs_old = False
    if not request.keys() <= _WHAT:
        check_parameters("PutItem", request)
        returned = _old_or_nothing(request)
        if size <= MAX_ITEM_SIZE:
            condition, values = _looked_at(request, _condition)
        metered = request.get("ReturnConsumedCapacity", "NONE") != "NONE"
        needs_old = condition is not None or returned != "NONE" or metered
    if size > MAX_ITEM_SIZE:
        raise ValidationException(ITEM_TOO_LARGE)
    table = db.table(request["TableName"])
    table.check_item(item)
    key = table.row_key(item)
    if not (needs_old or table.needs_old_image):
        db.overwrite(table, key, orjson.dumps(item), size)
        return _with_metrics(db, {}, table, item, request)
    write = Write(table, key, replace_with(item, size), condition, values, item_on_failure(request))
    return _written(put_item, db, request, write, item, size=size)


def _put_in_slices(db: Database, request: dict[str, Any]) -> Steps:
    item, size = yield from beside(lambda: checked_item(request["Item"]))
    return (yield from finished(put_item(db, {**request, "Item": item, ITEM_SIZE: size})))


def _looked_at_beside(
    handler: Handler, db: Database, request: dict[str, Any], look: Callable[[dict[str, Any]], Any]
) -> Steps:
    """The same with a large request evaluated outside of the storage's turn; the handler asks for the result."""
    result = yield from beside(settled(partial(look, request)))
    return (yield from finished(handler(db, {**request, _LOOKED_AT: result})))


def get_item(db: Database, request: dict[str, Any]) -> Response:
    if IS_LARGE in request and _LOOKED_AT not in request:
        return _looked_at_beside(get_item, db, request, _wanted)
    key, row_key = request["Key"], _plain_key(db, request)
    projection: ProjectionProgram | None = None
    if row_key is not None and request.keys() <= _WHERE:
        table = db.table(request["TableName"])
    else:
        key, projection = _looked_at(request, _wanted)
        table = db.table(request["TableName"])
        table.check_key(key)
        if projection is not None:
            check_key_paths(table, projection)
        row_key = table.row_key(key)
    row = db.fetch(table, row_key)
    if db.storage.syncs.are_slow:
        db.storage.has_read([(table.number, row_key)])
    response: dict[str, Any] = {}
    meter = Meter.for_request(request)
    if meter is not None:
        meter.table(table, read_units(0 if row is None else row.size, request.get("ConsistentRead", False)), key)
        response["ConsumedCapacity"] = meter.one()
    if row is not None:
        if projection is not None and len(row.data) > LARGE_ITEM:
            return _projected(row, projection, response)
        response["Item"] = orjson.Fragment(row.data) if projection is None else projection.apply(row.item)
    return response


def _wanted(request: dict[str, Any]) -> tuple[Item, ProjectionProgram | None]:
    """The key of a get, and its projection."""
    check_parameters("GetItem", request)
    key = checked_key(request["Key"])
    attributes = attributes_to_get(request)
    parameters = Parameters(request)
    projection = attributes or parameters.projection()
    parameters.finish()
    return key, projection


def _projected(row: Row, projection: ProjectionProgram, response: dict[str, Any]) -> Steps:
    response["Item"] = orjson.Fragment((yield from beside(lambda: orjson.dumps(projection.apply(row.item)))))
    return response


def update_item(db: Database, request: dict[str, Any]) -> Response:
    if (
        IS_LARGE in request or ("Expected" in request and len(request["Expected"]) >= _MANY_CONDITIONS)
    ) and _LOOKED_AT not in request:
        return _looked_at_beside(update_item, db, request, _update)
    row_key, looked_at = _plain_key(db, request), request.get(_LOOKED_AT)
    key, changes, condition, values, size = (
        _update(request, is_checked=row_key is not None) if looked_at is None else looked_at()
    )
    table = db.table(request["TableName"])
    if row_key is None:
        table.check_key(key)
        row_key = table.row_key(key)
    if changes is not None:
        check_changes(table, changes, values)
    if size > MAX_ITEM_SIZE:
        raise ValidationException(TOO_LARGE_TO_UPDATE)
    write = Write(
        table, row_key, updated_item(table, key, changes, values), condition, values, item_on_failure(request)
    )
    return _written(update_item, db, request, write, key, changes, size=MAX_ITEM_SIZE if IS_LARGE in request else 0)


def _update(
    request: dict[str, Any], *, is_checked: bool = False
) -> tuple[Item, Changes | None, ConditionProgram | None, Mapping[str, AttributeValue], int]:
    """The key of an update, its changes and its condition with their values, and the size of its expression."""
    if is_checked and (known := _UPDATES.find(request)) is not None:
        programs, values = known
        return request["Key"], programs.update, programs.condition, values, programs.update.statement_size.of(values)
    check_parameters("UpdateItem", request)
    key = request["Key"] if is_checked else checked_key(request["Key"])
    changes: Changes | None = None
    if "AttributeUpdates" in request:
        changes = legacy_parameters.AttributeUpdates(request["AttributeUpdates"])
    expected = _expected(request)
    parameters = Parameters(request)
    update = parameters.update()
    condition = expected or parameters.condition()
    parameters.finish()
    if update is None:
        return key, changes, condition, parameters.values, 0
    _UPDATES.learn(request, _UpdatePrograms(update, condition))
    return key, update, condition, parameters.values, update.statement_size.of(parameters.values)


def delete_item(db: Database, request: dict[str, Any]) -> Response:
    if (
        IS_LARGE in request or ("Expected" in request and len(request["Expected"]) >= _MANY_CONDITIONS)
    ) and _LOOKED_AT not in request:
        return _looked_at_beside(delete_item, db, request, _removal)
    key, condition, values = _looked_at(request, _removal)
    table = db.table(request["TableName"])
    table.check_key(key)
    write = Write(
        table,
        table.row_key(key),
        replace_with(None),
        condition,
        values,
        item_on_failure(request),
    )
    return _written(delete_item, db, request, write, key)


def _removal(request: dict[str, Any]) -> tuple[Item, ConditionProgram | None, Mapping[str, AttributeValue]]:
    """The key of a delete, and its condition with the values."""
    check_parameters("DeleteItem", request)
    key = checked_key(request["Key"])
    _old_or_nothing(request)
    return key, *_condition(request)


def _looked_at(request: dict[str, Any], look: Callable[[dict[str, Any]], _T]) -> _T:
    """The evaluated request, unless that was done outside of the storage's turn."""
    result: Callable[[], _T] | None = request.get(_LOOKED_AT)
    return look(request) if result is None else result()


def _written(
    handler: Handler,
    db: Database,
    request: dict[str, Any],
    write: Write,
    key: Item,
    changes: Changes | None = None,
    size: int = 0,
) -> Response:
    """Run a write; returns the response that the request asks for."""
    meter = Meter.for_request(request)
    old = db.fetch(write.table, write.key)
    if size > LARGE_ITEM or (old is not None and len(old.data) > LARGE_ITEM):
        return _written_in_slices(handler, db, request, write, key, changes, meter, size)
    new = write.run(db, old, meter)
    attributes = _returned(request.get("ReturnValues", "NONE"), old, new, changes)
    return _response(db, request, write, key, attributes, meter)


def _written_in_slices(
    handler: Handler,
    db: Database,
    request: dict[str, Any],
    write: Write,
    key: Item,
    changes: Changes | None,
    meter: Meter | None,
    size: int,
) -> Steps:
    mode = request.get("ReturnValues", "NONE")
    plan = yield from run_in_slices(db, write, size, meter, lambda old, new: _returned(mode, old, new, changes))
    if plan is None:
        return (yield from finished(handler(db, request)))
    return _response(db, request, write, key, plan.answer, meter)


def _response(
    db: Database, request: Mapping[str, Any], write: Write, key: Item, attributes: Any, meter: Meter | None
) -> dict[str, Any]:
    response: dict[str, Any] = {}
    if attributes is not None:
        response["Attributes"] = attributes
    if meter is not None:
        response["ConsumedCapacity"] = meter.one()
    return _with_metrics(db, response, write.table, key, request)


# -- shared with batches, transactions and PartiQL -----------------------------------------------------------


def takes_long(item: Mapping[str, AttributeValue]) -> bool:
    """Whether an item has so many values that checking them takes milliseconds."""
    count = 0
    pending = [value for value in item.values() if "S" not in value and "N" not in value]
    while pending:
        for content in pending.pop().values():
            if isinstance(content, list | dict):
                count += len(content)
                if count > _MANY_VALUES:
                    return True
                members = content if isinstance(content, list) else content.values()
                pending += [member for member in members if isinstance(member, dict)]
    return False


def replace_with(item: Item | None, size: int = 0) -> Callable[[Row | None], tuple[Item | None, int]]:
    """A new item that does not depend on the old one; None deletes."""
    return lambda _: (item, size)


def _plain_key(db: Database, request: Mapping[str, Any]) -> bytes | None:
    """The row key of a request about one item whose table exists and whose key is certainly valid; checks of both can
    be skipped. None for all others.
    """
    table = db.tables.get(request["TableName"])
    return None if table is None or table.is_being_restored else table.text_key(request["Key"])


def checked_key(key: Mapping[str, AttributeValue]) -> Item:
    """A key whose values are valid and canonical; whether it matches the table is checked later."""
    for name, value in key.items():
        # Most keys are short text, and this runs for every item: no call for each attribute.
        text = value.get("S") if len(value) == 1 else None
        if text is None or not text.isascii() or type(name) is not str or not name.isascii() or not 0 < len(name) < 256:
            break
    else:
        return dict(key)
    for name in key:
        check_name(name)
    return {name: checked(value)[0] for name, value in key.items()}


def attributes_to_get(request: Mapping[str, Any]) -> ProjectionProgram | None:
    """AttributesToGet, which is checked before any expression is."""
    if "AttributesToGet" in request:
        return legacy_parameters.projection_from_attributes(request["AttributesToGet"])
    return None


def check_key_paths(table: Table, program: ProjectionProgram | ConditionProgram | Changes) -> None:
    """Key attributes are scalars: a path must not go into one."""
    nested = program.nested_attributes
    if not nested:
        return
    message = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
    for name in table.key.names:
        if name in nested:
            raise ValidationException(f"{message}Key: {name}")
    for index in table.indexes.values():
        for name in index.key.names:
            if name in nested:
                raise ValidationException(f"{message}IndexKey: {name}")


def check_changes(table: Table, changes: Changes, values: Mapping[str, AttributeValue]) -> None:
    """Checks of an update that do not need the item."""
    touched = changes.top_level_attributes
    for name in table.key.names:
        if name in touched:
            raise ValidationException(
                f"{INVALID_VALUES}Cannot update attribute {name}. This attribute is part of the key"
            )
    if not touched.isdisjoint(table.index_key_names):
        assigned = changes.static_types(values)
        for index in table.indexes_by_name:
            for name, expected in index.key.types.items():
                if assigned.get(name, expected) != expected:
                    raise ValidationException(
                        f"{INVALID_VALUES}Type mismatch for Index Key {name} Expected: {expected} "
                        f"Actual: {assigned[name]} IndexName: {index.name}"
                    )
    check_key_paths(table, changes)


def updated_item(
    table: Table, key: Item, changes: Changes | None, values: Mapping[str, AttributeValue]
) -> Callable[[Row | None], tuple[Item | None, int]]:
    """How an update makes the new item. If there is none, removing alone does not create one."""

    def new(old: Row | None) -> tuple[Item | None, int]:
        before, size = (key, item_size(key)) if old is None else (old.item, old.size)
        if changes is None:
            return before, size
        if old is None and changes.only_removes:
            return None, 0
        after = changes.apply(before, values)
        touched = changes.top_level_attributes
        if not touched.isdisjoint(table.index_key_names):
            _check_changed_index_keys(table, before, after, touched)
        # Attributes that the update did not touch were checked and measured when they were written.
        for name in touched:
            if name in before:
                size -= value_size(before[name]) if name in after else text_size(name) + value_size(before[name])
        for name in touched:
            if name in after:
                after[name], added = _checked_result(after[name])
                size += added if name in before else text_size(name) + added
                if size > MAX_ITEM_SIZE:
                    raise ValidationException(TOO_LARGE_TO_UPDATE)
        return after, size

    return new


def _checked_result(value: AttributeValue) -> tuple[AttributeValue, int]:
    """The new value of an attribute; only its depth can be wrong."""
    try:
        return checked(value)
    except RequestValidationException:
        raise ValidationException(WRITTEN_TOO_DEEPLY) from None


def _check_changed_index_keys(table: Table, before: Item, after: Item, touched: frozenset[str]) -> None:
    """Index keys that the update computed; one that was wrong before the index existed may stay."""
    for index in table.indexes_by_name:
        for name, expected in index.key.types.items():
            value = after.get(name)
            if name not in touched or value is None or value == before.get(name):
                continue
            if expected not in value:
                raise ValidationException(
                    "The update expression attempted to update the secondary index key to unsupported type"
                )
            index.check_element(name, value, updated=True)
        if not touched.isdisjoint(index.key.names):
            index.check_together(after, updated=True)


def _expected(request: Mapping[str, Any]) -> ConditionProgram | None:
    if "Expected" in request or "ConditionalOperator" in request:
        return legacy_parameters.condition_from_expected(request.get("Expected"), request.get("ConditionalOperator"))
    return None


def _condition(request: Mapping[str, Any]) -> tuple[ConditionProgram | None, Mapping[str, AttributeValue]]:
    """The condition of a put or delete, and the values in it."""
    if (known := _CONDITIONS.find(request)) is not None:
        return known
    expected = _expected(request)
    parameters = Parameters(request)
    condition = expected or parameters.condition()
    parameters.finish()
    if condition is not None and expected is None:
        _CONDITIONS.learn(request, condition)
    return condition, parameters.values


def _old_or_nothing(request: Mapping[str, Any]) -> str:
    """The ReturnValues of a put or delete."""
    returned: str = request.get("ReturnValues", "NONE")
    if returned not in ("NONE", "ALL_OLD"):
        raise RequestValidationException("ReturnValues can only be ALL_OLD or NONE")
    return returned


def _returned(mode: str, old: Row | None, new: Item | None, changes: Changes | None) -> Any:
    if mode == "NONE":
        return None
    if mode == "ALL_NEW":
        return new
    if mode == "ALL_OLD":
        return None if old is None else orjson.Fragment(old.data)
    if changes is None or new is None:
        return None
    if mode == "UPDATED_OLD":
        return None if old is None else changes.updated(old.item) or None
    return changes.updated(new) or None


def _with_metrics(
    db: Database, response: dict[str, Any], table: Table, key: Item, request: Mapping[str, Any]
) -> dict[str, Any]:
    if request.get("ReturnItemCollectionMetrics") == "SIZE":
        metrics = item_collection_metrics(db, table, key)
        if metrics is not None:
            response["ItemCollectionMetrics"] = metrics
    return response


def item_collection_metrics(db: Database, table: Table, key: Item) -> dict[str, Any] | None:
    """The size of an item collection, for tables with local indexes: only there it is limited."""
    if all(index.is_global for index in table.indexes.values()):
        return None
    gigabytes = _collection_size(db, table, table.key.partition_prefix(key)) >> _RANGE_BITS
    return {
        "ItemCollectionKey": {name: key[name] for name in table.key.partition},
        "SizeEstimateRangeGB": [float(gigabytes), float(gigabytes + 1)],
    }


def _collection_size(db: Database, table: Table, prefix: bytes) -> int:
    """The bytes of a partition; for a large one, an estimate from a sample.

    Rowids of a partition are spread evenly over its range (``key_encoding.row_id``): the range that the first so many
    of them cover tells how many there are.
    """
    first, end = key_encoding.row_id_range(prefix)
    count, size, last = db.storage.execute(
        f"SELECT count(*), total(size), max(id) FROM "
        f"(SELECT id, size FROM {table.rows} WHERE id >= ? AND id < ? ORDER BY id LIMIT {_SAMPLED_ROWS})",
        (first, end),
    ).fetchone()
    if count < _SAMPLED_ROWS:
        (size,) = db.storage.execute(
            f"SELECT total(size) FROM {table.rows} WHERE key >= ? AND key < ?", (prefix, key_encoding.after(prefix))
        ).fetchone()
        return int(size)
    return int(int(size) * (end - first) // (last - first + 1))


def batch_collection_metrics(db: Database, writes: Iterable[tuple[Table, Item]]) -> dict[str, list[dict[str, Any]]]:
    """The sizes of all item collections that were written to, each measured once."""
    metrics: dict[str, list[dict[str, Any]]] = {}
    seen = set()
    for table, item in writes:
        collection = (table.number, table.key.partition_prefix(item))
        if collection not in seen:
            seen.add(collection)
            metric = item_collection_metrics(db, table, item)
            if metric is not None:
                metrics.setdefault(table.name, []).append(metric)
    return metrics
