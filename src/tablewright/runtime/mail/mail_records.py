"""What is stored of mail: who may send a message, what waits for its mailbox, and what was refused for good.

    MAIL#<event>   TO#<recipient>                          MailRecord: sending, sent, queued or refused
                   COMPLETED                               MailCompleted: every message about the event has a record
    MAILQUEUE      <recipient>#<time>#<sequence>#<event>   QueuedMail: waits for its mailbox, in the order of events
    DEADMAIL       <time>#<event>#<recipient>              DeadMail: refused for good, for an admin to see

The record decides; the other two say where to look. They are written and deleted in one transaction with it. A record
has the message itself only while somebody may still have to send it. A recipient is a digest, as addresses are
personal data.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import BaseModel

from tablewright.model import Entity, EpochMillis, EpochSeconds, Get, ItemWrite, Keys, Query, Retain, Write
from tablewright.runtime.events.event_log import KEPT_FOR, Event
from tablewright.runtime.internal_tables import internal_table

# What other packages use.
__all__ = ["CLAIM_MAIL", "COMPLETE_MAIL", "QUEUE_MAIL", "RECORD_MAIL", "SETTLE_MAIL", "MailRecord", "QueuedMail"]


MailState = Literal["sending", "sent", "queued", "refused"]


class StoredMessage(BaseModel):
    """A message that may have to be sent later, with what its headers have of its event."""

    address: str
    subject: str
    text: str
    unsubscribe_url: str | None = None
    at: datetime


class MailRecord(Entity, table=internal_table):
    """The record of a message to one recipient, which decides who sends it, and whether."""

    event_id: str
    recipient: str
    state: MailState = "sending"
    # Of who is sending it.
    claimed_until: EpochMillis
    # Why it was refused, or is waiting: the server's code.
    reason: str | None = None
    # When it became a dead letter, and after how many attempts.
    failed_at: datetime | None = None
    attempts: int = 0
    message: StoredMessage | None = None
    ttl: Annotated[EpochSeconds | None, Retain(days=KEPT_FOR.days)] = None

    keys = Keys(PK="MAIL#{event_id}", SK="TO#{recipient}")

    @Get(consistent=True)
    def by_recipient(self, event_id: str, recipient: str) -> None:
        """The record of the message about an event to a recipient."""

    @Get(many=True)
    def by_recipients(self, event_id: str, recipient: str) -> None:
        """The records of several messages, in one batch."""


class MailCompleted(Entity, table=internal_table):
    """A record: every message about an event was sent, or is recorded as queued or refused."""

    event_id: str
    ttl: Annotated[EpochSeconds | None, Retain(days=KEPT_FOR.days)] = None

    keys = Keys(PK="MAIL#{event_id}", SK="COMPLETED")

    @Get(consistent=True)
    def by_event(self, event_id: str) -> None:
        """That every message about an event has a record."""


class QueuedMail(Entity, table=internal_table):
    """A message that waits for its mailbox; of one recipient, the first is tried, and the others wait behind it."""

    recipient: str
    at: datetime
    # The event's, as there may be several at a time.
    sequence: str
    event_id: str
    attempts: int
    next_at: EpochMillis
    # When it began to wait.
    since: EpochMillis
    ttl: Annotated[EpochSeconds | None, Retain(days=KEPT_FOR.days)] = None

    keys = Keys(PK="MAILQUEUE", SK="{recipient}#{at}#{sequence}#{event_id}")

    @Query(consistent=True)
    def waiting(self, recipient: str | None = None) -> None:
        """The messages that wait, all or those to a recipient, in the order of their events."""


class DeadMail(Entity, table=internal_table):
    """A message that was refused for good, or for too long; its record has the rest."""

    failed_at: datetime
    event_id: str
    recipient: str
    ttl: Annotated[EpochSeconds | None, Retain(days=KEPT_FOR.days)] = None

    keys = Keys(PK="DEADMAIL", SK="{failed_at}#{event_id}#{recipient}")

    @Get()
    def by_record(self, failed_at: datetime, event_id: str, recipient: str) -> None:
        """A message that was refused."""

    @Query(newest_first=True)
    def newest(self) -> None:
        """The messages that were refused, newest first."""


# What sending writes to the internal table, for the designs of systems that send.
CLAIM_MAIL = Write("claim mail", ItemWrite(MailRecord, "create"))
RECORD_MAIL = Write(
    "record mail", ItemWrite(MailRecord, "update", sets=[MailRecord.state, MailRecord.claimed_until, MailRecord.reason])
)
QUEUE_MAIL = Write(
    "queue mail",
    ItemWrite(MailRecord, "update", sets=[MailRecord.state, MailRecord.reason, MailRecord.message]),
    ItemWrite(QueuedMail, "put"),
)
SETTLE_MAIL = Write(
    "settle mail",
    ItemWrite(
        MailRecord,
        "update",
        sets=[MailRecord.state, MailRecord.reason, MailRecord.message, MailRecord.failed_at, MailRecord.attempts],
    ),
    ItemWrite(QueuedMail, "delete"),
    ItemWrite(DeadMail, "put"),
    about="a message that waited is sent, or refused for good",
)
COMPLETE_MAIL = Write(
    "complete mail", ItemWrite(MailCompleted, "put"), about="every message about an event has a record"
)


def queued(record: MailRecord, event: Event, now: datetime, next_at: datetime, attempts: int) -> QueuedMail:
    """The place of a message in the queue."""
    return QueuedMail(
        recipient=record.recipient,
        at=event.at,
        sequence=event.sequence,
        event_id=event.event_id,
        attempts=attempts,
        next_at=next_at,
        since=now,
    )


def digest(address: str) -> str:
    """Stands for a recipient in what is stored."""
    return sha256(address.strip().lower().encode()).hexdigest()[:32]
