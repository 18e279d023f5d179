"""Tasks: what cannot be read takes nothing else down, neither lists nor events nor mail."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tablewright.systems import load
from tablewright.systems.tasks.model import task_management
from tests.runtime.mail_server import MailServer
from tests.systems import stored_items
from tests.systems.harness import Served, serving, wait_for
from tests.systems.tasks.published_events import settled, told
from tests.systems.tasks.team import Team

SPOILT = {"S": "SOMEWHAT secret"}


def spoil_task(served: Served, task_id: str, **attributes: dict[str, Any]) -> None:
    key = {"PK": {"S": f"TASK#{task_id}"}, "SK": {"S": "METADATA"}}
    stored_items.spoil(served, task_management, key, **(attributes or {"Priority": SPOILT}))


def spoil_assignment(served: Served, task_id: str, user_id: str) -> None:
    key = {"PK": {"S": f"TASK#{task_id}"}, "SK": {"S": f"ASSIGNMENT#{user_id}"}}
    stored_items.spoil(served, task_management, key, AssignedAt=SPOILT)


def spoil_user(served: Served, user_id: str, **attributes: dict[str, Any]) -> None:
    key = {"PK": {"S": f"USER#{user_id}"}, "SK": {"S": "PROFILE"}}
    stored_items.spoil(served, task_management, key, **(attributes or {"CreatedAt": SPOILT}))


def refused(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/conflict"), answer.text
    assert "repair it" in answer.json()["detail"]
    assert "secret" not in answer.text


@pytest.mark.requirement("TM1", "TM2")
def test_lists_show_the_rest_and_tell_of_it(team: Team, caplog: pytest.LogCaptureFixture) -> None:
    served, admin = team.served, team.admin
    grace = team.member("grace")
    made = [team.task(title=f"number {number}") for number in range(4)]
    for task_id in made:
        team.assign(task_id, grace)
    spoil_task(served, made[2])
    spoil_assignment(served, made[1], grace)
    with caplog.at_level(logging.ERROR):
        page = admin.get("/tasks", params={"status": "OPEN", "newestFirst": True, "limit": 3}).json()
    assert [task["taskId"] for task in page["tasks"]] == [made[3], made[1], made[0]]
    assert [each["key"] for each in page["unreadable"]] == [f"task_id {made[2]}"]
    assert "secret" not in str(page)
    own = admin.get(f"/users/{grace}/tasks").json()
    assert {task["taskId"] for task in own["tasks"]} == {made[0], made[3]}
    assert sorted(each["entity"] for each in own["unreadable"]) == ["Assignment", "Task"]
    listed = admin.get(f"/tasks/{made[1]}/assignments").json()
    assert (listed["assignments"], [each["entity"] for each in listed["unreadable"]]) == ([], ["Assignment"])
    full = admin.get(f"/tasks/{made[1]}/full").json()
    assert (full["taskId"], full["assignments"], len(full["unreadable"])) == (made[1], [], 1)
    # They are counted, and Admins are told which; in the log there is nobody's task.
    assert served.runtime.metrics.registry.get_sample_value("tasks_unreadable_items_total", {"entity": "Task"})
    assert made[2] in str(admin.get("/unreadable").json())
    assert team.client(grace, "Members").get("/unreadable").status_code == 403
    records = [record for record in caplog.records if "cannot be read" in record.message]
    assert records
    assert not any(made[2] in str(record.__dict__) for record in records)


@pytest.mark.requirement("TM1", "TM5")
def test_the_task_itself_is_refused_and_stays_as_it_is(team: Team) -> None:
    task_id, path = team.task(), "/tasks/{}".format
    spoil_task(team.served, task_id)
    key = {"PK": {"S": f"TASK#{task_id}"}, "SK": {"S": "METADATA"}}
    before = stored_items.ask(team.served, "GetItem", task_management, Key=key)["Item"]
    refused(team.admin.get(path(task_id)))
    refused(team.admin.get(f"{path(task_id)}/full"))
    refused(team.admin.patch(path(task_id), json={"title": "Other"}))
    refused(team.admin.put(f"{path(task_id)}/status", json={"status": "IN_PROGRESS"}))
    assert stored_items.ask(team.served, "GetItem", task_management, Key=key)["Item"] == before
    spoil_task(team.served, task_id, Priority={"S": "LOW"})
    assert team.admin.get(path(task_id)).json()["priority"] == "LOW"


@pytest.mark.requirement("TM1")
def test_what_has_no_time_is_shown_without_one(team: Team) -> None:
    grace, task_id = team.member("grace"), team.task()
    team.assign(task_id, grace)
    nothing = {"NULL": True}
    spoil_task(team.served, task_id, CreatedAt=nothing, UpdatedAt=nothing)
    key = {"PK": {"S": f"TASK#{task_id}"}, "SK": {"S": f"ASSIGNMENT#{grace}"}}
    stored_items.spoil(team.served, task_management, key, AssignedAt=nothing)
    spoil_user(team.served, grace, CreatedAt=nothing, UpdatedAt=nothing)
    full = team.admin.get(f"/tasks/{task_id}/full").json()
    assert (full["createdAt"], full["updatedAt"], full["assignments"][0]["assignedAt"]) == ("", "", "")
    assert team.admin.get(f"/users/{grace}").json()["createdAt"] == ""
    assert len(team.admin.get(f"/users/{grace}/tasks").json()["tasks"]) == 1
    team.move(task_id, "IN_PROGRESS")


@pytest.mark.requirement("TM5")
@pytest.mark.parametrize(
    "created", [{"N": "-1"}, {"N": "10000000000000"}, {"S": "9999-12-31T23:59:59-01:00"}, {"N": "1e30"}]
)
def test_a_task_from_a_time_that_no_key_has_cannot_be_read(team: Team, created: dict[str, Any]) -> None:
    task_id = team.task()
    spoil_task(team.served, task_id, CreatedAt=created)
    refused(team.admin.get(f"/tasks/{task_id}"))
    refused(team.admin.put(f"/tasks/{task_id}/status", json={"status": "IN_PROGRESS"}))


@pytest.mark.requirement("TM4")
def test_an_unreadable_status_is_not_mistaken_for_another(team: Team) -> None:
    grace, task_id = team.member("grace"), team.task()
    spoil_task(team.served, task_id, Status=SPOILT)
    refused(team.admin.post(f"/tasks/{task_id}/assign", json={"userId": grace}))
    spoil_task(team.served, task_id, Status={"S": "OPEN"})
    spoil_user(team.served, grace, UserStatus=SPOILT)
    refused(team.admin.post(f"/tasks/{task_id}/assign", json={"userId": grace}))


@pytest.mark.requirement("TM6")
def test_only_the_user_whose_profile_cannot_be_read_is_refused(team: Team) -> None:
    grace, linus = team.member("grace"), team.member("linus")
    spoil_user(team.served, grace)
    key = {"PK": {"S": f"USER#{grace}"}, "SK": {"S": "PROFILE"}}
    before = stored_items.ask(team.served, "GetItem", task_management, Key=key)["Item"]
    listed = team.admin.get("/users", params={"limit": 100}).json()
    assert linus in [user["userId"] for user in listed["users"]]
    assert f"user_id {grace}" in [each["key"] for each in listed["unreadable"]]
    refused(team.admin.get(f"/users/{grace}"))
    refused(team.admin.patch(f"/users/{grace}", json={"groups": ["Admins"]}))
    refused(team.admin.post(f"/users/{grace}/deactivate"))
    assert stored_items.ask(team.served, "GetItem", task_management, Key=key)["Item"] == before
    # What a role is worth is in the profile, so without one that can be read there is none.
    answer = team.client(grace, "Admins").get("/me/tasks")
    assert (answer.status_code, "profile" in answer.json()["detail"]) == (403, True), answer.text
    assert team.client(linus, "Members").get("/me/tasks").status_code == 200


@pytest.mark.requirement("TM7")
def test_events_of_other_tasks_are_published(team: Team) -> None:
    """Records of what cannot be read are put aside, one at a time; a unreadable user is of no concern to events."""
    grace = team.member("grace")
    unreadable, task_id = team.task(), team.task()
    spoil_user(team.served, grace)
    spoil_task(team.served, unreadable)
    team.move(task_id, "IN_PROGRESS")
    assert [type_ for type_, _ in told(settled(team, task_id))] == ["TaskCreated", "TaskStatusUpdated"]
    root = team.served.client("root", "Admins")
    letters = root.get("/runtime/consumers/tasks.events/dead-letters", params={"limit": 100}).json()["dead_letters"]
    assert [unreadable in each["record"] for each in letters].count(True) == 1
    assert not any(f"USER#{grace}" in each["record"] for each in letters)


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.mark.requirement("TM8")
def test_mail_reaches_the_others_and_the_one_who_cannot_be_read_once_repaired(mail: MailServer) -> None:
    with serving(load("tasks"), smtp_url=mail.url) as served:
        team = Team(served)
        root = served.client("root", "Admins")
        grace, linus, other = (team.member(name) for name in ("grace", "linus", "other"))
        task_id = team.task(title="Deploy")
        team.assign(task_id, grace, linus, other)
        wait_for(lambda: len(mail.received) == 3)
        spoil_user(served, grace)
        spoil_assignment(served, task_id, other)
        team.move(task_id, "IN_PROGRESS")
        dead = "/runtime/consumers/tasks.mail/dead-letters"
        (letter,) = wait_for(lambda: root.get(dead).json()["dead_letters"])
        # An address is nobody's business, not even there.
        assert "@" not in letter["error"]

        def subjects(user_id: str) -> list[str]:
            return [str(each.message["Subject"]) for each in mail.to(team.address(user_id))]

        assert subjects(linus) == ["Assigned to you: Deploy", "In progress: Deploy"]
        assert subjects(team.admin_id) == ["In progress: Deploy"]
        assert subjects(grace) == subjects(other) == ["Assigned to you: Deploy"]
        spoil_user(served, grace, CreatedAt={"N": "1"})
        key = {"PK": {"S": f"TASK#{task_id}"}, "SK": {"S": f"ASSIGNMENT#{other}"}}
        stored_items.spoil(served, task_management, key, AssignedAt={"N": "1"})
        assert root.post(f"{dead}/{letter['sequence']}/replay").status_code == 204
        assert subjects(grace) == subjects(other) == ["Assigned to you: Deploy", "In progress: Deploy"]
        assert len(subjects(linus)) == 2
        assert root.get(dead).json()["dead_letters"] == []
