"""What follows from changes of tasks: events, and mail because of them.

TaskManagement's stream ──▶ tasks.events ──▶ events ──▶ tasks.mail ──▶ assignees, and whoever created the task

TaskCreated         taskId, createdBy, title, priority
TaskAssigned        taskId, userId, assignedBy
TaskStatusUpdated   taskId, oldStatus, newStatus, updatedBy
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tablewright.runtime.events import Event, events_in, published, publisher
from tablewright.runtime.mail import Letter
from tablewright.runtime.system import Runtime
from tablewright.runtime.tables import events_table
from tablewright.runtime.workers import Consuming
from tablewright.store import AnyChange, Change, ChangeKind, Effects, LimitExceeded, Store, wanting
from tablewright.systems.tasks import letters
from tablewright.systems.tasks.model import Assignment, FullTask, Task, User, UserStatus, task_management

SOURCE = "tasks"
_MAILED = ("TaskAssigned", "TaskStatusUpdated")
# A place in the stream is noted after so many events that mail is sent about; each message may take seconds.
_MAILED_AT_ONCE = 10


def consumers(runtime: Runtime) -> list[Consuming]:
    """The consumers of this system."""
    metrics = runtime.metrics
    publish = publisher(SOURCE, events_of, lambda type_: metrics.of(metrics.events, type_).inc())

    def send(changes: Sequence[AnyChange], effects: Effects) -> None:
        events = events_in(changes)
        if len(events) > _MAILED_AT_ONCE:
            # The batch is cut in halves, until they are few enough.
            raise LimitExceeded(f"mail is sent about {_MAILED_AT_ONCE} events at once")
        for event in events:
            runtime.mailer.settle(event, letters_about(runtime.blocking, event), effects)

    return [
        # Half of what a transaction takes: each change gives one event at most.
        Consuming("tasks.events", task_management, publish, batch_size=50, wanted=wanting(Task, Assignment)),
        Consuming("tasks.mail", events_table, send, wanted=published(SOURCE, _MAILED)),
    ]


def events_of(change: AnyChange) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events that follow from a change."""
    if not isinstance(change, Change):
        return
    before, after = change.before, change.after
    if isinstance(after, Task) and change.kind is ChangeKind.INSERT:
        detail = {"createdBy": after.created_by, "title": after.title, "priority": after.priority}
        yield "TaskCreated", {"taskId": after.task_id, **detail}
    elif isinstance(after, Task) and isinstance(before, Task) and before.status is not after.status:
        detail = {"oldStatus": before.status, "newStatus": after.status, "updatedBy": after.updated_by}
        yield "TaskStatusUpdated", {"taskId": after.task_id, **detail}
    elif isinstance(after, Assignment) and change.kind is ChangeKind.INSERT:
        yield (
            "TaskAssigned",
            {"taskId": after.task_id, "userId": after.assigned_to, "assignedBy": after.assigned_by},
        )


def letters_about(store: Store, event: Event) -> Iterator[Letter]:
    """The letters that an event gives rise to, to active users only and to nobody twice."""
    detail = event.detail
    if event.type == "TaskAssigned":
        task = store.get(Task.by_id(task_id=detail["taskId"]), consistent=True)
        if task is not None:
            for user in _active(store, [detail["userId"]]):
                yield letters.assigned(task, user, detail["assignedBy"])
    elif event.type == "TaskStatusUpdated":
        full = store.collect(FullTask.of_task(task_id=detail["taskId"]), consistent=True)
        if full is not None:
            concerned = [*(each.assigned_to for each in full.assignments), full.task.created_by]
            for user in _active(store, concerned):
                yield letters.status_changed(
                    full.task, user, detail["oldStatus"], detail["newStatus"], detail["updatedBy"]
                )


def _active(store: Store, user_ids: Iterable[str]) -> list[User]:
    lookups = [User.by_id(user_id=user_id) for user_id in dict.fromkeys(user_ids)]
    users = store.get_many(lookups, consistent=True)
    return [user for user in users if user is not None and user.user_status is UserStatus.ACTIVE]
