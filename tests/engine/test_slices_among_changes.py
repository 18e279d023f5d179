"""Operations in slices, while others delete and change the tables that they are about: nobody else is harmed by it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from tablewright.dynamo import (
    DynamoError,
    InternalServerError,
    ResourceNotFoundException,
    TableNotFoundException,
    ValidationException,
)
from tablewright.engine import Engine, Outcome, Unfinished, slices
from tablewright.engine.tables import table_description
from tests.clocks import Clock
from tests.engine.table_requests import NEW_AND_OLD_IMAGES, attributes, index, key, on_demand

ITEMS = 450
# Two of them are more than a slice.
LARGE = {"S": "y" * 40_000}
ALL_OF_P = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "p"}}}
ALL_OF_G = {
    "IndexName": "by-g",
    "KeyConditionExpression": "g = :g",
    "ExpressionAttributeValues": {":g": {"S": "g"}},
}
BATCH = {"RequestItems": {"rows": {"Keys": [{"pk": {"S": "large"}, "sk": {"N": str(n)}} for n in range(10)]}}}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine where every slice is as short as it can be."""
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    monkeypatch.setattr(table_description, "_COUNTED_AT_ONCE", 50)
    with Engine.open(clock=clock) as engine:
        engine.call("CreateTable", on_demand(TableName="innocent"))
        create(engine)
        yield engine
        engine.sweep()
        report = engine.verify()
        assert report.problems == []
        assert discarded(engine) == []


def create(engine: Engine) -> None:
    engine.call(
        "CreateTable",
        on_demand(
            TableName="rows",
            AttributeDefinitions=attributes("pk", "sk:N", "g"),
            KeySchema=key("pk", "sk"),
            GlobalSecondaryIndexes=[index("by-g", "g")],
        ),
    )
    large = [put(number, pk="large", text=LARGE) for number in range(10)]
    for first in range(0, ITEMS, 25):
        engine.call("BatchWriteItem", {"RequestItems": {"rows": [put(first + number) for number in range(25)]}})
    engine.call("BatchWriteItem", {"RequestItems": {"rows": large}})


def put(number: int, *, pk: str = "p", **more: Any) -> dict[str, Any]:
    item = {"pk": {"S": pk}, "sk": {"N": str(number)}, "g": {"S": "g"}, **more}
    return {"PutRequest": {"Item": item}}


def started(engine: Engine, operation: str, request: dict[str, Any], steps: int = 0) -> Unfinished:
    outcome = engine.begin(operation, request)
    for _ in range(steps):
        assert isinstance(outcome, Unfinished)
        outcome = outcome.resume()
    assert isinstance(outcome, Unfinished)
    return outcome


def finished(outcome: Outcome | Unfinished, at_most: int = 2000) -> dict[str, Any]:
    for _ in range(at_most):
        if not isinstance(outcome, Unfinished):
            break
        outcome = outcome.resume()
    assert not isinstance(outcome, Unfinished), "it does not come to an end"
    response: dict[str, Any] = orjson.loads(outcome[0])
    return response


def discarded(engine: Engine) -> list[str]:
    with engine._storage.turn():
        found = engine._storage.execute("SELECT name FROM sqlite_schema WHERE name GLOB 'discarded_*'").fetchall()
    return [name for (name,) in found]


def roll_back(engine: Engine) -> None:
    """What is open fails, as on a full disk."""
    with pytest.raises(InternalServerError), engine._storage.turn():
        engine._storage.write()("INSERT INTO not_there VALUES (1)")


READS: list[tuple[str, dict[str, Any]]] = [
    ("Scan", {"TableName": "rows"}),
    ("Scan", {"TableName": "rows", "FilterExpression": "attribute_exists(g)"}),
    ("Query", {"TableName": "rows", **ALL_OF_P}),
    ("Query", {"TableName": "rows", **ALL_OF_G}),
    ("ExecuteStatement", {"Statement": "SELECT * FROM \"rows\" WHERE pk IN ['p', 'q']"}),
    ("ExecuteStatement", {"Statement": 'SELECT * FROM "rows"."by-g" WHERE g = \'g\''}),
    ("BatchGetItem", BATCH),
    ("DescribeTable", {"TableName": "rows"}),
    ("CreateBackup", {"TableName": "rows", "BackupName": "backup"}),
    ("BatchWriteItem", {"RequestItems": {"rows": [put(n, pk="new", text=LARGE) for n in range(8)]}}),
]


@pytest.mark.parametrize(("again", "recovery"), [(False, False), (True, True)])
@pytest.mark.parametrize(("operation", "request_"), READS)
def test_a_table_deleted_meanwhile_is_not_found_and_other_requests_succeed(
    engine: Engine, operation: str, request_: dict[str, Any], again: bool, recovery: bool
) -> None:
    if recovery:
        enable_recovery(engine)
    outcome = started(engine, operation, request_, 5 if operation == "BatchWriteItem" else 0)
    engine.call("DeleteTable", {"TableName": "rows"})
    if again and operation != "DescribeTable":
        create(engine)
    _, commit = engine.execute("PutItem", {"TableName": "innocent", "Item": {"pk": {"S": "1"}}})
    with pytest.raises((ResourceNotFoundException, TableNotFoundException)):
        finished(outcome)
    engine.flush()
    assert commit is not None
    assert (commit.done, commit.error) == (True, None)
    if again and operation == "BatchWriteItem":
        new = {**ALL_OF_P, "ExpressionAttributeValues": {":p": {"S": "new"}}}
        assert engine.call("Query", {"TableName": "rows", **new})["Count"] == 0


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("Query", {"TableName": "rows", **ALL_OF_G}),
        ("Scan", {"TableName": "rows", "IndexName": "by-g"}),
        ("ExecuteStatement", {"Statement": 'SELECT * FROM "rows"."by-g" WHERE g = \'g\''}),
    ],
)
@pytest.mark.parametrize("again", [False, True])
def test_an_index_deleted_meanwhile_is_not_found_and_other_requests_succeed(
    engine: Engine, operation: str, request_: dict[str, Any], again: bool
) -> None:
    outcome = started(engine, operation, request_)
    engine.call(
        "UpdateTable", {"TableName": "rows", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-g"}}]}
    )
    if again:
        add_index(engine, "by-g", "g")
    _, commit = engine.execute("PutItem", {"TableName": "innocent", "Item": {"pk": {"S": "1"}}})
    with pytest.raises(ValidationException, match="does not have the specified index"):
        finished(outcome)
    engine.flush()
    assert commit is not None
    assert commit.error is None


@pytest.mark.parametrize("steps", range(0, 10, 2))
def test_a_table_is_described_while_its_index_is_deleted(engine: Engine, steps: int) -> None:
    outcome = started(engine, "DescribeTable", {"TableName": "rows"}, steps)
    engine.call(
        "UpdateTable", {"TableName": "rows", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-g"}}]}
    )
    table = finished(outcome)["Table"]
    assert table["ItemCount"] == ITEMS + 10
    assert "GlobalSecondaryIndexes" not in table


def add_index(engine: Engine, name: str, attribute: str) -> None:
    definition = {**index(name, attribute)}
    engine.call(
        "UpdateTable",
        {
            "TableName": "rows",
            "AttributeDefinitions": attributes(attribute),
            "GlobalSecondaryIndexUpdates": [{"Create": definition}],
        },
    )
    engine.sweep()


def enable_recovery(engine: Engine, enabled: bool = True) -> None:
    recovery = {"PointInTimeRecoveryEnabled": enabled}
    engine.call("UpdateContinuousBackups", {"TableName": "rows", "PointInTimeRecoverySpecification": recovery})


def test_what_a_batch_writes_after_its_table_has_changed_is_in_indexes_stream_history_and_expiries(
    engine: Engine, clock: Clock
) -> None:
    expires = {"N": str(int(clock()) + 60)}
    writes = [put(n, pk="new", text=LARGE, h={"S": "h"}, expires=expires) for n in range(8)]
    outcome = started(engine, "BatchWriteItem", {"RequestItems": {"rows": writes}}, 5)
    add_index(engine, "by-h", "h")
    engine.call("UpdateTable", {"TableName": "rows", "StreamSpecification": NEW_AND_OLD_IMAGES})
    specification = {"Enabled": True, "AttributeName": "expires"}
    engine.call("UpdateTimeToLive", {"TableName": "rows", "TimeToLiveSpecification": specification})
    enable_recovery(engine)
    finished(outcome)
    assert engine.verify().problems == []
    by_h = {
        "IndexName": "by-h",
        "KeyConditionExpression": "h = :h",
        "ExpressionAttributeValues": {":h": {"S": "h"}},
    }
    assert engine.call("Query", {"TableName": "rows", **by_h})["Count"] == 8
    clock.now += 120
    engine.sweep()
    assert engine.call("Query", {"TableName": "rows", **by_h})["Count"] == 0


def test_what_a_batch_writes_must_fit_an_index_that_was_added_meanwhile(engine: Engine) -> None:
    writes = [put(n, pk="new", text=LARGE, h={"N": "1"}) for n in range(8)]
    outcome = started(engine, "BatchWriteItem", {"RequestItems": {"rows": writes}}, 5)
    add_index(engine, "by-h", "h")
    with pytest.raises(ValidationException, match="Type mismatch for Index Key h"):
        finished(outcome)


@pytest.mark.parametrize("steps", [0, 1])
def test_writers_are_not_refused_because_a_copy_was_rolled_back(engine: Engine, steps: int) -> None:
    outcome = started(engine, "CreateBackup", {"TableName": "rows", "BackupName": "backup"}, steps)
    roll_back(engine)
    for number in range(ITEMS):
        item = put(number, changed={"S": "yes"})["PutRequest"]["Item"]
        engine.call("PutItem", {"TableName": "rows", "Item": item})
    with pytest.raises(InternalServerError):
        finished(outcome)


def test_a_copy_that_was_rolled_back_does_not_take_the_next_one_along(engine: Engine) -> None:
    first = started(engine, "CreateBackup", {"TableName": "rows", "BackupName": "first"})
    roll_back(engine)
    second = started(engine, "CreateBackup", {"TableName": "rows", "BackupName": "second"})
    with pytest.raises(InternalServerError):
        finished(first)
    del first
    engine.sweep()
    engine.call("DeleteItem", {"TableName": "rows", "Key": {"pk": {"S": "p"}, "sk": {"N": "0"}}})
    arn = finished(second)["BackupDetails"]["BackupArn"]
    described = engine.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
    assert described["SourceTableDetails"]["ItemCount"] == ITEMS + 10 - 1


def test_what_a_cancelled_backup_has_copied_is_removed_in_the_background(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduled: list[float] = []
    wake = engine._database.on_schedule

    def noted(seconds: float = 0.0) -> None:
        scheduled.append(seconds)
        wake(seconds)

    monkeypatch.setattr(engine._database, "on_schedule", noted)

    async def scenario() -> None:
        task = asyncio.create_task(engine.call_async("CreateBackup", {"TableName": "rows", "BackupName": "backup"}))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert engine._database.unfinished_copies == {}
    assert scheduled


def test_a_restore_ends_when_the_history_that_it_reads_is_replaced_by_another(engine: Engine, clock: Clock) -> None:
    enable_recovery(engine)
    for number in range(ITEMS):
        item = put(number, changed={"S": "yes"})["PutRequest"]["Item"]
        engine.call("PutItem", {"TableName": "rows", "Item": item})
    restore = {"SourceTableName": "rows", "TargetTableName": "restored", "RestoreDateTime": clock()}
    outcome = started(engine, "RestoreTableToPointInTime", restore)
    enable_recovery(engine, False)
    enable_recovery(engine)
    with pytest.raises(DynamoError, match="Point in time recovery"):
        finished(outcome)


def test_a_restore_ends_when_all_of_the_history_was_trimmed(engine: Engine, clock: Clock) -> None:
    enable_recovery(engine)
    for number in range(ITEMS):
        item = put(number, changed={"S": "yes"})["PutRequest"]["Item"]
        engine.call("PutItem", {"TableName": "rows", "Item": item})
    clock.now += 35 * 24 * 3600 - 1
    restore = {"SourceTableName": "rows", "TargetTableName": "restored", "RestoreDateTime": clock()}
    outcome = started(engine, "RestoreTableToPointInTime", restore)
    clock.now += 10
    engine.sweep()
    # As many as it has read: their numbers are the same.
    for number in range(ITEMS):
        item = put(number, changed={"S": "again"})["PutRequest"]["Item"]
        engine.call("PutItem", {"TableName": "rows", "Item": item})
    with pytest.raises(DynamoError, match="Point in time recovery"):
        finished(outcome)
    finished(engine.begin("RestoreTableToPointInTime", {**restore}))
    engine.sweep()
    got = engine.call("GetItem", {"TableName": "restored", "Key": {"pk": {"S": "p"}, "sk": {"N": "0"}}})
    assert got["Item"]["changed"] == {"S": "yes"}


@pytest.mark.parametrize("seed", range(3))
def test_operations_in_slices_go_on_while_others_change_everything(engine: Engine, clock: Clock, seed: int) -> None:
    """None of them meets an error of SQLite, and what is acknowledged is there."""
    entropy = random.Random(seed)
    running: list[Unfinished] = []
    for _ in range(250):
        try:
            if running and entropy.random() < 0.6:
                chosen = running.pop(entropy.randrange(len(running)))
                outcome: Outcome | Unfinished = chosen.resume()
            else:
                operation, request = entropy.choice([*READS, *changes(entropy, clock)])
                outcome = engine.begin(operation, engine.check(operation, request))
        except InternalServerError:
            raise
        except DynamoError:
            continue
        if isinstance(outcome, Unfinished):
            running.append(outcome)
            if entropy.random() < 0.05:
                running.pop(entropy.randrange(len(running))).close()
    for unfinished in running:
        unfinished.close()
    engine.flush()


def changes(entropy: random.Random, clock: Clock) -> list[tuple[str, dict[str, Any]]]:
    clock.now += entropy.choice([0, 0, 1, 30])
    rows = {"TableName": "rows"}
    stream = entropy.choice([NEW_AND_OLD_IMAGES, {"StreamEnabled": False}])
    recovery = {"PointInTimeRecoveryEnabled": entropy.random() < 0.6}
    expiry = {"Enabled": entropy.random() < 0.6, "AttributeName": "expires"}
    added = {"AttributeDefinitions": attributes("h"), "GlobalSecondaryIndexUpdates": [{"Create": index("by-h", "h")}]}
    actions = [{"Put": {**rows, **put(n, pk="t", text=LARGE)["PutRequest"]}} for n in range(5)]
    return [
        ("DeleteTable", rows),
        (
            "CreateTable",
            on_demand(
                TableName="rows",
                AttributeDefinitions=attributes("pk", "sk:N", "g"),
                KeySchema=key("pk", "sk"),
                GlobalSecondaryIndexes=[index("by-g", "g")],
            ),
        ),
        ("UpdateTable", {**rows, **added}),
        ("UpdateTable", {**rows, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-h"}}]}),
        ("UpdateTable", {**rows, "StreamSpecification": stream}),
        ("UpdateContinuousBackups", {**rows, "PointInTimeRecoverySpecification": recovery}),
        ("UpdateTimeToLive", {**rows, "TimeToLiveSpecification": expiry}),
        ("TransactWriteItems", {"TransactItems": actions}),
        ("BatchWriteItem", {"RequestItems": {"rows": [put(n, pk="q", h={"S": "h"}) for n in range(25)]}}),
        (
            "RestoreTableToPointInTime",
            {
                "SourceTableName": "rows",
                "TargetTableName": f"restored-{entropy.randrange(20)}",
                "RestoreDateTime": clock() - entropy.choice([0, 0, 10]),
            },
        ),
    ]
