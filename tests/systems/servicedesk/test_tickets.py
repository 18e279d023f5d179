"""Service Desk: tickets over HTTP."""

from __future__ import annotations

import re
from uuid import uuid4

import httpx
import pytest

from tablewright.systems.servicedesk.model import tickets
from tests.systems import stored_items
from tests.systems.harness import Served, at_once
from tests.systems.servicedesk.desk import open_ticket, stored

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.mark.requirement("SD2")
def test_a_new_ticket_is_answered_whole(agent: httpx.Client) -> None:
    ticket = open_ticket(agent)
    assert ticket["status"] == "open"
    assert ticket["comments"] == []
    assert ISO.fullmatch(ticket["created_at"])
    assert ticket["updated_at"] == ticket["created_at"]


@pytest.mark.requirement("SD2")
@pytest.mark.parametrize("blank", [" ", "\n\t", "\u3000", "\u0000"])
def test_a_text_of_blanks_is_none(agent: httpx.Client, blank: str) -> None:
    ticket = open_ticket(agent)
    refused = [
        agent.post("/tickets", json={"caller_id": blank, "issue_description": "no sound"}),
        agent.post("/tickets", json={"caller_id": "c", "issue_description": blank}),
        agent.post(f"/tickets/{ticket['ticket_id']}/comments", json={"comment_text": blank}),
    ]
    fields = [[error["field"] for error in answer.json()["errors"]] for answer in refused]
    assert fields == [["body.caller_id"], ["body.issue_description"], ["body.comment_text"]]
    assert agent.get(f"/tickets/{ticket['ticket_id']}").json() == ticket


@pytest.mark.requirement("SD3")
def test_times_are_returned_in_utc_regardless_of_their_stored_offset(agent: httpx.Client, served: Served) -> None:
    ticket = open_ticket(agent)
    item = {**stored(served, ticket), "created_at": {"S": "2026-01-01T10:00:00.500000+02:00"}}
    stored_items.ask(served, "PutItem", tickets, Item=item)
    assert agent.get(f"/tickets/{ticket['ticket_id']}").json()["created_at"] == "2026-01-01T08:00:00.500000Z"


@pytest.mark.requirement("SD3")
def test_a_ticket_is_found_by_its_id_or_not_at_all(agent: httpx.Client) -> None:
    ticket = open_ticket(agent)
    assert agent.get(f"/tickets/{ticket['ticket_id']}").json() == ticket
    answer = agent.get(f"/tickets/{uuid4()}")
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.json()["type"] == "/problems/not-found"


@pytest.mark.requirement("SD4")
def test_a_hundred_comments_at_once_are_all_kept(agent: httpx.Client) -> None:
    ticket_id = open_ticket(agent)["ticket_id"]

    def comment(number: int) -> int:
        return agent.post(f"/tickets/{ticket_id}/comments", json={"comment_text": f"comment {number}"}).status_code

    assert at_once(100, comment) == [201] * 100
    comments = agent.get(f"/tickets/{ticket_id}").json()["comments"]
    assert sorted(each["comment_text"] for each in comments) == sorted(f"comment {number}" for number in range(100))


@pytest.mark.requirement("SD4")
def test_a_comment_on_an_unknown_ticket_creates_nothing(agent: httpx.Client) -> None:
    ticket_id = uuid4()
    assert agent.post(f"/tickets/{ticket_id}/comments", json={"comment_text": "hello"}).status_code == 404
    assert agent.get(f"/tickets/{ticket_id}").status_code == 404


@pytest.mark.requirement("SD5")
def test_the_ten_newest_come_first_and_a_cursor_leads_to_older_ones(agent: httpx.Client) -> None:
    caller = uuid4().hex
    made = [open_ticket(agent, caller, f"issue {number}")["ticket_id"] for number in range(12)]
    page = agent.get("/tickets", params={"caller": caller}).json()
    assert [ticket["ticket_id"] for ticket in page["tickets"]] == made[:1:-1]
    rest = agent.get("/tickets", params={"caller": caller, "cursor": page["cursor"]}).json()
    assert [ticket["ticket_id"] for ticket in rest["tickets"]] == made[1::-1]
    assert rest["cursor"] is None
    stolen = agent.get("/tickets", params={"caller": "somebody else", "cursor": page["cursor"]})
    assert (stolen.status_code, stolen.json()["type"]) == (400, "/problems/invalid-cursor")


@pytest.mark.requirement("SD7")
def test_a_comment_past_400_kb_is_refused_and_nothing_is_lost(agent: httpx.Client) -> None:
    ticket_id = open_ticket(agent)["ticket_id"]
    text = "x" * 49_000
    answers = [agent.post(f"/tickets/{ticket_id}/comments", json={"comment_text": text}) for _ in range(9)]
    assert [answer.status_code for answer in answers] == [201] * 8 + [413]
    assert answers[-1].json()["type"] == "/problems/too-large"
    assert "open another ticket" in answers[-1].json()["detail"]
    assert len(agent.get(f"/tickets/{ticket_id}").json()["comments"]) == 8


@pytest.mark.requirement("SD8")
def test_of_two_agents_one_moves_a_ticket_on(agent: httpx.Client) -> None:
    ticket_id = open_ticket(agent)["ticket_id"]
    answers = at_once(8, lambda _: agent.patch(f"/tickets/{ticket_id}", json={"status": "in_progress"}).status_code)
    assert sorted(answers) == [200] + [409] * 7


@pytest.mark.requirement("SD8")
def test_a_ticket_goes_its_way_and_can_be_opened_again(agent: httpx.Client) -> None:
    ticket_id = open_ticket(agent)["ticket_id"]
    for status in ("in_progress", "resolved", "closed", "open", "in_progress", "resolved", "open"):
        answer = agent.patch(f"/tickets/{ticket_id}", json={"status": status})
        assert (answer.status_code, answer.json()["status"]) == (200, status)
    refused = agent.patch(f"/tickets/{ticket_id}", json={"status": "closed"})
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        f"ticket {ticket_id} is open; it can become in_progress, not closed",
    )
