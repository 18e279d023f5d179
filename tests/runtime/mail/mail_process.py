"""A mailer in a process of its own, and what it sends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tablewright.runtime.events.event_log import Event
from tablewright.runtime.internal_tables import internal_table
from tablewright.runtime.mail.event_mail import Mailer, Message, sender_from
from tablewright.runtime.mail.mail_records import DeadMail, MailRecord, QueuedMail, digest
from tablewright.runtime.mail.mail_transport import Transport
from tablewright.store import Effects, Store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EVENT = Event(event_id="e-1", source="tests", type="Happened", at=NOON, sequence="1", detail={})
MESSAGE = Message("grace@example.org", "It happened", "At last.\n")


class Office:
    """A mailer with a clock that is moved on, and what it counts."""

    def __init__(
        self,
        carrier: Transport,
        store: Store | None = None,
        *,
        sole_sender_since: datetime | None = None,
        ensure: bool = True,
    ) -> None:
        self.now = NOON
        self.counted: list[str] = []
        self.store = store or Store.open(None, clock=lambda: self.now.timestamp())
        if ensure:
            self.store.ensure_tables(internal_table)
        sender = sender_from("Tasks <tasks@example.org>")
        self.mailer = Mailer(
            self.store,
            carrier,
            sender,
            count=self.counted.append,
            clock=lambda: self.now,
            sole_sender_since=sole_sender_since,
        )

    def delivery(self, recipient: str = MESSAGE.recipient) -> MailRecord:
        found = self.store.get(MailRecord.by_recipient(event_id=EVENT.event_id, recipient=digest(recipient)))
        assert found is not None
        return found

    def tell(self, number: int, *addresses: str) -> None:
        """Send what happened to some, as a consumer does: the number says when it was."""
        event = happened(number)
        messages = [Message(address, f"No. {number}", "Text.") for address in addresses]
        effects = Effects()
        self.mailer.send_all(event, messages, effects)
        self.store.transact(*effects.operations())

    def record(self, number: int, address: str) -> MailRecord:
        found = self.store.get(MailRecord.by_recipient(event_id=f"e-{number}", recipient=digest(address)))
        assert found is not None
        return found

    def waiting(self) -> list[QueuedMail]:
        return list(self.store.iterate(QueuedMail.waiting()))

    def dead(self) -> list[DeadMail]:
        return list(self.store.iterate(DeadMail.newest()))


def happened(number: int) -> Event:
    return EVENT.model_copy(
        update={"event_id": f"e-{number}", "at": NOON + timedelta(seconds=number), "sequence": str(number).zfill(40)}
    )
