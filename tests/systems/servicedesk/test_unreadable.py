"""Service Desk: a ticket that cannot be read takes no list down, and is changed by nobody until it is repaired."""

from __future__ import annotations

import logging
from uuid import uuid4

import httpx
import pytest

from tablewright.systems.servicedesk.model import tickets
from tests.systems import stored_items
from tests.systems.harness import Served
from tests.systems.servicedesk.desk import Answer, open_ticket, stored

SPOILT = {"S": "on hold, secret"}


def spoil(served: Served, ticket: Answer, status: dict[str, str] = SPOILT) -> None:
    stored_items.spoil(served, tickets, {"ticket_id": {"S": ticket["ticket_id"]}}, status=status)


@pytest.mark.requirement("SD5")
def test_a_list_shows_the_rest_in_full_pages_and_tells_of_it(
    served: Served, agent: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caller = uuid4().hex
    made = [open_ticket(agent, caller) for _ in range(4)]
    ids = [ticket["ticket_id"] for ticket in made]
    spoil(served, made[2])
    with caplog.at_level(logging.ERROR):
        page = agent.get("/tickets", params={"caller": caller, "limit": 2}).json()
    assert [ticket["ticket_id"] for ticket in page["tickets"]] == [ids[3], ids[1]]
    assert [(each["entity"], each["key"]) for each in page["unreadable"]] == [("Ticket", f"ticket_id {ids[2]}")]
    assert "secret" not in str(page)
    rest = agent.get("/tickets", params={"caller": caller, "limit": 2, "cursor": page["cursor"]}).json()
    assert ([ticket["ticket_id"] for ticket in rest["tickets"]], rest["unreadable"]) == ([ids[0]], [])
    # It is counted, and Admins are told which; in the log there is nobody's ticket.
    assert served.runtime.metrics.registry.get_sample_value("servicedesk_unreadable_items_total", {"entity": "Ticket"})
    admin = served.client("root", "Admins", path="/servicedesk")
    assert ids[2] in str(admin.get("/unreadable").json())
    assert agent.get("/unreadable").status_code == 403
    told = [record for record in caplog.records if "cannot be read" in record.message]
    assert told
    assert not any(ids[2] in str(record.__dict__) for record in told)


@pytest.mark.requirement("SD3", "SD4", "SD8")
def test_the_ticket_itself_is_refused_and_stays_as_it_is(served: Served, agent: httpx.Client) -> None:
    ticket = open_ticket(agent)
    spoil(served, ticket)
    before = stored(served, ticket)
    path = f"/tickets/{ticket['ticket_id']}"
    comment = {"comment_text": "Tried restarting"}
    for answer in (
        agent.get(path),
        agent.patch(path, json={"status": "in_progress"}),
        agent.post(f"{path}/comments", json=comment),
        agent.post(f"{path}/comments", json=comment, headers={"Idempotency-Key": uuid4().hex}),
    ):
        assert (answer.status_code, answer.json()["type"]) == (409, "/problems/conflict"), answer.text
        assert "status" in answer.json()["detail"]
        assert "repair it" in answer.json()["detail"]
        assert "secret" not in answer.text
    assert stored(served, ticket) == before
    spoil(served, ticket, {"S": "open"})
    assert agent.get(path).json() == ticket


@pytest.mark.requirement("SD3")
@pytest.mark.parametrize("time", ["9999-12-31T23:59:59.500000-01:00", "0001-01-01T00:00:00.500000+01:00"])
def test_a_time_that_has_no_utc_is_shown_as_it_is(served: Served, agent: httpx.Client, time: str) -> None:
    ticket = open_ticket(agent, uuid4().hex)
    stored_items.spoil(served, tickets, {"ticket_id": {"S": ticket["ticket_id"]}}, created_at={"S": time})
    assert agent.get(f"/tickets/{ticket['ticket_id']}").json()["created_at"] == time
    listed = agent.get("/tickets", params={"caller": ticket["caller_id"]}).json()["tickets"]
    assert [each["created_at"] for each in listed] == [time]
