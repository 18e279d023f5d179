"""Rebuilding what a consumer wrote: from the table itself, while it is being written to.

    take the leases ──▶ clear ──▶ scan: each item as an insert ──▶ catch up with the stream ──▶ continue as usual

The scan sees each item at a different moment, and the stream has changes from before, during and after it. A record is
counted only if its item before is what has been counted for that item. So a change that the scan has seen is skipped,
one that it has not seen is counted, whichever came first, and in the end each item counts for exactly what it is. For
that, the digest of every item is kept in memory meanwhile (some 200 bytes for each).

Dead letters are deleted, as their items are counted from the table. A rebuild that does not finish leaves its marker
behind: the consumer refuses to continue with an incomplete result, and the rebuild has to be started again. It is for
consumers that read the stream themselves; Lambda keeps its position elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson

from tablewright.dynamo import AttributeValue, Item
from tablewright.dynamo.limits import MAX_TRANSACTION_ACTIONS
from tablewright.model import Entity, ModelError, Schema, schema_of
from tablewright.store.context import Context
from tablewright.store.errors import Cancelled, InProgress, LimitExceeded
from tablewright.store.flow.driver import Flow, Request, Sleep
from tablewright.store.flow.retry import retrying
from tablewright.store.streams.batch_handler import sequence_of
from tablewright.store.streams.change_records import Record
from tablewright.store.streams.checkpoint import REBUILD, Checkpoint
from tablewright.store.streams.shard_reader import ShardReader, describe_stream
from tablewright.store.streams.stream_worker import StreamWorker
from tablewright.store.write.planning.executor import execute_all
from tablewright.store.write.planning.operation import Action, Operation, Planned, WritePlan

_ALL_STREAMS = "all"


@dataclass(frozen=True, slots=True)
class RebuildProgress:
    """Items read so far, of about ``estimated``, and records of the stream processed after that."""

    items: int
    estimated: int
    records: int


def rebuild(
    worker: StreamWorker,
    clear: Sequence[type[Entity]],
    on_progress: Callable[[RebuildProgress], None] | None,
    settle: float,
) -> Flow[RebuildProgress]:
    """Delete all items of the entities in ``clear``, and write them again.

    ``settle`` is how many seconds the stream may be behind the table: none on the engine, a few on Amazon DynamoDB.
    """
    if worker.table.stream != "NEW_AND_OLD_IMAGES":
        raise ModelError(
            f"a rebuild needs the items before each change: declare table {worker.table.name!r} with "
            "stream='NEW_AND_OLD_IMAGES'"
        )
    worker.reset()
    marker = yield from worker.leases.acquire(_ALL_STREAMS, REBUILD)
    if marker is None:
        raise InProgress(f"{worker.name} is being rebuilt")
    job = _Rebuild(worker, marker, on_progress)
    shards = yield from job.take_shards()
    yield from job.delete_dead_letters()
    for entity in clear:
        yield from job.clear(entity)
    yield from job.scan()
    if settle:
        yield Sleep(settle)
    # The stream may have new shards by now.
    shards |= yield from job.take_shards()
    yield from job.catch_up(shards)
    for checkpoint in shards.values():
        yield from worker.leases.release(checkpoint)
    yield from worker.leases.delete(marker)
    return job.progress


class _Rebuild:
    def __init__(
        self, worker: StreamWorker, marker: Checkpoint, on_progress: Callable[[RebuildProgress], None] | None
    ) -> None:
        self.worker = worker
        self.context: Context = worker.context
        self.marker = marker
        self.on_progress = on_progress
        self.progress = RebuildProgress(0, 0, 0)
        # What has been counted for each item: the digest of its key to the digest of the whole.
        self.counted: dict[bytes, bytes] = {}

    def take_shards(self) -> Flow[dict[str, Checkpoint]]:
        """Take the leases of all unfinished shards by force; delete the checkpoints of shards that are gone."""
        stream = yield from describe_stream(self.context, self.worker.table)
        checkpoints = yield from self.worker.leases.load()
        finished = {each.shard for each in checkpoints if each.finished}
        shards = {shard.id for shard in stream.shards}
        for checkpoint in checkpoints:
            # What an older stream, or a shard that no longer exists, had is in the table.
            if checkpoint.shard not in shards and not checkpoint.is_rebuild_marker:
                yield from self.worker.leases.delete(checkpoint)
        taken = {}
        for shard in stream.shards:
            if shard.id not in finished:
                lease = yield from self.worker.leases.acquire(stream.label, shard.id, force=True)
                assert lease is not None
                taken[shard.id] = lease
        return taken

    def delete_dead_letters(self) -> Flow[None]:
        """Delete the dead letters: their items are in the table, and are counted from there."""
        schema = schema_of(self.worker.checkpoints.dead_letter)
        dead_letters = yield from self.worker.batches.dead_letters()
        yield from self._delete(schema, [schema.key_of(each.item()) for each in dead_letters])

    def clear(self, entity: type[Entity]) -> Flow[None]:
        """Delete all items of an entity."""
        schema = schema_of(entity)
        name = self.context.name_of(schema.table)
        page = yield from self._next_page(name, {})
        while page is not None:
            keys = [{key: item[key] for key in schema.table.key} for item in page[0] if schema.matches(item)]
            yield from self._delete(schema, keys)
            page = yield from self._next_page(name, page[1])

    def _delete(self, schema: Schema, keys: Sequence[Item]) -> Flow[None]:
        """Delete items, in transactions as well: only the owner of the rebuild may."""
        name = self.context.name_of(schema.table)
        size = MAX_TRANSACTION_ACTIONS - 1
        for start in range(0, len(keys), size):
            yield from self._commit(
                [
                    Planned(schema, "clear", WritePlan([Action("Delete", {"TableName": name, "Key": key})]))
                    for key in keys[start : start + size]
                ]
            )

    def scan(self) -> Flow[None]:
        """Handle each item of the table as an insert."""
        table = self.worker.table
        name = self.context.name_of(table)
        described = yield from retrying(self.context, Request("DescribeTable", {"TableName": name}))
        estimated = described["Table"].get("ItemCount", 0)
        page = yield from self._next_page(name, {})
        while page is not None:
            items = page[0]
            records = [self._insert({key: item[key] for key in table.key}, item) for item in items]
            size = self.worker.batch_size
            for start in range(0, len(records), size):
                yield from self._handle(records[start : start + size])
            self._report(items=len(items), estimated=estimated)
            page = yield from self._next_page(name, page[1])

    def _insert(self, key: Item, item: Item) -> Record:
        """The record of an item that has just been put."""
        self.counted[digest(key)] = digest(item)
        body = {
            "Keys": key,
            "NewImage": item,
            "SequenceNumber": "",
            "ApproximateCreationDateTime": self.context.clock(),
        }
        return {"eventName": "INSERT", "dynamodb": body}

    def catch_up(self, shards: dict[str, Checkpoint]) -> Flow[None]:
        """Handle the records that say something that has not been counted yet."""
        stream = yield from describe_stream(self.context, self.worker.table)
        for shard in stream.shards:
            if shard.id not in shards:
                continue
            reader = ShardReader(stream.arn, shard, shards[shard.id].sequence, skip_trimmed=True)
            while True:
                yield from reader.fill(self.context, self.worker.batch_size)
                batch, reader.pending = reader.pending, []
                if not batch:
                    break
                yield from self._handle([record for record in batch if self._is_new(record)])
                checkpoint, sequence = shards[shard.id], sequence_of(batch[-1])
                yield from self._commit([self.worker.leases.advance(checkpoint, sequence)])
                shards[shard.id] = self.worker.leases.advanced(checkpoint, sequence)
                self._report(records=len(batch))
            if reader.ended:
                yield from self.worker.leases.finish(shards[shard.id])

    def _is_new(self, record: Record) -> bool:
        """Whether a record continues what has been counted for its item; then it is counted."""
        body = record["dynamodb"]
        key = digest(body["Keys"])
        before = body.get("OldImage")
        if self.counted.get(key) != (None if before is None else digest(before)):
            return False
        after = body.get("NewImage")
        if after is None:
            del self.counted[key]
        else:
            self.counted[key] = digest(after)
        return True

    def _handle(self, records: Sequence[Record]) -> Flow[None]:
        for part in self.worker.batches.split(records):
            operations = self.worker.batches.effects_of(part)
            try:
                yield from self._commit(operations)
            except LimitExceeded:
                # More effects than fit into one transaction.
                if len(part) < 2:
                    raise
                middle = len(part) // 2
                yield from self._handle(part[:middle])
                yield from self._handle(part[middle:])

    def _commit(self, operations: Sequence[Operation]) -> Flow[None]:
        """Write on condition that the lease of the rebuild is still held; that renews it."""
        renewal = self.worker.leases.advance(self.marker, None)
        try:
            yield from execute_all(self.context, [renewal, *operations], f"{self.worker.name}.rebuild")
        except Cancelled as cancelled:
            raise next(reason for reason in cancelled.reasons if reason is not None) from None

    def _next_page(self, name: str, start: Item | None) -> Flow[tuple[list[Item], Item | None] | None]:
        """The items of a page and where the next one begins: {} is the beginning, None the end."""
        if start is None:
            return None
        body: dict[str, Any] = {"TableName": name, "ConsistentRead": True}
        if start:
            body["ExclusiveStartKey"] = start
        response = yield from retrying(self.context, Request("Scan", body, f"{self.worker.name}.rebuild"))
        return response["Items"], response.get("LastEvaluatedKey")

    def _report(self, items: int = 0, records: int = 0, estimated: int | None = None) -> None:
        last = self.progress
        known = last.estimated if estimated is None else estimated
        self.progress = RebuildProgress(last.items + items, known, last.records + records)
        if self.on_progress is not None:
            self.on_progress(self.progress)


def digest(item: Item) -> bytes:
    """A digest that is the same for equal items, whatever the order of attributes and members of sets."""
    return blake2b(orjson.dumps(_ordered({"M": item}), option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def _ordered(value: AttributeValue) -> AttributeValue:
    ((tag, content),) = value.items()
    if tag == "M":
        return {"M": {name: _ordered(member) for name, member in content.items()}}
    if tag == "L":
        return {"L": [_ordered(member) for member in content]}
    return {tag: sorted(content)} if tag in ("SS", "NS", "BS") else value
