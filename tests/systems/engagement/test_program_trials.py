"""Programs are checked while they are written, and tried out before anybody is reached."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from tablewright.systems import load
from tablewright.systems.engagement.model import Candidate, ChannelEntry, Score
from tests.systems.engagement.engagement_fixtures import Programme, new_id, program
from tests.systems.engagement.web import Web
from tests.systems.harness import Served, serving

pytestmark = pytest.mark.requirement("AP6")

RULE = {"rule": {"attribute": "country", "op": "eq", "value": "IT"}}
CHAIN = {"filters": ["eligibility", "frequency"], "settings": {"eligibility": RULE}}
PEOPLE = [(f"c-{number:03}", 40, "IT" if number % 3 else "DE", number) for number in range(30)]
HEADER = ("customer_id", "first_name", "email", "points", "country")
LETTER = {"channelId": "email", "priority": 1, "config": {"subject": "Hi $first_name", "text": "<b>$points</b>"}}


@pytest.fixture
def marketer(served: Served) -> httpx.Client:
    return served.client("mark", "Marketers", path="/engagement")


def problems(client: httpx.Client, **changes: Any) -> dict[str, str]:
    answer = client.post("/programs/check", json=program(**changes))
    assert answer.status_code == 200, answer.text
    return {each["field"]: each["message"] for each in answer.json()["problems"]}


# -- checks -------------------------------------------------------------------------------------------------------


def test_every_problem_is_reported_at_its_field(served: Served, admin: httpx.Client, marketer: httpx.Client) -> None:
    connectors = [
        {"type": "files", "tables": {"customers": "customers.csv"}, "query": "SELECT * FROM customers"},
        {"type": "files", "tables": {"customers": "customers.csv"}, "query": "SELECT FROM WHERE"},
        {"type": "files", "tables": {"c": "missing.csv"}, "query": "SELECT * FROM c"},
        {
            "type": "files",
            "tables": {"c": "customers.csv"},
            "query": "SELECT * FROM c",
            "customerColumn": "who",
        },
    ]
    models = [{"modelId": "test-points", "weight": 1}, {"modelId": "astrology", "weight": 1}]
    chain = {"filters": ["frequency", "moon"], "settings": {"frequency": {"days": 400}}}
    found = problems(
        marketer,
        dataConnectors=connectors,
        scoringModels=models,
        filterChain=chain,
        channels=[LETTER, {"channelId": "webhook", "priority": 2}],
        timeZone="Mars/Olympus",
        programName="",
    )
    assert set(found) == {
        "programName",
        "timeZone",
        "dataConnectors.1.query",
        "dataConnectors.2.tables",
        "dataConnectors.3.customerColumn",
        "scoringModels.1.modelId",
        "filterChain.filters",
        "filterChain.settings.frequency",
        "channels.1.config.url",
    }
    assert "cannot be parsed" in found["dataConnectors.1.query"]


def test_a_part_of_the_wrong_form_hides_nothing_else(
    served: Served, admin: httpx.Client, marketer: httpx.Client
) -> None:
    connectors = [{"type": "files", "tables": {"c": "missing.csv"}, "query": "SELECT * FROM c"}]
    for changes, wrong in (
        ({"scoringModels": [{"modelId": "test-points", "weight": "lots"}]}, "scoringModels.0.weight"),
        ({"channels": [{"channelId": "email", "priority": 0}]}, "channels.0.priority"),
        ({"filterChain": {"filters": "none"}}, "filterChain.filters"),
    ):
        assert set(problems(marketer, dataConnectors=connectors, **changes)) == {wrong, "dataConnectors.0.tables"}


def test_what_a_check_says_is_what_a_put_says(served: Served, admin: httpx.Client, marketer: httpx.Client) -> None:
    for changes in (
        {},
        {"scoringModels": [{"modelId": "astrology", "weight": 1}]},
        {"scoringModels": [{"modelId": "m", "endpoint": "http://127.0.0.1/", "weight": 1}]},
        {"channels": [{"channelId": "email", "priority": 1, "config": {"text": "Hello $frist_name"}}]},
        {"filterChain": {"filters": ["eligibility"], "settings": {"eligibility": {"rule": {"attribute": "x"}}}}},
        {"filterChain": {"filters": ["eligibility"], "settings": {"eligibility": {"rule": {}}}}},
        {"filterChain": {"filters": ["eligibility"], "settings": {"eligibility": {"rule": {"age": 1, "points": 2}}}}},
        {"filterChain": {"filters": ["frequency"], "settings": {"frequency": {"most": "2"}}}},
        {"filterChain": {"filters": ["frequency"], "settings": {"frequency": {"most": 2, "days": True}}}},
        {"candidateTTLDays": 0},
        {"candidateTTLDays": "30"},
        {"enabled": 1},
        {"channels": [{"channelId": "email", "priority": "1"}]},
        {"channels": [{"channelId": "email", "priority": 1, "config": {"subject": "Hello\nBcc: x@example.org"}}]},
        {"channels": [{"channelId": "email", "priority": 1, "config": {"text": " \n"}}]},
        {"version": 0},
        {"version": "0"},
        {"dataConnectors": [], "batchSchedule": "0 2 * * *"},
    ):
        found = problems(marketer, **changes)
        put = admin.put(f"/programs/{new_id('p')}/marketplaces/US", json=program(**changes))
        assert put.is_success is not bool(found), (changes, found)
        if "field" in put.json():
            told = marketer.post("/programs/check", json=program(**changes)).json()["problems"]
            assert {"field": put.json()["field"], "message": put.json()["detail"]} in told


def test_a_connector_of_the_wrong_form_is_the_one_mistake(
    served: Served, admin: httpx.Client, marketer: httpx.Client
) -> None:
    found = problems(marketer, dataConnectors=[{"type": "ftp"}], batchSchedule="0 2 * * *")
    assert set(found) == {"dataConnectors.0"}


def test_a_check_tells_what_texts_may_name_and_takes_any_shape(
    served: Served, admin: httpx.Client, marketer: httpx.Client
) -> None:
    told = marketer.post("/programs/check", json=program()).json()
    assert told == {"problems": [], "attributes": ["age", "country", "points"]}
    for odd in ({}, {"channels": "none"}, {"scoringModels": {"a": 1}}, {"dataConnectors": [{"type": "ftp"}]}, {"x": 1}):
        assert marketer.post("/programs/check", json=odd).json()["problems"]
    assert marketer.post("/programs/check", json=[1]).status_code == 422


# -- dry runs -----------------------------------------------------------------------------------------------------


def test_a_dry_run_comes_to_what_the_run_comes_to_and_writes_nothing(
    served: Served, admin: httpx.Client, marketer: httpx.Client
) -> None:
    made = Programme(served, admin, PEOPLE, filterChain=CHAIN, approved=False)
    out = new_id("c")
    with open(made.file, "a", newline="", encoding="utf-8") as file:
        file.write(f"{out},1,IT,1\r\n,1,IT,1\r\nc-bad,1,IT,\r\n")
    admin.patch(f"/customers/{out}/preferences", json={"optedOut": True})
    store = served.runtime.sync_store

    def written() -> int:
        return sum(len(list(store.iterate(kind))) for kind in (Candidate, ChannelEntry, Score))

    before = written()
    answer = marketer.post(f"{made.path}/dry-run", json={})
    assert answer.status_code == 200, answer.text
    funnel = answer.json()
    assert written() == before
    assert {
        name: funnel[name] for name in ("total", "read", "withoutId", "scored", "failed", "candidates", "more")
    } == {
        "total": 33,
        "read": 32,
        "withoutId": 1,
        "scored": 30,
        "failed": 1,
        "candidates": 20,
        "more": False,
    }
    assert [(each["filter"], each["leftOut"]) for each in funnel["filters"]] == [
        ("preference", 1),
        ("eligibility", 10),
        ("frequency", 0),
    ]
    assert (funnel["filters"][0]["reasons"], funnel["channels"]) == ({"opted out": 1}, {"email": 20, "push": 20})
    assert [each["customerId"] for each in funnel["best"]][:2] == ["c-029", "c-028"]
    assert list(funnel["errors"]) == ["test-points: it has no score"]
    made.approve()
    counts = made.run()["counts"]
    assert (counts["read"], counts["candidates"], counts["rejected"], counts["failed"], counts["withoutId"]) == (
        funnel["read"],
        funnel["candidates"],
        sum(each["leftOut"] for each in funnel["filters"]),
        funnel["failed"],
        funnel["withoutId"],
    )


def test_a_dry_run_is_bounded_and_of_a_program_as_it_might_be(
    served: Served, admin: httpx.Client, marketer: httpx.Client
) -> None:
    made = Programme(served, admin, PEOPLE)
    some = marketer.post(f"{made.path}/dry-run", json={"limit": 7}).json()
    assert (some["read"], some["total"], some["more"]) == (7, 30, True)
    might = {**made.body, "filterChain": CHAIN}
    assert marketer.post(f"{made.path}/dry-run", json={"configuration": might}).json()["candidates"] == 20
    new = f"/programs/{new_id('p')}/marketplaces/US"
    assert marketer.post(f"{new}/dry-run", json={"configuration": might}).json()["candidates"] == 20
    assert marketer.post(f"{new}/dry-run", json={}).status_code == 404
    for wrong in ({"limit": 0}, {"limit": 20_001}, {"configuration": {"programName": "x"}}):
        assert marketer.post(f"{made.path}/dry-run", json=wrong).status_code == 422
    bad = {**made.body, "scoringModels": [{"modelId": "astrology", "weight": 1}]}
    assert marketer.post(f"{made.path}/dry-run", json={"configuration": bad}).status_code == 400
    empty = {**made.body, "dataConnectors": []}
    assert marketer.post(f"{made.path}/dry-run", json={"configuration": empty}).status_code == 400
    # It is what it was.
    assert admin.get(made.path).json()["enabled"] is True


def test_a_model_that_hangs_holds_up_neither_the_dry_run_nor_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablewright.systems.engagement.api.program_calls._TRIED_WITHIN", 1.0)
    with Web(lambda asked: None) as web, serving(load("engagement"), memory=True, outbound_hosts=["127.0.0.1"]) as up:
        admin = up.client("root", "Admins", path="/engagement")
        models = [{"modelId": "slow", "endpoint": web.url, "weight": 1, "timeoutSeconds": 30}]
        made = Programme(up, admin, scoringModels=models, approved=False)
        began = time.monotonic()
        answer = admin.post(f"{made.path}/dry-run", json={})
        assert answer.status_code == 200, answer.text
        assert (answer.json()["failed"] == 1 or answer.json()["more"]) is True
        assert time.monotonic() - began < 20


# -- previews -----------------------------------------------------------------------------------------------------


def test_a_preview_shows_what_one_customer_would_get(
    served: Served, admin: httpx.Client, marketer: httpx.Client
) -> None:
    rows = [("a'1", "Ada <b>", "ada@example.org", 3, "IT"), ("b", "Bob", "", 2, "IT"), ("c", "", "", 1, "DE")]
    made = Programme(
        served, admin, rows, header=HEADER, filterChain=CHAIN, channels=[LETTER, {"channelId": "push", "priority": 2}]
    )
    first = marketer.post(f"{made.path}/preview", json={}).json()
    assert (first["customerId"], first["score"], first["isCandidate"]) == ("a'1", 3, True)
    assert [(each["filter"], each["outcome"]) for each in first["steps"]] == [
        ("preference", "passed"),
        ("eligibility", "passed"),
        ("frequency", "passed"),
    ]
    # As it is sent, whatever it looks like.
    assert first["channels"][0]["message"] == {"to": "ada@example.org", "subject": "Hi Ada <b>", "text": "<b>3</b>"}
    assert first["channels"][1] == {"channelId": "push", "message": {}, "reason": None}
    named = marketer.post(f"{made.path}/preview", json={"customerId": "a'1"}).json()
    assert named["channels"] == first["channels"]
    second = marketer.post(f"{made.path}/preview", json={"customerId": "b"}).json()
    assert second["channels"][0]["reason"] == "the customer has no address"
    third = marketer.post(f"{made.path}/preview", json={"customerId": "c"}).json()
    assert [each["outcome"] for each in third["steps"]] == ["passed", "left out", "not evaluated"]
    assert (third["isCandidate"], third["channels"][0]["reason"]) == (False, "the customer is left out")
    assert marketer.post(f"{made.path}/preview", json={"customerId": "nobody"}).status_code == 404


def test_a_preview_shows_nothing_of_a_customer_who_opted_out(
    served: Served, admin: httpx.Client, marketer: httpx.Client
) -> None:
    customer = new_id("c")
    made = Programme(served, admin, [(customer, 40, "IT", 5)])
    admin.patch(f"/customers/{customer}/preferences", json={"optedOut": True})
    found = marketer.post(f"{made.path}/preview", json={}).json()
    assert (found["attributes"], found["scores"], found["isCandidate"]) == ({}, {}, False)
    assert found["steps"][0] == {"filter": "preference", "outcome": "left out", "reason": "opted out"}


@pytest.mark.parametrize("role", ["Viewers", "EventSources"])
def test_trials_are_for_those_who_make_and_approve_programs(served: Served, admin: httpx.Client, role: str) -> None:
    made = Programme(served, admin)
    other = served.client("olga", role, path="/engagement")
    for path in ("/programs/check", f"{made.path}/dry-run", f"{made.path}/preview"):
        assert other.post(path, json={}).status_code == 403
    approver = served.client("vera", "Approvers", path="/engagement")
    assert approver.post(f"{made.path}/dry-run", json={}).status_code == 200
