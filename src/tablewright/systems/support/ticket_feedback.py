"""Feedback on the help with a ticket: by its customer, once on each helper, or by an operator."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar
from uuid import uuid4

from tablewright.model import attr
from tablewright.runtime import Forbidden, Idempotency, Invalid, ResourceNotFound, Responder, StateConflict
from tablewright.runtime.identity.actor import acting
from tablewright.store import (
    AsyncStore,
    AsyncTolerantReader,
    Cancelled,
    Check,
    ConditionFailed,
    Create,
    NotFound,
    NotUnique,
    Outcome,
    TolerantPage,
)
from tablewright.systems.support.model import Feedback, FeedbackOfOperator, Helper, Ticket

R = TypeVar("R")


class TicketFeedback:
    """Feedback on the help with tickets."""

    def __init__(
        self,
        store: AsyncStore,
        reader: AsyncTolerantReader,
        idempotency: Idempotency,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._reader = reader
        self._idempotency = idempotency
        self._now = now

    async def give(
        self,
        ticket_id: str,
        responder: Responder[Feedback, R],
        *,
        about: str | None,
        rating: int,
        was_helpful: bool | None = None,
        comment: str | None = None,
        by: str,
    ) -> R:
        """Feedback of the ticket's customer on the help of a person who worked on it, once for each of them.

        Or, if ``about`` is None: of an operator on the help that the ticket got, any number of times.
        """
        if about == by:
            raise Forbidden("you cannot give feedback on your own work")
        feedback = Feedback(
            ticket_id=ticket_id,
            feedback_id=uuid4().hex,
            given_by=by,
            operator_id=about or by,
            once=None if about is None else f"{len(ticket_id)}/{ticket_id}/{about}",
            submitted_at=self._now(),
            rating=rating,
            was_helpful=was_helpful,
            comment=comment,
            submitted_by=acting.get().user_id,
        )
        if about is None:
            ticket = await self._store.get(Ticket.summary(ticket_id))
            if ticket is not None and ticket.customer_id == by:
                raise Forbidden("this is your own ticket: give feedback as its customer, on a person who worked on it")
            checks = [Check(Ticket.by_id(ticket_id))]
        else:
            helper = Helper.by_id(ticket_id=ticket_id, helper_id=about)
            checks = [Check(Ticket.by_id(ticket_id), attr(Ticket.customer_id) == by), Check(helper)]
        writes = *checks, Create(feedback)
        try:
            if responder.key is None:
                await self._store.transact(*writes)
                return responder.view(feedback)
            request = {
                "ticket_id": ticket_id,
                "about": about,
                "rating": rating,
                "was_helpful": was_helpful,
                "comment": comment,
            }

            async def work() -> Outcome:
                return Outcome(responder.view(feedback), *writes, at=self._now(), record={"ticket_id": ticket_id})

            return await self._idempotency.execute(self._store, "feedback", request, responder, work)
        except Cancelled as cancelled:
            raise _why_no_feedback(cancelled, ticket_id, about) from None

    async def of_ticket(
        self,
        ticket_id: str,
        *,
        limit: int = 50,
        cursor: str | None = None,
        wanted: Callable[[Feedback], bool] = lambda feedback: True,
    ) -> TolerantPage[Feedback]:
        """The feedback on a ticket, newest first, as far as it is wanted."""
        selection = Feedback.of_ticket(ticket_id)
        return await self._reader.page(selection, limit=limit, cursor=cursor, include=wanted)

    async def by_operator(
        self, operator_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> TolerantPage[FeedbackOfOperator]:
        """The feedback about and by an operator, newest first: ticket, rating, whether it helped, and its author."""
        return await self._reader.page(FeedbackOfOperator.by_operator(operator_id), limit=limit, cursor=cursor)


def _why_no_feedback(cancelled: Cancelled, ticket_id: str, about: str | None) -> Exception:
    """Why feedback was refused: because of the ticket, of the helper, or as it already exists."""
    ticket, *others = cancelled.reasons
    if isinstance(ticket, NotFound):
        return ResourceNotFound(f"there is no ticket {ticket_id}")
    if isinstance(ticket, ConditionFailed):
        return Forbidden("only the ticket's customer can give feedback on it")
    if about is not None and isinstance(others[0], NotFound):
        return Invalid(f"{about} has not worked on ticket {ticket_id}", field="operator_id")
    if any(isinstance(reason, NotUnique) for reason in others):
        return StateConflict(
            f"feedback on {about} for ticket {ticket_id} has already been given", kind="already-exists"
        )
    return cancelled
