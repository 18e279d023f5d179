"""``verify`` finds what is wrong with histories and backups."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tablewright.engine import Engine, database
from tests.clocks import Clock
from tests.engine.table_requests import create, on_demand

RECOVERY = {"PointInTimeRecoveryEnabled": True}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Changes 1 to 4 of two items (made, made, changed, deleted) and a backup; SQL names: history_1, backup_1."""
    places: dict[bytes, int] = {}
    monkeypatch.setattr(database, "row_id", lambda key: places.setdefault(key, len(places) + 1))
    with Engine.open(clock=Clock()) as opened:
        opened._background.stop()
        create(opened, on_demand())
        opened.call("UpdateContinuousBackups", {"TableName": "music", "PointInTimeRecoverySpecification": RECOVERY})
        for name in ("a", "b"):
            opened.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": name}}})
        opened.call("CreateBackup", {"TableName": "music", "BackupName": "all"})
        opened.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}, "text": {"S": "x"}}})
        opened.call("DeleteItem", {"TableName": "music", "Key": {"pk": {"S": "b"}}})
        yield opened


def test_what_is_whole_has_no_problems(engine: Engine) -> None:
    report = engine.verify()
    assert report.ok
    assert (report.items, report.history_records, report.backups) == (1, 4, 1)


@pytest.mark.requirement("X7")
@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DROP TABLE history_1", "the SQL table history_1 is missing"),
        ("DROP TABLE backup_1", "the SQL table backup_1 is missing"),
        ("CREATE TABLE history_9 (a)", "the SQL table history_9 belongs to no table or backup"),
        ("DELETE FROM backups", "the SQL table backup_1 belongs to no table or backup"),
        (
            "UPDATE history_1 SET item = '[]' WHERE sequence = 3",
            "music: the image that change 3 replaced cannot be read",
        ),
        (
            "UPDATE history_1 SET key = x'00' WHERE sequence = 4",
            "music: the image that change 4 replaced is stored under another key than its own",
        ),
        (
            "UPDATE history_1 SET size = 9 WHERE sequence = 3",
            "music: the image that change 3 replaced has size 3, but the recorded size is 9",
        ),
        ("UPDATE history_1 SET item = NULL WHERE sequence = 4", "change 4 found no item, but the previous change"),
        ("DELETE FROM history_1 WHERE sequence = 4", "an item is missing, but its last change created it"),
        ("UPDATE backup_1 SET item = '[]' WHERE id = 1", "item 1 cannot be read"),
        ("UPDATE backup_1 SET key = x'00' WHERE id = 1", "item 1 is stored under another key than its own"),
        ("DELETE FROM backup_1 WHERE id = 1", "has 1 items, but the recorded number is 2"),
    ],
)
def test_damage_is_found(engine: Engine, statement: str, problem: str) -> None:
    engine._storage.write()(statement)
    problems = engine.verify().problems
    assert any(problem in found for found in problems), problems
