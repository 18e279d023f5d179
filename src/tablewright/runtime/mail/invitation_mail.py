"""Mail to a person who is invited, with the address of the applications; sent once.

It is queued in the transaction that stores the invitation, so there is never one without the other.
``event_mail.MailRetries`` sends it, like all queued mail. A person who is invited in one place and added in another
gets it once: ``Invited`` records that it was queued.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import uuid4

from pydantic import Field

from tablewright.model import Entity, EpochSeconds, Get, Keys, Personal, Retain
from tablewright.runtime.internal_tables import internal_table
from tablewright.runtime.mail.mail_records import MailRecord, QueuedMail, StoredMessage, digest
from tablewright.store import AsyncStore, Create, Operation, Put

# What other packages use.
__all__ = ["InvitationLanguage", "Invited", "Language"]

Language = Literal["en", "it"]
InvitationLanguage = Annotated[
    Language | None, Field(description="language of the mail; null: that of the installation, `mail_language`")
]
# Whoever was invited so long ago may be invited again.
_INVITED_FOR_DAYS = 90


class Invited(Entity, table=internal_table):
    """A record: this person's invitation mail was queued."""

    person_id: Annotated[str, Personal("subject")]
    # A digest: to another address it is written again.
    recipient: str
    ttl: Annotated[EpochSeconds | None, Retain(days=_INVITED_FOR_DAYS)] = None

    keys = Keys(PK="INVITED#{person_id}", SK="MAIL")

    @Get(consistent=True)
    def of_person(self, person_id: str) -> None:
        """The invitation mail of a person."""


# By language: the subject and the text.
_TEXTS: dict[Language, tuple[str, str]] = {
    "en": (
        "You are invited",
        """\
You are invited: {invited_by} has given you access.

Sign in:      {app_url}
Your id:      {person_id}

-- 
You are receiving this message because an administrator of these applications entered your address.
""",
    ),
    "it": (
        "Hai ricevuto un invito",
        """\
Hai ricevuto un invito: {invited_by} ti ha dato accesso.

Accedi:       {app_url}
Il tuo id:    {person_id}

-- 
Ricevi questo messaggio perché chi gestisce queste applicazioni ha inserito il tuo indirizzo.
""",
    ),
}


async def queue_invitation(
    store: AsyncStore, person_id: str, email: str, invited_by: str, app_url: str, now: datetime, language: Language
) -> list[Operation]:
    """What is written with an invitation, so that its mail is sent; nothing if they were sent one already."""
    before = await store.get(Invited.of_person(person_id))
    if before is not None and before.recipient == digest(email):
        return []
    subject, text = _TEXTS[language]
    text = text.format(invited_by=invited_by, app_url=app_url, person_id=person_id)
    message = StoredMessage(address=email, subject=subject, text=text, at=now)
    # An id of its own: who is erased and invited again gets another mail.
    event_id, recipient = uuid4().hex, digest(email)
    record = MailRecord(event_id=event_id, recipient=recipient, state="queued", claimed_until=now, message=message)
    place = QueuedMail(recipient=recipient, at=now, sequence="", event_id=event_id, attempts=0, next_at=now, since=now)
    return [Create(record), Create(place), Put(Invited(person_id=person_id, recipient=recipient))]
