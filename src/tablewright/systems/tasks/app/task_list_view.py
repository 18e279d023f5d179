"""Tasks as a list beside the one that is open: by status, or those of the person who looks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from tablewright.store import AnyChange
from tablewright.systems.tasks.app.task_detail import TaskDetail
from tablewright.systems.tasks.app.task_parts import (
    TaskBody,
    changed_tasks,
    new_task,
    parsed,
    pills,
    status_pill,
)
from tablewright.systems.tasks.model import Status, task_management
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, button, empty, text, time
from tablewright.ui.data_list import DataList
from tablewright.ui.screen_page import Page

__all__ = ["my_tasks", "task_list"]

_PAGE = 50
Read = Callable[[str | None], Awaitable[tuple[Sequence[TaskBody], str | None]]]


async def task_list(page: Page, task_id: str = "") -> None:
    """The tasks of a status."""
    view = _TaskList(page, "/list")
    await view.begin(task_id)


async def my_tasks(page: Page, task_id: str = "") -> None:
    """The tasks of the person who looks."""
    view = _TaskList(page, "/mine")
    await view.begin(task_id)


class _TaskList:
    """A list, and the task that is open."""

    def __init__(self, page: Page, path: str) -> None:
        self._page = page
        self._path = path
        self._is_mine = path == "/mine"
        self._detail: TaskDetail | None = None
        self._status = self._asked_for()
        self._columns = page.columns(self._list_path())
        with self._columns.list:
            self._tabs = box("tw-list-tabs", "nav", aria_label=page.t("tasks.status"))
            with box("tw-col-scroll", tabindex="0"):
                self._list: DataList[TaskBody] = DataList(
                    page.t,
                    read=self._read,
                    key=lambda task: str(task["taskId"]),
                    row=self._draw_row,
                    nothing=self._draw_nothing,
                )

    async def begin(self, task_id: str) -> None:
        page = self._page
        await page.live(task_management, self._changed)
        page.on_navigate(self.show)
        page.on_search(self._filter, typed=self._filter)
        if page.may("create_task"):
            with page.actions:
                button(page.t("tasks.new"), lambda: new_task(page), kind="primary", icon_name="plus", key="n")
        self._draw_tabs()
        await self._list.load()
        await self._open(task_id)

    async def show(self, task_id: str = "") -> None:
        """Another status, or another task."""
        status = self._asked_for()
        if status is not self._status:
            self._status = status
            self._draw_tabs()
            await self._list.load()
        await self._open(task_id)

    def _asked_for(self) -> Status:
        asked = self._page.query.get("status", "")
        return Status(asked) if asked in list(Status) else Status.OPEN

    def _list_path(self, status: Status | None = None) -> str:
        return self._page.path(self._path, **({} if self._is_mine else {"status": status or self._status}))

    async def _read(self, cursor: str | None) -> tuple[list[TaskBody], str | None]:
        api = self._page.api
        if self._is_mine:
            answer = await api.call("list_my_tasks", limit=_PAGE, cursor=cursor)
            order = list(Status)
            found = sorted(answer.body["tasks"], key=lambda task: (order.index(task["status"]), task.get("due") or "9"))
        else:
            answer = await api.call("list_tasks", status=self._status, newestFirst=True, limit=_PAGE, cursor=cursor)
            found = answer.body["tasks"]
        return found, answer.body.get("cursor")

    async def _changed(self, changes: Sequence[AnyChange] | None) -> None:
        found = changed_tasks(changes)
        if found is None or self._is_mine or len(found) > _PAGE:
            await self._list.refresh()
        else:
            for task_id in found:
                await self._refresh(task_id)
        if self._detail is not None and (found is None or self._detail.task_id in found):
            await self._load(self._detail)

    async def _refresh(self, task_id: str) -> None:
        try:
            task = (await self._page.api.call("get_task", taskId=task_id)).body
        except Refused as error:
            if error.status != 404:
                raise
            task = None
        if task is not None and task["status"] == self._status:
            self._list.change(task)
        else:
            self._list.remove(task_id)

    def _filter(self, looked_for: str) -> None:
        words = looked_for.casefold().split()
        self._list.filter(
            lambda task: all(word in f"{task['title']} {task['description']}".casefold() for word in words)
        )

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw_tabs(self) -> None:
        self._tabs.clear()
        if self._is_mine:
            self._tabs.set_visibility(False)
            return
        with self._tabs:
            for status in Status:
                current = "page" if status is self._status else None
                with box("tw-list-tab", "a", href=self._list_path(status), data_go=True, aria_current=current):
                    text(self._page.t(f"tasks.{status}"))

    def _draw_row(self, task: TaskBody) -> None:
        t = self._page.t
        path = self._page.path(f"{self._path}/{task['taskId']}", **({} if self._is_mine else {"status": self._status}))
        is_open = self._detail is not None and self._detail.task_id == task["taskId"]
        with box("tw-item", "a", href=path, data_go=True, data_row=True, aria_current="true" if is_open else None):
            with box("tw-row-between"):
                text(task["title"], "tw-item-title tw-clip")
                time(t, parsed(task["updatedAt"]))
            with box("tw-row tw-wrap"):
                if self._is_mine:
                    status_pill(t, task)
                pills(t, task)

    def _draw_nothing(self) -> None:
        t = self._page.t
        empty(t("tasks.nothing_mine" if self._is_mine else "tasks.nothing"), t("tasks.nothing_about"), "tasks")

    async def _open(self, task_id: str) -> None:
        before = self._detail
        self._detail = None
        columns = self._columns
        columns.show("thing" if task_id else "list")
        columns.thing.clear()
        columns.context.clear()
        if task_id:
            self._detail = TaskDetail(self._page, task_id, columns.thing, columns.context, columns.back)
        for each in (before, self._detail):
            # The row that was open, and the one that is.
            if each is not None:
                self._list.redraw(each.task_id)
        if self._detail is not None:
            await self._load(self._detail)
        else:
            with columns.thing:
                empty(self._page.t("tasks.choose"), self._page.t("tasks.choose_about"), "tasks")

    async def _load(self, detail: TaskDetail) -> None:
        try:
            await detail.load()
        except Refused as error:
            if error.status != 404:
                raise
            detail.clear()
            self._detail = None
            with self._columns.thing:
                with box("tw-thing-head"):
                    self._columns.back()
                empty(self._page.t("shell.not_found"), self._page.t("shell.not_found_about"))
