"""Messages between a customer and those who help, and notes that the customer never sees."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.systems.harness import Served, at_once, notices_in
from tests.systems.support.tickets import moved, opened

pytestmark = pytest.mark.requirement("AP5")


def ids(client: httpx.Client, **params: Any) -> list[str]:
    """The tickets of a list, all pages of it."""
    found: list[str] = []
    more: dict[str, str] = {}
    while True:
        page = client.get("/tickets", params={**params, **more, "limit": 50})
        assert page.status_code == 200, page.text
        found += [each["ticket_id"] for each in page.json()["tickets"]]
        if page.json()["cursor"] is None:
            return found
        more = {"cursor": page.json()["cursor"]}


def asked(served: Served, staff: httpx.Client) -> tuple[httpx.Client, str]:
    """A customer, and a ticket of theirs."""
    customer = f"cust_{uuid4().hex}"
    return served.client(customer, "Customers", path="/support"), opened(staff, customer)["ticket_id"]


def test_a_customer_and_an_operator_write_to_each_other(served: Served, staff: httpx.Client) -> None:
    customer, ticket = asked(served, staff)
    said = customer.post(f"/tickets/{ticket}/messages", json={"text": "It hums again"})
    assert (said.status_code, said.json()["event_type"], said.json()["text"]) == (
        201,
        "customer_message",
        "It hums again",
    )
    answered = staff.post(f"/tickets/{ticket}/messages", json={"text": "Which pump?"})
    assert (answered.status_code, answered.json()["author"]) == (201, "op_1")
    for client in (customer, staff):
        events = client.get(f"/tickets/{ticket}/events").json()["events"]
        assert [(each["event_type"], each["number"]) for each in events] == [
            ("staff_message", 3),
            ("customer_message", 2),
            ("ticket_created", 1),
        ]
    # Who answered has helped.
    rated = customer.post(f"/tickets/{ticket}/feedback", json={"operator_id": "op_1", "rating": 4})
    assert rated.status_code == 201, rated.text


def test_a_ticket_waits_for_an_answer_from_the_customer_s_message_to_ours(served: Served, staff: httpx.Client) -> None:
    customer, first = asked(served, staff)
    second = opened(staff, customer.get(f"/tickets/{first}").json()["customer_id"])["ticket_id"]
    for ticket in (first, second):
        assert ticket not in ids(staff, unanswered=True)
        assert customer.post(f"/tickets/{ticket}/messages", json={"text": "Hello?"}).status_code == 201
    # The longest wait first.
    assert [each for each in ids(staff, unanswered=True) if each in (first, second)] == [first, second]
    staff.post(f"/tickets/{first}/notes", json={"text": "nobody has answered yet"})
    assert first in ids(staff, unanswered=True)
    staff.post(f"/tickets/{first}/messages", json={"text": "Here we are"})
    assert [each for each in ids(staff, unanswered=True) if each in (first, second)] == [second]


def test_a_customer_never_sees_a_note_nor_why_something_was_escalated(served: Served, staff: httpx.Client) -> None:
    customer, ticket = asked(served, staff)
    secret, reason = f"note {uuid4().hex}", f"reason {uuid4().hex}"
    customer.post(f"/tickets/{ticket}/messages", json={"text": "Hello?"})
    tag = customer.get(f"/tickets/{ticket}/case").headers["ETag"]
    note = staff.post(f"/tickets/{ticket}/notes", json={"text": secret})
    assert (note.status_code, note.json()["event_type"]) == (201, "internal_note")
    # Not even that there is one.
    assert customer.get(f"/tickets/{ticket}/case").headers["ETag"] == tag
    assert staff.post(f"/tickets/{ticket}/escalate", json={"reason": reason, "engineer": "eng_1"}).status_code == 200
    today = staff.get(f"/tickets/{ticket}/events").json()["events"][0]["day"]
    places = [
        f"/tickets/{ticket}",
        f"/tickets/{ticket}/events",
        f"/tickets/{ticket}/events?limit=1",
        f"/tickets/{ticket}/events?since={today}",
        f"/tickets/{ticket}/case",
        f"/tickets/{ticket}/case?consistent=true",
        f"/tickets/{ticket}/feedback",
        f"/tickets/{ticket}/data",
        "/my/tickets",
        "/my/tickets?status=ESCALATED",
    ]
    for place in places:
        answer = customer.get(place)
        assert answer.status_code == 200, place
        assert secret not in answer.text, place
        assert reason not in answer.text, place
    batch = customer.post("/tickets/batch-get", json={"ticket_ids": [ticket]})
    assert batch.json()["tickets"][0]["ticket_id"] == ticket
    assert reason not in batch.text
    attached = customer.put(f"/tickets/{ticket}/data", json={"data": "my log"})
    assert (attached.status_code, reason in attached.text) == (200, False)
    for client in (staff, served.client("eng_1", "Engineers", path="/support")):
        assert secret in client.get(f"/tickets/{ticket}/events").text
        assert reason in client.get(f"/tickets/{ticket}/case").text


def test_pages_of_events_are_full_whatever_of_them_is_internal(served: Served, staff: httpx.Client) -> None:
    customer, ticket = asked(served, staff)
    for number in range(5):
        staff.post(f"/tickets/{ticket}/notes", json={"text": "internal"})
        staff.post(f"/tickets/{ticket}/messages", json={"text": f"No. {number}"})
    first = customer.get(f"/tickets/{ticket}/events", params={"limit": 3}).json()
    assert [each["details"]["text"] for each in first["events"]] == ["No. 4", "No. 3", "No. 2"]
    rest = customer.get(f"/tickets/{ticket}/events", params={"limit": 3, "cursor": first["cursor"]}).json()
    assert [each["event_type"] for each in rest["events"]] == ["staff_message", "staff_message", "ticket_created"]


@pytest.mark.requirement("SU14")
def test_what_is_not_a_customer_s_is_refused(served: Served, staff: httpx.Client) -> None:
    customer, ticket = asked(served, staff)
    stranger = served.client(f"cust_{uuid4().hex}", "Customers", path="/support")
    assert stranger.post(f"/tickets/{ticket}/messages", json={"text": "mine?"}).status_code == 404
    for client in (stranger, customer):
        place = f"/tickets/{ticket}"
        refused = [
            client.post(f"{place}/notes", json={"text": "a note"}),
            client.post(f"{place}/status", json={"status": "PROCESSING"}),
            client.post(f"{place}/escalate", json={"reason": "r", "engineer": "e"}),
            client.put(f"{place}/assignee", json={"assignee": "me"}),
            client.put(f"{place}/priority", json={"priority": "CRITICAL"}),
            client.post(f"{place}/events", json={"event_type": "called"}),
            client.get("/tickets"),
            client.get("/tickets?unanswered=true"),
            client.get("/tickets?assigned_to=op_1"),
            client.get("/escalations"),
            client.get("/operators/op_1/feedback"),
            client.get("/metrics"),
            client.get(f"{place}/audit"),
        ]
        assert [each.status_code for each in refused] == [403] * len(refused)
        assert client.get("/customers/cust_other/tickets").status_code == 403
    # Staff have no tickets of their own.
    assert staff.get("/my/tickets").status_code == 403
    events = staff.get(f"/tickets/{ticket}/events").json()["events"]
    assert [each["event_type"] for each in events] == ["ticket_created"]


def test_messages_to_unknown_tickets_and_blank_messages_are_refused(staff: httpx.Client) -> None:
    for path in ("messages", "notes"):
        assert staff.post(f"/tickets/tkt_none/{path}", json={"text": "hello"}).status_code == 404
    for text in ("", "  \n ", "x" * 20_001):
        path = f"/tickets/{opened(staff)['ticket_id']}/messages"
        assert staff.post(path, json={"text": text}).status_code == 422


def test_messages_of_many_at_once_are_all_kept_and_numbered(served: Served, staff: httpx.Client) -> None:
    customer, ticket = asked(served, staff)

    def write(number: int) -> int:
        client = customer if number % 2 else staff
        return client.post(f"/tickets/{ticket}/messages", json={"text": f"No. {number}"}).status_code

    assert at_once(12, write) == [201] * 12
    events = staff.get(f"/tickets/{ticket}/events", params={"limit": 50}).json()["events"]
    assert [each["number"] for each in events] == list(range(13, 0, -1))
    assert {each["details"].get("text") for each in events[:-1]} == {f"No. {number}" for number in range(12)}
    # Whoever wrote last decides whether it waits.
    is_last_ours = events[0]["event_type"] == "staff_message"
    assert (ticket not in ids(staff, unanswered=True)) == is_last_ours


def test_those_who_work_on_a_ticket_find_it_among_theirs_until_it_is_ready(staff: httpx.Client) -> None:
    mine = f"op_{uuid4().hex}"
    ticket, other = opened(staff), opened(staff)
    for each in (ticket, other):
        place = f"/tickets/{each['ticket_id']}"
        given = staff.put(f"{place}/assignee", json={"assignee": mine})
        assert (given.status_code, given.json()["assigned_to"]) == (200, mine)
    assert ids(staff, assigned_to=mine) == [other["ticket_id"], ticket["ticket_id"]]
    moved(staff, ticket, "PROCESSING", "READY")
    assert ids(staff, assigned_to=mine) == [other["ticket_id"]]
    path = f"/tickets/{other['ticket_id']}"
    assert staff.put(f"{path}/assignee", json={"assignee": None}).json()["assigned_to"] is None
    assert ids(staff, assigned_to=mine) == []
    assert staff.put(f"{path}/priority", json={"priority": "CRITICAL"}).json()["priority"] == "CRITICAL"
    events = staff.get(f"{path}/events").json()["events"]
    assert [each["event_type"] for each in events] == ["priority_changed", "assigned", "assigned", "ticket_created"]
    assert events[0]["details"] == {"priority": "CRITICAL", "priority_before": "MEDIUM", "changed_by": "op_1"}
    # The same again changes nothing.
    assert staff.put(f"{path}/priority", json={"priority": "CRITICAL"}).status_code == 200
    assert len(staff.get(f"{path}/events").json()["events"]) == 4


def test_of_two_who_take_a_ticket_one_gets_it(staff: httpx.Client) -> None:
    place = f"/tickets/{opened(staff)['ticket_id']}"
    tag = staff.get(place).headers["ETag"]

    def take(number: int) -> int:
        return staff.put(f"{place}/assignee", json={"assignee": f"op_{number}"}, headers={"If-Match": tag}).status_code

    assert sorted(at_once(2, take)) == [200, 412]
    assert [each["event_type"] for each in staff.get(f"{place}/events").json()["events"]] == [
        "assigned",
        "ticket_created",
    ]


@pytest.mark.parametrize(
    "query", ["assigned_to=a&unanswered=true", "assigned_to=a&status=NEW", "unanswered=true&since=2026-01-01"]
)
def test_lists_with_an_index_each_are_not_mixed(staff: httpx.Client, query: str) -> None:
    answer = staff.get(f"/tickets?{query}")
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/invalid")


@pytest.mark.requirement("AP2")
def test_the_customer_and_the_assignee_are_notified_of_what_others_write(served: Served, staff: httpx.Client) -> None:
    customer, ticket = asked(served, staff)
    customer_id = staff.get(f"/tickets/{ticket}").json()["customer_id"]
    engineer = f"eng_{uuid4().hex}"

    def told() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        return notices_in(served, "support", customer_id), notices_in(served, "support", engineer)

    def writes(client: httpx.Client, what: str) -> None:
        answer = client.post(f"/tickets/{ticket}/{what}", json={"text": "hello"})
        assert answer.status_code == 201, answer.text

    writes(customer, "messages")
    assert told() == ([], [])
    assert staff.put(f"/tickets/{ticket}/assignee", json={"assignee": engineer}).is_success
    writes(customer, "messages")
    assert told() == ([], [(ticket, customer_id)])
    writes(staff, "notes")
    assert told() == ([], [(ticket, "op_1")])
    own = served.client(engineer, "Engineers", path="/support")
    writes(own, "messages")
    writes(own, "notes")
    assert told() == ([(ticket, engineer)], [(ticket, "op_1")])
    writes(staff, "messages")
    assert told() == ([(ticket, "op_1")], [(ticket, "op_1")])
    # Of what is none of theirs, nobody is told.
    stranger = served.client(f"cust_{uuid4().hex}", "Customers", path="/support")
    assert stranger.post(f"/tickets/{ticket}/messages", json={"text": "mine?"}).status_code in (403, 404)
    assert told() == ([(ticket, "op_1")], [(ticket, "op_1")])
