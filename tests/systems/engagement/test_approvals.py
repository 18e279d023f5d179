"""Approval: nobody enables a program alone, and what was approved is what runs."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.systems.engagement.engagement_fixtures import Programme, new_id, program
from tests.systems.harness import Served, at_once
from tests.systems.slow_reads import slow_reads

pytestmark = pytest.mark.requirement("AP6")


@pytest.fixture
def marketer(served: Served) -> httpx.Client:
    return served.client("mark", "Marketers", path="/engagement")


@pytest.fixture
def approver(served: Served) -> httpx.Client:
    return served.client("vera", "Approvers", path="/engagement")


def draft(editor: httpx.Client, served: Served, **changes: Any) -> str:
    """A program that nobody has approved."""
    made = Programme(served, editor, approved=False, **changes)
    return made.path


def approve(client: httpx.Client, path: str) -> httpx.Response:
    version = client.get(path, params={"consistent": True}).json()["version"]
    return client.post(f"{path}/approval/approve", json={"version": version})


def does_nothing(client: httpx.Client, path: str, told: str) -> None:
    """Every way to have a program do something is refused."""
    program_id = path.split("/")[2]
    event = {"marketplaceId": "US", "programId": program_id, "customerId": "c-1"}
    for refused in (
        client.post(f"{path}/enable"),
        client.post(f"{path}/runs"),
        client.post(f"{path}/deliveries", json={}),
        client.post(f"{path}/deliveries/retry", json={}),
        client.post("/events", json=event),
    ):
        assert (refused.status_code, refused.json()["type"]) == (409, "/problems/conflict"), refused.text
        assert told in refused.json()["detail"]


def test_a_program_does_nothing_until_a_second_person_has_approved_it(
    served: Served, admin: httpx.Client, marketer: httpx.Client, approver: httpx.Client
) -> None:
    path = draft(marketer, served, reactiveEnabled=True)
    found = marketer.get(path).json()
    assert (found["enabled"], found["approval"]["state"], found["approval"]["editors"]) == (False, "draft", ["mark"])
    does_nothing(admin, path, "is not approved: request approval")
    # Nobody has asked for it.
    assert approve(approver, path).status_code == 409
    requested = marketer.post(f"{path}/approval/request").json()
    assert (requested["approval"]["state"], requested["approval"]["requestedBy"]) == ("requested", "mark")
    does_nothing(admin, path, "must approve it")
    approved = approve(approver, path).json()
    assert (approved["enabled"], approved["approval"]["state"], approved["approval"]["decidedBy"]) == (
        True,
        "approved",
        "vera",
    )
    assert marketer.post(f"{path}/runs").status_code == 202


def test_authors_and_requesters_cannot_approve(served: Served, admin: httpx.Client, marketer: httpx.Client) -> None:
    """Whatever their roles are: an Admin may do all of it, and not alone."""
    both = served.client("bea", "engagement:Marketers", "engagement:Approvers", path="/engagement")
    path = draft(marketer, served)
    body = {key: value for key, value in program().items() if key != "dataConnectors"}
    assert both.put(path, json={**body, "programName": "Mine"}).status_code == 200
    # The latest edit and the request are of others; bea's edit is among what would be approved.
    assert marketer.put(path, json={**body, "programName": "Mine, nearly"}).status_code == 200
    assert admin.post(f"{path}/approval/request").status_code == 200
    for own in (both, admin):
        refused = approve(own, path)
        assert (refused.status_code, refused.json()["type"]) == (403, "/problems/forbidden"), refused.text
    assert marketer.get(path).json()["approval"]["state"] == "requested"
    assert approve(served.client("vera", "Approvers", path="/engagement"), path).status_code == 200


def test_an_edit_takes_the_approval_away_and_the_same_again_does_not(
    served: Served, admin: httpx.Client, approver: httpx.Client
) -> None:
    made = Programme(served, admin)
    same = admin.put(made.path, json=made.body).json()
    assert (same["enabled"], same["approval"]["state"]) == (True, "approved")
    off = admin.put(made.path, json={**made.body, "enabled": False}).json()
    assert (off["enabled"], off["approval"]["state"]) == (False, "approved")
    assert admin.post(f"{made.path}/enable").json()["enabled"] is True
    edited = made.put(approved=False, candidateTTLDays=7)
    assert (edited["enabled"], edited["approval"]["state"], edited["approval"]["editors"]) == (False, "draft", ["root"])
    does_nothing(admin, made.path, "is not approved")
    # An edit of what waits is another thing than what waits.
    admin.post(f"{made.path}/approval/request")
    made.put(approved=False, candidateTTLDays=8)
    assert approve(approver, made.path).status_code == 409


def test_what_is_disabled_while_it_waits_is_approved_and_stays_disabled(
    served: Served, admin: httpx.Client, approver: httpx.Client
) -> None:
    path = draft(admin, served)
    admin.post(f"{path}/approval/request")
    assert admin.post(f"{path}/disable").json()["approval"]["enables"] is False
    approved = approve(approver, path).json()
    assert (approved["enabled"], approved["approval"]["state"]) == (False, "approved")
    does_nothing_but_enabling = admin.post(f"{path}/runs")
    assert "is disabled" in does_nothing_but_enabling.json()["detail"]
    assert admin.post(f"{path}/enable").json()["enabled"] is True


def test_a_program_is_sent_back_with_a_reason(served: Served, admin: httpx.Client, approver: httpx.Client) -> None:
    path = draft(admin, served)
    version = admin.post(f"{path}/approval/request").json()["version"]
    declined = approver.post(f"{path}/approval/decline", json={"version": version, "reason": "too often"}).json()
    assert (declined["approval"]["state"], declined["approval"]["reason"]) == ("declined", "too often")
    does_nothing(admin, path, "it was declined")
    again = admin.post(f"{path}/approval/request").json()
    assert (again["approval"]["state"], again["approval"]["reason"]) == ("requested", None)
    assert approve(approver, path).status_code == 200
    assert admin.post(f"{path}/approval/request").status_code == 409


def test_what_is_approved_is_the_version_that_was_looked_at(
    served: Served, admin: httpx.Client, approver: httpx.Client
) -> None:
    path = draft(admin, served)
    version = admin.post(f"{path}/approval/request").json()["version"]
    for other in (version - 1, version + 1):
        assert approver.post(f"{path}/approval/approve", json={"version": other}).status_code == 409
    for wrong in ({}, {"version": "2"}, {"version": 0}, {"version": version, "by": "me"}):
        assert approver.post(f"{path}/approval/approve", json=wrong).status_code == 422
    assert approver.post(f"{path}/approval/decline", json={"version": version, "reason": " "}).status_code == 422
    assert approver.post(f"{path}/approval/approve", json={"version": version}).status_code == 200
    missing = f"/programs/{new_id('p')}/marketplaces/US/approval"
    assert admin.post(f"{missing}/request").status_code == 404
    assert approver.post(f"{missing}/approve", json={"version": 1}).status_code == 404


def test_an_edit_at_the_moment_of_its_approval_is_never_enabled(
    served: Served, admin: httpx.Client, approver: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes first: what is enabled is what was approved."""
    slow_reads(monkeypatch)
    for number in range(6):
        made = Programme(served, admin, approved=False)
        version = admin.post(f"{made.path}/approval/request").json()["version"]
        body = {**made.body, "programName": f"Sneaked in {number}"}

        def act(who: int) -> int:
            if who:
                return admin.put(made.path, json=body).status_code  # noqa: B023
            return approver.post(f"{made.path}/approval/approve", json={"version": version}).status_code  # noqa: B023

        outcomes = at_once(2, act)
        found = admin.get(made.path, params={"consistent": True}).json()
        assert set(outcomes) <= {200, 409}
        if found["programName"] != "A program":
            assert (found["enabled"], found["approval"]["state"]) == (False, "draft")
        else:
            assert (found["enabled"], found["approval"]["state"]) == (True, "approved")


def test_two_approvers_at_once_are_one_approval(
    served: Served, admin: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_reads(monkeypatch)
    path = draft(admin, served)
    version = admin.post(f"{path}/approval/request").json()["version"]
    approvers = [served.client(f"a-{number}", "Approvers", path="/engagement") for number in range(8)]
    answers = at_once(
        8, lambda number: approvers[number].post(f"{path}/approval/approve", json={"version": version}).status_code
    )
    assert sorted(answers) == [200] + [409] * 7
    versions = admin.get(f"{path}/versions").json()["versions"]
    assert [each["step"] for each in versions] == ["approved", "requested", "edited"]


def test_programs_are_listed_by_their_approval(served: Served, admin: httpx.Client, approver: httpx.Client) -> None:
    paths = [draft(admin, served) for _ in range(3)]
    for path in paths[1:]:
        admin.post(f"{path}/approval/request")
    approve(approver, paths[2])

    def listed(state: str) -> list[str]:
        found: list[str] = []
        cursor: str | None = None
        while True:
            params: dict[str, Any] = {"approval": state, "limit": 2, **({} if cursor is None else {"cursor": cursor})}
            page = approver.get("/programs", params=params).json()
            found += [
                f"/programs/{each['programId']}/marketplaces/{each['marketplaceId']}" for each in page["programs"]
            ]
            cursor = page["cursor"]
            if cursor is None:
                return [path for path in paths if path in found]

    assert (listed("draft"), listed("requested"), listed("approved")) == ([paths[0]], [paths[1]], [paths[2]])
    assert approver.get("/programs").status_code == 422


@pytest.mark.parametrize("role", ["Viewers", "Marketers", "EventSources"])
def test_only_approvers_approve(served: Served, admin: httpx.Client, role: str) -> None:
    path = draft(admin, served)
    version = admin.post(f"{path}/approval/request").json()["version"]
    other = served.client("olga", role, path="/engagement")
    assert other.post(f"{path}/approval/approve", json={"version": version}).status_code == 403
    declined = other.post(f"{path}/approval/decline", json={"version": version, "reason": "no"})
    assert declined.status_code == 403
    approver = served.client("vera", "Approvers", path="/engagement")
    for refused in (approver.put(path, json=program()), approver.post(f"{path}/approval/request")):
        assert refused.status_code == 403
