"""Time to live: how it is set, and what the sweep deletes and leaves."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablewright.dynamo import ResourceNotFoundException, ValidationException
from tablewright.engine import Engine
from tests.clocks import Clock
from tests.engine.table_requests import NEW_AND_OLD_IMAGES, attributes, index, on_demand

NOW = int(Clock().now)
YEAR = 365 * 24 * 3600


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with Engine.open(clock=clock) as opened:
        # The tests say when to sweep.
        opened._database.on_schedule = lambda seconds=0.0: None
        create(opened)
        yield opened


def create(engine: Engine, stream: bool = True) -> None:
    request = on_demand(
        TableName="sessions",
        AttributeDefinitions=attributes("pk", "user"),
        GlobalSecondaryIndexes=[index("by_user", "user")],
    )
    if stream:
        request["StreamSpecification"] = NEW_AND_OLD_IMAGES
    engine.call("CreateTable", request)


def set_ttl(engine: Engine, enabled: bool, attribute: str = "expires", table: str = "sessions") -> dict[str, Any]:
    specification = {"Enabled": enabled, "AttributeName": attribute}
    return engine.call("UpdateTimeToLive", {"TableName": table, "TimeToLiveSpecification": specification})


def ttl(engine: Engine) -> dict[str, Any]:
    description: dict[str, Any] = engine.call("DescribeTimeToLive", {"TableName": "sessions"})["TimeToLiveDescription"]
    return description


def put(engine: Engine, key: str, expires: Any = None, attribute: str = "expires") -> None:
    item = {"pk": {"S": key}, "user": {"S": "u"}}
    if expires is not None:
        item[attribute] = expires if isinstance(expires, dict) else {"N": str(expires)}
    engine.call("PutItem", {"TableName": "sessions", "Item": item})


def left(engine: Engine) -> set[str]:
    """The keys of the items that are there, by the table and by its index."""
    scanned = {item["pk"]["S"] for item in engine.call("Scan", {"TableName": "sessions"})["Items"]}
    query = {
        "TableName": "sessions",
        "IndexName": "by_user",
        "KeyConditionExpression": "#u = :u",
        "ExpressionAttributeNames": {"#u": "user"},
        "ExpressionAttributeValues": {":u": {"S": "u"}},
    }
    assert {item["pk"]["S"] for item in engine.call("Query", query)["Items"]} == scanned
    assert engine.verify().ok
    return scanned


# -- the setting ---------------------------------------------------------------------------------------------


def test_it_is_enabled_and_disabled_and_described(engine: Engine) -> None:
    assert ttl(engine) == {"TimeToLiveStatus": "DISABLED"}
    specification = {"AttributeName": "expires", "Enabled": True}
    assert set_ttl(engine, True) == {"TimeToLiveSpecification": specification}
    assert ttl(engine) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
    specification["Enabled"] = False
    assert set_ttl(engine, False) == {"TimeToLiveSpecification": specification}
    assert ttl(engine) == {"TimeToLiveStatus": "DISABLED"}
    set_ttl(engine, True, "another")
    assert ttl(engine) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "another"}


def test_what_changes_nothing_is_refused(engine: Engine) -> None:
    with pytest.raises(ValidationException, match="TimeToLive is already disabled"):
        set_ttl(engine, False)
    set_ttl(engine, True)
    with pytest.raises(ValidationException, match="TimeToLive is already enabled"):
        set_ttl(engine, True)
    for enabled in (True, False):
        with pytest.raises(ValidationException) as error:
            set_ttl(engine, enabled, "another")
        assert error.value.message == (
            "TimeToLive is active on a different AttributeName: current AttributeName is expires"
        )


def test_the_table_must_exist(engine: Engine) -> None:
    with pytest.raises(ResourceNotFoundException) as updating:
        set_ttl(engine, True, table="nowhere")
    with pytest.raises(ResourceNotFoundException) as describing:
        engine.call("DescribeTimeToLive", {"TableName": "nowhere"})
    for error in (updating, describing):
        assert error.value.message == "Requested resource not found: Table: nowhere not found"


def test_it_survives_a_restart(tmp_path: Path, clock: Clock) -> None:
    with Engine.open(tmp_path, clock=clock) as engine:
        create(engine)
        set_ttl(engine, True)
        put(engine, "a", NOW + 10)
    clock.now += 10
    with Engine.open(tmp_path, clock=clock) as engine:
        assert ttl(engine) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
        engine.sweep()
        assert left(engine) == set()


# -- the sweep -----------------------------------------------------------------------------------------------


def test_an_item_is_deleted_when_its_time_has_come(engine: Engine, clock: Clock) -> None:
    set_ttl(engine, True)
    put(engine, "a", NOW + 10)
    put(engine, "b", NOW + 11)
    clock.now += 9.9
    engine.sweep()
    assert left(engine) == {"a", "b"}
    clock.now += 0.1
    engine.sweep()
    assert left(engine) == {"b"}


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"S": str(NOW - 1)},
        {"NS": [str(NOW - 1)]},
        {"NULL": True},
        {"L": [{"N": str(NOW - 1)}]},
        {"N": str(NOW + 1)},
        {"N": str(NOW - 5 * YEAR)},
        {"N": "0"},
        {"N": "-1"},
        {"N": str(NOW * 1000)},
        {"N": "9e100"},
    ],
)
def test_what_is_no_number_or_not_in_the_last_five_years_is_left(engine: Engine, value: Any) -> None:
    set_ttl(engine, True)
    put(engine, "a", value)
    engine.sweep()
    assert left(engine) == {"a"}


@pytest.mark.parametrize("value", [str(NOW), str(NOW - 5 * YEAR + 1), f"{NOW - 1}.75"])
def test_what_expired_in_the_last_five_years_is_deleted(engine: Engine, value: str) -> None:
    set_ttl(engine, True)
    put(engine, "a", {"N": value})
    engine.sweep()
    assert left(engine) == set()


def test_an_item_that_was_given_more_time_is_left(engine: Engine, clock: Clock) -> None:
    set_ttl(engine, True)
    for key in "abc":
        put(engine, key, NOW + 10)
    put(engine, "a", NOW + 20)
    put(engine, "b")
    clock.now += 15
    engine.sweep()
    assert left(engine) == {"a", "b"}


def test_nothing_expires_while_it_is_disabled(engine: Engine) -> None:
    put(engine, "a", NOW - 1)
    engine.sweep()
    assert left(engine) == {"a"}
    set_ttl(engine, True)
    set_ttl(engine, False)
    engine.sweep()
    assert left(engine) == {"a"}


def test_a_deletion_is_in_the_stream_as_the_services(engine: Engine) -> None:
    set_ttl(engine, True)
    put(engine, "a", NOW - 1)
    put(engine, "b", NOW - 1)
    engine.call("DeleteItem", {"TableName": "sessions", "Key": {"pk": {"S": "b"}}})
    engine.sweep()
    arn = engine.call("DescribeTable", {"TableName": "sessions"})["Table"]["LatestStreamArn"]
    shard = engine.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"][0]["ShardId"]
    request = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = engine.call("GetShardIterator", request)["ShardIterator"]
    records = engine.call("GetRecords", {"ShardIterator": iterator})["Records"]
    *_, by_hand, by_service = records
    assert "userIdentity" not in by_hand
    assert by_service["eventName"] == "REMOVE"
    assert by_service["userIdentity"] == {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    assert by_service["dynamodb"]["OldImage"]["expires"] == {"N": str(NOW - 1)}


def test_an_entry_that_is_not_the_items_own_word_deletes_nothing(engine: Engine) -> None:
    set_ttl(engine, True)
    put(engine, "a", NOW + 10)
    database = engine._database
    expiries = database.tables["sessions"].expiries
    with database.storage.turn():
        database.storage.write()(f"INSERT INTO {expiries} (at, id) VALUES (?, 1), (?, 99)", (NOW, NOW))
    engine.sweep()
    assert left(engine) == {"a"}


def test_many_items_expire_in_small_steps(engine: Engine) -> None:
    set_ttl(engine, True)
    for number in range(350):
        put(engine, str(number), NOW - number % 7)
    engine.sweep()
    assert left(engine) == set()


# -- enabling it on a table that has items -------------------------------------------------------------------


def test_items_that_were_there_before_expire_too(engine: Engine) -> None:
    put(engine, "old", NOW - 1)
    put(engine, "young", NOW + 1)
    put(engine, "without")
    set_ttl(engine, True)
    assert ttl(engine)["TimeToLiveStatus"] == "ENABLED"
    engine.sweep()
    assert left(engine) == {"young", "without"}


def test_a_large_table_is_gone_through_in_the_background(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablewright.engine.ttl.time_to_live._FILLED_AT_ONCE", 10)
    monkeypatch.setattr("tablewright.engine.ttl.time_to_live._ROWS_AT_ONCE", 10)
    monkeypatch.setattr("tablewright.engine.background_work.BackgroundWork.wake", lambda *_: None)
    with Engine.open(tmp_path, clock=clock) as engine:
        create(engine)
        for number in range(100):
            put(engine, f"{number:02d}", NOW + 10)
        set_ttl(engine, True)
        assert ttl(engine) == {"TimeToLiveStatus": "ENABLING", "AttributeName": "expires"}
        # Before, at and beyond the place that has been reached.
        for key in ("03", "10", "90"):
            put(engine, key, NOW + 20)
        put(engine, "new", NOW + 10)
        engine.call("DeleteItem", {"TableName": "sessions", "Key": {"pk": {"S": "95"}}})
        assert engine.verify().ok
    with Engine.open(tmp_path, clock=clock) as engine:
        assert ttl(engine)["TimeToLiveStatus"] == "ENABLING"
        engine.sweep()
        assert ttl(engine)["TimeToLiveStatus"] == "ENABLED"
        clock.now += 10
        engine.sweep()
        assert left(engine) == {"03", "10", "90"}


def test_writes_go_on_while_it_is_being_enabled() -> None:
    with Engine.open() as engine:
        create(engine)
        past, future = int(time.time()) - 1, int(time.time()) + 3600
        for number in range(3000):
            put(engine, str(number), past if number % 2 else future)
        set_ttl(engine, True)

        def write(first: int) -> None:
            for number in range(first, 3200, 7):
                put(engine, str(number), future if number % 2 else past)

        writers = [threading.Thread(target=write, args=(first,)) for first in range(3)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        engine.sweep()
        assert ttl(engine)["TimeToLiveStatus"] == "ENABLED"
        written = {number for first in range(3) for number in range(first, 3200, 7)}
        kept = {number for number in range(3000) if number % 2 == 0} - written
        assert left(engine) == {str(number) for number in kept | {n for n in written if n % 2}}


def test_it_can_be_disabled_while_it_is_being_enabled(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablewright.engine.ttl.time_to_live._FILLED_AT_ONCE", 1)
    for key in "abc":
        put(engine, key, NOW - 1)
    set_ttl(engine, True)
    assert ttl(engine)["TimeToLiveStatus"] == "ENABLING"
    set_ttl(engine, False)
    set_ttl(engine, True, "another")
    engine.sweep()
    assert ttl(engine) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "another"}
    assert left(engine) == {"a", "b", "c"}


def test_a_deleted_table_leaves_nothing_behind(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablewright.engine.ttl.time_to_live._FILLED_AT_ONCE", 1)
    for key in "abc":
        put(engine, key, NOW - 1)
    set_ttl(engine, True)
    engine.call("DeleteTable", {"TableName": "sessions"})
    engine.sweep()
    execute = engine._database.storage.execute
    assert execute("SELECT name FROM sqlite_schema WHERE name LIKE 'expiries%'").fetchall() == []
    create(engine)
    assert ttl(engine) == {"TimeToLiveStatus": "DISABLED"}


def test_the_thread_sweeps_by_itself() -> None:
    with Engine.open() as engine:
        create(engine)
        set_ttl(engine, True)
        put(engine, "a", int(time.time()) - 1)
        deadline = time.monotonic() + 10
        # One look at a time: the sweep may come between two.
        while engine.call("Scan", {"TableName": "sessions"})["Items"] and time.monotonic() < deadline:
            time.sleep(0.02)
        assert left(engine) == set()
