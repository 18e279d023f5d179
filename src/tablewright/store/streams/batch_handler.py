"""How a batch of records is handled: effects and checkpoint in one transaction, retries, halves, dead letters.

    batch ──▶ parts of max_changes ──▶ handler ──▶ effects + checkpoint, one transaction
                                         │ fails                       │ too many effects: halves
                                         ├─▶ halves, down to the record that fails
                                         └─▶ retried ``retries`` times ──▶ dead letter + checkpoint, one transaction

A record fails when the handler raises, or when its effects are refused. When the service cannot be reached, or the
handler raises ``Unavailable``, no record is at fault: the batch stays where it is until it can be handled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from tablewright.dynamo.expressions.builder import exists
from tablewright.model import Table, schema_of
from tablewright.store.context import Context
from tablewright.store.errors import (
    Cancelled,
    Conflict,
    LeaseLost,
    LimitExceeded,
    NotFound,
    OutcomeUnknown,
    ServiceError,
    StoreError,
    Unavailable,
    VersionConflict,
)
from tablewright.store.flow.driver import Flow
from tablewright.store.flow.retry import backoff, is_transient
from tablewright.store.read.query import read_all
from tablewright.store.streams.change_records import ChangeFilter, Record, changes_in, raw_change, timestamp
from tablewright.store.streams.checkpoint import Checkpoint, CheckpointTable, DeadLetter
from tablewright.store.streams.consumer_settings import Handler, PassResult
from tablewright.store.streams.effects import Effects
from tablewright.store.streams.shard_leases import ShardLeases
from tablewright.store.write.planning.executor import execute_all
from tablewright.store.write.planning.operation import Operation, Planned, WritePlan, action
from tablewright.store.write.planning.preconditions import Precondition
from tablewright.store.write.put import Create

# A dead letter has its record complete up to this many bytes; an item has at most 400 KB, and a record may have two.
_MAX_RECORD_BYTES = 300_000
# Dead letters in one transaction, which has at most 4 MB.
_DEAD_LETTERS_PER_TRANSACTION = 10


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why records could not be handled."""

    error: Exception
    # The effects do not fit into one transaction: fewer records may do.
    too_many_effects: bool = False


@dataclass(slots=True)
class BatchHandler:
    """Handles the records of one consumer."""

    context: Context
    table: Table
    handler: Handler
    consumer: str
    checkpoints: CheckpointTable
    leases: ShardLeases
    max_changes: int | None
    bisect: bool
    retries: int
    include_raw: bool
    change_filter: ChangeFilter | None

    @property
    def pattern(self) -> str:
        """What the requests are counted under."""
        return f"{self.consumer}.consume"

    def effects_of(self, records: Sequence[Record]) -> list[Operation]:
        """The writes that the handler makes of records."""
        effects = Effects()
        changes = changes_in(self.table, records, include_raw=self.include_raw, change_filter=self.change_filter)
        if changes:
            self.handler(changes, effects)
        return effects.operations()

    def split(self, records: Sequence[Record]) -> list[Sequence[Record]]:
        """Records in parts of ``max_changes`` changes at most; records that the filter excludes do not count."""
        if self.max_changes is None or len(records) <= self.max_changes:
            return [records]
        parts: list[Sequence[Record]] = []
        start = changes = 0
        for number, record in enumerate(records):
            if self.change_filter is not None and not self.change_filter(raw_change(record)):
                continue
            if changes == self.max_changes:
                parts.append(records[start:number])
                start, changes = number, 0
            changes += 1
        return [*parts, records[start:]]

    def process(self, checkpoint: Checkpoint, records: Sequence[Record], result: PassResult) -> Flow[Checkpoint]:
        """Handle a batch, and commit its effects; the checkpoint after it."""
        for part in self.split(records):
            checkpoint = yield from self._process(checkpoint, part, result)
        return checkpoint

    def _process(self, checkpoint: Checkpoint, records: Sequence[Record], result: PassResult) -> Flow[Checkpoint]:
        attempt = 0
        while True:
            outcome = yield from self._attempt(checkpoint, records)
            if isinstance(outcome, Checkpoint):
                result.batches += 1
                return outcome
            attempt += 1
            if len(records) > 1 and (self.bisect or outcome.too_many_effects):
                middle = len(records) // 2
                checkpoint = yield from self._process(checkpoint, records[:middle], result)
                return (yield from self._process(checkpoint, records[middle:], result))
            if attempt > self.retries:
                break
            yield backoff(self.context, attempt)
        checkpoint = yield from self._give_up(checkpoint, records, outcome.error, attempt)
        result.dead_letters += len(records)
        return checkpoint

    def _attempt(self, checkpoint: Checkpoint, records: Sequence[Record]) -> Flow[Checkpoint | _Failure]:
        """Handle records and commit their effects; a failure if it is due to the records."""
        try:
            operations = self.effects_of(records)
        except Exception as error:
            if isinstance(error, StoreError) and is_temporary(error):
                raise
            return _Failure(error)
        try:
            return (yield from self._commit(checkpoint, records, operations))
        except Exception as error:
            # Not only refusals: planning finds effects that contradict the model.
            if isinstance(error, StoreError) and not is_permanent(error):
                raise
            return _Failure(error, too_many_effects=isinstance(error, LimitExceeded))

    def _commit(
        self, checkpoint: Checkpoint, records: Sequence[Record], operations: Sequence[Operation]
    ) -> Flow[Checkpoint]:
        sequence = sequence_of(records[-1])
        advance = self.leases.advance(checkpoint, sequence)
        try:
            yield from execute_all(self.context, [advance, *operations], self.pattern)
        except Cancelled as cancelled:
            if not isinstance(cancelled.reasons[0], LeaseLost):
                raise
            if not (yield from self.leases.has_reached(checkpoint, sequence)):
                raise LeaseLost from None
        except OutcomeUnknown:
            if not (yield from self.leases.has_reached(checkpoint, sequence)):
                raise
        return self.leases.advanced(checkpoint, sequence)

    # -- dead letters -------------------------------------------------------------------------------------------

    def _give_up(
        self, checkpoint: Checkpoint, records: Sequence[Record], error: Exception, attempts: int
    ) -> Flow[Checkpoint]:
        """Store records as dead letters, and advance past them."""
        size = _DEAD_LETTERS_PER_TRANSACTION
        for some in (records[start : start + size] for start in range(0, len(records), size)):
            dead_letters = [Create(self.dead_letter(checkpoint, record, error, attempts)) for record in some]
            checkpoint = yield from self._commit(checkpoint, some, dead_letters)
        return checkpoint

    def dead_letter(self, checkpoint: Checkpoint, record: Record, error: Exception, attempts: int) -> DeadLetter:
        """A record that was given up, as it is stored."""
        body = {**record["dynamodb"]}
        if "ApproximateCreationDateTime" in body:
            body["ApproximateCreationDateTime"] = timestamp(body["ApproximateCreationDateTime"]).timestamp()
        text = orjson.dumps({**record, "dynamodb": body})
        complete = len(text) <= _MAX_RECORD_BYTES
        if not complete:
            for image in ("OldImage", "NewImage"):
                body.pop(image, None)
            text = orjson.dumps({**record, "dynamodb": body})
        return self.checkpoints.dead_letter(
            consumer=self.consumer,
            stream=checkpoint.stream,
            shard=checkpoint.shard,
            sequence=sequence_of(record),
            record=text.decode(),
            complete=complete,
            error=f"{type(error).__name__}: {error}"[:2000],
            attempts=attempts,
            failed_at=self.context.now(),
        )

    def dead_letters(self) -> Flow[list[DeadLetter]]:
        """The dead letters of the consumer."""
        selection = self.checkpoints.dead_letter.of_consumer(consumer=self.consumer)
        return (yield from read_all(self.context, selection, consistent=True))

    def replay(self, dead_letter: DeadLetter) -> Flow[None]:
        """Retry a dead letter; it is deleted if that succeeds, and stays if it does not."""
        if not dead_letter.complete:
            raise StoreError(
                f"record {dead_letter.sequence} was too large to be stored completely: rebuild {self.consumer} instead"
            )
        operations = self.effects_of([orjson.loads(dead_letter.record)])
        schema = schema_of(type(dead_letter))
        body = {"TableName": self.context.name_of(schema.table), "Key": schema.key_of(schema.encode(dead_letter))}
        is_stored = Precondition(
            exists(schema.table.partition), lambda _: NotFound("the dead letter", dead_letter.sequence)
        )
        deletion = Planned(schema, "replay", WritePlan([action("Delete", body, [is_stored])]))
        try:
            yield from execute_all(self.context, [deletion, *operations], self.pattern)
        except Cancelled as cancelled:
            raise next(reason for reason in cancelled.reasons if reason is not None) from None


def sequence_of(record: Record) -> str:
    """The sequence number of a record."""
    return str(record["dynamodb"]["SequenceNumber"])


def is_permanent(error: StoreError) -> bool:
    """Whether an error is due to what was to be written, and a retry would fail again."""
    if isinstance(error, Cancelled):
        return any(reason is not None and is_permanent(reason) for reason in error.reasons)
    if isinstance(error, ServiceError):
        return error.code == "ValidationException"
    return isinstance(error, VersionConflict) or not isinstance(error, Conflict)


def is_temporary(error: StoreError) -> bool:
    """Whether to wait and retry."""
    if isinstance(error, Cancelled):
        return all(reason is None or is_temporary(reason) for reason in error.reasons)
    return is_transient(error) if isinstance(error, ServiceError) else isinstance(error, Conflict | Unavailable)
