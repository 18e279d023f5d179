"""Many items at once: puts and deletes in requests of 25, what was not processed again until all of it is.

Each item is written for itself, and nothing of it is checked: the last writer wins. An entity that has a version,
unique fields or numbers, or the keys of another one, needs a condition or a transaction for every write, so it is
refused here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from tablewright.dynamo.limits import MAX_BATCH_WRITES
from tablewright.model import Entity, Lookup, ModelError, Schema
from tablewright.store.argument_checks import A_TARGET, AN_ENTITY
from tablewright.store.blobs.blob_references import references, remember
from tablewright.store.blobs.offload import Offload, Placement
from tablewright.store.context import Context
from tablewright.store.errors import Conflict, ServiceError
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import MAX_REQUEST_ATTEMPTS, backoff, retrying
from tablewright.store.read.batch_get import batch_get
from tablewright.store.write.planning.commit import in_words
from tablewright.store.write.planning.operation import schema_for
from tablewright.store.write.planning.write_target import key_in, key_of_lookup
from tablewright.store.write.put import brought_up_to_date, managed_values

# A table, and a PutRequest or DeleteRequest.
_Write = tuple[str, dict[str, Any]]
# What has large fields, and the entity to be put.
_Large = tuple[Schema, Entity | None]


@dataclass(frozen=True, slots=True)
class BatchWrite:
    """An entity to be put, or a target to be deleted."""

    target: Entity | Lookup[Any]
    deletes: bool = False


def write_many(
    context: Context, entities: Iterable[Entity], *, delete: Iterable[Entity | Lookup[Any]] = ()
) -> Flow[None]:
    """Put and delete any number of items; of several writes of one item, the last one counts."""
    writes = [BatchWrite(entity) for entity in entities]
    return write_batch(context, [*writes, *(BatchWrite(target, deletes=True) for target in delete)])


def check_batch_write(write: BatchWrite) -> Schema:
    """The schema of what is written; refuses what a batch cannot write."""
    schema = _writable(write.target, AN_ENTITY if not write.deletes else A_TARGET)
    if isinstance(write.target, Lookup) and write.target.index is not None:
        raise ModelError(f"{schema.entity.__name__}: a batch deletes items by primary key only")
    return schema


def write_batch(context: Context, batch: Iterable[BatchWrite]) -> Flow[None]:
    """Make writes in their order: of several writes of one item, the last one counts."""
    writes: dict[bytes, _Write] = {}
    assignments: dict[bytes, tuple[Entity, dict[str, Any]]] = {}
    large: dict[bytes, _Large] = {}
    names: dict[str, None] = {}
    for each in batch:
        schema, target = check_batch_write(each), each.target
        table = context.name_of(schema.table)
        names[f"{schema.entity.__name__}.write_many"] = None
        values: dict[str, Any] = {}
        if each.deletes or isinstance(target, Lookup):
            key = key_of_lookup(target) if isinstance(target, Lookup) else key_in(schema, schema.encode(target))
            request = {"DeleteRequest": {"Key": key}}
        else:
            values = managed_values(context, schema, target)
            item = schema.encode(target, values)
            key = key_in(schema, item)
            request = {"PutRequest": {"Item": item}}
        identity = _identity(table, key)
        writes[identity] = table, request
        written = None if each.deletes or isinstance(target, Lookup) else target
        assignments.pop(identity, None)
        if written is not None:
            assignments[identity] = written, values
        large.pop(identity, None)
        if schema.large:
            large[identity] = schema, written
    pattern = ", ".join(names)
    offload = Offload(context)
    placed = (yield from _placed(context, offload, writes, large, pattern)) if large else {}
    yield from _write_all(context, list(writes.values()), pattern)
    for entity, values in assignments.values():
        brought_up_to_date(entity, values)
    for identity, placement in placed.items():
        _, owner = large[identity]
        if owner is not None:
            remember(owner, placement.references)
    yield from offload.committed(list(placed.values()))


def _placed(
    context: Context, offload: Offload, writes: dict[bytes, _Write], large: dict[bytes, _Large], pattern: str
) -> Flow[dict[bytes, Placement]]:
    """Send large values offload before they are referred to.

    A batch has no conditions, so what it replaces has to be read before. What others write in between is superseded
    without anybody knowing, and collected later.
    """
    placed = {}
    addresses = [(writes[identity][0], _key_of(schema, writes[identity])) for identity, (schema, _) in large.items()]
    found = yield from batch_get(context, addresses, pattern, consistent=True)
    for (identity, (schema, _)), stored in zip(large.items(), found, strict=True):
        table, write = writes[identity]
        before = references(stored or {})
        if "DeleteRequest" in write:
            placed[identity] = Placement({}, superseded=offload.superseded(schema, before))
            continue
        placed[identity] = offload.place(schema, write["PutRequest"]["Item"], before, reuse=False)
        writes[identity] = table, {"PutRequest": {"Item": placed[identity].item}}
    yield from offload.upload(placed.values())
    return placed


def _key_of(schema: Schema, write: _Write) -> dict[str, Any]:
    ((_, request),) = write[1].items()
    key: dict[str, Any] = request.get("Key") or key_in(schema, request["Item"])
    return key


def _writable(target: Entity | Lookup[Any], takes: str) -> Schema:
    schema = schema_for(target, "write_many", takes)
    reason = schema.batch_obstacle()
    if reason is not None:
        name = schema.entity.__name__
        raise ModelError(f"{name} has {reason}, which a batch cannot check; write it with put, delete or transact")
    return schema


def _identity(table: str, key: dict[str, Any]) -> bytes:
    return orjson.dumps([table, key], option=orjson.OPT_SORT_KEYS)


def _write_all(context: Context, writes: list[_Write], pattern: str) -> Flow[None]:
    """Send the writes; a request that gets nothing done counts as a failure, and there may be only so many in a row."""
    failures = 0
    while writes:
        chunk, writes = writes[:MAX_BATCH_WRITES], writes[MAX_BATCH_WRITES:]
        by_table: dict[str, list[dict[str, Any]]] = {}
        for table, write in chunk:
            by_table.setdefault(table, []).append(write)
        try:
            response = yield from retrying(context, Request("BatchWriteItem", {"RequestItems": by_table}, pattern))
        except ServiceError as error:
            raise in_words(error) from None
        rest = [(table, write) for table, some in response.get("UnprocessedItems", {}).items() for write in some]
        writes = rest + writes
        if not rest:
            failures = 0
            continue
        failures = failures + 1 if len(rest) == len(chunk) else 1
        if failures >= MAX_REQUEST_ATTEMPTS:
            raise Conflict(f"the service is throttling: {len(writes)} items were not written")
        yield backoff(context, failures)
