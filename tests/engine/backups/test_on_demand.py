"""CreateBackup, DescribeBackup, ListBackups, DeleteBackup, and the backup that a deleted table leaves."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from tablewright.dynamo import AccessDeniedException, BackupNotFoundException, TableNotFoundException
from tablewright.engine import Engine
from tests.clocks import Clock
from tests.engine.table_requests import (
    NEW_IMAGE,
    attributes,
    capacity,
    create,
    describe,
    index,
    key,
    on_demand,
    provisioned,
    refusal,
)

NOW = 1_800_000_000.0
DAY = 24 * 3600.0
TABLE_ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/music"
NOWHERE = f"{TABLE_ARN}/backup/01800000000000-00000000"


def back_up(engine: Engine, name: str = "Monday", table: str = "music") -> dict[str, Any]:
    details: dict[str, Any] = engine.call("CreateBackup", {"TableName": table, "BackupName": name})["BackupDetails"]
    return details


def listed(engine: Engine, **request: Any) -> list[str]:
    return [backup["BackupName"] for backup in engine.call("ListBackups", request)["BackupSummaries"]]


def put(engine: Engine, name: str, **members: Any) -> None:
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": name}, **members}})


def recover(engine: Engine) -> None:
    specification = {"PointInTimeRecoveryEnabled": True}
    engine.call("UpdateContinuousBackups", {"TableName": "music", "PointInTimeRecoverySpecification": specification})


@pytest.mark.requirement("X7")
def test_a_backup_is_returned_as_creating_and_described_as_available(engine: Engine) -> None:
    create(engine, on_demand())
    put(engine, "one", text={"S": "12345"})
    details = back_up(engine)
    arn = details.pop("BackupArn")
    assert arn.startswith(f"{TABLE_ARN}/backup/01800000000000-")
    assert details == {
        "BackupName": "Monday",
        "BackupSizeBytes": 14,
        "BackupStatus": "CREATING",
        "BackupType": "USER",
        "BackupCreationDateTime": NOW,
    }
    described = engine.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
    assert described == {
        "BackupDetails": {**details, "BackupArn": arn, "BackupStatus": "AVAILABLE"},
        "SourceTableDetails": {
            "TableName": "music",
            "TableId": describe(engine)["TableId"],
            "TableArn": TABLE_ARN,
            "TableSizeBytes": 14,
            "KeySchema": key("pk"),
            "TableCreationDateTime": NOW,
            "ProvisionedThroughput": capacity(0, 0),
            "ItemCount": 1,
            "BillingMode": "PAY_PER_REQUEST",
        },
        "SourceTableFeatureDetails": {},
    }


def test_a_backup_tells_what_its_table_had(engine: Engine) -> None:
    projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a"]}
    create(
        engine,
        provisioned(
            3,
            4,
            AttributeDefinitions=attributes("pk", "sk", "g"),
            KeySchema=key("pk", "sk"),
            GlobalSecondaryIndexes=[index("gsi", "g", ProvisionedThroughput=capacity(1, 2))],
            LocalSecondaryIndexes=[index("lsi", "pk", "g", Projection=projection)],
            StreamSpecification=NEW_IMAGE,
            SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/mine"},
        ),
    )
    specification = {"AttributeName": "ends", "Enabled": True}
    engine.call("UpdateTimeToLive", {"TableName": "music", "TimeToLiveSpecification": specification})
    arn = back_up(engine)["BackupArn"]
    described = engine.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
    assert described["SourceTableDetails"]["BillingMode"] == "PROVISIONED"
    assert described["SourceTableDetails"]["ProvisionedThroughput"] == capacity(3, 4)
    assert described["SourceTableFeatureDetails"] == {
        "LocalSecondaryIndexes": [index("lsi", "pk", "g", Projection=projection)],
        "GlobalSecondaryIndexes": [index("gsi", "g", ProvisionedThroughput=capacity(1, 2))],
        "StreamDescription": NEW_IMAGE,
        "TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "ends"},
        "SSEDescription": {
            "Status": "ENABLED",
            "SSEType": "KMS",
            "KMSMasterKeyArn": "arn:aws:kms:us-east-1:123456789012:alias/mine",
        },
    }


@pytest.mark.requirement("X7")
def test_a_backup_outlives_changes_and_its_table(engine: Engine) -> None:
    create(engine, on_demand())
    put(engine, "one")
    arn = back_up(engine)["BackupArn"]
    put(engine, "two")
    engine.call("DeleteItem", {"TableName": "music", "Key": {"pk": {"S": "one"}}})
    engine.call("DeleteTable", {"TableName": "music"})
    assert listed(engine) == listed(engine, TableName="music") == ["Monday"]
    engine.call("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": "music"})
    assert engine.call("Scan", {"TableName": "music"})["Items"] == [{"pk": {"S": "one"}}]
    assert engine.verify().ok


def test_a_table_may_be_named_by_its_arn(engine: Engine) -> None:
    create(engine, on_demand())
    back_up(engine, table=TABLE_ARN)
    assert listed(engine, TableName=TABLE_ARN) == ["Monday"]


def test_deleting_a_backup_returns_its_last_description(engine: Engine) -> None:
    create(engine, on_demand())
    arn = back_up(engine)["BackupArn"]
    described = engine.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
    described["BackupDetails"]["BackupStatus"] = "DELETED"
    assert engine.call("DeleteBackup", {"BackupArn": arn}) == {"BackupDescription": described}
    assert listed(engine) == []
    for operation in ("DescribeBackup", "DeleteBackup"):
        message = refusal(lambda name=operation: engine.call(name, {"BackupArn": arn}), BackupNotFoundException)  # type: ignore[misc]
        assert message == f"Backup not found: {arn}"
    assert engine.verify().ok


# -- lists ---------------------------------------------------------------------------------------------------


@pytest.fixture
def backups(engine: Engine, clock: Clock) -> list[str]:
    """A backup each minute, of two tables by turns; their ARNs."""
    arns = []
    for name in ("music", "films"):
        create(engine, on_demand(TableName=name))
    for number in range(6):
        clock.now = NOW + 60 * number
        arns.append(back_up(engine, f"no-{number}", ("music", "films")[number % 2])["BackupArn"])
    return arns


def test_backups_are_listed_in_the_order_in_which_they_were_made(engine: Engine, backups: list[str]) -> None:
    assert listed(engine) == [f"no-{number}" for number in range(6)]
    assert listed(engine, TableName="films") == ["no-1", "no-3", "no-5"]
    assert listed(engine, TableName="nothing") == []
    summary = engine.call("ListBackups", {"Limit": 1})["BackupSummaries"][0]
    assert summary == {
        "TableName": "music",
        "TableId": describe(engine)["TableId"],
        "TableArn": TABLE_ARN,
        "BackupArn": backups[0],
        "BackupName": "no-0",
        "BackupCreationDateTime": NOW,
        "BackupStatus": "AVAILABLE",
        "BackupType": "USER",
        "BackupSizeBytes": 0,
    }


def test_the_lower_bound_of_a_time_range_is_in_it_and_the_upper_is_not(engine: Engine, backups: list[str]) -> None:
    bounds = {"TimeRangeLowerBound": NOW + 60, "TimeRangeUpperBound": NOW + 180}
    assert listed(engine, **bounds) == ["no-1", "no-2"]


def test_pages_follow_each_other_even_after_their_first_backup_is_gone(engine: Engine, backups: list[str]) -> None:
    page = engine.call("ListBackups", {"Limit": 2})
    assert page["LastEvaluatedBackupArn"] == backups[1]
    engine.call("DeleteBackup", {"BackupArn": backups[1]})
    page = engine.call("ListBackups", {"Limit": 4, "ExclusiveStartBackupArn": backups[1]})
    assert [backup["BackupArn"] for backup in page["BackupSummaries"]] == backups[2:]
    assert "LastEvaluatedBackupArn" not in page


def test_lists_have_on_demand_backups_unless_asked_for_others(engine: Engine, clock: Clock) -> None:
    create(engine, on_demand())
    back_up(engine)
    recover(engine)
    clock.now += 1
    engine.call("DeleteTable", {"TableName": "music"})
    assert listed(engine) == listed(engine, BackupType="USER") == ["Monday"]
    assert listed(engine, BackupType="SYSTEM") == ["music$DeletedTableBackup"]
    assert listed(engine, BackupType="ALL") == ["Monday", "music$DeletedTableBackup"]
    assert listed(engine, BackupType="AWS_BACKUP") == []


# -- deleted tables ------------------------------------------------------------------------------------------


@pytest.mark.requirement("X7")
def test_a_table_deleted_with_recovery_on_can_be_had_back_for_35_days(engine: Engine, clock: Clock) -> None:
    engine._background.stop()
    create(
        engine,
        on_demand(
            AttributeDefinitions=attributes("pk", "g"),
            GlobalSecondaryIndexes=[index("gsi", "g")],
            StreamSpecification=NEW_IMAGE,
        ),
    )
    recover(engine)
    for number in range(3):
        put(engine, str(number), g={"S": "x"})
    engine.call("DeleteTable", {"TableName": "music"})
    assert engine.verify().ok
    (left,) = engine.call("ListBackups", {"BackupType": "SYSTEM"})["BackupSummaries"]
    assert left["BackupExpiryDateTime"] == NOW + 35 * DAY
    arn = left["BackupArn"]
    clock.now = NOW + 35 * DAY - 1
    engine.sweep()
    engine.call("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": "music"})
    assert engine.call("Scan", {"TableName": "music", "IndexName": "gsi"})["Count"] == 3
    # Gone at its hour, whether or not anybody has cleaned up.
    clock.now += 1
    assert listed(engine, BackupType="ALL") == []
    assert refusal(lambda: engine.call("DescribeBackup", {"BackupArn": arn}), BackupNotFoundException)
    assert engine.verify().backups == 1
    engine.sweep()
    report = engine.verify()
    assert (report.ok, report.backups) == (True, 0)


def test_the_items_of_a_deleted_table_are_counted_in_the_background(engine: Engine) -> None:
    """A deletion does not wait for as long as counting takes; once they are counted, none can be missed."""
    engine._background.stop()
    create(engine, on_demand())
    recover(engine)
    for number in range(30):
        put(engine, str(number))
    engine.call("DeleteTable", {"TableName": "music"})
    (left,) = engine.call("ListBackups", {"BackupType": "SYSTEM"})["BackupSummaries"]

    def items() -> int:
        described = engine.call("DescribeBackup", {"BackupArn": left["BackupArn"]})["BackupDescription"]
        count: int = described["SourceTableDetails"]["ItemCount"]
        return count

    assert items() == 30
    assert engine.verify().ok
    engine._background.run_due()
    assert items() == 30
    assert engine.verify().ok
    with engine._storage.turn():
        engine._storage.write()("DELETE FROM backup_1 WHERE id = (SELECT max(id) FROM backup_1)")
    assert [problem for problem in engine.verify().problems if "has 29 items, but the recorded number is 30" in problem]


def test_the_35_days_begin_when_the_backup_was_made() -> None:
    """Time passes while a table is being deleted."""
    seconds = count(NOW, 0.7)
    with Engine.open(clock=lambda: next(seconds)) as engine:
        create(engine, on_demand())
        recover(engine)
        engine.call("DeleteTable", {"TableName": "music"})
        (left,) = engine.call("ListBackups", {"BackupType": "SYSTEM"})["BackupSummaries"]
    assert left["BackupExpiryDateTime"] == left["BackupCreationDateTime"] + 35 * DAY


def test_a_table_deleted_without_recovery_leaves_nothing(engine: Engine) -> None:
    create(engine, on_demand())
    engine.call("DeleteTable", {"TableName": "music"})
    assert listed(engine, BackupType="ALL") == []
    assert engine.verify().ok


# -- refusals ------------------------------------------------------------------------------------------------


def test_a_table_that_is_not_there_cannot_be_backed_up(engine: Engine) -> None:
    assert refusal(lambda: back_up(engine), TableNotFoundException) == "Table not found: music"


@pytest.mark.parametrize("operation", ["DescribeBackup", "DeleteBackup"])
def test_a_backup_that_is_not_there(engine: Engine, operation: str) -> None:
    def message(arn: str, kind: Any) -> str | None:
        return refusal(lambda: engine.call(operation, {"BackupArn": arn}), kind)

    assert message(NOWHERE, BackupNotFoundException) == f"Backup not found: {NOWHERE}"
    assert message(NOWHERE.replace("123456789012", "999999999999"), AccessDeniedException) == "Access is denied"


def test_what_is_no_arn_of_a_backup_is_refused(engine: Engine) -> None:
    def message(arn: str) -> str | None:
        return refusal(lambda: engine.call("DescribeBackup", {"BackupArn": arn}))

    short = "Value 'x' at 'backupArn' failed to satisfy constraint: Member must have length greater than or equal to 37"
    assert message("x") == f"1 validation error detected: {short}"
    assert message(TABLE_ARN) == f"1 validation error detected: Invalid backup ARN: '{TABLE_ARN}'"
    elsewhere = NOWHERE.replace("us-east-1", "eu-west-1")
    assert message(elsewhere) == f"1 validation error detected: Invalid AWS region in '{elsewhere}'"


def test_a_backup_needs_a_name_that_can_be_one(engine: Engine) -> None:
    def message(**members: Any) -> str | None:
        return refusal(lambda: engine.call("CreateBackup", members))

    missing = "The parameter 'TableName' is required but was not present in the request"
    assert message(BackupName="Monday") == missing
    prefix = "1 validation error detected: Value "
    assert message(TableName="music") == (
        f"{prefix}null at 'backupName' failed to satisfy constraint: Member must not be null"
    )
    assert message(TableName="music", BackupName="a b") == (
        f"{prefix}'a b' at 'backupName' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    )
    listing = refusal(lambda: engine.call("ListBackups", {"Limit": 101}))
    assert listing == (
        f"{prefix}'101' at 'limit' failed to satisfy constraint: Member must have value less than or equal to 100"
    )
