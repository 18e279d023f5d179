"""Mail because of events: once for each event and recipient.

    event ──▶ its letters, each: claim (a record that says: being sent) ──▶ the carrier ──▶ record: sent
          ──▶ record: settled, together with the consumer's place in the stream

Whoever finds a record that says ``sent`` sends nothing. Whoever finds a claim waits until it runs out: its owner may be
at work, or dead. So a message can go out twice only when a process dies, or the server's answer is lost, between the
server's acceptance and the record; and then both have the same Message-ID, which is made from the event and the
recipient.

A carrier that cannot take mail makes the consumer wait (``Unavailable``). A message that is refused for good is
recorded as refused, and mail goes on. One that a single mailbox does not take for a long time is put aside with its
event as a dead letter, once all other recipients have got theirs; it goes out when that is handled again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from hashlib import sha256
from typing import Annotated, Any, Literal

from tablewright.model import Entity, EpochMillis, EpochSeconds, Expiry, Get, Keys
from tablewright.runtime.events.event_log import KEPT_FOR, Event
from tablewright.runtime.internal_tables import notes_table
from tablewright.runtime.mail.mail_transport import SENT_WITHIN, Carrier, Deferred, Refused
from tablewright.store import AlreadyExists, ConditionFailed, Effects, NotFound, Put, Store, Unavailable

# An address that can stand in a header as it is: words and dots between them, no comments, no quotes, no lists, nothing
# outside of ASCII; and no question mark, so that nothing can be taken for an encoded word.
_WORD = r"[A-Za-z0-9!#$%&'*+/=^_`{|}~-]+"
ADDRESS = rf"^{_WORD}(\.{_WORD})*@[A-Za-z0-9-]{{1,63}}(\.[A-Za-z0-9-]{{1,63}})*$"
LONGEST_ADDRESS = 254

# No message may have them, and servers refuse one that does.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

# Twice as long as a message may take, because clocks differ.
_CLAIM_LASTS = timedelta(seconds=2 * SENT_WITHIN)
_LONGEST_SUBJECT = 200
# How long all mail waits for one mailbox: longer than a server takes to trust a new sender.
_WAITS_FOR_MAILBOX = timedelta(minutes=30)

_log = logging.getLogger(__name__)


class PutAside(Exception):
    """A mailbox has not taken a message for so long that others need not wait for it."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message to one recipient."""

    recipient: str
    subject: str
    text: str


class Delivery(Entity, table=notes_table):
    """What became of a message."""

    event_id: str
    # A digest: whom mail went to is nobody's business but the mail server's.
    recipient: str
    state: Literal["sending", "sent", "refused"] = "sending"
    claimed_until: EpochMillis
    # Why it was refused: the server's code.
    reason: str | None = None
    ttl: Annotated[EpochSeconds | None, Expiry(KEPT_FOR)] = None

    keys = Keys(PK="MAIL#{event_id}", SK="TO#{recipient}")

    by_recipient = Get(consistent=True)


class Settled(Entity, table=notes_table):
    """That all letters about an event have been sent."""

    event_id: str
    ttl: Annotated[EpochSeconds | None, Expiry(KEPT_FOR)] = None

    keys = Keys(PK="MAIL#{event_id}", SK="SETTLED")

    by_event = Get(consistent=True)


class Mailer:
    """Sends letters about events, each once."""

    def __init__(
        self,
        store: Store,
        carrier: Carrier,
        sender: Address,
        *,
        count: Callable[[str], Any] = lambda outcome: None,
        clock: Callable[[], datetime],
        alone_since: datetime | None = None,
    ) -> None:
        """``clock`` gives the time with its zone; ``count`` is told of sent, refused, repeated.

        ``alone_since`` is when this process became the only one that can be sending: claims from before are of dead
        ones, and need not run out.
        """
        self._store = store
        self._carrier = carrier
        self._sender = sender
        self._count = count
        self._clock = clock
        self._dead_until = None if alone_since is None else alone_since + _CLAIM_LASTS

    def settle(self, event: Event, letters: Iterable[Letter], effects: Effects) -> None:
        """Send all letters about an event, unless that has been done; they are not even asked for then.

        So an event that comes again reaches nobody new, such as a user who was not active when it happened.
        """
        if self._store.get(Settled.by_event(event_id=event.event_id)) is not None:
            self._count("repeated")
            return
        put_aside: PutAside | None = None
        for letter in letters:
            try:
                self.send(event, letter)
            except PutAside as error:
                put_aside = error
        if put_aside is not None:
            raise put_aside
        effects.do(Put(Settled(event_id=event.event_id)))

    def send(self, event: Event, letter: Letter) -> None:
        """Send a letter, unless it was sent."""
        recipient = digest(letter.recipient)
        message = self._message(event, letter, recipient) if is_address(letter.recipient) else None
        claim = self._claim(event, recipient)
        if claim is None:
            self._count("repeated")
            return
        try:
            if message is None:
                raise Refused("no address")
            self._carrier.send(message)
        except Refused as refusal:
            self._store.update(claim, state="refused", reason=str(refusal))
            self._count("refused")
            _log.warning("mail was refused", extra={"event_id": event.event_id, "code": str(refusal)})
        except Exception as error:
            # It was not taken, as far as is known: the next try need not wait for the claim to run out.
            self._store.update(claim, claimed_until=self._clock())
            if isinstance(error, Deferred) and self._clock() - event.at > _WAITS_FOR_MAILBOX:
                raise PutAside(str(error)) from error
            raise
        else:
            self._store.update(claim, state="sent")
            self._count("sent")

    def _claim(self, event: Event, recipient: str) -> Delivery | None:
        """The right to send; None if that has been done."""
        until = self._clock() + _CLAIM_LASTS
        try:
            return self._store.create(Delivery(event_id=event.event_id, recipient=recipient, claimed_until=until))
        except AlreadyExists:
            found = self._store.get(Delivery.by_recipient(event_id=event.event_id, recipient=recipient))
        if found is not None and found.state != "sending":
            return None
        if found is None or self._may_be_alive(found):
            raise Unavailable("another process may be sending this message")
        try:
            expected = {"state": "sending", "claimed_until": found.claimed_until}
            return self._store.update(found, claimed_until=until, expect=expected)
        except (ConditionFailed, NotFound):
            raise Unavailable("another process has begun to send this message") from None

    def _may_be_alive(self, claim: Delivery) -> bool:
        """Whether somebody may be sending under a claim."""
        if self._dead_until is not None and claim.claimed_until < self._dead_until:
            return False
        return claim.claimed_until > self._clock()

    def _message(self, event: Event, letter: Letter, recipient: str) -> EmailMessage:
        message = EmailMessage(policy=SMTP)
        message["From"] = self._sender
        message["To"] = Address(addr_spec=letter.recipient)
        message["Subject"] = _line(letter.subject)
        message["Date"] = format_datetime(event.at)
        message["Message-ID"] = f"<{event.event_id}.{recipient}@{self._sender.domain}>"
        # So that nobody's notice of absence answers it.
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(_CONTROLS.sub("\ufffd", letter.text))
        return message


def sender_from(text: str) -> Address:
    """A sender as it is set; ValueError if it is none."""
    name, _, address = text[:-1].rpartition("<") if text.endswith(">") else ("", "", text)
    if not is_address(address):
        raise ValueError("the sender of mail is an address: tasks@example.org, or Tasks <tasks@example.org>")
    return Address(_line(name), addr_spec=address)


def is_address(text: str) -> bool:
    return len(text) <= LONGEST_ADDRESS and re.fullmatch(ADDRESS, text) is not None


def digest(recipient: str) -> str:
    """What stands for a recipient in the record of a delivery."""
    return sha256(recipient.strip().lower().encode()).hexdigest()[:32]


def _line(text: str) -> str:
    """A text that fits into a header: one line, nothing that cannot be seen.

    And no encoded word (``=?utf-8?q?...?=``), which would be decoded when the header is written, with any line in it.
    """
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split()).replace("=?", "= ?")
    return line if len(line) <= _LONGEST_SUBJECT else line[: _LONGEST_SUBJECT - 1] + "…"
