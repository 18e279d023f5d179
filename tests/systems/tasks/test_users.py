"""Users over HTTP, and what they may do."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.model import attr
from tablewright.systems.tasks.model import Group, User, UserStatus
from tests.systems.tasks.team import TASK, Team, pages


@pytest.mark.requirement("TM1", "TM6")
def test_a_user_is_created_and_found(team: Team) -> None:
    grace = team.member("grace")
    user = team.admin.get(f"/users/{grace}").json()
    assert (user["userId"], user["email"]) == (grace, team.address(grace))
    assert (user["groups"], user["status"]) == (["Members"], "ACTIVE")
    again = {"userId": grace, "email": "else@example.org", "groups": ["Admins"]}
    answer = team.admin.post("/users", json=again)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/already-exists")
    assert team.admin.get(f"/users/{grace}").json() == user
    assert team.admin.get("/users/nobody").status_code == 404


@pytest.mark.requirement("TM6")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"userId": ""}, "body.userId"),
        ({"userId": "a b"}, "body.userId"),
        ({"userId": "a/b"}, "body.userId"),
        ({"userId": "."}, "body.userId"),
        ({"userId": ".."}, "body.userId"),
        ({"email": "nobody"}, "body.email"),
        ({"email": "a@example.org, b@example.org"}, "body.email"),
        ({"email": "a@example.org\r\nBcc: b@example.org"}, "body.email"),
        ({"groups": []}, "body.groups"),
        ({"groups": ["Owners"]}, "body.groups.0"),
    ],
)
def test_a_user_that_cannot_be_is_refused(team: Team, change: dict[str, Any], field: str) -> None:
    body = {"userId": "new", "email": "new@example.org", "groups": ["Members"], **change}
    answer = team.admin.post("/users", json=body)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]


@pytest.mark.requirement("TM6")
def test_users_are_listed_by_status(team: Team) -> None:
    made = [team.member(f"user{number}") for number in range(5)]
    team.admin.post(f"/users/{made[2]}/deactivate")

    def listed(**params: Any) -> list[str]:
        read = pages(team.admin, "/users", "users", limit=2, **params)
        return [user["userId"] for page in read for user in page if user["userId"] in made]

    assert listed() == [*made[:2], *made[3:]]
    assert listed(status="DEACTIVATED") == [made[2]]
    team.admin.post(f"/users/{made[2]}/reactivate")
    assert listed(status="ACTIVE") == made


@pytest.mark.requirement("TM6")
def test_an_admin_who_is_deactivated_sees_nothing_of_what_goes_on_behind_it(team: Team) -> None:
    boss = team.member("boss", "Admins")
    admin = team.served.client(boss, "Admins")
    paths = ["/runtime/events/tasks", "/runtime/consumers", "/runtime/consumers/tasks.mail/dead-letters"]
    assert [admin.get(path).status_code for path in paths] == [200] * 3
    team.admin.post(f"/users/{boss}/deactivate")
    assert [admin.get(path).status_code for path in paths] == [403] * 3
    team.admin.post(f"/users/{boss}/reactivate")
    assert [admin.get(path).status_code for path in paths] == [200] * 3
    # The runtime is no part of Tasks: a group of Tasks opens nothing of it, and takes nothing away.
    team.admin.patch(f"/users/{boss}", json={"groups": ["Members"]})
    assert [admin.get(path).status_code for path in paths] == [200] * 3
    assert admin.get("/tasks/users").status_code == 403
    assert [team.served.client(boss, "tasks:Admins").get(path).status_code for path in paths] == [403] * 3


@pytest.mark.requirement("TM6")
def test_a_profile_that_anybody_changes_counts_at_once(team: Team) -> None:
    """However often it was read before, and whoever changes it: another process, or somebody at the table itself."""
    task_id, grace = team.task(), team.member("grace")
    member = team.client(grace, "Members")
    store = team.served.runtime.sync_store
    for status, answer in ((UserStatus.DEACTIVATED, 403), (UserStatus.ACTIVE, 200)) * 3:
        store.update(User.by_id(grace), attr(User.user_status).set(status))
        assert [member.get(f"/tasks/{task_id}").status_code for _ in range(3)] == [answer] * 3
    store.update(User.by_id(grace), attr(User.groups).set(frozenset({Group.ADMINS})))
    assert member.get(f"/tasks/{task_id}").status_code == 403


@pytest.mark.requirement("TM6")
def test_a_user_who_is_deactivated_is_refused_everywhere_until_let_back_in(team: Team) -> None:
    task_id, grace = team.task(), team.member("grace")
    team.assign(task_id, grace)
    member = team.client(grace, "Members")
    assert member.get("/me/tasks").status_code == 200

    assert team.admin.post(f"/users/{grace}/deactivate").json()["status"] == "DEACTIVATED"
    for answer in (
        member.get("/me/tasks"),
        member.get(f"/tasks/{task_id}"),
        member.get(f"/users/{grace}"),
        member.put(f"/tasks/{task_id}/status", json={"status": "IN_PROGRESS"}),
    ):
        assert (answer.status_code, answer.json()["detail"]) == (403, "your account is deactivated; ask an admin")
    assert team.admin.get(f"/tasks/{task_id}").json()["status"] == "OPEN"

    assert team.admin.post(f"/users/{grace}/reactivate").json()["status"] == "ACTIVE"
    team.move(task_id, "IN_PROGRESS", by=member)


@pytest.mark.requirement("TM6")
def test_a_role_needs_the_token_and_the_profile(team: Team) -> None:
    alan = team.member("alan", "Admins")
    client, modest = team.client(alan, "Admins"), team.client(alan, "Members")
    assert client.post("/tasks", json=TASK).status_code == 201
    assert modest.get("/me/tasks").status_code == 403

    changed = team.admin.patch(f"/users/{alan}", json={"groups": ["Members"]}).json()
    assert changed["groups"] == ["Members"]
    assert client.post("/tasks", json=TASK).status_code == 403
    assert modest.get("/me/tasks").status_code == 200
    assert modest.post("/tasks", json=TASK).status_code == 403


@pytest.mark.requirement("TM6")
def test_members_see_tasks_but_no_other_profiles(team: Team) -> None:
    task_id, grace, linus = team.task(), team.member("grace"), team.member("linus")
    team.assign(task_id, linus)
    member = team.client(grace, "Members")
    for path in (
        f"/tasks/{task_id}",
        f"/tasks/{task_id}/full",
        f"/tasks/{task_id}/assignments",
        f"/users/{linus}/tasks",
        f"/users/{grace}",
        "/tasks?status=OPEN",
        "/me/tasks",
    ):
        assert member.get(path).status_code == 200, path
    assert member.get(f"/users/{linus}").status_code == 403
    assert member.get("/users").status_code == 403
    body = {"userId": "new", "email": "new@example.org", "groups": ["Admins"]}
    assert member.post("/users", json=body).status_code == 403
    assert member.patch(f"/users/{grace}", json={"groups": ["Admins"]}).status_code == 403
    assert member.post(f"/users/{linus}/deactivate").status_code == 403
    assert member.post(f"/users/{grace}/reactivate").status_code == 403


@pytest.mark.requirement("TM6")
def test_roles_of_other_systems_have_no_business_here(team: Team) -> None:
    task_id = team.task()
    for role in ("support:Services", "calls:Customers", "servicedesk:Admins", "runtime:Admins"):
        client = team.client("stranger", role)
        assert client.get(f"/tasks/{task_id}").status_code == 403
        assert client.post("/tasks", json=TASK).status_code == 403


def test_a_profile_is_not_created_implicitly(team: Team) -> None:
    visitor = f"visitor-{team.mark}"
    client = team.client(visitor, "Admins")
    assert client.post("/tasks", json=TASK).status_code == 201
    assert client.get(f"/users/{visitor}").status_code == 404


def test_an_address_can_be_changed(team: Team) -> None:
    grace = team.member("grace")
    assert team.admin.patch(f"/users/{grace}", json={"email": "new@example.org"}).json()["email"] == "new@example.org"
    assert team.admin.get(f"/users/{grace}").json()["groups"] == ["Members"]
    assert team.admin.patch("/users/nobody", json={"email": "new@example.org"}).status_code == 404
    assert team.admin.post("/users/nobody/deactivate").status_code == 404
    assert team.admin.patch(f"/users/{grace}", json={}).status_code == 422
