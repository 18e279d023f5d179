"""Tasks as the runtime knows it (``system``): design, routes, service, consumers, and demo data."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from tablewright.model import attr
from tablewright.runtime import Caller, DemoUser, OnProgress, Responder, Runtime, StateConflict, System
from tablewright.runtime.idempotency import UNKEYED
from tablewright.runtime.identity.actor import Actor, acting
from tablewright.runtime.mail.event_mail import MailRetries
from tablewright.systems.tasks import handlers
from tablewright.systems.tasks.api import router
from tablewright.systems.tasks.model import Priority, Status, Task, design
from tablewright.systems.tasks.roles import ADMINS, MEMBERS, ROLES
from tablewright.systems.tasks.service import Tasks, groups_of
from tablewright.systems.tasks.tasks_search import SEARCH
from tablewright.systems.unreadable_log import UnreadableLog

__all__ = ["system"]

_USERS = (
    DemoUser("ada", (ADMINS,), "plans the work", "ada@example.org"),
    DemoUser("grace", (MEMBERS,), "has tasks to do", "grace@example.org"),
    DemoUser("linus", (MEMBERS,), "has tasks to do", "linus@example.org"),
)
# The last is in how many days each is due.
_TASKS = (
    ("Fix the login page", "It asks for the password twice.", Priority.HIGH, ("grace",), Status.IN_PROGRESS, 1),
    ("Deploy the new release", "On Thursday, after the backup.", Priority.MEDIUM, ("grace", "linus"), Status.OPEN, 4),
    ("Write the release notes", "What changed for users, in plain words.", Priority.LOW, (), Status.OPEN, 12),
)


def _service(runtime: Runtime) -> Tasks:
    unreadable_log = UnreadableLog("tasks", runtime.metrics, runtime.now)
    return Tasks(runtime.store, runtime.clock, unreadable_log, runtime.deny_list, runtime.people.invitation)


def _task_id(task: Task) -> str:
    return task.task_id


async def _demo(runtime: Runtime, tasks: Tasks, on_progress: OnProgress) -> None:
    """What is there already, after a fill that was cut short, stays as it is."""
    ada = Caller("ada", "ada@example.org", frozenset({ADMINS.name}))
    total = len(_USERS) + len(_TASKS)
    for number, user in enumerate(_USERS, 1):
        with suppress(StateConflict):
            groups = groups_of(user.roles)
            await tasks.create_user(user.user_id, user.email or "", groups, UNKEYED, admin=ada, invites=False)
        on_progress("users and tasks", number, total)
    for number, (title, text, priority, assignees, status, days) in enumerate(_TASKS, 1):
        responder = Responder(_task_id, ada.user_id, f"demo-{number}")
        task = await tasks.get(await tasks.create(title, text, priority, responder, admin=ada), consistent=True)
        acting.set(Actor("ada", "change_task"))
        if task.due is None:
            due = runtime.now().date() + timedelta(days=days)
            await tasks.change(task.task_id, [attr(Task.due).set(due)], admin=ada)
        acting.set(Actor("ada", "assign_task"))
        for user_id in assignees:
            with suppress(StateConflict):
                await tasks.assign(task.task_id, user_id, UNKEYED, admin=ada)
        acting.set(Actor("ada", "change_status"))
        if task.status is not status:
            await tasks.change_status(task.task_id, status, caller=ada)
        on_progress("users and tasks", len(_USERS) + number, total)


system = System(
    "tasks",
    "Tasks",
    "What a team has to do, who does it, and how far it is.",
    design,
    router,
    service=_service,
    roles=ROLES,
    admit=Tasks.admit,
    consumers=lambda runtime, service: handlers.consumers(runtime, service.unreadable_log),
    background=lambda runtime, service: [
        MailRetries(runtime.mailer.on(runtime.consumer_store), name="tasks.mail-retries", role="notifications")
    ],
    demo=_demo,
    demo_users=_USERS,
    search=SEARCH,
    screens="tablewright.systems.tasks.app.tasks_app",
)
