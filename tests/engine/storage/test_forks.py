"""A data folder stays with the process that opened it, whatever a fork of that process does with its copy."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.engine.storage.data_folder import StorageError
from tests.engine.table_requests import on_demand

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")


def create(engine: Engine) -> None:
    engine.call("CreateTable", on_demand(TableName="things"))


def put(engine: Engine, number: int) -> None:
    engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": str(number)}}})


def count(engine: Engine) -> int:
    found: int = engine.call("Scan", {"TableName": "things", "Select": "COUNT"})["Count"]
    return found


def in_child(work: Callable[[], None]) -> int:
    """Runs it in a fork; what it ends with is the exit code: 0, or 1 when it raised."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_fork_is_refused(tmp_path: Path) -> None:
    def use() -> None:
        for work in (lambda: put(engine, 1), lambda: count(engine), engine.verify):
            with pytest.raises(StorageError, match="fork"):
                work()

    with Engine.open(tmp_path / "data") as engine:
        create(engine)
        assert in_child(use) == 0
        put(engine, 2)
        assert count(engine) == 1


@pytest.mark.parametrize("how", ["closed", "flushed", "collected"])
def test_what_a_fork_does_with_its_copy_takes_nothing_from_the_parent(tmp_path: Path, how: str) -> None:
    folder, copy = tmp_path / "data", tmp_path / "as left by a crash"
    engines = [Engine.open(folder)]
    create(engines[0])
    # Still open when the fork happens: it must not commit this for its parent.
    engines[0].execute("PutItem", {"TableName": "things", "Item": {"pk": {"S": "0"}}})

    def end() -> None:
        if how == "closed":
            engines[0].close()
        elif how == "flushed":
            engines[0].flush()
        engines.clear()
        gc.collect()

    assert in_child(end) == 0
    for number in range(1, 20):
        put(engines[0], number)
    shutil.copytree(folder, copy)
    engines[0].close()
    for place in (folder, copy):
        with Engine.open(place) as engine:
            assert count(engine) == 20
            assert engine.verify().ok


def test_a_database_in_memory_is_copied(tmp_path: Path) -> None:
    def use() -> None:
        put(engine, 1)
        assert count(engine) == 2

    with Engine.open() as engine:
        create(engine)
        put(engine, 0)
        assert in_child(use) == 0
        assert count(engine) == 1


def test_a_fork_during_writes_finds_every_lock_free(tmp_path: Path) -> None:
    """The child finds every lock free, and is refused at once, however busy the parent's threads are."""
    import threading

    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            put(engine, number % 50)

    def use() -> None:
        with pytest.raises(StorageError):
            count(engine)

    with Engine.open(tmp_path / "data") as engine:
        create(engine)
        threads = [threading.Thread(target=write) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            assert [in_child(use) for _ in range(10)] == [0] * 10
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert engine.verify().ok
