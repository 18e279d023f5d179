"""The board: a lane for each status, and cards that are dragged between them.

A card is moved only if it is still the version that the user saw: if it was changed meanwhile, a message says so, and
the card is drawn in its current lane. Lanes are read page by page, newest first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nicegui import ui

from tablewright.store import AnyChange
from tablewright.systems.tasks.app.task_detail import TaskDetail, move_task
from tablewright.systems.tasks.app.task_parts import TaskBody, changed_tasks, new_task, pills
from tablewright.systems.tasks.model import FOLLOWING, Status, task_management
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import avatars, box, button, empty, icon, set_attribute, text
from tablewright.ui.data_list import DataList
from tablewright.ui.feedback import toast
from tablewright.ui.screen_page import Page

__all__ = ["board"]

# More than a screen shows; the next page is read when it scrolls into view.
_PAGE = 15
# The most changes that are drawn card by card; for more, the board is read again.
_MOST = 40


async def board(page: Page, task_id: str = "") -> None:
    """Draw the board, and the open task beside it."""
    drawn = _Board(page)
    await page.live(task_management, drawn.changed)
    page.on_drop(drawn.drop)
    page.on_search(drawn.filter, typed=drawn.filter)
    page.on_navigate(drawn.show)
    if page.may("create_task"):
        with page.actions:
            button(page.t("tasks.new"), lambda: new_task(page), kind="primary", icon_name="plus", key="n")
    await drawn.load()
    await drawn.show(task_id)


class _Board:
    """The lanes and their cards, and an open task beside them."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._lanes: dict[Status, DataList[TaskBody]] = {}
        self._counts: dict[Status, ui.label] = {}
        self._assignees: dict[str, list[str]] = {}
        self._wanted = ""
        self._detail: TaskDetail | None = None
        with box("tw-board"):
            for status in Status:
                self._draw_lane(status)
        self._drawer = box("tw-drawer", "aside")
        self._drawer.set_visibility(False)

    def _draw_lane(self, status: Status) -> None:
        t = self._page.t
        with box("tw-lane", "section", data_lane=status, aria_label=t(f"tasks.{status}")):
            with box("tw-lane-head"):
                text(t(f"tasks.{status}"), "", "h2")
                self._counts[status] = text("", "tw-mute tw-num")
            with box("tw-lane-cards", tabindex="0"):
                self._lanes[status] = DataList(
                    t,
                    read=lambda cursor, status=status: self._read(status, cursor),  # type: ignore[misc]
                    key=lambda task: str(task["taskId"]),
                    row=self._draw_card,
                    nothing=lambda: empty(t("tasks.nothing"), icon_name="tasks"),
                    words=lambda task: f"{task['title']} {task['description']}",
                    classes="tw-stack",
                )

    # -- reading --------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        await asyncio.gather(*(lane.load() for lane in self._lanes.values()))
        self._count()

    async def _read(self, status: Status, cursor: str | None) -> tuple[list[TaskBody], str | None]:
        # The cards of closed tasks show no assignees.
        is_assigned = status is not Status.CLOSED
        answer = await self._page.api.call(
            "list_tasks", status=status, newestFirst=True, assignees=is_assigned, limit=_PAGE, cursor=cursor
        )
        tasks = answer.body["tasks"]
        for task in tasks:
            self._assignees[task["taskId"]] = task.pop("assignedTo", [])
        return tasks, answer.body.get("cursor")

    async def _read_assignees(self, task_id: str) -> None:
        answer = await self._page.api.call("list_assignments", taskId=task_id)
        self._assignees[task_id] = [each["userId"] for each in answer.body["assignments"]]

    async def changed(self, changes: Sequence[AnyChange] | None) -> None:
        """Draw the changed tasks in their current lanes."""
        found = None if changes is None else changed_tasks(changes)
        if found is None or len(found) > _MOST:
            await self.load()
        else:
            await asyncio.gather(*(self._refresh(task_id) for task_id in found))
            self._count()
        if self._detail is not None and (found is None or self._detail.key in found):
            await self._detail.load()

    async def _refresh(self, task_id: str) -> None:
        try:
            answer = await self._page.api.call("get_task", taskId=task_id)
        except Refused as error:
            if error.status != 404:
                raise
            self._place(task_id, None)
            return
        before = self._assignees.get(task_id)
        await self._read_assignees(task_id)
        self._place(task_id, answer.body)
        if self._assignees[task_id] != before:
            for lane in self._lanes.values():
                lane.redraw(task_id)

    def _place(self, task_id: str, task: TaskBody | None) -> None:
        for status, lane in self._lanes.items():
            if task is not None and task["status"] == status:
                lane.change(task)
            else:
                lane.remove(task_id)

    def _count(self) -> None:
        for status, lane in self._lanes.items():
            self._counts[status].set_text(f"{len(lane.items)}{'+' if lane.has_more else ''}")

    def filter(self, looked_for: str) -> None:
        """Hide the cards that do not contain the words."""
        for lane in self._lanes.values():
            lane.filter(looked_for)

    # -- cards ----------------------------------------------------------------------------------------------------

    def _draw_card(self, task: TaskBody) -> None:
        page, status = self._page, Status(task["status"])
        names = self._assignees.get(task["taskId"], [])
        may_move = page.may("assign_task") or page.user_id in names
        with box(
            f"tw-tile {'tw-tile-done' if status is Status.CLOSED else ''}",
            "a",
            href=page.path(f"/board/{task['taskId']}"),
            data_go=True,
            data_row=True,
            data_card=task["taskId"],
            data_version=task["updatedAt"],
            data_onto=" ".join(FOLLOWING[status]) if may_move else "",
            draggable="true" if may_move and FOLLOWING[status] else "false",
        ):
            text(task["title"], "tw-tile-title", dir="auto")
            pills(page.t, task)
            with box("tw-tile-foot"):
                if names:
                    avatars(names)
                elif status is not Status.CLOSED:
                    text(page.t("tasks.nobody"))

    async def drop(self, task_id: str, lane: str, version: str) -> None:
        """Move a dragged card, if it is still the version that was seen."""
        now = await self._page.api.call("get_task", taskId=task_id)
        task = now.body
        if task["updatedAt"] != version:
            message = self._page.t("tasks.moved_meanwhile", title=task["title"], who=task["updatedBy"])
            toast(message, bad=True)
        elif lane in FOLLOWING[Status(task["status"])]:
            await move_task(self._page, task, Status(lane), now.etag)
        await self._refresh(task_id)
        self._count()

    # -- the task beside the board ----------------------------------------------------------------------------------

    async def show(self, task_id: str = "") -> None:
        """Open a task beside the board, or none."""
        self._wanted = task_id
        self._drawer.clear()
        self._drawer.set_visibility(bool(task_id))
        self._detail = None
        if task_id:
            with self._drawer:
                thing, context = box("tw-drawer-thing"), box("tw-drawer-context")
            detail = TaskDetail(self._page, task_id, thing, context, self._draw_close)
            await detail.load()
            if self._wanted == task_id:
                self._detail = detail

    def _draw_close(self) -> None:
        with box(
            "tw-btn tw-btn-icon tw-btn-small", "a", href=self._page.path("/board"), data_go=True, data_back=True
        ) as made:
            set_attribute(made, "aria-label", self._page.t("shell.close"))
            icon("close")
