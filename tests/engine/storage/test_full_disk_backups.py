"""A full disk refuses a backup or a restore as a whole, and a change together with what is remembered of it."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import InternalServerError
from tablewright.engine import Engine
from tests.engine.storage.disk import fill_disk, free_disk, keys, put

RECOVERY = {"PointInTimeRecoveryEnabled": True}


def back_up(engine: Engine) -> str:
    made: dict[str, Any] = engine.call("CreateBackup", {"TableName": "things", "BackupName": "all"})["BackupDetails"]
    return str(made["BackupArn"])


@pytest.fixture
def things(engine: Engine) -> Engine:
    for number in range(20):
        put(engine, str(number), 5000)
    engine.call("UpdateContinuousBackups", {"TableName": "things", "PointInTimeRecoverySpecification": RECOVERY})
    return engine


def test_there_is_no_half_of_a_backup(things: Engine) -> None:
    fill_disk(things)
    with pytest.raises(InternalServerError, match="full"):
        back_up(things)
    assert things.call("ListBackups", {})["BackupSummaries"] == []
    assert things.verify().ok
    free_disk(things)
    back_up(things)
    assert things.verify().backups == 1


@pytest.mark.parametrize("source", ["backup", "recovery"])
def test_there_is_no_half_of_a_restored_table(things: Engine, source: str) -> None:
    arn = back_up(things)

    def restore() -> None:
        if source == "backup":
            things.call("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": "copy"})
        else:
            request = {"SourceTableName": "things", "TargetTableName": "copy", "UseLatestRestorableTime": True}
            things.call("RestoreTableToPointInTime", request)

    fill_disk(things)
    with pytest.raises(InternalServerError, match="full"):
        restore()
    assert things.call("ListTables", {})["TableNames"] == ["things"]
    assert things.verify().ok
    free_disk(things)
    restore()
    assert keys(things, "copy") == keys(things)


def test_a_change_is_refused_that_cannot_be_remembered(things: Engine) -> None:
    before = keys(things)

    def shrink() -> None:
        """Replace items by small ones: all that takes room is the memory of those."""
        for number in range(20):
            put(things, str(number))

    fill_disk(things)
    with pytest.raises(InternalServerError, match="full"):
        shrink()
    assert things.verify().ok
    assert keys(things) == before
    free_disk(things)
    things.call("DeleteTable", {"TableName": "things"})
    (left,) = things.call("ListBackups", {"BackupType": "SYSTEM"})["BackupSummaries"]
    things.call("RestoreTableFromBackup", {"BackupArn": left["BackupArn"], "TargetTableName": "things"})
    assert keys(things) == before
