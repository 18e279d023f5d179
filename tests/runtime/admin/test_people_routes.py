"""People: invited, given roles in all systems, deactivated; nobody locks himself out, and nobody else may do it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tablewright.systems import load
from tests.systems.harness import Served, at_once, serving

pytestmark = pytest.mark.requirement("AP9")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(load("tasks", "servicedesk")) as served:
        yield served


def root(served: Served, user: str = "root") -> httpx.Client:
    return served.client(user, "runtime:Admins", path="/runtime")


def invite(admin: httpx.Client, person: str, *roles: str, **more: Any) -> httpx.Response:
    body = {"person_id": person, "email": f"{person}@example.org", "roles": list(roles)}
    return admin.post("/people", json={**body, **more})


def test_roles_that_are_given_count_at_once_and_whatever_the_token_says(served: Served) -> None:
    admin = root(served)
    answer = invite(admin, "p-ada", "tasks:Members")
    assert answer.status_code == 201, answer.text
    person = answer.json()
    assert (person["status"], person["roles"], person["invited_by"]) == ("INVITED", ["tasks:Members"], "root")
    # The token says something else.
    ada = served.client("p-ada", "servicedesk:Agents")
    assert ada.get("/tasks/tasks", params={"status": "OPEN"}).status_code == 200
    assert ada.get("/servicedesk/queue").status_code == 403
    changed = admin.put("/people/p-ada/roles", json={"roles": ["servicedesk:Agents"]})
    assert changed.json()["roles"] == ["servicedesk:Agents"]
    assert ada.get("/tasks/tasks", params={"status": "OPEN"}).status_code == 403
    assert ada.get("/servicedesk/queue").status_code == 200
    admin.put("/people/p-ada/roles", json={"roles": []})
    assert ada.get("/servicedesk/queue").status_code == 403
    admin.put("/people/p-ada/roles", json={"roles": None})
    assert ada.get("/servicedesk/queue").status_code == 200
    told = admin.get("/people/p-ada/audit").json()["audit"]
    assert [(each["by"], each["call"]) for each in told] == [("root", "change_roles")] * 3 + [("root", "invite_person")]


def test_who_is_deactivated_is_refused_by_all_systems_at_once_until_activated_again(served: Served) -> None:
    admin = root(served)
    invite(admin, "p-bob", "tasks:Members", "servicedesk:Agents")
    bob = served.client("p-bob", "tasks:Members")
    assert bob.get("/servicedesk/queue").status_code == 200
    assert admin.post("/people/p-bob/deactivate").json()["status"] == "DEACTIVATED"
    assert bob.get("/servicedesk/queue").status_code == 403
    assert bob.get("/tasks/tasks", params={"status": "OPEN"}).status_code == 403
    assert admin.post("/people/p-bob/activate").json()["status"] == "INVITED"
    assert bob.get("/servicedesk/queue").status_code == 200


def test_a_role_that_is_not_there_is_refused_and_an_invitation_is_made_once(served: Served) -> None:
    admin = root(served)
    refused = invite(admin, "p-carl", "tasks:Nobody")
    assert (refused.status_code, refused.json()["field"]) == (400, "roles")
    keyed = {"Idempotency-Key": "invite-carl"}
    body = {"person_id": "p-carl", "email": None, "roles": ["tasks:Members"]}
    first, again = (admin.post("/people", json=body, headers=keyed) for _ in range(2))
    assert (first.status_code, first.json()) == (201, again.json())
    assert invite(admin, "p-carl", "tasks:Members").status_code == 409
    assert admin.get("/people/p-nobody").status_code == 404
    assert admin.post("/people/p-nobody/deactivate").status_code == 404


def test_a_change_with_an_outdated_etag_is_refused(served: Served) -> None:
    admin = root(served)
    invite(admin, "p-dora", "tasks:Members")
    seen = {"If-Match": admin.get("/people/p-dora").headers["etag"]}
    assert admin.put("/people/p-dora/roles", json={"roles": []}, headers=seen).status_code == 200
    for path, method, body in (("/roles", "PUT", {"roles": []}), ("/deactivate", "POST", None)):
        assert admin.request(method, f"/people/p-dora{path}", json=body, headers=seen).status_code == 412


def test_admins_cannot_lock_themselves_out(served: Served) -> None:
    admin = root(served, "p-root")
    assert invite(admin, "p-root", "tasks:Members").status_code == 409
    assert invite(admin, "p-root", "runtime:Admins").status_code == 201
    assert admin.post("/people/p-root/deactivate").status_code == 409
    for roles in ([], ["tasks:Members"], None):
        assert admin.put("/people/p-root/roles", json={"roles": roles}).status_code == 409
    assert admin.put("/people/p-root/roles", json={"roles": ["runtime:Admins", "tasks:Members"]}).status_code == 200


def test_of_two_admins_who_demote_each_other_one_stays(served: Served) -> None:
    admin = root(served)
    for number in range(5):
        names = [f"p-one-{number}", f"p-two-{number}"]
        for name in names:
            invite(admin, name, "runtime:Admins")
        clients = [root(served, name) for name in names]

        def demote(index: int, names: list[str] = names, clients: list[httpx.Client] = clients) -> int:
            return clients[index].put(f"/people/{names[1 - index]}/roles", json={"roles": []}).status_code

        assert sorted(at_once(2, demote)) == [200, 403]
        left = [name for name in names if "runtime:Admins" in admin.get(f"/people/{name}").json()["roles"]]
        assert len(left) == 1


FORBIDDEN = [
    ("GET", "/people", None),
    ("GET", "/roles", None),
    ("POST", "/people", {"person_id": "x", "email": None, "roles": ["runtime:Admins"]}),
    ("GET", "/people/p-ada", None),
    ("PUT", "/people/p-ada/roles", {"roles": ["runtime:Admins"]}),
    ("POST", "/people/root/deactivate", None),
    ("POST", "/people/p-ada/activate", None),
    ("GET", "/people/p-ada/audit", None),
    ("GET", "/consumers", None),
    ("GET", "/unreadable", None),
    ("GET", "/events/tasks", None),
    ("GET", "/mail/dead-letters", None),
    ("GET", "/consumers/tasks.events/dead-letters", None),
    ("POST", "/consumers/tasks.events/dead-letters/1/replay", None),
    ("POST", "/mail/dead-letters/a.b/replay", None),
    ("GET", "/search", None),
    ("POST", "/search/tasks/rebuild", None),
]


@pytest.mark.parametrize(("method", "path", "body"), FORBIDDEN)
def test_each_action_is_refused_to_everybody_else(served: Served, method: str, path: str, body: Any) -> None:
    for role in ("tasks:Admins", "servicedesk:Admins", "tasks:Members"):
        assert served.client("mallory", role, path="/runtime").request(method, path, json=body).status_code == 403
    assert served.client(path="/runtime").request(method, path, json=body).status_code == 401


def test_the_list_has_everybody_page_by_page_and_roles_are_known(served: Served) -> None:
    admin = root(served)
    for number in range(3):
        invite(admin, f"p-list-{number}", "tasks:Members")
    names: list[str] = []
    cursor = None
    while True:
        page = admin.get("/people", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        names += [each["person_id"] for each in page["people"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert names == sorted(set(names))
    assert {"p-list-0", "p-list-1", "p-list-2"} <= set(names)
    assert "runtime:Admins" in [each["name"] for each in admin.get("/roles").json()]
