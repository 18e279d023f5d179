"""An outage of a model costs nobody: runs wait, are paused where they are, and try those who failed again."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tablewright.runtime import Runtime, Seen, Settings
from tablewright.runtime.entity_tags import entity_tag
from tablewright.runtime.errors import PreconditionFailed, StateConflict
from tablewright.systems import load
from tablewright.systems.engagement.configuration import Configuration
from tablewright.systems.engagement.model import Candidate, FailedCustomer, Program, Run, RunState, Slot
from tablewright.systems.engagement.platform import Platform
from tablewright.systems.engagement.runs.run_records import Held
from tests.systems.dying_backend import Died
from tests.systems.engagement.engagement_fixtures import Programme, Workshop, program, put_and_approve, write
from tests.systems.engagement.web import Asked, Reply, Web
from tests.systems.harness import Served, at_once, serving, wait_for


class Endpoint:
    """A model that scores everybody with a half, unless it is told to do something else instead."""

    def __init__(self) -> None:
        self.instead: Callable[[list[str]], Reply | str] = lambda customers: "scores"
        self.answered: list[str] = []

    def __call__(self, asked: Asked) -> Reply:
        customers = [each["customerId"] for each in asked.json["customers"]]
        reply = self.instead(customers)
        if reply != "scores":
            assert not isinstance(reply, str)
            return reply
        self.answered += customers
        return 200, json.dumps({"scores": [0.5] * len(customers)}).encode()


@contextmanager
def endpoint() -> Iterator[tuple[Endpoint, Web]]:
    made = Endpoint()
    with Web(made) as web:
        yield made, web


def scored_by(web: Web, **changes: Any) -> dict[str, Any]:
    model = {"modelId": "remote", "endpoint": web.url, "weight": 1, "timeoutSeconds": 2, "batchSize": 10}
    return program(scoringModels=[model], **changes)


def people(workshop: Workshop, number: int) -> None:
    write(workshop.folder / "customers.csv", [(f"c-{each:05}", each, "IT", each) for each in range(number)])


# -- waiting, and being paused ------------------------------------------------------------------------------------


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize("status", [500, 429, 401])
def test_a_run_waits_out_a_short_outage_of_a_model_and_fails_no_customer(workshop: Workshop, status: int) -> None:
    people(workshop, 60)
    with endpoint() as (model, web):
        down_until = [0.0]

        def briefly(customers: list[str]) -> Reply | str:
            if "c-00020" in customers and not down_until[0]:
                down_until[0] = time.monotonic() + 0.7
            return (status, b"") if time.monotonic() < down_until[0] else "scores"

        model.instead = briefly
        run = workshop.run(workshop.put(scored_by(web)))
    assert (run.state, run.counts.candidates, run.counts.failed) == (RunState.COMPLETED, 60, 0)
    assert (run.errors, run.waiting_for, run.failure) == ({}, None, None)


@pytest.mark.requirement("CE8")
def test_a_run_that_waits_says_so_and_can_be_stopped(workshop: Workshop) -> None:
    people(workshop, 30)
    with endpoint() as (model, web):
        model.instead = lambda customers: (503, b"") if "c-00010" in customers or len(customers) == 1 else "scores"
        runs = workshop.runs(chunk=10)
        held = runs.begin(workshop.put(scored_by(web)))
        thread = threading.Thread(target=runs.execute, args=(held,), daemon=True)
        thread.start()
        waiting = wait_for(lambda: runs.get(held.slot).waiting_for)
        assert waiting == "remote: it responded with 503"
        assert runs.get(held.slot).state is RunState.RUNNING
        runs.request(runs.get(held.slot), "stop")
        thread.join(20)
        stopped = runs.get(held.slot)
        assert (stopped.state, stopped.counts.read, stopped.waiting_for) == (RunState.STOPPED, 10, None)


@pytest.mark.requirement("CE8")
def test_a_run_that_has_waited_too_long_is_paused_and_resumed_at_its_place(workshop: Workshop) -> None:
    people(workshop, 60)
    with endpoint() as (model, web):
        model.instead = lambda customers: "scores" if max(customers) < "c-00020" else (503, b"")
        # It knows a customer whom the model scored, but the model is down for that one as well by now.
        down: list[bool] = []

        def goes_down(customers: list[str]) -> Reply | str:
            if max(customers) >= "c-00020":
                down.append(True)
            return (503, b"") if down else "scores"

        model.instead = goes_down
        runs = workshop.runs(chunk=20, outage_seconds=0.5)
        paused = runs.execute(runs.begin(workshop.put(scored_by(web))))
        assert (paused.state, paused.counts.read, paused.counts.failed) == (RunState.PAUSED, 20, 0)
        assert str(paused.failure).startswith("remote: it ")
        assert paused.checkpoint.customer_id == "c-00019"
        assert list(workshop.store.iterate(Slot)) == []
        down.clear()
        model.instead = lambda customers: "scores"
        # The endpoint is left alone for two seconds after five failures.
        ended = workshop.runs(chunk=20)
        ended_run = ended.execute(ended.resume(paused))
    assert (ended_run.state, ended_run.counts.candidates, ended_run.attempt) == (RunState.COMPLETED, 60, 2)
    assert ended_run.failure is None
    assert len(model.answered) == len(set(model.answered)) == 60


@pytest.mark.requirement("CE8")
def test_a_model_that_may_not_be_called_pauses_the_run_at_once(workshop: Workshop) -> None:
    people(workshop, 3)
    model = {"modelId": "remote", "endpoint": "http://models.example.org/", "weight": 1}
    run = workshop.run(workshop.put(program(scoringModels=[model])))
    assert (run.state, run.counts.read) == (RunState.PAUSED, 0)
    assert "models.example.org is not one of the allowed hosts; add it to outbound_hosts" in str(run.failure)


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize("poison", ["c-00000", "c-00049"])
def test_a_batch_that_a_model_cannot_answer_while_it_answers_others_does_not_stop_the_run(
    workshop: Workshop, poison: str
) -> None:
    people(workshop, 50)
    with endpoint() as (model, web):
        model.instead = lambda customers: (500, b"") if poison in customers else "scores"
        run = workshop.run(workshop.put(scored_by(web)))
    assert (run.state, run.counts.candidates, run.counts.failed) == (RunState.COMPLETED, 40, 10)
    assert run.errors == {"remote: it responded with 500": 10}


# -- customers who failed -----------------------------------------------------------------------------------------


@pytest.mark.requirement("CE8")
def test_customers_who_failed_are_tried_again_when_the_run_is_resumed(workshop: Workshop) -> None:
    people(workshop, 50)
    with endpoint() as (model, web):
        model.instead = lambda customers: (422, b"") if "c-00010" in customers or "c-00030" in customers else "scores"
        made = workshop.put(scored_by(web))
        runs = workshop.runs(chunk=20)
        run = runs.execute(runs.begin(made))
        assert (run.state, run.counts.candidates, run.counts.failed) == (RunState.COMPLETED, 30, 20)
        assert run.errors == {"remote: it responded with 422": 20}
        assert len(list(workshop.store.iterate(FailedCustomer))) == 20
        # Half of them fail again, for another reason; one has left the source.
        model.instead = lambda customers: (400, b"") if "c-00010" in customers else "scores"
        rows = [(f"c-{each:05}", each, "IT", each) for each in range(50) if each != 35]
        write(workshop.folder / "customers.csv", rows)
        again = runs.execute(runs.resume(run))
        assert (again.state, again.attempt) == (RunState.COMPLETED, 2)
        assert (again.counts.read, again.counts.candidates, again.counts.failed) == (49, 39, 10)
        assert again.errors == {"remote: it responded with 400": 10}
        assert {each.customer_id for each in again.samples} == {f"c-{each:05}" for each in range(10, 20)}
        model.instead = lambda customers: "scores"
        last = runs.execute(runs.resume(again))
        assert (last.counts.read, last.counts.candidates, last.counts.failed, last.errors) == (49, 49, 0, {})
        assert (last.samples, list(workshop.store.iterate(FailedCustomer))) == ([], [])
    with pytest.raises(StateConflict, match="is completed, without failed customers"):
        runs.resume(last)
    assert all(candidate.version == 1 for candidate in workshop.store.iterate(Candidate))


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10))])
def test_a_run_that_dies_while_it_tries_customers_again_tries_each_once(workshop: Workshop, seed: int) -> None:
    entropy = random.Random(seed)
    people(workshop, 80)
    backend = workshop.mortal()
    with endpoint() as (model, web):
        model.instead = lambda customers: (422, b"") if min(customers) < "c-00060" else "scores"
        runs = workshop.runs(workshop.store_on(backend), chunk=20)
        run = runs.execute(runs.begin(workshop.put(scored_by(web, maxFailedShare=1))))
        assert run.counts.failed == 60
        model.instead = lambda customers: (422, b"") if "c-00030" in customers else "scores"
        held: Held | None = runs.resume(run)
        deaths = 0
        while held is not None:
            backend.live_for(entropy.randrange(1, 20) if deaths < 4 else None, after=entropy.random() < 0.5)
            try:
                runs.execute(held)
                held = None
            except Died:
                deaths += 1
                backend.live_for(None)
                runs = workshop.runs(workshop.store_on(backend), chunk=20)
                runs.free_slots()
                (slot,) = workshop.store.query(Slot.held_until()).items or (None,)
                held = None if slot is None else runs.take_over(slot)
    (ended,) = workshop.store.iterate(Run)
    assert deaths > 0
    assert (ended.state, ended.counts.read) == (RunState.COMPLETED, 80)
    assert (ended.counts.candidates, ended.counts.failed) == (70, 10)
    assert ended.errors == {"remote: it responded with 422": 10}
    assert len(list(workshop.store.iterate(FailedCustomer))) == 10
    assert all(candidate.version == 1 for candidate in workshop.store.iterate(Candidate))


@pytest.mark.requirement("CE8")
def test_a_run_in_which_too_many_customers_fail_has_failed(workshop: Workshop) -> None:
    people(workshop, 100)
    with endpoint() as (model, web):
        model.instead = lambda customers: (422, b"") if max(customers) < "c-00030" else "scores"
        allowed = workshop.put(scored_by(web, maxFailedShare=0.3))
        assert workshop.run(allowed).state is RunState.COMPLETED
        strict = workshop.put(scored_by(web, maxFailedShare=0.29) | {"candidateTTLDays": 3}, "strict")
        runs = workshop.runs(chunk=10)
        run = runs.execute(runs.begin(strict))
        assert run.state is RunState.FAILED
        # As soon as it is certain, and not after all the rest.
        assert (run.counts.read, run.counts.failed) == (30, 30)
        assert str(run.failure).startswith("30 of 100 customers failed, more than maxFailedShare (0.29) allows")
        model.instead = lambda customers: "scores"
        ended = runs.execute(runs.resume(run))
    assert (ended.state, ended.counts.candidates, ended.counts.failed) == (RunState.COMPLETED, 100, 0)


@pytest.mark.requirement("CE8")
def test_the_failed_customers_of_a_run_are_forgotten_with_it(workshop: Workshop) -> None:
    people(workshop, 30)
    with endpoint() as (model, web):
        model.instead = lambda customers: (422, b"")
        run = workshop.run(workshop.put(scored_by(web, maxFailedShare=1)))
    assert len(list(workshop.store.iterate(FailedCustomer))) == 30
    workshop.runs().forget(run.program_id, run.marketplace_id, run.run_id)
    assert list(workshop.store.iterate(FailedCustomer)) == []


# -- who resumes --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("CE8")
def test_a_run_is_resumed_by_one_of_many_and_only_as_it_was_seen(workshop: Workshop) -> None:
    people(workshop, 3)
    with endpoint() as (model, web):
        model.instead = lambda customers: (503, b"")
        runs = workshop.runs(outage_seconds=0)
        paused = runs.execute(runs.begin(workshop.put(scored_by(web))))
        seen = Seen(frozenset({entity_tag(paused)}))
        with pytest.raises(PreconditionFailed):
            runs.resume(paused, Seen(frozenset({"another"})))

        def resume(number: int) -> str:
            try:
                workshop.runs().resume(runs.get(paused), seen if number % 2 else Seen())
            except (StateConflict, PreconditionFailed) as problem:
                return type(problem).__name__
            return "resumed"

        found = at_once(6, resume)
    assert found.count("resumed") == 1
    assert runs.get(paused).attempt == 2


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(load("engagement"), data=tmp_path, outbound_hosts=["127.0.0.1"], outage_seconds=0.3) as served:
        yield served


@pytest.mark.requirement("CE8")
def test_a_paused_run_is_shown_resumed_and_cancelled_over_http(served: Served, admin: httpx.Client) -> None:
    with endpoint() as (model, web):
        model.instead = lambda customers: (503, b"")
        made = Programme(served, admin, scoringModels=[{"modelId": new_model(), "endpoint": web.url, "weight": 1}])
        paused = made.run()
        assert (paused["state"], paused["attempt"], paused["waitingFor"]) == ("paused", 1, None)
        assert "it responded with 503" in paused["failure"]
        place = f"{made.path}/runs/{paused['runId']}"
        tag = admin.get(place).headers["ETag"]
        assert admin.post(f"{place}/resume", headers={"If-Match": '"another"'}).status_code == 412
        resumed = admin.post(f"{place}/resume", headers={"If-Match": tag})
        assert (resumed.status_code, resumed.headers["ETag"] != tag) == (202, True)
        assert made.ended(paused["runId"])["state"] == "paused"
        assert admin.post(f"{place}/resume", headers={"If-Match": tag}).status_code == 412
        model.instead = lambda customers: "scores"
        admin.post(f"{place}/resume")
        ended = made.ended(paused["runId"])
        # The endpoint may be left alone still.
        while ended["state"] == "paused":
            admin.post(f"{place}/resume")
            ended = made.ended(paused["runId"])
        assert (ended["state"], ended["counts"]["candidates"]) == ("completed", 1)
        model.instead = lambda customers: (503, b"")
        second = Programme(served, admin, scoringModels=[{"modelId": new_model(), "endpoint": web.url, "weight": 1}])
        place = f"{second.path}/runs/{second.run()['runId']}"
        tag = admin.get(place).headers["ETag"]
        assert admin.post(f"{place}/cancel", headers={"If-Match": '"another"'}).status_code == 412
        assert admin.post(f"{place}/cancel", headers={"If-Match": tag}).json()["state"] == "cancelled"
        assert admin.post(f"{place}/resume").status_code == 409


@pytest.mark.requirement("CE8")
def test_a_run_that_was_paused_is_taken_up_unless_its_program_has_changed(tmp_path: Path) -> None:
    given: dict[str, Any] = {"memory": True, "data": tmp_path, "outbound_hosts": ["127.0.0.1"], "outage_seconds": 0}
    runtime = Runtime.open(Settings(**given), load("engagement"))
    try:
        for each in load("engagement"):
            runtime.sync_store.ensure_tables(*each.tables, *each.design.internal_tables)
        platform = Platform(runtime)
        write(tmp_path / "sources" / "customers.csv", [("c-1", 1, "IT", 1)])

        def put(body: dict[str, Any]) -> Program:
            return asyncio.run(put_and_approve(platform.engagement, Configuration.model_validate(body)))

        with Web(lambda asked: (503, b"")) as web:
            made = put(scored_by(web))
            paused = platform.runs.execute(platform.runs.begin(made))
        assert paused.state is RunState.PAUSED
        found = platform.unfinished(made)
        assert found is not None
        assert found.run_id == paused.run_id
        # Its endpoint may be another one by now, and the run would go by the old one.
        assert platform.unfinished(put(program())) is None
    finally:
        runtime.close()


def new_model() -> str:
    return f"m-{random.randrange(10**9)}"


@pytest.mark.slow
@pytest.mark.requirement("CE8")
def test_three_seconds_of_failures_cost_none_of_ten_thousand_customers(workshop: Workshop) -> None:
    people(workshop, 10_001)
    with endpoint() as (model, web):
        down = [0.0, 0.0]

        def three_seconds(customers: list[str]) -> Reply | str:
            if len(model.answered) >= 1_990 and not down[0]:
                down[:] = [time.monotonic(), time.monotonic() + 3]
            return (500, b"") if down[0] <= time.monotonic() < down[1] else "scores"

        model.instead = three_seconds
        body = scored_by(web)
        body["scoringModels"][0]["batchSize"] = 100
        runs = workshop.runs(chunk=500)
        run = runs.execute(runs.begin(workshop.put(body)))
    assert (run.state, run.counts.candidates, run.counts.failed) == (RunState.COMPLETED, 10_001, 0)
