"""The screens of Tasks: board, list, mine, people (``app``); and what needs a user's attention, for the start page."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tablewright.model import Entity
from tablewright.systems.tasks.app.board_view import board
from tablewright.systems.tasks.app.people_view import people
from tablewright.systems.tasks.app.task_list_view import my_tasks, task_list
from tablewright.systems.tasks.app.tasks_texts import texts
from tablewright.systems.tasks.model import Assignment, Comment, Task
from tablewright.ui.applications import Application, Thing, Waiting
from tablewright.ui.screen_page import Page

__all__ = ["app"]

# The most tasks that are counted for the start page.
_MOST = 100

app = Application("tasks", title="tasks.title", icon="tasks", texts=texts)
app.view("/board", "/board/{task_id}", title="tasks.board", tab=True, needs=["list_tasks"])(board)
app.view("/list", "/list/{task_id}", title="tasks.list", tab=True, needs=["list_tasks"])(task_list)
app.view("/mine", "/mine/{task_id}", title="tasks.mine", tab=True, needs=["list_my_tasks"])(my_tasks)
app.view("/people", title="tasks.people", tab=True, needs=["list_users"])(people)
app.search = {"task": "/list/{task_id}", "comment": "/list/{task_id}", "person": "/people"}


async def waiting(page: Page) -> Sequence[Waiting]:
    """The user's tasks; and for those who assign tasks, the open ones."""
    t, api = page.t, page.api_of("tasks")
    found: list[Waiting] = []
    if api.may("list_my_tasks"):
        answer = await api.call("list_my_tasks", limit=_MOST)
        mine = [task for task in answer.body["tasks"] if task["status"] in ("OPEN", "IN_PROGRESS")]
        things = [
            Thing(task["title"], page.path_in("tasks", f"/mine/{task['taskId']}"), task["assignedAt"]) for task in mine
        ]
        own = [task["taskId"] for task in answer.body["tasks"]]
        path = page.path_in("tasks", "/mine")
        found.append(Waiting(t("tasks.waiting_mine"), len(mine), path, "info", things, True, own))
    if api.may("assign_task"):
        answer = await api.call("list_tasks", status="OPEN", newestFirst=True, limit=_MOST)
        tasks = answer.body["tasks"]
        things = [Thing(task["title"], page.path_in("tasks", f"/list/{task['taskId']}")) for task in tasks]
        found.append(Waiting(t("tasks.waiting_open"), len(tasks), page.path_in("tasks", "/board"), "neutral", things))
    return found


def concerns(page: Page, watched: Collection[str], before: Entity | None, after: Entity | None) -> bool:
    """Whether a change is of the user's own tasks; or is a comment, of which task creators may be notified too."""
    for each in (before, after):
        if isinstance(each, Assignment) and each.assigned_to == page.user_id:
            return True
        if isinstance(each, Task | Comment) and each.task_id in watched:
            return True
    return isinstance(after, Comment) and page.api_of("tasks").may("create_task")


async def thing_of(page: Page, task_id: str) -> Thing:
    """The task of a notice."""
    task = (await page.api_of("tasks").call("get_task", taskId=task_id)).body
    return Thing(task["title"], page.path_in("tasks", f"/list/{task_id}"))


app.waiting = waiting
app.concerns = concerns
app.thing_of = thing_of
