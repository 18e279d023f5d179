"""A change has those look at their bell whom it may concern, and nobody else."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from tablewright.design.sample_entities import sample
from tablewright.model import Entity
from tablewright.systems.calls.app.calls_app import app as calls
from tablewright.systems.calls.model import BookedDay, Call
from tablewright.systems.engagement.app.engagement_app import app as engagement
from tablewright.systems.engagement.model import Candidate, Program, Run
from tablewright.systems.servicedesk.app.desk_app import app as servicedesk
from tablewright.systems.servicedesk.model import Ticket as DeskTicket
from tablewright.systems.support.app.support_app import app as support
from tablewright.systems.support.model import NOTE, Conversation, Event, Ticket
from tablewright.systems.tasks.app.tasks_app import app as tasks
from tablewright.systems.tasks.model import Assignment, Comment, Task, User
from tablewright.ui.applications import Application

pytestmark = pytest.mark.requirement("AP2")

_AT = datetime(2026, 11, 18, 12, tzinfo=UTC)


def made(kind: type[Entity], **values: Any) -> Entity:
    return sample(kind).model_copy(update=values)


def concerned(
    application: Application,
    before: Entity | None,
    after: Entity | None,
    watched: Collection[str] = (),
    *,
    may: Collection[str] = (),
) -> bool:
    """Whether a change concerns ada, who may make some calls."""
    api = SimpleNamespace(may=lambda *calls: set(calls) <= set(may))
    page = SimpleNamespace(user_id="ada", api_of=lambda system: api)
    assert application.concerns is not None
    return application.concerns(page, frozenset(watched), before, after)


def test_of_tasks_those_who_have_them_and_of_comments_those_who_create_tasks_too() -> None:
    task, comment = made(Task, task_id="t-1"), made(Comment, task_id="t-1")
    for person, is_concerned in (("ada", True), ("grace", False)):
        given = made(Assignment, task_id="t-1", assigned_to=person)
        assert concerned(tasks, None, given) is concerned(tasks, given, None) is is_concerned
    for each in (task, comment):
        assert concerned(tasks, each, each, ["t-1"])
        assert not concerned(tasks, each, each, ["t-2"])
    assert concerned(tasks, None, comment, may=["create_task"])
    assert not concerned(tasks, None, task, may=["create_task"])
    assert not concerned(tasks, None, made(User), ["t-1"])


def test_desk_tickets_concern_their_assignees_and_those_who_watch_them() -> None:
    mine, other = (made(DeskTicket, ticket_id=UUID(int=1), assignee=person) for person in ("ada", "sam"))
    assert concerned(servicedesk, mine, other)
    assert concerned(servicedesk, other, mine)
    assert not concerned(servicedesk, None, other)
    assert concerned(servicedesk, other, other, [str(UUID(int=1))])


def test_support_tickets_concern_the_customer_and_the_helpers() -> None:
    ticket = made(Ticket, ticket_id="k-1", customer_id="cust_1", assigned_to=None)
    assert concerned(support, None, ticket.model_copy(update={"customer_id": "ada"}))
    assert concerned(support, ticket.model_copy(update={"assigned_to": "ada"}), ticket)
    assert not concerned(support, None, ticket, may=["tickets"])
    asks, answered = (
        Conversation(ticket_id="k-1", last_message_at=_AT, is_answered=is_answered) for is_answered in (False, True)
    )
    # Who waits for an answer concerns all who help.
    for before, after in ((None, asks), (asks, answered), (answered, asks)):
        assert concerned(support, before, after, may=["tickets"])
        assert not concerned(support, before, after)
        assert concerned(support, before, after, ["k-1"])
    assert not concerned(support, asks, asks, may=["tickets"])
    assert concerned(support, None, made(Event, ticket_id="k-1"), ["k-1"])
    happened = made(Event, ticket_id="k-1", event_type="status_changed")
    assert not concerned(support, None, happened, may=["tickets"])
    # Perhaps of a ticket that somebody has solved, who is told of it all the same.
    assert concerned(support, None, made(Event, ticket_id="k-1", event_type=NOTE), may=["tickets"])


def test_of_programs_their_approval_and_not_what_a_run_writes() -> None:
    program = made(Program)
    assert concerned(engagement, None, program)
    assert not concerned(engagement, None, made(Candidate))
    assert not concerned(engagement, made(Run), made(Run))


def test_calls_concern_those_who_have_or_had_them() -> None:
    mine, other = (made(Call, user_id=person) for person in ("ada", "grace"))
    assert concerned(calls, mine, other)
    assert concerned(calls, None, mine)
    assert not concerned(calls, None, other)
    assert not concerned(calls, None, made(BookedDay, person_id="ada"))
