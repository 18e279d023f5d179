"""What users write stays in its header: titles, and addresses."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tablewright.runtime.events.event_log import Event
from tablewright.runtime.internal_tables import internal_table
from tablewright.runtime.mail.event_mail import (
    Mailer,
    Message,
    sender_from,
)
from tablewright.runtime.mail.mail_addresses import ADDRESS, is_address
from tablewright.runtime.mail.mail_transport import recipient_of
from tablewright.store import Store

_PARTS = ["=?utf-8?q?", "=?us-ascii?b?", "?=", "=?", "=0d=0a", "=40", "Bcc: x@y.z", "\r\n", "\n", "\r", "\x0b", "\x1c"]
_PARTS += ["\x85", "\u2028", "\u202e", "\0", " ", "\t", "é", "\U0001f600", "a", ",", ":", ";", '"', "<", ">", "x" * 300]
_HEADERS = {"From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version"}
_HEADERS |= {"Content-Type", "Content-Transfer-Encoding"}


class Outbox:
    """A carrier that keeps what it is given."""

    def __init__(self) -> None:
        self.taken: list[EmailMessage] = []

    def send(self, message: EmailMessage) -> None:
        self.taken.append(message)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store.open() as store:
        store.ensure_tables(internal_table)
        yield store


def _sent(store: Store, letter: Message) -> EmailMessage:
    """A letter as it goes out: the message, after a way as bytes."""
    outbox = Outbox()
    now = datetime.now(UTC)
    event = Event(event_id=uuid4().hex, source="s", type="t", at=now, sequence="1", detail={})
    Mailer(store, outbox, sender_from("t@example.org"), clock=lambda: now).send(event, letter)
    (message,) = outbox.taken
    assert recipient_of(message) == letter.recipient
    arrived = message_from_bytes(message.as_bytes(), policy=SMTP)
    assert isinstance(arrived, EmailMessage)
    return arrived


@pytest.mark.parametrize(
    "title",
    [
        "=?utf-8?q?=0d=0aBcc:_evil=40example.org?=",
        "é =?utf-8?q?=0d=0a=0d=0aanother_body?= é",
        "=?us-ascii?b?DQpCY2M6IGV2aWxAZXhhbXBsZS5vcmc=?=",
    ],
)
def test_a_title_that_hides_a_line_in_an_encoded_word_adds_no_header(store: Store, title: str) -> None:
    message = _sent(store, Message("a@example.org", f"Assigned to you: {title}", "text"))
    assert set(message.keys()) == _HEADERS
    assert message.get_content().strip() == "text"


@given(some.lists(some.sampled_from(_PARTS), max_size=8).map("".join))
def test_no_title_adds_a_header_or_ends_them(store: Store, title: str) -> None:
    message = _sent(store, Message("a@example.org", title, "text"))
    assert sorted(message.keys()) == sorted(_HEADERS)
    assert message.get_content().strip() == "text"


@given(some.lists(some.sampled_from([*_PARTS, ".", "\x1b[2J", "\x7f"]), max_size=8).map("".join))
def test_what_controls_something_is_not_in_a_text_and_what_is_seen_stays(store: Store, text: str) -> None:
    """Servers refuse a message with a zero in it, and somebody would get no mail because of it."""
    arrived = _sent(store, Message("a@example.org", "title", f"{text}end")).get_content()
    assert not set(arrived) & {chr(code) for code in (*range(9), 11, 12, *range(14, 32), 127)}
    assert _seen(arrived).replace("\ufffd", "") == _seen(text) + "end"


def _seen(text: str) -> str:
    return "".join(char for char in text if char.isprintable() and not char.isspace())


@given(some.from_regex(ADDRESS, fullmatch=True).filter(is_address))
def test_every_address_that_is_taken_gets_its_mail(store: Store, address: str) -> None:
    message = _sent(store, Message(address, "subject", "text"))
    assert [each.addr_spec for each in message["To"].addresses] == [address]


@pytest.mark.parametrize(
    "address", ["a..b@example.org", ".a@example.org", "a.@example.org", "=?utf-8?q?a=40b=2C?=@example.org", "@b", "a@"]
)
def test_what_cannot_stand_in_a_header_is_no_address(address: str) -> None:
    assert not is_address(address)
