"""Demo data: the tasks of a team of three, in every status."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from tablewright.model import attr
from tablewright.runtime import Caller, DemoUser, OnProgress, Responder, Runtime, StateConflict
from tablewright.runtime.idempotency import UNKEYED
from tablewright.runtime.identity.actor import Actor, acting
from tablewright.systems.tasks.model import Comment, Priority, Status, Task
from tablewright.systems.tasks.service import Tasks, groups_of

__all__ = ["fill"]

# In the order in which a task goes through them.
_STATUSES = (Status.OPEN, Status.IN_PROGRESS, Status.COMPLETED, Status.CLOSED)


@dataclass(frozen=True)
class _ToDo:
    """A task, its assignees, and in how many days it is due."""

    title: str
    text: str
    priority: Priority
    assignees: tuple[str, ...] = ()
    status: Status = Status.OPEN
    days: int = 7
    # The comments: author and text.
    said: tuple[tuple[str, str], ...] = ()


_TASKS = (
    _ToDo(
        "Fix the login page",
        "It asks for the password twice.",
        Priority.HIGH,
        ("grace",),
        Status.IN_PROGRESS,
        1,
        (
            ("grace", "Only in private windows: the cookie is refused there."),
            ("ada", "Thank you. Is Friday realistic?"),
        ),
    ),
    _ToDo("Deploy the new release", "On Thursday, after the backup.", Priority.MEDIUM, ("grace", "linus"), days=4),
    _ToDo("Write the release notes", "What changed for users, in plain words.", Priority.LOW, days=12),
    _ToDo(
        "Renew the shop's certificate",
        "It expires this month.",
        Priority.HIGH,
        ("linus",),
        days=2,
        said=(("linus", "The order is placed."),),
    ),
    _ToDo("Try a restore from last night's backup", "Into a table of its own, and compare.", Priority.MEDIUM, days=6),
    _ToDo("Answer the auditors' questions", "The list is attached to their mail.", Priority.LOW, ("ada",), days=20),
    _ToDo(
        "Find out why the nightly report is late",
        "It came at nine instead of six, three times this week.",
        Priority.MEDIUM,
        ("linus",),
        Status.IN_PROGRESS,
        0,
        (("linus", "One customer has ten times as many rows as all others."),),
    ),
    _ToDo(
        "Move the metrics to the new table",
        "Without a gap in the charts.",
        Priority.HIGH,
        ("grace",),
        Status.IN_PROGRESS,
    ),
    _ToDo(
        "Load test with two processes",
        "Twice the traffic of December.",
        Priority.MEDIUM,
        ("linus",),
        Status.COMPLETED,
        0,
    ),
    _ToDo("Italian texts for the start page", "With Giulia from sales.", Priority.LOW, ("grace",), Status.COMPLETED, 3),
    _ToDo("Sign-in for new members", "Invitations by mail.", Priority.MEDIUM, ("grace", "linus"), Status.CLOSED, 0),
)


async def fill(runtime: Runtime, tasks: Tasks, users: Sequence[DemoUser], on_progress: OnProgress) -> None:
    """Fill in the demo data; what an interrupted fill has left stays unchanged."""
    callers = {
        user.user_id: Caller(user.user_id, user.email, frozenset(role.name for role in user.roles)) for user in users
    }
    ada = callers["ada"]
    total = len(users) + len(_TASKS)
    for number, user in enumerate(users, 1):
        with suppress(StateConflict):
            groups = groups_of(user.roles)
            await tasks.create_user(user.user_id, user.email or "", groups, UNKEYED, admin=ada, invites=False)
        on_progress("users and tasks", number, total)
    for number, todo in enumerate(_TASKS, 1):
        await _fill_one(runtime, tasks, number, todo, callers)
        on_progress("users and tasks", len(users) + number, total)


async def _fill_one(runtime: Runtime, tasks: Tasks, number: int, todo: _ToDo, callers: dict[str, Caller]) -> None:
    ada = callers["ada"]
    responder = Responder(_task_id, ada.user_id, f"demo-{number}")
    made = await tasks.create(todo.title, todo.text, todo.priority, responder, admin=ada)
    task = await tasks.get(made, consistent=True)
    acting.set(Actor("ada", "change_task"))
    if task.due is None:
        due = runtime.now().date() + timedelta(days=todo.days)
        await tasks.change(task.task_id, [attr(Task.due).set(due)], admin=ada)
    acting.set(Actor("ada", "assign_task"))
    for user_id in todo.assignees:
        with suppress(StateConflict):
            await tasks.assign(task.task_id, user_id, UNKEYED, admin=ada)
    for place, (user_id, text) in enumerate(todo.said, 1):
        acting.set(Actor(user_id, "add_comment"))
        said = Responder(_comment_id, user_id, f"demo-{number}-{place}")
        await tasks.additions.add_comment(task.task_id, text, said, caller=callers[user_id])
    acting.set(Actor("ada", "change_status"))
    for status in _STATUSES[_STATUSES.index(task.status) + 1 : _STATUSES.index(todo.status) + 1]:
        await tasks.change_status(task.task_id, status, caller=ada)


def _task_id(task: Task) -> str:
    return task.task_id


def _comment_id(comment: Comment) -> str:
    return comment.comment_id
