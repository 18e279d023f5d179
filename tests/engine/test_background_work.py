"""The background thread: when there is one, what it survives, and how it leaves room for callers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.engine import Engine, background_work
from tablewright.engine.background_work import BackgroundWork
from tablewright.engine.database import Database
from tests.engine.table_requests import on_demand


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open() as opened:
        yield opened


def create(engine: Engine, name: str = "things") -> None:
    engine.call("CreateTable", on_demand(TableName=name))


def enable_ttl(engine: Engine) -> None:
    specification = {"Enabled": True, "AttributeName": "expires"}
    engine.call("UpdateTimeToLive", {"TableName": "things", "TimeToLiveSpecification": specification})


def thread_of(engine: Engine) -> threading.Thread | None:
    return engine._background._thread


def wait_until(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def replace_steps(work: BackgroundWork, patch: pytest.MonkeyPatch, *steps: background_work.Step) -> None:
    """Other steps for one engine alone; engines of other tests may be open in the same process."""
    patch.setattr(work, "_steps", steps)
    patch.setattr(background_work, "_is_needed", lambda db: db is work._database)


def wake(engine: Engine, seconds: float = 0.0) -> None:
    database = engine._database
    with database.storage.turn():
        database.on_schedule(seconds)


def remember_token(engine: Engine, token: str, at: float) -> None:
    database = engine._database
    with database.storage.turn():
        database.storage.write()("INSERT INTO tokens VALUES (?, x'', ?, x'', 0)", (token, at))
    engine.flush()


def tokens(engine: Engine) -> int:
    database = engine._database
    with database.storage.turn():
        return int(database.storage.execute("SELECT count(*) FROM tokens").fetchone()[0])


def test_an_engine_with_nothing_to_do_has_no_thread(engine: Engine) -> None:
    create(engine)
    engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": "a"}}})
    wake(engine)
    assert thread_of(engine) is None


def test_the_first_thing_to_do_starts_it_and_closing_ends_it(engine: Engine) -> None:
    create(engine)
    enable_ttl(engine)
    thread = thread_of(engine)
    assert thread is not None
    assert thread.daemon
    engine.close()
    assert not thread.is_alive()


def test_it_takes_up_what_an_earlier_process_left(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine)
        enable_ttl(engine)
    with Engine.open(tmp_path) as engine:
        assert thread_of(engine) is not None


def test_tokens_are_forgotten_after_ten_minutes() -> None:
    now = 1_800_000_000.0
    with Engine.open(clock=lambda: now) as engine:
        for number in range(1200):
            remember_token(engine, f"old {number}", now)
        now += 1
        remember_token(engine, "young", now)
        now += 599
        engine.sweep()
        assert tokens(engine) == 1
        now += 1
        engine.sweep()
        assert tokens(engine) == 0


def test_a_step_that_fails_is_logged_and_tried_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []

    def fails_once(db: Database) -> float | None:
        calls.append("one")
        if len(calls) == 1:
            raise RuntimeError("no luck")
        return None

    def works(db: Database) -> float | None:
        calls.append("other")
        return None

    replace_steps(engine._background, monkeypatch, fails_once, works)
    monkeypatch.setattr(background_work, "_FIRST_BACK_OFF", 0.01)
    with caplog.at_level(logging.ERROR, "tablewright.engine"):
        wake(engine)
        wait_until(lambda: len(calls) == 4)
    # The next look is at everything, as all of them are.
    assert calls == ["one", "other", "one", "other"]
    assert "no luck" in caplog.text


def test_what_fails_for_long_is_tried_less_and_less_often(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    moments: list[float] = []

    def fails(db: Database) -> float | None:
        moments.append(time.monotonic())
        raise RuntimeError("no luck")

    replace_steps(engine._background, monkeypatch, fails)
    monkeypatch.setattr(background_work, "_FIRST_BACK_OFF", 0.02)
    wake(engine)
    wait_until(lambda: len(moments) == 4)
    first, second, third = (after - before for before, after in pairwise(moments))
    assert first >= 0.02
    assert second >= 0.04
    assert third >= 0.08


def test_the_thread_is_woken_only_for_what_is_sooner(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []

    def step(db: Database) -> float | None:
        looks.append(time.monotonic())
        return 60.0

    replace_steps(engine._background, monkeypatch, step)
    wake(engine)
    wait_until(lambda: looks)
    # The look is over when the next one has a time.
    wait_until(lambda: engine._background._look_at < float("inf"))
    wake(engine, 600.0)
    time.sleep(0.05)
    assert len(looks) == 1
    wake(engine)
    wait_until(lambda: len(looks) == 2)


def test_a_change_during_a_round_is_seen_by_another_round(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def first(db: Database) -> float | None:
        looks.append("first")
        return None

    def second(db: Database) -> float | None:
        if len(looks) == 1:
            db.on_schedule()
        looks.append("second")
        return None

    replace_steps(engine._background, monkeypatch, first, second)
    wake(engine)
    wait_until(lambda: len(looks) == 4)
    time.sleep(0.05)
    assert looks == ["first", "second", "first", "second"]


def test_callers_find_room_while_there_is_endless_work(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    create(engine)

    rounds = 0

    def endless(db: Database) -> float | None:
        nonlocal rounds
        rounds += 1
        time.sleep(0.004)
        return 0.0

    replace_steps(engine._background, monkeypatch, endless)
    wake(engine)
    wait_until(lambda: rounds)
    before = rounds
    for number in range(50):
        engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": str(number)}}})
    # A thread that takes the lock again at once would have hundreds of rounds before anybody else gets it.
    assert rounds - before < 50 * 10


def test_work_is_durable_when_a_sweep_returns(tmp_path: Path) -> None:
    now = 1_800_000_000.0
    with Engine.open(tmp_path, clock=lambda: now) as engine:
        remember_token(engine, "old", now - 1000)
        engine.sweep()
        assert engine._storage.open_commit is None


def test_no_wake_up_is_lost_while_other_work_is_due(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def often(db: Database) -> float | None:
        return 0.0005

    def only_when_woken(db: Database) -> float | None:
        nonlocal looks
        looks += 1
        return None

    replace_steps(engine._background, monkeypatch, often, only_when_woken)
    for number in range(300):
        before = looks
        wake(engine)
        wait_until(lambda before=before: looks > before, 5.0)  # type: ignore[misc]
        time.sleep(number % 7 * 0.0002)


class Simulation:
    """Background work without its thread, on a clock of its own; changes come at any point, also in a look.

    There are three kinds of work. A change adds some that is due later, and wakes as operations do.
    """

    def __init__(self, engine: Engine, in_between: Iterator[tuple[int, float]]) -> None:
        self.now = 1000.0
        self.todo: list[list[float]] = [[], [], []]
        self._in_between = in_between
        self._database = engine._database
        self.work = BackgroundWork(self._database)
        self.work._thread = threading.Thread()  # never started: the test looks when it is time

    def change(self, kind: int, seconds: float) -> None:
        with self._database.storage.turn():
            self.todo[kind].append(self.now + seconds)
            self.work.wake(seconds)

    def step(self, kind: int, db: Database) -> float | None:
        self._maybe_change()
        self.todo[kind] = [due for due in self.todo[kind] if due > self.now]
        pause = min(self.todo[kind], default=None)
        self._maybe_change()
        return None if pause is None else pause - self.now

    def _maybe_change(self) -> None:
        kind, seconds = next(self._in_between, (0, -1.0))
        if seconds >= 0:
            self.change(kind, seconds)

    def check(self) -> None:
        for due in (due for kind in self.todo for due in kind):
            assert self.work._look_at <= max(due, self.now), "there is work that nobody will look at in time"


changes = st.tuples(st.integers(0, 2), st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0]))


@given(st.data(), st.lists(changes), st.lists(changes | st.just((0, -1.0))))
def test_whatever_changes_when_it_is_looked_at_in_time(
    data: st.DataObject, outside: list[tuple[int, float]], in_between: list[tuple[int, float]]
) -> None:
    with Engine.open() as engine, pytest.MonkeyPatch.context() as patch:
        simulation = Simulation(engine, iter(in_between))
        replace_steps(simulation.work, patch, *(partial(simulation.step, kind) for kind in range(3)))
        patch.setattr("tablewright.engine.background_work.time.monotonic", lambda: simulation.now)
        for kind, seconds in [*outside, (0, 0.0)]:
            simulation.change(kind, seconds)
            simulation.check()
            simulation.now += data.draw(st.sampled_from([0.0, 0.5, 1.0, 3.0]))
            # The thread may be late for its look, but not miss it.
            if simulation.work._look_at <= simulation.now and data.draw(st.booleans()):
                simulation.work._look()
                simulation.check()


def test_a_restored_table_becomes_active_however_often_others_are_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way it was found: the last step is always due, and a table waits for the first one."""
    with Engine.open() as engine:
        replace_steps(engine._background, monkeypatch, *background_work._STEPS, lambda db: 0.0005)
        create(engine)
        enable_ttl(engine)
        engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": "a"}}})
        arn = engine.call("CreateBackup", {"TableName": "things", "BackupName": "one"})["BackupDetails"]["BackupArn"]
        for number in range(30):
            name = f"restored-{number}"
            engine.call("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": name})
            wait_until(
                lambda name=name: (  # type: ignore[misc]
                    engine.call("DescribeTable", {"TableName": name})["Table"]["TableStatus"] == "ACTIVE"
                )
            )


def test_a_failing_step_is_reported_until_it_succeeds(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = True

    def step(db: Database) -> float | None:
        if broken:
            raise RuntimeError("no luck")
        return None

    replace_steps(engine._background, monkeypatch, step)
    monkeypatch.setattr(background_work, "_FIRST_BACK_OFF", 0.01)
    assert engine._background.problems() == []
    wake(engine)
    wait_until(engine._background.problems)
    assert engine._background.problems() == ["background work is failing: RuntimeError('no luck')"]
    broken = False
    wait_until(lambda: not engine._background.problems())


def test_a_dead_thread_is_reported(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def step(db: Database) -> float | None:
        raise SystemExit("out")

    replace_steps(engine._background, monkeypatch, step)
    wake(engine)
    wait_until(engine._background.problems)
    assert engine._background.problems() == ["background work has stopped: SystemExit('out')"]
