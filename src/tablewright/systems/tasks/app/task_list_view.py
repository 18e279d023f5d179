"""Tasks as a list beside the open one: by status, or the user's own."""

from __future__ import annotations

from tablewright.systems.tasks.app.task_detail import TaskDetail
from tablewright.systems.tasks.app.task_parts import OF_TASKS, new_task, pills, status_pill
from tablewright.systems.tasks.model import Assignment, Status, Task, task_management
from tablewright.ui.components import box, button, empty, text, time
from tablewright.ui.list_detail.list_screen import Body, ListScreen
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["my_tasks", "task_list"]

_PAGE = 25
# A user's own tasks, ordered by status: as many as most users have.
_MINE = 50


async def task_list(page: Page, task_id: str = "") -> None:
    """The tasks with a status."""
    await _TasksByStatus(page).begin([task_management], task_id=task_id)


async def my_tasks(page: Page, task_id: str = "") -> None:
    """The user's own tasks."""
    await _MyTasks(page).begin([task_management], task_id=task_id)


class _TaskList(ListScreen):
    QUERY, ID, TEXTS, ICON = "status", "task_id", "tasks", "tasks"
    LISTED = (Task, Assignment)
    SHOWN = OF_TASKS

    async def _read_one(self, key: str) -> Body:
        body: Body = (await self._page.api.call("get_task", taskId=key)).body
        return body

    def _key(self, item: Body) -> str:
        return str(item["taskId"])

    def _words(self, item: Body) -> str:
        return f"{item['title']} {item['description']}"

    def _detail_of(self, key: str) -> TaskDetail:
        columns = self._columns
        return TaskDetail(self._page, key, columns.thing, columns.context, columns.back)

    def _draw_actions(self) -> None:
        page = self._page
        if page.may("create_task"):
            button(page.t("tasks.new"), lambda: new_task(page), kind="primary", icon_name="plus", key="n")

    def _draw_row(self, item: Body) -> None:
        t = self._page.t
        with box("tw-row-between"):
            text(item["title"], "tw-item-title tw-clip", dir="auto")
            time(t, parsed_time(item["updatedAt"]))
        with box("tw-row tw-wrap"):
            self._draw_status(item)
            pills(t, item)

    def _draw_status(self, item: Body) -> None: ...


class _TasksByStatus(_TaskList):
    PATH = "/list"
    LISTS = tuple(map(str, Status))

    async def _read(self, cursor: str | None) -> tuple[list[Body], str | None]:
        call = self._page.api.call
        answer = await call("list_tasks", status=self._shown, newestFirst=True, limit=_PAGE, cursor=cursor)
        return answer.body["tasks"], answer.body.get("cursor")

    def _belongs(self, item: Body, before: Body | None) -> bool | None:
        return bool(item["status"] == self._shown)

    def _draw_nothing(self) -> None:
        t = self._page.t
        empty(t("tasks.nothing"), t("tasks.nothing_about"), self.ICON)


class _MyTasks(_TaskList):
    PATH = "/mine"
    LISTS = ("mine",)

    async def _read(self, cursor: str | None) -> tuple[list[Body], str | None]:
        answer = await self._page.api.call("list_my_tasks", limit=_MINE, cursor=cursor)
        order = list(Status)
        found = sorted(answer.body["tasks"], key=lambda task: (order.index(task["status"]), task.get("due") or "9"))
        return found, answer.body.get("cursor")

    def _belongs(self, item: Body, before: Body | None) -> bool | None:
        # A task does not have its assignees.
        return None

    def _draw_tabs(self) -> None:
        self._tabs.set_visibility(False)

    def _draw_status(self, item: Body) -> None:
        status_pill(self._page.t, item)

    def _draw_nothing(self) -> None:
        t = self._page.t
        empty(t("tasks.nothing_mine"), t("tasks.nothing_about"), self.ICON)
