"""Streams: what a reader of one sees, from the first shard to a day after the end."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from tablewright.dynamo import (
    DynamoError,
    ExpiredIteratorException,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    ValidationException,
)
from tablewright.engine import Engine
from tests.clocks import Clock
from tests.engine.table_requests import on_demand

HOUR = 3600.0
START = 1_800_000_000.25


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


def create(engine: Engine, view: str | None = "NEW_AND_OLD_IMAGES", name: str = "music") -> str:
    """A table, with a stream of that view type; the stream's ARN."""
    request = on_demand(TableName=name)
    if view is not None:
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    description = engine.call("CreateTable", request)["TableDescription"]
    return str(description.get("LatestStreamArn"))


def put(engine: Engine, key: str, table: str = "music", **attributes: str) -> None:
    item = {"pk": {"S": key}, **{name: {"S": value} for name, value in attributes.items()}}
    engine.call("PutItem", {"TableName": table, "Item": item})


def delete(engine: Engine, key: str) -> None:
    engine.call("DeleteItem", {"TableName": "music", "Key": {"pk": {"S": key}}})


def describe(engine: Engine, arn: str, **parameters: Any) -> dict[str, Any]:
    description: dict[str, Any] = engine.call("DescribeStream", {"StreamArn": arn, **parameters})["StreamDescription"]
    return description


def iterator(engine: Engine, arn: str, kind: str = "TRIM_HORIZON", shard: int = -1, **parameters: Any) -> str:
    shard_id = describe(engine, arn)["Shards"][shard]["ShardId"]
    request = {"StreamArn": arn, "ShardId": shard_id, "ShardIteratorType": kind, **parameters}
    return str(engine.call("GetShardIterator", request)["ShardIterator"])


def records(engine: Engine, shard_iterator: str, **parameters: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = engine.call("GetRecords", {"ShardIterator": shard_iterator, **parameters})["Records"]
    return found


def keys(found: list[dict[str, Any]]) -> list[str]:
    return [record["dynamodb"]["Keys"]["pk"]["S"] for record in found]


def disable(engine: Engine, arn: str) -> None:
    """End the stream by way of its table, which need not survive it."""
    engine.call("DeleteTable", {"TableName": arn.split("/")[1]})


def message(error: pytest.ExceptionInfo[DynamoError]) -> str | None:
    return error.value.message


# -- what is recorded ----------------------------------------------------------------------------------------


def test_a_record_has_the_members_that_dynamodb_gives_it(engine: Engine) -> None:
    arn = create(engine)
    put(engine, "a", title="x")
    (record,) = records(engine, iterator(engine, arn))
    assert re.fullmatch("[0-9a-f]{32}", record.pop("eventID"))
    assert re.fullmatch(r"\d{21,40}", record["dynamodb"].pop("SequenceNumber"))
    assert record == {
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": int(START),
            "Keys": {"pk": {"S": "a"}},
            "NewImage": {"pk": {"S": "a"}, "title": {"S": "x"}},
            "SizeBytes": 3 + (3 + 6),
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }


@pytest.mark.parametrize(
    ("view", "images"),
    [
        ("KEYS_ONLY", [set(), set(), set()]),
        ("NEW_IMAGE", [{"NewImage"}, {"NewImage"}, set()]),
        ("OLD_IMAGE", [set(), {"OldImage"}, {"OldImage"}]),
        ("NEW_AND_OLD_IMAGES", [{"NewImage"}, {"NewImage", "OldImage"}, {"OldImage"}]),
    ],
)
def test_the_view_type_decides_which_images_there_are(engine: Engine, view: str, images: list[set[str]]) -> None:
    arn = create(engine, view)
    put(engine, "a", title="x")
    put(engine, "a", title="y")
    delete(engine, "a")
    found = records(engine, iterator(engine, arn))
    assert [record["eventName"] for record in found] == ["INSERT", "MODIFY", "REMOVE"]
    assert [{"NewImage", "OldImage"} & record["dynamodb"].keys() for record in found] == images
    assert {record["dynamodb"]["StreamViewType"] for record in found} == {view}
    assert "userIdentity" not in found[2]


def test_size_counts_keys_and_both_images(engine: Engine) -> None:
    arn = create(engine)
    put(engine, "a", title="x")
    put(engine, "a", title="yy")
    changed = records(engine, iterator(engine, arn))[1]["dynamodb"]
    assert changed["SizeBytes"] == 3 + (3 + 6) + (3 + 7)


def test_a_write_that_changes_nothing_leaves_no_record(engine: Engine) -> None:
    arn = create(engine)
    put(engine, "a", title="x")
    put(engine, "a", title="x")
    delete(engine, "never there")
    assert keys(records(engine, iterator(engine, arn))) == ["a"]


def test_streams_of_two_tables_do_not_mix(engine: Engine) -> None:
    music, books = create(engine), create(engine, name="books")
    put(engine, "a")
    put(engine, "b", table="books")
    put(engine, "c")
    assert keys(records(engine, iterator(engine, music))) == ["a", "c"]
    assert keys(records(engine, iterator(engine, books))) == ["b"]


# -- reading -------------------------------------------------------------------------------------------------


def test_records_come_in_order_and_in_pages(engine: Engine) -> None:
    arn = create(engine)
    for number in range(7):
        put(engine, str(number))
    place = iterator(engine, arn)
    pages = []
    for _ in range(4):
        response = engine.call("GetRecords", {"ShardIterator": place, "Limit": 3})
        pages.append(keys(response["Records"]))
        place = response["NextShardIterator"]
    assert pages == [["0", "1", "2"], ["3", "4", "5"], ["6"], []]
    put(engine, "7")
    assert keys(records(engine, place)) == ["7"]


def test_sequence_numbers_grow_and_event_ids_stay(engine: Engine) -> None:
    arn = create(engine)
    for number in range(12):
        put(engine, str(number))
    first, again = (records(engine, iterator(engine, arn)) for _ in range(2))
    numbers = [record["dynamodb"]["SequenceNumber"] for record in first]
    assert numbers == sorted(set(numbers))
    assert len({record["eventID"] for record in first}) == 12
    assert first == again


def test_a_page_holds_a_megabyte_of_records(engine: Engine) -> None:
    arn = create(engine, "NEW_IMAGE")
    for number in range(4):
        put(engine, str(number), text="x" * 390_000)
    response = engine.call("GetRecords", {"ShardIterator": iterator(engine, arn)})
    assert keys(response["Records"]) == ["0", "1"]
    assert keys(records(engine, response["NextShardIterator"])) == ["2", "3"]


def test_latest_begins_after_what_is_there(engine: Engine) -> None:
    arn = create(engine)
    put(engine, "before")
    place = iterator(engine, arn, "LATEST")
    put(engine, "after")
    assert keys(records(engine, place)) == ["after"]


def test_at_and_after_a_sequence_number(engine: Engine) -> None:
    arn = create(engine)
    for key in "abc":
        put(engine, key)
    number = records(engine, iterator(engine, arn))[1]["dynamodb"]["SequenceNumber"]
    at = iterator(engine, arn, "AT_SEQUENCE_NUMBER", SequenceNumber=number)
    after = iterator(engine, arn, "AFTER_SEQUENCE_NUMBER", SequenceNumber=number)
    assert keys(records(engine, at)) == ["b", "c"]
    assert keys(records(engine, after)) == ["c"]


def test_the_number_that_a_shard_starts_with_can_be_read_from(engine: Engine) -> None:
    arn = create(engine)
    put(engine, "a")
    (shard,) = describe(engine, arn)["Shards"]
    number = shard["SequenceNumberRange"]["StartingSequenceNumber"]
    for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        assert keys(records(engine, iterator(engine, arn, kind, SequenceNumber=number))) == ["a"]


def test_at_a_timestamp(engine: Engine, clock: Clock) -> None:
    arn = create(engine)
    for key in "abc":
        put(engine, key)
        clock.now += 10
    for moment, expected in [
        (START - HOUR, "abc"),
        (START + 10, "bc"),
        (START + 10.5, "c"),
        (START + 25, ""),
    ]:
        place = iterator(engine, arn, "AT_TIMESTAMP", Timestamp=moment)
        assert "".join(keys(records(engine, place))) == expected
    with pytest.raises(ValidationException):
        iterator(engine, arn, "AT_TIMESTAMP", Timestamp=clock.now + 1)
    with pytest.raises(ValidationException):
        iterator(engine, arn, "AT_TIMESTAMP")


def test_a_sequence_number_must_be_given_and_belong_to_the_shard(engine: Engine) -> None:
    arn = create(engine)
    put(engine, "a")
    invalid = "One or more parameter values were invalid: "
    number = records(engine, iterator(engine, arn))[0]["dynamodb"]["SequenceNumber"]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, invalid + "Invalid SequenceNumber"),
        ({"SequenceNumber": "x" * 21}, invalid + "Invalid SequenceNumber"),
        ({"SequenceNumber": f"{int(number) + 10**9:0{len(number)}}"}, "Invalid SequenceNumber for the shard"),
    ]
    for parameters, problem in wrong:
        for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
            with pytest.raises(ValidationException) as caught:
                iterator(engine, arn, kind, **parameters)
            assert message(caught) == problem


def test_a_sequence_number_is_not_for_every_iterator(engine: Engine, clock: Clock) -> None:
    arn = create(engine)
    put(engine, "a")
    number = records(engine, iterator(engine, arn))[0]["dynamodb"]["SequenceNumber"]
    for kind in ("TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"):
        with pytest.raises(ValidationException) as caught:
            iterator(engine, arn, kind, SequenceNumber=number, Timestamp=clock.now)
        assert message(caught) == (
            "One or more parameter values were invalid: SequenceNumber should not be passed for this iterator type"
        )


def test_an_iterator_is_good_for_fifteen_minutes(engine: Engine, clock: Clock) -> None:
    place = iterator(engine, create(engine))
    clock.now += 15 * 60 - 1
    assert records(engine, place) == []
    clock.now += 1
    with pytest.raises(ExpiredIteratorException) as error:
        records(engine, place)
    assert message(error) == "Shard iterator has expired"


def test_an_iterator_is_its_streams_own(engine: Engine) -> None:
    music, books = create(engine), create(engine, name="books")
    place = iterator(engine, music)
    for wrong in (place[:-5], place.replace(music, books), "nonsense", f"{music}|1|", f"{music}|1|%%%"):
        with pytest.raises(ValidationException) as error:
            records(engine, wrong)
        assert message(error) == "Invalid ShardIterator"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"7",
        b"[]",
        b'["shard",0]',
        b'["shard",0,0,0]',
        b"[7,0,0]",
        b'["shard","0",0]',
        b'["shard",true,0]',
        b'["shard",-1,0]',
        b'["shard",9223372036854775808,0]',
        b'["shard",1.5,0]',
        b'["shard",0,"now"]',
        b'["shard",0,null]',
    ],
)
def test_a_forged_iterator_with_the_right_checksum_is_refused(engine: Engine, content: bytes) -> None:
    arn = create(engine)
    content = content.replace(b"shard", iterator_content(iterator(engine, arn))[0].encode())
    forged = f"{arn}|1|{b64encode(crc32(arn.encode() + content).to_bytes(4) + content).decode()}"
    with pytest.raises(ValidationException) as error:
        records(engine, forged)
    assert message(error) == "Invalid ShardIterator"


def iterator_content(place: str) -> Any:
    return json.loads(b64decode(place.rpartition("|")[2])[4:])


def test_limits_have_an_upper_bound(engine: Engine) -> None:
    arn = create(engine)
    place = iterator(engine, arn)
    for operation, request, most in [
        ("GetRecords", {"ShardIterator": place}, 1000),
        ("ListStreams", {}, 100),
        ("DescribeStream", {"StreamArn": arn}, 100),
    ]:
        engine.call(operation, {**request, "Limit": most})
        with pytest.raises(ValidationException) as error:
            engine.call(operation, {**request, "Limit": most + 1})
        assert message(error) == (
            f"1 validation error detected: Value '{most + 1}' at 'limit' failed to satisfy constraint: "
            f"Member must have value less than or equal to {most}"
        )


# -- streams and their shards --------------------------------------------------------------------------------


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


# -- the end of a stream, and of records ---------------------------------------------------------------------


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


def test_background_work_trims_what_nobody_can_read_any_more(engine: Engine, clock: Clock) -> None:
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


def test_a_reader_that_asks_for_an_unknown_shard_harms_nobody_who_writes(engine: Engine, clock: Clock) -> None:
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


def test_a_damaged_record_that_is_due_to_be_trimmed_keeps_nobody_from_reading(tmp_path: Path, clock: Clock) -> None:
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
