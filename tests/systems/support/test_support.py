"""Support over HTTP: tickets, events, feedback, escalations, sessions, cache."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest

from tests.systems.harness import Served, at_once
from tests.systems.slow_reads import watch_reads
from tests.systems.support.tickets import moved, opened


@pytest.mark.requirement("SU1")
def test_a_ticket_is_created_and_found(staff: httpx.Client) -> None:
    ticket = opened(staff, "cust_456", priority="HIGH")
    assert ticket["status"] == "NEW"
    assert staff.get(f"/tickets/{ticket['ticket_id']}").json() == ticket
    assert staff.get("/tickets/tkt_none").status_code == 404


@pytest.mark.requirement("SU5")
def test_a_ticket_and_its_first_event_are_of_one_instant(staff: httpx.Client) -> None:
    for headers in ({}, {"Idempotency-Key": uuid4().hex}):
        body = {"customer_id": "cust_1", "symptom_text": "The pump stops"}
        ticket = staff.post("/tickets", json=body, headers=headers).json()
        (event,) = staff.get(f"/tickets/{ticket['ticket_id']}/events").json()["events"]
        assert event["timestamp"] == ticket["created_at"]


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


@pytest.mark.requirement("SU5", "SU17")
def test_events_are_numbered_without_gaps_by_a_hundred_and_fifty_writers_at_once(staff: httpx.Client) -> None:
    ticket_id = opened(staff)["ticket_id"]

    def add(number: int) -> int:
        body = {"event_type": "customer_called", "details": {"call": number}}
        return staff.post(f"/tickets/{ticket_id}/events", json=body).status_code

    assert at_once(150, add) == [201] * 150
    found: list[int] = []
    cursor: dict[str, str] = {}
    while True:
        page = staff.get(f"/tickets/{ticket_id}/events", params={"limit": 100, **cursor}).json()
        found += [event["number"] for event in page["events"]]
        if page["cursor"] is None:
            break
        cursor = {"cursor": page["cursor"]}
    assert found == list(range(151, 0, -1))


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


@pytest.mark.requirement("SU3")
def test_staff_list_recent_tickets_of_any_status_newest_first(served: Served, staff: httpx.Client) -> None:
    made = [opened(staff) for _ in range(9)]
    moved(staff, made[1], "PROCESSING", "READY")
    moved(staff, made[4], "FAILED")
    staff.post(f"/tickets/{made[6]['ticket_id']}/escalate", json={"reason": "r", "engineer": "eng_7"})
    newest = [ticket["ticket_id"] for ticket in reversed(made)]
    found: list[Any] = []
    cursor: dict[str, str] = {}
    later = [made[7], made[2], made[0]]
    while len(found) < len(made):
        page = staff.get("/tickets", params={"limit": 4, **cursor}).json()
        found += page["tickets"]
        cursor = {"cursor": page["cursor"]}
        # What changes meanwhile is neither shown twice nor left out: its place is when it was opened.
        moved(staff, later.pop(), "PROCESSING")
    assert [each["ticket_id"] for each in found[: len(made)]] == newest
    statuses = {each["ticket_id"]: each["status"] for each in found}
    assert [statuses[made[number]["ticket_id"]] for number in (1, 4, 6)] == ["READY", "FAILED", "ESCALATED"]
    today = date.fromisoformat(made[0]["created_at"][:10])
    within = staff.get("/tickets", params={"since": str(today), "until": str(today), "limit": 9}).json()["tickets"]
    assert [each["ticket_id"] for each in within] == newest
    tomorrow = str(today + timedelta(days=1))
    assert staff.get("/tickets", params={"since": tomorrow}).json()["tickets"] == []
    customer = served.client("cust_1", "Customers", path="/support")
    assert customer.get("/tickets").status_code == 403


@pytest.mark.requirement("SU18")
def test_consistency_is_chosen_wherever_one_thing_is_read(
    staff: httpx.Client, machine: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket_id = opened(staff)["ticket_id"]
    session = machine.post("/sessions", json={"user_id": "u-1"}).json()["session_id"]
    key = uuid4().hex
    machine.put(f"/cache/{key}", json={"data": {}})
    reads = watch_reads(monkeypatch)
    for method, path in (
        ("GET", f"/tickets/{ticket_id}"),
        ("GET", f"/tickets/{ticket_id}/data"),
        ("GET", f"/tickets/{ticket_id}/case"),
        ("POST", "/tickets/batch-get"),
        ("GET", f"/sessions/{session}"),
        ("GET", f"/cache/{key}"),
        ("GET", "/metrics"),
    ):
        for params, expected in (({}, {False}), ({"consistent": "true"}, {True}), ({"consistent": "false"}, {False})):
            reads.clear()
            body = {"ticket_ids": [ticket_id]} if method == "POST" else None
            response = machine.request(method, path, params=params, json=body)
            assert response.status_code == 200, response.text
            assert set(reads) == expected, (path, params)


@pytest.mark.requirement("SU8")
def test_a_session_lasts_a_day_unless_it_is_ended(served: Served, machine: httpx.Client) -> None:
    session = machine.post("/sessions", json={"user_id": "u-1"}).json()
    lasts = datetime.fromisoformat(session["expires_at"]) - datetime.fromisoformat(session["created_at"])
    assert lasts == timedelta(hours=24)
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


@pytest.mark.requirement("SU9", "SU14")
def test_no_two_customers_have_a_key_in_common(served: Served) -> None:
    tail = uuid4().hex
    first, second = f"cust_{tail}x", f"cust_{tail}"
    body = {"symptom_text": "The pump stops"}
    made = []
    for name, key in ((first, "1"), (second, "x1")):
        customer = served.client(name, "Customers", path="/support")
        answer = customer.post("/tickets", json=body, headers={"Idempotency-Key": key})
        assert answer.status_code == 201, answer.text
        made.append(answer.json())
    assert [ticket["customer_id"] for ticket in made] == [first, second]


@pytest.mark.requirement("SU10")
def test_what_is_cached_is_there_for_fifteen_minutes(served: Served, machine: httpx.Client) -> None:
    key = uuid4().hex
    assert machine.put(f"/cache/{key}", json={"data": {"answer": 42}}).status_code == 200
    assert machine.get(f"/cache/{key}").json() == {"answer": 42}
    served.clock.advance(16 * 60)
    assert machine.get(f"/cache/{key}").status_code == 404


def test_numbers_are_shown_as_they_were_sent(machine: httpx.Client) -> None:
    sent = {"degrees": 1.5, "whole": 3, "deep": [{"tiny": 1e-7, "large": 2**63 - 1, "negative": -0.1}], "text": "1.5"}
    ticket_id = opened(machine)["ticket_id"]
    added = machine.post(f"/tickets/{ticket_id}/events", json={"event_type": "measured", "details": sent})
    assert added.json()["details"] == sent
    assert machine.get(f"/tickets/{ticket_id}/events").json()["events"][0]["details"] == sent
    assert machine.get(f"/tickets/{ticket_id}/case").json()["events"][-1]["details"] == sent
    key = uuid4().hex
    assert machine.put(f"/cache/{key}", json={"data": sent}).json()["data"] == sent
    assert machine.get(f"/cache/{key}").json() == sent


def test_half_a_character_is_refused_as_in_any_text(machine: httpx.Client) -> None:
    ticket_id = opened(machine)["ticket_id"]
    sent = {"Content-Type": "application/json"}
    new = b'{"customer_id": "c", "symptom_text": "s", "data": "\\udfff"}'
    for answer in (
        machine.post("/tickets", content=new, headers=sent),
        machine.put(f"/tickets/{ticket_id}/data", content=b'{"data": "a\\ud83d"}', headers=sent),
    ):
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "body.data")
    whole = machine.put(f"/tickets/{ticket_id}/data", content=b'{"data": "\\ud83d\\ude00"}', headers=sent)
    assert (whole.status_code, machine.get(f"/tickets/{ticket_id}/data").json()["data"]) == (200, "\U0001f600")


@pytest.mark.parametrize("named", ["a/b", "/", ".", "..", "a\x00", "a\x85"])
def test_an_id_that_cannot_be_asked_for_is_not_taken(served: Served, machine: httpx.Client, named: str) -> None:
    refused = machine.post("/tickets", json={"customer_id": named, "symptom_text": "s"})
    assert refused.status_code == 422
    ticket_id = opened(machine)["ticket_id"]
    escalation = {"reason": "r", "engineer": named}
    assert machine.post(f"/tickets/{ticket_id}/escalate", json=escalation).status_code == 422
    # Neither by a token that has it.
    customer = served.client(named, "Customers", path="/support")
    own = customer.post("/tickets", json={"symptom_text": "s"})
    assert (own.status_code, own.json()["type"]) == (403, "/problems/forbidden")


@pytest.mark.parametrize("named", ["a.b", "...", ".a", "a b", "Zoë", "a%2Fb", "auth0|1", "a\\b", "?", "#"])
def test_an_id_that_was_taken_can_be_asked_for(served: Served, machine: httpx.Client, named: str) -> None:
    ticket_id = opened(machine, named)["ticket_id"]
    found = machine.get(f"/customers/{quote(named, safe='')}/tickets")
    assert ticket_id in [each["ticket_id"] for each in found.json()["tickets"]]


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
