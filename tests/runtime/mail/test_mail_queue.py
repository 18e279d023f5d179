"""A mailbox that accepts nothing now waits alone; what is refused for good can be seen, and sent again."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from tablewright.model import attr
from tablewright.runtime.errors import ResourceNotFound, StateConflict
from tablewright.runtime.mail.event_mail import MailRetries
from tablewright.runtime.mail.mail_records import MailRecord, digest
from tablewright.runtime.mail.mail_transport import SmtpTransport
from tablewright.store import Store, Unavailable
from tests.runtime.mail.mail_process import Office
from tests.runtime.mail_server import MailServer
from tests.systems.dying_backend import Died, Mortal
from tests.systems.harness import wait_for

FULL, FREE, OTHER = "full@example.org", "free@example.org", "other@example.org"
MINUTE = timedelta(minutes=1)


@pytest.fixture
def server() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture
def office(server: MailServer) -> Office:
    return Office(SmtpTransport(server.url))


def subjects(server: MailServer, address: str) -> list[str]:
    return [str(mail.message["Subject"]) for mail in server.to(address)]


@pytest.mark.requirement("TM8")
@pytest.mark.parametrize(
    "answer",
    ["450 4.2.1 Busy", "451 4.7.1 Greylisted", "452 4.2.2 Over quota", "421 4.3.2 Not now", "432 4.7.12 Later", ""],
)
def test_a_mailbox_that_does_not_accept_mail_delays_no_other(office: Office, server: MailServer, answer: str) -> None:
    server.answers[FULL] = answer
    for number in range(1, 4):
        office.tell(number, FULL, FREE)
    assert subjects(server, FREE) == ["No. 1", "No. 2", "No. 3"]
    assert server.to(FULL) == []
    # Those behind the first one were not even tried.
    assert server.asked.count(FULL) == 1
    assert office.counted == ["queued", "sent"] * 3
    del server.answers[FULL]
    office.mailer.retry()
    assert server.to(FULL) == [], "it is not due yet"
    office.now += MINUTE
    office.mailer.retry()
    # In their order.
    assert subjects(server, FULL) == ["No. 1", "No. 2", "No. 3"]
    assert (office.waiting(), office.dead()) == ([], [])
    office.tell(4, FULL)
    assert subjects(server, FULL)[-1] == "No. 4"
    for number in range(1, 5):
        office.tell(number, FULL, FREE)
    assert len(server.to(FULL)) == 4


@pytest.mark.requirement("TM8")
def test_what_is_not_accepted_after_all_waits_as_well(office: Office, server: MailServer) -> None:
    server.answers["DATA"] = "451 4.3.0 Try again"
    office.tell(1, FULL, FREE)
    assert [entry.recipient for entry in office.waiting()] == sorted([digest(FULL), digest(FREE)])
    del server.answers["DATA"]
    office.now += MINUTE
    office.mailer.retry()
    assert len(server.received) == 2


@pytest.mark.requirement("TM8")
def test_a_mailbox_is_tried_less_and_less_often_and_for_a_day(office: Office, server: MailServer) -> None:
    server.answers[FULL] = "452 4.2.2 Over quota"
    office.tell(1, FULL)
    tried = [office.now]
    while not office.dead():
        office.now += MINUTE
        before = len(server.asked)
        office.mailer.retry()
        if len(server.asked) > before:
            tried.append(office.now)
    pauses = [int((after - before) / MINUTE) for before, after in pairwise(tried)]
    assert pauses[:7] == [1, 2, 4, 8, 16, 32, 60]
    assert set(pauses[7:]) == {60}
    assert timedelta(days=1) <= tried[-1] - tried[0] < timedelta(days=1, hours=1)
    assert office.waiting() == []
    record = office.record(1, FULL)
    assert (record.state, record.reason, record.attempts) == ("refused", "452 4.2.2 Over quota", len(tried))


@pytest.mark.requirement("TM8")
def test_what_is_refused_for_good_is_sent_again_by_an_admin(office: Office, server: MailServer) -> None:
    server.answers[FULL] = "550 5.1.1 No such user"
    office.tell(1, FULL, FREE)
    (dead,) = office.dead()
    assert subjects(server, FREE) == ["No. 1"]
    for answer, reason in (
        ("550 5.1.1 No such user", "550 5.1.1 No such user"),
        ("450 4.2.1 Busy", "450 4.2.1 Busy"),
        (f"550 5.1.1 <{FULL.upper()}> unknown", "550 5.1.1 <the recipient> unknown"),
    ):
        server.answers[FULL] = answer
        with pytest.raises(StateConflict, match=f"^the message was not accepted: {re.escape(reason)}$"):
            office.mailer.replay(dead.event_id, dead.recipient)
        assert (office.dead(), office.record(1, FULL).reason) == ([dead], reason)
    server.stop()
    with pytest.raises(Unavailable):
        office.mailer.replay(dead.event_id, dead.recipient)
    server.start()
    # While another request is sending it.
    record = office.record(1, FULL)
    claimed = attr(MailRecord.claimed_until).set(office.now + MINUTE)
    office.store.update(record, attr(MailRecord.state).set("sending"), claimed)
    with pytest.raises(StateConflict, match="another process may be sending this message"):
        office.mailer.replay(dead.event_id, dead.recipient)
    office.now += 2 * MINUTE
    server.answers.clear()
    office.mailer.replay(dead.event_id, dead.recipient)
    assert subjects(server, FULL) == ["No. 1"]
    assert office.dead() == []
    # What was sent is not kept, nor sent once more.
    assert office.record(1, FULL).message is None
    with pytest.raises(ResourceNotFound):
        office.mailer.replay(dead.event_id, dead.recipient)
    with pytest.raises(ResourceNotFound):
        office.mailer.replay("e-1", digest(FREE))
    with pytest.raises(ResourceNotFound):
        office.mailer.replay("", "")
    office.tell(1, FULL, FREE)
    assert len(server.received) == 2


@pytest.mark.requirement("TM8")
def test_a_message_that_is_refused_for_good_keeps_no_other_in_the_queue(office: Office, server: MailServer) -> None:
    server.answers[FULL] = "450 4.2.1 Busy"
    for number in range(1, 4):
        office.tell(number, FULL)
    server.answers = {"DATA": "554 5.6.0 Not this"}
    server.on_asked = lambda: server.answers.clear() if server.asked.count(FULL) == 3 else None
    office.now += MINUTE
    office.mailer.retry()
    assert subjects(server, FULL) == ["No. 2", "No. 3"]
    assert [entry.event_id for entry in office.dead()] == ["e-1"]


@pytest.mark.requirement("TM8")
def test_a_server_that_is_down_does_not_count_as_an_attempt(office: Office, server: MailServer) -> None:
    server.answers[FULL] = "450 4.2.1 Busy"
    office.tell(1, FULL)
    server.stop()
    for _ in range(3):
        office.now += timedelta(hours=2)
        with pytest.raises(Unavailable):
            office.mailer.retry()
    assert [entry.attempts for entry in office.waiting()] == [1]
    server.answers.clear()
    server.start()
    office.mailer.retry()
    assert subjects(server, FULL) == ["No. 1"]


@pytest.mark.requirement("TM8")
def test_mailboxes_are_tried_again_in_the_background(office: Office, server: MailServer) -> None:
    server.answers[FULL] = "450 4.2.1 Busy"
    office.tell(1, FULL, FREE)
    retries = MailRetries(office.mailer, role="notifications", every=0.01)
    retries.start()
    try:
        server.stop()
        office.now += MINUTE
        server.answers.clear()
        server.start()
        wait_for(lambda: len(server.to(FULL)) == 1)
    finally:
        retries.stop()
    assert len(server.received) == 2


@pytest.mark.requirement("TM8")
def test_two_processes_that_try_again_at_once_send_each_message_once(server: MailServer) -> None:
    first = Office(SmtpTransport(server.url))
    server.answers[FULL] = "450 4.2.1 Busy"
    for number in range(1, 6):
        first.tell(number, FULL, OTHER)
    server.answers.clear()
    offices = [Office(SmtpTransport(server.url), first.store) for _ in range(6)]
    first.now = first.now + MINUTE
    for each in offices:
        each.now = first.now
    threads = [threading.Thread(target=each.mailer.retry) for each in offices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    first.mailer.retry()
    assert sorted(subjects(server, FULL)) == [f"No. {number}" for number in range(1, 6)]
    assert first.waiting() == []


# -- crashes ---------------------------------------------------------------------------------------------------------


def dying(office: Office, server: MailServer, last: int | None, after: bool) -> tuple[Office, Mortal]:
    """A process that uses the same database, and dies at one of its requests."""
    mortal = Mortal(office.store.backend, last, after=after)
    other = Office(SmtpTransport(server.url), Store(mortal, clock=lambda: other.now.timestamp()), ensure=False)
    other.now = office.now
    return other, mortal


def in_the_gap(mortal: Mortal, after: bool) -> bool:
    """Whether a process died between the server's acceptance and the record of it."""
    return not after and '"sent"' in str(mortal.requests[-1].body).replace("'", '"')


@pytest.mark.slow
@pytest.mark.requirement("TM8")
def test_a_process_that_dies_while_it_queues_loses_nothing_and_sends_nothing_twice(server: MailServer) -> None:
    def run(last: int | None, after: bool) -> int:
        server.received.clear()
        server.answers[FULL] = "450 4.2.1 Busy"
        server.answers[OTHER] = "550 5.1.1 No such user"
        office = Office(SmtpTransport(server.url))
        other, mortal = dying(office, server, last, after)
        try:
            for number in (1, 2):
                other.tell(number, FULL, OTHER, FREE)
        except Died:
            # The next one begins where the consumer had got to.
            office.now += timedelta(seconds=61)
            for number in (1, 2):
                office.tell(number, FULL, OTHER, FREE)
        assert [entry.event_id for entry in office.waiting()] == ["e-1", "e-2"]
        assert sorted(entry.event_id for entry in office.dead()) == ["e-1", "e-2"]
        server.answers.clear()
        office.now += 2 * MINUTE
        office.mailer.retry()
        for entry in office.dead():
            office.mailer.replay(entry.event_id, entry.recipient)
        assert subjects(server, FULL) == ["No. 1", "No. 2"]
        assert sorted(subjects(server, OTHER)) == ["No. 1", "No. 2"]
        twice = len(server.to(FREE)) - 2
        assert twice == (1 if last is not None and in_the_gap(mortal, after) else 0)
        return len(mortal.requests)

    every_moment(run)


@pytest.mark.slow
@pytest.mark.requirement("TM8")
def test_a_process_that_dies_while_it_tries_again_loses_nothing(server: MailServer) -> None:
    def run(last: int | None, after: bool) -> int:
        server.received.clear()
        server.answers[FULL] = "450 4.2.1 Busy"
        server.answers[OTHER] = "450 4.2.1 Busy"
        server.answers[FREE] = "550 5.1.1 No such user"
        office = Office(SmtpTransport(server.url))
        office.tell(1, FULL, OTHER, FREE)
        office.tell(2, FULL)
        (dead,) = office.dead()
        del server.answers[FULL], server.answers[FREE]
        office.now += MINUTE
        other, mortal = dying(office, server, last, after)
        try:
            other.mailer.retry()
            other.mailer.replay(dead.event_id, dead.recipient)
        except Died:
            office.now += timedelta(seconds=61)
            office.mailer.retry()
            if office.dead():
                office.mailer.replay(dead.event_id, dead.recipient)
        assert [entry.recipient for entry in office.waiting()] == [digest(OTHER)]
        assert office.dead() == []
        server.answers.clear()
        office.now += timedelta(hours=1)
        office.mailer.retry()
        assert office.waiting() == []
        assert subjects(server, OTHER) == ["No. 1"]
        ids = [mail.message_id for mail in server.received]
        assert len(set(ids)) == 4
        assert len(ids) - 4 == (1 if last is not None and in_the_gap(mortal, after) else 0)
        return len(mortal.requests)

    every_moment(run)


def every_moment(run: Any) -> None:
    """With an end at each request, before it takes effect and after; without one it says how many there are."""
    for last in range(run(None, False)):
        for after in (False, True):
            run(last, after)


@pytest.mark.requirement("TM8")
def test_a_process_that_is_alone_tries_again_at_once_what_a_dead_one_was_sending(server: MailServer) -> None:
    office = Office(SmtpTransport(server.url))
    server.answers[FULL] = "450 4.2.1 Busy"
    office.tell(1, FULL)
    server.answers.clear()
    office.now += MINUTE
    other, _ = dying(office, server, 3, False)
    with pytest.raises(Died):
        other.mailer.retry()
    office.mailer.retry()
    assert len(server.to(FULL)) == 1, "it may be alive"
    office.now += timedelta(seconds=1)
    alone = Office(SmtpTransport(server.url), office.store, sole_sender_since=office.now)
    alone.now = office.now
    alone.mailer.retry()
    assert len(server.to(FULL)) == 2
    assert len({mail.message_id for mail in server.received}) == 1
