"""What `plan` says of a write is what a call of a service is charged, with the reads that it is based on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from tablewright.design.design_loading import load
from tablewright.design.sample_entities import sample
from tablewright.model import attr
from tablewright.runtime.audit import AuditEntry
from tablewright.runtime.idempotency import UNKEYED
from tablewright.runtime.identity.access import Caller
from tablewright.runtime.identity.deny_list import DenyList
from tablewright.runtime.identity.people import People
from tablewright.systems.calls.model import Status as CallStatus
from tablewright.systems.calls.service import Basis, Calls, NewCall
from tablewright.systems.engagement.configuration import Configuration
from tablewright.systems.engagement.consent.customer_preferences import patched
from tablewright.systems.engagement.entities.program_entities import Approval, ApprovalState
from tablewright.systems.engagement.entities.run_entities import RunState
from tablewright.systems.engagement.model import Candidate, Program
from tablewright.systems.engagement.runs.run_records import Ledger
from tablewright.systems.engagement.service import Engagement
from tablewright.systems.servicedesk.caller_ids import CallerIds
from tablewright.systems.servicedesk.model import Priority as TicketPriority
from tablewright.systems.servicedesk.model import Status as TicketStatus
from tablewright.systems.servicedesk.service import ServiceDesk
from tablewright.systems.support.model import Priority as SupportPriority
from tablewright.systems.support.model import Status as SupportStatus
from tablewright.systems.support.service import Support
from tablewright.systems.tasks.model import Group, Priority, Task, User, UserStatus
from tablewright.systems.tasks.model import Status as TaskStatus
from tablewright.systems.tasks.service import Tasks
from tablewright.systems.unreadable_log import UnreadableLog
from tests.systems.charged_calls import ChargedCalls
from tests.systems.engagement.engagement_fixtures import program

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


async def use_service_desk(calls: ChargedCalls) -> None:
    desk = ServiceDesk(await calls.store(NOW.timestamp), CallerIds(b"secret"), NOW.timestamp)
    ticket = (await calls.of("create ticket", desk.create("caller", "it does not start", UNKEYED))).ticket
    await calls.of("add comment", desk.add_comment(ticket.ticket_id, "restarted", UNKEYED))
    await calls.of("answer", desk.add_comment(ticket.ticket_id, "try this", UNKEYED, is_answer=True))
    await calls.of("assign", desk.assign(ticket.ticket_id, "sam"))
    await calls.of("set priority", desk.set_priority(ticket.ticket_id, TicketPriority.P1))
    comment = desk.add_comment(ticket.ticket_id, "sam, look", UNKEYED, is_answer=True)
    await calls.of("comment on assigned ticket", comment)
    await desk.assign(ticket.ticket_id, None)
    await calls.of("take", desk.take(ticket.ticket_id))
    await calls.of("change status", desk.change_status(ticket.ticket_id, TicketStatus.RESOLVED))


async def use_support(calls: ChargedCalls) -> None:
    support = Support(await calls.store(NOW.timestamp), NOW.timestamp)
    ticket = await calls.of("create ticket", support.create_ticket("cust_1", "it leaks", UNKEYED))
    await calls.of("change status", support.change_status(ticket.ticket_id, SupportStatus.PROCESSING, by="op_1"))
    await calls.of("escalate", support.escalate(ticket.ticket_id, reason="hot", engineer="eng_1", by="op_1"))
    await calls.of("reassign", support.escalate(ticket.ticket_id, reason="hot", engineer="eng_2", by="op_1"))
    await calls.of("assign", support.assign(ticket.ticket_id, "eng_3", by="op_1"))
    await calls.of("set priority", support.set_priority(ticket.ticket_id, SupportPriority.HIGH, by="op_1"))
    message = support.send_message(ticket.ticket_id, "hello", UNKEYED, customer_id=ticket.customer_id, by="op_1")
    await calls.of("send message", message)
    await calls.of("add note", support.add_note(ticket.ticket_id, "a note", UNKEYED, by="op_1"))
    await calls.of("attach data", support.attach(ticket.ticket_id, "a log"))
    await calls.of("add event", support.add_event(ticket.ticket_id, "called", {}, by="op_1"))
    await calls.of(
        "give feedback",
        support.feedback.give(ticket.ticket_id, UNKEYED, about="op_1", rating=5, by="cust_1"),
    )
    session = await calls.of("begin session", support.begin_session("u-1"))
    await calls.of("end session", support.end_session(session.session_id))
    await calls.of("cache", support.cache("key", {}))
    await calls.of("forget", support.forget("key"))


async def use_calls(calls: ChargedCalls) -> None:
    service = Calls(await calls.store(NOW.timestamp), NOW.timestamp)
    new = NewCall("u-1", "p-1", NOW + timedelta(hours=1), call_id="c-1")
    call = await calls.of("create call", service.create(new, UNKEYED))
    call = await calls.of("change provider", service.change_provider("c-1", "p-2", basis=Basis(call.version)))
    later = NOW + timedelta(days=2)
    call = await calls.of("reschedule", service.reschedule("c-1", later, basis=Basis(call.version)))
    call = await calls.of("reassign", service.reassign("c-1", "u-2", basis=Basis(call.version)))
    done = service.change_status("c-1", CallStatus.COMPLETED, basis=Basis(call.version))
    call = await calls.of("complete", done)
    await calls.of("delete call", service.cancel("c-1", basis=Basis(call.version), may_delete=True))
    another = await service.create(new, UNKEYED)
    await calls.of("cancel", service.cancel("c-1", basis=Basis(another.version)))
    await calls.of("change calendar settings", service.settings.remind("u-1", "u-1@example.org", 60))


async def use_tasks(calls: ChargedCalls) -> None:
    store = await calls.store(NOW.timestamp)
    people = People(store, DenyList(store), [], NOW.timestamp, lambda: "https://hub.example.org/app")
    tasks = Tasks(store, NOW.timestamp, invitation=people.invitation)
    admin = Caller("boss", "boss@example.com", frozenset({"tasks:Admins"}))
    member = Caller("sam", "sam@example.com", frozenset({"tasks:Members"}))
    create = tasks.create_user("sam", "sam@example.com", frozenset({Group("Members")}), UNKEYED, admin=admin)
    await calls.of("create user", create)
    task = await calls.of("create task", tasks.create("title", "text", Priority("HIGH"), UNKEYED, admin=admin))
    await calls.of("assign", tasks.assign(task.task_id, "sam", UNKEYED, admin=admin))
    await calls.of("change details", tasks.change(task.task_id, [attr(Task.title).set("another")], admin=admin))
    await calls.of("change status", tasks.change_status(task.task_id, TaskStatus("IN_PROGRESS"), caller=member))
    comment = tasks.additions.add_comment(task.task_id, "done soon", UNKEYED, caller=member)
    await calls.of("add comment", comment)
    attach = tasks.additions.attach(task.task_id, "a.txt", "text/plain", b"abc", UNKEYED, caller=member)
    attachment = await calls.of("attach", attach)
    await calls.of("detach", tasks.additions.detach(task.task_id, attachment.attachment_id, caller=member))
    await calls.of("unassign", tasks.unassign(task.task_id, "sam"))
    email = [attr(User.email).set("samuel@example.com")]
    await calls.of("change user", tasks.change_user("sam", email, UNKEYED, admin=admin))
    gone = [attr(User.user_status).set(UserStatus.DEACTIVATED)]
    await calls.of("deactivate user", tasks.change_user("sam", gone, UNKEYED, admin=admin))
    back = [attr(User.user_status).set(UserStatus.ACTIVE)]
    await calls.of("reactivate user", tasks.change_user("sam", back, UNKEYED, admin=admin))


async def use_engagement(calls: ChargedCalls) -> None:
    store = await calls.store(NOW.timestamp)
    engagement = Engagement(store, NOW.timestamp, lambda configuration: None)
    schedules = {"batchSchedule": "0 6 * * *", "deliverySchedule": "0 9 * * *"}
    configuration = Configuration.model_validate(program(**schedules))
    await calls.of("put program", engagement.put_program("p", "US", configuration, by="ada"))
    wants = engagement.preferences.change("c-1", patched({"opted_out": True}), by="ada")
    await calls.of("change preferences", wants)
    for write in ("reject", "delete candidate"):
        candidate = await store.put(sample(Candidate).model_copy(update={"ttl": None, "version": 0}))
        place = candidate.customer_id, candidate.program_id, candidate.marketplace_id, candidate.subject
        if write == "reject":
            await calls.of(write, engagement.reject(*place, reason="by hand"))
            await engagement.delete(*place)
        else:
            await calls.of(write, engagement.delete(*place))


def use_runs(calls: ChargedCalls) -> None:
    """Runs of a program, which are carried out by threads."""
    now = NOW
    ledger = Ledger(calls.blocking_store(lambda: now.timestamp()), lambda: now, UnreadableLog("engagement"))
    configuration = Configuration.model_validate(program())
    values = {name: getattr(configuration, name) for name in Configuration.model_fields}
    approved = Approval(state=ApprovalState.APPROVED)
    ours = Program(program_id="p", marketplace_id="US", approval=approved, **(values | {"enabled": True}))
    ledger._store.put(ours)
    held = calls.of_blocking("begin run", lambda: ledger.begin(ours))
    run = calls.of_blocking("request run stop", lambda: ledger.request(held.run, "stop"))
    now += timedelta(hours=1)
    held = calls.of_blocking("take over run", lambda: ledger.take_over(held.slot))
    calls.of_blocking("end run", lambda: ledger.end(held, RunState.STOPPED))
    run = ledger.get(run)
    calls.of_blocking("resume run", lambda: ledger.resume(run))


USES: dict[str, Callable[[ChargedCalls], Awaitable[None]]] = {
    "servicedesk": use_service_desk,
    "support": use_support,
    "engagement": use_engagement,
    "calls": use_calls,
    "tasks": use_tasks,
}


# Writes that no call makes by itself: of consumers, of mail, of runs and deliveries, and with an idempotency key. They
# are compared in tests/design/cost/test_charges_of_systems.py.
ELSEWHERE: dict[str, set[str]] = {
    "servicedesk": {"keep response"},
    "support": {"count"},
    "calls": {
        "record reminder",
        "remind",
        "claim mail",
        "record mail",
        "queue mail",
        "settle mail",
        "complete mail",
        "keep response",
    },
    "tasks": {
        "publish event",
        "claim mail",
        "record mail",
        "queue mail",
        "settle mail",
        "complete mail",
        "keep response",
    },
    "engagement": {
        "write candidates",
        "retry customers",
        "wait for model",
        "refresh candidate",
        "cache scores",
        "claim delivery",
        "take over claim",
        "release claim",
        "retry delivery",
        "finish delivery",
        "begin run",
        "take over run",
        "resume run",
        "request run stop",
        "order deliveries",
        "advance schedule",
        "end run",
        "delete failed customers",
        "delete run",
        "claim mail",
        "record mail",
        "keep response",
    },
}


@pytest.mark.requirement("X5")
@pytest.mark.parametrize("system", USES)
def test_a_call_is_charged_what_is_planned_for_its_write(system: str) -> None:
    (design,) = load(f"tablewright.systems.{system}")
    # A configuration is in the audit as well.
    calls = ChargedCalls(design, {AuditEntry: 1_500} if system == "engagement" else {})

    async def use() -> None:
        await USES[system](calls)

    asyncio.run(use())
    assert {*design.writes} - {*calls.written} <= ELSEWHERE[system]
    calls.check()


def test_what_becomes_of_a_run_is_charged_as_planned() -> None:
    (design,) = load("tablewright.systems.engagement")
    calls = ChargedCalls(design)
    use_runs(calls)
    calls.check()
