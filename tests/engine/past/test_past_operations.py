"""``engine.at``: every read answers as the restored table does, whatever has happened since."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tablewright.dynamo import (
    InvalidRestoreTimeException,
    PointInTimeRecoveryUnavailableException,
    ResourceNotFoundException,
    ValidationException,
)
from tablewright.engine import Engine, slices
from tablewright.engine.past import changes_by_key, past_database
from tests.clocks import Clock
from tests.engine.past.every_read import every_read
from tests.engine.past.recovery import switch
from tests.engine.table_requests import attributes, index, index_creation, index_deletion, key, on_demand

NOW = 1_800_000_000.0


def create(engine: Engine, recovery: bool = True) -> None:
    engine.call(
        "CreateTable",
        on_demand(
            AttributeDefinitions=attributes("pk", "sk:N", "g", "n:N"),
            KeySchema=key("pk", "sk"),
            GlobalSecondaryIndexes=[
                index("by-group", "g", "n", Projection={"ProjectionType": "KEYS_ONLY"}),
                index("by-number", "g", "sk"),
            ],
            LocalSecondaryIndexes=[index("local", "pk", "n", Projection={"ProjectionType": "KEYS_ONLY"})],
        ),
    )
    if recovery:
        switch(engine, True)


def key_of(number: int) -> dict[str, Any]:
    return {"pk": {"S": f"p{number % 3}"}, "sk": {"N": str(number // 3)}}


def put(engine: Engine, number: int, **members: Any) -> None:
    engine.call("PutItem", {"TableName": "music", "Item": {**key_of(number), **members}})


def scan(engine: Engine, **request: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = engine.call("Scan", {"TableName": "music", **request})["Items"]
    return items


KEYS = [key_of(number) for number in range(12)]


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that a few items need several of, and a slice for each of them."""
    monkeypatch.setattr(changes_by_key, "_AT_ONCE", 2)
    monkeypatch.setattr(changes_by_key, "_BLOCK", 4)
    monkeypatch.setattr(past_database, "_CAUGHT_UP_AT_ONCE", 1)
    monkeypatch.setattr(past_database, "_ROWS_AT_ONCE", 2)
    monkeypatch.setattr(past_database, "_CHANGES_AT_ONCE", 2)
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0.0)


def write_something(engine: Engine, chosen: random.Random) -> None:
    number = chosen.randrange(12)
    match chosen.randrange(8):
        case 0 | 1 | 2 | 3:
            members: dict[str, Any] = {"v": {"N": str(chosen.randrange(3))}}
            if chosen.random() < 0.7:
                members |= {"g": {"S": chosen.choice("ab")}, "n": {"N": str(chosen.randrange(4))}}
            put(engine, number, **members)
        case 4 | 5:
            engine.call("DeleteItem", {"TableName": "music", "Key": key_of(number)})
        case 6:
            puts = [
                {"Put": {"TableName": "music", "Item": {**key, "g": {"S": "a"}, "n": {"N": "1"}}}} for key in KEYS[:3]
            ]
            deletion = {"Delete": {"TableName": "music", "Key": KEYS[4]}}
            engine.call("TransactWriteItems", {"TransactItems": [*puts, deletion]})
        case _:
            engine.call(
                "UpdateItem",
                {
                    "TableName": "music",
                    "Key": key_of(number),
                    "UpdateExpression": "SET g = :g REMOVE n",
                    "ExpressionAttributeValues": {":g": {"S": chosen.choice("abc")}},
                },
            )


@pytest.mark.requirement("ST7")
@pytest.mark.parametrize("seed", range(6))
def test_every_read_at_a_time_equals_that_of_the_table_restored_to_it(
    engine: Engine, clock: Clock, seed: int, small_steps: None
) -> None:
    chosen = random.Random(seed)
    create(engine)
    times = []
    for step in range(chosen.randrange(10, 60)):
        clock.now += chosen.choice([0.0, 0.0, 0.25, 1.0, -0.5 if step % 10 == 9 else 0.25])
        write_something(engine, chosen)
        times.append(clock.now)
        if step % 7 == 0:
            engine.at(clock.now).call("Scan", {"TableName": "music", "IndexName": "by-group"})
    clock.now = max(times) + 1
    if seed % 2:
        engine.call("UpdateTable", {"TableName": "music", "GlobalSecondaryIndexUpdates": index_deletion("by-group")})
        engine.call(
            "UpdateTable",
            {
                "TableName": "music",
                "AttributeDefinitions": attributes("v:N"),
                "GlobalSecondaryIndexUpdates": index_creation("by-value", "v"),
            },
        )
        engine.sweep()
    for time in chosen.sample(sorted(set(times)), 4):
        request = {"SourceTableName": "music", "TargetTableName": "restored", "RestoreDateTime": time}
        engine.call("RestoreTableToPointInTime", request)
        engine.sweep()
        past = engine.at(time)
        for (name, found), (_, expected) in zip(
            every_read(past.call, "music", KEYS), every_read(engine.call, "restored", KEYS), strict=True
        ):
            assert found == expected, (time, name)
        engine.call("DeleteTable", {"TableName": "restored"})
        # What is written meanwhile is of later.
        write_something(engine, chosen)
        clock.now += 0.5


@pytest.mark.requirement("ST7")
def test_what_others_write_between_two_slices_is_not_seen(engine: Engine, clock: Clock, small_steps: None) -> None:
    create(engine)
    for number in range(12):
        put(engine, number, g={"S": "a"}, n={"N": str(number)})
    then, before = clock.now, scan(engine)
    chosen = random.Random(3)
    clock.now += 1

    async def read(**request: Any) -> list[dict[str, Any]]:
        items = (await engine.at(then).call_async("Scan", {"TableName": "music", **request}))["Items"]
        assert isinstance(items, list)
        return items

    async def write() -> None:
        for _ in range(60):
            clock.now += 0.1
            write_something(engine, chosen)
            await asyncio.sleep(0)

    async def both() -> list[Any]:
        reads = [read(), read(IndexName="by-number"), read(FilterExpression="attribute_exists(pk)")]
        found = await asyncio.gather(*reads, write())
        return list(found)

    table, by_number, filtered, _ = asyncio.run(both())
    assert table == filtered == before
    assert sorted(map(str, by_number)) == sorted(map(str, before))


@pytest.mark.requirement("ST7")
def test_a_time_that_cannot_be_restored_cannot_be_read(engine: Engine, clock: Clock) -> None:
    create(engine, recovery=False)
    request = {"TableName": "music", "Key": KEYS[0]}
    with pytest.raises(PointInTimeRecoveryUnavailableException, match="not enabled for table 'music'"):
        engine.at(clock.now).call("GetItem", request)
    switch(engine, True)
    assert engine.at(clock.now).call("GetItem", request) == {}
    assert engine.at(datetime.fromtimestamp(clock.now, UTC)).call("GetItem", request) == {}
    for time in (clock.now - 1, clock.now + 1, float("inf"), float("nan")):
        for operation, members in (
            ("GetItem", request),
            ("Scan", {"TableName": "music"}),
            ("DescribeTable", {"TableName": "music"}),
        ):
            with pytest.raises(InvalidRestoreTimeException, match="EarliestRestorableDateTime"):
                engine.at(time).call(operation, members)
    with pytest.raises(ResourceNotFoundException):
        engine.at(clock.now).call("Scan", {"TableName": "other"})
    with pytest.raises(ValueError, match="time zone"):
        engine.at(datetime(2027, 1, 1))


@pytest.mark.requirement("ST7")
def test_another_table_of_the_same_name_has_a_past_of_its_own(engine: Engine, clock: Clock) -> None:
    create(engine)
    put(engine, 1)
    then = clock.now
    clock.now += 10
    assert len(scan(engine.at(then))) == 1
    engine.call("DeleteTable", {"TableName": "music"})
    with pytest.raises(ResourceNotFoundException):
        scan(engine.at(then))
    create(engine)
    put(engine, 2)
    put(engine, 3)
    with pytest.raises(InvalidRestoreTimeException):
        scan(engine.at(then))
    assert len(scan(engine.at(clock.now))) == 2


@pytest.mark.requirement("ST7")
def test_recovery_that_was_disabled_meanwhile_leaves_no_past(engine: Engine, clock: Clock) -> None:
    create(engine)
    for number in range(6):
        put(engine, number)
    then = clock.now
    clock.now += 1
    put(engine, 1, v={"N": "1"})
    assert scan(engine.at(then)) != scan(engine)
    switch(engine, False)
    switch(engine, True)
    clock.now += 1
    put(engine, 2, v={"N": "2"})
    with pytest.raises(InvalidRestoreTimeException):
        scan(engine.at(then))
    assert sum("v" in item for item in scan(engine.at(clock.now - 1))) == 1


@pytest.mark.requirement("ST7")
@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("PutItem", {"TableName": "music", "Item": KEYS[0]}),
        ("UpdateItem", {"TableName": "music", "Key": KEYS[0]}),
        ("DeleteItem", {"TableName": "music", "Key": KEYS[0]}),
        ("BatchWriteItem", {"RequestItems": {"music": [{"DeleteRequest": {"Key": KEYS[0]}}]}}),
        ("TransactWriteItems", {"TransactItems": [{"Delete": {"TableName": "music", "Key": KEYS[0]}}]}),
        ("ExecuteStatement", {"Statement": "DELETE FROM music WHERE pk = 'p0' AND sk = 0"}),
        ("ExecuteStatement", {"Statement": "INSERT INTO music VALUE {'pk': 'p0', 'sk': 0}"}),
        ("BatchExecuteStatement", {"Statements": [{"Statement": "DELETE FROM music WHERE pk = 'p0' AND sk = 0"}]}),
        (
            "ExecuteTransaction",
            {
                "TransactStatements": [{"Statement": "EXISTS(SELECT * FROM music WHERE pk = 'p0' AND sk = 0)"}],
                "ClientRequestToken": "one",
            },
        ),
        ("DeleteTable", {"TableName": "music"}),
        ("CreateBackup", {"TableName": "music", "BackupName": "some"}),
    ],
)
def test_nothing_is_changed_in_the_past(engine: Engine, clock: Clock, operation: str, request_: dict[str, Any]) -> None:
    create(engine)
    put(engine, 0)
    before = scan(engine)
    with pytest.raises(ValidationException, match="earlier time"):
        engine.at(clock.now).call(operation, request_)
    assert scan(engine) == before
    assert engine.verify().ok


@pytest.mark.requirement("ST7")
def test_expired_items_are_there_until_they_were_deleted(engine: Engine, clock: Clock) -> None:
    create(engine)
    specification = {"AttributeName": "ends", "Enabled": True}
    engine.call("UpdateTimeToLive", {"TableName": "music", "TimeToLiveSpecification": specification})
    put(engine, 0, ends={"N": str(int(clock.now) + 10)})
    clock.now += 60
    expired = clock.now
    clock.now += 1
    engine.sweep()
    assert scan(engine) == []
    assert len(scan(engine.at(expired))) == 1
    clock.now += 1
    assert scan(engine.at(clock.now - 1)) == []


@pytest.mark.requirement("ST7")
def test_a_read_of_the_past_costs_what_was_changed_and_not_what_there_is(engine: Engine, clock: Clock) -> None:
    create(engine)
    for number in range(300):
        put(engine, number)
    then = clock.now
    clock.now += 1
    for number in range(5):
        put(engine, number, v={"N": "1"})
    past = engine.at(then)
    assert past.call("GetItem", {"TableName": "music", "Key": KEYS[0]})["Item"] == KEYS[0]
    known = engine._database.changes_by_key
    assert isinstance(known, changes_by_key.ChangesByKey)
    (covered,) = (covered for of in known._of.values() for covered in of.covered.values())
    # The five changes since, and not the 300 before.
    assert covered.last - covered.first + 1 == 5


@pytest.mark.requirement("ST7")
def test_what_is_known_of_trimmed_changes_is_forgotten(
    engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes_by_key, "_KEPT_TRIMMED", 10)
    create(engine)
    then = clock.now
    for step in range(60):
        clock.now += 1
        put(engine, step % 5, v={"N": str(step)})
    assert scan(engine.at(then)) == []
    # All but the last of these are older than the recovery period.
    clock.now = then + 35 * 24 * 3600 + 55.5
    engine.sweep()
    put(engine, 0, v={"N": "99"})
    before = scan(engine.at(clock.now - 0.25))
    assert len(before) == 5
    assert {"N": "99"} not in [item["v"] for item in before]
    known = engine._database.changes_by_key
    assert isinstance(known, changes_by_key.ChangesByKey)
    (covered,) = (covered for of in known._of.values() for covered in of.covered.values())
    assert covered.last - covered.first < 10


@pytest.mark.requirement("ST7")
def test_a_write_that_fails_makes_what_was_known_of_the_past_void(tmp_path: Path, clock: Clock) -> None:
    with Engine.open(tmp_path / "data", clock=clock) as engine:
        create(engine)
        put(engine, 0)
        then = clock.now
        clock.now += 1
        put(engine, 0, v={"N": "1"})
        assert scan(engine.at(then)) == [KEYS[0]]
        with engine._storage.turn():
            engine._database.after_rollback()
        put(engine, 0, v={"N": "2"})
        assert scan(engine.at(then)) == [KEYS[0]]
