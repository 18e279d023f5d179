"""The use cases of the service desk. Unreadable tickets are left out of lists, and cannot be changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID, uuid4

from tablewright.model import FieldChange, FieldCondition, attr
from tablewright.runtime import UNSEEN, Idempotency, Invalid, ResourceNotFound, Responder, Seen, StateConflict, TooLarge
from tablewright.runtime.audit import Audit, AuditPage, Recorded, own_error
from tablewright.runtime.identity.actor import acting
from tablewright.runtime.identity.stored_notices import notify
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
from tablewright.systems.servicedesk.model import (
    FOLLOWING,
    IN_QUEUE,
    Comment,
    Priority,
    QueuedTicket,
    Status,
    Ticket,
    TicketId,
)
from tablewright.systems.servicedesk.ticket_numbers import number_of, parse_number
from tablewright.systems.unreadable_log import UnreadableLog

R = TypeVar("R")

# Longer texts are masked in a thread, beside other requests: the longest can take half a second.
_SHORT = 2_000


@dataclass(frozen=True, slots=True)
class Written:
    """A ticket as it was written, and the kinds of secrets that were masked in the text."""

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
        """Open a ticket; returns the response."""
        cleaned = await _cleaned(issue)
        ticket_id = uuid4()
        ticket = Ticket(
            ticket_id=ticket_id,
            number=number_of(ticket_id),
            caller_id=self._caller_ids.of(caller),
            issue_description=cleaned.text,
            created_by=acting.get().user_id,
        )
        if responder.key is None:
            return responder.view(Written(await self._store.create(ticket), cleaned.kinds))

        async def work() -> Outcome:
            ticket.created_at = ticket.updated_at = now = self._now()
            return Outcome(responder.view(Written(ticket, cleaned.kinds)), Create(ticket), at=now)

        # Contains no phone number and no secret: few digits can be recovered from a digest by brute force.
        request = {"caller_id": ticket.caller_id, "issue_description": ticket.issue_description}
        return await self._idempotency.execute(self._store, "ticket", request, responder, work)

    async def get(self, ticket_id: UUID, *, consistent: bool = False) -> Ticket:
        ticket = await self._store.get(Ticket.by_id(ticket_id), consistent=consistent)
        if ticket is None:
            raise ResourceNotFound(f"there is no ticket {ticket_id}")
        return ticket

    async def by_number(self, text: str) -> Ticket:
        """The ticket with a number, as it was typed or said."""
        number = parse_number(text)
        if number is None:
            raise Invalid(f"{text} is not a valid ticket number: a character is wrong or missing; ask for it again")
        async for found in self._store.iterate(TicketId.by_number(number)):
            return await self.get(found.ticket_id)
        raise ResourceNotFound(f"there is no ticket {number}")

    async def queue(
        self, *, assignee: str | None = None, unassigned: bool = False, limit: int = 25, cursor: str | None = None
    ) -> TolerantPage[QueuedTicket]:
        """Tickets that are open or in progress, by priority and age: all, those of an assignee, or unassigned ones."""
        if assignee is not None:
            selection = QueuedTicket.of_agent(assignee)
        else:
            selection = QueuedTicket.unassigned() if unassigned else QueuedTicket.in_queue()
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def add_comment(
        self,
        ticket_id: UUID,
        text: str,
        responder: Responder[Written, R],
        seen: Seen = UNSEEN,
        *,
        is_answer: bool = False,
    ) -> R:
        """Append a comment to a ticket; returns the response. The time of a person's first answer is stored.

        The assignee is notified of comments by others.

        With an idempotency key, the response has the comments that were read just before, and this one.
        """
        cleaned = await _cleaned(text)
        lookup = Ticket.by_id(ticket_id)

        async def work() -> Outcome:
            ticket, comment = await self.get(ticket_id, consistent=True), self._comment(cleaned)
            seen.require(ticket)
            update = {"comments": [*ticket.comments, comment], "updated_at": comment.added_at}
            if is_answer and ticket.first_answered_at is None:
                update["first_answered_at"] = comment.added_at
            written = Written(ticket.model_copy(update=update), cleaned.kinds)
            change = Update(lookup, *_commented(comment, is_answer), expect=seen.unchanged(ticket))
            return Outcome(responder.view(written), change, *_notices(ticket, comment), at=comment.added_at)

        try:
            if responder.key is None:
                # An update would detect an unreadable ticket only after writing it.
                found = await self.get(ticket_id, consistent=True)
                seen.require(found)
                comment = self._comment(cleaned)
                changes = _commented(comment, is_answer and found.first_answered_at is None)
                notices = _notices(found, comment)
                if notices:
                    with own_error():
                        await self._store.transact(Update(lookup, *changes, expect=seen.unchanged(found)), *notices)
                    ticket = await self.get(ticket_id, consistent=True)
                else:
                    ticket = await self._store.update(lookup, *changes, expect=seen.unchanged(found))
                return responder.view(Written(ticket, cleaned.kinds))
            request = {"ticket_id": ticket_id, "comment_text": cleaned.text}
            return await self._idempotency.execute(self._store, "comment", request, responder, work)
        except ConditionFailed:
            raise seen.outrun(f"another request changed ticket {ticket_id}; read it again") from None
        except NotFound:
            raise ResourceNotFound(f"there is no ticket {ticket_id}") from None
        except LimitExceeded:
            raise TooLarge(
                f"ticket {ticket_id} is full: with this comment it would exceed 400 KB; "
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
        """Change the status, if the ticket is as it was seen, and that is allowed; of concurrent changes, one wins."""
        ticket = await self.get(ticket_id, consistent=True)
        seen.require(ticket)
        if expected not in (None, ticket.status):
            raise StateConflict(f"ticket {ticket_id} is {ticket.status}, not {expected}; read it again")
        if status not in FOLLOWING[ticket.status]:
            allowed = " or ".join(sorted(FOLLOWING[ticket.status]))
            raise StateConflict(f"ticket {ticket_id} is {ticket.status}; it can become {allowed}, not {status}")
        same = [attr(Ticket.status) == ticket.status]
        return await self._write(ticket, seen, same, attr(Ticket.status).set(status), status=status)

    async def take(self, ticket_id: UUID, seen: Seen = UNSEEN) -> Ticket:
        """Assign an unassigned ticket to the acting agent, and set it in progress; of concurrent calls, one wins."""
        agent = acting.get().user_id
        ticket = await self._queued(ticket_id, seen)
        if ticket.assignee not in (None, agent):
            raise StateConflict(
                f"ticket {ticket_id} is assigned to {ticket.assignee}; assign it to yourself to take it over"
            )
        same = [attr(Ticket.status) == ticket.status, attr(Ticket.assignee).is_(ticket.assignee)]
        changes = [attr(Ticket.assignee).set(agent), attr(Ticket.status).set(Status.IN_PROGRESS)]
        return await self._write(ticket, seen, same, *changes, assignee=agent, status=Status.IN_PROGRESS)

    async def assign(self, ticket_id: UUID, assignee: str | None, seen: Seen = UNSEEN) -> Ticket:
        """Assign a ticket to a person, or remove the assignment."""
        ticket = await self._queued(ticket_id, seen)
        same = [attr(Ticket.status) == ticket.status, attr(Ticket.assignee).is_(ticket.assignee)]
        field = attr(Ticket.assignee)
        change = field.remove() if assignee is None else field.set(assignee)
        return await self._write(ticket, seen, same, change, assignee=assignee)

    async def set_priority(self, ticket_id: UUID, priority: Priority, seen: Seen = UNSEEN) -> Ticket:
        """Change how soon a ticket needs an answer."""
        ticket = await self._queued(ticket_id, seen)
        same = [attr(Ticket.status) == ticket.status, attr(Ticket.priority) == ticket.priority]
        return await self._write(ticket, seen, same, attr(Ticket.priority).set(priority), priority=priority)

    async def _queued(self, ticket_id: UUID, seen: Seen) -> Ticket:
        """A ticket of the queue, as it was seen."""
        ticket = await self.get(ticket_id, consistent=True)
        seen.require(ticket)
        if ticket.status not in IN_QUEUE:
            raise StateConflict(f"ticket {ticket_id} is {ticket.status}; reopen it first")
        return ticket

    async def _write(
        self, ticket: Ticket, seen: Seen, same: list[FieldCondition], *changes: FieldChange, **audited: Any
    ) -> Ticket:
        """Change a ticket if it is still as it was read, with its audit entry; returns the changed ticket."""
        ticket_id = ticket.ticket_id
        change = Update(ticket, *changes, expect=[*same, *seen.unchanged(ticket)])
        try:
            with own_error():
                await self._store.transact(change, self._audit.changed(_thing(ticket_id), ticket, **audited))
            return await self.get(ticket_id, consistent=True)
        except ConditionFailed:
            raise seen.outrun(f"another request changed ticket {ticket_id}; read it again") from None
        except NotFound:
            raise ResourceNotFound(f"there is no ticket {ticket_id}") from None

    async def audit(self, ticket_id: UUID, *, limit: int, cursor: str | None) -> AuditPage:
        """The audit of a ticket, newest first."""
        ticket = await self._reader.one(Ticket.by_id(ticket_id), consistent=True)
        recorded: list[Recorded] | None = [] if ticket is not None else None
        if isinstance(ticket, Ticket):
            recorded = [Recorded(ticket.created_by, ticket.created_at, "create_ticket")]
            for number, comment in enumerate(ticket.comments, 1):
                text = {"comment_text": comment.comment_text}
                recorded.append(Recorded(comment.added_by, comment.added_at, "add_comment", text, number))
        return await self._audit.page(self._store, _thing(ticket_id), recorded, limit=limit, cursor=cursor)


def _commented(comment: Comment, is_answer: bool) -> list[FieldChange]:
    """The field changes of a comment."""
    changes = [attr(Ticket.comments).append(comment)]
    if is_answer:
        changes.append(attr(Ticket.first_answered_at).set_if_absent(comment.added_at))
    return changes


def _notices(ticket: Ticket, comment: Comment) -> list[Create]:
    """The notice of a comment, for the assignee."""
    return notify("servicedesk", str(ticket.ticket_id), [ticket.assignee], by=acting.get().user_id, at=comment.added_at)


def _thing(ticket_id: UUID) -> str:
    return f"tickets/{ticket_id}"


async def _cleaned(text: str) -> Masked:
    return mask(text) if len(text) <= _SHORT else await asyncio.to_thread(mask, text)
