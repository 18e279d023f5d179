"""Support: escalations, to whom they are, and to whom they are handed on."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.systems.harness import at_once
from tests.systems.slow_reads import slow_reads
from tests.systems.support.tickets import moved, opened


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
