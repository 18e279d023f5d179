"""Streams: definitions, shards, ListStreams and DescribeStream. stream_records.py reads the records.

A stream is a row of the SQL table ``streams``; its records are the rows of ``log`` with its number, written by the
transaction that changed the item. The log has one order for everything, and a record's sequence number is its position
in it, so no reader can see two changes of an item in the wrong order.

A stream is divided into shards by time only, one open at a time:

    shard A ─ start ── records ── end ┐
                                      └ shard B (parent A) ─ start ── records ─ ...

The bounds of a shard take numbers from the log's sequence. A shard is closed some hours after it was opened, by the
first operation after that, or when the stream is disabled; it is removed a day later. A stream stays readable for a day
after it was disabled or its table was deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from time import thread_time
from typing import Any

import orjson

from tablewright.dynamo import AccessDeniedException, ResourceNotFoundException, ValidationException
from tablewright.engine.database import Database
from tablewright.engine.slices import Steps, deleted_together, slice_end
from tablewright.engine.storage.checksums import (
    NOT_COMPARABLE,
    DamagedRecord,
    check_record,
    damaged,
    log_checksum,
    record_checksum,
)
from tablewright.engine.tables.table_schema import Table

# How long a record, and a disabled stream, can be read, in seconds.
RETENTION = 24 * 3600.0
SHARD_LIFETIME = 4 * 3600.0

_UPKEEP_INTERVAL = 3600.0
_TRIMMED_AT_ONCE = 200
_PAGE = 100
# Sequence numbers start here: 21 digits, the shortest that DynamoDB has.
_FIRST_NUMBER = 10**20
_ARN = re.compile(r"arn:[\w-]+:dynamodb:[\w-]*:\d*:table/([\w.-]{3,255})/stream/([\w:.-]+)", re.ASCII)


@dataclass(slots=True)
class Shard:
    """A range of the log: the records between ``start`` and ``end``, numbers that no record has."""

    id: str
    parent: str | None
    start: int
    opened: float
    end: int | None = None
    closed: float | None = None

    def description(self) -> dict[str, Any]:
        numbers = {"StartingSequenceNumber": sequence_number(self.start)}
        if self.end is not None:
            numbers["EndingSequenceNumber"] = sequence_number(self.end)
        shown: dict[str, Any] = {"ShardId": self.id, "SequenceNumberRange": numbers}
        if self.parent is not None:
            shown["ParentShardId"] = self.parent
        return shown


@dataclass(slots=True)
class Stream:
    """A stream, as it is stored (except for its ARN and numbers, which have columns)."""

    number: int
    arn: str
    table_number: int
    table_name: str
    label: str
    view_type: str
    key_schema: list[dict[str, str]]
    created: float
    disabled: float | None = None
    # The last of its records that was trimmed.
    trimmed: int = 0
    shards: list[Shard] = field(default_factory=list)

    def is_forgotten(self, now: float) -> bool:
        return self.disabled is not None and self.disabled <= now - RETENTION

    def shard(self, shard_id: str) -> Shard | None:
        return next((shard for shard in self.shards if shard.id == shard_id), None)


def sequence_number(sequence: int) -> str:
    """A position in the log as a sequence number."""
    return str(_FIRST_NUMBER + sequence)


def sequence_of(number: str) -> int | None:
    """The position in the log of a sequence number; None if it cannot be one."""
    return int(number) - _FIRST_NUMBER if number.isascii() and number.isdigit() else None


# -- for the operations on tables ----------------------------------------------------------------------------


def enable_stream(db: Database, table: Table, view_type: str) -> None:
    """Enable a stream for a table.

    This changes the table's description and ``stream``; the caller makes a new table from it and saves that.
    """
    if table.stream is not None:
        raise ValidationException(f"Table already has an enabled stream: TableName: {table.name}")
    execute = db.storage.write()
    now = db.clock()
    label = _label(now)
    while execute("SELECT 1 FROM streams WHERE arn = ?", (f"{table.arn}/stream/{label}",)).fetchone() is not None:
        now += 0.001
        label = _label(now)
    stream = Stream(
        number=int(execute("SELECT coalesce(max(number), 0) + 1 FROM streams").fetchone()[0]),
        arn=f"{table.arn}/stream/{label}",
        table_number=table.number,
        table_name=table.name,
        label=label,
        view_type=view_type,
        key_schema=table.description["KeySchema"],
        created=now,
    )
    _open_shard(db, stream, parent=None)
    columns = (stream.number, stream.arn, stream.table_number, _definition(stream))
    execute(
        "INSERT INTO streams (number, arn, table_number, definition, checksum) VALUES (?, ?, ?, ?, ?)",
        (*columns, record_checksum(*columns)),
    )
    table.stream = stream.number
    table.description["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view_type}
    table.description["LatestStreamArn"] = stream.arn
    table.description["LatestStreamLabel"] = label
    db.on_schedule()


def disable_stream(db: Database, table: Table) -> None:
    """Disable a table's stream.

    This changes the table's description and ``stream``; the caller makes a new table from it and saves that.
    """
    if table.stream is None:
        raise ValidationException(f"Table has no stream to disable: TableName: {table.name}")
    found = db.storage.execute(f"{_SELECT} WHERE number = ?", (table.stream,)).fetchone()
    stream = _stream(found)
    stream.disabled = db.clock()
    _close_shard(db, stream)
    _save(db, stream)
    table.stream = None
    # The ARN and the label of the latest stream stay.
    del table.description["StreamSpecification"]


def _label(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")


# -- operations ----------------------------------------------------------------------------------------------


def list_streams(db: Database, request: dict[str, Any]) -> Steps:
    limit = checked_limit(request, _PAGE)
    now = db.clock()
    start = request.get("ExclusiveStartStreamArn", "")
    if start:
        _check_arn(start)
    table_name = request.get("TableName")
    found: list[Stream] = []
    more = True
    until = slice_end()
    while more and len(found) <= limit:
        if thread_time() > until:
            yield
            until = slice_end()
        streams = list(all_streams(db, "WHERE arn > ? ORDER BY arn LIMIT ?", (start, _PAGE + 1)))
        more = len(streams) > _PAGE
        for stream in streams:
            start = stream.arn
            if table_name in (None, stream.table_name) and not stream.is_forgotten(now):
                found.append(stream)
    response: dict[str, Any] = {
        "Streams": [
            {"StreamArn": stream.arn, "TableName": stream.table_name, "StreamLabel": stream.label}
            for stream in found[:limit]
        ]
    }
    if len(found) > limit:
        response["LastEvaluatedStreamArn"] = found[limit - 1].arn
    return response


def describe_stream(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    limit = checked_limit(request, _PAGE)
    shard_filter = request.get("ShardFilter")
    if shard_filter is not None and ("Type" not in shard_filter or "ShardId" not in shard_filter):
        raise ValidationException("Invalid ShardFilter: both Type and ShardId must be specified")
    stream = find_stream(db, request["StreamArn"])
    shards = stream.shards
    if "ExclusiveStartShardId" in request:
        shards = _shards_after(shards, request["ExclusiveStartShardId"])
    if shard_filter is not None:
        shards = [shard for shard in shards if shard.parent == shard_filter["ShardId"]]
    description: dict[str, Any] = {
        "StreamArn": stream.arn,
        "StreamLabel": stream.label,
        "StreamStatus": "ENABLED" if stream.disabled is None else "DISABLED",
        "StreamViewType": stream.view_type,
        "CreationRequestDateTime": round(stream.created, 3),
        "TableName": stream.table_name,
        "KeySchema": stream.key_schema,
        "Shards": [shard.description() for shard in shards[:limit]],
    }
    if len(shards) > limit:
        description["LastEvaluatedShardId"] = shards[limit - 1].id
    return {"StreamDescription": description}


def _shards_after(shards: list[Shard], start: str) -> list[Shard]:
    for place, shard in enumerate(shards):
        if shard.id == start:
            return shards[place + 1 :]
    # It was removed between two pages; ids begin with the time.
    return [shard for shard in shards if shard.id > start]


def find_stream(db: Database, arn: str) -> Stream:
    """The stream of that ARN, with its shards as they should be now."""
    _check_arn(arn)
    if arn.split(":", 5)[4] != db.account:
        raise AccessDeniedException("Access is denied")
    found = db.storage.execute(f"{_SELECT} WHERE arn = ?", (arn,)).fetchone()
    stream = None if found is None else _stream(found)
    if stream is None or stream.is_forgotten(db.clock()):
        raise ResourceNotFoundException(f"Requested resource not found: Stream: {arn} not found")
    _roll(db, stream)
    return stream


def checked_limit(request: dict[str, Any], most: int) -> int:
    """The ``Limit`` of a request; its upper bound is not in the service's model."""
    limit: int = request.get("Limit", most)
    if limit > most:
        raise ValidationException(
            f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint: "
            f"Member must have value less than or equal to {most}"
        )
    return limit


def _check_arn(arn: str) -> None:
    if _ARN.fullmatch(arn) is None:
        raise ValidationException("Invalid StreamArn")


# -- shards and trimming -------------------------------------------------------------------------------------


def maintain(db: Database) -> float | None:
    """A step of the background work: trim the log, close and remove shards, remove streams."""
    execute = db.storage.execute
    boundary = expired_through(db)
    first = execute("SELECT min(sequence) FROM log").fetchone()[0]
    if first is not None and first <= boundary:
        oldest = execute(
            "SELECT sequence, ifnull(length(old), 0) + ifnull(length(new), 0) FROM log WHERE sequence <= ? "
            f"ORDER BY sequence LIMIT {_TRIMMED_AT_ONCE}",
            (boundary,),
        ).fetchall()
        _trim(db, first, deleted_together(oldest)[-1][0])
        return 0.0
    now = db.clock()
    streams = list(all_streams(db))
    for stream in streams:
        if stream.is_forgotten(now):
            db.storage.write()("DELETE FROM streams WHERE number = ?", (stream.number,))
        else:
            _roll(db, stream)
    return _UPKEEP_INTERVAL if streams else None


def expired_through(db: Database) -> int:
    """The last position in the log whose record is too old to be read; 0 if there is none."""
    horizon = db.clock() - RETENTION
    for row in db.storage.execute(f"{SELECT_RECORD} WHERE at <= ? ORDER BY at DESC, sequence DESC", (horizon,)):
        # The time of a damaged one may be wrong; another one decides.
        with suppress(DamagedRecord):
            return checked_record(*row).sequence
    return 0


def last_number(db: Database) -> int:
    """The last number that the log has assigned."""
    found = db.storage.execute("SELECT seq FROM sqlite_sequence WHERE name = 'log'").fetchone()
    return 0 if found is None else int(found[0])


def _trim(db: Database, first: int, last: int) -> None:
    execute = db.storage.write()
    for number, trimmed in execute(
        "SELECT stream, max(sequence) FROM log WHERE sequence BETWEEN ? AND ? GROUP BY stream", (first, last)
    ).fetchall():
        found = execute(f"{_SELECT} WHERE number = ?", (number,)).fetchone()
        if found is not None:
            stream = _stream(found)
            stream.trimmed = trimmed
            _save(db, stream)
    execute("DELETE FROM log WHERE sequence BETWEEN ? AND ?", (first, last))


def _roll(db: Database, stream: Stream) -> None:
    """Close the open shard if it is old enough, and remove those that were closed a day ago."""
    now = db.clock()
    open_shard = stream.shards[-1] if stream.disabled is None else None
    kept = [shard for shard in stream.shards if shard.closed is None or shard.closed > now - RETENTION]
    due = open_shard is not None and open_shard.opened <= now - SHARD_LIFETIME
    if len(kept) == len(stream.shards) and not due:
        return
    stream.shards = kept
    if due and open_shard is not None:
        _close_shard(db, stream)
        _open_shard(db, stream, parent=open_shard.id)
    _save(db, stream)
    db.storage.keep()


def _open_shard(db: Database, stream: Stream, parent: str | None) -> None:
    now = db.clock()
    shard_id = f"shardId-{int(now * 1000):020d}-{db.random.getrandbits(32):08x}"
    stream.shards.append(Shard(id=shard_id, parent=parent, start=_take_number(db), opened=now))


def _close_shard(db: Database, stream: Stream) -> None:
    shard = stream.shards[-1]
    shard.end = _take_number(db)
    shard.closed = db.clock()


def _take_number(db: Database) -> int:
    """A number of the log that no record will have."""
    execute = db.storage.write()
    number = last_number(db) + 1
    if not execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'log'", (number,)).rowcount:
        execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('log', ?)", (number,))
    return number


# -- rows ----------------------------------------------------------------------------------------------------

_SELECT = "SELECT number, arn, table_number, definition, checksum FROM streams"
# A record of the log, in the order that ``checked_record`` takes its columns.
SELECT_RECORD = "SELECT sequence, stream, at, kind, principal, checksum, item_key, old, new FROM log"


@dataclass(frozen=True, slots=True)
class Record:
    """A stream record as it is stored."""

    sequence: int
    at: float
    kind: str
    principal: str | None
    item_key: bytes
    old: bytes | None
    new: bytes | None


def checked_record(
    sequence: int,
    stream: int,
    at: float,
    kind: str,
    principal: str | None,
    checksum: int,
    item_key: bytes,
    old: bytes | None,
    new: bytes | None,
) -> Record:
    """A record that was selected by ``SELECT_RECORD``, unless it is damaged."""
    try:
        if log_checksum(stream, at, kind, principal or "", item_key, old or b"", new or b"") == checksum:
            return Record(sequence, at, kind, principal, item_key, old, new)
    except NOT_COMPARABLE:
        pass
    raise damaged(f"stream {stream}: the record {sequence}, of the item {item_key!r}")


def _stream(row: tuple[int, str, int, bytes, int]) -> Stream:
    number, arn, table_number, definition, checksum = row
    check_record(f"the definition of stream {arn}", checksum, number, arn, table_number, definition)
    members = orjson.loads(definition)
    members["shards"] = [Shard(**shard) for shard in members["shards"]]
    return Stream(number=number, arn=arn, table_number=table_number, **members)


def all_streams(db: Database, clause: str = "", parameters: tuple[object, ...] = ()) -> Iterator[Stream]:
    return map(_stream, db.storage.execute(f"{_SELECT} {clause}", parameters).fetchall())


def _definition(stream: Stream) -> bytes:
    members = asdict(stream)
    for column in ("number", "arn", "table_number"):
        del members[column]
    return orjson.dumps(members)


def _save(db: Database, stream: Stream) -> None:
    definition = _definition(stream)
    checksum = record_checksum(stream.number, stream.arn, stream.table_number, definition)
    db.storage.write()(
        "UPDATE streams SET definition = ?, checksum = ? WHERE number = ?", (definition, checksum, stream.number)
    )
