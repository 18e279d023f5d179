"""Support as those who run it see it: consumers and their dead letters, conflicts in words, nothing without an end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tablewright.runtime.settings import Settings
from tablewright.runtime.system import Runtime
from tablewright.systems.support.model import Feedback, tickets
from tablewright.systems.support.support_system import system
from tests.systems.harness import Served, at_once, wait_for
from tests.systems.stored_items import ask
from tests.systems.support.tickets import moved, opened


@pytest.mark.requirement("SU13")
def test_metrics_are_consumed_as_the_design_says() -> None:
    settings: dict[str, Any] = {"memory": True, "issuer": "https://issuer.example.org", "audience": "x"}
    runtime = Runtime.open(Settings(**settings), [system])
    try:
        (metrics,) = system.consumers(runtime, system.service(runtime))
    finally:
        runtime.close()
    assert (metrics.batch_size, metrics.window, metrics.bisect, metrics.retries) == (100, timedelta(seconds=5), True, 3)


@pytest.mark.requirement("SU13")
def test_a_record_that_cannot_be_counted_is_put_aside_and_the_others_count(served: Served, staff: httpx.Client) -> None:
    admin = served.client("admin", "Admins")
    path = "/runtime/consumers/support.metrics/dead-letters"
    before = staff.get("/metrics").json()["ratings"]
    ticket_id = opened(staff)["ticket_id"]

    def give(rating: Any) -> None:
        time = served.runtime.now()
        made = {"ticket_id": ticket_id, "feedback_id": uuid4().hex, "operator_id": "op", "submitted_at": time}
        item = Feedback(**made, rating=1, given_by="c", once=uuid4().hex).item()
        # By another program, which has its own idea of a rating.
        ask(served, "PutItem", tickets, Item={**item, "rating": rating})

    for rating in ({"N": "4"}, {"S": "excellent"}, {"N": "2"}):
        give(rating)
    (letter,) = wait_for(lambda: admin.get(path).json()["dead_letters"])
    assert letter["attempts"] == 1 + 3
    assert "excellent" in letter["record"]
    wait_for(lambda: staff.get("/metrics").json()["ratings"] == before + 2)
    refused = admin.post(f"{path}/{letter['sequence']}/replay")
    assert (refused.status_code, refused.json()["detail"]) == (409, "the dead letter failed again: Unreadable")
    assert served.client("op_1", "Operators").get(path).status_code == 403


@pytest.mark.requirement("SU6", "SU19")
def test_a_case_that_is_too_large_for_one_answer_is_read_in_pages(quiet: Served) -> None:
    staff = quiet.client("op_1", "Operators", path="/support")
    ticket_id = opened(staff)["ticket_id"]
    event = {"event_type": "trace", "details": {"lines": "x" * 390_000}}
    for _ in range(20):
        assert staff.post(f"/tickets/{ticket_id}/events", json=event).status_code == 201
    case = staff.get(f"/tickets/{ticket_id}/case")
    assert (case.status_code, len(case.json()["events"])) == (200, 21)
    for _ in range(30):
        assert staff.post(f"/tickets/{ticket_id}/events", json=event).status_code == 201
    refused = staff.get(f"/tickets/{ticket_id}/case")
    assert refused.status_code == 413
    assert "in pages" in refused.json()["detail"]
    assert len(staff.get(f"/tickets/{ticket_id}/events", params={"limit": 20}).json()["events"]) == 20


@pytest.mark.requirement("SU17")
def test_of_many_concurrent_changes_one_succeeds_and_the_others_get_409_with_the_reason(staff: httpx.Client) -> None:
    ticket_id = opened(staff)["ticket_id"]

    def move(_: int) -> httpx.Response:
        body = {"status": "PROCESSING", "expected": "NEW"}
        return staff.post(f"/tickets/{ticket_id}/status", json=body)

    answers = at_once(20, move)
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 19
    told = {answer.json()["detail"] for answer in answers if answer.status_code == 409}
    assert told == {f"ticket {ticket_id} is no longer NEW; read it again"}
    events = staff.get(f"/tickets/{ticket_id}/events").json()["events"]
    assert [event["number"] for event in events] == [2, 1]


@pytest.mark.requirement("SU17")
def test_writes_that_get_into_each_other_s_way_are_tried_again(staff: httpx.Client) -> None:
    """Every event counts the same counter up: all are transactions of one item, and each succeeds at its first call."""
    ticket_id = opened(staff)["ticket_id"]
    answers = at_once(8, lambda _: staff.post(f"/tickets/{ticket_id}/events", json={"event_type": "customer_called"}))
    assert [answer.status_code for answer in answers] == [201] * 8
    assert sorted(answer.json()["number"] for answer in answers) == list(range(2, 10))


@pytest.mark.requirement("SU12", "SU19")
def test_no_route_scans_a_table(quiet: Served) -> None:
    staff = quiet.client("op_1", "Operators", path="/support")
    ticket = moved(staff, opened(staff, "cust_1"), "PROCESSING")
    ticket_id = ticket["ticket_id"]
    staff.post(f"/tickets/{ticket_id}/escalate", json={"reason": "r", "engineer": "eng_7"})
    paths = {
        "/metrics": {},
        "/tickets": {"status": "NEW"},
        "/customers/cust_1/tickets": {},
        "/escalations": {},
        f"/tickets/{ticket_id}/events": {},
        f"/tickets/{ticket_id}/feedback": {},
        f"/tickets/{ticket_id}/case": {},
        "/operators/op_1/feedback": {},
        "/metrics/trends": {},
        "/metrics/operators": {},
        "/search": {"q": "pump"},
    }
    # The index of the search is made from the table when the process starts.
    wait_for(lambda: not staff.get("/search", params={"q": "pump"}).json()["is_building"])

    def asked() -> dict[str, str]:
        lines = quiet.client().get("/metrics").text.splitlines()
        found = [line.split("operation=")[1] for line in lines if "dynamodb_request_seconds_count{" in line]
        return {each.partition("}")[0]: each.partition("}")[2] for each in found}

    scans = asked().get('"Scan"')
    for path, params in paths.items():
        assert staff.get(path, params=params).status_code == 200, path
    assert '"Query"' in asked()
    assert asked().get('"Scan"') == scans


@pytest.mark.requirement("SU19")
def test_every_list_has_a_limit_and_a_cursor(quiet: Served) -> None:
    described = quiet.client(path="/support").get("/openapi.json").json()
    lists = 0
    for path, methods in described["paths"].items():
        answer = methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        reference = answer.get("application/json", {}).get("schema", {}).get("$ref", "")
        # A search has the best of what it finds, and no more pages.
        if not reference.endswith("Page") or reference.endswith("SearchPage"):
            continue
        lists += 1
        parameters = {each["name"]: each["schema"] for each in methods["get"]["parameters"]}
        assert parameters["limit"]["maximum"] <= 100, path
        assert "cursor" in parameters, path
    assert lists == 8
    staff = quiet.client("op_1", "Operators", path="/support")
    assert staff.get("/tickets", params={"status": "NEW", "limit": 101}).status_code == 422
    many = {"ticket_ids": [f"tkt_{number}" for number in range(1001)]}
    assert staff.post("/tickets/batch-get", json=many).status_code == 422
