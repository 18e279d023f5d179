"""A data folder of an earlier format opens, with everything in it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import orjson
import pytest

from tablewright.engine import Engine
from tests.engine.storage.disk import create, put

DATABASE = "tablewright.db"


def as_format_1(folder: Path) -> None:
    """What the first format had not: backups, and recovery in the definitions of tables."""
    connection = sqlite3.connect(folder / DATABASE)
    connection.execute("DROP TABLE backups")
    for number, definition in connection.execute("SELECT number, definition FROM tables").fetchall():
        members = orjson.loads(definition)
        del members["recovery_days"], members["recovery_begins"]
        connection.execute("UPDATE tables SET definition = ? WHERE number = ?", (orjson.dumps(members), number))
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()


@pytest.mark.requirement("X7")
def test_a_folder_of_the_first_format_opens_and_can_be_backed_up(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine)
        put(engine, "one")
    as_format_1(tmp_path)
    for _ in range(2):
        with Engine.open(tmp_path) as engine:
            assert engine.verify().ok
            assert engine.call("Scan", {"TableName": "things"})["Count"] == 1
    with Engine.open(tmp_path) as engine:
        backup = engine.call("CreateBackup", {"TableName": "things", "BackupName": "all"})["BackupDetails"]
        engine.call("RestoreTableFromBackup", {"BackupArn": backup["BackupArn"], "TargetTableName": "copy"})
        assert engine.call("Scan", {"TableName": "copy"})["Count"] == 1
