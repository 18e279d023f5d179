"""Backups and restores while others write: each is of one instant."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import Engine
from tests.engine.table_requests import create, on_demand

RECOVERY = {"PointInTimeRecoveryEnabled": True}
WRITERS = 3


def versions(engine: Engine, table: str) -> dict[str, str]:
    found = engine.call("Scan", {"TableName": table})["Items"]
    return {item["pk"]["S"]: item["version"]["N"] for item in found}


@pytest.mark.requirement("X7")
def test_a_transaction_is_in_a_copy_as_a_whole(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine, on_demand())
        engine.call("UpdateContinuousBackups", {"TableName": "music", "PointInTimeRecoverySpecification": RECOVERY})
        stopping = threading.Event()
        failures: list[BaseException] = []

        def write(writer: int) -> None:
            version = 0
            try:
                while not stopping.is_set():
                    version += 1
                    actions: list[dict[str, Any]] = [
                        {
                            "Put": {
                                "TableName": "music",
                                "Item": {"pk": {"S": f"{writer} {half}"}, "version": {"N": str(version)}},
                            }
                        }
                        for half in ("left", "right")
                    ]
                    engine.call("TransactWriteItems", {"TransactItems": actions})
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        try:
            for number in range(15):
                backup = engine.call("CreateBackup", {"TableName": "music", "BackupName": f"no-{number}"})
                arn = backup["BackupDetails"]["BackupArn"]
                engine.call("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": "copy"})
                window = engine.call("DescribeContinuousBackups", {"TableName": "music"})
                latest = window["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
                # A moment at which somebody may have been in the middle of a transaction.
                source = {"SourceTableName": "music", "RestoreDateTime": latest["LatestRestorableDateTime"] - 0.001}
                if source["RestoreDateTime"] >= latest["EarliestRestorableDateTime"]:
                    engine.call("RestoreTableToPointInTime", {**source, "TargetTableName": "then"})
                for name in {"copy", "then"} & set(engine.call("ListTables", {})["TableNames"]):
                    found = versions(engine, name)
                    for writer in range(WRITERS):
                        assert found.get(f"{writer} left") == found.get(f"{writer} right")
                    engine.call("DeleteTable", {"TableName": name})
        finally:
            stopping.set()
            for thread in threads:
                thread.join()
        assert failures == []
        assert versions(engine, "music")
        report = engine.verify()
        assert report.ok, report.problems
        assert report.backups == 15
