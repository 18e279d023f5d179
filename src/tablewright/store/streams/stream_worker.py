"""How a consumer works through a stream: passes over its shards, those that it has the lease of.

    streams and shards ──▶ lease of a shard ──▶ records from its checkpoint on ──▶ batches ──▶ ``BatchHandler``
                                 │ taken: left to the consumer that has it

A shard is read after its parent, and a stream that was enabled again after the one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from inspect import iscoroutinefunction
from typing import Any

from tablewright.model import ModelError, Table
from tablewright.store.context import Context
from tablewright.store.errors import LeaseLost, RebuildUnfinished, RecordsLost
from tablewright.store.flow.driver import Flow
from tablewright.store.streams.batch_handler import BatchHandler
from tablewright.store.streams.change_records import ChangeFilter
from tablewright.store.streams.checkpoint import Checkpoint, CheckpointTable
from tablewright.store.streams.consumer_settings import Handler, PassResult
from tablewright.store.streams.shard_leases import ShardLeases
from tablewright.store.streams.shard_reader import Shard, ShardReader, Stream, describe_streams
from tablewright.store.streams.shard_sharing import sharing


def _never() -> bool:
    return False


@dataclass(slots=True)
class _LeasedShard:
    """A shard that this consumer has the lease of."""

    checkpoint: Checkpoint
    reader: ShardReader
    # When the oldest pending record was read.
    pending_since: float | None = None


@dataclass(slots=True)
class _View:
    """The streams and checkpoints as they were when they were last read."""

    at: float
    # Older ones first; all but the last are disabled.
    streams: Sequence[Stream]
    checkpoints: dict[tuple[str, str], Checkpoint]
    finished: set[str]


class StreamWorker:
    """The flows of a consumer, which ``Consumer`` and ``AsyncConsumer`` run; for settings see ``ConsumerSettings``."""

    def __init__(
        self,
        context: Context,
        table: Table,
        handler: Handler,
        name: str,
        checkpoints: CheckpointTable,
        batch_size: int = 100,
        window: timedelta = timedelta(seconds=5),
        max_changes: int | None = None,
        bisect: bool = True,
        retries: int = 3,
        lease: timedelta = timedelta(seconds=60),
        include_raw: bool = False,
        change_filter: ChangeFilter | None = None,
    ) -> None:
        if batch_size < 1 or retries < 0 or (max_changes is not None and max_changes < 1):
            raise ValueError("batch_size and max_changes must be at least 1, and retries at least 0")
        if _is_async(handler):
            raise ModelError(
                f"{name}: the handler of a consumer only adds effects, and is not awaited: use a plain function, "
                "without async"
            )
        if checkpoints.table.name == table.name:
            raise ModelError(
                f"{name}: checkpoints cannot be stored in table {table.name!r}, whose stream the consumer reads: each "
                "of them would be another change; use another table"
            )
        self.context = context
        self.table = table
        self.name = name
        self.checkpoints = checkpoints
        self.batch_size = batch_size
        self._window = window
        self._lease = lease
        owner = f"{context.entropy.getrandbits(64):016x}"
        self.leases = ShardLeases(context, checkpoints.checkpoint, name, owner, lease)
        self.batches = BatchHandler(
            context,
            table,
            handler,
            name,
            checkpoints,
            self.leases,
            max_changes,
            bisect,
            retries,
            include_raw,
            change_filter,
        )
        self._leased: dict[str, _LeasedShard] = {}
        self._view: _View | None = None
        self._is_stopped: Callable[[], bool] = _never

    # -- passes -------------------------------------------------------------------------------------------------

    def run_pass(self, *, flush: bool, is_stopped: Callable[[], bool] = _never) -> Flow[PassResult]:
        """Work on every shard whose turn it is.

        With ``flush``, all records that there are now are processed. Without it, small batches wait until their window
        is over, and new shards are looked for only now and then. No batch is begun once ``is_stopped`` returns true.
        """
        result = PassResult()
        self._is_stopped = is_stopped
        view = self._view
        if flush or view is None or self.context.clock() - view.at > self._lease.total_seconds() / 4:
            view = self._view = yield from self._look()
        if view is None:
            result.busy = 1
            return result
        for stream in view.streams:
            yield from self._work_on_stream(view, stream, flush, result)
            # A stream that was enabled again comes after the one before it.
            if not all(shard.id in view.finished for shard in stream.shards):
                break
        return result

    def _work_on_stream(self, view: _View, stream: Stream, flush: bool, result: PassResult) -> Flow[None]:
        shards = {shard.id for shard in stream.shards}
        for shard in stream.shards:
            # A parent that the stream no longer has is finished.
            waiting = shard.parent in shards and shard.parent not in view.finished
            if shard.id in view.finished or waiting:
                continue
            if self._is_taken(view.checkpoints.get((stream.label, shard.id))):
                self._leased.pop(shard.id, None)
                result.busy += 1
                continue
            try:
                if (yield from self._work_on_shard(stream, shard, flush, result)):
                    view.finished.add(shard.id)
                    # It may have children now.
                    self._view = None
            except LeaseLost:
                self._leased.pop(shard.id, None)
                self._view = None
                result.busy += 1
            except BaseException:
                # Part of a batch may have been committed: records are read again from the checkpoint.
                self.reset()
                raise

    def _look(self) -> Flow[_View | None]:
        """Read streams and checkpoints; None while a rebuild is running."""
        checkpoints = {(each.stream, each.shard): each for each in (yield from self.leases.load())}
        for checkpoint in checkpoints.values():
            if checkpoint.is_rebuild_marker:
                if checkpoint.leased_until is None or checkpoint.leased_until < self.context.now():
                    raise RebuildUnfinished(f"the rebuild of {self.name} was not finished: start it again")
                return None
        unfinished = {each.stream for each in checkpoints.values() if not each.finished}
        streams = yield from describe_streams(self.context, self.table, unfinished)
        known = {(stream.label, shard.id) for stream in streams for shard in stream.shards}
        for position, checkpoint in checkpoints.items():
            if position in known:
                continue
            if not checkpoint.finished:
                raise RecordsLost(
                    f"{self.name} had not finished shard {checkpoint.shard}, and the stream no longer has it"
                )
            yield from self.leases.delete(checkpoint)
        finished = {each.shard for each in checkpoints.values() if each.finished}
        yield from self._share(checkpoints)
        return _View(self.context.clock(), streams, checkpoints, finished)

    def _share(self, checkpoints: dict[tuple[str, str], Checkpoint]) -> Flow[None]:
        """Hand shards over to others that have fewer, or ask for one."""
        plan = sharing(checkpoints.values(), self.leases.owner, self.context.now())
        for checkpoint in plan.hand_over:
            yield from self.leases.hand_over(checkpoint)
            self._leased.pop(checkpoint.shard, None)
            until = self.context.now() + self._lease
            handed = checkpoint.model_copy(
                update={"owner": checkpoint.wanted_by, "wanted_by": None, "leased_until": until}
            )
            checkpoints[checkpoint.stream, checkpoint.shard] = handed
        for checkpoint in plan.decline:
            yield from self.leases.decline(checkpoint)
        if plan.ask is not None:
            yield from self.leases.ask(plan.ask)

    def _is_taken(self, checkpoint: Checkpoint | None) -> bool:
        """Whether another consumer had the lease of a shard when it was last read; then it is not asked for."""
        if checkpoint is None or checkpoint.owner in (None, self.leases.owner) or checkpoint.leased_until is None:
            return False
        return checkpoint.leased_until > self.context.now()

    def _work_on_shard(self, stream: Stream, shard: Shard, flush: bool, result: PassResult) -> Flow[bool]:
        """Process the records of one shard; returns whether it has ended."""
        leased = yield from self._lease_shard(stream, shard)
        if leased is None:
            result.busy += 1
            return False
        reader = leased.reader
        while True:
            if self._is_stopped():
                return False
            if flush:
                yield from reader.fill(self.context, self.batch_size)
            else:
                yield from reader.follow(self.context, self.batch_size)
            if not reader.pending:
                break
            now = self.context.clock()
            leased.pending_since = now if leased.pending_since is None else leased.pending_since
            is_due = flush or reader.ended or now - leased.pending_since >= self._window.total_seconds()
            if not is_due and len(reader.pending) < self.batch_size:
                break
            batch = reader.pending[: self.batch_size]
            leased.checkpoint = yield from self.batches.process(leased.checkpoint, batch, result)
            del reader.pending[: len(batch)]
            leased.pending_since = None
            result.records += len(batch)
            if not flush and not reader.ended and len(batch) < self.batch_size:
                # Records that arrived meanwhile are collected until the next pass.
                break
        if not reader.ended:
            return False
        del self._leased[shard.id]
        return (yield from self.leases.finish(leased.checkpoint))

    def _lease_shard(self, stream: Stream, shard: Shard) -> Flow[_LeasedShard | None]:
        """Have the lease of a shard, with at least half of its time left."""
        leased = self._leased.get(shard.id)
        if leased is not None:
            leased.reader.shard = shard
            until = leased.checkpoint.leased_until
            if until is not None and until - self.context.now() > self._lease / 2:
                return leased
        checkpoint = yield from self.leases.acquire(stream.label, shard.id)
        if checkpoint is None:
            self._leased.pop(shard.id, None)
            return None
        if leased is None or leased.checkpoint.sequence != checkpoint.sequence:
            leased = _LeasedShard(checkpoint, ShardReader(stream.arn, shard, checkpoint.sequence))
        leased.checkpoint = checkpoint
        self._leased[shard.id] = leased
        return leased

    # -- leases -------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Discard records that were read and not processed; they are read again."""
        self._leased.clear()
        self._view = None

    def skip_lost(self) -> Flow[int]:
        """Accept that records are lost, and continue with the oldest there are; returns in how many shards."""
        self.reset()
        lost = 0
        checkpoints = [
            each for each in (yield from self.leases.load()) if not each.finished and not each.is_rebuild_marker
        ]
        streams = yield from describe_streams(self.context, self.table, {each.stream for each in checkpoints})
        shards = {(stream.label, shard.id): (stream, shard) for stream in streams for shard in stream.shards}
        for checkpoint in checkpoints:
            found = shards.get((checkpoint.stream, checkpoint.shard))
            if found is None:
                yield from self.leases.delete(checkpoint)
                lost += 1
                continue
            stream, shard = found
            try:
                yield from ShardReader(stream.arn, shard, checkpoint.sequence).fill(self.context, 1)
            except RecordsLost:
                yield from self.leases.delete(checkpoint)
                lost += 1
        return lost

    def take_over(self) -> Flow[None]:
        """End the leases of others that are known to be dead; a rebuild of theirs has to be started again."""
        for checkpoint in (yield from self.leases.load()):
            if checkpoint.owner is not None:
                taken = yield from self.leases.acquire(checkpoint.stream, checkpoint.shard, force=True)
                assert taken is not None
                yield from self.leases.release(taken)
        self.reset()

    def release(self) -> Flow[None]:
        """Release the leases, so that another consumer need not wait for them to run out."""
        self.reset()
        # Not only those in use: after an error they are discarded here, and still leased.
        for checkpoint in (yield from self.leases.load()):
            if checkpoint.owner == self.leases.owner and not checkpoint.is_rebuild_marker:
                yield from self.leases.release(checkpoint)


def _is_async(handler: Any) -> bool:
    """Whether a handler, a function or an object that is called, would have to be awaited."""
    return iscoroutinefunction(handler) or iscoroutinefunction(handler.__call__)
