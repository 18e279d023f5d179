"""Backups and restores of tables that others change meanwhile, or delete, or that a crash leaves unfinished."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tablewright.dynamo import DynamoError, InternalServerError
from tablewright.engine import Engine, Outcome, Unfinished, slices
from tests.clocks import Clock

ITEMS = 1200
SCAN = {"TableName": "rows", "ConsistentRead": True}


@pytest.fixture(autouse=True)
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)


@pytest.fixture(params=["plain", "with an index"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    clock = Clock()
    with Engine.open(tmp_path / "data", clock=clock) as engine:
        create(engine, indexed=request.param == "with an index")
        yield engine


def create(engine: Engine, *, indexed: bool) -> None:
    table: dict[str, Any] = {
        "TableName": "rows",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    if indexed:
        table["AttributeDefinitions"].append({"AttributeName": "g", "AttributeType": "S"})
        table["GlobalSecondaryIndexes"] = [
            {
                "IndexName": "by-g",
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ]
    engine.call("CreateTable", table)
    for first in range(0, ITEMS, 25):
        puts = [{"PutRequest": {"Item": item(number)}} for number in range(first, first + 25)]
        engine.call("BatchWriteItem", {"RequestItems": {"rows": puts}})


def item(number: int, version: int = 0) -> dict[str, Any]:
    return {"pk": {"S": f"{number}"}, "g": {"S": f"{number % 7}"}, "v": {"N": str(version)}}


def change_something(engine: Engine, entropy: random.Random) -> None:
    """Puts, updates and deletes, of items that were there and of others."""
    for _ in range(10):
        number = entropy.randrange(2 * ITEMS)
        match entropy.randrange(3):
            case 0:
                engine.call("PutItem", {"TableName": "rows", "Item": item(number, entropy.randrange(1000))})
            case 1:
                engine.call("DeleteItem", {"TableName": "rows", "Key": {"pk": {"S": f"{number}"}}})
            case 2:
                update = {"UpdateExpression": "SET v = :v", "ExpressionAttributeValues": {":v": {"N": "5"}}}
                engine.call("UpdateItem", {"TableName": "rows", "Key": {"pk": {"S": f"{number}"}}, **update})


def items_of(engine: Engine, table: str) -> dict[str, Any]:
    found = engine.call("Scan", {"TableName": table})
    assert "LastEvaluatedKey" not in found
    return {each["pk"]["S"]: each for each in found["Items"]}


def finished(outcome: Outcome | Unfinished) -> dict[str, Any]:
    while isinstance(outcome, Unfinished):
        outcome = outcome.resume()
    response: dict[str, Any] = orjson.loads(outcome[0])
    return response


def run_with_changes(engine: Engine, operation: str, request: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """The response of an operation that is done in slices, with changes between them, and how many slices it had."""
    entropy = random.Random(7)
    outcome = engine.begin(operation, request)
    count = 0
    while isinstance(outcome, Unfinished):
        count += 1
        change_something(engine, entropy)
        outcome = outcome.resume()
    return orjson.loads(outcome[0]), count


def restored(engine: Engine, operation: str, request: dict[str, Any]) -> dict[str, Any]:
    finished(engine.begin(operation, {"TargetTableName": "restored", **request}))
    engine.sweep()
    return items_of(engine, "restored")


def test_a_backup_has_the_table_as_it_was_when_the_last_row_was_copied(engine: Engine) -> None:
    response, count = run_with_changes(engine, "CreateBackup", {"TableName": "rows", "BackupName": "b"})
    assert count > 3
    expected = items_of(engine, "rows")
    change_something(engine, random.Random(8))
    assert items_of(engine, "rows") != expected
    arn = response["BackupDetails"]["BackupArn"]
    described = engine.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
    assert described["SourceTableDetails"]["ItemCount"] == len(expected)
    assert restored(engine, "RestoreTableFromBackup", {"BackupArn": arn}) == expected
    assert engine.verify().problems == []


def test_a_backup_has_the_right_number_of_items_after_a_rollback(engine: Engine) -> None:
    """What was counted of changes is not known any more when they are rolled back."""
    engine._background.stop()
    outcome = engine.begin("CreateBackup", {"TableName": "rows", "BackupName": "b"})
    entropy = random.Random(7)
    while isinstance(outcome, Unfinished):
        engine.flush()
        change_something(engine, entropy)
        for number in range(ITEMS // 2):
            engine.begin("DeleteItem", {"TableName": "rows", "Key": {"pk": {"S": f"{number}"}}})
        with pytest.raises(InternalServerError), engine._storage.turn():
            engine._storage.write()("INSERT INTO nowhere VALUES (1)")
        outcome = outcome.resume()
    arn = orjson.loads(outcome[0])["BackupDetails"]["BackupArn"]
    engine._background.run_due()
    assert engine.verify().problems == []
    described = engine.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
    assert described["SourceTableDetails"]["ItemCount"] == len(items_of(engine, "rows"))


def test_a_restore_to_the_latest_time_has_what_was_changed_meanwhile(engine: Engine) -> None:
    recovery = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
    engine.call("UpdateContinuousBackups", {"TableName": "rows", **recovery})
    request = {"SourceTableName": "rows", "TargetTableName": "restored", "UseLatestRestorableTime": True}
    _, count = run_with_changes(engine, "RestoreTableToPointInTime", request)
    assert count > 3
    expected = items_of(engine, "rows")
    engine.sweep()
    assert items_of(engine, "restored") == expected
    assert engine.verify().problems == []


def test_a_restore_to_a_time_has_nothing_of_what_was_changed_since(tmp_path: Path) -> None:
    clock = Clock()
    with Engine.open(tmp_path / "data", clock=clock) as engine:
        create(engine, indexed=True)
        recovery = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
        engine.call("UpdateContinuousBackups", {"TableName": "rows", **recovery})
        entropy = random.Random(3)
        for _ in range(30):
            clock.now += 1
            change_something(engine, entropy)
        expected, then = items_of(engine, "rows"), clock()
        for _ in range(30):
            clock.now += 1
            change_something(engine, entropy)
        request = {"SourceTableName": "rows", "TargetTableName": "restored", "RestoreDateTime": then}
        _, count = run_with_changes(engine, "RestoreTableToPointInTime", request)
        assert count > 3
        engine.sweep()
        assert items_of(engine, "restored") == expected
        assert engine.verify().problems == []


def test_a_table_that_is_deleted_meanwhile_leaves_no_backup(engine: Engine) -> None:
    outcome = engine.begin("CreateBackup", {"TableName": "rows", "BackupName": "b"})
    assert isinstance(outcome, Unfinished)
    engine.call("DeleteTable", {"TableName": "rows"})
    with pytest.raises(DynamoError, match="Table not found: rows"):
        finished(outcome)
    assert engine.call("ListBackups", {})["BackupSummaries"] == []
    del outcome
    engine.sweep()
    assert engine.verify().problems == []


def test_a_backup_that_is_deleted_meanwhile_leaves_no_restored_table(engine: Engine) -> None:
    made = finished(engine.begin("CreateBackup", {"TableName": "rows", "BackupName": "b"}))
    arn = made["BackupDetails"]["BackupArn"]
    outcome = engine.begin("RestoreTableFromBackup", {"TargetTableName": "restored", "BackupArn": arn})
    assert isinstance(outcome, Unfinished)
    engine.call("DeleteBackup", {"BackupArn": arn})
    with pytest.raises(DynamoError, match="Backup not found"):
        finished(outcome)
    assert engine.call("ListTables", {})["TableNames"] == ["rows"]


def test_a_name_that_is_taken_meanwhile_is_not_restored_to(engine: Engine) -> None:
    made = finished(engine.begin("CreateBackup", {"TableName": "rows", "BackupName": "b"}))
    arn = made["BackupDetails"]["BackupArn"]
    outcome = engine.begin("RestoreTableFromBackup", {"TargetTableName": "restored", "BackupArn": arn})
    assert isinstance(outcome, Unfinished)
    other = {
        "TableName": "restored",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    engine.call("CreateTable", other)
    with pytest.raises(DynamoError, match="Table already exists: restored"):
        finished(outcome)


def test_what_a_crash_left_unfinished_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Engine.open(folder) as engine:
        create(engine, indexed=False)
        outcome = engine.begin("CreateBackup", {"TableName": "rows", "BackupName": "b"})
        assert isinstance(outcome, Unfinished)
        outcome = outcome.resume()
        assert isinstance(outcome, Unfinished)
    with Engine.open(folder) as engine:
        assert engine.verify().problems == []
        engine.sweep()
        left = engine._storage.execute("SELECT name FROM sqlite_schema WHERE name GLOB 'discarded_*'").fetchall()
        assert left == []
        assert engine.call("ListBackups", {})["BackupSummaries"] == []


def test_a_large_table_is_removed_in_the_background(engine: Engine) -> None:
    engine.call("DeleteTable", {"TableName": "rows"})
    assert engine.verify().problems == []
    with pytest.raises(DynamoError):
        engine.call("DescribeTable", {"TableName": "rows"})
    create(engine, indexed=True)
    engine.sweep()
    left = engine._storage.execute("SELECT name FROM sqlite_schema WHERE name GLOB 'discarded_*'").fetchall()
    assert left == []
    assert len(items_of(engine, "rows")) == ITEMS
    assert engine.verify().problems == []


@pytest.mark.parametrize("operation", ["backup", "restore"])
def test_nobody_waits_for_a_copy_that_cannot_be_seen_yet(tmp_path: Path, operation: str) -> None:
    get = {"TableName": "rows", "Key": {"pk": {"S": "7"}}}
    with Engine.open(tmp_path / "data") as engine:
        create(engine, indexed=False)
        request: dict[str, Any] = {"TableName": "rows", "BackupName": "copy"}
        name = "CreateBackup"
        if operation == "restore":
            arn = engine.call("CreateBackup", request)["BackupDetails"]["BackupArn"]
            request, name = {"BackupArn": arn, "TargetTableName": "again"}, "RestoreTableFromBackup"
        outcome = engine.begin(name, engine.check(name, request))
        # The table that the rows go to is created first.
        assert isinstance(outcome, Unfinished)
        engine.flush()
        while engine._storage.open_commit is None:
            outcome = outcome.resume()
            assert isinstance(outcome, Unfinished)
        _, commit = engine.execute("GetItem", get)
        assert commit is None
        # Nor if the disk was found to be slow after the commit was begun, without noting rows.
        engine._storage.syncs.are_slow = True
        _, commit = engine.execute("GetItem", get)
        assert commit is None
        engine._storage.syncs.are_slow = False
        # What somebody writes can be seen, and is in the same commit.
        _, commit = engine.execute("PutItem", {"TableName": "rows", "Item": item(7, 1)})
        assert commit is engine._storage.open_commit
        assert engine.execute("GetItem", get)[1] is commit
        engine.flush()
        while isinstance(outcome, Unfinished):
            outcome = outcome.resume()
        _, commit = outcome
        assert commit is engine._storage.open_commit
        engine.flush()
        assert commit is not None
        assert commit.done


@pytest.mark.parametrize("operation", ["CreateBackup", "latest", "past"])
def test_a_copy_whose_rows_are_rolled_back_is_refused(tmp_path: Path, operation: str) -> None:
    """Nobody waits for their commit, but the copy would lack them."""
    clock = Clock()
    with Engine.open(tmp_path / "data", clock=clock) as engine:
        engine._background.stop()
        create(engine, indexed=False)
        recovery = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
        engine.call("UpdateContinuousBackups", {"TableName": "rows", **recovery})
        clock.now += 1
        request: dict[str, Any] = {"TableName": "rows", "BackupName": "copy"}
        if operation != "CreateBackup":
            when = {"UseLatestRestorableTime": True} if operation == "latest" else {"RestoreDateTime": clock()}
            operation = "RestoreTableToPointInTime"
            request = {"SourceTableName": "rows", "TargetTableName": "restored", **when}
        outcome = engine.begin(operation, engine.check(operation, request))
        assert isinstance(outcome, Unfinished)
        # The SQL table that the rows go to stays.
        engine.flush()
        while engine._storage.open_commit is None:
            outcome = outcome.resume()
            assert isinstance(outcome, Unfinished)
        assert engine._storage.newest_commit() is None
        with pytest.raises(InternalServerError), engine._storage.turn():
            engine._storage.write()("INSERT INTO nowhere VALUES (1)")
        with pytest.raises(InternalServerError, match="rolled back"):
            finished(outcome)
        assert engine.call("ListBackups", {})["BackupSummaries"] == []
        assert engine.call("ListTables", {})["TableNames"] == ["rows"]
        engine.sweep()
        assert engine.verify().problems == []
