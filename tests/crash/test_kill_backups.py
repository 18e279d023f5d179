"""kill -9 at any moment of backups, restores, and writes that are remembered."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tablewright.engine import Engine
from tests.clocks import Clock
from tests.crash.backup_writer import START, key, state

ROOT = Path(__file__).parents[2]


class Ledger:
    """What the killed processes have said: what must be there, and what may be gone."""

    def __init__(self) -> None:
        self.step = 0
        self.backups: dict[str, int] = {}
        self.tables: set[str] = set()
        self.crashes_of_restores = 0

    def note(self, line: str) -> None:
        kind, *words = line.split()
        if kind == "A":
            self.step = int(words[0])
        elif kind == "K":
            self.backups[words[1]] = int(words[0])
        elif kind == "F":
            self.backups.pop(words[0], None)
        elif kind == "R":
            self.tables.add(words[0])
        elif kind == "D":
            self.tables.discard(words[0])


def crash_once(folder: Path, ledger: Ledger, life: int, choices: random.Random) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.backup_writer", str(folder), str(life)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    assert writer.stdout is not None
    most = choices.choice([0, 1, choices.randrange(60), choices.randrange(300)])
    timer = threading.Timer(choices.uniform(0.1, 1.5) if choices.random() < 0.4 else 30.0, writer.kill)
    timer.start()
    for number, line in enumerate(writer.stdout, start=1):
        ledger.note(line)
        if number >= most:
            time.sleep(choices.choice([0.0, choices.uniform(0.0, 0.02)]))
            writer.kill()
    timer.cancel()
    writer.stdout.close()
    assert writer.wait() == -9


def items(engine: Engine, table: str) -> dict[str, Any]:
    found = engine.call("Scan", {"TableName": table})["Items"]
    return {item["pk"]["S"]: item for item in found}


def check_indexes(engine: Engine, table: str, expected: dict[str, Any]) -> None:
    tinted = {name for name, item in expected.items() if "tint" in item}
    for index, names in (("by-tint", tinted), ("by-step", expected.keys())):
        found = engine.call("Scan", {"TableName": table, "IndexName": index})["Items"]
        assert {item["pk"]["S"] for item in found} == names


def half_restored(folder: Path) -> int:
    """The tables that were being restored when the process was killed; looked up in a copy, as the engine would go on
    with them at once, and SQLite would tidy up.
    """
    with TemporaryDirectory() as copy:
        for file in folder.glob("tablewright.db*"):
            shutil.copy(file, copy)
        with closing(sqlite3.connect(Path(copy) / "tablewright.db")) as database:
            try:
                found = database.execute("SELECT definition FROM tables").fetchall()
            except sqlite3.OperationalError:
                # It was killed before there were any.
                return 0
    return sum(json.loads(definition)["description"]["TableStatus"] == "CREATING" for (definition,) in found)


def check(folder: Path, ledger: Ledger, choices: random.Random) -> None:
    ledger.crashes_of_restores += half_restored(folder)
    clock = Clock(START)
    with Engine.open(folder, clock=clock) as engine:
        report = engine.verify()
        assert report.ok, report.problems
        tables = engine.call("ListTables", {})["TableNames"]
        if "things" not in tables:
            assert ledger.step == 0
            return
        last = engine.call("GetItem", {"TableName": "things", "Key": key("last")}).get("Item")
        step = 0 if last is None else int(last["step"]["N"])
        assert ledger.step <= step <= ledger.step + 1
        ledger.step = step
        clock.now = START + step
        if step:
            assert items(engine, "things") == state(step)

        # Tables that were being restored become whole, and no others are there.
        assert ledger.tables <= set(tables)
        engine.sweep()
        for name in tables:
            if name != "things":
                ledger.tables.add(name)
                assert _status(engine, name) == "ACTIVE"
                expected = state(int(name.removeprefix("restored-")))
                assert items(engine, name) == expected
                check_indexes(engine, name, expected)

        # Backups are whole, those that nobody was told of as well.
        there = {
            each["BackupArn"]: int(each["BackupName"].removeprefix("at-"))
            for each in engine.call("ListBackups", {})["BackupSummaries"]
        }
        assert ledger.backups.items() <= there.items()
        ledger.backups = there
        for arn, then in there.items():
            check_restored(engine, then, "RestoreTableFromBackup", {"BackupArn": arn})

        # Any second since the beginning can be had back.
        if step:
            for then in {1, step, *(choices.randint(1, step) for _ in range(3))}:
                source = {"SourceTableName": "things", "RestoreDateTime": START + then}
                check_restored(engine, then, "RestoreTableToPointInTime", source)
        report = engine.verify()
        assert report.ok, report.problems


def check_restored(engine: Engine, step: int, operation: str, source: dict[str, Any]) -> None:
    engine.call(operation, {"TargetTableName": "checked", **source})
    engine.sweep()
    expected = state(step)
    assert items(engine, "checked") == expected
    check_indexes(engine, "checked", expected)
    engine.call("DeleteTable", {"TableName": "checked"})


def _status(engine: Engine, table: str) -> str:
    return str(engine.call("DescribeTable", {"TableName": table})["Table"]["TableStatus"])


@pytest.mark.requirement("X7")
def test_a_killed_process_leaves_whole_backups_and_whole_tables(tmp_path: Path) -> None:
    choices = random.Random()
    ledger = Ledger()
    life = 0
    while life < 4 or not ledger.backups or not ledger.tables:
        life += 1
        crash_once(tmp_path, ledger, life, choices)
        check(tmp_path, ledger, choices)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_hundreds_of_killed_processes_leave_whole_backups_and_whole_tables(tmp_path: Path) -> None:
    rounds = int(os.environ.get("CRASH_ROUNDS", "200"))
    choices = random.Random()
    ledger = Ledger()
    for life in range(1, rounds + 1):
        crash_once(tmp_path, ledger, life, choices)
        check(tmp_path, ledger, choices)
    # Some were killed while an index was being filled.
    assert ledger.crashes_of_restores
