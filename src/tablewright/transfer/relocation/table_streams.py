"""Streams of a place as a relocation reads them: enabled and disabled, shards with their parents, pages of records."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tablewright.store import ServiceError
from tablewright.transfer.errors import TransferError
from tablewright.transfer.places.patient_calls import PatientCalls
from tablewright.transfer.places.table_place import TablePlace

PAGE_RECORDS = 500
_THROTTLED_SECONDS = 0.2
# Those that have the item as it is after a change.
WHOLE_IMAGES = ("NEW_AND_OLD_IMAGES", "NEW_IMAGE")


@dataclass(frozen=True, slots=True)
class StreamShard:
    """A part of a stream; its records come after those of its parent."""

    id: str
    parent: str | None


@dataclass(frozen=True, slots=True)
class StreamPage:
    """Some records, and the iterator of the next ones; None at the end of the shard."""

    records: list[dict[str, Any]]
    iterator: str | None


class TableStreams:
    """The streams of the tables of a place."""

    def __init__(self, place: TablePlace, calls: PatientCalls) -> None:
        self._place, self._calls = place, calls

    async def turned_on(self, table: str) -> str | None:
        """The ARN of the stream of a table, if it is on."""
        description = (await self._calls.call("DescribeTable", {"TableName": table}))["Table"]
        is_on = description.get("StreamSpecification", {}).get("StreamEnabled")
        arn: str | None = description.get("LatestStreamArn")
        return arn if is_on else None

    async def turn_on(self, table: str, view: str) -> str:
        """The ARN of a table's stream, which is enabled if it is not."""
        arn = await self.turned_on(table)
        if arn is not None:
            return arn
        specification = {"StreamEnabled": True, "StreamViewType": view}
        await self._update(table, specification)
        arn = await self.turned_on(table)
        if arn is None:
            raise TransferError(f"{self._place.place} has no stream for {table}, which a relocation needs")
        return arn

    async def turn_off(self, table: str) -> None:
        """Disable the stream of a table; its records can still be read for a day."""
        if await self.turned_on(table) is not None:
            await self._update(table, {"StreamEnabled": False})

    async def _update(self, table: str, specification: dict[str, Any]) -> None:
        try:
            await self._calls.call("UpdateTable", {"TableName": table, "StreamSpecification": specification})
        except ServiceError as error:
            # It is disabled already: the response to the first attempt was lost.
            if error.code != "ValidationException" or "stream" not in error.message.lower():
                raise
        await self._place.until_active(table)

    async def shards(self, arn: str) -> list[StreamShard]:
        """The shards of a stream."""
        found: list[StreamShard] = []
        body = {"StreamArn": arn}
        while True:
            description = (await self._calls.call("DescribeStream", body))["StreamDescription"]
            found += [
                StreamShard(shard["ShardId"], shard.get("ParentShardId")) for shard in description.get("Shards", ())
            ]
            last = description.get("LastEvaluatedShardId")
            if last is None:
                return found
            body = {"StreamArn": arn, "ExclusiveStartShardId": last}

    async def page(self, arn: str, shard: str, after: str | None, iterator: str | None) -> StreamPage:
        """The page at an iterator, or after a record if it is None; after None is the beginning."""
        while True:
            if iterator is None:
                iterator = await self._iterator(arn, shard, after)
            try:
                response = await self._calls.call("GetRecords", {"ShardIterator": iterator, "Limit": PAGE_RECORDS})
            except ServiceError as error:
                if error.code == "ExpiredIteratorException":
                    iterator = None
                    continue
                if error.code == "LimitExceededException":
                    await asyncio.sleep(_THROTTLED_SECONDS)
                    continue
                if error.code == "TrimmedDataAccessException":
                    raise _lost(shard) from None
                raise
            return StreamPage(response.get("Records", []), response.get("NextShardIterator"))

    async def _iterator(self, arn: str, shard: str, after: str | None) -> str:
        body: dict[str, Any] = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        if after is not None:
            body |= {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after}
        try:
            iterator: str = (await self._calls.call("GetShardIterator", body))["ShardIterator"]
        except ServiceError as error:
            if error.code in ("TrimmedDataAccessException", "ResourceNotFoundException"):
                raise _lost(shard) from None
            raise
        return iterator


def in_order(shards: Sequence[StreamShard], ended: set[str]) -> list[StreamShard]:
    """The shards that can be read next: they have not ended, and their parents have, or are gone."""
    known = {shard.id for shard in shards}
    return [shard for shard in shards if shard.id not in ended and (shard.parent not in known or shard.parent in ended)]


def _lost(shard: str) -> TransferError:
    return TransferError(
        f"the stream no longer has all changes of shard {shard}: a stream keeps them for a day. Start the "
        "relocation over with more segments, and do not interrupt it"
    )
