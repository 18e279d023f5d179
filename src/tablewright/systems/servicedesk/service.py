"""The use cases of the service desk. What cannot be read is left out of lists, and is changed by nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID, uuid4

from tablewright.model import attr
from tablewright.runtime import UNSEEN, Idempotency, ResourceNotFound, Responder, Seen, StateConflict, TooLarge
from tablewright.runtime.audit import Audit, AuditPage, Recorded, own_error
from tablewright.runtime.identity.actor import acting
from tablewright.store import (
    AsyncStore,
    AsyncTolerantReader,
    ConditionFailed,
    Create,
    LimitExceeded,
    NotFound,
    Outcome,
    TolerantPage,
    Update,
)
from tablewright.systems.servicedesk.caller_ids import CallerIds
from tablewright.systems.servicedesk.masking.secret_spans import Masked, mask
from tablewright.systems.servicedesk.model import FOLLOWING, Comment, Status, Ticket
from tablewright.systems.unreadable_log import UnreadableLog

R = TypeVar("R")

# Longer texts are looked through beside other requests: the longest can take half a second.
_SHORT = 2_000


@dataclass(frozen=True, slots=True)
class Written:
    """A ticket as it was written, and what kinds of secrets were taken out of the text."""

    ticket: Ticket
    masked: tuple[str, ...] = ()


class ServiceDesk:
    """Tickets of callers."""

    def __init__(
        self,
        store: AsyncStore,
        caller_ids: CallerIds,
        clock: Callable[[], float],
        unreadable_log: UnreadableLog | None = None,
    ) -> None:
        self.unreadable_log = unreadable_log or UnreadableLog("servicedesk")
        self._store = store
        self._reader = AsyncTolerantReader(store, self.unreadable_log.add)
        self._caller_ids = caller_ids
        self._clock = clock
        self._idempotency = Idempotency("servicedesk")
        self._audit = Audit("servicedesk", clock)

    async def create(self, caller: str, issue: str, responder: Responder[Written, R]) -> R:
        """Open a ticket; the response to it."""
        cleaned = await _cleaned(issue)
        ticket = Ticket(
            ticket_id=uuid4(),
            caller_id=self._caller_ids.of(caller),
            issue_description=cleaned.text,
            created_by=acting.get().user_id,
        )
        if responder.key is None:
            return responder.view(Written(await self._store.create(ticket), cleaned.kinds))

        async def work() -> Outcome:
            ticket.created_at = ticket.updated_at = now = self._now()
            return Outcome(responder.view(Written(ticket, cleaned.kinds)), Create(ticket), at=now)

        # Neither a phone number nor a secret: a digest of few digits can be found by trying.
        request = {"caller_id": ticket.caller_id, "issue_description": ticket.issue_description}
        return await self._idempotency.execute(self._store, "ticket", request, responder, work)

    async def get(self, ticket_id: UUID, *, consistent: bool = False) -> Ticket:
        ticket = await self._store.get(Ticket.by_id(ticket_id), consistent=consistent)
        if ticket is None:
            raise ResourceNotFound(f"there is no ticket {ticket_id}")
        return ticket

    async def add_comment(self, ticket_id: UUID, text: str, responder: Responder[Written, R], seen: Seen = UNSEEN) -> R:
        """Append a comment to a ticket that is there; the response to both.

        Under a key, the response has the comments that were there a moment before, and this one.
        """
        cleaned = await _cleaned(text)
        lookup = Ticket.by_id(ticket_id)

        async def work() -> Outcome:
            ticket, comment = await self.get(ticket_id, consistent=True), self._comment(cleaned)
            seen.require(ticket)
            update = {"comments": [*ticket.comments, comment], "updated_at": comment.added_at}
            written = Written(ticket.model_copy(update=update), cleaned.kinds)
            change = Update(lookup, attr(Ticket.comments).append(comment), expect=seen.unchanged(ticket))
            return Outcome(responder.view(written), change, at=comment.added_at)

        try:
            if responder.key is None:
                # An update would find out that a ticket cannot be read when it is done.
                found = await self.get(ticket_id, consistent=True)
                seen.require(found)
                added = attr(Ticket.comments).append(self._comment(cleaned))
                ticket = await self._store.update(lookup, added, expect=seen.unchanged(found))
                return responder.view(Written(ticket, cleaned.kinds))
            request = {"ticket_id": ticket_id, "comment_text": cleaned.text}
            return await self._idempotency.execute(self._store, "comment", request, responder, work)
        except ConditionFailed:
            raise seen.outrun(f"somebody else changed ticket {ticket_id}; read it again") from None
        except NotFound:
            raise ResourceNotFound(f"there is no ticket {ticket_id}") from None
        except LimitExceeded:
            raise TooLarge(
                f"ticket {ticket_id} is full: with this comment it would have more than 400 KB; "
                "open another ticket and refer to this one"
            ) from None

    def _comment(self, cleaned: Masked) -> Comment:
        return Comment(comment_text=cleaned.text, added_at=self._now(), added_by=acting.get().user_id)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    async def of_caller(
        self, caller: str, *, open_only: bool = False, limit: int = 10, cursor: str | None = None
    ) -> TolerantPage[Ticket]:
        """The tickets of a caller, newest first."""
        pattern = Ticket.open_of_caller if open_only else Ticket.of_caller
        return await self._reader.page(pattern(caller_id=self._caller_ids.of(caller)), limit=limit, cursor=cursor)

    async def change_status(
        self, ticket_id: UUID, status: Status, *, expected: Status | None = None, seen: Seen = UNSEEN
    ) -> Ticket:
        """Move a ticket on, if it is as it was seen, and its status allows that; of several at once, one wins."""
        ticket = await self.get(ticket_id, consistent=True)
        seen.require(ticket)
        if expected not in (None, ticket.status):
            raise StateConflict(f"ticket {ticket_id} is {ticket.status}, not {expected}; read it again")
        if status not in FOLLOWING[ticket.status]:
            allowed = " or ".join(sorted(FOLLOWING[ticket.status]))
            raise StateConflict(f"ticket {ticket_id} is {ticket.status}; it can become {allowed}, not {status}")
        try:
            change = Update(
                Ticket.by_id(ticket_id),
                attr(Ticket.status).set(status),
                expect=[attr(Ticket.status) == ticket.status, *seen.unchanged(ticket)],
            )
            with own_error():
                await self._store.transact(change, self._audit.changed(_thing(ticket_id), ticket, status=status))
            return await self.get(ticket_id, consistent=True)
        except ConditionFailed:
            raise seen.outrun(f"somebody else changed the status of ticket {ticket_id}; read it again") from None
        except NotFound:
            raise ResourceNotFound(f"there is no ticket {ticket_id}") from None

    async def audit(self, ticket_id: UUID, *, limit: int, cursor: str | None) -> AuditPage:
        """Who changed what of a ticket, newest first."""
        ticket = await self._reader.one(Ticket.by_id(ticket_id), consistent=True)
        recorded: list[Recorded] | None = [] if ticket is not None else None
        if isinstance(ticket, Ticket):
            recorded = [Recorded(ticket.created_by, ticket.created_at, "create_ticket")]
            for number, comment in enumerate(ticket.comments, 1):
                text = {"comment_text": comment.comment_text}
                recorded.append(Recorded(comment.added_by, comment.added_at, "add_comment", text, number))
        return await self._audit.page(self._store, _thing(ticket_id), recorded, limit=limit, cursor=cursor)


def _thing(ticket_id: UUID) -> str:
    return f"tickets/{ticket_id}"


async def _cleaned(text: str) -> Masked:
    return mask(text) if len(text) <= _SHORT else await asyncio.to_thread(mask, text)
