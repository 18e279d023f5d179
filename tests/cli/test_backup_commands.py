"""``tablewright backup``, ``backups`` and ``restore``, as a user runs them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tablewright import Engine
from tablewright.cli import main
from tests.clocks import Clock

MUSIC: dict[str, Any] = {
    "TableName": "music",
    "KeySchema": [{"AttributeName": "artist", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "artist", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
RECOVERY = {"PointInTimeRecoveryEnabled": True}
NOW = 1_700_000_000.0


@pytest.fixture
def data(tmp_path: Path) -> str:
    """A folder whose table got an item a minute, with recovery on."""
    clock = Clock(NOW)
    with Engine.open(tmp_path / "data", clock=clock) as engine:
        engine.call("CreateTable", MUSIC)
        engine.call("UpdateContinuousBackups", {"TableName": "music", "PointInTimeRecoverySpecification": RECOVERY})
        for number in range(3):
            clock.now = NOW + 60 * number
            engine.call("PutItem", {"TableName": "music", "Item": {"artist": {"S": str(number)}}})
    return str(tmp_path / "data")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """The lines that a command prints that succeeds."""
    assert main(arguments) == 0
    told = capsys.readouterr()
    assert told.err == ""
    return told.out.splitlines()


def error_line(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = told.err.splitlines()
    return line.removeprefix("tablewright: ")


@pytest.mark.requirement("X7")
def test_a_backup_is_made_listed_and_restored(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "backups", "--data", data) == ["There are no backups"]
    line, arn = run(capsys, "backup", "music", "--data", data)
    made = re.fullmatch(r"Backed up music \(3 items\) as (music-[\dT.-]+Z)", line)
    assert made is not None
    (listed,) = run(capsys, "backups", "--data", data)
    assert re.fullmatch(rf"[\d:T-]+Z  music  {re.escape(made[1])}  {re.escape(arn)}", listed)
    assert run(capsys, "backups", "films", "--data", data) == ["There are no backups of films"]
    assert main(["verify", data]) == 0
    verified = capsys.readouterr()
    assert verified.out.rstrip().endswith(", 1 backup")
    assert "verifying" in verified.err
    begun, done = run(capsys, "restore", arn, "--to", "copy", "--data", data)
    assert begun == f"Restoring {arn} as copy ..."
    assert done.startswith("copy has 3 items, as of 20")
    with Engine.open(data) as engine:
        assert engine.call("Scan", {"TableName": "copy"})["Count"] == 3


def test_a_backup_may_have_a_name(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "backup", "music", "--name", "Monday", "--data", data)[0].endswith(" as Monday")
    assert "'backupName'" in error_line(capsys, "backup", "music", "--name", "a b", "--data", data)


def test_every_page_of_backups_is_listed(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Engine.open(data) as engine:
        for number in range(130):
            engine.call("CreateBackup", {"TableName": "music", "BackupName": f"no-{number}"})
    assert len(run(capsys, "backups", "--data", data)) == 130


def test_a_deleted_table_is_listed_with_its_last_day(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Engine.open(data) as engine:
        engine.call("DeleteTable", {"TableName": "music"})
    (line,) = run(capsys, "backups", "--data", data)
    assert re.search(r"  music\$DeletedTableBackup, until [\d:T-]+Z  arn:", line)


@pytest.mark.requirement("X7")
def test_a_table_is_restored_as_it_was(
    data: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = "2023-11-14T22:14:30Z"
    assert datetime.fromisoformat(moment).timestamp() == NOW + 70
    clock = Clock(NOW + 600)
    opened = Engine.open
    monkeypatch.setattr(Engine, "open", lambda path, **options: opened(path, clock=clock, **options))
    _, done = run(capsys, "restore", "music", "--at", moment, "--to", "then", "--data", data)
    assert done == f"then has 2 items, as of {moment}"
    _, done = run(capsys, "restore", "music", "--to", "latest", "--data", data)
    assert done == "latest has 3 items, as of 2023-11-14T22:23:20Z"
    early = error_line(capsys, "restore", "music", "--at", "2023-11-14T22:00Z", "--to", "early", "--data", data)
    assert early == "music can be restored to a time from 2023-11-14T22:13:20Z to 2023-11-14T22:23:20Z"


def test_a_time_without_an_offset_is_local(
    data: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(NOW + 600)
    opened = Engine.open
    monkeypatch.setattr(Engine, "open", lambda path, **options: opened(path, clock=clock, **options))
    local = datetime.fromtimestamp(NOW + 70, UTC).astimezone().replace(tzinfo=None).isoformat()
    _, done = run(capsys, "restore", "music", "--at", local, "--to", "then", "--data", data)
    assert done.startswith("then has 2 items")


def test_refusals_say_what_to_do(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = ("--data", data)
    assert error_line(capsys, "backup", "films", *at) == "Table not found: films"
    assert error_line(capsys, "restore", "films", "--to", "new", *at) == "Table not found: films"
    assert error_line(capsys, "restore", "music", "--to", "music", *at) == (
        "Table already exists: music; choose another name with --to, or delete that table first"
    )
    nowhere = "arn:aws:dynamodb:us-east-1:123456789012:table/music/backup/01700000000000-00000000"
    assert error_line(capsys, "restore", nowhere, "--to", "new", *at) == (
        f"Backup not found: {nowhere}; `tablewright backups` lists the backups that exist"
    )
    assert error_line(capsys, "restore", nowhere, "--to", "new", "--at", "2023-11-14T22:14:30Z", *at) == (
        "--at does not apply to a backup, which has one time; omit it, or name the table instead of the backup"
    )
    with Engine.open(data) as engine:
        engine.call("CreateTable", {**MUSIC, "TableName": "films"})
        assert "is in use by another engine" in error_line(capsys, "backup", "music", *at)
    assert error_line(capsys, "restore", "films", "--to", "new", *at) == (
        "point-in-time recovery is not enabled for films; give the ARN of a backup instead; "
        "`tablewright backups` lists them"
    )
    missing = str(tmp_path / "missing")
    for command in (["backup", "music"], ["backups"], ["restore", "music", "--to", "new"]):
        problem = error_line(capsys, *command, "--data", missing)
        assert problem == f"there is no data folder at {missing}; give its path with --data"
    for command in (["backup", data], ["backups", data], ["restore", data, "--to", "new"]):
        problem = error_line(capsys, *command, *at)
        assert problem == f"{data} is not the name of a table; give a data folder with --data {data}"
    assert not Path(missing).exists()


def test_a_time_that_is_none_is_refused(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["restore", "music", "--to", "new", "--at", "yesterday", "--data", data])
    assert caught.value.code == 2
    assert "a time looks like 2026-11-15T18:30:00Z, not 'yesterday'" in capsys.readouterr().err
