"""Leases on shards: of the consumers of one name, one at a time works on a shard.

A lease is fenced: every checkpoint is written under the condition that the owner is still the same and that no other
consumer has advanced it. So a consumer that was thought dead and comes back can do no harm. A lease is asked for and
handed over as described in ``shard_sharing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tablewright.dynamo import AttributeValue
from tablewright.dynamo.expressions.builder import UpdateActions, compare, equals, missing, with_expressions
from tablewright.model import schema_of
from tablewright.store.context import Context
from tablewright.store.errors import LeaseLost, ServiceError
from tablewright.store.flow.driver import Flow, Request, Response
from tablewright.store.flow.retry import retrying
from tablewright.store.read.query import read_all
from tablewright.store.streams.checkpoint import Checkpoint
from tablewright.store.write.planning.operation import Planned, WritePlan, action
from tablewright.store.write.planning.preconditions import Precondition


@dataclass(slots=True)
class ShardLeases:
    """The checkpoints of one consumer, and its leases on shards."""

    context: Context
    checkpoint: type[Checkpoint]
    consumer: str
    owner: str
    lease: timedelta

    def load(self) -> Flow[list[Checkpoint]]:
        """All checkpoints of the consumer."""
        return (yield from read_all(self.context, self.checkpoint.of_consumer(consumer=self.consumer), consistent=True))

    def acquire(self, stream: str, shard: str, *, force: bool = False) -> Flow[Checkpoint | None]:
        """Take or renew the lease on a shard; None while another consumer has it, unless it is taken by ``force``."""
        new = self.checkpoint(consumer=self.consumer, stream=stream, shard=shard)
        now = {"N": str(int(self.context.clock() * 1000))}
        free = missing("owner") | equals("owner", {"S": self.owner}) | compare("leased_until", "<", now)
        changes = UpdateActions(sets={**self._identity(new), "owner": {"S": self.owner}, "leased_until": self._until()})
        body = {**self._target(new), "ReturnValues": "ALL_NEW"}
        request = Request("UpdateItem", with_expressions(body, None if force else free, changes))
        response = yield from self._send(request)
        return None if response is None else self.checkpoint.of(response["Attributes"])

    def release(self, checkpoint: Checkpoint) -> Flow[None]:
        """Release the lease on a shard, so that others can take it at once."""
        yield from self._update(checkpoint, UpdateActions(removes=["owner", "leased_until"]))

    def ask(self, checkpoint: Checkpoint) -> Flow[None]:
        """Ask the owner of the lease on a shard to hand it over; does nothing if another consumer has asked."""
        condition = equals("owner", {"S": checkpoint.owner}) & missing("wanted_by")
        changes = UpdateActions(sets={"wanted_by": {"S": self.owner}})
        yield from self._send(Request("UpdateItem", with_expressions(self._target(checkpoint), condition, changes)))

    def hand_over(self, checkpoint: Checkpoint) -> Flow[None]:
        """Give the lease on a shard to the consumer that asks for it."""
        owner: AttributeValue = {"S": checkpoint.wanted_by}
        changes = UpdateActions(sets={"owner": owner, "leased_until": self._until()}, removes=["wanted_by"])
        yield from self._update(checkpoint, changes)

    def decline(self, checkpoint: Checkpoint) -> Flow[None]:
        """Keep the lease on a shard that another consumer asks for."""
        yield from self._update(checkpoint, UpdateActions(removes=["wanted_by"]))

    def finish(self, checkpoint: Checkpoint) -> Flow[bool]:
        """Record that a shard has been read to its end."""
        changes = UpdateActions(sets={"finished": {"BOOL": True}}, removes=["owner", "leased_until"])
        return (yield from self._update(checkpoint, changes))

    def delete(self, checkpoint: Checkpoint) -> Flow[None]:
        """Delete a checkpoint, unless another consumer has taken its lease since it was read."""
        owner = None if checkpoint.owner is None else {"S": checkpoint.owner}
        request = Request("DeleteItem", with_expressions(self._target(checkpoint), equals("owner", owner)))
        yield from self._send(request)

    def advance(self, checkpoint: Checkpoint, sequence: str | None) -> Planned:
        """The write that advances a checkpoint and renews its lease, if the owner and the position are still these."""
        changes = UpdateActions(sets={"leased_until": self._until()})
        if sequence is not None:
            changes.sets["sequence"] = {"S": sequence}
        position = None if checkpoint.sequence is None else {"S": checkpoint.sequence}
        conditions = [equals("owner", {"S": self.owner}), equals("sequence", position)]
        preconditions = [Precondition(condition, lambda _: LeaseLost()) for condition in conditions]
        update = action("Update", self._target(checkpoint), preconditions, changes)
        return Planned(schema_of(self.checkpoint), "advance", WritePlan([update]))

    def has_reached(self, checkpoint: Checkpoint, sequence: str) -> Flow[bool]:
        """Whether an advance took place whose response got lost, or whose retry was refused."""
        body = {**self._target(checkpoint), "ConsistentRead": True}
        response = yield from retrying(self.context, Request("GetItem", body))
        item = response.get("Item", {})
        return bool(item.get("owner") == {"S": self.owner} and item.get("sequence") == {"S": sequence})

    def advanced(self, checkpoint: Checkpoint, sequence: str | None) -> Checkpoint:
        """A checkpoint as it is after an advance."""
        until = self.context.now() + self.lease
        return checkpoint.model_copy(update={"sequence": sequence or checkpoint.sequence, "leased_until": until})

    def _update(self, checkpoint: Checkpoint, changes: UpdateActions) -> Flow[bool]:
        condition = equals("owner", {"S": self.owner})
        request = Request("UpdateItem", with_expressions(self._target(checkpoint), condition, changes))
        return (yield from self._send(request)) is not None

    def _send(self, request: Request) -> Flow[Response | None]:
        """The response; None if the condition of the request does not hold."""
        try:
            return (yield from retrying(self.context, request))
        except ServiceError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
            return None

    def _target(self, checkpoint: Checkpoint) -> dict[str, Any]:
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
