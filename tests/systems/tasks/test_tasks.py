"""Tasks over HTTP: creating, reading, changing them, and moving them on."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.systems.harness import at_once
from tests.systems.tasks.team import TASK, Team, pages

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.mark.requirement("TM3")
def test_a_new_task_is_answered_whole(team: Team) -> None:
    answer = team.admin.post("/tasks", json=TASK)
    assert answer.status_code == 201
    task = answer.json()
    assert {name: task[name] for name in TASK} == TASK
    assert (task["status"], task["createdBy"], task["updatedBy"]) == ("OPEN", team.admin_id, team.admin_id)
    assert str(UUID(task["taskId"])) == task["taskId"]
    assert ISO.fullmatch(task["createdAt"])
    assert task["updatedAt"] == task["createdAt"]


@pytest.mark.requirement("TM3")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": ""}, "body.title"),
        ({"title": "   "}, "body.title"),
        ({"title": "x" * 201}, "body.title"),
        ({"title": "a\nBcc: everybody@example.org"}, "body.title"),
        ({"title": "two\u2028lines"}, "body.title"),
        ({"title": "two\u0085lines"}, "body.title"),
        ({"title": "\u3000"}, "body.title"),
        ({"title": None}, "body.title"),
        ({"description": ""}, "body.description"),
        ({"description": " \n"}, "body.description"),
        ({"description": "x" * 10_001}, "body.description"),
        ({"priority": "URGENT"}, "body.priority"),
        ({"priority": "high"}, "body.priority"),
        ({"status": "CLOSED"}, "body.status"),
    ],
)
def test_a_field_that_is_wrong_is_named_and_nothing_is_created(team: Team, change: dict[str, Any], field: str) -> None:
    answer = team.admin.post("/tasks", json={**TASK, **change})
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-request")
    assert [error["field"] for error in answer.json()["errors"]] == [field]


@pytest.mark.requirement("TM3")
@pytest.mark.parametrize("missing", ["title", "description", "priority"])
def test_a_field_that_is_missing_is_named(team: Team, missing: str) -> None:
    answer = team.admin.post("/tasks", json={name: value for name, value in TASK.items() if name != missing})
    assert [error["field"] for error in answer.json()["errors"]] == [f"body.{missing}"]


@pytest.mark.requirement("TM3")
@pytest.mark.parametrize("priority", ["LOW", "MEDIUM", "HIGH"])
def test_every_priority_is_taken(team: Team, priority: str) -> None:
    assert team.admin.get(f"/tasks/{team.task(priority=priority)}").json()["priority"] == priority


@pytest.mark.requirement("TM3")
def test_only_admins_create_tasks(team: Team) -> None:
    member = team.client(team.member("grace"), "Members")
    answer = member.post("/tasks", json=TASK)
    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")


@pytest.mark.requirement("TM1")
def test_a_task_is_found_by_its_id_or_not_at_all(team: Team) -> None:
    created = team.admin.post("/tasks", json=TASK).json()
    assert team.admin.get(f"/tasks/{created['taskId']}").json() == created
    for unknown in (str(uuid4()), "no-id-at-all"):
        answer = team.admin.get(f"/tasks/{unknown}")
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found")


@pytest.mark.requirement("TM1")
def test_a_task_comes_with_all_of_its_assignments(team: Team) -> None:
    task_id, users = team.task(), [team.member(name) for name in ("grace", "linus")]
    assert team.admin.get(f"/tasks/{task_id}/full").json()["assignments"] == []
    team.assign(task_id, *users)
    full = team.admin.get(f"/tasks/{task_id}/full").json()
    assert (full["taskId"], full["title"]) == (task_id, TASK["title"])
    assert [(each["userId"], each["assignedBy"]) for each in full["assignments"]] == [
        (user_id, team.admin_id) for user_id in sorted(users)
    ]
    assert full["assignments"] == team.admin.get(f"/tasks/{task_id}/assignments").json()["assignments"]
    assert team.admin.get(f"/tasks/{uuid4()}/full").status_code == 404


@pytest.mark.requirement("TM2")
def test_tasks_of_a_status_come_in_the_order_of_their_creation(team: Team) -> None:
    made = [team.task(title=f"{team.mark} {number}") for number in range(7)]
    for task_id in made:
        team.move(task_id, "IN_PROGRESS", "COMPLETED")
    read = pages(team.admin, "/tasks", "tasks", status="COMPLETED", limit=3)
    assert all(len(page) == 3 for page in read[:-1])
    found = [task for page in read for task in page]
    own = [task for task in found if task["title"].startswith(team.mark)]
    assert [task["taskId"] for task in own] == made, [(task["title"], task["createdAt"]) for task in own]
    assert [task["createdAt"] for task in found] == sorted(task["createdAt"] for task in found)
    assert {task["status"] for task in found} == {"COMPLETED"}

    newest = pages(team.admin, "/tasks", "tasks", status="COMPLETED", limit=4, newestFirst=True)
    assert [task["taskId"] for page in newest for task in page] == [task["taskId"] for task in reversed(found)]


def test_a_list_needs_a_status_and_a_cursor_of_its_own(team: Team) -> None:
    missing = team.admin.get("/tasks")
    assert [error["field"] for error in missing.json()["errors"]] == ["query.status"]
    for _ in range(2):
        team.task()
    cursor = team.admin.get("/tasks", params={"status": "OPEN", "limit": 1}).json()["cursor"]
    stolen = team.admin.get("/tasks", params={"status": "CLOSED", "limit": 1, "cursor": cursor})
    assert (stolen.status_code, stolen.json()["type"]) == (400, "/problems/invalid-cursor")


@pytest.mark.requirement("TM5")
def test_the_index_follows_the_status(team: Team) -> None:
    task_id = team.task()

    def statuses() -> list[str]:
        return [
            status
            for status in ("OPEN", "IN_PROGRESS", "COMPLETED", "CLOSED")
            for page in pages(team.admin, "/tasks", "tasks", status=status, limit=100)
            for task in page
            if task["taskId"] == task_id
        ]

    assert statuses() == ["OPEN"]
    for status in ("IN_PROGRESS", "COMPLETED", "CLOSED"):
        team.move(task_id, status)
        assert statuses() == [status]


@pytest.mark.requirement("TM5")
def test_an_assigned_member_moves_a_task_and_is_named(team: Team) -> None:
    task_id, grace = team.task(), team.member("grace")
    member = team.client(grace, "Members")
    before = team.admin.get(f"/tasks/{task_id}").json()

    refused = member.put(f"/tasks/{task_id}/status", json={"status": "IN_PROGRESS"})
    assert (refused.status_code, refused.json()["type"]) == (403, "/problems/forbidden")
    assert team.admin.get(f"/tasks/{task_id}").json() == before

    team.assign(task_id, grace)
    after = member.put(f"/tasks/{task_id}/status", json={"status": "IN_PROGRESS"}).json()
    assert (after["status"], after["updatedBy"], after["createdBy"]) == ("IN_PROGRESS", grace, team.admin_id)
    assert after["updatedAt"] > before["updatedAt"]
    assert team.admin.get(f"/tasks/{task_id}").json() == after

    team.admin.delete(f"/tasks/{task_id}/assignments/{grace}")
    assert member.put(f"/tasks/{task_id}/status", json={"status": "COMPLETED"}).status_code == 403


LEGAL = {
    "OPEN": {"IN_PROGRESS", "CLOSED"},
    "IN_PROGRESS": {"OPEN", "COMPLETED", "CLOSED"},
    "COMPLETED": {"IN_PROGRESS", "CLOSED"},
    "CLOSED": set(),
}
WAY = {"OPEN": (), "IN_PROGRESS": ("IN_PROGRESS",), "COMPLETED": ("IN_PROGRESS", "COMPLETED"), "CLOSED": ("CLOSED",)}


@pytest.mark.requirement("TM5")
@pytest.mark.parametrize("before", LEGAL)
@pytest.mark.parametrize("after", LEGAL)
def test_only_legal_steps_are_taken(team: Team, before: str, after: str) -> None:
    task_id = team.task()
    team.move(task_id, *WAY[before])
    answer = team.admin.put(f"/tasks/{task_id}/status", json={"status": after})
    if after in LEGAL[before]:
        assert (answer.status_code, answer.json()["status"]) == (200, after)
    else:
        assert (answer.status_code, answer.json()["type"]) == (409, "/problems/conflict")
        assert f"is {before}" in answer.json()["detail"]
        assert team.admin.get(f"/tasks/{task_id}").json()["status"] == before


@pytest.mark.requirement("TM5")
def test_a_status_that_is_none_and_a_task_that_is_not_there_are_refused(team: Team) -> None:
    task_id = team.task()
    wrong = team.admin.put(f"/tasks/{task_id}/status", json={"status": "DONE"})
    assert [error["field"] for error in wrong.json()["errors"]] == ["body.status"]
    for client in (team.admin, team.client(team.member("grace"), "Members")):
        assert client.put(f"/tasks/{uuid4()}/status", json={"status": "CLOSED"}).status_code == 404


@pytest.mark.requirement("TM5")
def test_of_several_who_move_a_task_at_once_one_wins(team: Team) -> None:
    task_id, users = team.task(), [team.member(f"user{number}") for number in range(10)]
    team.assign(task_id, *users)
    clients = [team.client(user_id, "Members") for user_id in users]
    steps = ["IN_PROGRESS", "CLOSED"]

    def move(number: int) -> Any:
        return clients[number].put(f"/tasks/{task_id}/status", json={"status": steps[number % 2]})

    answers = at_once(10, move)
    won = [number for number, answer in enumerate(answers) if answer.status_code == 200]
    # Whoever starts the task can still be followed by one who closes it; nobody wins a step that another has won.
    assert sorted(steps[number % 2] for number in won) in (["IN_PROGRESS"], ["CLOSED"], ["CLOSED", "IN_PROGRESS"])
    assert {answer.status_code for answer in answers} <= {200, 409}
    task = team.admin.get(f"/tasks/{task_id}").json()
    assert task["updatedBy"] in {users[number] for number in won}


def test_details_change_one_by_one(team: Team) -> None:
    task_id = team.task()
    colleague = team.client(team.member("alan", "Admins"), "Admins")
    changed = colleague.patch(f"/tasks/{task_id}", json={"priority": "LOW"}).json()
    assert (changed["priority"], changed["title"], changed["updatedBy"]) == (
        "LOW",
        TASK["title"],
        f"alan-{team.mark}",
    )
    changed = team.admin.patch(f"/tasks/{task_id}", json={"title": "New", "description": "Text"}).json()
    assert (changed["title"], changed["description"], changed["priority"]) == ("New", "Text", "LOW")
    assert team.admin.get(f"/tasks/{task_id}").json() == changed


def test_details_that_cannot_be_are_refused(team: Team) -> None:
    task_id = team.task()
    assert team.admin.patch(f"/tasks/{uuid4()}", json={"title": "New"}).status_code == 404
    for body in ({}, {"title": None}, {"title": ""}, {"status": "CLOSED"}, {"createdBy": "me"}):
        assert team.admin.patch(f"/tasks/{task_id}", json=body).status_code == 422, body
    member = team.client(team.member("grace"), "Members")
    assert member.patch(f"/tasks/{task_id}", json={"title": "New"}).status_code == 403
    team.move(task_id, "CLOSED")
    closed = team.admin.patch(f"/tasks/{task_id}", json={"title": "New"})
    assert (closed.status_code, closed.json()["detail"]) == (409, f"task {task_id} is closed and cannot be changed")
