"""What is stored about mail: which process may send a message, which are queued, and which were permanently refused.

    MAIL#<event>   TO#<recipient>                          MailRecord: sending, sent, queued or refused
                   COMPLETED                               MailCompleted: every message about the event has a record
    MAILQUEUE      <recipient>#<time>#<sequence>#<event>   QueuedMail: queued for its mailbox, in the order of events
    DEADMAIL       <time>#<event>#<recipient>              DeadMail: permanently refused, for an admin to see

The record decides; the other two are lists to find it. They are written and deleted in one transaction with it. A
record has the message itself only while it may still have to be sent. A recipient is a digest, as addresses are
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
    """A message that may have to be sent later, with the values of its event that its headers need."""

    address: str
    subject: str
    text: str
    unsubscribe_url: str | None = None
    at: datetime


class MailRecord(Entity, table=internal_table):
    """The record of a message to one recipient, which decides whether it is sent, and by which process."""

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
        """The record that every message about an event has one."""


class QueuedMail(Entity, table=internal_table):
    """A queued message; of those to one recipient, the first is tried, and the others wait."""

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
        """The queued messages, all or those to one recipient, in the order of their events."""


class DeadMail(Entity, table=internal_table):
    """A message that was refused permanently, or for too long; its record has the rest."""

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
    about="a queued message is sent, or permanently refused",
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
    """The digest of a recipient, which is stored instead of the address."""
    return sha256(address.strip().lower().encode()).hexdigest()[:32]
