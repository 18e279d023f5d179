"""Support: what customers and operators think of the help, and who sees it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.systems.harness import Served, at_once
from tests.systems.support.tickets import helped, moved, opened


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
def test_feedback_is_about_people_who_worked_on_the_ticket(staff: httpx.Client, served: Served) -> None:
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
def test_feedback_on_ones_own_work_is_refused(served: Served) -> None:
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
