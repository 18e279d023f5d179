"""Scrubbing: how fast it reads, and what it finds in copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.engine.closed_folder import verify_closed
from tablewright.engine.copies.copy_folder import CopyFolder
from tablewright.engine.copies.folder_backup import back_up
from tablewright.engine.copies.scrub import Pace, copy_problems, snapshot_of
from tests.clocks import Clock
from tests.engine.copies.spoiled_chunks import spoil
from tests.engine.storage.damage import flip
from tests.engine.storage.disk import create, put


def nothing(done: int, total: int) -> None:
    """No progress."""


class Sleeper(Clock):
    """A clock that goes on when somebody sleeps."""

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def at_once() -> Pace:
    return Pace(10**9, sleep=lambda seconds: None)


def test_no_more_is_read_in_a_second_than_the_rate_says() -> None:
    clock = Sleeper(0.0)
    pace = Pace(1000, clock=clock, sleep=clock.sleep)
    for _ in range(10):
        pace(500)
    assert (clock.now, pace.read) == (5.0, 5000)
    # Time that has passed otherwise counts.
    clock.now = 100.0
    pace(10_000)
    assert clock.now == 100.0


def test_a_folder_in_use_is_read_at_the_rate(tmp_path: Path) -> None:
    clock = Sleeper(0.0)
    pace = Pace(100_000, clock=clock, sleep=clock.sleep)
    with Engine.open(tmp_path) as engine:
        create(engine)
        put(engine, "large", 300_000)
        engine._storage.execute("PRAGMA wal_checkpoint").fetchall()
        put(engine, "in the log")
        with snapshot_of(tmp_path, pace, nothing) as snapshot:
            report = verify_closed(snapshot)
        assert (report.problems, report.items) == ([], 2)
    assert pace.read > 300_000
    assert clock.now == pytest.approx(pace.read / 100_000)
    assert not snapshot.exists()


@pytest.fixture
def copies(tmp_path: Path) -> CopyFolder:
    """Three copies that differ."""
    clock = Clock()
    for number in range(3):
        with Engine.open(tmp_path / "data") as engine:
            if number == 0:
                create(engine)
            for other in range(4):
                put(engine, f"{number} {other}", 300_000)
        clock.now += 60
        back_up(tmp_path / "data", tmp_path / "copies", clock=clock)
    return CopyFolder(tmp_path / "copies")


def test_whole_copies_have_no_problems(copies: CopyFolder) -> None:
    pace = at_once()
    assert list(copy_problems(copies, pace, nothing)) == []
    # A chunk that several copies have is read once.
    assert pace.read < sum(copies.read(name).size for name in copies.names())


def test_damage_is_reported_for_each_affected_copy(copies: CopyFolder) -> None:
    first, second, third = (copies.read(name) for name in copies.names())
    common = set(first.chunks()) & set(second.chunks()) & set(third.chunks())
    only_third = set(third.chunks()) - set(second.chunks()) - set(first.chunks())
    spoil(copies, common.pop())
    spoil(copies, only_third.pop())
    problems = list(copy_problems(copies, at_once(), nothing))
    assert [problem.split(":")[0] for problem in problems] == [f"the copy {name}" for name in copies.names()]
    assert all("is damaged" in problem for problem in problems)
    assert "and 1 more" in problems[2]


def test_a_damaged_description_is_reported(copies: CopyFolder) -> None:
    name = copies.names()[1]
    flip(copies.folder / "copies" / name, 200)
    assert list(copy_problems(copies, at_once(), nothing)) == [
        f"the copy {name}: the description of the copy {name} is damaged"
    ]


def test_copies_that_are_deleted_meanwhile_are_left_out(copies: CopyFolder) -> None:
    def progress(done: int, total: int) -> None:
        if done == 1:
            copies.keep_newest(1)

    assert list(copy_problems(copies, at_once(), progress)) == []
