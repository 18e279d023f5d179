"""How a consumer works: the flows that read a stream, have it handled, and note how far they are.

    shard ──▶ batch ──▶ handler ──▶ effects + checkpoint, one transaction
                │  fails                            │ lease lost: leave the shard to whoever has it
                ├─▶ halves, each for itself, down to the record that is to blame
                └─▶ tried again, ``retries`` times ──▶ dead letter + checkpoint, one transaction

A record is to blame when the handler raises, or when its effects are refused. When the service cannot be reached, or
the handler says that something else cannot (``Unavailable``), nobody is: the batch stays where it is until it can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from inspect import iscoroutinefunction
from typing import Any

import orjson

from tablewright.dynamo.expressions.builder import exists
from tablewright.model import ModelError, Table, schema_of
from tablewright.store.context import Context
from tablewright.store.errors import (
    Cancelled,
    Conflict,
    LeaseLost,
    LimitExceeded,
    NotFound,
    RebuildUnfinished,
    RecordsLost,
    ServiceError,
    StoreError,
    Unavailable,
    VersionConflict,
)
from tablewright.store.flow.driver import Flow
from tablewright.store.flow.retry import backoff, is_transient
from tablewright.store.streams.change_records import (
    AnyChange,
    ChangeFilter,
    Record,
    Shard,
    ShardReader,
    Stream,
    changes_in,
    describe_streams,
    moment,
)
from tablewright.store.streams.checkpoint import Bookkeeping, Checkpoint, DeadLetter, Desk, selected
from tablewright.store.streams.effects import Effects
from tablewright.store.write.planning.executor import execute_all
from tablewright.store.write.planning.operation import Operation, Planned, WritePlan, action
from tablewright.store.write.planning.preconditions import Precondition
from tablewright.store.write.put import Create

Handler = Callable[[Sequence[AnyChange], Effects], None]

# A dead letter keeps a record whole up to this many bytes; an item has at most 400 KB, and a record may have two.
_LARGEST_LETTER = 300_000
# Letters in one transaction, which has at most 4 MB.
_LETTERS_AT_ONCE = 10


def _never() -> bool:
    return False


@dataclass(slots=True)
class Pass:
    """What was done in one pass over the shards of a stream."""

    records: int = 0
    batches: int = 0
    dead_letters: int = 0
    # Shards that another consumer of the same name is working on.
    busy: int = 0


@dataclass(slots=True)
class _Held:
    """A shard that this consumer has the lease of."""

    checkpoint: Checkpoint
    reader: ShardReader
    # When the oldest pending record was read.
    since: float | None = None


@dataclass(slots=True)
class _View:
    """What there is to work on, as it was when it was looked at last."""

    at: float
    # Older ones first; all but the last have been switched off.
    streams: Sequence[Stream]
    notes: dict[tuple[str, str], Checkpoint]
    finished: set[str]


@dataclass(slots=True)
class Worker:
    """The flows of a consumer; ``Consumer`` and ``AsyncConsumer`` run them."""

    context: Context
    table: Table
    handler: Handler
    name: str
    notes: Bookkeeping
    batch_size: int = 100
    window: timedelta = timedelta(seconds=5)
    bisect: bool = True
    retries: int = 3
    lease: timedelta = timedelta(seconds=60)
    # Whether the handler is also given changes of items that are of no entity, raw.
    foreign: bool = False
    # Which changes the handler is given; None: all of them.
    wanted: ChangeFilter | None = None
    desk: Desk = field(init=False)
    _held: dict[str, _Held] = field(init=False, default_factory=dict)
    _view: _View | None = field(init=False, default=None)
    _is_stopped: Callable[[], bool] = field(init=False, default=_never)

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.retries < 0:
            raise ValueError("a batch has at least one record, and retries are not negative")
        handler: Any = self.handler
        if iscoroutinefunction(handler) or iscoroutinefunction(handler.__call__):
            # What it says would never be heard, and the records would count as dealt with.
            raise ModelError(
                f"{self.name}: a handler says what is to be done by its effects, and is not awaited; make it a plain "
                "function, without async"
            )
        if self.notes.table.name == self.table.name:
            raise ModelError(
                f"{self.name}: its notes cannot be in table {self.table.name!r}, whose stream it reads, as each "
                "of them would be a change to be noted; keep them in another table"
            )
        owner = f"{self.context.entropy.getrandbits(64):016x}"
        self.desk = Desk(self.context, self.notes.checkpoint, self.name, owner, self.lease)

    @property
    def pattern(self) -> str:
        return f"{self.name}.consume"

    # -- passes -------------------------------------------------------------------------------------------------

    def one_pass(self, *, flush: bool, is_stopped: Callable[[], bool] = _never) -> Flow[Pass]:
        """Work on every shard whose turn it is.

        With ``flush``, everything that there is at the moment is dealt with. Without it, small batches wait until their
        window is over, and new shards are looked for only now and then. No batch is begun once it ``is_stopped``.
        """
        result = Pass()
        self._is_stopped = is_stopped
        view = self._view
        if flush or view is None or self.context.clock() - view.at > self.lease.total_seconds() / 4:
            view = self._view = yield from self._look()
        if view is None:
            result.busy = 1
            return result
        for stream in view.streams:
            yield from self._pass(view, stream, flush, result)
            # A stream that was switched on anew comes after the one before it.
            if not all(shard.id in view.finished for shard in stream.shards):
                break
        return result

    def _pass(self, view: _View, stream: Stream, flush: bool, result: Pass) -> Flow[None]:
        shards = {shard.id for shard in stream.shards}
        for shard in stream.shards:
            # A parent that the stream no longer tells of is over and done with.
            waiting = shard.parent in shards and shard.parent not in view.finished
            if shard.id in view.finished or waiting:
                continue
            if self._is_taken(view.notes.get((stream.label, shard.id))):
                self._held.pop(shard.id, None)
                result.busy += 1
                continue
            try:
                if (yield from self._work(stream, shard, flush, result)):
                    view.finished.add(shard.id)
                    # There may be shards that go on from it.
                    self._view = None
            except LeaseLost:
                self._held.pop(shard.id, None)
                self._view = None
                result.busy += 1
            except BaseException:
                # Some of a batch may be committed and some not: what was read must be read again from the checkpoint.
                self.drop()
                raise

    def _look(self) -> Flow[_View | None]:
        """Look at what there is to work on; None while a rebuild is at work."""
        notes = {(note.stream, note.shard): note for note in (yield from self.desk.load())}
        for note in notes.values():
            if note.is_of_rebuild:
                if note.leased_until is None or note.leased_until < self.context.now():
                    raise RebuildUnfinished(f"the rebuild of {self.name} was not finished; begin it again")
                return None
        unfinished = {note.stream for note in notes.values() if not note.finished}
        streams = yield from describe_streams(self.context, self.table, unfinished)
        known = {(stream.label, shard.id) for stream in streams for shard in stream.shards}
        for place, note in notes.items():
            if place in known:
                continue
            if not note.finished:
                raise RecordsLost(f"{self.name} had not finished shard {note.shard}, and the stream no longer has it")
            yield from self.desk.forget(note)
        finished = {note.shard for note in notes.values() if note.finished}
        return _View(self.context.clock(), streams, notes, finished)

    def _is_taken(self, note: Checkpoint | None) -> bool:
        """Whether somebody else was seen at work on a shard; then there is no need to ask for its lease."""
        if note is None or note.owner in (None, self.desk.owner) or note.leased_until is None:
            return False
        return note.leased_until > self.context.now()

    def skip_lost(self) -> Flow[int]:
        """Accept that records are lost: go on with the oldest there are. In how many shards that was so."""
        self.drop()
        lost = 0
        notes = [note for note in (yield from self.desk.load()) if not note.finished and not note.is_of_rebuild]
        streams = yield from describe_streams(self.context, self.table, {note.stream for note in notes})
        shards = {(stream.label, shard.id): (stream, shard) for stream in streams for shard in stream.shards}
        for note in notes:
            place = shards.get((note.stream, note.shard))
            if place is None:
                yield from self.desk.forget(note)
                lost += 1
                continue
            reader = ShardReader(place[0].arn, place[1], note.sequence)
            try:
                yield from reader.fill(self.context, 1)
            except RecordsLost:
                yield from self.desk.forget(note)
                lost += 1
        return lost

    def take_over(self) -> Flow[None]:
        """End the leases of others, who are known to be dead; a rebuild of theirs is one to be begun again."""
        for note in (yield from self.desk.load()):
            if note.owner is not None:
                taken = yield from self.desk.acquire(note.stream, note.shard, by_force=True)
                assert taken is not None
                yield from self.desk.release(taken)
        self.drop()

    def release(self) -> Flow[None]:
        """Give the leases back, so that another consumer need not wait for them to end."""
        self.drop()
        # Not only those that are in use: after an error they are forgotten, and still leased.
        for note in (yield from self.desk.load()):
            if note.owner == self.desk.owner and not note.is_of_rebuild:
                yield from self.desk.release(note)

    def drop(self) -> None:
        """Forget what was read and not dealt with; it will be read again."""
        self._held.clear()
        self._view = None

    def _work(self, stream: Stream, shard: Shard, flush: bool, result: Pass) -> Flow[bool]:
        """Work on one shard; whether it has come to its end."""
        held = yield from self._hold(stream, shard)
        if held is None:
            result.busy += 1
            return False
        reader = held.reader
        while True:
            if self._is_stopped():
                return False
            yield from reader.fill(self.context, self.batch_size)
            if not reader.pending:
                break
            now = self.context.clock()
            held.since = now if held.since is None else held.since
            ripe = flush or reader.ended or now - held.since >= self.window.total_seconds()
            if not ripe and len(reader.pending) < self.batch_size:
                break
            batch = reader.pending[: self.batch_size]
            yield from self._process(held, batch, result)
            del reader.pending[: len(batch)]
            held.since = None
            result.records += len(batch)
            if not flush and not reader.ended and len(batch) < self.batch_size:
                # What has come meanwhile is gathered until the next pass.
                break
        if not reader.ended:
            return False
        del self._held[shard.id]
        return (yield from self.desk.finish(held.checkpoint))

    def _hold(self, stream: Stream, shard: Shard) -> Flow[_Held | None]:
        """Have the lease of a shard, with half of it left at least."""
        held = self._held.get(shard.id)
        if held is not None:
            held.reader.shard = shard
            until = held.checkpoint.leased_until
            if until is not None and until - self.context.now() > self.lease / 2:
                return held
        checkpoint = yield from self.desk.acquire(stream.label, shard.id)
        if checkpoint is None:
            self._held.pop(shard.id, None)
            return None
        if held is None or held.checkpoint.sequence != checkpoint.sequence:
            held = _Held(checkpoint, ShardReader(stream.arn, shard, checkpoint.sequence))
        held.checkpoint = checkpoint
        self._held[shard.id] = held
        return held

    # -- batches ------------------------------------------------------------------------------------------------

    def effects_of(self, records: Sequence[Record]) -> list[Operation]:
        """What the handler makes of records."""
        effects = Effects()
        found = changes_in(self.table, records, foreign=self.foreign, wanted=self.wanted)
        if found:
            self.handler(found, effects)
        return effects.operations()

    def _process(self, held: _Held, records: Sequence[Record], result: Pass) -> Flow[None]:
        attempt = 0
        while True:
            error = yield from self._attempt(held, records)
            if error is None:
                result.batches += 1
                return
            attempt += 1
            if len(records) > 1 and (self.bisect or isinstance(error, LimitExceeded)):
                middle = len(records) // 2
                yield from self._process(held, records[:middle], result)
                yield from self._process(held, records[middle:], result)
                return
            if attempt > self.retries:
                break
            yield backoff(self.context, attempt)
        yield from self._give_up(held, records, error, attempt)
        result.dead_letters += len(records)

    def _attempt(self, held: _Held, records: Sequence[Record]) -> Flow[Exception | None]:
        """Have records handled and committed; the error, if it is the records' own."""
        try:
            operations = self.effects_of(records)
        except Exception as error:
            if isinstance(error, StoreError) and is_passing(error):
                raise
            return error
        try:
            yield from self._commit(held, records, operations)
        except Exception as error:
            # Besides refusals, effects that contradict the model; planning finds those.
            if isinstance(error, StoreError) and not is_to_blame(error):
                raise
            return error
        return None

    def _commit(self, held: _Held, records: Sequence[Record], operations: Sequence[Operation]) -> Flow[None]:
        sequence = sequence_of(records[-1])
        advance = self.desk.advance(held.checkpoint, sequence)
        try:
            yield from execute_all(self.context, [advance, *operations], self.pattern)
        except Cancelled as cancelled:
            if not isinstance(cancelled.reasons[0], LeaseLost):
                raise
            if not (yield from self.desk.has_reached(held.checkpoint, sequence)):
                raise LeaseLost from None
        held.checkpoint = self.desk.advanced(held.checkpoint, sequence)

    def _give_up(self, held: _Held, records: Sequence[Record], error: Exception, attempts: int) -> Flow[None]:
        """Put records aside as dead letters, and go on behind them."""
        for start in range(0, len(records), _LETTERS_AT_ONCE):
            some = records[start : start + _LETTERS_AT_ONCE]
            letters = [Create(self._letter(held.checkpoint, record, error, attempts)) for record in some]
            yield from self._commit(held, some, letters)

    def _letter(self, checkpoint: Checkpoint, record: Record, error: Exception, attempts: int) -> DeadLetter:
        body = {**record["dynamodb"]}
        if "ApproximateCreationDateTime" in body:
            body["ApproximateCreationDateTime"] = moment(body["ApproximateCreationDateTime"]).timestamp()
        text = orjson.dumps({**record, "dynamodb": body})
        complete = len(text) <= _LARGEST_LETTER
        if not complete:
            for image in ("OldImage", "NewImage"):
                body.pop(image, None)
            text = orjson.dumps({**record, "dynamodb": body})
        return self.notes.dead_letter(
            consumer=self.name,
            stream=checkpoint.stream,
            shard=checkpoint.shard,
            sequence=sequence_of(record),
            record=text.decode(),
            complete=complete,
            error=f"{type(error).__name__}: {error}"[:2000],
            attempts=attempts,
            failed_at=self.context.now(),
        )

    # -- dead letters -------------------------------------------------------------------------------------------

    def dead_letters(self) -> Flow[list[DeadLetter]]:
        return (yield from selected(self.context, self.notes.dead_letter.of_consumer(consumer=self.name)))

    def replay(self, letter: DeadLetter) -> Flow[None]:
        """Have a dead letter handled after all; it is gone when that succeeds, and stays when it does not."""
        if not letter.complete:
            raise StoreError(f"record {letter.sequence} was too large to be kept whole; rebuild {self.name} instead")
        operations = self.effects_of([orjson.loads(letter.record)])
        schema = schema_of(type(letter))
        body = {"TableName": self.context.name_of(schema.table), "Key": schema.key_of(schema.encode(letter))}
        there = Precondition(exists(schema.table.partition), lambda _: NotFound("the dead letter", letter.sequence))
        gone = Planned(schema, "replay", WritePlan([action("Delete", body, [there])]))
        try:
            yield from execute_all(self.context, [gone, *operations], self.pattern)
        except Cancelled as cancelled:
            raise next(reason for reason in cancelled.reasons if reason is not None) from None


def sequence_of(record: Record) -> str:
    return str(record["dynamodb"]["SequenceNumber"])


def is_to_blame(error: StoreError) -> bool:
    """Whether an error comes of what was to be written, and would come again."""
    if isinstance(error, Cancelled):
        return any(reason is not None and is_to_blame(reason) for reason in error.reasons)
    if isinstance(error, ServiceError):
        return error.code == "ValidationException"
    return isinstance(error, VersionConflict) or not isinstance(error, Conflict)


def is_passing(error: StoreError) -> bool:
    """Whether to wait and go on."""
    if isinstance(error, Cancelled):
        return all(reason is None or is_passing(reason) for reason in error.reasons)
    return is_transient(error) if isinstance(error, ServiceError) else isinstance(error, Conflict | Unavailable)
