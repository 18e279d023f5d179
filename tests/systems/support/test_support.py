"""Support over HTTP: tickets, events, feedback, escalations, sessions, cache."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.systems.harness import Served, at_once


@pytest.fixture
def staff(served: Served) -> httpx.Client:
    return served.client("op_1", "Operators", path="/support")


@pytest.fixture
def machine(served: Served) -> httpx.Client:
    return served.client("backend", "Services", path="/support")


def opened(client: httpx.Client, customer: str | None = None, **more: Any) -> Any:
    body = {"customer_id": customer or f"cust_{uuid4().hex}", "symptom_text": "The pump stops", **more}
    answer = client.post("/tickets", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def moved(client: httpx.Client, ticket: Any, *path: str) -> Any:
    for status in path:
        body = {"status": status, "expected": ticket["status"]}
        answer = client.post(f"/tickets/{ticket['ticket_id']}/status", json=body)
        assert answer.status_code == 200, answer.text
        ticket = answer.json()
    return ticket


@pytest.mark.requirement("SU1")
def test_a_ticket_is_created_and_found(staff: httpx.Client) -> None:
    ticket = opened(staff, "cust_456", priority="HIGH")
    assert ticket["status"] == "NEW"
    assert staff.get(f"/tickets/{ticket['ticket_id']}").json() == ticket
    assert staff.get("/tickets/tkt_none").status_code == 404


@pytest.mark.requirement("SU1")
def test_any_number_of_tickets_is_found_at_once(staff: httpx.Client) -> None:
    made = [opened(staff)["ticket_id"] for _ in range(120)]
    found = staff.post("/tickets/batch-get", json={"ticket_ids": [*made, "tkt_none", made[0]]}).json()
    assert [ticket["ticket_id"] for ticket in found["tickets"]] == made


@pytest.mark.requirement("SU2")
def test_a_customer_s_tickets_are_newest_first_whatever_their_status(staff: httpx.Client) -> None:
    customer = f"cust_{uuid4().hex}"
    made = [opened(staff, customer) for _ in range(6)]
    for ticket in made[::2]:
        moved(staff, ticket, "PROCESSING")
    newest = [ticket["ticket_id"] for ticket in reversed(made)]
    first = staff.get(f"/customers/{customer}/tickets", params={"limit": 4}).json()
    rest = staff.get(f"/customers/{customer}/tickets", params={"limit": 4, "cursor": first["cursor"]}).json()
    assert [ticket["ticket_id"] for ticket in first["tickets"] + rest["tickets"]] == newest
    working = staff.get(f"/customers/{customer}/tickets", params={"status": "PROCESSING"}).json()["tickets"]
    assert [ticket["ticket_id"] for ticket in working] == newest[1::2]


@pytest.mark.requirement("SU3")
def test_tickets_of_a_status_are_newest_first_within_days(served: Served, staff: httpx.Client) -> None:
    made = [moved(staff, opened(staff), "FAILED")["ticket_id"] for _ in range(12)]
    today = date.fromisoformat(staff.get(f"/tickets/{made[0]}").json()["created_at"][:10])
    found: list[str] = []
    cursor = None
    while True:
        page = staff.get(
            "/tickets",
            params={
                "status": "FAILED",
                "since": str(today),
                "until": str(today),
                "limit": 5,
                **({"cursor": cursor} if cursor else {}),
            },
        ).json()
        found += [ticket["ticket_id"] for ticket in page["tickets"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert [each for each in found if each in made] == made[::-1]
    tomorrow = str(today + timedelta(days=1))
    assert staff.get("/tickets", params={"status": "FAILED", "since": tomorrow}).json()["tickets"] == []


@pytest.mark.requirement("SU4")
def test_a_status_change_moves_every_index_and_leaves_an_event(staff: httpx.Client) -> None:
    ticket = opened(staff)
    ticket_id, customer = ticket["ticket_id"], ticket["customer_id"]
    moved(staff, ticket, "PROCESSING")
    for status, there in (("NEW", False), ("PROCESSING", True)):
        of_customer = staff.get(f"/customers/{customer}/tickets", params={"status": status}).json()["tickets"]
        assert [each["ticket_id"] for each in of_customer] == ([ticket_id] if there else [])
        of_status = staff.get("/tickets", params={"status": status, "limit": 100}).json()["tickets"]
        assert (ticket_id in [each["ticket_id"] for each in of_status]) is there
    event = staff.get(f"/tickets/{ticket_id}/events").json()["events"][0]
    assert (event["event_type"], event["old_status"], event["new_status"]) == ("status_changed", "NEW", "PROCESSING")


@pytest.mark.requirement("SU4")
def test_a_change_from_a_stale_status_is_refused_and_leaves_no_event(staff: httpx.Client) -> None:
    ticket = opened(staff)
    moved(staff, ticket, "PROCESSING", "READY")
    stale = {"status": "FAILED", "expected": "PROCESSING"}
    answer = staff.post(f"/tickets/{ticket['ticket_id']}/status", json=stale)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/conflict")
    events = staff.get(f"/tickets/{ticket['ticket_id']}/events").json()["events"]
    assert [event["number"] for event in events] == [3, 2, 1]
    assert staff.post("/tickets/tkt_none/status", json=stale).status_code == 404


@pytest.mark.requirement("SU5")
def test_events_are_numbered_without_gaps_by_fifty_writers_at_once(staff: httpx.Client) -> None:
    ticket_id = opened(staff)["ticket_id"]

    def add(number: int) -> int:
        body = {"event_type": "customer_called", "details": {"call": number}}
        # Those who were crowded out too often are told so, and come again.
        for _ in range(50):
            answer = staff.post(f"/tickets/{ticket_id}/events", json=body)
            if answer.status_code != 409:
                break
        return answer.status_code

    assert at_once(50, add) == [201] * 50
    page = staff.get(f"/tickets/{ticket_id}/events", params={"limit": 100}).json()
    assert [event["number"] for event in page["events"]] == list(range(51, 0, -1))


@pytest.mark.requirement("SU5")
def test_events_of_some_days_have_the_whole_last_day(served: Served, staff: httpx.Client) -> None:
    ticket_id = opened(staff)["ticket_id"]
    days = []
    for _ in range(4):
        body = {"event_type": "customer_called"}
        event = staff.post(f"/tickets/{ticket_id}/events", json=body).json()
        staff.post(f"/tickets/{ticket_id}/events", json=body)
        days.append(event["day"])
        served.clock.advance(86_400)
        # Tokens are of the day before by now.
        staff.headers["Authorization"] = f"Bearer {served.token('op_1', 'Operators')}"
    found = staff.get(f"/tickets/{ticket_id}/events", params={"since": days[1], "until": days[2]}).json()["events"]
    assert [(event["day"], event["number"]) for event in found] == [
        (days[1], 4),
        (days[1], 5),
        (days[2], 6),
        (days[2], 7),
    ]


@pytest.mark.requirement("SU6")
def test_feedback_of_one_instant_is_all_kept_and_found(staff: httpx.Client, served: Served) -> None:
    ticket_id, operator = opened(staff)["ticket_id"], f"op_{uuid4().hex}"

    def give(number: int) -> int:
        body = {"operator_id": operator, "rating": number % 5 + 1, "was_helpful": True}
        return staff.post(f"/tickets/{ticket_id}/feedback", json=body).status_code

    assert at_once(10, give) == [201] * 10
    assert len(staff.get(f"/tickets/{ticket_id}/feedback").json()["feedback"]) == 10
    case = staff.get(f"/tickets/{ticket_id}/case").json()
    assert (case["ticket"]["ticket_id"], len(case["events"]), len(case["feedback"])) == (ticket_id, 1, 10)
    own = served.client(operator, "Operators", path="/support")
    found = own.get(f"/operators/{operator}/feedback").json()["feedback"]
    assert len(found) == 10
    assert set(found[0]) == {"ticket_id", "rating", "was_helpful"}
    assert staff.get(f"/operators/{operator}/feedback").status_code == 403


@pytest.mark.requirement("SU7")
def test_an_escalated_ticket_is_in_the_sparse_index_until_it_is_not(staff: httpx.Client) -> None:
    engineer = f"eng_{uuid4().hex}"
    made = []
    for _ in range(5):
        ticket = opened(staff)
        body = {"reason": "It is a safety device", "engineer": engineer}
        answer = staff.post(f"/tickets/{ticket['ticket_id']}/escalate", json=body)
        assert (answer.status_code, answer.json()["status"]) == (200, "ESCALATED")
        made.append(ticket["ticket_id"])
    everything = staff.get("/escalations", params={"limit": 100}).json()["escalations"]
    assert [each["ticket_id"] for each in everything if each["ticket_id"] in made] == made[::-1]
    own = staff.get("/escalations", params={"engineer": engineer}).json()["escalations"]
    assert [each["ticket_id"] for each in own] == made[::-1]
    assert own[0]["escalation_reason"] == "It is a safety device"
    left = staff.post(f"/tickets/{made[2]}/status", json={"status": "READY", "expected": "ESCALATED"})
    assert left.status_code == 200
    own = staff.get("/escalations", params={"engineer": engineer}).json()["escalations"]
    assert [each["ticket_id"] for each in own] == [each for each in made[::-1] if each != made[2]]


@pytest.mark.requirement("SU8")
def test_a_session_lasts_a_day_unless_it_is_ended(served: Served, machine: httpx.Client) -> None:
    session = machine.post("/sessions", json={"user_id": "u-1"}).json()
    short = machine.post("/sessions", json={"user_id": "u-1", "hours": 1}).json()
    ended = machine.post("/sessions", json={"user_id": "u-1"}).json()["session_id"]
    assert machine.delete(f"/sessions/{ended}").status_code == 204
    assert machine.get(f"/sessions/{ended}").status_code == 404
    served.clock.advance(2 * 3600)
    assert machine.get(f"/sessions/{session['session_id']}").json() == session
    assert machine.get(f"/sessions/{short['session_id']}").status_code == 404
    served.clock.advance(23 * 3600)
    machine.headers["Authorization"] = f"Bearer {served.token('backend', 'Services')}"
    assert machine.get(f"/sessions/{session['session_id']}").status_code == 404


@pytest.mark.requirement("SU9")
def test_a_hundred_copies_of_a_request_make_one_ticket(staff: httpx.Client) -> None:
    customer, key = f"cust_{uuid4().hex}", uuid4().hex
    body = {"customer_id": customer, "symptom_text": "The pump stops"}

    def create(_: int) -> tuple[int, str]:
        answer = staff.post("/tickets", json=body, headers={"Idempotency-Key": key})
        return answer.status_code, answer.json().get("ticket_id", answer.text)

    answers = at_once(100, create)
    assert {status for status, _ in answers} == {201}
    assert len({ticket_id for _, ticket_id in answers}) == 1
    (ticket,) = staff.get(f"/customers/{customer}/tickets").json()["tickets"]
    (event,) = staff.get(f"/tickets/{ticket['ticket_id']}/events").json()["events"]
    assert event["event_type"] == "ticket_created"


@pytest.mark.requirement("SU9")
def test_a_key_is_good_for_one_request_and_for_a_day(served: Served, staff: httpx.Client) -> None:
    customer, headers = f"cust_{uuid4().hex}", {"Idempotency-Key": uuid4().hex}
    body = {"customer_id": customer, "symptom_text": "The pump stops"}
    first = staff.post("/tickets", json=body, headers=headers).json()
    served.clock.advance(3600)
    assert staff.post("/tickets", json=body, headers=headers).json() == first
    other = staff.post("/tickets", json={**body, "symptom_text": "else"}, headers=headers)
    assert (other.status_code, other.json()["type"]) == (422, "/problems/idempotency-mismatch")
    served.clock.advance(24 * 3600)
    staff.headers["Authorization"] = f"Bearer {served.token('op_1', 'Operators')}"
    assert staff.post("/tickets", json=body, headers=headers).json()["ticket_id"] != first["ticket_id"]


@pytest.mark.requirement("SU10")
def test_what_is_cached_is_there_for_fifteen_minutes(served: Served, machine: httpx.Client) -> None:
    key = uuid4().hex
    assert machine.put(f"/cache/{key}", json={"data": {"answer": 42}}).status_code == 200
    assert machine.get(f"/cache/{key}").json() == {"answer": 42}
    served.clock.advance(16 * 60)
    assert machine.get(f"/cache/{key}").status_code == 404


@pytest.mark.requirement("SU14")
def test_a_customer_sees_nothing_of_another(served: Served, staff: httpx.Client) -> None:
    mine, other = f"cust_{uuid4().hex}", f"cust_{uuid4().hex}"
    customer = served.client(mine, "Customers", path="/support")
    own, foreign = opened(customer, mine), opened(staff, other)
    assert customer.get(f"/tickets/{own['ticket_id']}").status_code == 200
    assert [each["ticket_id"] for each in customer.get(f"/customers/{mine}/tickets").json()["tickets"]] == [
        own["ticket_id"]
    ]
    ids = {"ticket_ids": [own["ticket_id"], foreign["ticket_id"]]}
    assert [each["ticket_id"] for each in customer.post("/tickets/batch-get", json=ids).json()["tickets"]] == [
        own["ticket_id"]
    ]
    for path in ("", "/events", "/feedback", "/case", "/data"):
        assert customer.get(f"/tickets/{foreign['ticket_id']}{path}").status_code == 404
    feedback = {"operator_id": "op", "rating": 1}
    assert customer.post(f"/tickets/{foreign['ticket_id']}/feedback", json=feedback).status_code == 404
    assert customer.put(f"/tickets/{foreign['ticket_id']}/data", json={"data": "x"}).status_code == 404
    assert customer.get(f"/customers/{other}/tickets").status_code == 403
    assert customer.post("/tickets", json={"customer_id": other, "symptom_text": "x"}).status_code == 403
    opened(staff, other)
    cursor = staff.get(f"/customers/{other}/tickets", params={"limit": 1}).json()["cursor"]
    stolen = customer.get(f"/customers/{mine}/tickets", params={"limit": 1, "cursor": cursor})
    assert stolen.json()["type"] == "/problems/invalid-cursor"


@pytest.mark.requirement("SU18")
def test_a_read_can_ask_for_what_was_written_just_before(staff: httpx.Client) -> None:
    ticket = opened(staff)
    moved(staff, ticket, "PROCESSING")
    seen = staff.get(f"/tickets/{ticket['ticket_id']}", params={"consistent": True}).json()
    assert seen["status"] == "PROCESSING"
