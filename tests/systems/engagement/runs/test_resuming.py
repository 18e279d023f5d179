"""A run that dies anywhere and is resumed comes to the same candidates as one that does not, each of them once."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tablewright.model import attr
from tablewright.runtime.errors import StateConflict
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Request, Response
from tablewright.systems.engagement.model import Candidate, Rejection, Run, RunState, Slot
from tablewright.systems.engagement.runs.batch_run import Runs
from tablewright.systems.engagement.runs.run_records import LEASE, Held
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.scoring.scores import model
from tablewright.systems.engagement.sources.connectors import Sources
from tests.systems.dying_backend import Died
from tests.systems.engagement.engagement_fixtures import Workshop, program, write
from tests.systems.harness import wait_for

PEOPLE = 130


CONFIGURATION = program(
    dataConnectors=[
        {"type": "files", "tables": {"c": "first.csv"}, "query": "SELECT * FROM c"},
        {"type": "files", "tables": {"c": "second.csv"}, "query": "SELECT * FROM c WHERE age > 20"},
    ],
    scoringModels=[
        {"modelId": "test-points", "weight": 0.7, "maximum": 10},
        {"modelId": "test-age", "weight": 0.3, "maximum": 100},
    ],
    filterChain={
        "filters": ["eligibility", "preference"],
        "settings": {"eligibility": {"rule": {"attribute": "points", "op": "gt", "value": 1}}},
    },
)


@contextmanager
def prepared(folder: Path) -> Iterator[Workshop]:
    entropy = random.Random(5)
    with Workshop(folder) as workshop:
        for file, prefix in (("first.csv", "a"), ("second.csv", "b")):
            # Some scores are none: those customers fail, and are not counted twice either.
            rows = [
                (f"{prefix}-{number:03}", 18 + number % 60, "IT", "" if number % 17 == 3 else number % 9)
                for number in range(PEOPLE // 2)
            ]
            entropy.shuffle(rows)
            write(folder / file, rows)
        yield workshop


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Run, int]:
    """What is there after a run that nothing happened to, its record, and how many requests it took."""
    with prepared(tmp_path_factory.mktemp("undisturbed")) as workshop:
        backend = workshop.mortal()
        runs = workshop.runs(workshop.store_on(backend), chunk=20)
        run = runs.execute(runs.begin(workshop.put(CONFIGURATION)))
        assert run.state is RunState.COMPLETED
        return workshop.everything(), run, len(backend.requests)


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_a_run_that_dies_repeatedly_ends_with_the_same_result(
    tmp_path: Path, undisturbed: tuple[dict[str, Any], Run, int], seed: int
) -> None:
    expected, record, calls = undisturbed
    entropy = random.Random(seed)
    with prepared(tmp_path) as workshop:
        made = workshop.put(CONFIGURATION)
        backend = workshop.mortal()
        store = workshop.store_on(backend)
        runs = workshop.runs(store, chunk=20)
        held: Held | None = runs.begin(made)
        deaths = 0
        while held is not None:
            last = entropy.randrange(1, calls // 2) if deaths < 6 else None
            backend.live_for(last, after=entropy.random() < 0.5)
            try:
                runs.execute(held)
                held = None
            except Died:
                deaths += 1
                # Another process, which knows nothing but what is stored.
                backend.live_for(None)
                runs = workshop.runs(workshop.store_on(backend), chunk=20)
                runs.free_slots()
                (slot,) = workshop.store.query(Slot.held_until()).items or (None,)
                held = None if slot is None else runs.take_over(slot)
        (run,) = workshop.store.iterate(Run)
        assert deaths > 0
        assert workshop.everything() == expected
        assert (run.state, run.counts.read) == (RunState.COMPLETED, record.counts.read)
        assert (run.counts.candidates, run.counts.rejected) == (record.counts.candidates, record.counts.rejected)
        assert (run.counts.failed, run.errors) == (record.counts.failed, record.errors)
        assert all(candidate.version == 1 for candidate in workshop.store.iterate(Candidate))


@pytest.mark.requirement("CE8")
def test_a_process_that_lost_the_slot_writes_nothing_more(workshop: Workshop) -> None:
    write(workshop.folder / "customers.csv", [(f"c-{number}", 1, "IT", 1) for number in range(100)])
    made = workshop.put(program())
    slow, fast = workshop.runs(chunk=10), workshop.runs(chunk=10)
    held = slow.begin(made)
    written: list[int] = []

    def overtaken(run: Run) -> None:
        written.append(run.counts.read)
        if run.counts.read == 30:
            # This one falls asleep for longer than its lease, and somebody else takes the run up and ends it.
            workshop.now += 2 * LEASE
            assert fast.execute(fast.resume(slow.get(run))).state is RunState.COMPLETED

    ended = slow.execute(held, report=overtaken)
    assert max(written) == 30
    assert (ended.state, ended.counts.read) == (RunState.COMPLETED, 100)
    assert all(candidate.version == 1 for candidate in workshop.store.iterate(Candidate))


@pytest.mark.requirement("CE8")
def test_a_running_run_cannot_be_resumed_until_its_lease_expires(workshop: Workshop) -> None:
    write(workshop.folder / "customers.csv", [("c-1", 1, "IT", 1)])
    runs = workshop.runs()
    held = runs.begin(workshop.put(program()))
    with pytest.raises(StateConflict, match="is in progress"):
        runs.resume(held.run)
    workshop.now += LEASE + timedelta(seconds=1)
    with pytest.raises(StateConflict, match="was interrupted; resume or cancel it"):
        runs.begin(workshop.store.get_many([_program()])[0])  # type: ignore[arg-type]
    assert runs.execute(runs.resume(held.run)).state is RunState.COMPLETED


@pytest.mark.requirement("CE8")
def test_a_slot_is_held_however_long_a_step_takes(workshop: Workshop) -> None:
    def until() -> datetime:
        slot = workshop.store.get(Slot.of_program(program_id="p", marketplace_id="US"))
        assert slot is not None
        return slot.lease_end

    def renewed() -> None:
        before = until()
        wait_for(lambda: until() > before)

    @model("test-slow")
    def slow(prospects: Sequence[Prospect]) -> list[int]:
        for _ in range(2):
            renewed()
        return [1 for _ in prospects]

    write(workshop.folder / "customers.csv", [("c-1", 1, "IT", 1)])
    made = workshop.put(program(scoringModels=[{"modelId": "test-slow", "weight": 1}]))
    lease = timedelta(seconds=0.6)
    runs = Runs(workshop.pipeline(), Sources(workshop.folder), lambda: datetime.now(UTC), lease=lease)
    assert runs.execute(runs.begin(made)).state is RunState.COMPLETED


@pytest.mark.requirement("CE8")
def test_a_run_whose_process_is_gone_can_be_cancelled(workshop: Workshop) -> None:
    write(workshop.folder / "customers.csv", [("c-1", 1, "IT", 1)])
    runs = workshop.runs()
    made = workshop.put(program())
    held = runs.begin(made)
    workshop.now += LEASE + timedelta(seconds=1)
    assert runs.request(held.run, "cancel").state is RunState.CANCELLED
    assert runs.execute(runs.begin(made)).state is RunState.COMPLETED


@pytest.mark.requirement("CE8")
def test_a_run_that_kills_every_process_at_the_same_place_fails(workshop: Workshop) -> None:
    write(workshop.folder / "customers.csv", [("c-1", 1, "IT", 1)])
    runs = workshop.runs()
    held = runs.begin(workshop.put(program()))
    for _ in range(5):
        workshop.now += 2 * LEASE
        held = runs.resume(held.run)
    workshop.now += 2 * LEASE
    with pytest.raises(StateConflict, match="was interrupted too often"):
        runs.resume(held.run)
    failed = runs.get(held.run)
    assert (failed.state, failed.failure) == (
        RunState.FAILED,
        "it was interrupted 5 times in a row at the same position",
    )
    assert runs.execute(runs.resume(failed)).state is RunState.COMPLETED


@pytest.mark.requirement("CE5", "CE8")
def test_a_candidate_rejected_during_a_run_stays_rejected(workshop: Workshop) -> None:
    """The run has read the candidate before, and must not write over it."""
    write(workshop.folder / "customers.csv", [(f"c-{number}", 1, "IT", 1) for number in range(40)])
    made = workshop.put(program())
    workshop.run(made)
    backend = _Meddled(workshop)
    runs = workshop.runs(workshop.store_on(backend), chunk=40)
    backend.rejects = "c-7"
    assert runs.execute(runs.begin(made)).state is RunState.COMPLETED
    assert backend.rejects is None
    found = {candidate.customer_id: candidate for candidate in workshop.store.iterate(Candidate)}
    assert [each.filter for each in found["c-7"].rejection_history] == ["manual"]
    assert (found["c-7"].rejected, found["c-8"].rejected) == (True, False)


class _Meddled(EmbeddedBackend):
    """Somebody rejects a candidate right before it is written."""

    def __init__(self, workshop: Workshop) -> None:
        super().__init__(workshop.engine, owned=False)
        self._store = workshop.store
        self._now = workshop.now
        self.rejects: str | None = None

    def call(self, request: Request) -> Response:
        if request.operation == "TransactWriteItems" and self.rejects and self.rejects in str(request.body):
            customer, self.rejects = self.rejects, None
            (found,) = [each for each in self._store.iterate(Candidate) if each.customer_id == customer]
            history = [Rejection(reason="no", filter="manual", at=self._now)]
            self._store.update(
                found, attr(Candidate.rejected).set(True), attr(Candidate.rejection_history).set(history)
            )
        return super().call(request)


def _program() -> Any:
    from tablewright.systems.engagement.model import Program

    return Program.by_id(program_id="p", marketplace_id="US")
