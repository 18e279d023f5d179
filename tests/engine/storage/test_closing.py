"""Closing commits what is open, keeps what others were told, and says so to whoever comes later."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.engine.storage.data_folder import StorageError
from tests.engine.storage.disk import Waiter, create, keys, put, putting
from tests.threads import run_threads


def test_a_closed_engine_says_so_to_every_thread(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path)
    create(engine)
    engine.close()
    told: list[str] = []

    def call() -> None:
        for operation, request in [("PutItem", putting("late")), ("ListTables", {})]:
            with pytest.raises(StorageError, match="closed") as refused:
                engine.call(operation, request)
            told.append(str(refused.value))

    run_threads(*[call] * 4)
    assert len(told) == 8
    engine.close()


def test_closing_while_others_write_keeps_acknowledged_writes(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path)
    create(engine)
    acknowledged: list[str] = []

    def write(thread: int) -> None:
        for number in range(10_000):
            try:
                put(engine, f"{thread} {number}")
            except StorageError:
                return
            acknowledged.append(f"{thread} {number}")

    def close() -> None:
        while len(acknowledged) < 100:
            time.sleep(0.001)
        engine.close()

    run_threads(*[partial(write, thread) for thread in range(8)], close)
    with Engine.open(tmp_path) as reopened:
        assert set(acknowledged) <= keys(reopened)
        assert reopened.verify().ok


def test_closing_commits_unflushed_writes(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path)
    create(engine)
    waiter = Waiter(engine, "PutItem", putting("kept"))
    engine.close()
    assert waiter.told == [None]
    with Engine.open(tmp_path) as reopened:
        assert keys(reopened) == {"kept"}


# -- programs that end without closing ------------------------------------------------------------------------------

PROGRAM = """
import sys, os, gc, time
from tablewright import Engine
engine = Engine.open(sys.argv[1])
if not engine.call("ListTables", {})["TableNames"]:
    engine.call("CreateTable", {"TableName": "things", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]})
for number in range(3):
    engine.call("PutItem", {"TableName": "things", "Item": {"id": {"S": str(number)}}})
print("acknowledged", flush=True)
"""
ENDINGS = {
    "at its end": "",
    "by sys.exit": "sys.exit(3)",
    "by an exception": "raise RuntimeError('unhandled')",
    "interrupted": "raise KeyboardInterrupt",
    "forgotten": "del engine; gc.collect(); print('collected')",
    "in a cycle": "cycle = [engine]; cycle.append(cycle); del engine, cycle; gc.collect()",
    "in a function": "def run():\n    own = engine\nrun(); globals().clear()",
    "with a thread at work": (
        "import threading\n"
        "def work():\n"
        "    while True:\n"
        "        engine.call('PutItem', {'TableName': 'things', 'Item': {'id': {'S': 'again'}}})\n"
        "threading.Thread(target=work, daemon=True).start(); time.sleep(0.2)"
    ),
    "after a fork whose child ended first": "child = os.fork()\nif child == 0: sys.exit()\nos.waitpid(child, 0)",
    "with another one open": "other = Engine.open(sys.argv[1] + '-other')",
    "by os._exit": "os._exit(0)",
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_a_program_that_ends_without_closing_leaves_a_folder_that_opens(tmp_path: Path, ending: str) -> None:
    folder = tmp_path / "data"
    for _ in range(2):
        command = [sys.executable, "-c", PROGRAM + ending, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout.startswith("acknowledged"), done.stderr
        # Only what the program itself raised.
        complaints = [line for line in done.stderr.splitlines() if "sqlite3" in line or "tablewright" in line]
        assert complaints == []
    with Engine.open(folder) as engine:
        found = {item["id"]["S"] for item in engine.call("Scan", {"TableName": "things"})["Items"]}
    assert found >= {"0", "1", "2"}
