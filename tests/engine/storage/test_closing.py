"""Closing commits what is open, keeps what others were told, and says so to whoever comes later."""

from __future__ import annotations

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


def test_closing_while_others_write_keeps_what_they_were_told(tmp_path: Path) -> None:
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


def test_closing_commits_what_nobody_has_flushed(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path)
    create(engine)
    waiter = Waiter(engine, "PutItem", putting("kept"))
    engine.close()
    assert waiter.told == [None]
    with Engine.open(tmp_path) as reopened:
        assert keys(reopened) == {"kept"}
