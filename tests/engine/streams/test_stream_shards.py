"""Streams and their shards: how they are described, listed, closed and continued."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tablewright.dynamo import (
    ResourceNotFoundException,
    ValidationException,
)
from tablewright.engine import Engine
from tests.clocks import Clock
from tests.engine.streams.music_stream import (
    HOUR,
    START,
    create,
    describe,
    iterator,
    keys,
    message,
    put,
    records,
)


def test_a_stream_describes_itself(engine: Engine) -> None:
    arn = create(engine)
    description = describe(engine, arn)
    (shard,) = description.pop("Shards")
    assert re.fullmatch(r"shardId-\d{20}-[0-9a-f]{8}", shard["ShardId"])
    assert shard["SequenceNumberRange"].keys() == {"StartingSequenceNumber"}
    assert "ParentShardId" not in shard
    assert arn == "arn:aws:dynamodb:us-east-1:123456789012:table/music/stream/2027-01-15T08:00:00.250"
    assert description == {
        "StreamArn": arn,
        "StreamLabel": "2027-01-15T08:00:00.250",
        "StreamStatus": "ENABLED",
        "StreamViewType": "NEW_AND_OLD_IMAGES",
        "CreationRequestDateTime": START,
        "TableName": "music",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    }


def test_a_shard_is_closed_after_some_hours_and_continued_by_a_child(engine: Engine, clock: Clock) -> None:
    arn = create(engine)
    put(engine, "a")
    place = iterator(engine, arn)
    clock.now += 4 * HOUR - 1
    assert len(describe(engine, arn)["Shards"]) == 1
    clock.now += 1
    parent, child = describe(engine, arn)["Shards"]
    put(engine, "b")
    assert child["ParentShardId"] == parent["ShardId"]
    numbers = parent["SequenceNumberRange"]
    (first,) = records(engine, iterator(engine, arn, shard=0))
    number = first["dynamodb"]["SequenceNumber"]
    assert numbers["StartingSequenceNumber"] <= number <= numbers["EndingSequenceNumber"]
    assert numbers["EndingSequenceNumber"] < child["SequenceNumberRange"]["StartingSequenceNumber"]
    assert keys(records(engine, iterator(engine, arn, shard=1))) == ["b"]
    assert len(place) <= 2048


def test_a_closed_shard_ends(engine: Engine, clock: Clock) -> None:
    arn = create(engine)
    for key in "abc":
        put(engine, key)
    clock.now += 4 * HOUR
    describe(engine, arn)
    put(engine, "d")
    response = engine.call("GetRecords", {"ShardIterator": iterator(engine, arn, shard=0), "Limit": 2})
    assert keys(response["Records"]) == ["a", "b"]
    response = engine.call("GetRecords", {"ShardIterator": response["NextShardIterator"]})
    assert keys(response["Records"]) == ["c"]
    assert "NextShardIterator" not in response
    latest = engine.call("GetRecords", {"ShardIterator": iterator(engine, arn, "LATEST", shard=0)})
    assert latest == {"Records": []}


def test_an_iterator_of_a_shard_that_is_closed_meanwhile_reads_it_to_its_end(engine: Engine, clock: Clock) -> None:
    arn = create(engine)
    put(engine, "a")
    clock.now += 4 * HOUR - 1
    place = iterator(engine, arn)
    clock.now += 2
    put(engine, "b")
    response = engine.call("GetRecords", {"ShardIterator": place})
    later = engine.call("GetRecords", {"ShardIterator": iterator(engine, arn)})
    assert keys(response["Records"] + later["Records"]) == ["a", "b"]
    assert "NextShardIterator" not in response


def test_shards_are_listed_in_pages(engine: Engine, clock: Clock) -> None:
    arn = create(engine)
    for _ in range(4):
        clock.now += 4 * HOUR
        describe(engine, arn)
    everything = [shard["ShardId"] for shard in describe(engine, arn)["Shards"]]
    assert len(everything) == 5
    listed: list[str] = []
    parameters: dict[str, Any] = {"Limit": 2}
    while True:
        page = describe(engine, arn, **parameters)
        listed += [shard["ShardId"] for shard in page["Shards"]]
        if "LastEvaluatedShardId" not in page:
            break
        parameters["ExclusiveStartShardId"] = page["LastEvaluatedShardId"]
    assert listed == everything


def test_the_children_of_a_shard_can_be_asked_for(engine: Engine, clock: Clock) -> None:
    arn = create(engine)
    for _ in range(2):
        clock.now += 4 * HOUR
        describe(engine, arn)
    oldest, middle, newest = (shard["ShardId"] for shard in describe(engine, arn)["Shards"])
    for parent, children in [(oldest, [middle]), (middle, [newest]), (newest, [])]:
        shards = describe(engine, arn, ShardFilter={"Type": "CHILD_SHARDS", "ShardId": parent})["Shards"]
        assert [shard["ShardId"] for shard in shards] == children
    with pytest.raises(ValidationException):
        describe(engine, arn, ShardFilter={"Type": "CHILD_SHARDS"})


def test_streams_are_listed_in_pages_and_by_table(engine: Engine) -> None:
    arns = sorted(create(engine, name=name) for name in ("delta", "alpha", "charlie"))
    create(engine, view=None, name="bravo")
    listed: list[str] = []
    request: dict[str, Any] = {"Limit": 2}
    while True:
        page = engine.call("ListStreams", request)
        listed += [stream["StreamArn"] for stream in page["Streams"]]
        if "LastEvaluatedStreamArn" not in page:
            break
        request["ExclusiveStartStreamArn"] = page["LastEvaluatedStreamArn"]
    assert listed == arns
    label = arns[0].rpartition("/")[2]
    assert engine.call("ListStreams", {"TableName": "alpha"}) == {
        "Streams": [{"StreamArn": arns[0], "TableName": "alpha", "StreamLabel": label}]
    }
    assert engine.call("ListStreams", {"TableName": "bravo"}) == {"Streams": []}


def test_what_is_not_there_is_not_found(engine: Engine) -> None:
    arn = create(engine)
    other = arn.replace("music", "books")
    with pytest.raises(ResourceNotFoundException) as error:
        describe(engine, other)
    assert message(error) == f"Requested resource not found: Stream: {other} not found"
    with pytest.raises(ResourceNotFoundException) as error:
        iterator(engine, arn, ShardId="shardId-00000001414576573621-f55eea83")
    assert message(error) == "Requested resource not found: Shard does not exist"


@pytest.mark.parametrize(
    "arn",
    [
        "not an ARN, but as long as one has to be at least",
        "arn:aws:dynamodb:us-east-1:123456789012:table/music",
        "arn:aws:kinesis:us-east-1:123456789012:table/music/stream/2027-01-15T08:00:00.250",
    ],
)
def test_an_arn_must_be_a_streams(engine: Engine, arn: str) -> None:
    with pytest.raises(ValidationException) as error:
        describe(engine, arn)
    assert message(error) == "Invalid StreamArn"
