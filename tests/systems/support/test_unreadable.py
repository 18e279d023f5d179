"""One item that cannot be read takes down neither lists nor counting, and is not passed over in silence.

Items are broken past the model, as another program or an older version might leave them.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tablewright.systems.support.model import Metric, metrics, tickets
from tablewright.systems.support.training_export import Export
from tests.systems.harness import Served, wait_for
from tests.systems.stored_items import Item, ask, items
from tests.systems.support.tickets import moved, opened


def spoil(served: Served, key: Item, attribute: str, value: dict[str, Any]) -> None:
    ask(
        served,
        "UpdateItem",
        tickets,
        Key=key,
        UpdateExpression="SET #a = :v",
        ConditionExpression="attribute_exists(PK)",
        ExpressionAttributeNames={"#a": attribute},
        ExpressionAttributeValues={":v": value},
    )


def spoil_ticket(served: Served, ticket_id: str) -> None:
    spoil(served, {"PK": {"S": f"TICKET#{ticket_id}"}, "SK": {"S": "METADATA"}}, "priority", {"S": "SOMEWHAT secret"})


def spoil_event(served: Served, ticket_id: str, number: int) -> None:
    found = next(
        each
        for each in items(served, tickets)
        if each["PK"]["S"] == f"TICKET#{ticket_id}" and each["SK"]["S"].endswith(f"#{number:06}")
    )
    spoil(served, {"PK": found["PK"], "SK": found["SK"]}, "timestamp", {"S": "lately"})


@pytest.mark.requirement("SU1", "SU2", "SU3")
def test_lists_of_tickets_show_the_rest_in_full_pages(
    served: Served, staff: httpx.Client, admin: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    customer = f"cust_{uuid4().hex}"
    made = [opened(staff, customer)["ticket_id"] for _ in range(6)]
    with caplog.at_level(logging.ERROR):
        spoil_ticket(served, made[4])
        page = staff.get(f"/customers/{customer}/tickets", params={"limit": 4}).json()
    assert [each["ticket_id"] for each in page["tickets"]] == [made[5], made[3], made[2], made[1]]
    assert [each["key"] for each in page["unreadable"]] == [f"ticket_id {made[4]}"]
    assert "secret" not in str(page)
    rest = staff.get(f"/customers/{customer}/tickets", params={"limit": 4, "cursor": page["cursor"]}).json()
    assert ([each["ticket_id"] for each in rest["tickets"]], rest["unreadable"]) == ([made[0]], [])
    in_status = staff.get(f"/customers/{customer}/tickets", params={"status": "NEW"}).json()
    assert len(in_status["tickets"]) == 5
    newest = staff.get("/tickets", params={"status": "NEW", "limit": 5}).json()
    assert made[5] == newest["tickets"][0]["ticket_id"]
    assert len(newest["tickets"]) == 5
    many = staff.post("/tickets/batch-get", json={"ticket_ids": made}).json()
    assert [each["ticket_id"] for each in many["tickets"]] == [*made[:4], made[5]]
    assert [each["key"] for each in many["unreadable"]] == [f"ticket_id {made[4]}"]
    # Where an operator looks; in the log there is nobody's ticket.
    assert made[4] in str(admin.get("/unreadable").json())
    assert staff.get("/unreadable").status_code == 403
    assert served.runtime.metrics.registry.get_sample_value("support_unreadable_items_total", {"entity": "Ticket"})
    told = [record for record in caplog.records if "cannot be read" in record.message]
    assert told
    assert not any(made[4] in str(record.__dict__) for record in told)


@pytest.mark.requirement("SU1", "SU14")
def test_the_ticket_itself_says_what_is_wrong_to_staff_and_nothing_to_others(
    served: Served, staff: httpx.Client
) -> None:
    ticket = opened(staff)
    spoil_ticket(served, ticket["ticket_id"])
    path = f"/tickets/{ticket['ticket_id']}"
    for answer in (staff.get(path), staff.get(f"{path}/data"), staff.get(f"{path}/case"), staff.get(f"{path}/events")):
        assert answer.status_code == 409, answer.text
        assert "priority" in answer.json()["detail"]
        assert "repair it" in answer.json()["detail"]
        assert "secret" not in answer.text
    stranger = served.client("cust_stranger", "Customers", path="/support")
    assert stranger.get(path).status_code == 404
    batch = stranger.post("/tickets/batch-get", json={"ticket_ids": [ticket["ticket_id"]]}).json()
    assert (batch["tickets"], batch["unreadable"]) == ([], [])


@pytest.mark.requirement("SU5", "SU6")
def test_a_timeline_and_a_case_show_the_rest(served: Served, staff: httpx.Client) -> None:
    ticket = moved(staff, opened(staff), "PROCESSING", "READY")
    ticket_id = ticket["ticket_id"]
    customer = served.client(ticket["customer_id"], "Customers", path="/support")
    assert customer.post(f"/tickets/{ticket_id}/feedback", json={"operator_id": "op_1", "rating": 4}).is_success
    spoil_event(served, ticket_id, 2)
    timeline = staff.get(f"/tickets/{ticket_id}/events").json()
    assert ([each["number"] for each in timeline["events"]], len(timeline["unreadable"])) == ([3, 1], 1)
    case = staff.get(f"/tickets/{ticket_id}/case").json()
    assert case["ticket"]["ticket_id"] == ticket_id
    assert ([each["number"] for each in case["events"]], len(case["feedback"])) == ([1, 3], 1)
    assert [each["entity"] for each in case["unreadable"]] == ["Event"]


@pytest.mark.requirement("SU7")
def test_escalations_show_the_rest(served: Served, staff: httpx.Client) -> None:
    engineer = f"eng_{uuid4().hex}"
    made = [opened(staff)["ticket_id"] for _ in range(3)]
    for ticket_id in made:
        answer = staff.post(f"/tickets/{ticket_id}/escalate", json={"reason": "unsafe", "engineer": engineer})
        assert answer.status_code == 200
    spoil_ticket(served, made[1])
    for page in (
        staff.get("/escalations", params={"limit": 2}).json(),
        staff.get("/escalations", params={"engineer": engineer}).json(),
    ):
        assert [each["ticket_id"] for each in page["escalations"]] == [made[2], made[0]]
        assert len(page["unreadable"]) == 1


def take_away(served: Served, key: Item, *attributes: str) -> None:
    names = {f"#{number}": each for number, each in enumerate(attributes)}
    ask(
        served,
        "UpdateItem",
        tickets,
        Key=key,
        UpdateExpression="REMOVE " + ", ".join(names),
        ConditionExpression="attribute_exists(PK)",
        ExpressionAttributeNames=names,
    )


@pytest.mark.requirement("SU6", "SU7")
def test_lists_of_an_index_show_what_lacks_something_or_leave_it_out(served: Served, staff: httpx.Client) -> None:
    """An index has a part of its items, so nobody misses the rest; what is shown of them has to be there."""
    engineer = f"eng_{uuid4().hex}"
    made = [opened(staff) for _ in range(3)]
    for ticket in made:
        body = {"reason": "unsafe", "engineer": engineer}
        assert staff.post(f"/tickets/{ticket['ticket_id']}/escalate", json=body).status_code == 200
        customer = served.client(ticket["customer_id"], "Customers", path="/support")
        given = {"operator_id": engineer, "rating": 3}
        assert customer.post(f"/tickets/{ticket['ticket_id']}/feedback", json=given).status_code == 201
    place = {"PK": {"S": f"TICKET#{made[0]['ticket_id']}"}, "SK": {"S": "METADATA"}}
    take_away(served, place, "escalation_reason", "priority", "escalated_at")
    place = {"PK": {"S": f"TICKET#{made[1]['ticket_id']}"}, "SK": {"S": "METADATA"}}
    take_away(served, place, "customer_id")
    page = staff.get("/escalations", params={"engineer": engineer}).json()
    assert [each["ticket_id"] for each in page["escalations"]] == [made[2]["ticket_id"], made[0]["ticket_id"]]
    shown = page["escalations"][1]
    assert (shown["escalation_reason"], shown["priority"], shown["escalated_at"]) == (None, "MEDIUM", None)
    assert [each["reason"] for each in page["unreadable"]] == ["customer_id: Field required"]
    found = [each for each in items(served, tickets) if each.get("operator_id") == {"S": engineer}]
    take_away(served, {"PK": found[0]["PK"], "SK": found[0]["SK"]}, "rating")
    page = served.client(engineer, "Engineers", path="/support").get(f"/operators/{engineer}/feedback").json()
    assert (len(page["feedback"]), [each["reason"] for each in page["unreadable"]]) == (2, ["rating: Field required"])


@pytest.mark.requirement("SU15")
def test_a_list_leaves_out_a_ticket_with_data_outside_that_lacks_what_it_needs(
    served: Served, staff: httpx.Client
) -> None:
    customer = f"cust_{uuid4().hex}"
    made = [opened(staff, customer, data="x" * 400_000)["ticket_id"] for _ in range(2)]
    take_away(served, {"PK": {"S": f"TICKET#{made[0]}"}, "SK": {"S": "METADATA"}}, "symptom_text")
    page = staff.get(f"/customers/{customer}/tickets").json()
    assert [each["ticket_id"] for each in page["tickets"]] == [made[1]]
    assert [each["reason"] for each in page["unreadable"]] == ["symptom_text: Field required"]


@pytest.mark.requirement("SU10")
def test_a_cache_entry_that_cannot_be_read_is_a_miss(served: Served) -> None:
    machine = served.client("backend", "Services", path="/support")
    key = uuid4().hex
    machine.put(f"/cache/{key}", json={"data": {"a": 1}})
    spoil(served, {"PK": {"S": f"CACHE#{key}"}, "SK": {"S": "DATA"}}, "data", {"S": "x"})
    assert machine.get(f"/cache/{key}").status_code == 404
    machine.put(f"/cache/{key}", json={"data": {"a": 2}})
    assert machine.get(f"/cache/{key}").json() == {"a": 2}


@pytest.mark.requirement("SU11")
def test_a_rebuild_counts_the_rest_and_says_what_it_left_out(quiet: Served) -> None:
    staff = quiet.client("op_1", "Operators", path="/support")
    admin = quiet.client("admin", "Admins", path="/support")
    made = [opened(staff)["ticket_id"] for _ in range(3)]
    spoil_ticket(quiet, made[1])
    assert admin.post("/metrics/rebuild").status_code == 202
    state = wait_for(lambda: (found := admin.get("/metrics/rebuild").json()) and not found["running"] and found)
    assert state["failed"] is None
    assert "1 cannot be read" in state["outcome"]
    # And it goes on behind it.
    opened(staff)
    wait_for(lambda: staff.get("/metrics").json()["tickets_by_status"]["NEW"] == 3)
    # Mended, it counts again.
    spoil(quiet, {"PK": {"S": f"TICKET#{made[1]}"}, "SK": {"S": "METADATA"}}, "priority", {"S": "LOW"})
    admin.post("/metrics/rebuild")
    wait_for(lambda: staff.get("/metrics").json()["tickets_by_status"]["NEW"] == 4)


@pytest.mark.requirement("SU12")
def test_a_metric_that_cannot_be_read_says_that_a_rebuild_helps_and_it_does(quiet: Served) -> None:
    staff = quiet.client("op_1", "Operators", path="/support")
    admin = quiet.client("admin", "Admins", path="/support")
    opened(staff)
    name = "tickets_by_status#NEW"
    wait_for(lambda: staff.get("/metrics").json()["tickets_by_status"]["NEW"] == 1)
    ask(quiet, "PutItem", metrics, Item={"metric_name": {"S": name}, "count_value": {"S": "many"}})
    refused = staff.get("/metrics")
    assert (refused.status_code, "rebuild" in refused.json()["detail"]) == (409, True)
    admin.post("/metrics/rebuild")
    wait_for(lambda: staff.get("/metrics").status_code == 200)
    wait_for(lambda: quiet.runtime.sync_store.get(Metric.by_name(metric_name=name)) is not None)
    assert staff.get("/metrics").json()["tickets_by_status"]["NEW"] == 1


def test_an_export_has_the_rest_and_says_what_it_left_out(quiet: Served, tmp_path: Path) -> None:
    staff = quiet.client("op_1", "Operators", path="/support")
    machine = quiet.client("backend", "Services", path="/support")
    made = [opened(staff)["ticket_id"] for _ in range(4)]
    spoil_ticket(quiet, made[1])
    spoil_event(quiet, made[2], 1)
    session = machine.post("/sessions", json={"user_id": "u"}).json()["session_id"]
    spoil(quiet, {"PK": {"S": f"SESSION#{session}"}, "SK": {"S": "METADATA"}}, "expires_at", {"S": "x"})
    export = Export(quiet.runtime.sync_store, tmp_path, b"secret", quiet.runtime.now)
    assert export.run(lambda done, total: None) == 2
    lines = [json.loads(line) for part in tmp_path.glob("part-*") for line in part.read_text().splitlines()]
    assert {line["ticket_id"] for line in lines} == {made[0], made[3]}
    assert export.unreadable == {made[1], made[2]}
