"""What changed: the records of a table's stream, as typed changes of entities.

    for change in changes_of(Ticket, records):
        change.kind, change.before, change.after, change.by_expiry, change.sequence, change.at

Records come in one form from everywhere: the engine's GetRecords, DynamoDB Streams through botocore, and the events
that Lambda is called with. A ``ShardReader`` reads one shard in order, from a place in it to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

from tablewright.dynamo import Item
from tablewright.model import Entity, Schema, Table, schema_of, schemas_of
from tablewright.store.context import Context
from tablewright.store.errors import NotFound, RecordsLost, ServiceError, Unreadable
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.read.entity_decoding import entity_of

E = TypeVar("E", bound=Entity)
E_co = TypeVar("E_co", bound=Entity, covariant=True)

Record = dict[str, Any]

# Who deletes expired items, in the words of a record's userIdentity.
_EXPIRY_PRINCIPAL = "dynamodb.amazonaws.com"
_MOST_RECORDS = 1000
# A closed shard may give nothing many times before it says that it has ended; one that never says so is left for now.
_MOST_EMPTY_PAGES = 100


class ChangeKind(StrEnum):
    """What happened to an item, in the words of DynamoDB Streams."""

    INSERT = "INSERT"
    MODIFY = "MODIFY"
    REMOVE = "REMOVE"


# Not frozen, though no field is ever set anew: both kinds are made for every record, and would take four times as long.
@dataclass(slots=True)
class RawChange:
    """A change of an item as it is stored, such as one that is of no entity of the table."""

    kind: ChangeKind
    key: Item
    before: Item | None
    after: Item | None
    # Deleted because its time to live was over, and by nobody.
    by_expiry: bool
    sequence: str
    at: datetime


@dataclass(slots=True)
class Change(Generic[E_co]):
    """A change of an entity. What it was and what it is are there as far as the stream's view type has them."""

    entity: type[E_co]
    kind: ChangeKind
    key: Item
    before: E_co | None
    after: E_co | None
    by_expiry: bool
    sequence: str
    at: datetime


AnyChange = Change[Entity] | RawChange
# Whether a change is wanted, by what is stored.
ChangeFilter = Callable[[RawChange], bool]


def change_of(table: Table, record: Record) -> AnyChange:
    """The change that a record tells of; raw when no entity of the table has such items.

    An item that is of an entity and does not fit it (``Unreadable``) is an error, and not passed over.
    """
    raw = raw_change(record)
    schema = _schema(schemas_of(table), raw)
    return raw if schema is None else _typed(schema, raw)


def changes_in(
    table: Table, records: Iterable[Record], *, foreign: bool = False, wanted: ChangeFilter | None = None
) -> list[AnyChange]:
    """The changes that records tell of; with ``foreign``, also those of items that are of no entity, raw.

    With ``wanted``, those that it says so of; what it does not want is not read as an entity at all.
    """
    found: list[AnyChange] = []
    for record in records:
        raw = raw_change(record)
        if wanted is not None and not wanted(raw):
            continue
        schema = _schema(schemas_of(table), raw)
        if schema is not None:
            found.append(_typed(schema, raw))
        elif foreign:
            found.append(raw)
    return found


def changes_of(entity: type[E], records: Iterable[Record]) -> list[Change[E]]:
    """The changes of one entity."""
    schema = schema_of(entity)
    found: list[Change[E]] = []
    for record in records:
        raw = raw_change(record)
        if _schema(schemas_of(schema.table), raw) is schema:
            found.append(_typed(schema, raw))
    return found


def wanting(*entities: type[Entity]) -> ChangeFilter:
    """That the changes of some entities are wanted, and no others."""
    schemas = [schema_of(entity) for entity in entities]

    def wanted(change: RawChange) -> bool:
        return _schema(schemas, change) is not None

    return wanted


def readable(*entities: type[Entity], told: Callable[[Unreadable], None] | None = None) -> ChangeFilter:
    """That changes are wanted but for those of these entities that cannot be read; ``told`` hears of each of those.

    A consumer puts aside what it cannot read. This is for those who have nowhere to put it, such as a rebuild.
    """
    schemas = [schema_of(entity) for entity in entities]

    def wanted(change: RawChange) -> bool:
        schema = _schema(schemas, change)
        try:
            if schema is not None:
                _typed(schema, change)
        except Unreadable as error:
            if told is not None:
                told(error)
            return False
        return True

    return wanted


def only(entity: type[E], changes: Iterable[AnyChange]) -> list[Change[E]]:
    """Of some changes those of one entity, by its type."""
    return [change for change in changes if isinstance(change, Change) and change.entity is entity]  # type: ignore[misc]


def raw_change(record: Record) -> RawChange:
    """A record with its members in their places, its items as they are stored."""
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
        moment(body.get("ApproximateCreationDateTime", 0)),
    )


def moment(value: Any) -> datetime:
    """A time of the service: botocore gives it as one, JSON as seconds."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return datetime.fromtimestamp(float(value), UTC)


def _schema(schemas: Sequence[Schema], raw: RawChange) -> Schema | None:
    """Of some entities of a table the one that a change is about."""
    item = raw.after or raw.before or raw.key
    for schema in schemas:
        if schema.matches(item):
            return schema
    return None


def _typed(schema: Schema, raw: RawChange) -> Change[Any]:
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


# -- reading --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a stream: its records have an order, and come after all of its parent's."""

    id: str
    parent: str | None
    closed: bool


@dataclass(frozen=True, slots=True)
class Stream:
    arn: str
    label: str
    # Parents before their children.
    shards: Sequence[Shard]


def describe_stream(context: Context, table: Table) -> Flow[Stream]:
    """The latest stream of a table, with all of its shards."""
    name = context.name_of(table)
    described = yield from retrying(context, Request("DescribeTable", {"TableName": name}))
    arn = described["Table"].get("LatestStreamArn")
    if arn is None:
        raise NotFound("the stream of table", name)
    return (yield from _described(context, arn))


def describe_streams(context: Context, table: Table, labels: Collection[str]) -> Flow[list[Stream]]:
    """The latest stream of a table, and before it the older ones with these labels, as far as they are still there."""
    latest = yield from describe_stream(context, table)
    older: list[str] = []
    body = {"TableName": context.name_of(table)}
    while set(labels) - {latest.label}:
        response = yield from retrying(context, Request("ListStreams", body))
        found = [entry for entry in response["Streams"] if entry["StreamLabel"] in labels]
        older += [entry["StreamArn"] for entry in found if entry["StreamArn"] != latest.arn]
        if "LastEvaluatedStreamArn" not in response:
            break
        body = {**body, "ExclusiveStartStreamArn": response["LastEvaluatedStreamArn"]}
    streams = []
    # Labels are times.
    for arn in sorted(older):
        streams.append((yield from _described(context, arn)))
    return [*streams, latest]


def _described(context: Context, arn: str) -> Flow[Stream]:
    shards: list[Shard] = []
    body: dict[str, Any] = {"StreamArn": arn}
    while True:
        response = yield from retrying(context, Request("DescribeStream", body))
        description = response["StreamDescription"]
        for shard in description.get("Shards", ()):
            closed = shard.get("SequenceNumberRange", {}).get("EndingSequenceNumber") is not None
            shards.append(Shard(shard["ShardId"], shard.get("ParentShardId"), closed))
        last = description.get("LastEvaluatedShardId")
        if last is None:
            break
        body = {"StreamArn": arn, "ExclusiveStartShardId": last}
    return Stream(arn, description.get("StreamLabel", arn), _in_order(shards))


def _in_order(shards: Sequence[Shard]) -> list[Shard]:
    by_id = {shard.id: shard for shard in shards}
    ordered: dict[str, Shard] = {}

    def place(shard: Shard) -> None:
        line = [shard]
        while (parent := by_id.get(line[-1].parent or "")) is not None and parent.id not in ordered:
            line.append(parent)
        ordered.update((member.id, member) for member in reversed(line))

    for shard in shards:
        if shard.id not in ordered:
            place(shard)
    return list(ordered.values())


@dataclass(slots=True)
class ShardReader:
    """Reads one shard: what has been read and not yet dealt with is in ``pending``."""

    arn: str
    shard: Shard
    # The place in the shard; None is its beginning.
    after: str | None
    # Go on with the oldest record that there still is, when those before it have been trimmed.
    skip_trimmed: bool = False
    pending: list[Record] = field(default_factory=list)
    ended: bool = False
    _iterator: str | None = None

    def fill(self, context: Context, most: int) -> Flow[bool]:
        """Read until ``most`` records are pending, or there are no more for now; whether any was read."""
        read = False
        empty = 0
        while not self.ended and len(self.pending) < most:
            records, more = yield from self._page(context, min(most - len(self.pending), _MOST_RECORDS))
            self.pending += records
            read = read or bool(records)
            empty = 0 if records else empty + 1
            # A closed shard says when it has ended; an open one has nothing more for now when it gives nothing.
            if not more or empty >= (_MOST_EMPTY_PAGES if self.shard.closed else 1):
                break
        return read

    def _page(self, context: Context, limit: int) -> Flow[tuple[list[Record], bool]]:
        while True:
            if self._iterator is None:
                self._iterator = yield from self._positioned(context)
            try:
                body = {"ShardIterator": self._iterator, "Limit": limit}
                response = yield from retrying(context, Request("GetRecords", body))
                break
            except ServiceError as error:
                if error.code == "ExpiredIteratorException":
                    self._iterator = None
                elif error.code == "TrimmedDataAccessException":
                    self._restart()
                else:
                    raise
        records: list[Record] = response.get("Records", [])
        if records:
            self.after = records[-1]["dynamodb"]["SequenceNumber"]
        self._iterator = response.get("NextShardIterator")
        self.ended = self._iterator is None
        return records, not self.ended

    def _positioned(self, context: Context) -> Flow[str]:
        while True:
            body = {"StreamArn": self.arn, "ShardId": self.shard.id, **_position(self.after)}
            try:
                response = yield from retrying(context, Request("GetShardIterator", body))
            except ServiceError as error:
                if error.code != "TrimmedDataAccessException":
                    raise
                self._restart()
            else:
                iterator: str = response["ShardIterator"]
                return iterator

    def _restart(self) -> None:
        """Go on where the stream begins by now. Nothing has been missed by one who has read nothing yet."""
        if self.after is not None and not self.skip_trimmed:
            raise RecordsLost(f"the stream no longer has the records of shard {self.shard.id} after {self.after}")
        self.after = self._iterator = None


def _position(after: str | None) -> Mapping[str, str]:
    if after is None:
        return {"ShardIteratorType": "TRIM_HORIZON"}
    return {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after}
