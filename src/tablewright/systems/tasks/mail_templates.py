"""The texts of mail about tasks: plain text, with what happened in the first line."""

from __future__ import annotations

from urllib.parse import quote

from tablewright.runtime import Message
from tablewright.systems.tasks.model import Status, Task, User

_HAPPENED = {
    Status.OPEN: ("Open again", "A task was reopened"),
    Status.IN_PROGRESS: ("In progress", "A task is in progress"),
    Status.COMPLETED: ("Completed", "A task is completed"),
    Status.CLOSED: ("Closed", "A task is closed"),
}


def assigned(task: Task, recipient: User, assigned_by: str, app_url: str | None = None) -> Message:
    """To a new assignee, with a link to the task if there are screens."""
    text = f"""\
A task was assigned to you: {task.title}

Priority:     {task.priority}
Status:       {task.status}
Assigned by:  {_who(assigned_by, recipient)}
{_due(task)}Task:         {_where(task, app_url)}

{task.description}
{_footer("the task was assigned to you")}"""
    return Message(recipient.email, f"Assigned to you: {task.title}", text)


def status_changed(
    task: Task, recipient: User, before: str, after: str, updated_by: str, app_url: str | None = None
) -> Message:
    """To the creator and the assignees of a task."""
    subject, happened = _HAPPENED[Status(after)]
    text = f"""\
{happened}: {task.title}

Status:       {after} (before: {before})
Changed by:   {_who(updated_by, recipient)}
Task:         {_where(task, app_url)}
{_footer("you created the task" if recipient.user_id == task.created_by else "the task is assigned to you")}"""
    return Message(recipient.email, f"{subject}: {task.title}", text)


def _who(user_id: str, recipient: User) -> str:
    return "you" if user_id == recipient.user_id else user_id


def _where(task: Task, app_url: str | None) -> str:
    return task.task_id if app_url is None else f"{app_url}/tasks/list/{quote(task.task_id, safe='')}"


def _due(task: Task) -> str:
    return "" if task.due is None else f"Due:          {task.due}\n"


def _footer(reason: str) -> str:
    return f"\n-- \nYou are receiving this because {reason}.\n"
