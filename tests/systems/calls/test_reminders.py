"""Reminders of calls, received by a mail server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest

from tablewright.systems import load
from tablewright.systems.calls.model import Reminder
from tablewright.systems.calls.reminders import ReminderTurns
from tests.runtime.mail_server import MailServer
from tests.systems.calls.call_clients import changed, new_id, put, schedule
from tests.systems.harness import Served, serving, wait_for

pytestmark = pytest.mark.requirement("AP7")


@pytest.fixture(scope="module")
def mail() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture(scope="module", params=["embedded", pytest.param("own_server", marks=pytest.mark.slow)])
def served(
    request: pytest.FixtureRequest, mail: MailServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    settings: dict[str, object] = {"data": tmp_path_factory.mktemp("calls"), "smtp_url": mail.url}
    if request.param != "embedded":
        settings["endpoint"] = request.getfixturevalue(f"{request.param}_url")
    with serving(load("calls"), mail_from="Calls <calls@example.org>", **settings) as served:
        yield served


@pytest.fixture
def user() -> str:
    return new_id("u")


def follow(staff: httpx.Client, user: str, minutes: int | None = 60) -> str:
    """Have a user reminded; the address."""
    address = f"{user}@example.org"
    body = {"email": None if minutes is None else address, "remindMinutes": minutes}
    answer = staff.put(f"/users/{user}/calendar", json=body)
    assert answer.status_code == 200, answer.text
    return address


def in_minutes(served: Served, minutes: int) -> int:
    return int((served.runtime.now() + timedelta(minutes=minutes)).timestamp() * 1000)


def noted(served: Served, call_id: str) -> list[Reminder]:
    """The reminders of a call that wait."""
    now = served.runtime.now()
    waiting = Reminder.due_between(since=now - timedelta(days=1), until=now + timedelta(days=1))
    return [each for each in served.runtime.sync_store.iterate(waiting) if each.reminded_call == call_id]


def turn(served: Served) -> None:
    ReminderTurns(served.runtime.consumer_store, served.runtime.now).turn()


def test_a_user_is_reminded_once_when_it_is_due(
    served: Served, staff: httpx.Client, mail: MailServer, user: str
) -> None:
    address = follow(staff, user)
    call = schedule(staff, userId=user, scheduledFor=in_minutes(served, 120))
    wait_for(lambda: noted(served, call["callId"]))
    turn(served)
    assert noted(served, call["callId"])
    served.clock.advance(61 * 60)
    # As many processes as there may be.
    threads = [threading.Thread(target=turn, args=(served,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (letter,) = wait_for(lambda: mail.to(address))
    assert letter.message["From"] == "Calls <calls@example.org>"
    assert str(letter.message["Subject"]).startswith(f"Your call with {call['providerId']}: ")
    assert call["callId"] in letter.text
    assert "30 minutes" in letter.text
    assert noted(served, call["callId"]) == []
    turn(served)
    last(served, staff, mail)
    assert len(mail.to(address)) == 1


def last(served: Served, staff: httpx.Client, mail: MailServer) -> None:
    """Wait until all mail that comes has come: one more is behind it."""
    user = new_id("last")
    address = follow(staff, user)
    call = schedule(staff, userId=user, scheduledFor=in_minutes(served, 30))
    wait_for(lambda: noted(served, call["callId"]))
    turn(served)
    wait_for(lambda: mail.to(address))


def test_a_call_that_was_moved_cancelled_or_given_away_reminds_at_its_new_time_alone(
    served: Served, staff: httpx.Client, mail: MailServer, user: str
) -> None:
    address = follow(staff, user)
    moved, cancelled, given = (
        schedule(staff, userId=user, scheduledFor=in_minutes(served, minutes)) for minutes in (90, 150, 210)
    )
    wait_for(lambda: all(noted(served, call["callId"]) for call in (moved, cancelled, given)))
    changed(staff, moved, "schedule", scheduledFor=in_minutes(served, 400))
    changed(staff, cancelled, "status", status="CANCELLED")
    changed(staff, given, "user", userId=new_id("u"))
    wait_for(lambda: len(noted(served, moved["callId"])) == 2)
    served.clock.advance(300 * 60)
    turn(served)
    last(served, staff, mail)
    assert mail.to(address) == []
    assert len(noted(served, moved["callId"])) == 1
    served.clock.advance(45 * 60)
    turn(served)
    (letter,) = wait_for(lambda: mail.to(address))
    assert moved["callId"] in letter.text


def test_existing_calls_get_reminders_until_they_are_turned_off(
    served: Served, staff: httpx.Client, mail: MailServer, user: str
) -> None:
    first = schedule(staff, userId=user, scheduledFor=in_minutes(served, 30))
    second = schedule(staff, userId=user, scheduledFor=in_minutes(served, 300))
    address = follow(staff, user)
    wait_for(lambda: noted(served, first["callId"]) and noted(served, second["callId"]))
    # That was due half an hour ago, so it is sent at once.
    turn(served)
    (letter,) = wait_for(lambda: mail.to(address))
    assert first["callId"] in letter.text
    follow(staff, user, None)
    served.clock.advance(270 * 60)
    turn(served)
    last(served, staff, mail)
    assert len(mail.to(address)) == 1
    assert noted(served, second["callId"]) == []


def test_who_changes_their_mind_twice_is_reminded_once(
    served: Served, staff: httpx.Client, mail: MailServer, user: str
) -> None:
    address = follow(staff, user)
    call = schedule(staff, userId=user, scheduledFor=in_minutes(served, 30))
    wait_for(lambda: noted(served, call["callId"]))
    turn(served)
    wait_for(lambda: mail.to(address))
    follow(staff, user, None)
    follow(staff, user)
    wait_for(lambda: noted(served, call["callId"]))
    turn(served)
    assert noted(served, call["callId"]) == []
    last(served, staff, mail)
    assert len(mail.to(address)) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"email": "ada@example.org", "remindMinutes": None},
        {"email": None, "remindMinutes": 60},
        {"email": "nobody", "remindMinutes": 60},
        {"email": "ada@example.org", "remindMinutes": 4},
        {"email": "ada@example.org", "remindMinutes": 10_081},
        {"email": "ada@example.org"},
    ],
)
def test_what_cannot_be_is_refused(staff: httpx.Client, user: str, body: dict[str, object]) -> None:
    assert staff.put(f"/users/{user}/calendar", json=body).status_code in (400, 422)
    assert staff.get(f"/users/{user}/calendar").json()["email"] is None


def test_settings_are_changed_by_who_has_seen_them(staff: httpx.Client, user: str) -> None:
    tag = staff.get(f"/users/{user}/calendar").headers["ETag"]
    follow(staff, user)
    body = {"email": None, "remindMinutes": None}
    answer = staff.put(f"/users/{user}/calendar", json=body, headers={"If-Match": tag})
    assert answer.status_code == 412
    tag = staff.get(f"/users/{user}/calendar").headers["ETag"]
    assert staff.put(f"/users/{user}/calendar", json=body, headers={"If-Match": tag}).status_code == 200


def test_reminders_and_calendars_belong_to_their_user_alone(served: Served, staff: httpx.Client, user: str) -> None:
    own, other = (served.client(name, "Customers", path="/calls") for name in (user, new_id("u")))
    assert put_reminders(own, user).status_code == 200
    assert put_reminders(other, user).status_code == 403
    assert other.get(f"/users/{user}/calendar").status_code == 403
    assert other.post(f"/users/{user}/calendar/address").status_code == 403
    assert other.delete(f"/users/{user}/calendar/address").status_code == 403


def put_reminders(client: httpx.Client, user: str) -> httpx.Response:
    return client.put(f"/users/{user}/calendar", json={"email": f"{user}@example.org", "remindMinutes": 30})


def test_a_calendar_has_a_secret_address_until_it_gets_another(served: Served, staff: httpx.Client, user: str) -> None:
    call = schedule(staff, userId=user, scheduledFor=in_minutes(served, 600))
    addresses = [staff.post(f"/users/{user}/calendar/address").json()["url"] for _ in range(2)]
    paths = [httpx.URL(address).path for address in addresses]
    nobody = served.client()
    assert nobody.get(paths[0]).status_code == 404
    answer = nobody.get(paths[1])
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/calendar; charset=utf-8"
    assert call["callId"] in answer.text
    # It is of this user alone, and a guess is none.
    assert nobody.get(paths[1].replace(user, new_id("u"))).status_code == 404
    guess = f"{paths[1][:-5]}{'A' if paths[1][-5] != 'A' else 'B'}.ics"
    assert nobody.get(guess).status_code == 404
    assert staff.get(f"/users/{user}/calendar").json()["hasAddress"] is True
    assert addresses[1].rpartition("/")[2].removesuffix(".ics") not in staff.get(f"/users/{user}/calendar").text
    assert staff.delete(f"/users/{user}/calendar/address").status_code == 204
    assert nobody.get(paths[1]).status_code == 404
    assert put(staff, call, "status", status="COMPLETED").status_code == 200
