"""Calls as an iCalendar, read by the rules of RFC 5545."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tablewright.systems.calls.icalendar import icalendar
from tablewright.systems.calls.model import Call, Status
from tests.systems.calls.call_clients import HOUR, NOON, changed, new_id, refused, schedule
from tests.systems.harness import Served

pytestmark = pytest.mark.requirement("AP7")

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def properties(content: str) -> list[tuple[str, str]]:
    """The lines of an iCalendar, unfolded, by name and value."""
    assert content.endswith("\r\n")
    lines = content.replace("\r\n ", "").split("\r\n")[:-1]
    assert not any("\n" in line or "\r" in line for line in lines)
    return [(name, value) for name, _, value in (line.partition(":") for line in lines)]


def call(**fields: Any) -> Call:
    known: dict[str, Any] = {"user_id": "u-1", "call_id": "c-1", "provider_id": "p-1", "scheduled_for": NOW}
    return Call(**{**known, "version": 3, **fields})


def test_a_call_is_an_event_with_its_times_in_utc() -> None:
    found = dict(properties(icalendar([call(duration_minutes=45)], NOW)))
    assert found["DTSTART"] == "20261116T120000Z"
    assert found["DTEND"] == "20261116T124500Z"
    assert (found["UID"], found["SEQUENCE"], found["STATUS"]) == ("c-1", "3", "CONFIRMED")
    assert dict(properties(icalendar([call(status=Status.CANCELLED)], NOW)))["STATUS"] == "CANCELLED"


def test_text_is_escaped_and_long_lines_are_folded_between_characters() -> None:
    name = "a,b;c\\d\r\nEND:VEVENT" + "è" * 90
    content = icalendar([call(provider_id=name)], NOW)
    assert all(len(line.encode()) <= 75 for line in content.split("\r\n"))
    assert [name for name, _ in properties(content)].count("END") == 2
    assert dict(properties(content))["SUMMARY"] == "u-1 with a\\,b\\;c\\\\d\\nEND:VEVENT" + "è" * 90


def test_no_calls_are_a_calendar_without_events() -> None:
    assert [value for name, value in properties(icalendar([], NOW)) if name in ("BEGIN", "END")] == [
        "VCALENDAR",
        "VCALENDAR",
    ]


def test_staff_get_the_calendar_of_a_user_as_it_is_now(staff: httpx.Client) -> None:
    user = new_id("u")
    made = schedule(staff, userId=user)
    changed(staff, made, "schedule", scheduledFor=NOON + HOUR)
    answer = staff.get(f"/users/{user}/calls/calendar.ics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    found = properties(answer.text)
    assert [value for name, value in found if name == "UID"] == [made["callId"]]
    begin = datetime.fromtimestamp((NOON + HOUR) / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    assert ("DTSTART", begin) in found


def test_customers_get_their_own_and_no_other(served: Served, staff: httpx.Client) -> None:
    user, other = new_id("u"), new_id("u")
    made = schedule(staff, userId=user)
    customer = served.client(user, "Customers", path="/calls")
    assert ("UID", made["callId"]) in properties(customer.get(f"/users/{user}/calls/calendar.ics").text)
    assert refused(customer.get(f"/users/{other}/calls/calendar.ics")) == (403, "forbidden")
