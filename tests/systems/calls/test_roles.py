"""Calls: customers have their own, staff has all."""

from __future__ import annotations

import httpx
import pytest

from tests.systems.calls.call_clients import HOUR, NOON, ids, new_id, put, refused, schedule
from tests.systems.harness import Served


@pytest.fixture
def ada(served: Served) -> tuple[str, httpx.Client]:
    user = new_id("ada")
    return user, served.client(user, "Customers", path="/calls")


def test_a_customer_sees_and_changes_her_own_calls(ada: tuple[str, httpx.Client]) -> None:
    user, client = ada
    call = schedule(client, userId=user)
    assert client.get(f"/calls/{call['callId']}").json() == call
    for part in ("", "/upcoming"):
        assert ids(client.get(f"/users/{user}/calls{part}")) == [call["callId"]]
    assert client.get(f"/users/{user}/calls/next-scheduled").json() == call
    call = put(client, call, "schedule", scheduledFor=NOON + HOUR).json()
    call = put(client, call, "provider", providerId=new_id("p")).json()
    assert call["version"] == 3
    assert client.delete(f"/calls/{call['callId']}", params={"version": 3}).status_code == 204


def test_a_customer_gets_404_for_the_call_of_another(ada: tuple[str, httpx.Client], staff: httpx.Client) -> None:
    _, client = ada
    call = schedule(staff)
    not_found = (404, "not-found")
    assert refused(client.get(f"/calls/{call['callId']}")) == not_found
    assert refused(client.get(f"/calls/{call['callId']}", params={"consistent": True})) == not_found
    assert refused(put(client, call, "schedule", scheduledFor=NOON + HOUR)) == not_found
    assert refused(put(client, call, "provider", providerId="p-else")) == not_found
    assert refused(client.delete(f"/calls/{call['callId']}", params={"version": 1})) == not_found
    assert staff.get(f"/calls/{call['callId']}").json() == call


def test_a_customer_gets_no_call_by_naming_its_id(ada: tuple[str, httpx.Client], staff: httpx.Client) -> None:
    user, client = ada
    call = schedule(staff)
    body = {"callId": call["callId"], "userId": user, "providerId": call["providerId"], "scheduledFor": NOON}
    answer = client.post("/calls", json=body)
    assert refused(answer) == (409, "already-exists")
    assert call["userId"] not in answer.text


@pytest.mark.parametrize("part", ["", "/upcoming", "/completed", "/next-scheduled", "/last-completed"])
def test_a_customer_does_not_see_the_lists_of_others(ada: tuple[str, httpx.Client], part: str) -> None:
    _, client = ada
    assert refused(client.get(f"/users/{new_id('u')}/calls{part}")) == (403, "forbidden")


def test_what_is_for_staff_is_refused_to_customers(ada: tuple[str, httpx.Client]) -> None:
    user, client = ada
    call = schedule(client, userId=user)
    forbidden = (403, "forbidden")
    assert refused(put(client, call, "status", status="COMPLETED")) == forbidden
    assert refused(put(client, call, "user", userId="u-else")) == forbidden
    assert refused(client.get(f"/providers/{call['providerId']}/calls")) == forbidden
    body = {"userId": "u-else", "providerId": new_id("p"), "scheduledFor": NOON}
    assert refused(client.post("/calls", json=body)) == forbidden


def test_a_customer_does_not_delete_what_has_taken_place(ada: tuple[str, httpx.Client], staff: httpx.Client) -> None:
    user, client = ada
    call = put(staff, schedule(client, userId=user), "status", status="COMPLETED").json()
    assert refused(client.delete(f"/calls/{call['callId']}", params={"version": 2})) == (403, "forbidden")


@pytest.mark.parametrize("role", ["Schedulers", "Admins"])
def test_staff_sees_and_changes_all_calls(served: Served, ada: tuple[str, httpx.Client], role: str) -> None:
    user, client = ada
    call = schedule(client, userId=user)
    staff = served.client("x", role, path="/calls")
    assert ids(staff.get(f"/users/{user}/calls")) == [call["callId"]]
    assert put(staff, call, "status", status="COMPLETED").status_code == 200


def test_a_caller_without_a_role_is_refused(served: Served, staff: httpx.Client) -> None:
    call = schedule(staff)
    nobody = served.client(call["userId"], path="/calls")
    assert refused(nobody.get(f"/calls/{call['callId']}")) == (403, "forbidden")
    assert refused(served.client(path="/calls").get(f"/calls/{call['callId']}")) == (401, "unauthenticated")
