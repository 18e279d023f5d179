"""boto3 against a server: every operation on backups, once, in boto3's own types."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest

from tablewright.engine import Engine
from tablewright.wire.server import serve_in_thread

MUSIC: dict[str, Any] = {
    "TableName": "music",
    "KeySchema": [{"AttributeName": "artist", "KeyType": "HASH"}],
    "AttributeDefinitions": [
        {"AttributeName": "artist", "AttributeType": "S"},
        {"AttributeName": "genre", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-genre",
            "KeySchema": [{"AttributeName": "genre", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
RECOVERY = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 7}


@pytest.fixture
def dynamodb() -> Iterator[Any]:
    with Engine.open() as engine, serve_in_thread(engine) as url:
        client = boto3.client("dynamodb", endpoint_url=url, region_name="us-east-1")
        client.create_table(**MUSIC)
        client.put_item(TableName="music", Item={"artist": {"S": "a"}, "genre": {"S": "x"}})
        yield client
        client.close()


def artists(client: Any, table: str, **members: Any) -> set[str]:
    return {item["artist"]["S"] for item in client.scan(TableName=table, **members)["Items"]}


@pytest.mark.requirement("X7")
def test_on_demand_backups(dynamodb: Any) -> None:
    details = dynamodb.create_backup(TableName="music", BackupName="Monday")["BackupDetails"]
    arn = details["BackupArn"]
    assert details["BackupStatus"] == "CREATING"
    assert abs(datetime.now(UTC) - details["BackupCreationDateTime"]).total_seconds() < 60
    described = dynamodb.describe_backup(BackupArn=arn)["BackupDescription"]
    assert described["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    assert described["SourceTableFeatureDetails"]["GlobalSecondaryIndexes"][0]["IndexName"] == "by-genre"
    pages = dynamodb.get_paginator("list_backups").paginate(TableName="music", PaginationConfig={"PageSize": 1})
    assert [backup["BackupArn"] for page in pages for backup in page["BackupSummaries"]] == [arn]

    dynamodb.put_item(TableName="music", Item={"artist": {"S": "b"}})
    told = dynamodb.restore_table_from_backup(TargetTableName="copy", BackupArn=arn)["TableDescription"]
    assert told["TableStatus"] == "CREATING"
    dynamodb.get_waiter("table_exists").wait(TableName="copy")
    summary = dynamodb.describe_table(TableName="copy")["Table"]["RestoreSummary"]
    assert (summary["SourceBackupArn"], summary["RestoreInProgress"]) == (arn, False)
    assert artists(dynamodb, "copy") == artists(dynamodb, "copy", IndexName="by-genre") == {"a"}

    with pytest.raises(dynamodb.exceptions.TableAlreadyExistsException):
        dynamodb.restore_table_from_backup(TargetTableName="copy", BackupArn=arn)
    deleted = dynamodb.delete_backup(BackupArn=arn)["BackupDescription"]
    assert deleted["BackupDetails"]["BackupStatus"] == "DELETED"
    with pytest.raises(dynamodb.exceptions.BackupNotFoundException) as caught:
        dynamodb.describe_backup(BackupArn=arn)
    assert caught.value.response["Error"]["Message"] == f"Backup not found: {arn}"


@pytest.mark.requirement("X7")
def test_point_in_time_recovery(dynamodb: Any) -> None:
    with pytest.raises(dynamodb.exceptions.PointInTimeRecoveryUnavailableException):
        dynamodb.restore_table_to_point_in_time(
            SourceTableName="music", TargetTableName="then", UseLatestRestorableTime=True
        )
    told = dynamodb.update_continuous_backups(TableName="music", PointInTimeRecoverySpecification=RECOVERY)
    described = dynamodb.describe_continuous_backups(TableName="music")
    for answer in (told, described):
        recovery = answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
        assert (recovery["PointInTimeRecoveryStatus"], recovery["RecoveryPeriodInDays"]) == ("ENABLED", 7)
    dynamodb.put_item(TableName="music", Item={"artist": {"S": "b"}})
    # boto3 sends whole seconds, and the earliest restorable time is one.
    dynamodb.restore_table_to_point_in_time(
        SourceTableName="music", TargetTableName="earliest", RestoreDateTime=recovery["EarliestRestorableDateTime"]
    )
    dynamodb.restore_table_to_point_in_time(
        SourceTableArn=dynamodb.describe_table(TableName="music")["Table"]["TableArn"],
        TargetTableName="latest",
        UseLatestRestorableTime=True,
    )
    for name in ("earliest", "latest"):
        dynamodb.get_waiter("table_exists").wait(TableName=name)
    assert artists(dynamodb, "latest") == {"a", "b"}
    assert artists(dynamodb, "earliest") == {"a"}
    with pytest.raises(dynamodb.exceptions.InvalidRestoreTimeException):
        dynamodb.restore_table_to_point_in_time(
            SourceTableName="music", TargetTableName="then", RestoreDateTime=datetime(2020, 1, 1, tzinfo=UTC)
        )
    dynamodb.delete_table(TableName="music")
    (left,) = dynamodb.list_backups(BackupType="SYSTEM")["BackupSummaries"]
    assert left["BackupName"] == "music$DeletedTableBackup"
    assert (left["BackupExpiryDateTime"] - left["BackupCreationDateTime"]).days == 35
