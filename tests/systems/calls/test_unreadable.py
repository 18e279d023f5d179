"""Calls: one that cannot be read takes no list down, and is changed by nobody until it is repaired."""

from __future__ import annotations

import logging

import httpx
import pytest

from tablewright.systems.calls.model import calls
from tests.systems import stored_items
from tests.systems.calls.call_clients import HOUR, NOON, Answer, ids, new_id, put, refused, schedule
from tests.systems.harness import Served

SPOILT = {"S": "MISSED, secret"}


def spoil(served: Served, call: Answer, status: dict[str, str] = SPOILT) -> None:
    stored_items.spoil(served, calls, place(call), status=status)


def place(call: Answer) -> stored_items.Item:
    return {"userId": {"S": call["userId"]}, "sk": {"S": f"{call['scheduledFor']:013}#{call['callId']}"}}


@pytest.mark.requirement("CA2", "CA3")
def test_lists_show_the_rest_in_full_pages_and_tell_of_it(
    served: Served, staff: httpx.Client, admin: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    user, provider = new_id("u"), new_id("p")
    made = [schedule(staff, userId=user, providerId=provider, scheduledFor=NOON + number * HOUR) for number in range(4)]
    known = [call["callId"] for call in made]
    spoil(served, made[1])
    with caplog.at_level(logging.ERROR):
        first = staff.get(f"/users/{user}/calls", params={"limit": 2})
    assert ids(first) == [known[0], known[2]]
    assert [each["entity"] for each in first.json()["unreadable"]] == ["Call"]
    assert known[1] in first.json()["unreadable"][0]["key"]
    assert "secret" not in first.text
    rest = staff.get(f"/users/{user}/calls", params={"limit": 2, "cursor": first.json()["cursor"]})
    assert (ids(rest), rest.json()["unreadable"]) == ([known[3]], [])
    assert ids(staff.get(f"/providers/{provider}/calls")) == [known[3], known[2], known[0]]
    upcoming = staff.get(f"/users/{user}/calls/upcoming", params={"limit": 2})
    assert ids(upcoming) == [known[0], known[2]]
    later = {"limit": 2, "cursor": upcoming.json()["cursor"]}
    assert ids(staff.get(f"/users/{user}/calls/upcoming", params=later)) == [known[3]]
    assert ids(staff.get(f"/users/{user}/calls/completed")) == []
    # It is counted, and Admins are told which; in the log there is nobody's call.
    assert served.runtime.metrics.registry.get_sample_value("calls_unreadable_items_total", {"entity": "Call"})
    assert known[1] in str(admin.get("/unreadable").json())
    assert staff.get("/unreadable").status_code == 403
    told = [record for record in caplog.records if "cannot be read" in record.message]
    assert told
    assert not any(known[1] in str(record.__dict__) or user in str(record.__dict__) for record in told)


@pytest.mark.requirement("CA2", "CA4", "CA5", "CA6")
def test_the_call_itself_is_refused_and_stays_as_it_is(
    served: Served, staff: httpx.Client, admin: httpx.Client
) -> None:
    call = schedule(staff)
    spoil(served, call)
    before = stored_items.ask(served, "GetItem", calls, Key=place(call))["Item"]
    path = f"/calls/{call['callId']}"
    for answer in (
        staff.get(path),
        staff.get(path, params={"consistent": True}),
        put(staff, call, "status", status="COMPLETED"),
        put(staff, call, "schedule", scheduledFor=NOON + HOUR),
        put(staff, call, "user", userId=new_id("u")),
        put(staff, call, "provider", providerId=new_id("p")),
        admin.delete(path, params={"version": call["version"]}),
        staff.post("/calls", json={name: call[name] for name in ("callId", "userId", "providerId", "scheduledFor")}),
    ):
        assert refused(answer) == (409, "conflict")
        assert "status" in answer.json()["detail"]
        assert "repair it" in answer.json()["detail"]
        assert "secret" not in answer.text
    assert stored_items.ask(served, "GetItem", calls, Key=place(call))["Item"] == before
    spoil(served, call, {"S": "SCHEDULED"})
    assert staff.get(path).json() == call


@pytest.mark.requirement("CA2")
@pytest.mark.parametrize(
    "unreadable",
    [
        {"scheduledFor": {"N": "-1"}},
        {"scheduledFor": {"N": "10000000000000"}},
        {"scheduledFor": {"S": "9999-12-31T23:59:59-01:00"}},
        {"scheduledFor": {"S": "0001-01-01T00:00:00+01:00"}},
        {"version": {"N": "1e30"}},
        {"version": {"N": "-1"}},
    ],
)
def test_what_no_call_can_be_cannot_be_read_either(
    served: Served, staff: httpx.Client, unreadable: dict[str, dict[str, str]]
) -> None:
    """No key could be made of it, or no answer."""
    call = schedule(staff)
    stored_items.spoil(served, calls, place(call), **unreadable)
    assert ids(staff.get(f"/users/{call['userId']}/calls")) == []
    assert refused(staff.get(f"/calls/{call['callId']}", params={"consistent": True})) == (409, "conflict")
    assert refused(put(staff, call, "schedule", scheduledFor=NOON + HOUR)) == (409, "conflict")
    assert refused(put(staff, call, "user", userId=new_id("u"))) == (409, "conflict")


@pytest.mark.requirement("CA3")
def test_an_unreadable_next_call_is_not_replaced_by_another(served: Served, staff: httpx.Client) -> None:
    user = new_id("u")
    made = [schedule(staff, userId=user, scheduledFor=NOON + number * HOUR) for number in range(2)]
    spoil(served, made[0])
    assert refused(staff.get(f"/users/{user}/calls/next-scheduled")) == (409, "conflict")
    spoil(served, made[0], {"S": "SCHEDULED"})
    assert staff.get(f"/users/{user}/calls/next-scheduled").json() == made[0]


def test_a_customer_learns_nothing_of_a_call_that_may_be_anybodys(served: Served, staff: httpx.Client) -> None:
    stranger_id = new_id("u")
    stranger = served.client(stranger_id, "Customers", path="/calls")
    call = schedule(staff)
    spoil(served, call)
    path = f"/calls/{call['callId']}"
    assert refused(stranger.get(path)) == (404, "not-found")
    assert refused(put(stranger, call, "schedule", scheduledFor=NOON + HOUR)) == (404, "not-found")
    assert refused(stranger.delete(path, params={"version": 1})) == (404, "not-found")
    body = {"callId": call["callId"], "userId": stranger_id, "providerId": new_id("p"), "scheduledFor": NOON}
    taken = stranger.post("/calls", json=body)
    assert refused(taken) == (409, "already-exists")
    assert call["userId"] not in taken.text
