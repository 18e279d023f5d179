"""Events change candidates while a run writes them: it waits, writes those customers alone, and never ends by it."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tablewright.runtime.errors import StateConflict
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Request, Response
from tablewright.systems.engagement.model import Candidate, Run, RunState
from tablewright.systems.engagement.reactive import Event, Reactive
from tablewright.systems.engagement.runs.batch_run import Runs
from tablewright.systems.engagement.sources.connectors import Sources
from tests.systems.engagement.engagement_fixtures import Workshop, program, write
from tests.systems.harness import at_once

PEOPLE = 60


class Hasty(random.Random):
    """Never waits."""

    def uniform(self, a: float, b: float) -> float:
        return a


class Contested(EmbeddedBackend):
    """Somebody changes some customers' candidates right before they are written, so often."""

    def __init__(self, workshop: Workshop, times: dict[str, int]) -> None:
        super().__init__(workshop.engine, owned=False)
        self._workshop = workshop
        self.left = dict(times)
        # The customers of each transaction that has candidates.
        self.batches: list[list[str]] = []

    def call(self, request: Request) -> Response:
        if request.operation == "TransactWriteItems":
            batch = _customers(request.body)
            if batch:
                self.batches.append(batch)
            for customer in batch:
                if self.left.get(customer, 0) > 0:
                    self.left[customer] -= 1
                    self._change(customer)
        return super().call(request)

    def _change(self, customer: str) -> None:
        (found,) = [each for each in self._workshop.store.iterate(Candidate) if each.customer_id == customer]
        found.context = [*found.context, {"event": len(found.context)}][-20:]
        self._workshop.store.put(found)


def _customers(body: Any) -> list[str]:
    puts = [action["Put"]["Item"] for action in body["TransactItems"] if "Put" in action]
    return [item["customerId"]["S"] for item in puts if "rejectionHistory" in item]


def ran(workshop: Workshop, times: dict[str, int]) -> tuple[Run, Contested]:
    """A second run over customers who are candidates already, while others change some of these."""
    write(workshop.folder / "customers.csv", [(f"c-{number:02}", 1, "IT", 1) for number in range(PEOPLE)])
    made = workshop.put(program())
    workshop.run(made)
    backend = Contested(workshop, times)
    pipeline = workshop.pipeline(workshop.store_on(backend))
    runs = Runs(pipeline, Sources(workshop.folder), workshop.clock, chunk=PEOPLE, entropy=Hasty())
    return runs.execute(runs.begin(made)), backend


def written(workshop: Workshop, run: Run) -> set[str]:
    return {each.customer_id for each in workshop.store.iterate(Candidate) if each.metadata.run_id == run.run_id}


@pytest.mark.requirement("CE8")
def test_customers_changed_during_a_run_are_written_with_their_latest_state(workshop: Workshop) -> None:
    times = {"c-00": 2, "c-07": 3, "c-08": 1, "c-31": 4, "c-59": 8}
    run, backend = ran(workshop, times)
    assert (run.state, run.counts.read, run.counts.candidates, run.errors) == (RunState.COMPLETED, PEOPLE, PEOPLE, {})
    assert written(workshop, run) == {f"c-{number:02}" for number in range(PEOPLE)}
    assert set(backend.left.values()) == {0}
    # What the others wrote is kept.
    kept = {each.customer_id: len(each.context) for each in workshop.store.iterate(Candidate) if each.context}
    assert kept == times


@pytest.mark.requirement("CE8")
def test_a_contested_customer_is_written_alone(workshop: Workshop) -> None:
    _, backend = ran(workshop, {"c-20": 3})
    first, before, *alone, last = backend.batches[:5]
    assert "c-20" in first
    assert before == [f"c-{number:02}" for number in range(20)]
    assert alone == [["c-20"]] * 2
    assert last == ["c-20"]
    assert all("c-20" not in batch for batch in backend.batches[5:])


@pytest.mark.requirement("CE8")
def test_a_customer_who_keeps_changing_is_one_error(workshop: Workshop) -> None:
    run, backend = ran(workshop, {"c-03": 10_000, "c-40": 10_000})
    assert (run.state, run.counts.read, run.counts.candidates) == (RunState.COMPLETED, PEOPLE, PEOPLE - 2)
    assert run.errors == {"other requests keep changing the candidate": 2}
    assert [each.customer_id for each in run.samples] == ["c-03", "c-40"]
    assert len(written(workshop, run)) == PEOPLE - 2
    # It was tried for a while, and not for ever.
    alone = Counter(batch[0] for batch in backend.batches if len(batch) == 1)
    assert alone == {"c-03": 10, "c-40": 10}


@pytest.mark.requirement("CE8")
def test_contested_customers_cause_no_errors_for_others(workshop: Workshop) -> None:
    """Twenty in a row, each of them twice: none was alone often enough to be given up."""
    run, _ = ran(workshop, {f"c-{number:02}": 2 for number in range(20)})
    assert (run.state, run.counts.candidates, run.errors) == (RunState.COMPLETED, PEOPLE, {})


@pytest.mark.requirement("CE9")
def test_concurrent_events_of_one_customer_all_count(workshop: Workshop) -> None:
    made = workshop.put(program(reactiveEnabled=True))
    reactive = Reactive(workshop.pipeline())

    def react(number: int) -> str:
        event = Event("c-1", None, {"points": 5, f"n{number}": number}, {})
        return reactive.react_all([made], event)[0].outcome

    assert at_once(40, react) == ["candidate"] * 40
    (found,) = workshop.store.iterate(Candidate)
    assert {f"n{number}" for number in range(40)} < set(found.attributes)


@pytest.mark.requirement("CE9")
def test_an_event_that_conflicts_for_a_while_is_counted(workshop: Workshop) -> None:
    made = workshop.put(program(reactiveEnabled=True))
    Reactive(workshop.pipeline()).react(made, Event("c-1", None, {"points": 5}, {}))
    backend = Contested(workshop, {"c-1": 8})
    reactive = Reactive(workshop.pipeline(workshop.store_on(backend)), entropy=Hasty())
    assert reactive.react(made, Event("c-1", None, {"points": 7}, {})).score == "7"


@pytest.mark.requirement("CE9")
def test_an_event_that_keeps_conflicting_is_to_be_sent_again(workshop: Workshop) -> None:
    made = workshop.put(program(reactiveEnabled=True))
    Reactive(workshop.pipeline()).react(made, Event("c-1", None, {"points": 5}, {}))
    backend = Contested(workshop, {"c-1": 1_000})
    reactive = Reactive(workshop.pipeline(workshop.store_on(backend)), entropy=Hasty())
    with pytest.raises(StateConflict, match="send the event again"):
        reactive.react(made, Event("c-1", None, {"points": 7}, {}))
    assert 1 < len(backend.batches) < 50
