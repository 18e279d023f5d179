"""Runs and events over HTTP: scores through the cache, one run at a time, stop and resume, reactions at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tablewright.store import Create
from tablewright.systems.engagement.model import ModelScore, Program, Score
from tablewright.systems.engagement.program_service import MAX_PROGRAMS
from tablewright.systems.engagement.runs.background import MAX_CONCURRENT_RUNS
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.scoring.scores import model
from tests.systems.engagement.engagement_fixtures import Programme, approve, new_id, program
from tests.systems.harness import Served, at_once, wait_for


class Gate:
    """A model that waits until it is let through, and counts whom it was asked about."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.asked: list[str] = []

    def __call__(self, prospects: Sequence[Prospect]) -> list[Any]:
        self.asked += [each.customer_id for each in prospects]
        self.open.wait(20)
        return [1 for _ in prospects]


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    model("test-gate")(made)
    yield made
    made.open.set()


GATED = [{"modelId": "test-gate", "weight": 1, "batchSize": 1000}]


def people(number: int) -> list[tuple[Any, ...]]:
    return [(f"c-{each:04}", 20 + each % 50, "IT", each % 7) for each in range(number)]


def later(served: Served, client: httpx.Client, hours: float) -> None:
    served.clock.advance(hours * 3600)
    client.headers["Authorization"] = f"Bearer {served.token('root', 'Admins')}"


@pytest.mark.requirement("CE8")
def test_a_run_scores_combines_and_filters_every_customer(served: Served, admin: httpx.Client) -> None:
    models = [
        {"modelId": "test-points", "weight": 2, "minimum": 0, "maximum": 10},
        {"modelId": "test-age", "weight": 0.5, "minimum": 0, "maximum": 150},
    ]
    chain = {
        "filters": ["eligibility"],
        "settings": {"eligibility": {"rule": {"attribute": "age", "op": "lt", "value": 60}}},
    }
    made = Programme(served, admin, people(120), scoringModels=models, filterChain=chain)
    run = made.run()
    young = [row for row in people(120) if row[1] < 60]
    assert (run["state"], run["total"]) == ("completed", 120)
    assert run["counts"] == {
        "read": 120,
        "candidates": len(young),
        "rejected": 120 - len(young),
        "failed": 0,
        "withoutId": 0,
        "cached": 0,
        "scored": 240,
    }
    expected = {row[0]: 2 * row[3] + 0.5 * row[1] for row in young}
    assert made.top() == sorted(expected, key=lambda each: (expected[each], each), reverse=True)
    assert made.candidate("c-0007").json()["score"] == expected["c-0007"]
    listed = admin.get(f"{made.path}/runs").json()["runs"]
    assert [each["runId"] for each in listed] == [run["runId"]]
    assert made.candidate("c-0007").json()["runId"] == run["runId"]


@pytest.mark.requirement("CE7", "CE8")
def test_a_score_is_asked_for_once_until_it_expires(served: Served, admin: httpx.Client, gate: Gate) -> None:
    gate.open.set()
    customer = new_id("c")
    made = Programme(served, admin, [(customer, 1, "IT", 1)], scoringModels=GATED)
    assert made.run()["counts"]["scored"] == 1
    assert made.run()["counts"] | {"cached": 1, "scored": 0} == made.run()["counts"]
    assert gate.asked == [customer]
    path = f"/customers/{customer}/subjects/{made.id}/scores"
    (score,) = admin.get(path).json()["scores"]
    assert (score["modelId"], score["value"], score["subjectType"]) == ("test-gate", 1, "program")
    assert admin.get(f"{path}/test-gate").json() == score
    assert admin.get(f"{path}/other").status_code == 404
    later(served, admin, 25)
    assert admin.get(f"{path}/test-gate").status_code == 404
    assert admin.get(path).json()["scores"] == []
    assert made.run()["counts"]["scored"] == 1
    assert gate.asked == [customer, customer]


@pytest.mark.requirement("CE7")
def test_all_scores_of_a_customer_and_subject_are_found(served: Served, admin: httpx.Client) -> None:
    models = [
        {"modelId": "test-points", "weight": 1, "maximum": 10, "cacheHours": 24},
        {"modelId": "test-age", "weight": 1, "maximum": 100, "cacheHours": 48},
    ]
    customer = new_id("c")
    made = Programme(served, admin, [(customer, 33, "IT", 7)], scoringModels=models)
    made.run()
    path = f"/customers/{customer}/subjects/{made.id}/scores"
    assert {each["modelId"]: each["value"] for each in admin.get(path).json()["scores"]} == {
        "test-points": 7,
        "test-age": 33,
    }
    later(served, admin, 30)
    assert [each["modelId"] for each in admin.get(path).json()["scores"]] == ["test-age"]


@pytest.mark.requirement("CE8")
def test_there_is_one_run_of_a_program_at_a_time(served: Served, admin: httpx.Client, gate: Gate) -> None:
    made = Programme(served, admin, people(3), scoringModels=GATED)
    answers = at_once(8, lambda _: admin.post(f"{made.path}/runs"))
    assert sorted(answer.status_code for answer in answers) == [202, *[409] * 7]
    (begun,) = [answer.json()["runId"] for answer in answers if answer.status_code == 202]
    assert begun in admin.post(f"{made.path}/runs").json()["detail"]
    assert admin.post(f"{made.path}/runs/{begun}/resume").status_code == 409
    gate.open.set()
    assert made.ended(begun)["state"] == "completed"
    assert made.run()["state"] == "completed"


@pytest.mark.requirement("CE8")
def test_a_run_is_stopped_and_resumed_where_it_was(served: Served, admin: httpx.Client, gate: Gate) -> None:
    made = Programme(served, admin, people(150), scoringModels=GATED)
    run_id = admin.post(f"{made.path}/runs").json()["runId"]
    wait_for(lambda: gate.asked)
    assert admin.post(f"{made.path}/runs/{run_id}/stop").json()["requested"] == "stop"
    gate.open.set()
    stopped = made.ended(run_id)
    assert (stopped["state"], stopped["counts"]["read"]) == ("stopped", 0)
    assert admin.post(f"{made.path}/runs/{run_id}/stop").status_code == 409
    assert admin.post(f"{made.path}/runs/{run_id}/resume").status_code == 202
    ended = made.ended(run_id)
    assert (ended["state"], ended["counts"]["read"], ended["counts"]["candidates"]) == ("completed", 150, 150)
    assert len(set(made.top())) == len(made.top()) == 150
    assert admin.post(f"{made.path}/runs/{run_id}/resume").status_code == 409


@pytest.mark.requirement("CE8")
def test_a_run_is_stopped_as_it_was_seen(served: Served, admin: httpx.Client, gate: Gate) -> None:
    made = Programme(served, admin, people(3), scoringModels=GATED)
    place = f"{made.path}/runs/{admin.post(f'{made.path}/runs').json()['runId']}"
    wait_for(lambda: gate.asked)
    tag = admin.get(place).headers["ETag"]
    assert admin.post(f"{place}/stop", headers={"If-Match": '"another"'}).status_code == 412
    answers = at_once(6, lambda _: admin.post(f"{place}/stop", headers={"If-Match": tag}))
    assert sorted(answer.status_code for answer in answers) == [200, *[412] * 5]
    (won,) = [answer for answer in answers if answer.status_code == 200]
    assert (won.json()["requested"], won.headers["ETag"]) == ("stop", admin.get(place).headers["ETag"])
    gate.open.set()
    assert made.ended(place.rpartition("/")[2])["state"] == "stopped"


def stopped(served: Served, admin: httpx.Client, gate: Gate) -> tuple[Programme, str]:
    """A program for three customers, and a run of it that was stopped before the first."""
    made = Programme(served, admin, people(3), scoringModels=GATED)
    run_id = admin.post(f"{made.path}/runs").json()["runId"]
    wait_for(lambda: gate.asked)
    admin.post(f"{made.path}/runs/{run_id}/stop")
    gate.open.set()
    made.ended(run_id)
    return made, run_id


@pytest.mark.requirement("CE8")
def test_a_run_of_a_disabled_program_is_not_resumed(served: Served, admin: httpx.Client, gate: Gate) -> None:
    made, run_id = stopped(served, admin, gate)
    admin.post(f"{made.path}/disable")
    refused = admin.post(f"{made.path}/runs/{run_id}/resume")
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/conflict")
    assert f"program {made.id} is disabled" in refused.json()["detail"]
    assert made.ended(run_id)["state"] == "stopped"
    admin.post(f"{made.path}/enable")
    assert admin.post(f"{made.path}/runs/{run_id}/resume").status_code == 202
    assert made.ended(run_id)["counts"]["candidates"] == 3


@pytest.mark.requirement("CE8")
def test_a_repeated_request_returns_the_current_run_even_at_the_limit(
    served: Served, admin: httpx.Client, gate: Gate
) -> None:
    made = [Programme(served, admin, people(3), scoringModels=GATED) for _ in range(MAX_CONCURRENT_RUNS + 1)]
    keys = [{"Idempotency-Key": uuid4().hex} for _ in made]
    begun = [admin.post(f"{each.path}/runs", headers=key) for each, key in zip(made, keys, strict=True)]
    assert [answer.status_code for answer in begun] == [*[202] * MAX_CONCURRENT_RUNS, 429]
    again = admin.post(f"{made[0].path}/runs", headers=keys[0])
    assert (again.status_code, again.json().get("runId")) == (202, begun[0].json()["runId"])
    gate.open.set()
    for each, answer in zip(made[:MAX_CONCURRENT_RUNS], begun, strict=False):
        assert each.ended(answer.json()["runId"])["state"] == "completed"
    # What was refused for want of room begins as if it had never been asked for.
    assert wait_for(lambda: _begun(admin, made[-1], keys[-1]))


def _begun(admin: httpx.Client, made: Programme, key: dict[str, str]) -> bool:
    answer = admin.post(f"{made.path}/runs", headers=key)
    return answer.status_code == 202 and bool(made.ended(answer.json()["runId"]))


@pytest.mark.requirement("CE8")
def test_a_source_without_customers_has_none(served: Served, admin: httpx.Client) -> None:
    made = Programme(served, admin)
    made.file.write_text("customer_id,age,country,points\n")
    run = made.run()
    assert (run["state"], run["total"], run["counts"]["read"]) == ("completed", 0, 0)


@pytest.mark.requirement("CE8")
def test_a_cancelled_run_stays_ended(served: Served, admin: httpx.Client, gate: Gate) -> None:
    made = Programme(served, admin, people(3), scoringModels=GATED)
    run_id = admin.post(f"{made.path}/runs").json()["runId"]
    wait_for(lambda: gate.asked)
    assert admin.post(f"{made.path}/runs/{run_id}/cancel").status_code == 200
    gate.open.set()
    assert made.ended(run_id)["state"] == "cancelled"
    assert admin.post(f"{made.path}/runs/{run_id}/resume").status_code == 409
    assert made.top() == []


@pytest.mark.requirement("CE8")
def test_a_source_that_cannot_be_read_fails_the_run_and_says_why(served: Served, admin: httpx.Client) -> None:
    made = Programme(served, admin, people(3))
    made.file.rename(made.file.with_suffix(".away"))
    failed = made.run()
    assert (failed["state"], failed["failure"]) == ("failed", f"{made.file.name} is not in the folder of sources")
    made.file.with_suffix(".away").rename(made.file)
    assert admin.post(f"{made.path}/runs/{failed['runId']}/resume").status_code == 202
    assert made.ended(failed["runId"])["counts"]["candidates"] == 3


@pytest.mark.requirement("CE8")
def test_a_run_is_resumed_with_the_version_that_it_began_with(served: Served, admin: httpx.Client, gate: Gate) -> None:
    made, run_id = stopped(served, admin, gate)
    made.put(approved=False, channels=[{"channelId": "fax", "priority": 1}])
    # Nothing of a program goes on that was changed and not approved.
    assert admin.post(f"{made.path}/runs/{run_id}/resume").status_code == 409
    made.approve()
    assert admin.post(f"{made.path}/runs/{run_id}/resume").status_code == 202
    assert made.ended(run_id)["programVersion"] == 3
    assert (len(made.top("email")), made.top("fax")) == (3, [])
    # The next run takes the channels away that are no more.
    made.run()
    assert (made.top("email"), len(made.top("fax"))) == ([], 3)


# -- events -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("CE9")
def test_an_event_creates_or_refreshes_a_candidate_immediately(
    served: Served, admin: httpx.Client, machine: httpx.Client
) -> None:
    made = Programme(served, admin, reactiveEnabled=True)
    event = {
        "marketplaceId": "US",
        "programId": made.id,
        "customerId": "c-7",
        "attributes": {"points": 3, "country": "IT"},
        "context": {"event": "cart-abandoned"},
    }
    answer = machine.post("/events", json=event)
    assert answer.json()["reactions"] == [{"programId": made.id, "outcome": "candidate", "reason": None, "score": 3.0}]
    assert made.top() == ["c-7"]
    first = made.candidate("c-7").json()
    assert first["context"] == [{"event": "cart-abandoned"}]
    machine.post("/events", json={**event, "attributes": {"points": 8}, "context": {"event": "visit"}})
    second = made.candidate("c-7").json()
    # Models were asked anew, and what was known is still known.
    assert (second["score"], second["attributes"]) == (8, {"points": 8, "country": "IT"})
    assert second["context"] == [{"event": "cart-abandoned"}, {"event": "visit"}]
    assert (second["created"], second["expires"]) == (first["created"], first["expires"])


@pytest.mark.requirement("CE9")
def test_events_concern_only_programs_that_react(served: Served, admin: httpx.Client, machine: httpx.Client) -> None:
    reacts = Programme(served, admin, reactiveEnabled=True)
    does_not = Programme(served, admin, reactiveEnabled=False)
    event = {"marketplaceId": "US", "customerId": new_id("c"), "attributes": {"points": 1}}
    refused = machine.post("/events", json={**event, "programId": does_not.id})
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/conflict")
    marketplace = new_id("M")
    for made in (reacts, does_not):
        there = f"/programs/{made.id}/marketplaces/{marketplace}"
        assert admin.put(there, json=made.body).is_success
        made.approve(there)
    everywhere = machine.post("/events", json={**event, "marketplaceId": marketplace}).json()["reactions"]
    assert [each["programId"] for each in everywhere] == [reacts.id]
    assert machine.post("/events", json={**event, "programId": new_id("p")}).status_code == 404


@pytest.mark.requirement("CE9")
def test_an_event_concerns_every_program_that_reacts_however_many_there_are(
    served: Served, admin: httpx.Client, machine: httpx.Client
) -> None:
    marketplace = new_id("M")
    answer = admin.put(f"/programs/last/marketplaces/{marketplace}", json=program(reactiveEnabled=True))
    assert answer.status_code == 200, answer.text
    approve(served, admin, f"/programs/last/marketplaces/{marketplace}")
    store = served.runtime.sync_store
    last = store.get(Program.by_id(program_id="last", marketplace_id=marketplace), consistent=True)
    assert last is not None
    others = [
        last.model_copy(update={"program_id": f"a{number:04}", "reactive_enabled": number == 0, "version": 0})
        for number in range(MAX_PROGRAMS)
    ]
    for start in range(0, MAX_PROGRAMS - 1, 100):
        store.transact(*map(Create, others[start : min(start + 100, MAX_PROGRAMS - 1)]))
    event = {"marketplaceId": marketplace, "customerId": "c-1", "attributes": {"points": 1}}
    reactions = machine.post("/events", json=event).json()["reactions"]
    assert {each["programId"]: each["outcome"] for each in reactions} == {"a0000": "candidate", "last": "candidate"}
    # Past what is looked at, it is not silently left out.
    store.create(others[-1])
    refused = machine.post("/events", json=event)
    assert refused.status_code == 409
    assert f"more than {MAX_PROGRAMS} programs: name one of them in programId" in refused.json()["detail"]
    assert machine.post("/events", json={**event, "programId": "last"}).status_code == 200


@pytest.mark.requirement("CE9")
def test_an_event_goes_through_the_same_filters_and_models(
    served: Served, admin: httpx.Client, machine: httpx.Client
) -> None:
    rule = {"attribute": "country", "op": "eq", "value": "IT"}
    chain = {"filters": ["eligibility"], "settings": {"eligibility": {"rule": rule}}}
    made = Programme(served, admin, reactiveEnabled=True, filterChain=chain)
    event = {"marketplaceId": "US", "programId": made.id, "customerId": "c-1"}
    left_out = machine.post("/events", json={**event, "attributes": {"points": 1, "country": "US"}})
    assert left_out.json()["reactions"][0]["outcome"] == "rejected"
    assert left_out.json()["reactions"][0]["reason"] == "the rule is not met"
    assert (made.top(), made.candidate("c-1").json()["rejected"]) == ([], True)
    wrong = machine.post("/events", json={**event, "attributes": {"points": "many", "country": "IT"}})
    assert wrong.json()["reactions"][0] == {
        "programId": made.id,
        "outcome": "failed",
        "reason": "test-points: a score is not a number",
        "score": None,
    }
    right = machine.post("/events", json={**event, "attributes": {"points": 1, "country": "IT"}})
    assert right.json()["reactions"][0]["outcome"] == "candidate"
    assert made.top() == ["c-1"]


@pytest.mark.requirement("CE9")
def test_a_key_is_of_the_service_that_chose_it(served: Served, admin: httpx.Client, machine: httpx.Client) -> None:
    made = Programme(served, admin, reactiveEnabled=True)
    till = served.client("till", "EventSources", path="/engagement")
    headers = {"Idempotency-Key": "42"}
    event = {"marketplaceId": "US", "programId": made.id, "customerId": "c-1", "attributes": {"points": 1}}
    assert machine.post("/events", json=event, headers=headers).status_code == 200
    other = till.post("/events", json={**event, "customerId": "c-2"}, headers=headers)
    assert other.json()["reactions"][0]["outcome"] == "candidate"
    assert sorted(made.top()) == ["c-1", "c-2"]
    mismatch = till.post("/events", json=event, headers=headers)
    assert mismatch.json()["type"] == "/problems/idempotency-mismatch"
    assert mismatch.json()["detail"] == "the idempotency key 42 was used before, for another event"
    # Names and keys that would be the same, if they were only put together.
    one, two = (served.client(name, "EventSources", path="/engagement") for name in ("a/b", "a"))
    assert one.post("/events", json=event, headers={"Idempotency-Key": "c"}).status_code == 200
    told = two.post("/events", json={**event, "customerId": "c-3"}, headers={"Idempotency-Key": "b/c"})
    assert told.status_code == 200, told.text


@pytest.mark.requirement("CE8", "CE9")
def test_the_key_of_an_event_is_never_that_of_a_run(served: Served, admin: httpx.Client) -> None:
    made = Programme(served, admin)
    key = uuid4().hex
    assert admin.post(f"{made.path}/runs", headers={"Idempotency-Key": key}).status_code == 202
    # A program and a key by which the names of both would be the same, if they were only put together.
    there = f"/programs/run/marketplaces/{made.id}"
    assert admin.put(there, json={**made.body, "reactiveEnabled": True}).is_success
    made.approve(there)
    event = {"marketplaceId": made.id, "programId": "run", "customerId": "c-1", "attributes": {"points": 1}}
    answer = admin.post("/events", json=event, headers={"Idempotency-Key": f"US/{key}"})
    assert (answer.status_code, answer.json()["reactions"][0]["outcome"]) == (200, "candidate"), answer.text


@pytest.mark.requirement("CE9")
def test_events_of_one_customer_at_once_are_all_kept(
    served: Served, admin: httpx.Client, machine: httpx.Client
) -> None:
    made = Programme(served, admin, reactiveEnabled=True)

    def send(number: int) -> int:
        body = {
            "marketplaceId": "US",
            "programId": made.id,
            "customerId": "c-1",
            "attributes": {"points": number},
            "context": {"event": number},
        }
        while True:
            answer = machine.post("/events", json=body)
            if answer.status_code != 409:
                return answer.status_code

    assert at_once(6, send) == [200] * 6
    assert sorted(each["event"] for each in made.candidate("c-1").json()["context"]) == list(range(6))
    assert made.top() == ["c-1"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"context": {"event": "x" * 3_000}},
        {"subject": {"type": "t", "id": "i", "attributes": {"text": "x" * 3_000}}},
        {"attributes": {"": 1}},
        {"attributes": {"n": 10**60 + 1}},
        {"attributes": {"n": json.loads("[" * 30 + "]" * 30)}},
        {"customerId": ""},
        {"customerId": "a\nb"},
        {"subject": {"type": "t" * 51, "id": "i"}},
    ],
)
def test_an_event_that_cannot_be_kept_is_refused(served: Served, machine: httpx.Client, wrong: dict[str, Any]) -> None:
    answer = machine.post("/events", json={"marketplaceId": "US", "customerId": "c", **wrong})
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-request")


def test_invalid_text_is_refused(served: Served, machine: httpx.Client) -> None:
    # NaN is no JSON at all; the others are, and are nothing that can be kept.
    for value, status in ((rb'"\ud800"', 422), (b"NaN", 400), (b"1e999", 422)):
        body = b'{"marketplaceId": "US", "customerId": "c", "attributes": {"x": ' + value + b"}}"
        answer = machine.post("/events", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == status, answer.text


@pytest.mark.requirement("CE7")
def test_all_scores_of_a_subject_are_listed_however_many_models_there_are(served: Served, admin: httpx.Client) -> None:
    customer, now = new_id("c"), served.runtime.now()
    value = ModelScore(value=Decimal("0.5"), timestamp=now)
    served.runtime.sync_store.write_many(
        Score(
            customer_id=customer,
            subject_id="s",
            subject_type="product",
            model_id=f"m-{number:03}",
            score=value,
            ttl=now + timedelta(hours=24),
        )
        for number in range(230)
    )
    found = admin.get(f"/customers/{customer}/subjects/s/scores").json()["scores"]
    assert [each["modelId"] for each in found] == [f"m-{number:03}" for number in range(230)]
