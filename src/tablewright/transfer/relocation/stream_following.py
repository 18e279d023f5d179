"""Following: the changes of one place, applied to the other, shard by shard, each once and in the order of its key.

    page of records ─▶ batches ─▶ the last image of each key ─▶ transaction: items, and the position after the batch

Records of a key are in one shard and its children, which are read after it, so shards do not wait for each other.
A record has the whole item after the change; a batch leaves out images that later ones in it replace, since no
program reads the place that is written to.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from tablewright.dynamo import Item
from tablewright.transfer.item_digests import key_bytes
from tablewright.transfer.places.table_definition import TableDefinition
from tablewright.transfer.relocation.control_table import Action, ControlTable, Lane
from tablewright.transfer.relocation.table_streams import PAGE_RECORDS, StreamShard, TableStreams, in_order

# A transaction has at most 100 actions, and 4 MB; JSON is never shorter than what DynamoDB counts.
_MAX_ACTIONS = 90
_MAX_BYTES = 3_500_000
# Pages of a shard in one pass: other shards get their turn, and requested steps are noticed.
_MAX_PAGES = 20
_LOOK_SECONDS = 5.0
_MAX_RECENT = 200

Record = dict[str, Any]


class StreamFollower:
    """Applies the streams of some tables to the other place."""

    def __init__(
        self,
        streams: TableStreams,
        target: ControlTable,
        arns: Mapping[str, str],
        definitions: Mapping[str, TableDefinition],
        clock: Callable[[], float],
    ) -> None:
        self._streams, self._target = streams, target
        self._arns, self._definitions = arns, definitions
        self._clock = clock
        self._shards: dict[str, list[StreamShard]] = {}
        self._looked_at = float("-inf")
        self._lanes: dict[str, Lane] | None = None
        self._iterators: dict[str, str] = {}
        # Held while a batch is applied.
        self.applying = asyncio.Lock()
        self.records = 0
        self.passes = 0
        # When a record was last read; and for each shard, a time up to which all changes are applied.
        self._began = self.last_record_at = clock()
        self._caught_up: dict[str, float] = {}
        # The keys that changed last, of each table.
        self.recent: dict[str, OrderedDict[bytes, Item]] = {table: OrderedDict() for table in arns}

    @property
    def lag(self) -> float:
        """Seconds: everything written longer ago is applied."""
        if self.passes == 0:
            return float("inf")
        return max((self._clock() - at for at in self._caught_up.values()), default=0.0)

    async def skim(self) -> None:
        """Read all streams to their end, and record the positions; nothing is applied."""
        for table, arn in self._arns.items():
            for shard in await self._streams.shards(arn):
                after, iterator, ended = None, None, False
                while True:
                    page = await self._streams.page(arn, shard.id, after, iterator)
                    iterator = page.iterator
                    if page.records:
                        after = page.records[-1]["dynamodb"]["SequenceNumber"]
                    ended = iterator is None
                    if ended or not page.records:
                        break
                await self._target.set_lane(_name(table, arn, shard.id), {"after": after, "ended": ended})

    async def run_pass(self) -> bool:
        """Apply all present records; returns whether every shard was at its end."""
        if self._clock() - self._looked_at > _LOOK_SECONDS:
            await self._look()
        assert self._lanes is not None
        work = []
        for table, arn in self._arns.items():
            ended = {shard.id for shard in self._shards[table] if self._has_ended(table, arn, shard)}
            work += [self._shard(table, arn, shard) for shard in in_order(self._shards[table], ended)]
        quiet = await asyncio.gather(*work)
        self.passes += 1
        return all(quiet)

    async def _look(self) -> None:
        """Find shards and their positions."""
        if self._lanes is None:
            self._lanes = {lane.name: lane for lane in await self._target.lanes()}
        now = self._clock()
        for table, arn in self._arns.items():
            self._shards[table] = await self._streams.shards(arn)
            for shard in self._shards[table]:
                name = _name(table, arn, shard.id)
                if name not in self._lanes:
                    self._lanes[name] = await self._target.set_lane(name, {"after": None, "ended": False})
        self._looked_at = now

    def _has_ended(self, table: str, arn: str, shard: StreamShard) -> bool:
        assert self._lanes is not None
        return bool(self._lanes[_name(table, arn, shard.id)].position["ended"])

    async def _shard(self, table: str, arn: str, shard: StreamShard) -> bool:
        """Apply the records of a shard; returns whether it was at its end."""
        assert self._lanes is not None
        lane = self._lanes[_name(table, arn, shard.id)]
        self._caught_up.setdefault(lane.name, self._began)
        for _ in range(_MAX_PAGES):
            asked_at = self._clock()
            page = await self._streams.page(arn, shard.id, lane.position["after"], self._iterators.get(lane.name))
            for batch in _batches(page.records):
                async with self.applying:
                    await self._apply(table, lane, batch)
                self.records += len(batch)
                self.last_record_at = self._clock()
            if page.iterator is None:
                await self._target.advance(lane, {**lane.position, "ended": True}, [])
                self._iterators.pop(lane.name, None)
                self._caught_up.pop(lane.name, None)
                # Its children exist now.
                self._looked_at = float("-inf")
                return False
            self._iterators[lane.name] = page.iterator
            if len(page.records) < PAGE_RECORDS:
                self._caught_up[lane.name] = asked_at
            if not page.records:
                return True
        return False

    async def _apply(self, table: str, lane: Lane, batch: list[Record]) -> None:
        key = self._definitions[table].key
        last: dict[bytes, tuple[Item, Action]] = {}
        for record in batch:
            change = record["dynamodb"]
            image = change.get("NewImage")
            action = (
                {"Delete": {"TableName": table, "Key": change["Keys"]}}
                if image is None or record["eventName"] == "REMOVE"
                else {"Put": {"TableName": table, "Item": image}}
            )
            last[key_bytes(change["Keys"], key)] = change["Keys"], action
        position = {"after": batch[-1]["dynamodb"]["SequenceNumber"], "ended": False}
        await self._target.advance(lane, position, [action for _, action in last.values()], 2.0 * len(last))
        recent = self.recent[table]
        for name, (keys, _) in last.items():
            recent.pop(name, None)
            recent[name] = keys
        while len(recent) > _MAX_RECENT:
            recent.popitem(last=False)


def _name(table: str, arn: str, shard: str) -> str:
    return f"shard#{table}#{arn.rpartition('/')[2]}#{shard}"


def _batches(records: list[Record]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    size = 0
    for record in records:
        length = len(orjson.dumps(record["dynamodb"].get("NewImage", {})))
        if batch and (len(batch) == _MAX_ACTIONS or size + length > _MAX_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += length
    if batch:
        yield batch
