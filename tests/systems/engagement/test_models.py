"""Models at HTTP endpoints: what is slow, fails or lies is an error of some customers, and no run ends by it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from tablewright.systems.engagement.configuration import ScoringModel
from tablewright.systems.engagement.model import Candidate, RunState, Subject
from tablewright.systems.engagement.outbound import Outbound
from tablewright.systems.engagement.prospects import Prospect
from tablewright.systems.engagement.reactive import Event, Reactive
from tablewright.systems.engagement.remote import ATTEMPTS, FAILURES, REST, Endpoints
from tablewright.systems.engagement.scoring import ModelFailed
from tests.systems.engagement.web import Asked, Reply, Web
from tests.systems.engagement.workshop import Workshop, program, write


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
        (b"<html>busy</html>", "remote: its answer is no JSON"),
        (b"[" * 100_000, "remote: its answer is no JSON"),
        (b'{"scores": [NaN, 0.1]}', "remote: its answer is no JSON"),
        (b'{"score": 0.5}', "remote: its answer has no list of scores"),
        (b"[0.5, 0.5]", "remote: its answer has no list of scores"),
        (b'{"scores": [0.5]}', "remote: it gave another number of answers than it was asked for"),
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
        (None, "remote: it has no answer"),
        (1.5, "remote: a score out of its range"),
        (-0.1, "remote: a score out of its range"),
        ("0.5", "remote: a score that is no number"),
        (True, "remote: a score that is no number"),
        ({"value": 0.5, "confidence": 7}, "remote: a confidence that is not between 0 and 1"),
        ({"points": 3}, "remote: a score that is no number"),
    ],
)
def test_a_wrong_answer_is_one_customers_error(workshop: Workshop, lie: Any, told: str) -> None:
    people(workshop, 5)
    with Web(scoring(lambda each: lie if each["customerId"] == "c-002" else 0.5)) as web:
        run = workshop.run(workshop.put(over_http(web)))
    assert (run.state, run.counts.candidates, run.errors) == (RunState.COMPLETED, 4, {told: 1})
    assert "c-002" not in scored(workshop)


@pytest.mark.requirement("CE8")
def test_a_slow_endpoint_is_not_waited_for(workshop: Workshop) -> None:
    people(workshop, 20)

    def answer(asked: Asked) -> Reply:
        return None if asked.json["customers"][0]["customerId"] == "c-000" else scoring(lambda each: 0.5)(asked)

    with Web(answer) as web:
        run = workshop.run(workshop.put(over_http(web, timeoutSeconds=0.1)))
    assert (run.state, run.counts.candidates) == (RunState.COMPLETED, 10)
    assert run.errors == {"remote: it did not answer in time": 10}


@pytest.mark.requirement("CE8")
def test_what_passes_is_tried_again_and_what_does_not_is_not(workshop: Workshop) -> None:
    people(workshop, 30)
    failures: dict[str, int] = {}

    def answer(asked: Asked) -> Reply:
        first = asked.json["customers"][0]["customerId"]
        failures[first] = failures.get(first, 0) + 1
        if first == "c-000" and failures[first] < ATTEMPTS:
            return 503, b"busy"
        if first == "c-010":
            return 400, b"no"
        if first == "c-020":
            return 302, b"", {"Location": f"{web.url}/elsewhere"}
        return scoring(lambda each: 0.5)(asked)

    with Web(answer) as web:
        run = workshop.run(workshop.put(over_http(web)))
    assert failures == {"c-000": ATTEMPTS, "c-010": 1, "c-020": 1}
    assert run.errors == {"remote: it answered 400": 10, "remote: it answered 302": 10}
    assert {asked.path for asked in web.asked} == {"/score"}


@pytest.mark.requirement("CE8")
def test_an_endpoint_that_is_down_is_left_alone_and_the_run_goes_on(workshop: Workshop) -> None:
    people(workshop, 40)
    with Web(lambda asked: (500, b"")) as web:
        run = workshop.run(workshop.put(over_http(web, batchSize=2)))
    assert (run.state, run.counts.failed) == (RunState.COMPLETED, 40)
    assert len(web.asked) == FAILURES * ATTEMPTS
    assert run.errors == {
        "remote: it answered 500": 2 * FAILURES,
        "remote: it failed too often, and is left alone for a while": 40 - 2 * FAILURES,
    }


def test_after_a_rest_one_request_tries_whether_it_is_up_again() -> None:
    now = [0.0]
    state = {"up": False}
    asked = [Prospect("c-1", Subject(type="t", id="1"), {})]
    with Web(lambda each: (200, b'{"scores": [1]}') if state["up"] else (500, b"")) as web:
        outbound = Outbound(["127.0.0.1"])
        endpoints = Endpoints(outbound, clock=lambda: now[0], sleep=lambda _: None, entropy=random.Random(1))
        remote = ScoringModel(model_id="m", endpoint=web.url, weight=Decimal(1))
        for _ in range(FAILURES):
            with pytest.raises(ModelFailed, match="it answered 500"):
                endpoints(remote, asked, None)
        state["up"] = True
        with pytest.raises(ModelFailed, match="left alone"):
            endpoints(remote, asked, None)
        now[0] += REST
        assert endpoints(remote, asked, None) == [1]
        assert endpoints(remote, asked, None) == [1]
        outbound.close()


@pytest.mark.requirement("CE8")
def test_a_function_that_raises_or_miscounts_is_an_error_of_its_customers(workshop: Workshop) -> None:
    from tablewright.systems.engagement.scoring import model

    @model("test-broken")
    def broken(prospects: Any) -> list[Any]:
        if prospects[0].customer_id == "c-000":
            raise ZeroDivisionError
        return [0.5] * (len(prospects) + (prospects[0].customer_id == "c-002"))

    people(workshop, 6)
    made = workshop.put(program(scoringModels=[{"modelId": "test-broken", "weight": 1, "batchSize": 2}]))
    run = workshop.run(made)
    assert (run.state, run.counts.candidates) == (RunState.COMPLETED, 2)
    assert run.errors == {
        "test-broken: it raised ZeroDivisionError": 2,
        "test-broken: it gave another number of answers than it was asked for": 2,
    }


@pytest.mark.requirement("CE9")
def test_an_event_is_answered_in_time_however_slow_a_model_is(workshop: Workshop) -> None:
    with Web(lambda asked: None) as web:
        made = workshop.put(over_http(web, timeoutSeconds=30) | {"reactiveEnabled": True})
        reactive = Reactive(workshop.pipeline(), budget=0.3)
        reaction = reactive.react(made, Event("c-1", None, {}, {}))
    assert (reaction.outcome, reaction.reason) == ("failed", "remote: it did not answer in time")
    assert len(web.asked) == 1
