"""Models at HTTP endpoints: what is slow, fails or lies is an error of some customers, and no run ends by it."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest

from tablewright.runtime.errors import Invalid
from tablewright.systems.engagement.configuration import ScoringModel
from tablewright.systems.engagement.delivery.outbound_http import Outbound
from tablewright.systems.engagement.model import Candidate, Run, RunState, Subject
from tablewright.systems.engagement.reactive import Event, Reactive
from tablewright.systems.engagement.scoring.http_models import FAILURES, MAX_CALL_ATTEMPTS, REST, Endpoints
from tablewright.systems.engagement.scoring.outages import PROBED_AFTER, ModelFailed
from tablewright.systems.engagement.scoring.pipeline import Pipeline
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.scoring.scores import Scorer
from tests.systems.engagement.engagement_fixtures import Workshop, program, write
from tests.systems.engagement.web import Asked, Reply, Web


def scoring(score: Callable[[dict[str, Any]], Any]) -> Callable[[Asked], Reply]:
    """A model that scores each customer."""

    def answer(asked: Asked) -> Reply:
        return 200, json.dumps({"scores": [score(each) for each in asked.json["customers"]]}).encode()

    return answer


def over_http(web: Web, **changes: Any) -> dict[str, Any]:
    models = [
        {"modelId": "remote", "endpoint": web.url + "/score", "weight": 1, "timeoutSeconds": 0.3, "batchSize": 10}
        | changes
    ]
    return program(scoringModels=models)


def people(workshop: Workshop, number: int) -> None:
    write(workshop.folder / "customers.csv", [(f"c-{each:03}", each, "IT", each) for each in range(number)])


def scored(workshop: Workshop) -> set[str]:
    return {candidate.customer_id for candidate in workshop.store.iterate(Candidate)}


@pytest.mark.requirement("CE8")
def test_an_endpoint_is_asked_in_batches_about_customers_and_their_subjects(workshop: Workshop) -> None:
    people(workshop, 25)
    with Web(scoring(lambda each: {"value": each["attributes"]["points"] / 100, "confidence": 0.9})) as web:
        run = workshop.run(workshop.put(over_http(web)))
    assert (run.state, run.counts.candidates) == (RunState.COMPLETED, 25)
    assert [len(asked.json["customers"]) for asked in web.asked] == [10, 10, 5]
    assert web.asked[0].json["modelId"] == "remote"
    assert web.asked[0].json["customers"][3] == {
        "customerId": "c-003",
        "subject": {"type": "program", "id": "p"},
        "attributes": {"age": 3, "country": "IT", "points": 3},
    }
    (found,) = [each for each in workshop.store.iterate(Candidate) if each.customer_id == "c-003"]
    assert (str(found.score), str(found.scores["remote"].confidence)) == ("0.03", "0.9")


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize(
    ("lie", "told"),
    [
        (b"<html>busy</html>", "remote: its response is not JSON"),
        (b"[" * 100_000, "remote: its response is not JSON"),
        (b'{"scores": [NaN, 0.1]}', "remote: its response is not JSON"),
        (b'{"score": 0.5}', "remote: its response has no list of scores"),
        (b"[0.5, 0.5]", "remote: its response has no list of scores"),
        (b'{"scores": [0.5]}', "remote: it returned a different number of scores than requested"),
    ],
    ids=["no JSON", "deep", "NaN", "other names", "a list", "too few"],
)
def test_a_batch_that_is_answered_wrongly_fails_and_others_do_not(workshop: Workshop, lie: bytes, told: str) -> None:
    people(workshop, 6)

    def answer(asked: Asked) -> Reply:
        if asked.json["customers"][0]["customerId"] == "c-002":
            return 200, lie
        return scoring(lambda each: 0.5)(asked)

    with Web(answer) as web:
        run = workshop.run(workshop.put(over_http(web, batchSize=2)))
    assert (run.state, run.counts.candidates, run.counts.failed) == (RunState.COMPLETED, 4, 2)
    assert run.errors == {told: 2}
    assert [(each.customer_id, each.reason) for each in run.samples] == [("c-002", told), ("c-003", told)]
    assert scored(workshop) == {"c-000", "c-001", "c-004", "c-005"}
    # A lie is not asked for again.
    assert len(web.asked) == 3


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize(
    ("lie", "told"),
    [
        (None, "remote: it has no score"),
        (1.5, "remote: a score is outside of its range"),
        (-0.1, "remote: a score is outside of its range"),
        ("0.5", "remote: a score is not a number"),
        (True, "remote: a score is not a number"),
        ({"value": 0.5, "confidence": 7}, "remote: a confidence is not between 0 and 1"),
        ({"points": 3}, "remote: a score is not a number"),
    ],
)
def test_a_wrong_answer_is_one_customers_error(workshop: Workshop, lie: Any, told: str) -> None:
    people(workshop, 5)
    with Web(scoring(lambda each: lie if each["customerId"] == "c-002" else 0.5)) as web:
        run = workshop.run(workshop.put(over_http(web)))
    assert (run.state, run.counts.candidates, run.errors) == (RunState.COMPLETED, 4, {told: 1})
    assert "c-002" not in scored(workshop)


NO_NUMBER = "remote: a score is not a number"


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize(
    ("lie", "told"),
    [
        ("1e9999999", NO_NUMBER),
        ("-1e9999999", NO_NUMBER),
        ("9.99999999999999999999999999999999e999999", NO_NUMBER),
        ("1e99999999999999999999999", NO_NUMBER),
        ("1e400", "remote: a score is outside of its range"),
        ("9" * 4000, "remote: a score is outside of its range"),
        ('{"value": 0.5, "confidence": 1e9999999}', NO_NUMBER),
        ('{"value": 1e9999999, "confidence": 0.5}', NO_NUMBER),
    ],
)
def test_a_number_that_no_item_holds_is_one_customers_error(workshop: Workshop, lie: str, told: str) -> None:
    people(workshop, 5)

    def answer(asked: Asked) -> Reply:
        found = ", ".join(lie if each["customerId"] == "c-002" else "0.5" for each in asked.json["customers"])
        return 200, f'{{"scores": [{found}]}}'.encode()

    with Web(answer) as web:
        made = workshop.put(over_http(web) | {"reactiveEnabled": True})
        run = workshop.run(made)
        reaction = Reactive(workshop.pipeline()).react(made, Event("c-002", None, {}, {}))
    assert (run.state, run.counts.candidates, run.errors) == (RunState.COMPLETED, 4, {told: 1})
    assert (reaction.outcome, reaction.reason) == ("failed", told)


@pytest.mark.requirement("CE8")
def test_a_tiny_number_counts_as_zero(workshop: Workshop) -> None:
    people(workshop, 2)
    tiny = b'{"scores": [1e-9999999, -1e-400]}'
    with Web(lambda asked: (200, tiny)) as web:
        run = workshop.run(workshop.put(over_http(web)))
    assert (run.state, run.counts.read) == (RunState.COMPLETED, 2)
    assert {candidate.score for candidate in workshop.store.iterate(Candidate)} == {0}


@pytest.mark.requirement("CE8")
def test_a_slow_endpoint_times_out(workshop: Workshop) -> None:
    people(workshop, 20)

    def answer(asked: Asked) -> Reply:
        return None if asked.json["customers"][0]["customerId"] == "c-000" else scoring(lambda each: 0.5)(asked)

    with Web(answer) as web:
        run = workshop.run(workshop.put(over_http(web, timeoutSeconds=0.1)))
    assert (run.state, run.counts.candidates) == (RunState.COMPLETED, 10)
    assert run.errors == {"remote: it did not respond in time": 10}


@pytest.mark.requirement("CE8")
def test_transient_errors_are_retried_and_others_are_not(workshop: Workshop) -> None:
    people(workshop, 30)
    failures: dict[str, int] = {}

    def answer(asked: Asked) -> Reply:
        first = asked.json["customers"][0]["customerId"]
        failures[first] = failures.get(first, 0) + 1
        if first == "c-000" and failures[first] < MAX_CALL_ATTEMPTS:
            return 503, b"busy"
        if first == "c-010":
            return 400, b"no"
        if first == "c-020":
            return 302, b"", {"Location": f"{web.url}/elsewhere"}
        return scoring(lambda each: 0.5)(asked)

    with Web(answer) as web:
        run = workshop.run(workshop.put(over_http(web)))
    # It answers for others in between, so that those with the redirect are an error, and no outage.
    assert failures == {"c-000": MAX_CALL_ATTEMPTS + 1, "c-010": 1, "c-020": PROBED_AFTER + 1}
    assert run.errors == {"remote: it responded with 400": 10, "remote: it responded with 302": 10}
    assert {asked.path for asked in web.asked} == {"/score"}


def test_after_a_pause_one_request_tries_the_endpoint_again() -> None:
    now = [0.0]
    state = {"up": False}
    asked = [Prospect("c-1", Subject(type="t", id="1"), {})]
    with Web(lambda each: (200, b'{"scores": [1]}') if state["up"] else (500, b"")) as web:
        outbound = Outbound(["127.0.0.1"])
        endpoints = Endpoints(outbound, clock=lambda: now[0], sleep=lambda _: None, entropy=random.Random(1))
        remote = ScoringModel(model_id="m", endpoint=web.url, weight=Decimal(1))
        for _ in range(FAILURES):
            with pytest.raises(ModelFailed, match="it responded with 500"):
                endpoints(remote, asked, None)
        state["up"] = True
        with pytest.raises(ModelFailed, match="calls are suspended"):
            endpoints(remote, asked, None)
        now[0] += REST
        assert endpoints(remote, asked, None) == [1]
        assert endpoints(remote, asked, None) == [1]
        outbound.close()


@pytest.mark.requirement("CE8")
def test_a_run_that_is_asked_to_stop_does_not_wait_for_the_scores_of_its_chunk(workshop: Workshop) -> None:
    people(workshop, 60)
    pause = threading.Event()
    begun: list[Run] = []

    def answer(asked: Asked) -> Reply:
        if len(web.asked) == 1:
            runs.request(begun[0], "stop")
        # All of them take six seconds.
        pause.wait(0.1)
        return scoring(lambda each: 0.5)(asked)

    with Web(answer) as web:
        runs = workshop.runs(chunk=60)
        held = runs.begin(workshop.put(over_http(web, batchSize=1, timeoutSeconds=5)))
        begun.append(runs.get(held.run))
        run = runs.execute(held)
        pause.set()
        assert (run.state, run.counts.read) == (RunState.STOPPED, 0)
        assert len(web.asked) < 60
        # What was asked for is in the cache.
        cached = len(web.asked)
        ended = runs.execute(runs.resume(run))
    assert (ended.state, ended.counts.cached, ended.counts.scored) == (RunState.COMPLETED, cached, 60 - cached)


def test_an_endpoint_is_not_retried_after_the_run_was_stopped() -> None:
    asked = [Prospect("c-1", Subject(type="t", id="1"), {})]
    with Web(lambda each: (503, b"")) as web:
        outbound = Outbound(["127.0.0.1"])
        remote = ScoringModel(model_id="m", endpoint=web.url, weight=Decimal(1))
        with pytest.raises(ModelFailed, match="it responded with 503"):
            Endpoints(outbound, sleep=lambda _: None)(remote, asked, None, lambda: True)
        outbound.close()
    assert len(web.asked) == 1


def test_an_endpoint_that_there_was_no_time_to_ask_has_not_failed() -> None:
    asked = [Prospect("c-1", Subject(type="t", id="1"), {})]
    with Web(lambda each: (200, b'{"scores": [1]}')) as web:
        outbound = Outbound(["127.0.0.1"])
        endpoints = Endpoints(outbound, clock=lambda: 100.0)
        remote = ScoringModel(model_id="m", endpoint=web.url, weight=Decimal(1))
        for _ in range(2 * FAILURES):
            with pytest.raises(ModelFailed, match="the time limit was reached"):
                endpoints(remote, asked, 100.0)
        assert web.asked == []
        assert endpoints(remote, asked, 101.0) == [1]
        outbound.close()


@pytest.mark.requirement("CE8")
def test_a_function_that_raises_or_miscounts_is_an_error_of_its_customers(workshop: Workshop) -> None:
    from tablewright.systems.engagement.scoring.scores import model

    @model("test-broken")
    def broken(prospects: Any) -> list[Any]:
        if prospects[0].customer_id == "c-000":
            raise ZeroDivisionError
        return [0.5] * (len(prospects) + (prospects[0].customer_id == "c-002"))

    people(workshop, 6)
    models = [{"modelId": "test-broken", "weight": 1, "batchSize": 2}]
    made = workshop.put(program(scoringModels=models, maxFailedShare=1))
    run = workshop.run(made)
    assert (run.state, run.counts.candidates) == (RunState.COMPLETED, 2)
    assert run.errors == {
        "test-broken: it raised ZeroDivisionError": 2,
        "test-broken: it returned a different number of scores than requested": 2,
    }


@pytest.mark.requirement("CE9")
def test_an_event_is_answered_in_time_however_slow_a_model_is(workshop: Workshop) -> None:
    with Web(lambda asked: None) as web:
        made = workshop.put(over_http(web, timeoutSeconds=30) | {"reactiveEnabled": True})
        reactive = Reactive(workshop.pipeline(), budget=0.3)
        reaction = reactive.react(made, Event("c-1", None, {}, {}))
    assert (reaction.outcome, reaction.reason) == ("failed", "remote: it did not respond in time")
    assert len(web.asked) == 1


@pytest.mark.requirement("CE9")
def test_an_event_has_one_time_for_all_its_programs(workshop: Workshop) -> None:
    deadlines: list[float | None] = []

    def remote(
        model: ScoringModel,
        prospects: Sequence[Prospect],
        deadline: float | None,
        halted: Callable[[], bool] = lambda: False,
    ) -> list[Any]:
        deadlines.append(deadline)
        return [Decimal("0.5")] * len(prospects)

    models = [{"modelId": "remote", "endpoint": "http://127.0.0.1:9", "weight": 1}]
    made = [workshop.put(program(scoringModels=models, reactiveEnabled=True), f"p{number}") for number in range(20)]
    scorer = Scorer(workshop.store, remote, workshop.clock)
    reactive = Reactive(Pipeline(workshop.store, scorer, workshop.clock))
    reactions = reactive.react_all(made, Event("c-1", None, {}, {}))
    assert [each.program_id for each in reactions] == [each.program_id for each in made]
    assert (len(deadlines), len(set(deadlines)), None in deadlines) == (20, 1, False)


@pytest.mark.requirement("CE9")
def test_a_model_that_hangs_takes_no_time_from_other_programs(workshop: Workshop) -> None:
    """Each answers only once all of them have been asked."""
    together = threading.Barrier(8)

    def answer(asked: Asked) -> Reply:
        together.wait(20)
        return scoring(lambda each: 0.5)(asked)

    with Web(answer) as web:
        body = over_http(web, timeoutSeconds=20) | {"reactiveEnabled": True}
        made = [workshop.put(body, f"p{number}") for number in range(8)]
        reactions = Reactive(workshop.pipeline(), budget=20).react_all(made, Event("c-1", None, {}, {}))
    assert [each.outcome for each in reactions] == ["candidate"] * 8


@pytest.mark.requirement("CE9")
def test_a_program_that_cannot_react_takes_nothing_from_the_others(workshop: Workshop) -> None:
    """Its filter is not registered any more."""
    good, other = (workshop.put(program(reactiveEnabled=True), name) for name in ("good", "other"))
    bad = workshop.put(program(reactiveEnabled=True, filterChain={"filters": ["gone"]}), "bad")
    event = Event("c-1", None, {"points": 1}, {})
    reactions = Reactive(workshop.pipeline()).react_all([good, bad, other], event)
    assert [each.outcome for each in reactions] == ["candidate", "failed", "candidate"]
    assert "unknown filter gone" in str(reactions[1].reason)
    # Who names the program is told as of any other request that cannot be.
    with pytest.raises(Invalid, match="unknown filter gone"):
        Reactive(workshop.pipeline()).react_all([bad], event)


@pytest.mark.requirement("CE8")
def test_a_run_that_cannot_begin_its_work_says_why(workshop: Workshop) -> None:
    people(workshop, 1)
    run = workshop.run(workshop.put(program(filterChain={"filters": ["gone"]})))
    assert run.state is RunState.FAILED
    assert "unknown filter gone" in str(run.failure)
