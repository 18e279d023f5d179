"""Assignments over HTTP."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.systems.harness import at_once
from tests.systems.tasks.team import TASK, Team, pages


@pytest.mark.requirement("TM4")
def test_a_task_is_assigned(team: Team) -> None:
    task_id, grace = team.task(), team.member("grace")
    answer = team.admin.post(f"/tasks/{task_id}/assign", json={"userId": grace})
    assert answer.status_code == 200
    assignment = answer.json()
    assert (assignment["taskId"], assignment["userId"], assignment["assignedBy"]) == (task_id, grace, team.admin_id)
    listed = {"assignments": [assignment], "cursor": None, "unreadable": []}
    assert team.admin.get(f"/tasks/{task_id}/assignments").json() == listed


@pytest.mark.requirement("TM2", "AP8")
def test_a_list_of_tasks_has_who_has_them_where_that_is_asked_for(team: Team) -> None:
    people = [team.member("grace"), team.member("linus")]
    has_two, has_none = team.task(), team.task()
    for each in people:
        team.assign(has_two, each)
    listed: dict[str, str | bool | int] = {"status": "OPEN", "newestFirst": True, "limit": 2}
    found = team.admin.get("/tasks", params={**listed, "assignees": True}).json()["tasks"]
    assert {each["taskId"]: each["assignedTo"] for each in found} == {has_two: sorted(people), has_none: []}
    assert all("assignedTo" not in each for each in team.admin.get("/tasks", params=listed).json()["tasks"])


@pytest.mark.requirement("TM4")
def test_what_stands_in_the_way_of_an_assignment_is_named(team: Team) -> None:
    task_id, grace, gone = team.task(), team.member("grace"), team.member("gone")
    team.admin.post(f"/users/{gone}/deactivate")

    def assign(task: str, user: str) -> tuple[int, str]:
        answer = team.admin.post(f"/tasks/{task}/assign", json={"userId": user})
        return answer.status_code, answer.json().get("detail", "")

    unknown = str(uuid4())
    assert assign(unknown, grace) == (404, f"there is no task {unknown}")
    assert assign(unknown, "nobody") == (404, f"there is no task {unknown}")
    assert assign(task_id, "nobody") == (400, "there is no user nobody")
    assert assign(task_id, gone) == (400, f"user {gone} is deactivated")
    assert assign(task_id, grace)[0] == 200
    assert assign(task_id, grace) == (409, f"task {task_id} is already assigned to {grace}")
    team.move(task_id, "CLOSED")
    assert assign(task_id, team.member("late")) == (409, f"task {task_id} is closed and cannot be changed")
    assert [each["userId"] for each in team.admin.get(f"/tasks/{task_id}/assignments").json()["assignments"]] == [grace]


@pytest.mark.requirement("TM4")
def test_only_admins_assign(team: Team) -> None:
    task_id, grace = team.task(), team.member("grace")
    member = team.client(grace, "Members")
    assert member.post(f"/tasks/{task_id}/assign", json={"userId": grace}).status_code == 403
    team.assign(task_id, grace)
    assert member.delete(f"/tasks/{task_id}/assignments/{grace}").status_code == 403


@pytest.mark.requirement("TM4", "TM9")
def test_of_a_hundred_identical_requests_at_once_one_wins(team: Team) -> None:
    task_id, grace = team.task(), team.member("grace")

    def assign(_: int) -> Any:
        return team.admin.post(f"/tasks/{task_id}/assign", json={"userId": grace})

    answers = at_once(100, assign)
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 99
    assert len(team.admin.get(f"/tasks/{task_id}/assignments").json()["assignments"]) == 1


@pytest.mark.requirement("TM4")
def test_an_assignment_and_a_deactivation_at_once_agree(team: Team) -> None:
    """Whichever came first: a user who has been deactivated is not assigned anything any more."""
    for number in range(10):
        task_id, user = team.task(), team.member(f"user{number}")
        requests = [(f"/tasks/{task_id}/assign", {"userId": user}), (f"/users/{user}/deactivate", {})]

        def send(index: int, requests: Any = requests) -> Any:
            path, body = requests[index]
            return team.admin.post(path, json=body)

        assigned, deactivated = at_once(2, send)
        assert deactivated.status_code == 200
        assert assigned.status_code in (200, 400)
        assert team.admin.post(f"/tasks/{team.task()}/assign", json={"userId": user}).status_code == 400


@pytest.mark.requirement("TM2")
def test_a_user_has_all_tasks_that_were_assigned(team: Team) -> None:
    grace, linus = team.member("grace"), team.member("linus")
    tasks = [team.task(title=f"number {number}") for number in range(7)]
    for task_id in tasks:
        team.assign(task_id, grace)
    team.assign(tasks[0], linus)
    read = pages(team.admin, f"/users/{grace}/tasks", "tasks", limit=3)
    assert [len(page) for page in read] == [3, 3, 1]
    found = {task["taskId"]: task for page in read for task in page}
    assert set(found) == set(tasks)
    assert found[tasks[3]]["title"] == "number 3"
    assert found[tasks[3]]["assignedBy"] == team.admin_id

    mine = team.client(linus, "Members").get("/me/tasks").json()["tasks"]
    assert [task["taskId"] for task in mine] == tasks[:1]
    assert team.admin.get("/users/nobody/tasks").json() == {"tasks": [], "cursor": None, "unreadable": []}


def test_a_task_that_was_taken_away_can_be_given_again(team: Team) -> None:
    task_id, grace = team.task(), team.member("grace")
    team.assign(task_id, grace)
    assert team.admin.delete(f"/tasks/{task_id}/assignments/{grace}").status_code == 204
    again = team.admin.delete(f"/tasks/{task_id}/assignments/{grace}")
    assert (again.status_code, again.json()["detail"]) == (404, f"task {task_id} is not assigned to {grace}")
    assert team.admin.get(f"/users/{grace}/tasks").json()["tasks"] == []
    team.assign(task_id, grace)


@pytest.mark.requirement("TM1")
def test_assignments_of_a_task_are_paged(team: Team) -> None:
    task_id = team.admin.post("/tasks", json=TASK).json()["taskId"]
    users = [team.member(f"user{number}") for number in range(5)]
    team.assign(task_id, *users)
    read = pages(team.admin, f"/tasks/{task_id}/assignments", "assignments", limit=2)
    assert [[each["userId"] for each in page] for page in read] == [users[:2], users[2:4], users[4:]]
    assert team.admin.get(f"/tasks/{uuid4()}/assignments").status_code == 404
