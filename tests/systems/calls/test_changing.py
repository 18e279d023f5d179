"""Calls: status, time, user and provider change, each based on a version."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tablewright.runtime.idempotency import UNKEYED
from tablewright.store import AsyncStore
from tablewright.systems.calls.model import Status, calls, design
from tablewright.systems.calls.service import Basis, Calls, NewCall
from tablewright.systems.key_times import EPOCH
from tests.systems import stored_items
from tests.systems.calls.call_clients import HOUR, NOON, Answer, changed, ids, new_id, put, refused, schedule
from tests.systems.harness import Served

CHANGES: dict[str, dict[str, Any]] = {
    "status": {"status": "COMPLETED"},
    "schedule": {"scheduledFor": NOON + HOUR},
    "user": {"userId": "u-else"},
    "provider": {"providerId": "p-else"},
}


def stored(served: Served, call: Answer) -> stored_items.Item:
    (item,) = [item for item in stored_items.items(served, calls) if item.get("callId") == {"S": call["callId"]}]
    return item


@pytest.mark.requirement("CA4")
def test_a_status_and_what_follows_from_it_change_together(staff: httpx.Client, served: Served) -> None:
    call = schedule(staff)
    user = call["userId"]
    done = changed(staff, call, "status", status="COMPLETED")
    assert done == {**call, "status": "COMPLETED", "version": 2}
    item = stored(served, call)
    assert (item["status"], item["userStatus"]) == ({"S": "COMPLETED"}, {"S": f"{user}#COMPLETED"})
    assert ids(staff.get(f"/users/{user}/calls/upcoming")) == []
    assert ids(staff.get(f"/users/{user}/calls/completed")) == [call["callId"]]
    again = changed(staff, done, "status", status="SCHEDULED")
    assert again == {**call, "version": 3}
    assert ids(staff.get(f"/users/{user}/calls/upcoming")) == [call["callId"]]


@pytest.mark.requirement("CA4")
def test_a_status_that_a_call_has_already_is_no_change(staff: httpx.Client) -> None:
    call = schedule(staff)
    assert refused(put(staff, call, "status", status="SCHEDULED")) == (409, "conflict")
    assert refused(put(staff, call, "status", status="MISSED")) == (422, "invalid-request")
    assert staff.get(f"/calls/{call['callId']}").json() == call


@pytest.mark.requirement("CA5")
def test_a_call_is_rescheduled_as_one_call(staff: httpx.Client, served: Served) -> None:
    call = schedule(staff)
    moved = changed(staff, call, "schedule", scheduledFor=NOON + HOUR)
    assert moved == {**call, "scheduledFor": NOON + HOUR, "version": 2}
    assert stored(served, call)["sk"] == {"S": f"{NOON + HOUR}#{call['callId']}"}
    assert ids(staff.get(f"/users/{call['userId']}/calls")) == [call["callId"]]
    assert staff.get(f"/calls/{call['callId']}").json() == moved


@pytest.mark.requirement("CA5")
def test_a_call_is_reassigned_as_one_call(staff: httpx.Client, served: Served) -> None:
    call, other = schedule(staff), new_id("u")
    moved = changed(staff, call, "user", userId=other)
    assert moved == {**call, "userId": other, "version": 2}
    assert stored(served, call)["userStatus"] == {"S": f"{other}#SCHEDULED"}
    assert ids(staff.get(f"/users/{call['userId']}/calls")) == []
    assert ids(staff.get(f"/users/{other}/calls/upcoming")) == [call["callId"]]
    assert ids(staff.get(f"/providers/{call['providerId']}/calls")) == [call["callId"]]


@pytest.mark.requirement("CA6")
def test_another_provider_changes_the_call_where_it_is(staff: httpx.Client, served: Served) -> None:
    call, other = schedule(staff), new_id("p")
    before = stored(served, call)
    after = changed(staff, call, "provider", providerId=other)
    assert after == {**call, "providerId": other, "version": 2}
    assert stored(served, call) == {**before, "providerId": {"S": other}, "version": {"N": "2"}}
    assert ids(staff.get(f"/providers/{call['providerId']}/calls")) == []
    assert ids(staff.get(f"/providers/{other}/calls")) == [call["callId"]]


@pytest.mark.requirement("CA6")
def test_another_provider_is_an_update_in_one_transaction_with_the_booked_days() -> None:
    """It stays where it is, but both providers' days change with it; and the entry of its audit is with it."""
    written: list[str] = []

    def count(_: str | None, operation: str, __: Any) -> None:
        if operation not in ("GetItem", "Query"):
            written.append(operation)

    async def work() -> None:
        store = AsyncStore.open(None, on_capacity=count)
        await store.ensure_tables(*design.all_tables)
        service = Calls(store, time.time)
        call = await service.create(NewCall("u-1", "p-1", EPOCH + NOON * timedelta(milliseconds=1)), UNKEYED)
        assert written == ["TransactWriteItems"]
        call = await service.change_provider(call.call_id, "p-2", basis=Basis(call.version))
        assert written == 2 * ["TransactWriteItems"]
        await service.change_status(call.call_id, Status.COMPLETED, basis=Basis(call.version))
        assert written == 3 * ["TransactWriteItems"]
        store.close()

    asyncio.run(work())


@pytest.mark.requirement("CA7")
@pytest.mark.parametrize("part", CHANGES)
def test_a_change_that_is_based_on_an_old_version_is_refused(staff: httpx.Client, part: str) -> None:
    call = schedule(staff)
    newer = changed(staff, call, "provider", providerId=new_id("p"))
    answer = put(staff, call, part, **CHANGES[part])
    assert refused(answer) == (409, "conflict")
    assert answer.json()["version"] == 2
    assert staff.get(f"/calls/{call['callId']}").json() == newer


@pytest.mark.requirement("CA7")
@pytest.mark.parametrize("part", CHANGES)
def test_a_change_needs_a_version(staff: httpx.Client, part: str) -> None:
    call = schedule(staff)
    answer = staff.put(f"/calls/{call['callId']}/{part}", json=CHANGES[part])
    assert refused(answer) == (422, "invalid-request")
    assert answer.json()["errors"] == [
        {"field": "body.version", "message": "Field required, unless the ETag of the call is sent in If-Match"}
    ]


@pytest.mark.requirement("CA7")
def test_a_call_that_was_there_before_there_were_versions_has_version_0(staff: httpx.Client, served: Served) -> None:
    """As the document's own program wrote it; ``repair`` gives its id a guard."""
    user, call_id = new_id("u"), new_id("c")
    item = {
        "userId": {"S": user},
        "sk": {"S": f"{NOON:013}#{call_id}"},
        "callId": {"S": call_id},
        "providerId": {"S": new_id("p")},
        "status": {"S": "SCHEDULED"},
        "scheduledFor": {"N": str(NOON)},
        "userStatus": {"S": f"{user}#SCHEDULED"},
    }
    stored_items.ask(served, "PutItem", calls, Item=item)
    served.runtime.sync_store.repair(calls, dry_run=False)
    call = staff.get(f"/calls/{call_id}").json()
    assert (call["version"], call["durationMinutes"]) == (0, 30)
    assert changed(staff, call, "provider", providerId=new_id("p"))["version"] == 1
    assert refused(put(staff, call, "provider", providerId="p-3")) == (409, "conflict")


@pytest.mark.parametrize("part", ["schedule", "user", "provider"])
def test_what_has_taken_place_stays_as_it_was(staff: httpx.Client, part: str) -> None:
    call = changed(staff, schedule(staff), "status", status="COMPLETED")
    answer = put(staff, call, part, **CHANGES[part])
    assert refused(answer) == (409, "conflict")
    assert answer.json()["detail"] == f"call {call['callId']} is COMPLETED; only a scheduled call can be changed"
    assert staff.get(f"/calls/{call['callId']}").json() == call


@pytest.mark.parametrize("part", CHANGES)
def test_a_call_that_is_not_there_cannot_be_changed(staff: httpx.Client, part: str) -> None:
    answer = staff.put(f"/calls/{new_id('c')}/{part}", json={**CHANGES[part], "version": 1})
    assert refused(answer) == (404, "not-found")


def test_a_cancelled_call_stays_as_a_cancelled_one(staff: httpx.Client, served: Served) -> None:
    call = schedule(staff)
    path = f"/calls/{call['callId']}"
    assert refused(staff.delete(path)) == (422, "invalid-request")
    assert refused(staff.delete(path, params={"version": 2})) == (409, "conflict")
    assert staff.delete(path, params={"version": 1}).status_code == 204
    cancelled = {**call, "status": "CANCELLED", "version": 2}
    assert staff.get(path).json() == cancelled
    assert stored(served, call)["userStatus"] == {"S": f"{call['userId']}#CANCELLED"}
    assert refused(staff.delete(path, params={"version": 2})) == (409, "conflict")
    lists = f"/users/{call['userId']}/calls"
    assert staff.get(lists).json()["calls"] == [cancelled]
    assert staff.get(f"/providers/{call['providerId']}/calls").json()["calls"] == [cancelled]
    assert [ids(staff.get(f"{lists}/{part}")) for part in ("upcoming", "completed")] == [[], []]
    assert refused(staff.get(f"{lists}/next-scheduled")) == (404, "not-found")


def test_a_status_leads_to_and_from_scheduled_only(staff: httpx.Client) -> None:
    call = changed(staff, schedule(staff), "status", status="CANCELLED")
    assert refused(put(staff, call, "status", status="COMPLETED")) == (409, "conflict")
    assert refused(put(staff, call, "schedule", scheduledFor=NOON + HOUR)) == (409, "conflict")
    call = changed(staff, call, "status", status="SCHEDULED")
    call = changed(staff, call, "status", status="COMPLETED")
    assert refused(put(staff, call, "status", status="CANCELLED")) == (409, "conflict")


def test_only_admins_delete_what_was_cancelled(staff: httpx.Client, admin: httpx.Client, served: Served) -> None:
    call = changed(staff, schedule(staff), "status", status="CANCELLED")
    path = f"/calls/{call['callId']}"
    assert refused(staff.delete(path, params={"version": 2})) == (409, "conflict")
    assert admin.delete(path, params={"version": 2}).status_code == 204
    assert refused(staff.get(path)) == (404, "not-found")


def test_only_admins_delete_what_has_taken_place(staff: httpx.Client, admin: httpx.Client) -> None:
    call = changed(staff, schedule(staff), "status", status="COMPLETED")
    path = f"/calls/{call['callId']}"
    assert refused(staff.delete(path, params={"version": 2})) == (403, "forbidden")
    assert admin.delete(path, params={"version": 2}).status_code == 204
    assert refused(staff.get(path)) == (404, "not-found")
