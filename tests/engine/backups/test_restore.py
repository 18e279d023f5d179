"""RestoreTableFromBackup and RestoreTableToPointInTime: what the new table is, and what may be overridden."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tablewright.dynamo import (
    BackupNotFoundException,
    ContinuousBackupsUnavailableException,
    DynamoError,
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    TableAlreadyExistsException,
    TableInUseException,
)
from tablewright.engine import Engine
from tablewright.engine.tables import index_backfill
from tests.clocks import Clock
from tests.engine.table_requests import (
    INVALID,
    NEW_AND_OLD_IMAGES,
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
ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/music"
RECOVERY = {"PointInTimeRecoveryEnabled": True}
GLOBAL = index("gsi", "g", Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b"]})
LOCAL = index("lsi", "pk", "l")
KEYS: dict[str, Any] = {
    "AttributeDefinitions": attributes("pk", "sk", "g", "l"),
    "KeySchema": key("pk", "sk"),
    "GlobalSecondaryIndexes": [GLOBAL],
    "LocalSecondaryIndexes": [LOCAL],
}

Restore = Callable[..., dict[str, Any]]


@pytest.fixture(params=["RestoreTableFromBackup", "RestoreTableToPointInTime"])
def restore(request: pytest.FixtureRequest, engine: Engine) -> Restore:
    """Restores ``music`` as ``copy``, in either way."""

    def restored(**members: Any) -> dict[str, Any]:
        if request.param == "RestoreTableFromBackup":
            backup = engine.call("CreateBackup", {"TableName": "music", "BackupName": "all"})
            source = {"BackupArn": backup["BackupDetails"]["BackupArn"]}
        else:
            engine.call("UpdateContinuousBackups", {"TableName": "music", "PointInTimeRecoverySpecification": RECOVERY})
            source = {"SourceTableName": "music", "UseLatestRestorableTime": True}
        told: dict[str, Any] = engine.call(request.param, {"TargetTableName": "copy", **source, **members})
        return told["TableDescription"]  # type: ignore[no-any-return]

    return restored


def put(engine: Engine, number: int) -> None:
    item = {"pk": {"S": str(number)}, "sk": {"S": "s"}, "g": {"S": "x"}, "l": {"S": "y"}}
    engine.call("PutItem", {"TableName": "music", "Item": item})


def count(engine: Engine, **members: Any) -> int:
    found: int = engine.call("Scan", {"TableName": "copy", "Select": "COUNT", **members})["Count"]
    return found


# -- what is restored ----------------------------------------------------------------------------------------


@pytest.mark.requirement("X7")
def test_keys_indexes_and_items_are_restored(engine: Engine, restore: Restore) -> None:
    create(engine, on_demand(**KEYS))
    for number in range(20):
        put(engine, number)
    told = restore()
    assert (told["TableStatus"], told["ItemCount"], told["TableSizeBytes"]) == ("CREATING", 0, 0)
    assert told["RestoreSummary"]["RestoreInProgress"] is True
    assert told["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    music, copy = describe(engine), describe(engine, "copy")
    assert copy["TableStatus"] == copy["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
    summary = copy.pop("RestoreSummary")
    assert summary["SourceTableArn"] == ARN
    assert summary["RestoreDateTime"] == NOW
    assert summary["RestoreInProgress"] is False
    for each in (music, copy):
        for member in ("TableName", "TableArn", "TableId"):
            del each[member]
        for one in (*each["GlobalSecondaryIndexes"], *each["LocalSecondaryIndexes"]):
            del one["IndexArn"]
    assert copy == music
    assert count(engine) == count(engine, IndexName="gsi") == count(engine, IndexName="lsi") == 20
    assert engine.verify().ok


def test_the_summary_names_the_backup(engine: Engine) -> None:
    create(engine, on_demand())
    backup = engine.call("CreateBackup", {"TableName": "music", "BackupName": "all"})["BackupDetails"]["BackupArn"]
    told = engine.call("RestoreTableFromBackup", {"BackupArn": backup, "TargetTableName": "copy"})
    assert told["TableDescription"]["RestoreSummary"] == {
        "SourceBackupArn": backup,
        "SourceTableArn": ARN,
        "RestoreDateTime": NOW,
        "RestoreInProgress": True,
    }


def test_tags_expiry_stream_recovery_protection_and_class_are_not_restored(engine: Engine, restore: Restore) -> None:
    create(
        engine,
        on_demand(
            Tags=[{"Key": "a", "Value": "b"}],
            StreamSpecification=NEW_AND_OLD_IMAGES,
            DeletionProtectionEnabled=True,
            TableClass="STANDARD_INFREQUENT_ACCESS",
        ),
    )
    specification = {"AttributeName": "ends", "Enabled": True}
    engine.call("UpdateTimeToLive", {"TableName": "music", "TimeToLiveSpecification": specification})
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}, "ends": {"N": str(int(NOW) + 1000)}}})
    restore()
    copy = describe(engine, "copy")
    assert not {"StreamSpecification", "LatestStreamArn", "TableClassSummary"} & copy.keys()
    assert copy["DeletionProtectionEnabled"] is False
    assert engine.call("ListTagsOfResource", {"ResourceArn": copy["TableArn"]}) == {"Tags": []}
    expiry = engine.call("DescribeTimeToLive", {"TableName": "copy"})["TimeToLiveDescription"]
    assert expiry == {"TimeToLiveStatus": "DISABLED"}
    recovery = engine.call("DescribeContinuousBackups", {"TableName": "copy"})["ContinuousBackupsDescription"]
    assert recovery["PointInTimeRecoveryDescription"] == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert len(engine.call("ListStreams", {})["Streams"]) == 1
    assert engine.verify().ok


def test_a_restored_table_is_one_like_any_other(engine: Engine, restore: Restore) -> None:
    create(engine, on_demand(**KEYS))
    put(engine, 1)
    restore()
    engine.call("PutItem", {"TableName": "copy", "Item": {"pk": {"S": "2"}, "sk": {"S": "s"}, "g": {"S": "x"}}})
    engine.call("DeleteItem", {"TableName": "copy", "Key": {"pk": {"S": "1"}, "sk": {"S": "s"}}})
    assert count(engine, IndexName="gsi") == 1
    assert engine.call("Scan", {"TableName": "music"})["Count"] == 1
    assert engine.verify().ok


def test_capacity_and_encryption_are_restored(engine: Engine, restore: Restore) -> None:
    encryption = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/mine"}
    keys = {**KEYS, "GlobalSecondaryIndexes": [{**GLOBAL, "ProvisionedThroughput": capacity(1, 2)}]}
    create(engine, provisioned(3, 4, SSESpecification=encryption, **keys))
    restore()
    copy = describe(engine, "copy")
    assert "BillingModeSummary" not in copy
    assert copy["ProvisionedThroughput"] == {**capacity(3, 4), "NumberOfDecreasesToday": 0}
    assert copy["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 2
    assert copy["SSEDescription"] == describe(engine)["SSEDescription"]


def test_ceilings_of_on_demand_use_are_restored(engine: Engine, restore: Restore) -> None:
    create(engine, on_demand(OnDemandThroughput={"MaxReadRequestUnits": 7}))
    restore()
    assert describe(engine, "copy")["OnDemandThroughput"] == {"MaxReadRequestUnits": 7}


# -- overrides -----------------------------------------------------------------------------------------------


def test_the_billing_mode_can_be_another(engine: Engine, restore: Restore) -> None:
    keys = {**KEYS, "GlobalSecondaryIndexes": [{**GLOBAL, "ProvisionedThroughput": capacity(1, 2)}]}
    create(engine, provisioned(3, 4, **keys))
    restore(BillingModeOverride="PAY_PER_REQUEST")
    assert describe(engine, "copy")["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_provisioned_capacity_has_to_be_given_where_there_was_none(engine: Engine, restore: Restore) -> None:
    create(engine, on_demand(**KEYS))
    mode = {"BillingModeOverride": "PROVISIONED"}
    assert refusal(lambda: restore(**mode)) == (
        f"{INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
    )
    mode |= {"ProvisionedThroughputOverride": capacity(5, 6)}  # type: ignore[dict-item]
    assert refusal(lambda: restore(**mode)) == f"{INVALID}ProvisionedThroughput is not specified for index: gsi"
    restore(**mode, GlobalSecondaryIndexOverride=[{**GLOBAL, "ProvisionedThroughput": capacity(7, 8)}])
    copy = describe(engine, "copy")
    assert copy["ProvisionedThroughput"]["WriteCapacityUnits"] == 6
    assert copy["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 7


def test_indexes_can_be_left_out(engine: Engine, restore: Restore) -> None:
    create(engine, on_demand(**KEYS))
    put(engine, 1)
    restore(GlobalSecondaryIndexOverride=[], LocalSecondaryIndexOverride=[LOCAL])
    copy = describe(engine, "copy")
    assert "GlobalSecondaryIndexes" not in copy
    assert copy["AttributeDefinitions"] == attributes("l", "pk", "sk")
    assert count(engine, IndexName="lsi") == 1


def test_other_indexes_than_those_of_the_source_are_refused(engine: Engine, restore: Restore) -> None:
    create(engine, on_demand(**KEYS))
    other = {**GLOBAL, "Projection": {"ProjectionType": "ALL"}}
    for override in (index("new", "g"), other, index("gsi", "l")):
        message = refusal(lambda override=override: restore(GlobalSecondaryIndexOverride=[override]))  # type: ignore[misc]
        assert message == (
            f"{INVALID}GlobalSecondaryIndexOverride does not match an index of the source: {override['IndexName']}"
        )
    message = refusal(lambda: restore(LocalSecondaryIndexOverride=[index("gsi", "pk", "g")]))
    assert message == f"{INVALID}LocalSecondaryIndexOverride does not match an index of the source: gsi"
    assert refusal(lambda: restore(GlobalSecondaryIndexOverride=[GLOBAL, GLOBAL])) == (
        f"{INVALID}Duplicate index name: gsi"
    )


def test_an_index_of_a_backup_can_be_warmed_and_one_of_a_point_in_time_cannot(engine: Engine) -> None:
    create(engine, on_demand(**KEYS))
    engine.call("UpdateContinuousBackups", {"TableName": "music", "PointInTimeRecoverySpecification": RECOVERY})
    backup = engine.call("CreateBackup", {"TableName": "music", "BackupName": "all"})["BackupDetails"]["BackupArn"]
    warm = {**GLOBAL, "WarmThroughput": {"ReadUnitsPerSecond": 20000, "WriteUnitsPerSecond": 5000}}
    request = {"TargetTableName": "copy", "GlobalSecondaryIndexOverride": [warm]}
    source = {"SourceTableName": "music", "UseLatestRestorableTime": True}
    message = refusal(lambda: engine.call("RestoreTableToPointInTime", {**source, **request}))
    assert message == f"{INVALID}WarmThroughput is not supported in GlobalSecondaryIndexOverride for index: gsi"
    engine.call("RestoreTableFromBackup", {"BackupArn": backup, **request})
    throughput = describe(engine, "copy")["GlobalSecondaryIndexes"][0]["WarmThroughput"]
    assert throughput == {**warm["WarmThroughput"], "Status": "ACTIVE"}


def test_the_order_of_projected_attributes_does_not_matter(engine: Engine, restore: Restore) -> None:
    create(engine, on_demand(**KEYS))
    projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["b", "a"]}
    restore(GlobalSecondaryIndexOverride=[{**GLOBAL, "Projection": projection}])
    assert describe(engine, "copy")["GlobalSecondaryIndexes"][0]["IndexName"] == "gsi"


def test_encryption_and_ceilings_can_be_others(engine: Engine, restore: Restore) -> None:
    create(engine, on_demand(SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/mine"}))
    restore(SSESpecificationOverride={"Enabled": False}, OnDemandThroughputOverride={"MaxReadRequestUnits": 3})
    copy = describe(engine, "copy")
    assert "SSEDescription" not in copy
    assert copy["OnDemandThroughput"] == {"MaxReadRequestUnits": 3}


# -- refusals ------------------------------------------------------------------------------------------------


def test_a_table_is_never_restored_over_another(engine: Engine, restore: Restore) -> None:
    create(engine, on_demand())
    create(engine, on_demand(TableName="copy"))
    assert refusal(restore, TableAlreadyExistsException) == "Table already exists: copy"


def test_a_refused_restore_leaves_nothing(engine: Engine, restore: Restore) -> None:
    create(engine, on_demand())
    assert refusal(lambda: restore(ProvisionedThroughputOverride=capacity(1, 1)))
    assert engine.call("ListTables", {})["TableNames"] == ["music"]
    assert engine.verify().ok


def test_restored_tables_count_among_the_2500(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, restore: Restore
) -> None:
    create(engine, on_demand())
    monkeypatch.setattr("tablewright.engine.tables.table_operations._MAX_TABLES", 1)
    assert refusal(restore, LimitExceededException) == (
        "Subscriber limit exceeded: There is a limit of 1 tables per subscriber"
    )


def test_a_backup_that_is_not_there_cannot_be_restored(engine: Engine) -> None:
    arn = f"{ARN}/backup/01800000000000-00000000"
    message = refusal(
        lambda: engine.call("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": "copy"}),
        BackupNotFoundException,
    )
    assert message == f"Backup not found: {arn}"


# -- while it is under way -----------------------------------------------------------------------------------


@pytest.fixture
def slowly(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is filled but by hand, three items at a time."""
    engine._background.stop()
    monkeypatch.setattr(index_backfill, "_CHUNK", 3)


def test_a_larger_table_is_filled_in_the_background(engine: Engine, slowly: None, restore: Restore) -> None:
    create(engine, on_demand(**KEYS))
    for number in range(10):
        put(engine, number)
    restore()
    copy = describe(engine, "copy")
    assert copy["TableStatus"] == copy["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    assert copy["RestoreSummary"]["RestoreInProgress"] is True
    assert engine.verify().ok
    assert refusal(lambda: count(engine), ResourceNotFoundException) == "Requested resource not found"
    being_created = "Attempt to change a resource which is still in use: Table is being created: copy"
    unavailable = "Backups are being enabled for the table: copy. Please retry later"
    expiry = {"AttributeName": "ends", "Enabled": True}
    refused: list[tuple[type[DynamoError], str, str, dict[str, Any]]] = [
        (ResourceInUseException, being_created, "DeleteTable", {}),
        (ResourceInUseException, being_created, "UpdateTable", {"DeletionProtectionEnabled": True}),
        (ResourceInUseException, being_created, "UpdateTimeToLive", {"TimeToLiveSpecification": expiry}),
        (ContinuousBackupsUnavailableException, unavailable, "CreateBackup", {"BackupName": "all"}),
        (
            ContinuousBackupsUnavailableException,
            unavailable,
            "UpdateContinuousBackups",
            {"PointInTimeRecoverySpecification": RECOVERY},
        ),
    ]
    for kind, message, operation, members in refused:
        with pytest.raises(kind) as caught:
            engine.call(operation, {"TableName": "copy", **members})
        assert caught.value.message == message
    assert refusal(restore, TableInUseException) == "Table is being created: copy"
    engine.sweep()
    copy = describe(engine, "copy")
    assert copy["TableStatus"] == copy["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
    assert count(engine) == count(engine, IndexName="gsi") == count(engine, IndexName="lsi") == 10
    assert engine.verify().ok


def test_the_thread_in_the_background_finishes_it(engine: Engine, restore: Restore) -> None:
    create(engine, on_demand(**KEYS))
    for number in range(1200):
        put(engine, number)
    restore()
    # What the thread has begun is done by whoever comes first.
    engine.sweep()
    assert describe(engine, "copy")["TableStatus"] == "ACTIVE"
    assert count(engine, IndexName="gsi") == 1200


@pytest.mark.requirement("X7")
def test_a_restore_that_was_broken_off_is_finished_after_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_backfill, "_CHUNK", 3)
    with Engine.open(tmp_path, clock=Clock()) as engine:
        engine._background.stop()
        create(engine, on_demand(**KEYS))
        for number in range(10):
            put(engine, number)
        backup = engine.call("CreateBackup", {"TableName": "music", "BackupName": "all"})["BackupDetails"]
        engine.call("RestoreTableFromBackup", {"BackupArn": backup["BackupArn"], "TargetTableName": "copy"})
        assert describe(engine, "copy")["TableStatus"] == "CREATING"
    with Engine.open(tmp_path, clock=Clock()) as engine:
        engine.sweep()
        assert describe(engine, "copy")["TableStatus"] == "ACTIVE"
        assert count(engine, IndexName="gsi") == count(engine, IndexName="lsi") == 10
        assert engine.verify().ok


# -- large ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.requirement("X7")
def test_a_table_of_100_000_items(tmp_path: Path) -> None:
    clock = Clock()
    with Engine.open(tmp_path, clock=clock) as engine:
        create(engine, on_demand(**KEYS))
        recover = {"TableName": "music", "PointInTimeRecoverySpecification": RECOVERY}
        engine.call("UpdateContinuousBackups", recover)

        def write(first: int, last: int, text: str) -> None:
            for start in range(first, last, 25):
                puts = [
                    {
                        "pk": {"S": str(number)},
                        "sk": {"S": "s"},
                        "g": {"S": str(number % 100)},
                        "text": {"S": text},
                    }
                    for number in range(start, start + 25)
                ]
                writes = [{"PutRequest": {"Item": item}} for item in puts]
                engine.execute("BatchWriteItem", {"RequestItems": {"music": writes}})

        write(0, 100_000, "x" * 400)
        clock.now += 10
        backup = engine.call("CreateBackup", {"TableName": "music", "BackupName": "all"})["BackupDetails"]
        write(0, 50_000, "y" * 400)
        write(100_000, 120_000, "z")
        source = {"SourceTableName": "music", "RestoreDateTime": clock.now - 5}
        engine.call("RestoreTableToPointInTime", {**source, "TargetTableName": "then"})
        engine.call("RestoreTableFromBackup", {"BackupArn": backup["BackupArn"], "TargetTableName": "copy"})
        engine.sweep()
        for name in ("then", "copy"):
            table = describe(engine, name)
            assert (table["TableStatus"], table["ItemCount"]) == ("ACTIVE", 100_000)
            assert table["GlobalSecondaryIndexes"][0]["ItemCount"] == 100_000
            item = engine.call("GetItem", {"TableName": name, "Key": {"pk": {"S": "49999"}, "sk": {"S": "s"}}})["Item"]
            assert item["text"] == {"S": "x" * 400}
        report = engine.verify()
        assert report.ok, report.problems
