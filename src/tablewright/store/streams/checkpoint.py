"""What consumers keep in a table: how far they are, who is at work, and what they could not deal with.

    CONSUMER#metrics   SHARD#<stream>#<shard>     Checkpoint: the last record done, and a lease on the shard
    CONSUMER#metrics   DEAD#<stream>#<sequence>   DeadLetter: a record that the handler refused to the end
    SEEN#metrics#<id>  SEEN                       Seen: a record that Lambda has delivered (goes by time to live)

The lease is fenced: every checkpoint is written under the condition that the owner is still the same and nobody else
has moved on, so that a consumer that was thought dead and comes back can do no harm.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar

from tablewright.dynamo import AttributeValue
from tablewright.dynamo.expressions.builder import UpdateActions, compare, equals, missing, with_expressions
from tablewright.model import (
    AttributeName,
    Entity,
    EpochMillis,
    ExpiresAt,
    Expiry,
    Get,
    Keys,
    ModelError,
    Query,
    Table,
    schema_of,
)
from tablewright.model.patterns import Selection
from tablewright.store.context import Context
from tablewright.store.errors import LeaseLost, ServiceError
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.read.read_planner import plan_selection
from tablewright.store.write.planning.operation import Planned, WritePlan, action
from tablewright.store.write.planning.preconditions import Precondition

E = TypeVar("E", bound=Entity)


# Two threads may ask for the bookkeeping of one table at once, and it is declared but once.
_declaring = threading.Lock()
# The shard of the checkpoint that says that a rebuild is at work.
REBUILD = "rebuild"
# Lambda gives a record up after a day, when the stream does.
_SEEN_FOR = timedelta(days=2)


class Checkpoint(Entity):
    """How far a consumer is in a shard, and who is working on it until when."""

    consumer: str
    stream: str
    shard: str
    # The last record that is done; None: none yet.
    sequence: str | None = None
    finished: bool = False
    owner: str | None = None
    leased_until: EpochMillis | None = None

    of_consumer = Query()

    @property
    def is_of_rebuild(self) -> bool:
        """Whether it is of no shard, and says that a rebuild is at work."""
        return self.shard == REBUILD


class DeadLetter(Entity):
    """A record that a consumer could not deal with."""

    consumer: str
    stream: str
    shard: str
    sequence: str
    # The stream's record as JSON; without its images where it would be too large to keep (``complete`` is False then).
    record: str
    complete: bool = True
    error: str
    attempts: int
    failed_at: datetime

    of_consumer = Query()


class Seen(Entity):
    """A record whose effects have been committed."""

    consumer: str
    event: str

    by_event = Get()


@dataclass(frozen=True, slots=True)
class Bookkeeping:
    """A table that consumers keep their notes in, beside whatever else is in it."""

    table: Table
    checkpoint: type[Checkpoint]
    dead_letter: type[DeadLetter]
    # None where the table has no time to live, by which they would go.
    seen: type[Seen] | None

    @classmethod
    def of(cls, table: Table) -> Bookkeeping:
        """The bookkeeping in a table, declared when it is first asked for."""
        sort = table.sort
        if sort is None or any(table.types.get(name, "S") != "S" for name in table.key):
            raise ModelError(f"table {table.name!r} cannot have checkpoints: they need a text key of two parts")
        with _declaring:
            return cls(
                table,
                _declared(Checkpoint, table) or _checkpoint(table, sort),
                _declared(DeadLetter, table) or _dead_letter(table, sort),
                _declared(Seen, table) or (None if table.ttl is None else _seen(table, sort, table.ttl)),
            )


def _declared(kind: type[E], table: Table) -> type[E] | None:
    for entity in table.entities:
        if issubclass(entity, kind):
            return entity
    return None


def _checkpoint(table: Table, sort: str) -> type[Checkpoint]:
    class TableCheckpoint(Checkpoint, table=table, type_name="ConsumerCheckpoint"):
        keys = Keys({table.partition: "CONSUMER#{consumer}", sort: "SHARD#{stream}#{shard}"})

    return TableCheckpoint


def _dead_letter(table: Table, sort: str) -> type[DeadLetter]:
    class TableDeadLetter(DeadLetter, table=table, type_name="ConsumerDeadLetter"):
        keys = Keys({table.partition: "CONSUMER#{consumer}", sort: "DEAD#{stream}#{sequence}"})

    return TableDeadLetter


def _seen(table: Table, sort: str, ttl: str) -> type[Seen]:
    class TableSeen(Seen, table=table, type_name="ConsumerSeen"):
        forgotten_at: Annotated[ExpiresAt, Expiry(_SEEN_FOR), AttributeName(ttl)] = None

        keys = Keys({table.partition: "SEEN#{consumer}#{event}", sort: "SEEN"})

    return TableSeen


# -- reading --------------------------------------------------------------------------------------------------------


def selected(context: Context, selection: Selection[E]) -> Flow[list[E]]:
    """Everything that a selection has: a consumer's checkpoints, or its dead letters."""
    plan = plan_selection(context, selection, consistent=True)
    found: list[E] = []
    for body in plan.bodies:
        start: dict[str, Any] = {}
        while True:
            response = yield from retrying(context, Request("Query", {**body, **start}, plan.scope.pattern))
            found += map(selection.entity.of, response["Items"])
            if "LastEvaluatedKey" not in response:
                break
            start = {"ExclusiveStartKey": response["LastEvaluatedKey"]}
    return found


# -- leases ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Desk:
    """One consumer's hand on its checkpoints."""

    context: Context
    checkpoint: type[Checkpoint]
    consumer: str
    owner: str
    lease: timedelta

    def load(self) -> Flow[list[Checkpoint]]:
        return (yield from selected(self.context, self.checkpoint.of_consumer(consumer=self.consumer)))

    def acquire(self, stream: str, shard: str, *, by_force: bool = False) -> Flow[Checkpoint | None]:
        """Take or renew the lease on a shard; None while it is somebody else's."""
        new = self.checkpoint(consumer=self.consumer, stream=stream, shard=shard)
        now = {"N": str(int(self.context.clock() * 1000))}
        free = missing("owner") | equals("owner", {"S": self.owner}) | compare("leased_until", "<", now)
        changes = UpdateActions(sets={**self._identity(new), "owner": {"S": self.owner}, "leased_until": self._until()})
        body = {**self._place(new), "ReturnValues": "ALL_NEW"}
        try:
            request = Request("UpdateItem", with_expressions(body, None if by_force else free, changes))
            response = yield from retrying(self.context, request)
        except ServiceError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
            return None
        return self.checkpoint.of(response["Attributes"])

    def release(self, checkpoint: Checkpoint) -> Flow[None]:
        """Let others have the shard at once."""
        yield from self._update(checkpoint, UpdateActions(removes=["owner", "leased_until"]))

    def finish(self, checkpoint: Checkpoint) -> Flow[bool]:
        """Note that a shard has been read to its end."""
        changes = UpdateActions(sets={"finished": {"BOOL": True}}, removes=["owner", "leased_until"])
        return (yield from self._update(checkpoint, changes))

    def forget(self, checkpoint: Checkpoint) -> Flow[None]:
        """Delete a checkpoint, unless somebody has taken its lease since it was looked at."""
        owner = None if checkpoint.owner is None else {"S": checkpoint.owner}
        request = Request("DeleteItem", with_expressions(self._place(checkpoint), equals("owner", owner)))
        try:
            yield from retrying(self.context, request)
        except ServiceError as error:
            if error.code != "ConditionalCheckFailedException":
                raise

    def advance(self, checkpoint: Checkpoint, sequence: str | None) -> Planned:
        """The write that moves a checkpoint on (and renews the lease), for this owner and from this place only."""
        changes = UpdateActions(sets={"leased_until": self._until()})
        if sequence is not None:
            changes.sets["sequence"] = {"S": sequence}
        place = None if checkpoint.sequence is None else {"S": checkpoint.sequence}
        conditions = [equals("owner", {"S": self.owner}), equals("sequence", place)]
        own = [Precondition(condition, lambda _: LeaseLost()) for condition in conditions]
        update = action("Update", self._place(checkpoint), own, changes)
        return Planned(schema_of(self.checkpoint), "advance", WritePlan([update]))

    def has_reached(self, checkpoint: Checkpoint, sequence: str) -> Flow[bool]:
        """Whether an advance whose answer got lost, or whose second try was refused, has taken place."""
        body = {**self._place(checkpoint), "ConsistentRead": True}
        response = yield from retrying(self.context, Request("GetItem", body))
        item = response.get("Item", {})
        return bool(item.get("owner") == {"S": self.owner} and item.get("sequence") == {"S": sequence})

    def advanced(self, checkpoint: Checkpoint, sequence: str | None) -> Checkpoint:
        """A checkpoint as it is after an advance."""
        until = self.context.now() + self.lease
        return checkpoint.model_copy(update={"sequence": sequence or checkpoint.sequence, "leased_until": until})

    def _update(self, checkpoint: Checkpoint, changes: UpdateActions) -> Flow[bool]:
        condition = equals("owner", {"S": self.owner})
        request = Request("UpdateItem", with_expressions(self._place(checkpoint), condition, changes))
        try:
            yield from retrying(self.context, request)
        except ServiceError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
            return False
        return True

    def _place(self, checkpoint: Checkpoint) -> dict[str, Any]:
        schema = schema_of(self.checkpoint)
        key = schema.key_of(schema.encode_values({name: getattr(checkpoint, name) for name in _IDENTITY}))
        return {"TableName": self.context.name_of(schema.table), "Key": key}

    def _identity(self, checkpoint: Checkpoint) -> dict[str, AttributeValue]:
        schema = schema_of(self.checkpoint)
        stored = schema.encode_values({name: getattr(checkpoint, name) for name in _IDENTITY})
        if schema.table.type_attribute is not None:
            stored[schema.table.type_attribute] = {"S": schema.type_name}
        return stored

    def _until(self) -> AttributeValue:
        return {"N": str(int((self.context.clock() + self.lease.total_seconds()) * 1000))}


_IDENTITY: Sequence[str] = ("consumer", "stream", "shard")
