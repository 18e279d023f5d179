"""Nobody locks himself out of Tasks, and there is always an active admin, whoever is faster."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tablewright.systems import load
from tests.systems.harness import Served, at_once, serving
from tests.systems.slow_reads import slow_reads
from tests.systems.tasks.team import Team

WAYS = ("demote", "deactivate")


@pytest.fixture
def alone() -> Iterator[Served]:
    """Tasks without anybody in it: who is the last admin depends on all of them."""
    with serving(load("tasks")) as served:
        yield served


def removed(client: httpx.Client, user_id: str, way: str) -> httpx.Response:
    if way == "demote":
        return client.patch(f"/users/{user_id}", json={"groups": ["Members"]})
    return client.post(f"/users/{user_id}/deactivate")


def active_admins(client: httpx.Client) -> set[str]:
    users = client.get("/users", params={"limit": 100}).json()["users"]
    return {user["userId"] for user in users if "Admins" in user["groups"]}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.requirement("TM6")
def test_admins_cannot_deactivate_or_demote_themselves(team: Team, way: str) -> None:
    team.member("other", "Admins")
    refused = removed(team.admin, team.admin_id, way)
    assert (refused.status_code, refused.json()["type"]) == (403, "/problems/forbidden")
    assert "ask another admin" in refused.json()["detail"]
    assert team.admin.get(f"/users/{team.admin_id}").json()["status"] == "ACTIVE"
    # What takes nothing away is fine.
    assert team.admin.patch(f"/users/{team.admin_id}", json={"groups": ["Members", "Admins"]}).status_code == 200


@pytest.mark.requirement("TM6")
def test_admins_cannot_demote_themselves_by_creating_their_own_profile(team: Team) -> None:
    visitor = f"visitor-{team.mark}"
    client = team.client(visitor, "Admins")
    body = {"userId": visitor, "email": "visitor@example.org", "groups": ["Members"]}
    assert client.post("/users", json=body).status_code == 403
    assert client.post("/users", json={**body, "groups": ["Admins"]}).status_code == 201


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.requirement("TM6")
def test_the_last_active_admin_stays(alone: Served, way: str) -> None:
    team = Team(alone)
    # An admin by the token alone is none who stays.
    visitor = team.client("visitor", "Admins")
    refused = removed(visitor, team.admin_id, way)
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/conflict")
    assert "last active admin" in refused.json()["detail"]
    other = team.member("other", "Admins")
    assert removed(visitor, team.admin_id, way).status_code == 200
    assert active_admins(visitor) == {other}
    assert removed(visitor, other, way).status_code == 409


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.requirement("TM6")
def test_of_admins_who_remove_each_other_at_once_one_stays(
    alone: Served, way: str, keyed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Team(alone)
    names = [team.admin_id, *(team.member(f"admin{number}", "Admins") for number in range(7))]
    clients = [team.client(name, "Admins") for name in names]

    def remove(number: int) -> list[int]:
        """All the others, beginning with the next."""
        others = [names[(number + step) % len(names)] for step in range(1, len(names))]
        key = {"Idempotency-Key": str(number)} if keyed and way == "deactivate" else {}
        clients[number].headers.update(key)
        return [removed(clients[number], other, way).status_code for other in others[: 1 if key else None]]

    slow_reads(monkeypatch)
    statuses = {status for found in at_once(len(names), remove) for status in found}
    assert statuses <= {200, 403, 409}
    remaining = active_admins(team.client("visitor", "Admins"))
    assert remaining
    if not keyed:
        # Whoever stays has removed everybody else.
        assert len(remaining) == 1


@pytest.mark.requirement("TM6")
def test_of_two_admins_who_demote_each_other_one_does(alone: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    team = Team(alone)
    pair = [team.admin_id, team.member("other", "Admins")]
    clients = [team.client(name, "Admins") for name in pair]
    slow_reads(monkeypatch)
    responses = at_once(2, lambda each: removed(clients[each], pair[1 - each], "demote"))
    assert sorted(response.status_code for response in responses) == [200, 403]
    assert len(active_admins(team.client("visitor", "Admins"))) == 1
