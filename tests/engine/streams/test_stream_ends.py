"""The end of a stream, and of its records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tablewright.dynamo import (
    ResourceNotFoundException,
    TrimmedDataAccessException,
    ValidationException,
)
from tablewright.engine import Engine, slices
from tablewright.engine.streams import shards
from tests.clocks import Clock
from tests.engine.streams.music_stream import (
    HOUR,
    create,
    describe,
    disable,
    iterator,
    keys,
    message,
    put,
    records,
)


def set_stream(engine: Engine, view: str | None) -> dict[str, Any]:
    specification = {"StreamEnabled": True, "StreamViewType": view} if view else {"StreamEnabled": False}
    engine.call("UpdateTable", {"TableName": "music", "StreamSpecification": specification})
    table: dict[str, Any] = engine.call("DescribeTable", {"TableName": "music"})["Table"]
    return table


def test_a_table_keeps_the_name_of_its_latest_stream(engine: Engine, clock: Clock) -> None:
    create(engine, view=None)
    table = set_stream(engine, "NEW_IMAGE")
    assert table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    first, label = table["LatestStreamArn"], table["LatestStreamLabel"]
    assert first.endswith(f":table/music/stream/{label}")
    put(engine, "a")
    table = set_stream(engine, None)
    put(engine, "not recorded")
    assert "StreamSpecification" not in table
    assert (table["LatestStreamArn"], table["LatestStreamLabel"]) == (first, label)
    second = set_stream(engine, "KEYS_ONLY")["LatestStreamArn"]
    put(engine, "b")
    assert second != first
    assert keys(records(engine, iterator(engine, first))) == ["a"]
    assert keys(records(engine, iterator(engine, second))) == ["b"]
    assert [describe(engine, arn)["StreamStatus"] for arn in (first, second)] == ["DISABLED", "ENABLED"]


def test_a_stream_is_enabled_once_and_disabled_once(engine: Engine) -> None:
    create(engine)
    for view in ("NEW_AND_OLD_IMAGES", "KEYS_ONLY"):
        with pytest.raises(ValidationException) as error:
            set_stream(engine, view)
        assert message(error) == "Table already has an enabled stream: TableName: music"
    set_stream(engine, None)
    with pytest.raises(ValidationException) as error:
        set_stream(engine, None)
    assert message(error) == "Table has no stream to disable: TableName: music"


def test_a_stream_can_be_read_for_a_day_after_its_table_was_deleted(engine: Engine, clock: Clock) -> None:
    arn = create(engine)
    put(engine, "a")
    disable(engine, arn)
    description = describe(engine, arn)
    assert description["StreamStatus"] == "DISABLED"
    assert "EndingSequenceNumber" in description["Shards"][-1]["SequenceNumberRange"]
    assert [stream["StreamArn"] for stream in engine.call("ListStreams", {})["Streams"]] == [arn]
    clock.now += 24 * HOUR - 1
    response = engine.call("GetRecords", {"ShardIterator": iterator(engine, arn)})
    assert keys(response["Records"]) == ["a"]
    assert "NextShardIterator" not in response
    clock.now += 1
    assert engine.call("ListStreams", {}) == {"Streams": []}
    with pytest.raises(ResourceNotFoundException):
        describe(engine, arn)


def test_a_table_of_the_same_name_has_a_stream_of_its_own(engine: Engine, clock: Clock) -> None:
    first = create(engine)
    put(engine, "a")
    disable(engine, first)
    second = create(engine)
    put(engine, "b")
    assert first != second
    assert [stream["StreamArn"] for stream in engine.call("ListStreams", {"TableName": "music"})["Streams"]] == [
        first,
        second,
    ]
    assert keys(records(engine, iterator(engine, first))) == ["a"]
    assert keys(records(engine, iterator(engine, second))) == ["b"]


def test_records_are_gone_after_a_day(engine: Engine, clock: Clock) -> None:
    arn = create(engine)
    put(engine, "old")
    clock.now += HOUR
    put(engine, "young")
    first, second = records(engine, iterator(engine, arn))
    clock.now += 23 * HOUR
    for _ in range(2):
        place = iterator(engine, arn, shard=0)
        assert keys(records(engine, place)) == ["young"]
        with pytest.raises(TrimmedDataAccessException) as error:
            iterator(engine, arn, "AT_SEQUENCE_NUMBER", 0, SequenceNumber=first["dynamodb"]["SequenceNumber"])
        assert message(error) == "The data you are trying to access has been trimmed"
        number = second["dynamodb"]["SequenceNumber"]
        place = iterator(engine, arn, "AT_SEQUENCE_NUMBER", 0, SequenceNumber=number)
        assert keys(records(engine, place)) == ["young"]
        # The second time without the row in the log.
        engine.sweep()


def test_an_iterator_whose_records_were_trimmed_meanwhile_says_so(engine: Engine, clock: Clock) -> None:
    arn = create(engine)
    put(engine, "a")
    number = records(engine, iterator(engine, arn))[0]["dynamodb"]["SequenceNumber"]
    clock.now += 24 * HOUR - 60
    place = iterator(engine, arn, "AT_SEQUENCE_NUMBER", 0, SequenceNumber=number)
    clock.now += 60
    with pytest.raises(TrimmedDataAccessException):
        records(engine, place)


def test_background_work_trims_expired_records_and_streams(engine: Engine, clock: Clock) -> None:
    arn = create(engine)
    for number in range(450):
        put(engine, str(number))
    disable(engine, arn)
    database = engine._database
    engine.sweep()
    assert database.storage.execute("SELECT count(*) FROM log").fetchone() == (450,)
    clock.now += 24 * HOUR
    engine.sweep()
    for table in ("log", "streams"):
        assert database.storage.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_large_records_are_trimmed_some_at_a_time(
    engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(engine)
    for number in range(10):
        put(engine, str(number))
    clock.now += 24 * HOUR
    database = engine._database
    monkeypatch.setattr(slices, "_DELETED_BYTES", 1)
    with engine._storage.turn():
        for left in range(9, -1, -1):
            assert shards.maintain(database) == 0.0
            assert database.storage.execute("SELECT count(*) FROM log").fetchone() == (left,)


def test_closed_shards_are_forgotten_after_a_day(engine: Engine, clock: Clock) -> None:
    arn = create(engine)
    for _ in range(20):
        clock.now += 4 * HOUR
        engine.sweep()
    shards = describe(engine, arn)["Shards"]
    assert len(shards) == 7
    assert "ParentShardId" in shards[0]


def test_a_stream_survives_a_restart(tmp_path: Path, clock: Clock) -> None:
    with Engine.open(tmp_path, clock=clock) as engine:
        arn = create(engine)
        put(engine, "a")
        place = iterator(engine, arn)
    with Engine.open(tmp_path, clock=clock) as engine:
        put(engine, "b")
        assert keys(records(engine, place)) == ["a", "b"]
        assert engine.verify().ok


def test_a_request_for_an_unknown_shard_does_not_affect_writes(engine: Engine, clock: Clock) -> None:
    """Its question closes the old shard on the way, which stands although the question was wrong."""
    arn = create(engine)
    engine._background.stop()  # it would close the shard first
    clock.now += 5 * HOUR
    item = {"pk": {"S": "waiting"}}
    _, batch = engine.execute("PutItem", {"TableName": "music", "Item": item})
    assert batch is not None
    shard_id = "shardId-00000000000000000000-00000000"
    with pytest.raises(ResourceNotFoundException):
        engine.call("GetShardIterator", {"StreamArn": arn, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"})
    engine.flush()
    assert batch.error is None
    assert engine.call("GetItem", {"TableName": "music", "Key": item})["Item"] == item
    assert len(describe(engine, arn)["Shards"]) == 2


def test_a_damaged_record_due_to_be_trimmed_does_not_prevent_reads(tmp_path: Path, clock: Clock) -> None:
    with Engine.open(tmp_path, clock=clock) as engine:
        engine._background.stop()
        arn = create(engine)
        put(engine, "old")
        put(engine, "damaged")
        engine._storage.write()("UPDATE log SET kind = 'REMOVE' WHERE sequence = (SELECT max(sequence) FROM log)")
        engine.flush()
        clock.now += 23 * HOUR
        put(engine, "new")
        clock.now += HOUR
        engine.sweep()
        assert engine._storage.execute("SELECT count(*) FROM log").fetchone() == (2,)
        found = records(engine, iterator(engine, arn, "AT_TIMESTAMP", 0, Timestamp=clock.now - HOUR))
        assert keys(found) == ["new"]
