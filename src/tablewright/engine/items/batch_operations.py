"""BatchGetItem and BatchWriteItem: many single items in one request, each on its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from tablewright.dynamo import (
    ITEM_TOO_LARGE,
    KEY_MISMATCH,
    KEYS_REPEATED,
    Item,
    ValidationException,
    checked_item,
    read_units,
)
from tablewright.dynamo.expressions import ProjectionProgram, check_parameters
from tablewright.dynamo.limits import MAX_BATCH_GET_BYTES, MAX_BATCH_GET_KEYS, MAX_BATCH_WRITES, MAX_ITEM_SIZE
from tablewright.engine.database import Database, Row
from tablewright.engine.items.consumed_capacity import Meter
from tablewright.engine.items.item_operations import (
    attributes_to_get,
    batch_collection_metrics,
    check_key_paths,
    checked_key,
    replace_with,
    takes_long,
)
from tablewright.engine.items.planned_writes import run_in_slices
from tablewright.engine.items.request_expressions import Parameters
from tablewright.engine.items.write import Write
from tablewright.engine.slices import LARGE_ITEM, SLICE_BYTES, Sliced, Steps, beside, first_results
from tablewright.engine.tables.table_schema import Table

_MUCH = 1024 * 1024
# Small numbers take three times as much space in a response as in an item.
_MAX_JSON = 20 * 1024 * 1024


def batch_get_item(db: Database, request: dict[str, Any]) -> Steps:
    _check_unmixed(request["RequestItems"])
    plans, rest = first_results(request["RequestItems"].items(), _Wanted().of_table)
    if rest is not None:
        plans += yield from beside(rest)
    located = []
    for name, wanted, given, projection in plans:
        table = db.table(name)
        for key in given:
            table.check_key(key)
        if projection is not None:
            check_key_paths(table, projection)
        located.append((name, table, wanted, given, projection))
    meter = Meter.for_request(request)
    responses: dict[str, list[Any]] = {}
    unprocessed: dict[str, Any] = {}
    size = length = read = 0
    for name, table, wanted, given, projection in located:
        items = responses.setdefault(name, [])
        for position, key in enumerate(given):
            if read > SLICE_BYTES:
                yield
                for _, found, *_ in located:
                    db.table_again(found)
                read = 0
            row = db.fetch(table, table.row_key(key))
            size += 0 if row is None else row.size
            read += 0 if row is None else row.size
            length += 0 if row is None else len(row.data)
            if size > MAX_BATCH_GET_BYTES or length > _MAX_JSON:
                unprocessed[name] = {**wanted, "Keys": given[position:]}
                break
            if meter is not None:
                units = read_units(0 if row is None else row.size, wanted.get("ConsistentRead", False))
                meter.table(table, units, key)
            if row is not None:
                # Projected items are serialized at once: for a whole batch it takes long.
                data = row.data
                if projection is not None:
                    work = partial(_projected, row, projection)
                    data = (yield from beside(work)) if len(data) > LARGE_ITEM else work()
                items.append(orjson.Fragment(data))
    if size > _MUCH:
        # Serializing a response of tens of megabytes takes a slice of its own.
        yield
    response: dict[str, Any] = {"Responses": responses, "UnprocessedKeys": unprocessed}
    if meter is not None:
        response["ConsumedCapacity"] = meter.all()
    return response


class _Wanted:
    """What is read from one table after the other, up to the maximum of keys."""

    def __init__(self) -> None:
        self._count = 0

    def of_table(
        self, entry: tuple[str, dict[str, Any]]
    ) -> tuple[str, dict[str, Any], list[Item], ProjectionProgram | None]:
        name, wanted = entry
        check_parameters("BatchGetItem", wanted)
        attributes = attributes_to_get(wanted)
        parameters = Parameters(wanted)
        projection = attributes or parameters.projection()
        parameters.finish()
        given: list[Item] = []
        seen = set()
        count = self._count
        for member in wanted["Keys"]:
            key = checked_key(member)
            given.append(key)
            seen.add(orjson.dumps(key, option=orjson.OPT_SORT_KEYS))
            if len(seen) < len(given):
                raise ValidationException(KEYS_REPEATED)
            count += 1
            if count > MAX_BATCH_GET_KEYS:
                raise ValidationException("Too many items requested for the BatchGetItem call")
        self._count = count
        return name, wanted, given, projection


def _projected(row: Row, projection: ProjectionProgram) -> bytes:
    return orjson.dumps(projection.apply(row.item))


def _check_unmixed(request_items: dict[str, Any]) -> None:
    """Parameters that cannot be combined in one request cannot be combined across the tables of a batch either."""
    used = [
        name for name in ("AttributesToGet", "ProjectionExpression") if any(name in w for w in request_items.values())
    ]
    if len(used) == 2:
        check_parameters("BatchGetItem", dict.fromkeys(used, ()))


def batch_write_item(db: Database, request: dict[str, Any]) -> Steps:
    if sum(map(len, request["RequestItems"].values())) > MAX_BATCH_WRITES:
        raise ValidationException("Too many items requested for the BatchWriteItem call")
    plans = []
    for name, writes in request["RequestItems"].items():
        plans.append((name, (yield from _checked_writes(writes))))
    located = [(table := db.table(name), _located(table, writes)) for name, writes in plans]
    meter = Meter.for_request(request)
    written = 0
    for number, (_, writes) in enumerate(located):
        for row_key, write in writes.items():
            if written > SLICE_BYTES:
                # What has been written may stay: a batch is not a transaction.
                yield
                located[number:] = [_located_again(db, *rest) for rest in located[number:]]
                written = 0
            table = located[number][0]
            written += write.size
            item, size = (write.item, write.size) if write.is_put else (None, 0)
            if item is not None and meter is None and not table.needs_old_image:
                db.overwrite(table, row_key, orjson.dumps(item), size)
            else:
                one = Write(table, row_key, replace_with(item, size))
                old = db.fetch(table, row_key)
                if old is None or len(old.data) <= LARGE_ITEM:
                    one.run(db, old, meter)
                    continue
                while (yield from run_in_slices(db, one, size, meter)) is None:
                    located[number:] = [_located_again(db, *rest) for rest in located[number:]]
                    one.table = located[number][0]
    response: dict[str, Any] = {"UnprocessedItems": {}}
    if request.get("ReturnItemCollectionMetrics") == "SIZE":
        changed = ((table, write.item) for table, writes in located for write in writes.values())
        metrics = batch_collection_metrics(db, changed)
        if metrics:
            response["ItemCollectionMetrics"] = metrics
    if meter is not None:
        response["ConsumedCapacity"] = meter.all()
    return response


@dataclass(slots=True)
class _BatchWrite:
    """An item to put, or the key of one to delete."""

    item: Item
    size: int
    is_put: bool


def _checked_writes(writes: list[dict[str, Any]]) -> Sliced[list[_BatchWrite]]:
    if any(len(write) != 1 for write in writes):
        raise ValidationException(
            "Supplied AttributeValue has more than one datatypes set, "
            "must contain exactly one of the supported datatypes"
        )
    result = []
    checked = 0
    for write in writes:
        if checked > SLICE_BYTES:
            yield
            checked = 0
        is_put = "PutRequest" in write
        given = write["PutRequest"]["Item"] if is_put else write["DeleteRequest"]["Key"]
        item, size = (yield from beside(partial(checked_item, given))) if takes_long(given) else checked_item(given)
        if is_put and size > MAX_ITEM_SIZE:
            raise ValidationException(ITEM_TOO_LARGE)
        checked += size
        result.append(_BatchWrite(item, size, is_put))
    return result


def _located(table: Table, writes: list[_BatchWrite]) -> dict[bytes, _BatchWrite]:
    """The writes, by the row that each changes."""
    located: dict[bytes, _BatchWrite] = {}
    for write in writes:
        if write.is_put:
            _check_batch_item(table, write.item)
        else:
            table.check_key(write.item)
        row_key = table.row_key(write.item)
        if row_key in located:
            raise ValidationException(KEYS_REPEATED)
        located[row_key] = write
    return located


def _located_again(
    db: Database, table: Table, writes: dict[bytes, _BatchWrite]
) -> tuple[Table, dict[bytes, _BatchWrite]]:
    """The same after a slice: the table may have another index or a stream, or be deleted."""
    found = db.table_again(table)
    if found is not table:
        for write in writes.values():
            if write.is_put:
                _check_batch_item(found, write.item)
    return found, writes


def _check_batch_item(table: Table, item: Item) -> None:
    """A batch reports a wrong key where PutItem reports a wrong item."""
    if any(name not in item or kind not in item[name] for name, kind in table.key.types.items()):
        raise ValidationException(KEY_MISMATCH)
    table.check_item(item)
