"""Mail because of events: once for each event and recipient.

    event ──▶ each of its messages: claim ──▶ transport ──▶ record: sent
                                                │ the mailbox does not accept it now: queued, tried again
                                                └ refused for good: a dead letter
          ──▶ record: completed, in the same transaction as the consumer's checkpoint

A process that finds the record ``sent`` sends nothing. One that finds a claim waits until it expires, as its owner may
be alive. So a message is sent twice only if a process dies, or the server's response is lost, between the server's
acceptance and the record; both then have the same Message-ID, which is derived from the event and the recipient.

A transport that is unavailable makes the consumer wait (``Unavailable``). A mailbox delays only itself: its messages
are queued in the order of their events, and retried after a minute, two, four, up to an hour (``MailRetries``). A
message that is permanently refused, or not accepted for a day, becomes a dead letter, which an admin can see and send
again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import format_datetime
from itertools import chain, groupby
from typing import Any

from tablewright.model import FieldChange, FieldCondition, attr
from tablewright.runtime.background.periodic_thread import PeriodicThread
from tablewright.runtime.errors import ResourceNotFound, StateConflict
from tablewright.runtime.events.event_log import Event
from tablewright.runtime.mail.mail_addresses import can_stand_in_header, is_address
from tablewright.runtime.mail.mail_records import (
    DeadMail,
    MailCompleted,
    MailRecord,
    MailState,
    QueuedMail,
    StoredMessage,
    digest,
    queued,
)
from tablewright.runtime.mail.mail_transport import SENT_WITHIN, Deferred, MailRefused, Transport
from tablewright.store import (
    AlreadyExists,
    Cancelled,
    ConditionFailed,
    Delete,
    Effects,
    NotFound,
    Operation,
    Put,
    Store,
    Unavailable,
    Update,
)

# What other packages use.
__all__ = [
    "DeadLettered",
    "MailRecord",
    "MailRetries",
    "digest",
]


# No message may have them, and servers refuse one that does.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

# Twice as long as a message may take, because clocks differ.
_CLAIM_LASTS = timedelta(seconds=2 * SENT_WITHIN)
_MAX_SUBJECT_LENGTH = 200
# A line of mail has 998 characters at most, with the name of the header.
_MAX_LINK_LENGTH = 970
# When a mailbox that did not accept a message is tried again: after so long, then twice as long, and so on.
_FIRST_RETRY = timedelta(minutes=1)
_LAST_RETRY = timedelta(hours=1)
# For how long a message waits for its mailbox.
_WAITS_FOR_MAILBOX = timedelta(days=1)
# How often the queue is looked at, in seconds.
_RETRY_EVERY = 1.0

_SENT = (attr(MailRecord.state).set("sent"), attr(MailRecord.message).set(None), attr(MailRecord.reason).set(None))

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
    """A mailbox has not accepted a message for so long that retries end; the text is its last response."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to one recipient."""

    recipient: str
    subject: str
    text: str
    # The address by which the recipient unsubscribes with one click (RFC 8058).
    unsubscribe_url: str | None = None


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
        """``clock`` returns the time with its zone; ``count`` is called with sent, queued, refused or repeated.

        ``sole_sender_since`` is when this process became the only possible sender: the owners of earlier claims are
        dead, so those need not expire first.
        """
        self._store = store
        self._transport = transport
        self._sender = sender
        self._count = count
        self._clock = clock
        self._dead_until = None if sole_sender_since is None else sole_sender_since + _CLAIM_LASTS

    def on(self, store: Store) -> Mailer:
        """The same mailer with its records in another store, such as one with other credentials."""
        mailer = copy(self)
        mailer._store = store
        return mailer

    # -- messages about an event --------------------------------------------------------------------------------

    def send_all(self, event: Event, messages: Iterable[Message], effects: Effects) -> None:
        """Send all messages about an event, unless that has been done; ``messages`` is not iterated then.

        So a repeated event reaches no new recipients, such as a user who was not active when it happened. A message
        whose mailbox does not accept it is queued; one that is permanently refused becomes a dead letter.
        """
        if self._store.get(MailCompleted.by_event(event.event_id)) is not None:
            self._count("repeated")
            return
        for message in messages:
            self._send_or_queue(event, message)
        effects.do(Put(MailCompleted(event_id=event.event_id)))

    def _send_or_queue(self, event: Event, message: Message) -> None:
        stored = _stored(event, message)
        claim = self._claim(event.event_id, digest(stored.address))
        if claim is None:
            self._count("repeated")
            return
        now = self._clock()
        if self._store.query(QueuedMail.waiting(claim.recipient), limit=1).items:
            # In the order of events: what came before is still waiting.
            self._settle(claim, _waits(stored), Put(queued(claim, event, now, now, 0)))
            self._count("queued")
            return
        try:
            self._transmit(claim, stored)
        except MailRefused as refusal:
            self._bury(claim, stored, str(refusal), 1)
        except Deferred as error:
            place = queued(claim, event, now, now + _pause(1), 1)
            self._settle(claim, [*_waits(stored), attr(MailRecord.reason).set(str(error))], Put(place))
            self._count("queued")
        else:
            self._store.update(claim, attr(MailRecord.state).set("sent"))
            self._count("sent")

    def send(self, event: Event, message: Message) -> None:
        """Send a message now, unless it was sent, for a caller that handles retries and refusals itself.

        Raises Deferred if the mailbox does not accept it now, DeadLettered if that is still the case a day after the
        event; a permanent refusal is only in its record.
        """
        stored = _stored(event, message)
        claim = self._claim(event.event_id, digest(stored.address))
        if claim is None:
            self._count("repeated")
            return
        try:
            self._transmit(claim, stored)
        except MailRefused as refusal:
            self._store.update(claim, attr(MailRecord.state).set("refused"), attr(MailRecord.reason).set(str(refusal)))
            self._refused(claim, str(refusal))
        except Deferred as error:
            self._store.update(claim, attr(MailRecord.claimed_until).set(self._clock()))
            if self._clock() - event.at >= _WAITS_FOR_MAILBOX:
                raise DeadLettered(str(error)) from error
            raise
        else:
            self._store.update(claim, attr(MailRecord.state).set("sent"))
            self._count("sent")

    # -- the queue ----------------------------------------------------------------------------------------------

    def retry(self, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Try every mailbox that is due: its messages in order, until it does not accept one."""
        now = self._clock()
        for _, entries in groupby(self._store.iterate(QueuedMail.waiting()), lambda entry: entry.recipient):
            first = next(entries)
            if first.next_at > now:
                continue
            for entry in chain([first], entries):
                if is_stopped():
                    return
                if not self._retry(entry):
                    break

    def _retry(self, entry: QueuedMail) -> bool:
        """Try a message that waits; whether those behind it may be tried."""
        record = self._store.get(MailRecord.by_recipient(entry.event_id, entry.recipient))
        if record is None or record.message is None or record.state in ("sent", "refused"):
            self._store.delete(entry)
            return True
        try:
            claim = self._take(record)
        except Unavailable:
            # Another process is at it.
            return False
        try:
            self._transmit(claim, record.message, state="queued")
        except MailRefused as refusal:
            self._bury(claim, record.message, str(refusal), entry.attempts + 1, Delete(entry))
        except Deferred as error:
            now, attempts = self._clock(), entry.attempts + 1
            if now - entry.since >= _WAITS_FOR_MAILBOX:
                self._bury(claim, record.message, str(error), attempts, Delete(entry))
                return True
            later = Update(
                entry, attr(QueuedMail.attempts).set(attempts), attr(QueuedMail.next_at).set(now + _pause(attempts))
            )
            waits = [attr(MailRecord.state).set("queued"), attr(MailRecord.reason).set(str(error))]
            self._settle(claim, waits, later)
            return False
        else:
            self._settle(claim, _SENT, Delete(entry))
            self._count("sent")
        return True

    # -- dead letters -------------------------------------------------------------------------------------------

    def replay(self, event_id: str, recipient: str) -> None:
        """Send a dead letter again; StateConflict says why it failed."""
        record = self._store.get(MailRecord.by_recipient(event_id, recipient))
        if record is None or record.failed_at is None or record.message is None or record.state == "sent":
            raise ResourceNotFound(f"there is no dead letter {event_id}.{recipient}")
        try:
            claim = self._take(record)
        except Unavailable as error:
            raise StateConflict(f"{error}; check whether it is still a dead letter") from error
        place = DeadMail(failed_at=record.failed_at, event_id=event_id, recipient=recipient)
        try:
            self._transmit(claim, record.message, state="refused")
        except (MailRefused, Deferred) as error:
            refused = [
                attr(MailRecord.state).set("refused"),
                attr(MailRecord.reason).set(str(error)),
                attr(MailRecord.attempts).set(record.attempts + 1),
            ]
            self._settle(claim, refused)
            raise StateConflict(f"the message was not accepted: {error}") from error
        self._settle(claim, [*_SENT, attr(MailRecord.failed_at).set(None)], Delete(place))
        self._count("sent")

    def _bury(self, claim: MailRecord, stored: StoredMessage, reason: str, attempts: int, *others: Operation) -> None:
        """Make a message a dead letter."""
        now = self._clock()
        place = DeadMail(failed_at=now, event_id=claim.event_id, recipient=claim.recipient)
        refused = [
            attr(MailRecord.state).set("refused"),
            attr(MailRecord.reason).set(reason),
            attr(MailRecord.failed_at).set(now),
            attr(MailRecord.attempts).set(attempts),
            attr(MailRecord.message).set(stored),
        ]
        self._settle(claim, refused, Put(place), *others)
        self._refused(claim, reason)

    def _refused(self, claim: MailRecord, reason: str) -> None:
        self._count("refused")
        _log.warning("mail was refused", extra={"event_id": claim.event_id, "code": reason.partition(" ")[0]})

    def bounced(self, event_id: str, recipient: str, reason: str) -> bool:
        """Record that a sent message permanently failed to arrive; returns whether its record is known."""
        record = self._store.get(MailRecord.by_recipient(event_id, recipient))
        if record is None:
            return False
        if record.state != "refused":
            refused = attr(MailRecord.state).set("refused"), attr(MailRecord.reason).set(reason)
            try:
                self._store.update(record, *refused)
            except NotFound:
                return False
            self._refused(record, reason)
        return True

    # -- claims -------------------------------------------------------------------------------------------------

    def _claim(self, event_id: str, recipient: str) -> MailRecord | None:
        """Claim the right to send a message; None if it has been sent, refused or queued."""
        until = self._clock() + _CLAIM_LASTS
        try:
            return self._store.create(MailRecord(event_id=event_id, recipient=recipient, claimed_until=until))
        except AlreadyExists:
            found = self._store.get(MailRecord.by_recipient(event_id, recipient))
        if found is None:
            raise Unavailable("another process may be sending this message")
        return self._take(found) if found.state == "sending" else None

    def _take(self, found: MailRecord) -> MailRecord:
        """Claim a message as it was found; Unavailable if another process has claimed it, or may have."""
        if found.state == "sending" and self._may_be_alive(found):
            raise Unavailable("another process may be sending this message")
        until = self._clock() + _CLAIM_LASTS
        try:
            return self._store.update(
                found,
                attr(MailRecord.state).set("sending"),
                attr(MailRecord.claimed_until).set(until),
                expect=_unclaimed_since(found),
            )
        except (ConditionFailed, NotFound):
            raise Unavailable("another process has started to send this message") from None

    def _may_be_alive(self, claim: MailRecord) -> bool:
        """Whether the owner of a claim may still be sending."""
        if self._dead_until is not None and claim.claimed_until < self._dead_until:
            return False
        return claim.claimed_until > self._clock()

    def _transmit(self, claim: MailRecord, stored: StoredMessage, state: MailState = "sending") -> None:
        """Hand a message to the transport; MailRefused or Deferred leave the claim to the caller.

        After anything else it was not accepted, as far as is known: the record is what it was, and the next try need
        not wait for the claim to expire.
        """
        try:
            if not is_address(stored.address):
                raise MailRefused("no address")
            self._transport.send(self._compose(claim, stored))
        except (MailRefused, Deferred):
            raise
        except Exception:
            ended = attr(MailRecord.claimed_until).set(self._clock())
            self._store.update(claim, attr(MailRecord.state).set(state), ended)
            raise

    def _settle(self, claim: MailRecord, changes: Sequence[FieldChange], *others: Operation) -> None:
        """Write what became of a message, and what follows, in one transaction; the claim ends with it."""
        ended = attr(MailRecord.claimed_until).set(self._clock())
        change = Update(claim, ended, *changes, expect=_unclaimed_since(claim))
        try:
            self._store.transact(change, *others)
        except Cancelled as cancelled:
            if isinstance(cancelled.reasons[0], ConditionFailed | NotFound):
                # It took so long that another process has taken over.
                raise Unavailable("another process has started to send this message") from None
            raise

    def _compose(self, record: MailRecord, stored: StoredMessage) -> EmailMessage:
        mail = EmailMessage(policy=_POLICY)
        mail["From"] = self._sender
        mail["To"] = Address(addr_spec=stored.address)
        mail["Subject"] = _line(stored.subject)
        mail["Date"] = format_datetime(stored.at)
        mail["Message-ID"] = f"<{record.event_id}.{record.recipient}@{self._sender.domain}>"
        if stored.unsubscribe_url is not None and len(stored.unsubscribe_url) <= _MAX_LINK_LENGTH:
            mail[_LIST_UNSUBSCRIBE] = f"<{stored.unsubscribe_url}>"
            mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        # So that no out-of-office reply is sent.
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(_CONTROLS.sub("\ufffd", stored.text))
        return mail


class MailRetries(PeriodicThread):
    """Retries mailboxes; part of the background work of a system that sends mail."""

    def __init__(self, mailer: Mailer, *, name: str = "mail.retries", role: str, every: float = _RETRY_EVERY) -> None:
        """``role`` is the consumer of the design that sends the mail."""
        super().__init__(name, role=role, every=every)
        self._mailer = mailer

    def turn(self, is_stopped: Callable[[], bool]) -> None:
        """Try the mailboxes that are due."""
        self._mailer.retry(is_stopped)


def _stored(event: Event, message: Message) -> StoredMessage:
    return StoredMessage(
        address=message.recipient,
        subject=message.subject,
        text=message.text,
        unsubscribe_url=message.unsubscribe_url,
        at=event.at,
    )


def _unclaimed_since(record: MailRecord) -> list[FieldCondition]:
    """That a message is as it was read: no other process has claimed it."""
    return [attr(MailRecord.state) == record.state, attr(MailRecord.claimed_until) == record.claimed_until]


def _waits(stored: StoredMessage) -> list[FieldChange]:
    """That a message waits for its mailbox."""
    return [attr(MailRecord.state).set("queued"), attr(MailRecord.message).set(stored)]


def _pause(attempts: int) -> timedelta:
    """How long a mailbox is left alone after so many attempts."""
    return min(_FIRST_RETRY * (1 << min(attempts - 1, 20)), _LAST_RETRY)


def sender_from(text: str) -> Address:
    """Parse the setting ``mail_from``; ValueError if it is not an address."""
    name, _, address = text[:-1].rpartition("<") if text.endswith(">") else ("", "", text)
    if not can_stand_in_header(address):
        raise ValueError("give the sender of mail as an address: tasks@example.org, or Tasks <tasks@example.org>")
    return Address(_line(name), addr_spec=address)


def _line(text: str) -> str:
    """A text that is safe in a header: one line, printable characters only.

    And no encoded word (``=?utf-8?q?...?=``), which would be decoded when the header is written, with any line in it.
    """
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split()).replace("=?", "= ?")
    return line if len(line) <= _MAX_SUBJECT_LENGTH else line[: _MAX_SUBJECT_LENGTH - 1] + "…"
