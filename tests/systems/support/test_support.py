"""Support over HTTP: tickets, events, feedback, escalations, sessions, cache."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest

from tests.systems.harness import Served, at_once
from tests.systems.slow_reads import slow_reads, watch_reads
from tests.systems.support.tickets import helped, moved, opened


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


@pytest.mark.requirement("SU6")
def test_feedback_of_one_instant_is_all_kept_and_found(served: Served) -> None:
    mine, operators = f"cust_{uuid4().hex}", [f"op_{uuid4().hex}" for _ in range(10)]
    customer = served.client(mine, "Customers", path="/support")
    ticket_id = opened(customer, mine)["ticket_id"]
    for operator in operators:
        helped(served, ticket_id, operator)

    def give(number: int) -> int:
        body = {"operator_id": operators[number], "rating": number % 5 + 1, "was_helpful": True}
        return customer.post(f"/tickets/{ticket_id}/feedback", json=body).status_code

    assert at_once(10, give) == [201] * 10
    assert len(customer.get(f"/tickets/{ticket_id}/feedback").json()["feedback"]) == 10
    case = customer.get(f"/tickets/{ticket_id}/case").json()
    assert (case["ticket"]["ticket_id"], len(case["events"]), len(case["feedback"])) == (ticket_id, 11, 10)
    another = opened(customer, mine)["ticket_id"]
    helped(served, another, operators[0])
    assert customer.post(f"/tickets/{another}/feedback", json={"operator_id": operators[0], "rating": 2}).is_success
    own = served.client(operators[0], "Operators", path="/support")
    told = {"given_by": mine, "about": operators[0]}
    assert own.get(f"/operators/{operators[0]}/feedback").json()["feedback"] == [
        {"ticket_id": another, "rating": 2, "was_helpful": None, **told},
        {"ticket_id": ticket_id, "rating": 1, "was_helpful": True, **told},
    ]


@pytest.mark.requirement("SU6")
def test_feedback_is_about_somebody_who_worked_on_the_ticket(staff: httpx.Client, served: Served) -> None:
    mine = f"cust_{uuid4().hex}"
    customer = served.client(mine, "Customers", path="/support")
    ticket = opened(customer, mine)
    path = f"/tickets/{ticket['ticket_id']}/feedback"
    refused = customer.post(path, json={"operator_id": "op_1", "rating": 1})
    assert (refused.status_code, refused.json()["field"]) == (400, "operator_id")
    assert refused.json()["detail"] == f"op_1 has not worked on ticket {ticket['ticket_id']}"
    # By a change of status, by an escalation, or by an event; whoever was given the ticket counts as well.
    moved(staff, ticket, "PROCESSING")
    escalation = {"reason": "r", "engineer": "eng_7"}
    operator = served.client("op_2", "Operators", path="/support")
    assert operator.post(f"/tickets/{ticket['ticket_id']}/escalate", json=escalation).status_code == 200
    helped(served, ticket["ticket_id"], "op_3")
    for helper in ("op_1", "op_2", "eng_7", "op_3"):
        assert customer.post(path, json={"operator_id": helper, "rating": 4}).status_code == 201
    # Not who only looked at it, and nobody because of another ticket.
    operator.get(f"/tickets/{ticket['ticket_id']}")
    helped(served, opened(staff)["ticket_id"], "op_4")
    assert customer.post(path, json={"operator_id": "op_4", "rating": 4}).status_code == 400
    assert len(customer.get(path).json()["feedback"]) == 4


@pytest.mark.requirement("SU6")
def test_the_help_of_everybody_is_rated_once_for_a_ticket(staff: httpx.Client, served: Served) -> None:
    mine = f"cust_{uuid4().hex}"
    customer = served.client(mine, "Customers", path="/support")
    tickets = [opened(customer, mine)["ticket_id"] for _ in range(2)]
    for ticket_id in tickets:
        helped(served, ticket_id, "op_5")
        helped(served, ticket_id, "op_6")
    path = f"/tickets/{tickets[0]}/feedback"

    def give(number: int) -> httpx.Response:
        return customer.post(path, json={"operator_id": "op_5", "rating": number % 5 + 1})

    answers = at_once(10, give)
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 9
    told = {answer.json()["detail"] for answer in answers if answer.status_code == 409}
    assert told == {f"feedback on op_5 for ticket {tickets[0]} has already been given"}
    assert len(customer.get(path).json()["feedback"]) == 1
    assert customer.post(path, json={"operator_id": "op_6", "rating": 1}).status_code == 201
    other = customer.post(f"/tickets/{tickets[1]}/feedback", json={"operator_id": "op_5", "rating": 5})
    assert other.status_code == 201


@pytest.mark.requirement("SU6")
def test_the_ticket_s_customer_gives_feedback_or_a_service_that_asked(
    staff: httpx.Client, machine: httpx.Client, served: Served
) -> None:
    mine = f"cust_{uuid4().hex}"
    ticket_id = opened(staff, mine)["ticket_id"]
    helped(served, ticket_id, "op_9")
    path, body = f"/tickets/{ticket_id}/feedback", {"operator_id": "op_9", "rating": 1}
    for user, groups in (
        ("op_2", ["Operators"]),
        ("eng_7", ["Engineers"]),
        ("admin", ["Admins"]),
        # A customer who is also staff has tickets of her own.
        ("op_2", ["Operators", "Customers"]),
        # Nor is staff a customer for having opened the ticket.
        (mine, ["Operators"]),
    ):
        refused = served.client(user, *groups, path="/support").post(path, json=body)
        assert (refused.status_code, refused.json()["type"]) == (403, "/problems/forbidden"), user
    customer = served.client(mine, "Customers", path="/support")
    assert customer.get(path).json()["feedback"] == []
    assert machine.post(path, json=body).status_code == 201
    # It is the customer's.
    assert customer.post(path, json=body).status_code == 409
    assert len(customer.get(path).json()["feedback"]) == 1
    assert machine.post("/tickets/tkt_none/feedback", json=body).status_code == 404


@pytest.mark.requirement("SU6")
@pytest.mark.parametrize("rating", [True, "5", 4.5, 0, 6, None])
def test_a_rating_is_a_whole_number_and_nothing_that_might_be_taken_for_one(served: Served, rating: Any) -> None:
    staff = served.client("op_1", "Operators", path="/support")
    ticket = moved(staff, opened(staff), "PROCESSING")
    customer = served.client(ticket["customer_id"], "Customers", path="/support")
    body = {"operator_id": "op_1", "rating": rating}
    assert customer.post(f"/tickets/{ticket['ticket_id']}/feedback", json=body).status_code == 422


@pytest.mark.requirement("SU6")
def test_nobody_gives_feedback_on_her_own_work(served: Served) -> None:
    both = served.client("op_8", "Operators", "Customers", path="/support")
    ticket = moved(both, opened(both, "op_8"), "PROCESSING")
    answer = both.post(f"/tickets/{ticket['ticket_id']}/feedback", json={"operator_id": "op_8", "rating": 5})
    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")
    assert both.get(f"/tickets/{ticket['ticket_id']}/feedback").json()["feedback"] == []


@pytest.mark.requirement("SU6")
def test_operators_give_feedback_on_the_help_that_a_ticket_got(staff: httpx.Client, served: Served) -> None:
    """Whether they have worked on it or not, as often as they like, and several at one instant."""
    mine, name = f"cust_{uuid4().hex}", f"op_{uuid4().hex}"
    operator = served.client(name, "Operators", path="/support")
    customer = served.client(mine, "Customers", path="/support")
    ticket_id = opened(customer, mine)["ticket_id"]
    path = f"/tickets/{ticket_id}/feedback"

    def give(number: int) -> httpx.Response:
        # Her own id may be said, and says the same.
        own = {"operator_id": name} if number % 2 else {}
        return operator.post(path, json={"rating": number % 5 + 1, "was_helpful": True, **own})

    given = [response.json() for response in at_once(10, give)]
    assert {(each["given_by"], each["about"], each["operator_id"]) for each in given} == {(name, None, name)}
    helped(served, ticket_id, name)
    assert customer.post(path, json={"operator_id": name, "rating": 2}).status_code == 201
    admin = served.client("admin", "Admins", path="/support")
    # Both kinds are found by the ticket and by the operator, and who gave what is told apart.
    for found in (
        admin.get(path).json()["feedback"],
        admin.get(f"/tickets/{ticket_id}/case").json()["feedback"],
        operator.get(f"/operators/{name}/feedback").json()["feedback"],
    ):
        assert sorted((each["given_by"], each["about"] or "") for each in found) == sorted(
            [(name, "")] * 10 + [(mine, name)]
        )
    # What operators say among themselves is not for the customer.
    assert [each["given_by"] for each in customer.get(path).json()["feedback"]] == [mine]
    # Nor is it for another operator.
    assert staff.get(path).json()["feedback"] == []
    assert operator.post("/tickets/tkt_none/feedback", json={"rating": 1}).status_code == 404
    assert customer.post(path, json={"rating": 1}).json()["field"] == "operator_id"


@pytest.mark.requirement("SU6", "SU9")
def test_feedback_that_is_sent_again_under_its_key_is_given_once(served: Served) -> None:
    name = f"op_{uuid4().hex}"
    operator = served.client(name, "Engineers", path="/support")
    path = f"/tickets/{opened(operator)['ticket_id']}/feedback"
    headers = {"Idempotency-Key": uuid4().hex}
    responses = at_once(6, lambda number: operator.post(path, json={"rating": 3}, headers=headers))
    assert {response.status_code for response in responses} <= {201, 409}
    again = operator.post(path, json={"rating": 3}, headers=headers)
    assert again.status_code == 201
    assert {response.text for response in responses if response.status_code == 201} == {again.text}
    assert len(operator.get(path).json()["feedback"]) == 1
    other = operator.post(path, json={"rating": 4}, headers=headers)
    assert (other.status_code, other.json()["type"]) == (422, "/problems/idempotency-mismatch")


def test_feedback_is_seen_by_whom_it_is_about_wherever_it_is_read(
    staff: httpx.Client, machine: httpx.Client, served: Served
) -> None:
    mine = f"cust_{uuid4().hex}"
    first, second, other = (f"op_{uuid4().hex}" for _ in range(3))
    customer = served.client(mine, "Customers", path="/support")
    ticket_id = opened(customer, mine)["ticket_id"]
    for operator in (first, second):
        helped(served, ticket_id, operator)
        body = {"operator_id": operator, "rating": 3}
        assert customer.post(f"/tickets/{ticket_id}/feedback", json=body).status_code == 201

    def seen(client: httpx.Client) -> list[set[str]]:
        ways = [client.get(f"/tickets/{ticket_id}/{way}").json()["feedback"] for way in ("feedback", "case")]
        return [{each["operator_id"] for each in way} for way in ways]

    admin = served.client("admin", "Admins", path="/support")
    for everything in (customer, machine, admin):
        assert seen(everything) == [{first, second}] * 2
    for operator in (first, second, other):
        own = served.client(operator, "Operators", path="/support")
        assert seen(own) == [{operator} & {first, second}] * 2
        statuses = [own.get(f"/operators/{whose}/feedback").status_code for whose in (first, second, other)]
        assert statuses == [200 if whose == operator else 403 for whose in (first, second, other)]


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


@pytest.mark.requirement("SU7")
def test_an_escalated_ticket_is_reassigned_in_one_write(staff: httpx.Client) -> None:
    first, second = (f"eng_{uuid4().hex}" for _ in range(2))
    ticket = opened(staff)
    path = f"/tickets/{ticket['ticket_id']}"

    def escalate(engineer: str, **more: Any) -> httpx.Response:
        return staff.post(f"{path}/escalate", json={"reason": f"for {engineer}", "engineer": engineer, **more})

    def of(engineer: str) -> list[str]:
        found = staff.get("/escalations", params={"engineer": engineer}).json()["escalations"]
        return [each["ticket_id"] for each in found]

    assert escalate(first).status_code == 200
    moved_on = escalate(second, expected="ESCALATED", expected_engineer=first)
    assert moved_on.status_code == 200
    shown = moved_on.json()
    assert (shown["status"], shown["assigned_to"], shown["escalation_reason"]) == (
        "ESCALATED",
        second,
        f"for {second}",
    )
    assert (of(first), of(second)) == ([], [ticket["ticket_id"]])
    everything = staff.get("/escalations", params={"limit": 100}).json()["escalations"]
    assert [each["assigned_to"] for each in everything if each["ticket_id"] == ticket["ticket_id"]] == [second]
    event = staff.get(f"{path}/events").json()["events"][0]
    assert (event["event_type"], event["number"], event["old_status"], event["new_status"]) == (
        "reassigned",
        3,
        None,
        None,
    )
    assert event["details"] == {
        "reason": f"for {second}",
        "assigned_to": second,
        "assigned_before": first,
        "changed_by": "op_1",
    }
    # Who has it gets it no second time, and who expected another status gets it not at all.
    for refused in (escalate(second), escalate(first, expected="PROCESSING")):
        assert (refused.status_code, refused.json()["type"]) == (409, "/problems/conflict")
    moved(staff, shown, "READY")
    assert escalate(first, expected="ESCALATED", expected_engineer=second).status_code == 409
    assert (of(first), of(second)) == ([], [])
    assert len(staff.get(f"{path}/events").json()["events"]) == 4


@pytest.mark.requirement("SU7")
def test_of_many_who_reassign_a_ticket_at_once_one_wins(staff: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/tickets/{opened(staff)['ticket_id']}"
    assert staff.post(f"{path}/escalate", json={"reason": "r", "engineer": "eng_first"}).status_code == 200
    slow_reads(monkeypatch)

    def reassign(number: int) -> int:
        seen = {"expected": "ESCALATED", "expected_engineer": "eng_first"} if number % 2 else {}
        body = {"reason": "r", "engineer": f"eng_{number}", **seen}
        return staff.post(f"{path}/escalate", json=body).status_code

    assert sorted(at_once(12, reassign)) == [200] + [409] * 11
    types = [event["event_type"] for event in staff.get(f"{path}/events").json()["events"]]
    assert types == ["reassigned", "status_changed", "ticket_created"]


@pytest.mark.requirement("SU7")
def test_of_two_who_saw_the_same_engineer_one_wins_however_far_apart_they_are(staff: httpx.Client) -> None:
    path = f"/tickets/{opened(staff)['ticket_id']}/escalate"
    assert staff.post(path, json={"reason": "r", "engineer": "eng_first"}).status_code == 200

    def reassign(engineer: str, **seen: str) -> httpx.Response:
        return staff.post(path, json={"reason": "r", "engineer": engineer, **seen})

    # The status is the same before and after, so that it says nothing.
    assert reassign("eng_1", expected="ESCALATED").status_code == 400
    assert reassign("eng_1", expected_engineer="eng_first").status_code == 200
    late = reassign("eng_2", expected="ESCALATED", expected_engineer="eng_first")
    assert (late.status_code, late.json()["type"]) == (409, "/problems/conflict")
    assert "eng_1" in late.json()["detail"]


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
