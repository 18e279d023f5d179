"""The background thread: when there is one, what it survives, and how it leaves room for callers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import Engine, background_work
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


def wake(engine: Engine, seconds: float = 0.0) -> None:
    database = engine._database
    with database.storage.turn():
        database.on_schedule(seconds)


def remember_token(engine: Engine, token: str, at: float) -> None:
    database = engine._database
    with database.storage.turn():
        database.storage.write()(
            "INSERT INTO tokens (token, fingerprint, at, response) VALUES (?, x'', ?, x'')", (token, at)
        )
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

    monkeypatch.setattr(background_work, "_STEPS", (fails_once, works))
    monkeypatch.setattr(background_work, "_FIRST_BACK_OFF", 0.01)
    monkeypatch.setattr(background_work, "_is_needed", lambda db: True)
    with caplog.at_level(logging.ERROR, "tablewright.engine"):
        wake(engine)
        wait_until(lambda: len(calls) == 3)
    assert calls == ["one", "other", "one"]
    assert "no luck" in caplog.text


def test_what_fails_for_long_is_tried_less_and_less_often(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    moments: list[float] = []

    def fails(db: Database) -> float | None:
        moments.append(time.monotonic())
        raise RuntimeError("no luck")

    monkeypatch.setattr(background_work, "_STEPS", (fails,))
    monkeypatch.setattr(background_work, "_FIRST_BACK_OFF", 0.02)
    monkeypatch.setattr(background_work, "_is_needed", lambda db: True)
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

    monkeypatch.setattr(background_work, "_STEPS", (step,))
    monkeypatch.setattr(background_work, "_is_needed", lambda db: True)
    wake(engine)
    wait_until(lambda: looks)
    # The look is over when the next one has a time.
    wait_until(lambda: engine._background._next_look < float("inf"))
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

    monkeypatch.setattr(background_work, "_STEPS", (first, second))
    monkeypatch.setattr(background_work, "_is_needed", lambda db: True)
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

    monkeypatch.setattr(background_work, "_STEPS", (endless,))
    monkeypatch.setattr(background_work, "_is_needed", lambda db: True)
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
