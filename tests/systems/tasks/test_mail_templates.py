"""What mail about tasks says, word for word."""

from __future__ import annotations

from datetime import date

import pytest

from tablewright.systems.tasks import mail_templates
from tablewright.systems.tasks.model import Group, Priority, Status, Task, User

TASK = Task(
    task_id="t-1",
    title="Fix the login page",
    description="It asks for the password twice.",
    priority=Priority.HIGH,
    created_by="ada",
    updated_by="ada",
)
GRACE = User(user_id="grace", email="grace@example.org", groups=frozenset({Group.MEMBERS}))
ADA = User(user_id="ada", email="ada@example.org", groups=frozenset({Group.ADMINS}))


def test_an_assignment() -> None:
    letter = mail_templates.assigned(TASK, GRACE, "ada")
    assert (letter.recipient, letter.subject) == ("grace@example.org", "Assigned to you: Fix the login page")
    assert letter.text == (
        "A task was assigned to you: Fix the login page\n\n"
        "Priority:     HIGH\n"
        "Status:       OPEN\n"
        "Assigned by:  ada\n"
        "Task:         t-1\n\n"
        "It asks for the password twice.\n\n"
        "-- \nYou are receiving this because the task was assigned to you.\n"
    )
    assert "Assigned by:  you\n" in mail_templates.assigned(TASK, ADA, "ada").text


def test_where_there_are_screens_mail_leads_back_to_the_task() -> None:
    app_url = "https://hub.example.org/app"
    letters = (
        mail_templates.assigned(TASK, GRACE, "ada", app_url),
        mail_templates.status_changed(TASK, ADA, "OPEN", "IN_PROGRESS", "grace", app_url),
    )
    for letter in letters:
        assert "Task:         https://hub.example.org/app/tasks/list/t-1\n" in letter.text
    due = TASK.model_copy(update={"due": date(2027, 1, 31)})
    assert "Due:          2027-01-31\n" in mail_templates.assigned(due, GRACE, "ada").text


def test_a_status() -> None:
    letter = mail_templates.status_changed(TASK, ADA, "OPEN", "IN_PROGRESS", "grace")
    assert (letter.recipient, letter.subject) == ("ada@example.org", "In progress: Fix the login page")
    assert letter.text == (
        "A task is in progress: Fix the login page\n\n"
        "Status:       IN_PROGRESS (before: OPEN)\n"
        "Changed by:   grace\n"
        "Task:         t-1\n\n"
        "-- \nYou are receiving this because you created the task.\n"
    )
    own = mail_templates.status_changed(TASK, GRACE, "OPEN", "IN_PROGRESS", "grace").text
    assert "Changed by:   you\n" in own
    assert own.endswith("You are receiving this because the task is assigned to you.\n")


@pytest.mark.parametrize("status", list(Status))
def test_every_status_has_words(status: Status) -> None:
    assert mail_templates.status_changed(TASK, GRACE, "OPEN", status, "ada").text
