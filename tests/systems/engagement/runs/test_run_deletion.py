"""The record of a run is deleted when nobody carries it out; whatever is wrong with it, the program can run again."""

from __future__ import annotations

import pytest

from tablewright.runtime.errors import ResourceNotFound, StateConflict
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Request, Response
from tablewright.systems.engagement.model import Run, RunState
from tablewright.systems.engagement.runs.run_records import LEASE
from tests.systems.engagement.engagement_fixtures import Workshop, program, write


def customers(workshop: Workshop) -> None:
    write(workshop.folder / "customers.csv", [(f"c-{number}", 40, "IT", number) for number in range(5)])


def stopped(workshop: Workshop) -> Run:
    """A run that was stopped behind its first customer."""
    customers(workshop)
    runs = workshop.runs(chunk=1)
    held = runs.begin(workshop.put(program()))

    def stop(run: Run) -> None:
        if run.counts.read == 1:
            runs.request(runs.get(run), "stop")

    return runs.execute(held, report=stop)


@pytest.mark.requirement("CE8")
def test_a_running_run_is_not_deleted(workshop: Workshop) -> None:
    customers(workshop)
    runs = workshop.runs()
    held = runs.begin(workshop.put(program()))
    with pytest.raises(StateConflict, match="is in progress"):
        runs.forget("p", "US", held.run.run_id)
    assert runs.execute(held).state is RunState.COMPLETED
    runs.forget("p", "US", held.run.run_id)
    with pytest.raises(ResourceNotFound):
        runs.forget("p", "US", held.run.run_id)


@pytest.mark.requirement("CE8")
def test_a_slot_without_a_run_is_released(workshop: Workshop) -> None:
    customers(workshop)
    runs, made = workshop.runs(), workshop.put(program())
    held = runs.begin(made)
    workshop.store.delete(held.run)
    with pytest.raises(StateConflict):
        runs.forget("p", "US", held.run.run_id)
    workshop.now += LEASE * 2
    with pytest.raises(StateConflict):
        runs.begin(made)
    runs.forget("p", "US", held.run.run_id)
    assert workshop.run(made).state is RunState.COMPLETED


@pytest.mark.requirement("CE8")
def test_a_run_that_is_resumed_meanwhile_is_not_deleted(workshop: Workshop) -> None:
    run = stopped(workshop)
    assert run.state is RunState.STOPPED

    class Faster(EmbeddedBackend):
        """Somebody resumes the run right before it is deleted."""

        def call(self, request: Request) -> Response:
            if request.operation in ("TransactWriteItems", "DeleteItem") and not taken_up:
                taken_up.append(workshop.runs().resume(run))
            return super().call(request)

    taken_up: list[object] = []
    store = workshop.store_on(Faster(workshop.engine, owned=False))
    with pytest.raises(StateConflict, match="just been resumed"):
        workshop.runs(store).forget("p", "US", run.run_id)
    assert workshop.runs().get(run).state is RunState.RUNNING
