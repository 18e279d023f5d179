"""Events of tasks: one for each write that was committed, and none for any other."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.systems.harness import wait_for
from tests.systems.tasks.published_events import events, settled, told
from tests.systems.tasks.team import TASK, Team


@pytest.mark.requirement("TM7")
def test_what_happens_to_a_task_is_published_in_order(team: Team) -> None:
    grace = team.member("grace")
    task_id = team.task()
    team.assign(task_id, grace)
    team.move(task_id, "IN_PROGRESS", by=team.client(grace, "Members"))
    team.move(task_id, "COMPLETED")
    assert told(settled(team, task_id)) == [
        ("TaskCreated", {"createdBy": team.admin_id, "title": TASK["title"], "priority": "HIGH"}),
        ("TaskAssigned", {"userId": grace, "assignedBy": team.admin_id}),
        ("TaskStatusUpdated", {"oldStatus": "OPEN", "newStatus": "IN_PROGRESS", "updatedBy": grace}),
        ("TaskStatusUpdated", {"oldStatus": "IN_PROGRESS", "newStatus": "COMPLETED", "updatedBy": team.admin_id}),
    ]


@pytest.mark.requirement("TM7")
def test_many_at_once_are_all_published_each_once(team: Team) -> None:
    tasks = [team.task(title=f"number {number}") for number in range(60)]
    wait_for(lambda: len(events(team, *tasks)) >= len(tasks))
    found = events(team, *tasks)
    assert sorted(event.detail["taskId"] for event in found) == sorted(tasks)
    assert len({event.event_id for event in found}) == len(tasks)


def test_admins_see_what_was_published(team: Team) -> None:
    task_id = team.task()
    wait_for(lambda: events(team, task_id))
    admin = team.served.client("root", "Admins")
    newest = admin.get("/runtime/events/tasks", params={"limit": 100}).json()["events"]
    assert [event["type"] for event in newest if event["detail"]["taskId"] == task_id] == ["TaskCreated"]
    assert team.served.client("grace", "Members").get("/runtime/events/tasks").status_code == 403
    counted = team.served.client().get("/metrics").text
    assert 'events_total{type="TaskCreated"}' in counted


@pytest.mark.requirement("TM7")
def test_nothing_is_published_for_what_failed_or_is_no_event(team: Team) -> None:
    grace = team.member("grace")
    headers = {"Idempotency-Key": uuid4().hex}
    task_id = team.admin.post("/tasks", json=TASK, headers=headers).json()["taskId"]
    team.assign(task_id, grace)

    assert team.admin.post("/tasks", json=TASK, headers=headers).status_code == 201
    assert team.admin.post(f"/tasks/{task_id}/assign", json={"userId": grace}).status_code == 409
    assert team.admin.post(f"/tasks/{task_id}/assign", json={"userId": "nobody"}).status_code == 400
    assert team.admin.put(f"/tasks/{task_id}/status", json={"status": "COMPLETED"}).status_code == 409
    stranger = team.client(team.member("stranger"), "Members")
    assert stranger.put(f"/tasks/{task_id}/status", json={"status": "CLOSED"}).status_code == 403
    assert team.admin.patch(f"/tasks/{task_id}", json={"title": "Other"}).status_code == 200
    assert team.admin.delete(f"/tasks/{task_id}/assignments/{grace}").status_code == 204

    assert [type_ for type_, _ in told(settled(team, task_id))] == ["TaskCreated", "TaskAssigned"]
