"""The use cases of Support."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from tablewright.model import FieldChange, FieldCondition, attr
from tablewright.runtime import (
    UNSEEN,
    Idempotency,
    Invalid,
    ResourceNotFound,
    Responder,
    Seen,
    StateConflict,
)
from tablewright.runtime.audit import Audit, AuditPage, Recorded, own_error
from tablewright.runtime.idempotency import UNKEYED
from tablewright.runtime.identity.actor import acting
from tablewright.runtime.identity.stored_notices import notify
from tablewright.store import (
    AsyncStore,
    AsyncTolerantReader,
    Cancelled,
    Check,
    ConditionFailed,
    Conflict,
    Create,
    NotFound,
    Operation,
    Outcome,
    Put,
    TolerantPage,
    Unreadable,
    Update,
)
from tablewright.systems.support.model import (
    CUSTOMER_MESSAGE,
    FOLLOWING,
    INTERNAL_EVENTS,
    NOTE,
    STAFF_MESSAGE,
    Case,
    Conversation,
    EscalatedTicket,
    Event,
    Helper,
    Priority,
    Status,
    Ticket,
    TicketId,
    TicketIdempotency,
    UnansweredTicket,
)
from tablewright.systems.support.short_lived_items import ShortLivedItems
from tablewright.systems.support.ticket_feedback import TicketFeedback
from tablewright.systems.support.ticket_lock import TicketLocks
from tablewright.systems.support.trends.live_metrics import LiveMetrics
from tablewright.systems.support.trends.trend_reports import TrendReports
from tablewright.systems.unreadable_log import UnreadableLog

# Attempts to write an event that loses against concurrent ones; in each, the store itself retries for a while.
_ATTEMPTS = 5

# Fields that the audit entry of a status change has beside the status.
_AUDITED = ("assigned_to", "escalation_reason")

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Basis:
    """The basis of a ticket change: its status, and the conditions that must still hold."""

    status: Status
    expect: Sequence[FieldCondition]
    seen: Seen
    # As it was read, if it had to be.
    ticket: Ticket | None = None


class Support(ShortLivedItems):
    """Tickets and their events; with them, feedback on the help, and metrics."""

    def __init__(
        self, store: AsyncStore, clock: Callable[[], float], unreadable_log: UnreadableLog | None = None
    ) -> None:
        reader = AsyncTolerantReader(store, (unreadable_log or UnreadableLog("support")).add)
        super().__init__(store, reader, clock)
        self._locks = TicketLocks()
        self._idempotency = Idempotency("support", TicketIdempotency)
        self._audit = Audit("support", clock)
        self.feedback = TicketFeedback(store, reader, self._idempotency, self.now)
        self.metrics = LiveMetrics(store)
        self.reports = TrendReports(reader, self.now)

    # -- tickets ------------------------------------------------------------------------------------------------

    async def create_ticket(
        self,
        customer_id: str,
        symptom_text: str,
        responder: Responder[Ticket, R],
        *,
        priority: Priority = Priority.MEDIUM,
        data: str = "",
    ) -> R:
        """Open a ticket and write its first event, in one transaction; returns the response."""
        now = self.now()
        ticket = Ticket(
            ticket_id=f"tkt_{uuid4()}",
            customer_id=customer_id,
            symptom_text=symptom_text,
            priority=priority,
            data=data,
            created_at=now,
        )
        created = self._event(ticket.ticket_id, "ticket_created", at=now, new_status=ticket.status)
        writes = Create(ticket), Create(created)
        if responder.key is None:
            await self._store.transact(*writes)
            return responder.view(ticket)

        async def work() -> Outcome:
            ticket.updated_at = now
            return Outcome(responder.view(ticket), *writes, at=now, record={"ticket_id": ticket.ticket_id})

        request = {"customer_id": customer_id, "symptom_text": symptom_text, "priority": priority, "data": data}
        return await self._idempotency.execute(self._store, "ticket", request, responder, work)

    async def ticket(self, ticket_id: str, *, consistent: bool = False) -> Ticket:
        """A ticket, without data that is stored outside of its item."""
        found = await self._store.get(Ticket.summary(ticket_id), consistent=consistent)
        if found is None:
            raise ResourceNotFound(f"there is no ticket {ticket_id}")
        return found

    async def with_data(self, ticket_id: str, *, consistent: bool = False) -> Ticket:
        """A ticket with its logs and traces, wherever they are stored."""
        found = await self._store.get(Ticket.by_id(ticket_id), consistent=consistent)
        if found is None:
            raise ResourceNotFound(f"there is no ticket {ticket_id}")
        return found

    async def tickets(self, ticket_ids: Iterable[str], *, consistent: bool = False) -> TolerantPage[Ticket]:
        """Those of the tickets that exist, in the requested order."""
        lookups = [Ticket.summary(each) for each in dict.fromkeys(ticket_ids)]
        found = await self._reader.each(lookups, consistent=consistent)
        return TolerantPage(
            [each for each in found if isinstance(each, Ticket)],
            [each for each in found if isinstance(each, Unreadable)],
            None,
        )

    async def of_customer(
        self, customer_id: str, *, status: Status | None = None, limit: int = 20, cursor: str | None = None
    ) -> TolerantPage[Ticket]:
        """A customer's tickets, newest first, with one status or any."""
        if status is None:
            selection = Ticket.of_customer(customer_id)
        else:
            selection = Ticket.of_customer_in_status(customer_id, status)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def by_status(
        self,
        status: Status,
        *,
        since: date | None = None,
        until: date | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> TolerantPage[Ticket]:
        """Tickets with a status, newest first; both days of a range are inclusive."""
        selection = Ticket.by_status(status, since=since, until=until)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def recent(
        self, *, since: date | None = None, until: date | None = None, limit: int = 100, cursor: str | None = None
    ) -> TolerantPage[Ticket]:
        """Tickets with any status, newest first: their ids from an index, and the tickets by one batch read."""
        page = await self._reader.page(TicketId.recent(since=since, until=until), limit=limit, cursor=cursor)
        found = await self.tickets(each.ticket_id for each in page.items)
        return TolerantPage(found.items, [*page.unreadable, *found.unreadable], page.cursor)

    async def of_assignee(self, assignee: str, *, limit: int = 50, cursor: str | None = None) -> TolerantPage[Ticket]:
        """Tickets assigned to a person, with any status except READY, newest first."""
        page = await self._reader.page(TicketId.of_assignee(assignee), limit=limit, cursor=cursor)
        found = await self.tickets(each.ticket_id for each in page.items)
        return TolerantPage(found.items, [*page.unreadable, *found.unreadable], page.cursor)

    async def unanswered(self, *, limit: int = 50, cursor: str | None = None) -> TolerantPage[Ticket]:
        """Tickets whose customer wrote last, the longest wait first."""
        page = await self._reader.page(UnansweredTicket.waiting(), limit=limit, cursor=cursor)
        found = await self.tickets(each.ticket_id for each in page.items)
        return TolerantPage(found.items, [*page.unreadable, *found.unreadable], page.cursor)

    async def change_status(
        self, ticket_id: str, status: Status, *, expected: Status | None = None, by: str, seen: Seen = UNSEEN
    ) -> Ticket:
        """Write a new status and its event; refused unless the status is still the one that was seen."""
        if status is Status.ESCALATED:
            raise Invalid(
                "escalate a ticket with POST /tickets/{ticket_id}/escalate, which takes a reason and an engineer"
            )
        basis = await self._basis(ticket_id, expected, seen)
        is_done = status is Status.READY
        completed = (
            attr(Ticket.completed_at).set(self.now() if is_done else None),
            attr(Ticket.completed_by).set(by if is_done else None),
        )
        return await self._move(ticket_id, basis, status, {"changed_by": by}, *completed, helpers=[by])

    async def escalate(
        self,
        ticket_id: str,
        *,
        reason: str,
        engineer: str,
        by: str,
        expected: Status | None = None,
        expected_engineer: str | None = None,
        seen: Seen = UNSEEN,
    ) -> Ticket:
        """Escalate a ticket to an engineer; one that is already escalated is reassigned to this engineer.

        The status stays the same then, so what the caller saw is identified by the engineer.
        """
        if expected is Status.ESCALATED and expected_engineer is None and seen.tags is None:
            raise Invalid(
                "send expected_engineer (the current assignee) or If-Match: reassigning does not change the status",
                field="expected_engineer",
            )
        reassigns = expected is Status.ESCALATED or expected_engineer is not None
        basis = await self._basis(ticket_id, expected, seen, read=reassigns)
        holder = None if basis.ticket is None else basis.ticket.assigned_to
        if expected_engineer not in (None, holder):
            raise StateConflict(
                f"ticket {ticket_id} is {_assigned(holder)}, not assigned to {expected_engineer}; read it again"
            )
        changes = [
            attr(Ticket.escalated_at).set(self.now()),
            attr(Ticket.assigned_to).set(engineer),
            attr(Ticket.escalation_reason).set(reason),
        ]
        details = {"reason": reason, "assigned_to": engineer, "changed_by": by}
        if basis.status is not Status.ESCALATED or basis.ticket is None:
            changes.append(attr(Ticket.completed_at).set(None))
            return await self._move(ticket_id, basis, Status.ESCALATED, details, *changes, helpers=[by, engineer])
        before = basis.ticket.assigned_to
        if before == engineer:
            raise StateConflict(f"ticket {ticket_id} is already escalated to {engineer}")
        expect = [*basis.expect, attr(Ticket.assigned_to) == before]
        change = Update(Ticket.by_id(ticket_id), *changes, expect=expect)
        event = self._event(ticket_id, "reassigned", by=by, details={**details, "assigned_before": before})
        entry = self._audit.changed(_thing(ticket_id), basis.ticket, assigned_to=engineer, escalation_reason=reason)
        return await self._commit(ticket_id, basis, [change, entry], event, [by, engineer], f"escalated to {before}")

    async def assign(self, ticket_id: str, assignee: str | None, *, by: str, seen: Seen = UNSEEN) -> Ticket:
        """Assign a ticket to a person, or remove the assignment, in any status; the same assignee changes nothing."""
        basis = await self._basis(ticket_id, None, seen, read=True)
        assert basis.ticket is not None
        before = basis.ticket.assigned_to
        if before == assignee:
            return basis.ticket
        change = Update(
            Ticket.by_id(ticket_id),
            attr(Ticket.assigned_to).set(assignee),
            expect=[*basis.expect, attr(Ticket.assigned_to) == before],
        )
        details = {"assigned_to": assignee, "assigned_before": before, "changed_by": by}
        event = self._event(ticket_id, "assigned", by=by, details=details)
        entry = self._audit.changed(_thing(ticket_id), basis.ticket, assigned_to=assignee)
        helpers = [by] if assignee is None else [by, assignee]
        return await self._commit(
            ticket_id, basis, [change, entry], event, helpers, f"{basis.status} and {_assigned(before)}"
        )

    async def set_priority(self, ticket_id: str, priority: Priority, *, by: str, seen: Seen = UNSEEN) -> Ticket:
        """Set the priority of a ticket, and write its event; the same priority changes nothing."""
        basis = await self._basis(ticket_id, None, seen, read=True)
        assert basis.ticket is not None
        before = basis.ticket.priority
        if before is priority:
            return basis.ticket
        change = Update(
            Ticket.by_id(ticket_id),
            attr(Ticket.priority).set(priority),
            expect=[*basis.expect, attr(Ticket.priority) == before],
        )
        details = {"priority": priority, "priority_before": before, "changed_by": by}
        event = self._event(ticket_id, "priority_changed", by=by, details=details)
        entry = self._audit.changed(_thing(ticket_id), basis.ticket, priority=priority)
        return await self._commit(ticket_id, basis, [change, entry], event, [by], f"{basis.status} and {before}")

    async def _basis(self, ticket_id: str, expected: Status | None, seen: Seen, *, read: bool = False) -> _Basis:
        """What a change is based on: the status that the caller expects, or the one that the ticket has."""
        if not read and expected is not None and seen.tags is None:
            return _Basis(expected, [attr(Ticket.status) == expected], seen)
        ticket = await self.ticket(ticket_id, consistent=True)
        seen.require(ticket)
        status = expected or ticket.status
        return _Basis(status, [attr(Ticket.status) == status, *seen.unchanged(ticket)], seen, ticket)

    async def _move(
        self,
        ticket_id: str,
        basis: _Basis,
        status: Status,
        details: dict[str, Any],
        *changes: FieldChange,
        helpers: Sequence[str],
    ) -> Ticket:
        before = basis.status
        if status not in FOLLOWING[before]:
            allowed = " or ".join(sorted(FOLLOWING[before]))
            raise StateConflict(f"a ticket that is {before} can become {allowed}, not {status}")
        change = Update(Ticket.by_id(ticket_id), attr(Ticket.status).set(status), *changes, expect=basis.expect)
        event = self._event(
            ticket_id, "status_changed", by=helpers[0], old_status=before, new_status=status, details=details
        )
        audited = {"status": status} | {each.path: each.value for each in changes if each.path in _AUDITED}
        entry = self._audit.changed(_thing(ticket_id), basis.ticket or {"status": before}, **audited)
        return await self._commit(ticket_id, basis, [change, entry], event, helpers, before)

    async def _commit(
        self,
        ticket_id: str,
        basis: _Basis,
        changes: Sequence[Operation],
        event: Event,
        helpers: Sequence[str],
        state: str,
    ) -> Ticket:
        """Write a change of a ticket, its event and the records of its helpers; returns the changed ticket.

        Refused if the ticket is no longer in the state that the change is based on.
        """
        try:
            async with self._locks.of(ticket_id):
                await self._store.transact(*changes, Create(event), *_helped(ticket_id, *helpers))
        except Cancelled as cancelled:
            reason = cancelled.reasons[0]
            if isinstance(reason, NotFound):
                raise ResourceNotFound(f"there is no ticket {ticket_id}") from None
            if isinstance(reason, ConditionFailed | Conflict):
                raise basis.seen.outrun(f"ticket {ticket_id} is no longer {state}; read it again") from None
            raise
        return await self.ticket(ticket_id, consistent=True)

    async def attach(self, ticket_id: str, data: str, seen: Seen = UNSEEN) -> Ticket:
        """Replace the logs and traces of a ticket."""
        unchanged = await seen.expected(partial(self.ticket, ticket_id, consistent=True))
        change = Update(Ticket.by_id(ticket_id), attr(Ticket.data).set(data), expect=unchanged)
        # The previous data may be in a blob; the audit only needs the new size.
        entry = self._audit.changed(_thing(ticket_id), {}, data=f"{len(data)} characters")
        try:
            with own_error():
                await self._store.transact(change, entry)
            return await self.ticket(ticket_id, consistent=True)
        except ConditionFailed:
            raise seen.outrun(f"another request changed ticket {ticket_id}; read it again") from None
        except NotFound:
            raise ResourceNotFound(f"there is no ticket {ticket_id}") from None

    async def escalations(
        self, *, engineer: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> TolerantPage[EscalatedTicket]:
        """Escalated tickets, newest first: all of them, or an engineer's."""
        selection = EscalatedTicket.escalated() if engineer is None else EscalatedTicket.escalated_to(engineer)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    # -- events ------------------------------------------------------------------------------------

    async def add_event(self, ticket_id: str, event_type: str, details: dict[str, Any], *, by: str) -> Event:
        event = self._event(ticket_id, event_type, by=by, details=details)
        return await self._append(event, _helped(ticket_id, by), UNKEYED)

    async def send_message(
        self, ticket_id: str, text: str, responder: Responder[Event, R], *, customer_id: str, by: str
    ) -> R:
        """Send a message to the ticket's customer, or as the customer to staff; returns the response."""
        from_customer = by == customer_id
        kind = CUSTOMER_MESSAGE if from_customer else STAFF_MESSAGE
        event = self._event(ticket_id, kind, by=by, details={"text": text})
        event.customer_id = customer_id
        conversation = Conversation(ticket_id=ticket_id, last_message_at=event.timestamp, is_answered=not from_customer)
        helped = [] if from_customer else _helped(ticket_id, by)
        owner = [attr(Ticket.customer_id) == by] if from_customer else []
        notices = await self._notices(event, customer_id)
        return await self._append(event, [Put(conversation), *helped, *notices], responder, expect=owner)

    async def add_note(self, ticket_id: str, text: str, responder: Responder[Event, R], *, by: str) -> R:
        """Write a note that the customer never sees; returns the response."""
        event = self._event(ticket_id, NOTE, by=by, details={"text": text})
        return await self._append(event, await self._notices(event), responder)

    async def _notices(self, event: Event, customer_id: str | None = None) -> list[Create]:
        """The notices of a message or note: for the assignee, and for the customer if they may see it."""
        ticket = await self.ticket(event.ticket_id, consistent=True)
        people = [ticket.assigned_to, customer_id]
        return notify("support", event.ticket_id, people, by=event.author or "", at=event.timestamp)

    async def _append(
        self,
        event: Event,
        others: Sequence[Operation],
        responder: Responder[Event, R],
        *,
        expect: Sequence[FieldCondition] = (),
    ) -> R:
        """Write an event of an existing ticket, with what belongs to it; returns the response."""
        ticket_id = event.ticket_id
        writes = Check(Ticket.by_id(ticket_id), *expect), Create(event), *others

        async def work() -> Outcome:
            return Outcome(responder.view(event), *writes, at=event.timestamp, record={"ticket_id": ticket_id})

        for attempt in range(1, _ATTEMPTS + 1):
            try:
                async with self._locks.of(ticket_id):
                    if responder.key is None:
                        await self._store.transact(*writes)
                        return responder.view(event)
                    request = {"ticket_id": ticket_id, **event.details}
                    made = "note" if event.event_type == NOTE else "message"
                    return await self._idempotency.execute(self._store, made, request, responder, work)
            except Cancelled as cancelled:
                if isinstance(cancelled.reasons[0], NotFound | ConditionFailed):
                    raise ResourceNotFound(f"there is no ticket {ticket_id}") from None
                # Other processes also write to the ticket, and won each time.
                if attempt == _ATTEMPTS or not any(isinstance(each, Conflict) for each in cancelled.reasons):
                    raise
        raise AssertionError("the last attempt succeeds or raises")

    async def events(
        self,
        ticket_id: str,
        *,
        since: date | None = None,
        until: date | None = None,
        limit: int = 10,
        cursor: str | None = None,
        with_internal: bool = True,
    ) -> TolerantPage[Event]:
        """The latest events, newest first; with a range of days, the events of those days in chronological order.

        Customers do not see internal ones.
        """
        if since is None and until is None:
            selection = Event.latest(ticket_id)
        else:
            selection = Event.between(ticket_id, since=since, until=until)
        return await self._reader.page(
            selection,
            limit=limit,
            cursor=cursor,
            include=lambda event: with_internal or event.event_type not in INTERNAL_EVENTS,
        )

    async def case(self, ticket_id: str, *, consistent: bool = False) -> tuple[Case, list[Unreadable]]:
        """A ticket, its events and its feedback, by one query; and those that cannot be read."""
        found, unreadable = await self._reader.collect(Case.of_ticket(ticket_id), consistent=consistent)
        if found is None:
            raise ResourceNotFound(f"there is no ticket {ticket_id}")
        return found, unreadable

    def _event(
        self,
        ticket_id: str,
        event_type: str,
        *,
        by: str | None = None,
        at: datetime | None = None,
        old_status: Status | None = None,
        new_status: Status | None = None,
        details: dict[str, Any] | None = None,
    ) -> Event:
        at = at or self.now()
        return Event(
            ticket_id=ticket_id,
            day=at.date(),
            timestamp=at,
            event_type=event_type,
            old_status=old_status,
            new_status=new_status,
            details=details or {},
            author=by or acting.get().user_id,
        )

    # -- audit --------------------------------------------------------------------------------------------------

    async def audit(self, ticket_id: str, *, limit: int, cursor: str | None) -> AuditPage:
        """The audit of a ticket, newest first; its first event says who opened it."""
        ticket = await self._reader.one(Ticket.summary(ticket_id), consistent=True)
        recorded: list[Recorded] | None = None if ticket is None else []
        if isinstance(ticket, Ticket):
            first = await self._reader.page(Event.between(ticket_id), limit=1)
            opened = [each.author for each in first.items if each.event_type == "ticket_created"]
            recorded = [Recorded(each, ticket.created_at, "create_ticket") for each in opened]
        return await self._audit.page(self._store, _thing(ticket_id), recorded, limit=limit, cursor=cursor)


def _assigned(holder: str | None) -> str:
    return "unassigned" if holder is None else f"assigned to {holder}"


def _thing(ticket_id: str) -> str:
    return f"tickets/{ticket_id}"


def _helped(ticket_id: str, *helpers: str) -> list[Operation]:
    """The writes that record who worked on a ticket."""
    return [Put(Helper(ticket_id=ticket_id, helper_id=each)) for each in dict.fromkeys(helpers)]
