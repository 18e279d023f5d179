"""Calls: neither a user nor a provider ever has two calls at one time, whatever is done to calls, and by how many."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tablewright.systems.calls.booking_check import check_bookings
from tablewright.systems.calls.model import BookedDay, Call, calls
from tests.examples import examples
from tests.systems import stored_items
from tests.systems.calls.call_clients import HOUR, NOON, Answer, changed, new_id, put, refused, schedule
from tests.systems.harness import Served, at_once
from tests.systems.slow_reads import slow_reads

MINUTE = 60_000
DAY = 24 * HOUR
# The last minutes of a day.
LATE = NOON - NOON % DAY + DAY - 10 * MINUTE


def wrong_bookings(served: Served) -> list[str]:
    return [str(finding) for finding in check_bookings(served.runtime.sync_store)]


@pytest.mark.requirement("CA8")
@pytest.mark.parametrize("part", ["userId", "providerId"])
@pytest.mark.parametrize(
    ("begins", "minutes", "is_free"),
    [
        (0, 30, False),
        (29, 30, False),
        (-29, 30, False),
        (10, 5, False),
        (-10, 60, False),
        (30, 30, True),
        (-30, 30, True),
        (-5, 5, True),
    ],
)
def test_a_user_or_provider_cannot_have_two_calls_at_one_time(
    staff: httpx.Client, part: str, begins: int, minutes: int, is_free: bool
) -> None:
    first = schedule(staff)
    body: dict[str, Any] = {"userId": new_id("u"), "providerId": new_id("p"), part: first[part]}
    body |= {"scheduledFor": NOON + begins * MINUTE, "durationMinutes": minutes}
    answer = staff.post("/calls", json=body)
    if is_free:
        assert answer.status_code == 201
    else:
        assert refused(answer) == (409, "conflict")
        assert answer.json()["field"] == part
        assert (
            answer.json()["detail"] == f"{part[:-2]} {first[part]} has another call at that time; choose another time"
        )
        assert first["callId"] not in answer.text


@pytest.mark.requirement("CA8")
def test_a_time_is_exact_to_the_millisecond(staff: httpx.Client) -> None:
    provider, begin = new_id("p"), NOON + 12_345
    schedule(staff, providerId=provider, scheduledFor=begin, durationMinutes=7)
    schedule(staff, providerId=provider, scheduledFor=begin + 7 * MINUTE, durationMinutes=1)
    body = {"userId": new_id("u"), "providerId": provider, "durationMinutes": 1}
    assert refused(staff.post("/calls", json={**body, "scheduledFor": begin - MINUTE + 1})) == (409, "conflict")
    assert staff.post("/calls", json={**body, "scheduledFor": begin - MINUTE}).status_code == 201


@pytest.mark.requirement("CA8")
def test_a_call_past_midnight_has_its_time_on_both_days(staff: httpx.Client, served: Served) -> None:
    provider = new_id("p")
    schedule(staff, providerId=provider, scheduledFor=LATE, durationMinutes=60)
    for begin, free in ((LATE + 15 * MINUTE, False), (LATE + 5 * MINUTE, False), (LATE + HOUR, True)):
        body = {"userId": new_id("u"), "providerId": provider, "scheduledFor": begin, "durationMinutes": 5}
        assert staff.post("/calls", json=body).status_code == (201 if free else 409)
    whole = schedule(staff, scheduledFor=LATE, durationMinutes=1440)
    body = {"userId": whole["userId"], "providerId": new_id("p"), "scheduledFor": LATE + DAY - MINUTE}
    assert refused(staff.post("/calls", json=body)) == (409, "conflict")
    assert wrong_bookings(served) == []


@pytest.mark.requirement("CA8")
def test_a_call_takes_its_time_along_and_leaves_none_behind(staff: httpx.Client, served: Served) -> None:
    call = schedule(staff)
    user, provider = call["userId"], call["providerId"]
    call = changed(staff, call, "schedule", scheduledFor=NOON + HOUR, durationMinutes=60)
    assert call["durationMinutes"] == 60
    taken = {"scheduledFor": NOON + HOUR + 45 * MINUTE}
    for part in ({"userId": user}, {"providerId": provider}):
        body = {"userId": new_id("u"), "providerId": new_id("p"), **taken, **part}
        assert refused(staff.post("/calls", json=body)) == (409, "conflict")
    # Its former time, and the end of it once it is shorter, are free.
    schedule(staff, userId=user, providerId=provider)
    call = changed(staff, call, "schedule", scheduledFor=NOON + HOUR, durationMinutes=45)
    schedule(staff, userId=user, providerId=provider, **taken)
    # It can take longer only into free time.
    assert refused(put(staff, call, "schedule", scheduledFor=NOON + HOUR, durationMinutes=46)) == (409, "conflict")
    call = changed(staff, call, "provider", providerId=new_id("p"))
    schedule(staff, providerId=provider, scheduledFor=NOON + HOUR)
    call = changed(staff, call, "user", userId=new_id("u"))
    schedule(staff, userId=user, scheduledFor=NOON + HOUR)
    assert wrong_bookings(served) == []


@pytest.mark.requirement("CA8")
def test_changing_a_call_to_a_time_that_is_taken_is_refused(staff: httpx.Client) -> None:
    first, second = schedule(staff), schedule(staff)
    for part in ("user", "provider"):
        answer = put(staff, second, part, **{f"{part}Id": first[f"{part}Id"]})
        assert refused(answer) == (409, "conflict")
        assert answer.json()["field"] == f"{part}Id"
    later = schedule(staff, userId=first["userId"], scheduledFor=NOON + HOUR)
    assert refused(put(staff, later, "schedule", scheduledFor=NOON + 29 * MINUTE)) == (409, "conflict")
    for call in (first, second, later):
        assert staff.get(f"/calls/{call['callId']}").json() == call


@pytest.mark.requirement("CA8")
def test_a_call_moves_within_its_own_time(staff: httpx.Client) -> None:
    call = changed(staff, schedule(staff), "schedule", scheduledFor=NOON + 10 * MINUTE)
    assert changed(staff, call, "schedule", scheduledFor=NOON, durationMinutes=60)["version"] == 3


@pytest.mark.requirement("CA8")
def test_a_cancelled_call_has_no_time_and_gets_it_back_only_while_it_is_free(
    staff: httpx.Client, served: Served
) -> None:
    call = changed(staff, schedule(staff), "status", status="CANCELLED")
    call = changed(staff, call, "status", status="SCHEDULED")
    body = {"userId": new_id("u"), "providerId": call["providerId"], "scheduledFor": NOON}
    assert refused(staff.post("/calls", json=body)) == (409, "conflict")
    assert staff.delete(f"/calls/{call['callId']}", params={"version": 3}).status_code == 204
    schedule(staff, **body)
    again = staff.put(f"/calls/{call['callId']}/status", json={"status": "SCHEDULED", "version": 4})
    assert refused(again) == (409, "conflict")
    assert again.json()["field"] == "providerId"
    assert wrong_bookings(served) == []


@pytest.mark.requirement("CA8")
def test_a_completed_call_keeps_its_time_until_it_is_deleted(
    staff: httpx.Client, admin: httpx.Client, served: Served
) -> None:
    call = changed(staff, schedule(staff), "status", status="COMPLETED")
    body = {"userId": call["userId"], "providerId": new_id("p"), "scheduledFor": NOON}
    assert refused(staff.post("/calls", json=body)) == (409, "conflict")
    assert admin.delete(f"/calls/{call['callId']}", params={"version": 2}).status_code == 204
    schedule(staff, **body)
    assert wrong_bookings(served) == []


# -- the past -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("CA8")
def test_customers_book_nothing_in_the_past_and_staff_may(staff: httpx.Client, served: Served) -> None:
    user = new_id("u")
    client = served.client(user, "Customers", path="/calls")
    past = int(time.time() * 1000) - MINUTE
    body = {"userId": user, "providerId": new_id("p"), "scheduledFor": past}
    answer = client.post("/calls", json=body)
    assert refused(answer) == (422, "invalid-request")
    assert [error["field"] for error in answer.json()["errors"]] == ["body.scheduledFor"]
    call = schedule(client, **{**body, "scheduledFor": past + HOUR})
    assert refused(put(client, call, "schedule", scheduledFor=past)) == (422, "invalid-request")
    call = changed(staff, call, "schedule", scheduledFor=past)
    late = put(client, call, "provider", providerId=new_id("p"))
    assert refused(late) == (409, "conflict")
    assert "is in the past; reschedule it" in late.json()["detail"]
    assert client.post("/calls", json={**body, "scheduledFor": 0}).status_code == 422
    # A call that did not take place can be made up for.
    assert changed(client, call, "schedule", scheduledFor=past + HOUR)["version"] == 3


@pytest.mark.requirement("CA8")
@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k"}])
def test_a_retry_gets_its_call_though_its_time_has_passed(served: Served, headers: dict[str, str]) -> None:
    user = new_id("u")
    headers = {name: uuid4().hex for name in headers}
    body = {"userId": user, "providerId": new_id("p"), "scheduledFor": int(time.time() * 1000) + HOUR}
    body["callId"] = new_id("c")
    client = served.client(user, "Customers", path="/calls")
    first = client.post("/calls", json=body, headers=headers)
    served.clock.advance(2 * 3600)
    try:
        client = served.client(user, "Customers", path="/calls")
        again = client.post("/calls", json=body, headers=headers)
        assert (again.status_code, again.json()) == (201, first.json())
        assert client.post("/calls", json={**body, "callId": new_id("c")}).status_code == 422
    finally:
        served.clock.advance(-2 * 3600)


# -- at once --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("CA8")
@pytest.mark.parametrize("part", ["userId", "providerId"])
def test_of_a_hundred_who_want_the_same_time_one_gets_it(
    staff: httpx.Client, served: Served, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    slow_reads(monkeypatch, 0.001)
    whom = new_id("x")

    def book(number: int) -> int:
        body = {"userId": new_id("u"), "providerId": new_id("p"), part: whom}
        # All of them overlap.
        return staff.post("/calls", json={**body, "scheduledFor": NOON + number % 10 * MINUTE}).status_code

    assert Counter(at_once(100, book)) == {201: 1, 409: 99}
    assert wrong_bookings(served) == []


@pytest.mark.requirement("CA8")
def test_a_hundred_who_want_different_times_of_one_provider_all_get_theirs(staff: httpx.Client, served: Served) -> None:
    provider = new_id("p")

    def book(number: int) -> int:
        body = {"userId": new_id("u"), "providerId": provider, "durationMinutes": 10}
        return staff.post("/calls", json={**body, "scheduledFor": NOON + number * 10 * MINUTE}).status_code

    assert Counter(at_once(100, book)) == {201: 100}
    assert wrong_bookings(served) == []


@pytest.mark.requirement("CA8", "CA1")
def test_many_who_send_the_same_request_under_one_key_get_the_same_call(
    staff: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of them has the time; it is not taken for the others."""
    slow_reads(monkeypatch, 0.01)
    body = {"userId": new_id("u"), "providerId": new_id("p"), "scheduledFor": NOON}
    headers = {"Idempotency-Key": uuid4().hex}
    answers = at_once(16, lambda _: staff.post("/calls", json=body, headers=headers))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["callId"] for answer in answers}) == 1


@pytest.mark.requirement("CA8")
def test_whatever_is_done_at_once_no_two_calls_overlap_and_the_bookings_are_right(
    staff: httpx.Client, served: Served
) -> None:
    users, providers = [new_id("u") for _ in range(3)], [new_id("p") for _ in range(3)]
    made: list[str] = []

    def work(number: int) -> None:
        dice = random.Random(number)
        for _ in range(examples(12)):
            when = LATE + dice.randrange(-12, 12) * 5 * MINUTE
            body: Answer = {"scheduledFor": when, "durationMinutes": dice.choice([5, 10, 30, 60])}
            if not made or dice.random() < 0.4:
                people = {"userId": dice.choice(users), "providerId": dice.choice(providers)}
                answer = staff.post("/calls", json={**people, **body})
                if answer.status_code == 201:
                    made.append(answer.json()["callId"])
            else:
                path = f"/calls/{dice.choice(made)}"
                version = staff.get(path, params={"consistent": True}).json()["version"]
                part, change = dice.choice(
                    [
                        ("schedule", body),
                        ("user", {"userId": dice.choice(users)}),
                        ("provider", {"providerId": dice.choice(providers)}),
                        ("status", {"status": dice.choice(["SCHEDULED", "COMPLETED", "CANCELLED"])}),
                    ]
                )
                answer = staff.put(f"{path}/{part}", json={**change, "version": version})
            assert answer.status_code in (200, 201, 409), answer.text

    at_once(12, work)
    found = [staff.get(f"/calls/{call_id}", params={"consistent": True}).json() for call_id in made]
    booked = [call for call in found if call["status"] != "CANCELLED"]
    overlapping = [
        (one["callId"], other["callId"])
        for one in booked
        for other in booked
        if one["callId"] < other["callId"]
        and (one["userId"] == other["userId"] or one["providerId"] == other["providerId"])
        and one["scheduledFor"] < other["scheduledFor"] + other["durationMinutes"] * MINUTE
        and other["scheduledFor"] < one["scheduledFor"] + one["durationMinutes"] * MINUTE
    ]
    assert overlapping == []
    assert wrong_bookings(served) == []
    assert len(booked) >= 2


# -- verify and repair ----------------------------------------------------------------------------------------------


def day_key(side: str, person: str) -> stored_items.Item:
    return {"userId": {"S": f"BOOKED#{side}#{person}"}, "sk": {"S": "DAY#2030-03-17"}}


@pytest.mark.requirement("CA8")
def test_a_booking_that_is_missing_wrong_or_left_over_is_found_and_repaired(
    staff: httpx.Client, served: Served
) -> None:
    missing, wrong, left, kept = (schedule(staff) for _ in range(4))
    stored_items.ask(served, "DeleteItem", calls, Key=day_key("provider", missing["providerId"]))
    times = {wrong["callId"]: {"L": [{"N": str(NOON)}, {"N": str(NOON + HOUR)}]}}
    stored_items.spoil(served, calls, day_key("user", wrong["userId"]), times={"M": times})
    stored_items.ask(
        served,
        "DeleteItem",
        calls,
        Key={"userId": {"S": left["userId"]}, "sk": {"S": f"{NOON}#{left['callId']}"}},
    )
    expected = {
        f"call {missing['callId']}, provider {missing['providerId']} on 2030-03-17: the time of the call is not booked",
        f"call {wrong['callId']}, user {wrong['userId']} on 2030-03-17: "
        "the booked time differs from the time of the call",
        f"call {left['callId']}, user {left['userId']} on 2030-03-17: "
        "the call is booked at a time that it does not have",
        f"call {left['callId']}, provider {left['providerId']} on 2030-03-17: "
        "the call is booked at a time that it does not have",
    }
    assert set(wrong_bookings(served)) == expected
    repaired = check_bookings(served.runtime.sync_store, repair=True)
    assert {str(finding) for finding in repaired} == {f"{each} (repaired)" for each in expected}
    assert wrong_bookings(served) == []
    body = {"userId": new_id("u"), "providerId": missing["providerId"], "scheduledFor": NOON}
    assert refused(staff.post("/calls", json=body)) == (409, "conflict")
    schedule(staff, userId=left["userId"], providerId=left["providerId"])
    assert staff.get(f"/calls/{kept['callId']}").json() == kept


@pytest.mark.requirement("CA8")
def test_calls_that_clash_already_are_reported_and_left(staff: httpx.Client, served: Served) -> None:
    """As another program may have stored them, which knows of no durations."""
    provider, ids = new_id("p"), [new_id("c"), new_id("c")]
    for number, call_id in enumerate(ids):
        user, when = new_id("u"), NOON + number
        item = {
            "userId": {"S": user},
            "sk": {"S": f"{when:013}#{call_id}"},
            "callId": {"S": call_id},
            "providerId": {"S": provider},
            "status": {"S": "SCHEDULED"},
            "scheduledFor": {"N": str(when)},
            "userStatus": {"S": f"{user}#SCHEDULED"},
        }
        stored_items.ask(served, "PutItem", calls, Item=item)
    store = served.runtime.sync_store
    store.repair(calls, dry_run=False)
    assert len(wrong_bookings(served)) == 4
    found = [finding for finding in check_bookings(store, repair=True) if not finding.is_repaired]
    assert [str(finding).partition(", ")[2] for finding in found] == [
        f"provider {provider} on 2030-03-17: another call has the same time"
    ]
    clashing = [call_id for call_id in ids if call_id in str(found[0])]
    call = staff.get(f"/calls/{clashing[0]}").json()
    # It can be completed as it is, or cancelled, and the clash is gone.
    call = changed(staff, changed(staff, call, "status", status="COMPLETED"), "status", status="SCHEDULED")
    changed(staff, call, "status", status="CANCELLED")
    assert wrong_bookings(served) == []
    assert store.verify(calls).is_clean


def test_what_cannot_be_read_is_reported_and_the_rest_is_checked(staff: httpx.Client, served: Served) -> None:
    call = schedule(staff)
    key = {"userId": {"S": call["userId"]}, "sk": {"S": f"{NOON}#{call['callId']}"}}
    stored_items.spoil(served, calls, key, durationMinutes={"S": "long"})
    try:
        (finding,) = wrong_bookings(served)
        assert finding.endswith("it cannot be read")
        assert "Call " in finding
    finally:
        stored_items.spoil(served, calls, key, durationMinutes={"N": "30"})
    stored_items.spoil(served, calls, day_key("user", call["userId"]), times={"S": "all"})
    try:
        findings = wrong_bookings(served)
        assert [each.split()[0] for each in findings] == ["BookedDay"]
        # Nobody books on a day of which it is not known what is free.
        body = {"userId": call["userId"], "providerId": new_id("p"), "scheduledFor": NOON + HOUR}
        answer = staff.post("/calls", json=body)
        assert refused(answer) == (409, "conflict")
        assert "cannot be read" in answer.json()["detail"]
    finally:
        stored_items.ask(served, "DeleteItem", calls, Key=day_key("user", call["userId"]))
        check_bookings(served.runtime.sync_store, repair=True)


def test_booked_days_are_in_no_index(staff: httpx.Client, served: Served) -> None:
    call = schedule(staff)
    days = [item for item in stored_items.items(served, calls) if item["userId"]["S"].endswith(call["userId"])]
    booked = [item for item in days if item["sk"]["S"].startswith("DAY#")]
    assert len(booked) == 1
    assert not {"callId", "providerId", "userStatus"} & set(booked[0])
    assert BookedDay.schema_.table is Call.schema_.table
