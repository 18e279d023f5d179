"""The systems under the policies that are made for them: every request that their services send is allowed."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tablewright.design import iam
from tablewright.design.design_loading import load
from tablewright.design.iam.policy_evaluation import is_allowed
from tablewright.model import attr
from tablewright.runtime.idempotency import UNKEYED
from tablewright.runtime.identity.access import Caller
from tablewright.store import AsyncStore
from tablewright.systems.calls.model import Status as CallStatus
from tablewright.systems.calls.service import Basis, Calls, NewCall
from tablewright.systems.servicedesk.caller_ids import CallerIds
from tablewright.systems.servicedesk.model import Status as TicketStatus
from tablewright.systems.servicedesk.service import ServiceDesk
from tablewright.systems.tasks.model import Group, Priority, Task, User, UserStatus
from tablewright.systems.tasks.model import Status as TaskStatus
from tablewright.systems.tasks.service import Tasks
from tests.design.iam.permissions import ARN, allowed, asked_by

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


async def use_service_desk(store: AsyncStore) -> None:
    desk = ServiceDesk(store, CallerIds(b"secret"), NOW.timestamp)
    written = await desk.create("caller", "it does not start", UNKEYED)
    ticket_id: UUID = written.ticket.ticket_id
    await desk.get(ticket_id)
    await desk.add_comment(ticket_id, "restarted", UNKEYED)
    await desk.of_caller("caller")
    await desk.of_caller("caller", open_only=True)
    await desk.change_status(ticket_id, TicketStatus.IN_PROGRESS)


async def use_calls(store: AsyncStore) -> None:
    calls = Calls(store, NOW.timestamp)
    new = NewCall("u-1", "p-1", NOW + timedelta(hours=1), call_id="c-1")
    call = await calls.create(new, UNKEYED)
    await calls.create(new, UNKEYED)
    await calls.get("c-1")
    await calls.of_user("u-1")
    await calls.of_provider("p-1")
    await calls.upcoming("u-1")
    await calls.next_scheduled("u-1")
    call = await calls.change_provider("c-1", "p-2", basis=Basis(call.version))
    call = await calls.reschedule("c-1", NOW + timedelta(hours=2), basis=Basis(call.version))
    call = await calls.reassign("c-1", "u-2", basis=Basis(call.version))
    call = await calls.change_status("c-1", CallStatus.COMPLETED, basis=Basis(call.version))
    await calls.completed("u-2")
    await calls.last_completed("u-2")
    call = await calls.change_status("c-1", CallStatus.SCHEDULED, basis=Basis(call.version))
    call = await calls.change_status("c-1", CallStatus.CANCELLED, basis=Basis(call.version))
    await calls.cancel("c-1", basis=Basis(call.version), may_delete=True)


async def use_tasks(store: AsyncStore) -> None:
    tasks = Tasks(store, NOW.timestamp)
    admin = Caller("boss", "boss@example.com", frozenset({"tasks:Admins"}))
    member = Caller("sam", "sam@example.com", frozenset({"tasks:Members"}))
    await tasks.create_user("sam", "sam@example.com", frozenset({Group("Members")}), UNKEYED, admin=admin)
    await tasks.admit(member)
    task = await tasks.create("title", "description", Priority("HIGH"), UNKEYED, admin=admin)
    await tasks.assign(task.task_id, "sam", UNKEYED, admin=admin)
    await tasks.full(task.task_id)
    await tasks.assignments(task.task_id)
    await tasks.of_user("sam")
    await tasks.by_status(TaskStatus("OPEN"))
    await tasks.by_status(TaskStatus("OPEN"), newest_first=True)
    await tasks.change(task.task_id, [attr(Task.title).set("another")], admin=admin)
    await tasks.change_status(task.task_id, TaskStatus("IN_PROGRESS"), caller=member)
    await tasks.unassign(task.task_id, "sam")
    await tasks.user("sam", caller=member)
    await tasks.users(UserStatus("ACTIVE"))
    await tasks.change_user("sam", [attr(User.email).set("samuel@example.com")], UNKEYED, admin=admin)


USES = {"servicedesk": use_service_desk, "calls": use_calls, "tasks": use_tasks}


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("name", USES)
def test_a_system_may_do_all_that_it_does(name: str) -> None:
    system = f"tablewright.systems.{name}"
    (design,) = load(system)
    policy = iam.document(iam.grants(design, "api"), ARN)
    asked = asked_by(system, USES[name])
    assert asked
    assert [each for each in sorted(asked) if not is_allowed(policy, *each)] == []


@pytest.mark.requirement("SD9")
def test_the_service_desk_may_do_no_more_than_it_does() -> None:
    (design,) = load("tablewright.systems.servicedesk")
    granted = allowed(iam.document(iam.grants(design, "api"), ARN))
    table = "arn:aws:dynamodb:us-east-1:123456789012:table/poc-itsm-tickets"
    # Query on the table gives the very items that GetItem gives: it has no sort key.
    assert granted - asked_by("tablewright.systems.servicedesk", use_service_desk) == {("dynamodb:Query", table)}
