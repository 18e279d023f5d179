"""The records of a table's stream, as typed changes of entities.

    for change in changes_of(Ticket, records):
        change.kind, change.before, change.after, change.by_expiry, change.sequence, change.at

Records have the same form everywhere: in the engine's GetRecords, in DynamoDB Streams, and in the
events that Lambda is called with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

from tablewright.dynamo import Item
from tablewright.model import Entity, Schema, Table, schema_of, schemas_of
from tablewright.store.read.entity_decoding import entity_of

E = TypeVar("E", bound=Entity)
E_co = TypeVar("E_co", bound=Entity, covariant=True)

Record = dict[str, Any]

# The principal that deletes expired items, in a record's userIdentity.
_EXPIRY_PRINCIPAL = "dynamodb.amazonaws.com"


class ChangeKind(StrEnum):
    """What happened to an item."""

    INSERT = "INSERT"
    MODIFY = "MODIFY"
    REMOVE = "REMOVE"


# Not frozen, though no field changes: both classes are made for every record, and frozen ones take four times as long.
@dataclass(slots=True)
class RawChange:
    """A change of an item, as it is stored; also of items that belong to no entity of the table."""

    kind: ChangeKind
    key: Item
    before: Item | None
    after: Item | None
    # Whether the item was deleted because it had expired.
    by_expiry: bool
    sequence: str
    at: datetime


@dataclass(slots=True)
class Change(Generic[E_co]):
    """A change of an entity; ``before`` and ``after`` are None where the item did not exist.

    They are None as well where the stream's view type does not include that image.
    """

    entity: type[E_co]
    kind: ChangeKind
    key: Item
    before: E_co | None
    after: E_co | None
    by_expiry: bool
    sequence: str
    at: datetime


AnyChange = Change[Entity] | RawChange
# Whether a consumer's handler is given a change, decided by the stored items.
ChangeFilter = Callable[[RawChange], bool]


def changes_in(
    table: Table, records: Iterable[Record], *, include_raw: bool = False, change_filter: ChangeFilter | None = None
) -> list[AnyChange]:
    """The changes of a table's entities in records; with ``include_raw``, also those of items of no entity, raw.

    An item that belongs to an entity and cannot be read as one raises ``Unreadable``; it is not skipped.
    With ``change_filter``, only those that it returns true for; the others are not decoded at all.
    """
    found: list[AnyChange] = []
    for record in records:
        raw = raw_change(record)
        if change_filter is not None and not change_filter(raw):
            continue
        schema = schema_in(schemas_of(table), raw)
        if schema is not None:
            found.append(typed_change(schema, raw))
        elif include_raw:
            found.append(raw)
    return found


def changes_of(entity: type[E], records: Iterable[Record]) -> list[Change[E]]:
    """The changes of one entity in records."""
    schema = schema_of(entity)
    found: list[Change[E]] = []
    for record in records:
        raw = raw_change(record)
        if schema_in(schemas_of(schema.table), raw) is schema:
            found.append(typed_change(schema, raw))
    return found


def raw_change(record: Record) -> RawChange:
    """A record as a change, with its items as they are stored."""
    body = record["dynamodb"]
    identity = record.get("userIdentity") or {}
    # Lambda's events have these members in either spelling.
    principal = identity.get("PrincipalId") or identity.get("principalId")
    return RawChange(
        ChangeKind(record["eventName"]),
        body["Keys"],
        body.get("OldImage"),
        body.get("NewImage"),
        principal == _EXPIRY_PRINCIPAL,
        body["SequenceNumber"],
        timestamp(body.get("ApproximateCreationDateTime", 0)),
    )


def timestamp(value: Any) -> datetime:
    """A time of the service: seconds in JSON; a datetime in records that came through botocore."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return datetime.fromtimestamp(float(value), UTC)


def schema_in(schemas: Sequence[Schema], raw: RawChange) -> Schema | None:
    """The one of some entities of a table that a change belongs to."""
    item = raw.after or raw.before or raw.key
    for schema in schemas:
        if schema.matches(item):
            return schema
    return None


def typed_change(schema: Schema, raw: RawChange) -> Change[Any]:
    """A change with its items decoded as entities."""
    before, after = raw.before, raw.after
    if before is not None and after is not None and not schema.matches(before):
        # An item that was replaced by one of another entity has no before in this one.
        before = None
    return Change(
        schema.entity,
        raw.kind,
        raw.key,
        None if before is None else entity_of(schema, before),
        None if after is None else entity_of(schema, after),
        raw.by_expiry,
        raw.sequence,
        raw.at,
    )
