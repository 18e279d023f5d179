"""Events derived from changes of tasks, and mail about the events.

TaskManagement's stream ──▶ tasks.events ──▶ events ──▶ tasks.mail ──▶ assignees, and the task's creator

TaskCreated         taskId, createdBy, title, priority
TaskAssigned        taskId, userId, assignedBy
TaskStatusUpdated   taskId, oldStatus, newStatus, updatedBy

A change of an unreadable item becomes a dead letter. So does an event whose mail needs such an item, after all other
recipients got theirs; when it is retried, after the item was repaired, no recipient gets mail twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tablewright.runtime import ConsumerSpec, Event, Message, Runtime, publisher
from tablewright.runtime.events.event_log import event_filter, events_in
from tablewright.runtime.internal_tables import events_table
from tablewright.store import (
    AnyChange,
    Change,
    ChangeKind,
    Effects,
    TolerantReader,
    Unreadable,
    entity_filter,
)
from tablewright.systems.tasks import mail_templates
from tablewright.systems.tasks.model import Assignment, FullTask, Task, User, UserStatus, task_management
from tablewright.systems.unreadable_log import UnreadableLog

SOURCE = "tasks"
_MAILED = ("TaskAssigned", "TaskStatusUpdated")
# The most mailed events between two checkpoints, as each message may take seconds.
_EVENTS_PER_CHECKPOINT = 10


def consumers(runtime: Runtime, unreadable_log: UnreadableLog | None = None) -> list[ConsumerSpec]:
    """The consumers of this system."""
    metrics = runtime.metrics
    reader = TolerantReader(runtime.consumer_store, (unreadable_log or UnreadableLog(SOURCE)).add)
    mailer = runtime.mailer.on(runtime.consumer_store)
    publish = publisher(SOURCE, events_of, lambda type_: metrics.of(metrics.events, type_).inc())

    def send(changes: Sequence[AnyChange], effects: Effects) -> None:
        for event in events_in(changes):
            mailer.send_all(event, messages_about(reader, event, runtime.app_url), effects)

    return [
        # Half of what a transaction can hold: each change yields at most one event.
        ConsumerSpec(
            "tasks.events", task_management, publish, batch_size=50, change_filter=entity_filter(Task, Assignment)
        ),
        ConsumerSpec(
            "tasks.mail",
            events_table,
            send,
            role="notifications",
            change_filter=event_filter(SOURCE, _MAILED),
            max_changes=_EVENTS_PER_CHECKPOINT,
        ),
    ]


def events_of(change: AnyChange) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events derived from a change."""
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


def messages_about(reader: TolerantReader, event: Event, app_url: str | None = None) -> Iterator[Message]:
    """The messages about an event, one for each active user; ``app_url`` is the base of links.

    Unreadable, after all messages that can be created, if there might be others.
    """
    detail = event.detail
    if event.type == "TaskAssigned":
        task = reader.one(Task.by_id(detail["taskId"]), consistent=True)
        if isinstance(task, Unreadable):
            raise task
        if task is not None:
            users, unreadable = _active(reader, [detail["userId"]])
            for user in users:
                yield mail_templates.assigned(task, user, detail["assignedBy"], app_url)
            _raise_first(unreadable)
    elif event.type == "TaskStatusUpdated":
        full, lost = reader.collect(FullTask.of_task(detail["taskId"]), consistent=True)
        if full is not None:
            concerned = [*(each.assigned_to for each in full.assignments), full.task.created_by]
            users, unreadable = _active(reader, concerned)
            for user in users:
                yield mail_templates.status_changed(
                    full.task, user, detail["oldStatus"], detail["newStatus"], detail["updatedBy"], app_url
                )
            _raise_first([*lost, *unreadable])


def _active(reader: TolerantReader, user_ids: Iterable[str]) -> tuple[list[User], list[Unreadable]]:
    """The active users, and the errors of those who cannot be read."""
    found = reader.each([User.by_id(user_id) for user_id in dict.fromkeys(user_ids)], consistent=True)
    active = [user for user in found if isinstance(user, User) and user.user_status is UserStatus.ACTIVE]
    return active, [error for error in found if isinstance(error, Unreadable)]


def _raise_first(errors: Sequence[Unreadable]) -> None:
    for error in errors:
        raise error
