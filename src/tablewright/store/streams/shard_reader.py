"""The records of a table's stream, read shard by shard, in order, from a position in a shard to its end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tablewright.dynamo.limits import MAX_STREAM_RECORDS
from tablewright.model import Table
from tablewright.store.context import Context
from tablewright.store.errors import NotFound, RecordsLost, ServiceError
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.streams.change_records import Record

# A closed shard may return many empty pages before it says that it has ended; one that never says so is left for now.
_MAX_EMPTY_PAGES = 100
# Bytes of records. A page that ends at its limit of 1 MB has more, whatever the size of the next record.
_LITTLE = 128 * 1024


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a stream: its records are ordered, and come after all records of its parent."""

    id: str
    parent: str | None
    closed: bool


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of a table, with its shards."""

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
    """The latest stream of a table, and before it those older ones with these labels that still exist."""
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
    """Shards, each after its parent."""
    by_id = {shard.id: shard for shard in shards}
    ordered: dict[str, Shard] = {}

    def place(shard: Shard) -> None:
        ancestors = [shard]
        while (parent := by_id.get(ancestors[-1].parent or "")) is not None and parent.id not in ordered:
            ancestors.append(parent)
        ordered.update((member.id, member) for member in reversed(ancestors))

    for shard in shards:
        if shard.id not in ordered:
            place(shard)
    return list(ordered.values())


@dataclass(slots=True)
class ShardReader:
    """Reads one shard in order; records that were read and not yet processed are in ``pending``."""

    arn: str
    shard: Shard
    # The sequence number of the last record that was read; None at the beginning of the shard.
    after: str | None
    # Continue with the oldest record there is when the next ones have been trimmed, instead of raising RecordsLost.
    skip_trimmed: bool = False
    # Begin behind the last record that there is, instead of at the beginning of the shard.
    from_end: bool = False
    pending: list[Record] = field(default_factory=list)
    ended: bool = False
    _iterator: str | None = None

    def fill(self, context: Context, most: int) -> Flow[None]:
        """Read until ``most`` records are pending, or there are no more for now."""
        while len(self.pending) < most:
            if not (yield from self.read(context, most - len(self.pending))):
                break

    def follow(self, context: Context, most: int) -> Flow[None]:
        """Read until ``most`` records are pending, or a page had little.

        Whoever follows a stream waits then, and does not read until there are no more: while others write, each further
        page has the few records that were written since, and costs as much as a full one. A page of a few large ones is
        a full one, though, and nobody writes to a closed shard.
        """
        while len(self.pending) < most:
            before = len(self.pending)
            if not (yield from self.read(context)):
                break
            if not self.shard.closed and _is_little(self.pending[before:]):
                break

    def read(self, context: Context, limit: int = MAX_STREAM_RECORDS) -> Flow[bool]:
        """Read one page of at most ``limit`` records; returns whether there was any."""
        empty = 0
        while not self.ended:
            records, more = yield from self._page(context, min(limit, MAX_STREAM_RECORDS))
            self.pending += records
            if records:
                return True
            empty += 1
            # A closed shard says when it has ended; an open one has no more for now when a page is empty.
            if not more or empty >= (_MAX_EMPTY_PAGES if self.shard.closed else 1):
                break
        return False

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
            body = {"StreamArn": self.arn, "ShardId": self.shard.id, **self._position()}
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
        """Continue at the oldest record there is. A reader that has read nothing yet has missed nothing."""
        if self.after is not None and not self.skip_trimmed:
            raise RecordsLost(f"the stream no longer has the records of shard {self.shard.id} after {self.after}")
        self.after = self._iterator = None

    def _position(self) -> Mapping[str, str]:
        if self.after is not None:
            return {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self.after}
        return {"ShardIteratorType": "LATEST" if self.from_end else "TRIM_HORIZON"}


def _is_little(page: Sequence[Record]) -> bool:
    """Whether a page has fewer records, and fewer bytes, than fit into one."""
    return len(page) < MAX_STREAM_RECORDS and sum(each["dynamodb"].get("SizeBytes", 0) for each in page) < _LITTLE
