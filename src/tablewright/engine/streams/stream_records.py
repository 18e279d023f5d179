"""GetShardIterator and GetRecords: reading the records of a shard.

An iterator names the stream, the shard, and the position in the log after which to read; it contains all of that, so
nothing is stored for it. The images of a record are the bytes in the log, inserted into the response; they are parsed
only to be measured.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from functools import partial
from hashlib import md5
from time import thread_time
from typing import Any, Self
from zlib import crc32

import orjson

from tablewright.dynamo import (
    INVALID_VALUES,
    ExpiredIteratorException,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    ValidationException,
    item_size,
)
from tablewright.dynamo.limits import MAX_PAGE_BYTES, MAX_STREAM_RECORDS
from tablewright.engine.database import Database, parsed_item
from tablewright.engine.slices import LARGE_ITEM, Sliced, Steps, beside, slice_end
from tablewright.engine.streams.shards import (
    SELECT_RECORD,
    Record,
    Shard,
    Stream,
    checked_limit,
    checked_record,
    expired_through,
    find_stream,
    last_number,
    sequence_number,
    sequence_of,
)

ITERATOR_LIFETIME = 15 * 60.0

# The records that are looked at when one is looked for by its time: of all streams, and of its own shard at a time.
_NEAR = 100
_LOOKED_AT = 1000
# The largest integer that SQLite has.
_LAST_SEQUENCE = 2**63 - 1


def get_shard_iterator(db: Database, request: dict[str, Any]) -> Steps:
    kind = request["ShardIteratorType"]
    number = _requested_number(kind, request)
    if kind == "AT_TIMESTAMP":
        _check_timestamp(db, request)
    stream = find_stream(db, request["StreamArn"])
    shard = stream.shard(request["ShardId"])
    if shard is None:
        raise ResourceNotFoundException("Requested resource not found: Shard does not exist")
    trimmed = _trimmed_through(db, stream)
    if kind == "TRIM_HORIZON":
        after = max(shard.start, trimmed)
    elif kind == "LATEST":
        after = last_number(db) if shard.end is None else shard.end
    elif kind == "AT_TIMESTAMP":
        after = max((yield from _before(db, stream, shard, request["Timestamp"])), trimmed)
    else:
        if not shard.start <= number <= (last_number(db) if shard.end is None else shard.end):
            raise ValidationException("Invalid SequenceNumber for the shard")
        after = number - 1 if kind == "AT_SEQUENCE_NUMBER" else number
        if after < trimmed:
            raise _trimmed()
    return {"ShardIterator": _Iterator(stream.arn, shard.id, after, db.clock()).encoded()}


def get_records(db: Database, request: dict[str, Any]) -> Steps:
    limit = checked_limit(request, MAX_STREAM_RECORDS)
    iterator = _Iterator.decoded(request["ShardIterator"])
    stream = find_stream(db, iterator.arn)
    now = db.stream_reads[stream.number] = db.clock()
    if iterator.issued <= now - ITERATOR_LIFETIME:
        raise ExpiredIteratorException("Shard iterator has expired")
    shard = stream.shard(iterator.shard)
    if shard is None:
        raise _trimmed()
    end = last_number(db) + 1 if shard.end is None else shard.end
    if iterator.after < min(_trimmed_through(db, stream), end):
        raise _trimmed()
    records: list[dict[str, Any]] = []
    after, page = iterator.after, 0
    is_full, pending = False, True
    while pending and not is_full:
        rows = db.storage.execute(
            f"{SELECT_RECORD} WHERE stream = ? AND sequence > ? AND sequence < ? ORDER BY sequence LIMIT ?",
            (stream.number, after, end, limit + 1 - len(records)),
        )
        pending = False
        until = slice_end(is_first=not records)
        for row in rows:
            if len(records) == limit:
                is_full = True
                break
            stored = checked_record(*row)
            pending = len(stored.old or b"") + len(stored.new or b"") > LARGE_ITEM
            if pending:
                # No cursor stays open between slices.
                rows.close()
                record = yield from beside(partial(_shown, db.region, stream, stored))
            else:
                record = _shown(db.region, stream, stored)
            page += record["dynamodb"]["SizeBytes"]
            if records and page > MAX_PAGE_BYTES:
                is_full = True
                break
            records.append(record)
            after = stored.sequence
            if pending:
                break
            if thread_time() > until:
                pending = True
                rows.close()
                yield
                break
        rows.close()
    response: dict[str, Any] = {"Records": records}
    if shard.end is None or is_full:
        response["NextShardIterator"] = _Iterator(stream.arn, shard.id, after, now).encoded()
    return response


# -- iterators -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Iterator:
    arn: str
    shard: str
    after: int
    issued: float

    def encoded(self) -> str:
        content = orjson.dumps([self.shard, self.after, self.issued])
        return f"{self.arn}|1|{b64encode(self._seal(self.arn, content) + content).decode()}"

    @classmethod
    def decoded(cls, text: str) -> Self:
        arn, _, rest = text.partition("|")
        version, _, encoded = rest.partition("|")
        try:
            sealed = b64decode(encoded, validate=True)
        except ValueError:
            sealed = b""
        seal, content = sealed[:4], sealed[4:]
        if version != "1" or seal != cls._seal(arn, content):
            raise ValidationException("Invalid ShardIterator")
        try:
            shard, after, issued = orjson.loads(content)
        except (ValueError, TypeError):
            raise ValidationException("Invalid ShardIterator") from None
        if type(shard) is not str or type(after) is not int or type(issued) not in (int, float):
            raise ValidationException("Invalid ShardIterator")
        if not 0 <= after <= _LAST_SEQUENCE:
            raise ValidationException("Invalid ShardIterator")
        return cls(arn, shard, after, issued)

    @staticmethod
    def _seal(arn: str, content: bytes) -> bytes:
        """A checksum against damaged iterators, not against forged ones, which would gain nothing."""
        return crc32(arn.encode("utf-8", "replace") + content).to_bytes(4)


def _requested_number(kind: str, request: dict[str, Any]) -> int:
    text = request.get("SequenceNumber")
    if kind not in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        if text is not None:
            raise ValidationException(f"{INVALID_VALUES}SequenceNumber should not be passed for this iterator type")
        return 0
    number = None if text is None else sequence_of(text)
    if number is None:
        raise ValidationException(f"{INVALID_VALUES}Invalid SequenceNumber")
    return number


def _check_timestamp(db: Database, request: dict[str, Any]) -> None:
    if "Timestamp" not in request:
        raise ValidationException("Timestamp must be specified when ShardIteratorType is AT_TIMESTAMP")
    if request["Timestamp"] > db.clock():
        raise ValidationException("Timestamp must not be in the future")


def _before(db: Database, stream: Stream, shard: Shard, time: float) -> Sliced[int]:
    """The position in the log just before the shard's first record of that time or later.

    The first is the earliest, since the clock may have been set back. It is looked for among the records of all streams
    from that time on, where it mostly is near the begin, and then among all records of the shard.
    """
    end = last_number(db) + 1 if shard.end is None else shard.end
    later = db.storage.execute(
        "SELECT sequence, stream FROM log INDEXED BY log_by_time WHERE at >= ? ORDER BY at, sequence LIMIT ?",
        (time, _NEAR),
    ).fetchall()
    for sequence, number in later:
        if number == stream.number and shard.start < sequence < end:
            return int(sequence) - 1
    if len(later) < _NEAR:
        return end - 1
    first: tuple[float, int] | None = None
    last, more = shard.start, True
    until = slice_end()
    while more:
        if thread_time() > until:
            yield
            until = slice_end()
        rows = db.storage.execute(
            "SELECT at, sequence FROM log INDEXED BY log_by_stream WHERE stream = ? AND sequence > ? AND sequence < ? "
            "ORDER BY sequence LIMIT ?",
            (stream.number, last, end, _LOOKED_AT),
        ).fetchall()
        more = len(rows) == _LOOKED_AT
        for at, sequence in rows:
            last = sequence
            if at >= time and (first is None or (at, sequence) < first):
                first = at, sequence
    return end - 1 if first is None else first[1] - 1


def _trimmed_through(db: Database, stream: Stream) -> int:
    """The last of a stream's records that can no longer be read, whether or not it is still in the log."""
    found = db.storage.execute(
        "SELECT max(sequence) FROM log WHERE stream = ? AND sequence <= ?",
        (stream.number, expired_through(db)),
    ).fetchone()
    return max(stream.trimmed, found[0] or 0)


def _trimmed() -> TrimmedDataAccessException:
    return TrimmedDataAccessException("The data you are trying to access has been trimmed")


# -- records -------------------------------------------------------------------------------------------------


def _shown(region: str, stream: Stream, stored: Record) -> dict[str, Any]:
    """A record as GetRecords returns it."""
    change: dict[str, Any] = {
        "ApproximateCreationDateTime": int(stored.at),
        "Keys": orjson.Fragment(stored.item_key),
    }
    size = item_size(orjson.loads(stored.item_key))
    for member, image in (("NewImage", stored.new), ("OldImage", stored.old)):
        if image is not None:
            change[member] = orjson.Fragment(image)
            size += item_size(parsed_item(image))
    change["SequenceNumber"] = sequence_number(stored.sequence)
    change["SizeBytes"] = size
    change["StreamViewType"] = stream.view_type
    record = {
        "eventID": md5(f"{stream.arn} {stored.sequence}".encode(), usedforsecurity=False).hexdigest(),
        "eventName": stored.kind,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": region,
        "dynamodb": change,
    }
    if stored.principal is not None:
        record["userIdentity"] = {"PrincipalId": stored.principal, "Type": "Service"}
    return record
