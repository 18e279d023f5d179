"""Calls: scheduling one, once, under an id that no other call has."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx
import pytest

from tablewright.systems.calls.model import calls
from tests.systems import stored_items
from tests.systems.calls.call_clients import HOUR, NOON, changed, ids, new_id, refused, schedule
from tests.systems.harness import Served, at_once


@pytest.mark.requirement("CA1")
def test_a_call_is_scheduled_and_answered_whole(staff: httpx.Client) -> None:
    call_id, user, provider = new_id("c"), new_id("u"), new_id("p")
    call = schedule(staff, callId=call_id, userId=user, providerId=provider)
    assert call == {
        "callId": call_id,
        "userId": user,
        "providerId": provider,
        "status": "SCHEDULED",
        "scheduledFor": NOON,
        "durationMinutes": 30,
        "version": 1,
    }


def test_keys_are_derived_as_the_document_has_them(staff: httpx.Client, served: Served) -> None:
    call = schedule(staff, scheduledFor=5)
    (item,) = [item for item in stored_items.items(served, calls) if item.get("callId") == {"S": call["callId"]}]
    assert item == {
        "userId": {"S": call["userId"]},
        "sk": {"S": f"0000000000005#{call['callId']}"},
        "callId": {"S": call["callId"]},
        "providerId": {"S": call["providerId"]},
        "status": {"S": "SCHEDULED"},
        "scheduledFor": {"N": "5"},
        "durationMinutes": {"N": "30"},
        "userStatus": {"S": f"{call['userId']}#SCHEDULED"},
        "version": {"N": "1"},
    }


@pytest.mark.requirement("CA1")
def test_the_same_call_again_is_the_call_that_is_there(staff: httpx.Client) -> None:
    body = {"callId": new_id("c"), "userId": new_id("u"), "providerId": new_id("p"), "scheduledFor": NOON}
    first = schedule(staff, **body)
    assert schedule(staff, **body) == first
    completed = changed(staff, first, "status", status="COMPLETED")
    assert schedule(staff, **body) == completed


@pytest.mark.requirement("CA1")
@pytest.mark.parametrize(
    "other", [{"userId": "u-else"}, {"providerId": "p-else"}, {"scheduledFor": NOON + 1}, {"durationMinutes": 31}]
)
def test_an_id_that_is_taken_by_another_call_is_refused(staff: httpx.Client, other: dict[str, Any]) -> None:
    first = schedule(staff)
    body = {name: first[name] for name in ("callId", "userId", "providerId", "scheduledFor")}
    answer = staff.post("/calls", json={**body, **other})
    assert refused(answer) == (409, "already-exists")
    assert staff.get(f"/calls/{first['callId']}").json() == first


@pytest.mark.requirement("CA1")
def test_of_many_who_want_an_id_at_once_one_gets_it(staff: httpx.Client, served: Served) -> None:
    call_id = new_id("c")
    users = [new_id("u") for _ in range(24)]

    def create(number: int) -> int:
        body = {
            "callId": call_id,
            "userId": users[number],
            "providerId": new_id("p"),
            "scheduledFor": NOON + number * HOUR,
        }
        return staff.post("/calls", json=body).status_code

    assert sorted(at_once(24, create)) == [201] + [409] * 23
    assert [each for user in users for each in ids(staff.get(f"/users/{user}/calls"))] == [call_id]
    assert sum(item.get("callId") == {"S": call_id} for item in stored_items.items(served, calls)) == 1


@pytest.mark.requirement("CA1")
def test_many_who_send_the_same_call_at_once_get_the_same_answer(staff: httpx.Client) -> None:
    body = {"callId": new_id("c"), "userId": new_id("u"), "providerId": new_id("p"), "scheduledFor": NOON}
    answers = at_once(24, lambda _: staff.post("/calls", json=body))
    assert {answer.status_code for answer in answers} == {201}
    assert [answer.json() for answer in answers] == [answers[0].json()] * 24


@pytest.mark.requirement("CA1")
def test_a_retry_by_its_own_id_gives_the_call_as_it_is_by_then(staff: httpx.Client) -> None:
    """The response was lost, and others went on with the call."""
    body = {"userId": new_id("u"), "providerId": new_id("p"), "scheduledFor": NOON, "callId": new_id("c")}
    call = staff.post("/calls", json=body).json()
    call = changed(staff, call, "provider", providerId=new_id("p"))
    call = changed(staff, call, "schedule", scheduledFor=NOON + HOUR)
    call = changed(staff, call, "user", userId=new_id("u"))
    again = staff.post("/calls", json=body)
    assert (again.status_code, again.json()) == (201, call)


def test_a_retry_does_not_return_a_call_that_now_belongs_to_another_customer(
    staff: httpx.Client, served: Served
) -> None:
    customer = new_id("u")
    client = served.client(customer, "Customers", path="/calls")
    body = {"callId": new_id("c"), "userId": customer, "providerId": new_id("p"), "scheduledFor": NOON}
    changed(staff, schedule(client, **body), "user", userId=new_id("u"))
    assert refused(client.post("/calls", json=body)) == (409, "already-exists")


def test_without_an_id_and_a_key_every_call_is_a_new_one(staff: httpx.Client) -> None:
    user = new_id("u")
    made = [schedule(staff, userId=user, scheduledFor=NOON + hour * HOUR)["callId"] for hour in range(2)]
    assert len(set(made)) == 2
    assert all(UUID(call_id) for call_id in made)


def test_the_id_of_a_deleted_call_is_free_again(staff: httpx.Client, admin: httpx.Client) -> None:
    call = schedule(staff)
    for version in (1, 2):
        assert admin.delete(f"/calls/{call['callId']}", params={"version": version}).status_code == 204
    assert schedule(staff, callId=call["callId"])["userId"] != call["userId"]


def test_the_id_of_a_cancelled_call_is_taken_and_a_retry_gets_it_as_it_is(staff: httpx.Client) -> None:
    body = {"callId": new_id("c"), "userId": new_id("u"), "providerId": new_id("p"), "scheduledFor": NOON}
    call = schedule(staff, **body)
    assert staff.delete(f"/calls/{call['callId']}", params={"version": 1}).status_code == 204
    # Somebody else has its time by now.
    schedule(staff, providerId=body["providerId"])
    assert schedule(staff, **body) == {**call, "status": "CANCELLED", "version": 2}
    other = staff.post("/calls", json={**body, "userId": new_id("u"), "providerId": new_id("p")})
    assert refused(other) == (409, "already-exists")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"scheduledFor": -1}, "body.scheduledFor"),
        ({"scheduledFor": 10**13}, "body.scheduledFor"),
        ({"scheduledFor": "tomorrow"}, "body.scheduledFor"),
        ({"scheduledFor": True}, "body.scheduledFor"),
        ({"scheduledFor": 0.5}, "body.scheduledFor"),
        ({"durationMinutes": 0}, "body.durationMinutes"),
        ({"durationMinutes": 1441}, "body.durationMinutes"),
        ({"durationMinutes": True}, "body.durationMinutes"),
        ({"durationMinutes": "30"}, "body.durationMinutes"),
        ({"durationMinutes": None}, "body.durationMinutes"),
        ({"userId": ""}, "body.userId"),
        ({"userId": "a/b"}, "body.userId"),
        ({"userId": "$#unique"}, "body.userId"),
        ({"callId": "a#b"}, "body.callId"),
        ({"callId": "c" * 129}, "body.callId"),
        ({"callId": "."}, "body.callId"),
        ({"providerId": None}, "body.providerId"),
        ({"status": "COMPLETED"}, "body.status"),
    ],
)
def test_what_cannot_be_is_refused_by_field(staff: httpx.Client, wrong: dict[str, Any], field: str) -> None:
    body = {"userId": new_id("u"), "providerId": new_id("p"), "scheduledFor": NOON, **wrong}
    answer = staff.post("/calls", json=body)
    assert refused(answer) == (422, "invalid-request")
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_the_id_of_a_user_is_taken_as_issuers_of_tokens_make_them(served: Served) -> None:
    user = f"auth0|{new_id('u')}"
    client = served.client(user, "Customers", path="/calls")
    call = schedule(client, userId=user)
    assert ids(client.get(f"/users/{quote(user)}/calls/upcoming", params={"since": 0})) == [call["callId"]]
