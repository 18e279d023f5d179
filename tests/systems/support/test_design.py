"""The policy that follows from the design of support allows all that is done."""

from __future__ import annotations

import asyncio
import time

import pytest

from tablewright.design import iam
from tablewright.design.iam.policy_evaluation import is_allowed
from tablewright.runtime.idempotency import UNKEYED, Responder
from tablewright.store import AsyncStore
from tablewright.systems.support.model import Event, Feedback, Priority, Status, Ticket, design
from tablewright.systems.support.service import Support
from tests.design.iam.permissions import ARN, asked_by


async def _use(store: AsyncStore) -> None:
    """Everything that there is to do."""
    support = Support(store, time.time)
    keyed: Responder[Ticket, str] = Responder(lambda ticket: ticket.ticket_id, "c-1", "k")
    ticket_id = await support.create_ticket("c-1", "It hums", keyed)
    assert await support.create_ticket("c-1", "It hums", keyed) == ticket_id
    await support.create_ticket("c-1", "It hums", UNKEYED)
    await support.change_status(ticket_id, Status.PROCESSING, expected=Status.NEW, by="op_1")
    for engineer in ("eng_6", "eng_7"):
        await support.escalate(ticket_id, reason="r", engineer=engineer, by="op_1")
    await support.attach(ticket_id, "a log")
    await support.add_event(ticket_id, "customer_called", {}, by="op_1")
    await support.assign(ticket_id, "op_2", by="op_1")
    await support.set_priority(ticket_id, Priority.HIGH, by="op_1")
    said: Responder[Event, str] = Responder(lambda event: event.event_type, "c-1", "k")
    await support.send_message(ticket_id, "Hello?", said, customer_id="c-1", by="c-1")
    await support.send_message(ticket_id, "Here", UNKEYED, customer_id="c-1", by="op_1")
    await support.add_note(ticket_id, "odd", said, by="op_1")
    await support.feedback.give(ticket_id, UNKEYED, about="op_1", rating=5, by="c-1")
    reviewed: Responder[Feedback, str] = Responder(lambda feedback: feedback.feedback_id, "op_1", "k")
    await support.feedback.give(ticket_id, reviewed, about=None, rating=5, by="op_1")
    await asyncio.gather(
        support.with_data(ticket_id),
        support.tickets([ticket_id]),
        support.of_customer("c-1"),
        support.of_customer("c-1", status=Status.ESCALATED),
        support.by_status(Status.ESCALATED),
        support.recent(),
        support.of_assignee("op_2"),
        support.unanswered(),
        support.escalations(),
        support.escalations(engineer="eng_7"),
        support.events(ticket_id),
        support.events(ticket_id, since=support.now().date()),
        support.feedback.of_ticket(ticket_id),
        support.feedback.by_operator("op_1"),
        support.case(ticket_id),
        support.metrics.dashboard(),
        support.reports.hours(24),
        support.reports.days(30),
        support.reports.operators(None, None),
    )
    session = await support.begin_session("u")
    await support.session(session.session_id)
    await support.end_session(session.session_id)
    await support.cache("k", {"a": 1})
    await support.cached("k")
    await support.forget("k")


@pytest.mark.requirement("X3")
def test_the_policy_allows_all_that_support_does() -> None:
    asked = asked_by("tablewright.systems.support", _use)
    policy = iam.document(iam.grants(design, "api"), ARN)
    assert len(asked) > 10
    assert [each for each in sorted(asked) if not is_allowed(policy, *each)] == []
