"""Background work in turns: it goes on after failures, ends within a bound, and loses no call to wake up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from tablewright.runtime.background.periodic_thread import PeriodicThread
from tablewright.runtime.system import Periodic
from tablewright.store import Unavailable
from tests.systems.harness import wait_for

HOUR = 3600.0


class Work(PeriodicThread):
    def __init__(self, *, every: float = 0.001, first: float | None = None, retry: float | None = None) -> None:
        super().__init__("work", role="maintenance", every=every, first=first, retry=retry)
        self.turns = 0
        self.errors: list[BaseException] = []
        self.began = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()

    def turn(self, is_stopped: Callable[[], bool]) -> None:
        self.turns += 1
        self.began.set()
        while not self.may_end.wait(0.001) and not is_stopped():
            pass
        if self.errors:
            raise self.errors.pop(0)


Start = Callable[[Work], Work]


@pytest.fixture
def started() -> Iterator[Start]:
    works: list[Work] = []

    def start(work: Work) -> Work:
        works.append(work)
        work.start()
        return work

    yield start
    for work in works:
        work.stop()


def test_turns_follow_each_other_until_it_is_stopped(started: Start) -> None:
    work = started(Work())
    wait_for(lambda: work.turns >= 3)
    work.stop()
    done = work.turns
    assert isinstance(work, Periodic)
    assert (work.has_ended, work.turns) == (False, done)


def test_it_stops_during_a_wait_and_during_a_turn(started: Start) -> None:
    waiting = started(Work(every=HOUR))
    waiting.stop()
    assert waiting.turns == 0
    busy = Work()
    busy.may_end.clear()
    started(busy)
    assert busy.began.wait(10)
    busy.stop()
    assert (busy.turns, busy.has_ended) == (1, False)


def test_what_was_never_started_can_be_stopped() -> None:
    work = Work()
    work.stop()
    assert (work.turns, work.has_ended) == (0, False)


@pytest.mark.parametrize("error", [Unavailable("later"), ValueError("wrong")], ids=["not now", "a mistake"])
def test_a_turn_that_fails_is_followed_by_another(started: Start, error: Exception) -> None:
    work = Work(every=HOUR, first=0.001, retry=HOUR)
    work.errors.append(error)
    started(work)
    wait_for(lambda: work.turns == 1 and not work.errors)
    work.wake()
    wait_for(lambda: work.turns == 2)
    assert not work.has_ended


def test_after_a_failure_the_next_turn_is_sooner(started: Start) -> None:
    work = Work(every=HOUR, first=0.001, retry=0.001)
    work.errors += [ValueError(), ValueError()]
    started(work)
    wait_for(lambda: work.turns == 3)


def test_waking_it_during_a_turn_results_in_another_turn(started: Start) -> None:
    work = Work(every=HOUR, first=0.001)
    work.may_end.clear()
    started(work)
    assert work.began.wait(10)
    work.wake()
    work.may_end.set()
    wait_for(lambda: work.turns == 2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_has_ended_by_itself_is_seen(started: Start) -> None:
    work = Work()
    work.errors.append(SystemExit())
    started(work)
    wait_for(lambda: work.has_ended)
