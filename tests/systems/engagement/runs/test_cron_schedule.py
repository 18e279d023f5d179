"""Schedules: in the program's time zone, begun once, missed ones caught up with once, and runs taken up again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tablewright.store import AsyncStore
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.systems.engagement.configuration import Configuration
from tablewright.systems.engagement.delivery.deliveries import Deliveries
from tablewright.systems.engagement.model import Program, Run, RunState, Schedule, ScheduleKind, Slot
from tablewright.systems.engagement.runs.background import Runner
from tablewright.systems.engagement.runs.cron_schedule import next_due
from tablewright.systems.engagement.runs.run_records import LEASE
from tablewright.systems.engagement.service import Engagement
from tests.systems.engagement.engagement_fixtures import Workshop, program, put_and_approve, write
from tests.systems.engagement.recording_channel import Post
from tests.systems.harness import at_once, wait_for


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize(
    ("cron", "zone", "after", "due"),
    [
        ("0 2 * * *", "UTC", "2026-03-02T12:00", "2026-03-03T02:00"),
        ("0 2 * * *", "Europe/Rome", "2026-01-10T12:00", "2026-01-11T01:00"),
        ("0 2 * * *", "Europe/Rome", "2026-07-10T12:00", "2026-07-11T00:00"),
        # The hour that the clocks leave out, and the one that they have twice.
        ("30 2 * * *", "Europe/Rome", "2026-03-28T12:00", "2026-03-29T01:00"),
        ("30 2 * * *", "Europe/Rome", "2026-10-24T12:00", "2026-10-25T00:30"),
        ("*/15 * * * *", "UTC", "2026-03-02T12:00", "2026-03-02T12:15"),
        ("0 9 * * MON", "America/New_York", "2026-03-02T12:00", "2026-03-02T14:00"),
    ],
)
def test_a_schedule_is_due_by_the_clock_of_its_time_zone(cron: str, zone: str, after: str, due: str) -> None:
    found = next_due(cron, zone, datetime.fromisoformat(after).replace(tzinfo=UTC))
    assert found.strftime("%Y-%m-%dT%H:%M") == due


class Clockwork:
    """A runner whose ticks are the test's."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        self.post = Post()
        self.runner = self.another()
        self.service = Engagement(
            AsyncStore(EmbeddedBackend(workshop.engine, owned=False), clock=workshop.seconds),
            workshop.seconds,
            lambda configuration: None,
        )

    def another(self) -> Runner:
        workshop = self.workshop
        deliveries = Deliveries(workshop.store, {"email": self.post}, workshop.clock)
        return Runner(workshop.store, workshop.runs(), deliveries, workshop.clock)

    async def put(self, **changes: Any) -> Program:
        configuration = Configuration.model_validate(program(**changes))
        return await put_and_approve(self.service, configuration)

    @property
    def runs(self) -> list[Run]:
        return list(self.workshop.store.iterate(Run))

    def settle(self) -> list[Run]:
        """All runs, once none is going on."""

        def ended() -> Any:
            return all(run.state is not RunState.RUNNING for run in self.runs)

        wait_for(ended)
        return self.runs

    def due(self, kind: ScheduleKind = ScheduleKind.BATCH) -> datetime | None:
        found = self.workshop.store.get(Schedule.of_program(program_id="p", marketplace_id="US", kind=kind))
        return None if found is None else found.due


@pytest.fixture
def clockwork(workshop: Workshop) -> Iterator[Clockwork]:
    write(workshop.folder / "customers.csv", [("c-1", 1, "IT", 1)])
    made = Clockwork(workshop)
    yield made
    made.runner.stop()


def run_async(awaitable: Any) -> Any:
    import asyncio

    return asyncio.run(awaitable)


@pytest.mark.requirement("CE8")
def test_a_run_starts_when_it_is_due_and_not_before(clockwork: Clockwork) -> None:
    run_async(clockwork.put(batchSchedule="0 14 * * *", timeZone="Europe/Rome"))
    clockwork.workshop.now += timedelta(minutes=59)
    clockwork.runner.tick()
    assert clockwork.runs == []
    clockwork.workshop.now += timedelta(minutes=2)
    clockwork.runner.tick()
    (run,) = clockwork.settle()
    assert (run.trigger, run.state, run.counts.candidates) == ("schedule", RunState.COMPLETED, 1)
    clockwork.runner.tick()
    assert len(clockwork.runs) == 1
    assert clockwork.due() == datetime(2026, 3, 3, 13, tzinfo=UTC)


@pytest.mark.requirement("CE8")
def test_however_many_were_missed_one_run_catches_up(clockwork: Clockwork) -> None:
    run_async(clockwork.put(batchSchedule="0 * * * *"))
    clockwork.workshop.now += timedelta(days=3, minutes=10)
    clockwork.runner.tick()
    clockwork.settle()
    clockwork.runner.tick()
    assert len(clockwork.settle()) == 1
    assert clockwork.due() == datetime(2026, 3, 5, 13, tzinfo=UTC)


@pytest.mark.requirement("CE8")
def test_only_one_of_several_processes_starts_a_run(clockwork: Clockwork) -> None:
    run_async(clockwork.put(batchSchedule="0 * * * *"))
    clockwork.workshop.now += timedelta(hours=1)
    at_once(4, lambda _: clockwork.another().tick())
    assert len(clockwork.settle()) == 1


@pytest.mark.requirement("CE8")
def test_a_run_that_is_due_during_another_is_skipped(clockwork: Clockwork) -> None:
    made = run_async(clockwork.put(batchSchedule="0 * * * *"))
    clockwork.workshop.now += timedelta(hours=1)
    held = clockwork.workshop.runs().begin(made)
    clockwork.runner.tick()
    assert [run.run_id for run in clockwork.runs] == [held.run.run_id]
    assert clockwork.due() == datetime(2026, 3, 2, 14, tzinfo=UTC)


@pytest.mark.requirement("CE6", "CE8")
def test_a_disabled_program_does_not_run_and_does_not_catch_up(clockwork: Clockwork) -> None:
    run_async(clockwork.put(batchSchedule="0 * * * *", enabled=False))
    clockwork.workshop.now += timedelta(hours=1)
    clockwork.runner.tick()
    assert (clockwork.runs, clockwork.due()) == ([], datetime(2026, 3, 2, 14, tzinfo=UTC))


@pytest.mark.requirement("CE6", "CE8")
def test_a_schedule_follows_the_program(clockwork: Clockwork) -> None:
    run_async(clockwork.put(batchSchedule="0 2 * * *"))
    first = clockwork.due()
    clockwork.workshop.now += timedelta(hours=1)
    run_async(clockwork.put(batchSchedule="0 2 * * *", programName="Another name"))
    assert clockwork.due() == first
    run_async(clockwork.put(batchSchedule="0 3 * * *"))
    assert clockwork.due() == datetime(2026, 3, 3, 3, tzinfo=UTC)
    run_async(clockwork.put())
    assert clockwork.due() is None


@pytest.mark.requirement("CE10")
def test_deliveries_have_a_schedule_of_their_own(clockwork: Clockwork) -> None:
    made = run_async(clockwork.put(deliverySchedule="0 9 * * *"))
    clockwork.workshop.run(made)
    clockwork.runner.tick()
    assert clockwork.post.sent == []
    clockwork.workshop.now = datetime(2026, 3, 3, 9, 1, tzinfo=UTC)
    clockwork.runner.tick()
    wait_for(lambda: clockwork.post.customers == [("email", "c-1")])
    assert clockwork.due(ScheduleKind.DELIVERY) == datetime(2026, 3, 4, 9, tzinfo=UTC)


@pytest.mark.requirement("CE8")
def test_a_run_whose_process_is_gone_is_resumed(clockwork: Clockwork) -> None:
    made = run_async(clockwork.put())
    held = clockwork.workshop.runs().begin(made)
    clockwork.runner.tick()
    assert clockwork.runs[0].state is RunState.RUNNING
    clockwork.workshop.now += LEASE + timedelta(seconds=1)
    clockwork.runner.tick()
    (run,) = clockwork.settle()
    assert (run.run_id, run.state) == (held.run.run_id, RunState.COMPLETED)
    assert clockwork.workshop.store.get(Slot.of_program(program_id="p", marketplace_id="US")) is None


@pytest.mark.requirement("CE8")
def test_a_process_that_stops_leaves_its_runs_to_the_next(clockwork: Clockwork) -> None:
    made = run_async(clockwork.put())
    runs = clockwork.workshop.runs()
    held = runs.begin(made)
    stopping = clockwork.another()
    stopping.stop()
    assert stopping.launch(held).state is RunState.RUNNING
    wait_for(lambda: clockwork.workshop.store.query(Slot.held_until(until=clockwork.workshop.now)).items)
    clockwork.runner.tick()
    (run,) = clockwork.settle()
    assert run.state is RunState.COMPLETED
