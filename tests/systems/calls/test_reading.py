"""Calls: found by id, by user and time, by status and by provider."""

from __future__ import annotations

import time

import httpx
import pytest

from tests.systems.calls.call_clients import HOUR, NOON, changed, ids, new_id, refused, schedule


def hourly(staff: httpx.Client, count: int, **fields: str) -> list[str]:
    """Calls one hour after the other; their ids in that order, though they were made in another."""
    made = {hour: schedule(staff, scheduledFor=NOON + hour * HOUR, **fields) for hour in reversed(range(count))}
    return [made[hour]["callId"] for hour in range(count)]


@pytest.mark.requirement("CA2")
@pytest.mark.parametrize("consistent", [False, True])
def test_a_call_is_found_by_its_id_or_not_at_all(staff: httpx.Client, consistent: bool) -> None:
    call = schedule(staff)
    assert staff.get(f"/calls/{call['callId']}", params={"consistent": consistent}).json() == call
    missing = staff.get(f"/calls/{new_id('c')}", params={"consistent": consistent})
    assert refused(missing) == (404, "not-found")


@pytest.mark.requirement("CA2")
def test_calls_of_a_user_come_in_order_of_time(staff: httpx.Client) -> None:
    user = new_id("u")
    made = hourly(staff, 5, userId=user)
    schedule(staff)
    path = f"/users/{user}/calls"
    assert ids(staff.get(path)) == made
    assert ids(staff.get(path, params={"since": NOON + HOUR})) == made[1:]
    assert ids(staff.get(path, params={"until": NOON + HOUR})) == made[:2]
    assert ids(staff.get(path, params={"since": NOON + HOUR, "until": NOON + 3 * HOUR})) == made[1:4]
    assert ids(staff.get(path, params={"since": NOON + HOUR, "until": NOON})) == []


@pytest.mark.requirement("CA2")
def test_calls_of_a_provider_come_newest_first(staff: httpx.Client) -> None:
    provider = new_id("p")
    made = hourly(staff, 5, providerId=provider)
    path = f"/providers/{provider}/calls"
    assert ids(staff.get(path)) == made[::-1]
    assert ids(staff.get(path, params={"since": NOON + HOUR, "until": NOON + 2 * HOUR})) == made[2:0:-1]


@pytest.mark.requirement("CA2")
@pytest.mark.parametrize(("whose", "part"), [("users", "userId"), ("providers", "providerId")])
def test_lists_have_pages(staff: httpx.Client, whose: str, part: str) -> None:
    whom = new_id("x")
    made = hourly(staff, 7, **{part: whom})
    path = f"/{whose}/{whom}/calls"
    whole, cursor = [], None
    for size in (3, 3, 1):
        page = staff.get(path, params={"limit": 3, **({} if cursor is None else {"cursor": cursor})})
        assert len(ids(page)) == size
        whole += ids(page)
        cursor = page.json()["cursor"]
    assert cursor is None
    assert whole == (made if part == "userId" else made[::-1])


@pytest.mark.requirement("CA3")
def test_upcoming_calls_begin_now_and_go_on_in_order(staff: httpx.Client) -> None:
    user, now = new_id("u"), int(time.time() * 1000)
    past = schedule(staff, userId=user, scheduledFor=now - HOUR)
    made = hourly(staff, 3, userId=user)
    done = changed(staff, schedule(staff, userId=user, scheduledFor=NOON + 9 * HOUR), "status", status="COMPLETED")
    path = f"/users/{user}/calls/upcoming"
    assert ids(staff.get(path)) == made
    assert ids(staff.get(path, params={"since": now - HOUR})) == [past["callId"], *made]
    assert ids(staff.get(path, params={"until": NOON + HOUR})) == made[:2]
    assert done["callId"] not in ids(staff.get(path))


@pytest.mark.requirement("CA3")
def test_pages_of_upcoming_calls_keep_to_the_moment_of_the_first(staff: httpx.Client) -> None:
    user = new_id("u")
    made = hourly(staff, 3, userId=user)
    path = f"/users/{user}/calls/upcoming"
    first = staff.get(path, params={"limit": 2}).json()
    rest = staff.get(path, params={"limit": 2, "cursor": first["cursor"]})
    assert ids(rest) == made[2:]
    moment, _, sealed = first["cursor"].partition(".")
    for cursor in (f"{int(moment) - 1}.{sealed}", sealed, moment, f"{moment}.", "x." + sealed, "9" * 5000):
        answer = staff.get(path, params={"cursor": cursor})
        assert refused(answer) in ((400, "invalid-cursor"), (422, "invalid-request"))


@pytest.mark.requirement("CA3")
def test_completed_calls_come_last_one_first(staff: httpx.Client) -> None:
    user = new_id("u")
    made = [schedule(staff, userId=user, scheduledFor=NOON + hour * HOUR) for hour in range(4)]
    for call in made[:3]:
        changed(staff, call, "status", status="COMPLETED")
    done = [call["callId"] for call in made[2::-1]]
    path = f"/users/{user}/calls/completed"
    assert ids(staff.get(path)) == done
    assert ids(staff.get(path, params={"since": NOON + HOUR})) == done[:2]
    page = staff.get(path, params={"limit": 2}).json()
    assert ids(staff.get(path, params={"limit": 2, "cursor": page["cursor"]})) == done[2:]


@pytest.mark.requirement("CA3")
def test_the_next_scheduled_call_is_the_first_from_now_on(staff: httpx.Client) -> None:
    user = new_id("u")
    path = f"/users/{user}/calls/next-scheduled"
    assert refused(staff.get(path)) == (404, "not-found")
    schedule(staff, userId=user, scheduledFor=int(time.time() * 1000) - HOUR)
    assert refused(staff.get(path)) == (404, "not-found")
    later, sooner = (schedule(staff, userId=user, scheduledFor=NOON + hour * HOUR) for hour in (2, 1))
    assert staff.get(path).json() == sooner
    changed(staff, sooner, "status", status="COMPLETED")
    assert staff.get(path).json() == later


@pytest.mark.requirement("CA3")
def test_the_last_completed_call_is_the_latest_of_them(staff: httpx.Client) -> None:
    user = new_id("u")
    path = f"/users/{user}/calls/last-completed"
    assert refused(staff.get(path)) == (404, "not-found")
    late, early = (schedule(staff, userId=user, scheduledFor=NOON + hour * HOUR) for hour in (2, 1))
    late = changed(staff, late, "status", status="COMPLETED")
    changed(staff, early, "status", status="COMPLETED")
    assert staff.get(path).json() == late


def test_a_cursor_of_another_list_is_refused(staff: httpx.Client) -> None:
    user = new_id("u")
    hourly(staff, 3, userId=user)
    cursor = staff.get(f"/users/{user}/calls", params={"limit": 2}).json()["cursor"]
    for path in (f"/users/{new_id('u')}/calls", f"/users/{user}/calls/completed", f"/users/{user}/calls/upcoming"):
        assert refused(staff.get(path, params={"cursor": cursor})) == (400, "invalid-cursor")
