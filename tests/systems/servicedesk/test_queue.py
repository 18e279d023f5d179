"""Service Desk: the queue, who has which ticket, how soon it needs an answer, and numbers that can be spoken."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.systems.servicedesk.ticket_numbers import number_of, parse_number
from tests.systems.harness import Served, at_once, notices_in
from tests.systems.servicedesk.desk import Answer, open_ticket
from tests.systems.slow_reads import slow_reads


@pytest.fixture
def voice(served: Served) -> httpx.Client:
    return served.client("ivr", "VoiceAgents", path="/servicedesk")


def queued(agent: httpx.Client, **params: Any) -> list[Answer]:
    """All of the queue, page after page."""
    found: list[Answer] = []
    while True:
        answer = agent.get("/queue", params={"limit": 3, **params})
        assert answer.status_code == 200, answer.text
        found += answer.json()["tickets"]
        params["cursor"] = answer.json()["cursor"]
        if params["cursor"] is None:
            return found


def changed(answer: httpx.Response) -> Answer:
    assert answer.status_code == 200, answer.text
    ticket: Answer = answer.json()
    return ticket


@pytest.mark.requirement("AP4")
def test_the_queue_has_the_most_urgent_first_and_the_oldest_of_them(agent: httpx.Client) -> None:
    made = [open_ticket(agent, text=f"No. {number}") for number in range(8)]
    for ticket, priority in zip(made, ("P2", "P4", "P1", "P3", "P1", "P2", "P4", "P3"), strict=True):
        path = f"/tickets/{ticket['ticket_id']}"
        assert changed(agent.put(f"{path}/priority", json={"priority": priority}))["priority"] == priority
    ids = {ticket["ticket_id"]: number for number, ticket in enumerate(made)}
    assert [ids[each["ticket_id"]] for each in queued(agent) if each["ticket_id"] in ids] == [2, 4, 0, 5, 3, 7, 1, 6]
    # What is done leaves it, and comes back when it is opened again.
    path = f"/tickets/{made[2]['ticket_id']}"
    for status in ("in_progress", "resolved"):
        changed(agent.patch(path, json={"status": status}))
    assert made[2]["ticket_id"] not in {each["ticket_id"] for each in queued(agent)}
    changed(agent.patch(path, json={"status": "open"}))
    assert made[2]["ticket_id"] in {each["ticket_id"] for each in queued(agent)}


@pytest.mark.requirement("AP4")
def test_taking_a_ticket_assigns_it_and_sets_it_in_progress(agent: httpx.Client, served: Served) -> None:
    path = f"/tickets/{open_ticket(agent)['ticket_id']}"
    taken = changed(agent.post(f"{path}/take"))
    assert (taken["assignee"], taken["status"]) == ("sam", "in_progress")
    assert taken["ticket_id"] in {each["ticket_id"] for each in queued(agent, assignee="sam")}
    assert taken["ticket_id"] not in {each["ticket_id"] for each in queued(agent, unassigned=True)}
    # To take what one has changes nothing; others are refused.
    assert changed(agent.post(f"{path}/take"))["assignee"] == "sam"
    kim = served.client("kim", "Agents", path="/servicedesk")
    refused = kim.post(f"{path}/take")
    assert (refused.status_code, "is assigned to sam" in refused.json()["detail"]) == (409, True)
    # It changes hands by being assigned.
    assert changed(kim.put(f"{path}/assignee", json={"assignee": "kim"}))["assignee"] == "kim"
    assert changed(kim.put(f"{path}/assignee", json={"assignee": None}))["assignee"] is None
    assert taken["ticket_id"] in {each["ticket_id"] for each in queued(agent, unassigned=True)}


@pytest.mark.requirement("AP4")
def test_of_many_who_take_a_ticket_at_once_one_has_it(
    agent: httpx.Client, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/tickets/{open_ticket(agent)['ticket_id']}"
    slow_reads(monkeypatch)
    people = [served.client(f"agent-{number}", "Agents", path="/servicedesk") for number in range(12)]
    answers = at_once(12, lambda number: people[number].post(f"{path}/take"))
    won = [answer.json()["assignee"] for answer in answers if answer.status_code == 200]
    assert len(won) == 1
    assert {answer.status_code for answer in answers} == {200, 409}
    assert agent.get(path).json()["assignee"] == won[0]


@pytest.mark.requirement("AP4")
def test_a_resolved_ticket_cannot_be_assigned(agent: httpx.Client) -> None:
    path = f"/tickets/{open_ticket(agent)['ticket_id']}"
    for status in ("in_progress", "resolved"):
        changed(agent.patch(path, json={"status": status}))
    for refused in (
        agent.post(f"{path}/take"),
        agent.put(f"{path}/assignee", json={"assignee": "kim"}),
        agent.put(f"{path}/priority", json={"priority": "P1"}),
    ):
        assert (refused.status_code, "reopen it first" in refused.json()["detail"]) == (409, True)


@pytest.mark.requirement("AP4")
def test_the_clock_runs_until_a_person_answers(agent: httpx.Client, voice: httpx.Client) -> None:
    ticket = open_ticket(voice)
    path = f"/tickets/{ticket['ticket_id']}"
    opened = datetime.fromisoformat(ticket["created_at"])
    assert datetime.fromisoformat(ticket["answer_due"]) - opened == timedelta(hours=4)
    urgent = changed(agent.put(f"{path}/priority", json={"priority": "P1"}))
    assert datetime.fromisoformat(urgent["answer_due"]) - opened == timedelta(minutes=15)
    # What the voice agent notes is no answer.
    assert voice.post(f"{path}/comments", json={"comment_text": "It is the left one"}).json()["answer_due"] is not None
    first = agent.post(f"{path}/comments", json={"comment_text": "On its way"}).json()
    assert (first["answer_due"], first["first_answered_at"]) == (None, first["comments"][-1]["added_at"])
    second = agent.post(
        f"{path}/comments", json={"comment_text": "Done"}, headers={"Idempotency-Key": uuid4().hex}
    ).json()
    assert second["first_answered_at"] == first["first_answered_at"]
    assert agent.get(path).json() == second


@pytest.mark.requirement("AP4")
def test_a_ticket_is_found_by_the_number_that_a_caller_says(voice: httpx.Client) -> None:
    ticket = open_ticket(voice)
    number = ticket["number"]
    assert number == number_of(UUID(ticket["ticket_id"]))
    for said in (number, number.lower().replace("-", " "), number.removeprefix("TK-").replace("0", "O")):
        assert voice.get(f"/numbers/{said}").json() == ticket, said
    wrong = f"{number[:-1]}{'0' if number[-1] != '0' else '1'}"
    refused = voice.get(f"/numbers/{wrong}")
    assert (refused.status_code, "is not a valid ticket number" in refused.json()["detail"]) == (400, True)
    missing = voice.get(f"/numbers/{number_of(uuid4())}")
    assert missing.status_code == 404


@given(st.uuids(version=4), st.data())
@pytest.mark.requirement("AP4")
def test_a_character_that_was_misheard_and_two_that_changed_places_are_noticed(ticket_id: UUID, data: Any) -> None:
    number = number_of(ticket_id)
    assert parse_number(number) == number
    plain = list(number.removeprefix("TK-").replace("-", ""))
    place = data.draw(st.integers(0, 6))
    other = data.draw(st.sampled_from("0123456789ABCDEFGHJKMNPQRSTWXYZ").filter(lambda char: char != plain[place]))
    assert parse_number("".join([*plain[:place], other, *plain[place + 1 :]])) is None
    first, second = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 6))
    plain[first], plain[second] = plain[second], plain[first]
    swapped = "".join(plain)
    assert parse_number(swapped) in (None, number)
    assert (parse_number(swapped) is None) == (swapped != number.removeprefix("TK-").replace("-", ""))


@pytest.mark.requirement("AP4")
@pytest.mark.parametrize("said", ["TK-TK2-NPZ-A", "tk tk2 npz a", "TK2-NPZ-A", "tk2npza"])
def test_a_number_that_begins_like_the_prefix_is_found_without_it_too(said: str) -> None:
    assert parse_number(said) == "TK-TK2-NPZ-A"


@pytest.mark.requirement("AP4")
def test_the_voice_agent_does_not_see_the_queue(voice: httpx.Client) -> None:
    ticket = open_ticket(voice)
    assert voice.get("/queue").status_code == 403
    assert voice.post(f"/tickets/{ticket['ticket_id']}/take").status_code == 403


@pytest.mark.requirement("AP2")
def test_the_assignee_is_notified_of_comments_by_others(
    served: Served, agent: httpx.Client, voice: httpx.Client
) -> None:
    ticket = open_ticket(agent)["ticket_id"]
    holder, path = f"kim-{uuid4().hex}", f"/tickets/{ticket}"
    commented = agent.post(f"{path}/comments", json={"comment_text": "nobody has it"})
    assert commented.status_code == 201, commented.text
    changed(agent.put(f"{path}/assignee", json={"assignee": holder}))
    kim = served.client(holder, "Agents", path="/servicedesk")
    assert kim.post(f"{path}/comments", json={"comment_text": "on it"}).is_success
    assert notices_in(served, "servicedesk", holder) == []
    answer = voice.post(f"{path}/comments", json={"comment_text": "the caller asks again"})
    assert [each["comment_text"] for each in answer.json()["comments"]][1:] == ["on it", "the caller asks again"]
    assert notices_in(served, "servicedesk", holder) == [(ticket, "ivr")]
    # A comment that is refused is told to nobody, whether it is too much or about what was seen before.
    keyed = {"Idempotency-Key": uuid4().hex}
    for headers in ({"If-Match": '"old"'}, {"If-Match": '"old"', **keyed}):
        assert agent.post(f"{path}/comments", json={"comment_text": "late"}, headers=headers).status_code == 412
    assert notices_in(served, "servicedesk", holder) == [(ticket, "ivr")]
    said = agent.post(f"{path}/comments", json={"comment_text": "under a key"}, headers=keyed)
    assert said.is_success, said.text
    assert notices_in(served, "servicedesk", holder) == [(ticket, "sam")]


def test_a_comment_on_a_full_assigned_ticket_is_refused_with_413(served: Served, agent: httpx.Client) -> None:
    path = f"/tickets/{open_ticket(agent)['ticket_id']}"
    changed(agent.put(f"{path}/assignee", json={"assignee": "kim"}))
    statuses = [agent.post(f"{path}/comments", json={"comment_text": "x" * 9_990}).status_code for _ in range(45)]
    assert {*statuses[:35]} == {201}
    assert statuses[-1] == 413
