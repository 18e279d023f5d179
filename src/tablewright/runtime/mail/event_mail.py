"""Mail because of events: once for each event and recipient.

    event ──▶ each of its messages: claim (a record: sending) ──▶ transport ──▶ record: sent
          ──▶ record: completed, in the same transaction as the consumer's checkpoint

A process that finds the record ``sent`` sends nothing. One that finds a claim waits until it expires: its owner may be
alive. So a message is sent twice only if a process dies, or the server's response is lost, between the server's
acceptance and the record; both then have the same Message-ID, which is derived from the event and the recipient.

A transport that is unavailable makes the consumer wait (``Unavailable``). A message that is refused permanently is
recorded as refused, and mail goes on. If a single mailbox accepts nothing for a long time, the event becomes a dead
letter once all other recipients have got theirs; replaying it sends that message.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import format_datetime
from hashlib import sha256
from typing import Annotated, Any, Literal

from tablewright.model import Entity, EpochMillis, EpochSeconds, Expiry, Get, Keys
from tablewright.runtime.events.event_log import KEPT_FOR, Event
from tablewright.runtime.internal_tables import internal_table
from tablewright.runtime.mail.mail_transport import SENT_WITHIN, Deferred, MailRefused, Transport
from tablewright.store import AlreadyExists, ConditionFailed, Effects, NotFound, Put, Store, Unavailable

# What other packages use.
__all__ = [
    "ADDRESS",
    "MAX_ADDRESS_LENGTH",
    "DeadLettered",
    "is_address",
]

# An address that can stand in a header as it is: words and dots between them, no comments, no quotes, no lists, nothing
# outside of ASCII; and no question mark, so that nothing can be taken for an encoded word.
_WORD = r"[A-Za-z0-9!#$%&'*+/=^_`{|}~-]+"
ADDRESS = rf"^{_WORD}(\.{_WORD})*@[A-Za-z0-9-]{{1,63}}(\.[A-Za-z0-9-]{{1,63}})*$"
MAX_ADDRESS_LENGTH = 254

# No message may have them, and servers refuse one that does.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

# Twice as long as a message may take, because clocks differ.
_CLAIM_LASTS = timedelta(seconds=2 * SENT_WITHIN)
_MAX_SUBJECT_LENGTH = 200
# A line of mail has 998 characters at most, with the name of the header.
_MAX_LINK_LENGTH = 970
# How long all mail waits for one mailbox: longer than greylisting takes.
_WAITS_FOR_MAILBOX = timedelta(minutes=30)

_log = logging.getLogger(__name__)


class _UnfoldedLinks(EmailPolicy):
    """Mail whose links are on one line: a long word would be folded to encoded words, which are no link."""

    def fold(self, name: str, value: Any) -> str:
        if name == _LIST_UNSUBSCRIBE:
            return f"{name}: {value}{self.linesep}"
        return str(super().fold(name, value))

    def fold_binary(self, name: str, value: Any) -> bytes:
        if name == _LIST_UNSUBSCRIBE:
            return self.fold(name, value).encode("ascii")
        return super().fold_binary(name, value)


_LIST_UNSUBSCRIBE = "List-Unsubscribe"
_POLICY = _UnfoldedLinks(linesep="\r\n")


class DeadLettered(Exception):
    """A mailbox has not accepted a message for so long that others no longer wait: its event becomes a dead letter."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to one recipient."""

    recipient: str
    subject: str
    text: str
    # The address by which the recipient unsubscribes with one click (RFC 8058).
    unsubscribe_url: str | None = None


class MailRecord(Entity, table=internal_table):
    """The record of a message: being sent, sent, or refused."""

    event_id: str
    # A digest, as addresses are personal data.
    recipient: str
    state: Literal["sending", "sent", "refused"] = "sending"
    claimed_until: EpochMillis
    # Why it was refused: the server's code.
    reason: str | None = None
    ttl: Annotated[EpochSeconds | None, Expiry(KEPT_FOR)] = None

    keys = Keys(PK="MAIL#{event_id}", SK="TO#{recipient}")

    by_recipient = Get(consistent=True)


class MailCompleted(Entity, table=internal_table):
    """A record: all messages about an event have been sent."""

    event_id: str
    ttl: Annotated[EpochSeconds | None, Expiry(KEPT_FOR)] = None

    keys = Keys(PK="MAIL#{event_id}", SK="COMPLETED")

    by_event = Get(consistent=True)


class Mailer:
    """Sends messages about events, each once."""

    def __init__(
        self,
        store: Store,
        transport: Transport,
        sender: Address,
        *,
        count: Callable[[str], Any] = lambda outcome: None,
        clock: Callable[[], datetime],
        sole_sender_since: datetime | None = None,
    ) -> None:
        """``clock`` gives the time with its zone; ``count`` is called with each outcome: sent, refused, repeated.

        ``sole_sender_since`` is when this process became the only one that can be sending: the owners of earlier claims
        are dead, so that those need not expire first.
        """
        self._store = store
        self._transport = transport
        self._sender = sender
        self._count = count
        self._clock = clock
        self._dead_until = None if sole_sender_since is None else sole_sender_since + _CLAIM_LASTS

    def send_all(self, event: Event, messages: Iterable[Message], effects: Effects) -> None:
        """Send all messages about an event, unless that has been done; ``messages`` is not iterated then.

        So a repeated event reaches nobody new, such as a user who was not active when it happened.
        """
        if self._store.get(MailCompleted.by_event(event_id=event.event_id)) is not None:
            self._count("repeated")
            return
        undelivered: DeadLettered | None = None
        for message in messages:
            try:
                self.send(event, message)
            except DeadLettered as error:
                undelivered = error
        if undelivered is not None:
            raise undelivered
        effects.do(Put(MailCompleted(event_id=event.event_id)))

    def send(self, event: Event, message: Message) -> None:
        """Send a message, unless it was sent."""
        recipient = digest(message.recipient)
        mail = self._compose(event, message, recipient) if is_address(message.recipient) else None
        claim = self._claim(event, recipient)
        if claim is None:
            self._count("repeated")
            return
        try:
            if mail is None:
                raise MailRefused("no address")
            self._transport.send(mail)
        except MailRefused as refusal:
            self._store.update(claim, state="refused", reason=str(refusal))
            self._count("refused")
            _log.warning("mail was refused", extra={"event_id": event.event_id, "code": str(refusal)})
        except Exception as error:
            # It was not accepted, as far as is known: the next try need not wait for the claim to expire.
            self._store.update(claim, claimed_until=self._clock())
            if isinstance(error, Deferred) and self._clock() - event.at > _WAITS_FOR_MAILBOX:
                raise DeadLettered(str(error)) from error
            raise
        else:
            self._store.update(claim, state="sent")
            self._count("sent")

    def _claim(self, event: Event, recipient: str) -> MailRecord | None:
        """Claim the right to send; None if the message has been sent or refused."""
        until = self._clock() + _CLAIM_LASTS
        try:
            return self._store.create(MailRecord(event_id=event.event_id, recipient=recipient, claimed_until=until))
        except AlreadyExists:
            found = self._store.get(MailRecord.by_recipient(event_id=event.event_id, recipient=recipient))
        if found is not None and found.state != "sending":
            return None
        if found is None or self._may_be_alive(found):
            raise Unavailable("another process may be sending this message")
        try:
            expected = {"state": "sending", "claimed_until": found.claimed_until}
            return self._store.update(found, claimed_until=until, expect=expected)
        except (ConditionFailed, NotFound):
            raise Unavailable("another process has begun to send this message") from None

    def _may_be_alive(self, claim: MailRecord) -> bool:
        """Whether the owner of a claim may still be sending."""
        if self._dead_until is not None and claim.claimed_until < self._dead_until:
            return False
        return claim.claimed_until > self._clock()

    def _compose(self, event: Event, message: Message, recipient: str) -> EmailMessage:
        mail = EmailMessage(policy=_POLICY)
        mail["From"] = self._sender
        mail["To"] = Address(addr_spec=message.recipient)
        mail["Subject"] = _line(message.subject)
        mail["Date"] = format_datetime(event.at)
        mail["Message-ID"] = f"<{event.event_id}.{recipient}@{self._sender.domain}>"
        if message.unsubscribe_url is not None and len(message.unsubscribe_url) <= _MAX_LINK_LENGTH:
            mail[_LIST_UNSUBSCRIBE] = f"<{message.unsubscribe_url}>"
            mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        # So that no out-of-office reply is sent.
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(_CONTROLS.sub("\ufffd", message.text))
        return mail


def sender_from(text: str) -> Address:
    """Parse the setting ``mail_from``; ValueError if it is not an address."""
    name, _, address = text[:-1].rpartition("<") if text.endswith(">") else ("", "", text)
    if not is_address(address):
        raise ValueError("give the sender of mail as an address: tasks@example.org, or Tasks <tasks@example.org>")
    return Address(_line(name), addr_spec=address)


def is_address(text: str) -> bool:
    return len(text) <= MAX_ADDRESS_LENGTH and re.fullmatch(ADDRESS, text) is not None


def digest(recipient: str) -> str:
    """Stands for a recipient in the record of a delivery."""
    return sha256(recipient.strip().lower().encode()).hexdigest()[:32]


def _line(text: str) -> str:
    """A text that is safe in a header: one line, printable characters only.

    And no encoded word (``=?utf-8?q?...?=``), which would be decoded when the header is written, with any line in it.
    """
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split()).replace("=?", "= ?")
    return line if len(line) <= _MAX_SUBJECT_LENGTH else line[: _MAX_SUBJECT_LENGTH - 1] + "…"
