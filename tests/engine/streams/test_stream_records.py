"""Streams: what is recorded, and what a reader sees."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from random import Random
from typing import Any
from zlib import crc32

import pytest

from tablewright.dynamo import (
    ExpiredIteratorException,
    ValidationException,
)
from tablewright.engine import Engine, slices
from tablewright.engine.streams import stream_records
from tests.clocks import Clock
from tests.engine.streams.music_stream import (
    HOUR,
    START,
    create,
    delete,
    describe,
    iterator,
    keys,
    message,
    put,
    records,
)

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


def test_at_a_timestamp_among_many_records(engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The earliest record of that time or later, wherever it is, also when the clock was set back."""
    monkeypatch.setattr(stream_records, "_NEAR", 3)
    monkeypatch.setattr(stream_records, "_LOOKED_AT", 4)
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    arn, other = create(engine), create(engine, name="others")
    chance = Random(5)
    times: dict[str, list[float]] = {arn: [], other: []}
    for number in range(60):
        clock.now = START + chance.choice([number, number, chance.randrange(60)])
        stream = other if 20 < number < 50 else chance.choice([arn, other])
        put(engine, str(len(times[stream])), "music" if stream == arn else "others")
        times[stream].append(clock.now)
    clock.now = START + 60
    for stream, moments in times.items():
        for moment in range(61):
            place = iterator(engine, stream, "AT_TIMESTAMP", Timestamp=START + moment)
            later = [(at, number) for number, at in enumerate(moments) if at >= START + moment]
            first = min(later)[1] if later else len(moments)
            assert keys(records(engine, place)) == [str(number) for number in range(first, len(moments))]


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
