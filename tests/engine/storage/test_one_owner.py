"""A data folder has one owner at a time, and is free again once that one is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.engine.storage.data_folder import StorageError
from tests.engine.storage.disk import create, keys, put

OWNER = """
import sys
from tablewright.engine import Engine
from tablewright.engine import StorageError

try:
    engine = Engine.open(sys.argv[1])
except StorageError as error:
    print(f"refused: {error}", flush=True)
else:
    print(f"opened: {engine.call('ListTables', {})['TableNames']}", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def owners() -> Iterator[Callable[[Path], tuple[subprocess.Popen[str], str]]]:
    """Opens a folder in another process; that process, and what it said."""
    started: list[subprocess.Popen[str]] = []

    def start(folder: Path) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.communicate()


Owners = Callable[[Path], tuple[subprocess.Popen[str], str]]


def test_a_second_process_is_refused_while_the_folder_is_in_use(tmp_path: Path, owners: Owners) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine)
        _, said = owners(tmp_path)
        assert said.startswith("refused: ")
        assert "in use" in said
        put(engine, "unharmed")
        assert engine.verify().ok
    _, said = owners(tmp_path)
    assert said == "opened: ['things']"
    with pytest.raises(StorageError, match="in use"):
        Engine.open(tmp_path)


def test_a_second_engine_in_the_same_process_is_refused(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="in use"):
        Engine.open(tmp_path / "data")
    put(engine, "unharmed")
    assert engine.verify().ok


def test_reading_the_files_in_the_same_process_does_not_give_the_folder_away(tmp_path: Path, owners: Owners) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine)
        for file in tmp_path.iterdir():
            file.read_bytes()
        _, said = owners(tmp_path)
        assert "in use" in said
        with pytest.raises(StorageError, match="in use"):
            Engine.open(tmp_path)


def test_a_folder_is_the_same_by_whatever_name(tmp_path: Path, owners: Owners) -> None:
    (tmp_path / "link").symlink_to("data")
    with Engine.open(tmp_path / "data") as engine:
        create(engine)
        _, said = owners(tmp_path / "link")
        assert "in use" in said


def test_a_child_of_a_fork_does_not_keep_the_folder(tmp_path: Path, owners: Owners) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine)
        child = os.fork()
        if child == 0:
            signal.pause()
        _, said = owners(tmp_path)
        assert "in use" in said
    try:
        _, said = owners(tmp_path)
        assert said == "opened: ['things']"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_folder_is_free_again_once_its_owner_was_killed(tmp_path: Path, owners: Owners) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine)
        put(engine, "before")
    process, said = owners(tmp_path)
    assert said == "opened: ['things']"
    process.send_signal(signal.SIGKILL)
    process.wait()
    with Engine.open(tmp_path) as engine:
        assert keys(engine) == {"before"}
        assert engine.verify().ok
