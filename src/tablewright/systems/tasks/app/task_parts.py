"""Shared parts of the task views: a task as the API returns it, its pills, the dialogs to create and edit one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from tablewright.store import AnyChange
from tablewright.systems.tasks.model import Assignment, Attachment, Comment, Priority, Status, Task
from tablewright.ui.components import Tone, box, pill
from tablewright.ui.feedback import dialog, toast
from tablewright.ui.forms import Form
from tablewright.ui.live_changes import changed_entities
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import Texts

__all__ = ["OF_TASKS", "TaskBody", "changed_tasks", "due_pill", "edit_task", "new_task", "pills", "status_pill"]

TaskBody = dict[str, Any]
"""A task as the API returns it."""

OF_TASKS = (Task, Assignment, Comment, Attachment)
"""Entities that are a part of a task, as its screens show it."""

_STATUS_TONES: dict[str, Tone] = {"OPEN": "neutral", "IN_PROGRESS": "info", "COMPLETED": "good", "CLOSED": "violet"}
_PRIORITY_TONES: dict[str, Tone] = {"LOW": "neutral", "MEDIUM": "info", "HIGH": "bad"}


def status_pill(t: Texts, task: TaskBody) -> None:
    pill(t(f"tasks.is_{task['status']}"), _STATUS_TONES[task["status"]])


def due_pill(t: Texts, task: TaskBody) -> None:
    """The due date, while there is work to do."""
    if not task.get("due"):
        return
    day, today = date.fromisoformat(task["due"]), datetime.now(t.zone).date()
    if task["status"] in (Status.COMPLETED, Status.CLOSED):
        return
    if day < today:
        pill(t("tasks.overdue", day=t.day(day)), "bad", "clock")
    else:
        pill(t("tasks.due_on", day=t.day(day)), "warn" if (day - today).days <= 1 else "neutral", "clock")


def pills(t: Texts, task: TaskBody) -> None:
    with box("tw-row tw-wrap"):
        pill(t(f"tasks.{task['priority']}").lower(), _PRIORITY_TONES[task["priority"]])
        due_pill(t, task)


def changed_tasks(changes: Sequence[AnyChange]) -> set[str]:
    """The ids of the tasks that changes are about."""
    return {each.task_id for each in changed_entities(changes, *OF_TASKS)}


def new_task(page: Page) -> None:
    """The dialog that creates a task."""
    t = page.t

    async def create(values: dict[str, Any], key: str) -> None:
        body = {name: value for name, value in values.items() if value is not None}
        answer = await page.api.call("create_task", body=body, key=key)
        made.close()
        toast(t("tasks.created", title=answer.body["title"]))

    with dialog(t("tasks.new")) as made:
        form = Form(t, submit=create, action=t("tasks.create"), cancel=made.close)
        _fields(form, t, {"title": "", "description": "", "priority": Priority.MEDIUM})
        form.end()


def edit_task(page: Page, task: TaskBody, etag: str | None) -> None:
    """The dialog that changes a task, if it is still the version that was seen."""
    t = page.t

    async def change(values: dict[str, Any], _: str) -> None:
        changes = {name: value for name, value in values.items() if value != task.get(name)}
        if changes:
            await page.api.call("change_task", taskId=task["taskId"], body=changes, seen=etag)
            toast(t("tasks.changed"))
        made.close()

    with dialog(t("tasks.edit_title")) as made:
        form = Form(t, submit=change, action=t("shell.save"), cancel=made.close)
        _fields(form, t, task)
        form.end()


def _fields(form: Form, t: Texts, task: TaskBody) -> None:
    form.text("title", t("tasks.field_title"), value=task["title"], most=200, hint=t("tasks.field_title_hint"))
    form.text("description", t("tasks.field_description"), value=task["description"], lines=True, most=10_000)
    form.choice(
        "priority", t("tasks.priority"), {each: t(f"tasks.{each}") for each in Priority}, value=task["priority"]
    )
    form.text("due", t("tasks.due"), value=task.get("due") or "", kind="date", empty_is_none=True)
