"""Many items at once: puts and deletes in requests of 25, what was not processed again until all of it is.

Each item is written for itself, and nothing of it is checked: the last writer wins. An entity that has a version,
unique fields or numbers needs a condition or a transaction for every write, so it is refused here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from tablewright.model import Entity, Lookup, ModelError
from tablewright.model.schema import Schema
from tablewright.store.context import Context
from tablewright.store.errors import Conflict, ServiceError
from tablewright.store.flow import Flow, Request
from tablewright.store.operations import in_words, schema_for
from tablewright.store.retry import ATTEMPTS, backoff, retrying
from tablewright.store.targets import key_by, key_in
from tablewright.store.writes import brought_up_to_date, drafted

MOST_AT_ONCE = 25

# A table, and a PutRequest or DeleteRequest.
_Write = tuple[str, dict[str, Any]]


def write_many(
    context: Context, entities: Iterable[Entity], *, delete: Iterable[Entity | Lookup[Any]] = ()
) -> Flow[None]:
    """Put and delete any number of items; of several writes of one item, the last one counts."""
    writes: dict[bytes, _Write] = {}
    drafts: list[tuple[Entity, Entity]] = []
    names: dict[str, None] = {}
    for entity in entities:
        schema = _writable(entity)
        draft = drafted(context, schema, entity)
        item = schema.encode(draft)
        drafts.append((entity, draft))
        names[f"{schema.entity.__name__}.write_many"] = None
        table = context.name_of(schema.table)
        writes[_identity(table, key_in(schema, item))] = table, {"PutRequest": {"Item": item}}
    for target in delete:
        schema = _writable(target)
        if isinstance(target, Lookup) and target.index is not None:
            raise ModelError(f"{schema.entity.__name__}: many items at once are deleted by primary key only")
        key = key_by(target) if isinstance(target, Lookup) else key_in(schema, schema.encode(target))
        names[f"{schema.entity.__name__}.write_many"] = None
        table = context.name_of(schema.table)
        writes[_identity(table, key)] = table, {"DeleteRequest": {"Key": key}}
    yield from _write_all(context, list(writes.values()), ", ".join(names))
    for entity, draft in drafts:
        brought_up_to_date(entity, draft)


def _writable(target: Entity | Lookup[Any]) -> Schema:
    schema = schema_for(target)
    name = schema.entity.__name__
    for what, present in (
        ("a version", schema.version is not None),
        ("unique fields", bool(schema.unique)),
        ("numbered fields", bool(schema.numbered)),
    ):
        if present:
            raise ModelError(f"{name} has {what}, which a batch cannot check; write it with put, delete or transact")
    return schema


def _identity(table: str, key: dict[str, Any]) -> bytes:
    return orjson.dumps([table, key], option=orjson.OPT_SORT_KEYS)


def _write_all(context: Context, writes: list[_Write], pattern: str) -> Flow[None]:
    """Send the writes; a request that gets nothing done counts as a failure, and there may be only so many in a row."""
    failures = 0
    while writes:
        chunk, writes = writes[:MOST_AT_ONCE], writes[MOST_AT_ONCE:]
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
        if failures >= ATTEMPTS:
            raise Conflict(f"the service is too busy: {len(writes)} items are left to be written")
        yield backoff(context, failures)
