"""One task: what it is about, who does it, what can be done with it, and what happened to it."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from tablewright.systems.tasks.app.task_parts import TaskBody, edit_task, parsed, pills, status_pill
from tablewright.systems.tasks.model import FOLLOWING, Status
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import avatar, box, button, fact, facts, icon, section, text, time
from tablewright.ui.feedback import confirm, guarded, toast
from tablewright.ui.forms import select
from tablewright.ui.screen_page import Page

__all__ = ["TaskDetail", "move_task"]

_ACTIVITIES = 20
_PEOPLE = 100
_KNOWN_CALLS = ("create_task", "change_status", "change_task", "assign_task", "unassign_task", "add_comment")


class TaskDetail:
    """A task in two elements: itself, and its context; read again when it changes."""

    def __init__(self, page: Page, task_id: str, thing: ui.element, context: ui.element, close: Any) -> None:
        """``close`` draws the way back to where the task was opened from."""
        self._page = page
        self.task_id = task_id
        self._thing = thing
        self._context = context
        self._close = close
        self._task: TaskBody = {}
        self._etag: str | None = None

    async def load(self) -> None:
        """Read the task and draw it."""
        api = self._page.api
        answer = await api.call("get_full_task", taskId=self.task_id)
        self._task, self._etag = answer.body, answer.etag
        audit: list[dict[str, Any]] = []
        if api.may("audit"):
            audit = (await api.call("audit", taskId=self.task_id, limit=_ACTIVITIES)).body["audit"]
        self._thing.clear()
        with self._thing:
            self._draw_head()
            with box("tw-thing-body"):
                description = self._task["description"]
                text(description or self._page.t("tasks.no_description"), "tw-pre" if description else "tw-mute", "p")
        self._context.clear()
        with self._context:
            self._draw_facts()
            await self._draw_assignees()
            if api.may("audit"):
                self._draw_activity(audit)

    def clear(self) -> None:
        self._thing.clear()
        self._context.clear()

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw_head(self) -> None:
        t, task = self._page.t, self._task
        with box("tw-thing-head", "header"):
            self._close()
            with box("tw-grow tw-stack-tight"):
                text(task["title"], "", "h2")
                with box("tw-row tw-wrap"):
                    status_pill(t, task)
                    pills(t, task)
            with box("tw-row tw-wrap"):
                if self._may_move():
                    for number, status in enumerate(FOLLOWING[Status(task["status"])]):
                        button(
                            t(f"tasks.to_{status}"),
                            lambda status=status: self._move(status),  # type: ignore[misc]
                            kind="primary" if number == 0 and status is not Status.CLOSED else "plain",
                        )
                if self._page.may("change_task") and task["status"] != Status.CLOSED:
                    button(
                        t("tasks.edit"),
                        lambda: edit_task(self._page, self._task, self._etag),
                        icon_name="edit",
                        only_icon=True,
                    )

    def _may_move(self) -> bool:
        """Admins move any task, members those that are assigned to them; the service has the last word."""
        page = self._page
        assigned = any(each["userId"] == page.user_id for each in self._task["assignments"])
        return page.may("change_status") and (page.may("assign_task") or assigned)

    def _draw_facts(self) -> None:
        t, task = self._page.t, self._task
        with section(t("tasks.about")), facts():
            fact(t("tasks.created_by"), task["createdBy"])
            fact(t("tasks.created_at"), lambda: time(t, parsed(task["createdAt"])))
            fact(t("tasks.changed_by"), task["updatedBy"])

    async def _draw_assignees(self) -> None:
        t, task, page = self._page.t, self._task, self._page
        assigned = [each["userId"] for each in task["assignments"]]
        people = await self._people() if page.may("assign_task", "list_users") else []
        with section(t("tasks.assignees")):
            for user_id in assigned:
                with box("tw-row"):
                    avatar(user_id)
                    text(user_id, "tw-grow")
                    if page.may("unassign_task") and task["status"] != Status.CLOSED:
                        button(
                            t("tasks.unassign", who=user_id),
                            lambda user_id=user_id: self._unassign(user_id),  # type: ignore[misc]
                            icon_name="close",
                            only_icon=True,
                            small=True,
                            kind="quiet",
                        )
            if not assigned:
                text(t("tasks.nobody"), "tw-mute")
            left = [user_id for user_id in people if user_id not in assigned]
            if left and task["status"] != Status.CLOSED:
                options = {"": t("tasks.assign_to"), **{user_id: user_id for user_id in left}}
                select(options, "", self._chosen, label=t("tasks.assign_to"))

    def _draw_activity(self, audit: list[dict[str, Any]]) -> None:
        t = self._page.t
        with section(t("tasks.activity")):
            for entry in audit:
                with box("tw-row tw-small"):
                    icon("activity", "tw-mute")
                    text(self._said(entry), "tw-grow")
                    time(t, parsed(entry["at"]))
            if not audit:
                text(t("tasks.no_activity"), "tw-mute")

    def _said(self, entry: dict[str, Any]) -> str:
        """An entry of the audit in words."""
        t, call, changes = self._page.t, entry["call"], entry["changes"]
        key = f"tasks.did_{call}" if call in _KNOWN_CALLS else "tasks.did_something"
        values: dict[str, str] = {"who": entry["by"], "what": call, "old": "", "new": ""}
        if call == "change_status" and "status" in changes:
            values["old"], values["new"] = (t(f"tasks.is_{changes['status'][each]}") for each in ("old", "new"))
        elif "assigned_to" in changes:
            values["what"] = str(changes["assigned_to"]["new"] or changes["assigned_to"]["old"])
        elif changes:
            values["what"] = ", ".join(changes)
        return t(key, **values)

    async def _people(self) -> list[str]:
        answer = await self._page.api.call("list_users", limit=_PEOPLE)
        return [user["userId"] for user in answer.body["users"]]

    # -- doing ----------------------------------------------------------------------------------------------------

    async def _move(self, status: Status) -> None:
        await move_task(self._page, self._task, status, self._etag)
        await self.load()

    async def _chosen(self, user_id: str) -> None:
        if user_id:
            await guarded(lambda: self._assign(user_id))()

    async def _assign(self, user_id: str, *, is_undo: bool = False) -> None:
        t = self._page.t
        await self._page.api.call("assign_task", taskId=self.task_id, body={"userId": user_id})
        undo = None if is_undo else (t("shell.undo"), lambda: self._unassign(user_id, is_undo=True))
        toast(t("tasks.assigned", who=user_id), undo=undo)
        await self.load()

    async def _unassign(self, user_id: str, *, is_undo: bool = False) -> None:
        t = self._page.t
        await self._page.api.call("unassign_task", taskId=self.task_id, userId=user_id)
        undo = None if is_undo else (t("shell.undo"), lambda: self._assign(user_id, is_undo=True))
        toast(t("tasks.unassigned", who=user_id), undo=undo)
        await self.load()


async def move_task(page: Page, task: TaskBody, status: Status, etag: str | None) -> bool:
    """Change the status of a task under the version that was seen; whether that was done.

    What cannot be taken back is asked; what can be is undone by the toast.
    """
    t, api = page.t, page.api
    if status is Status.CLOSED and not await confirm(
        t("tasks.close_question"), t("tasks.close_about"), t("tasks.to_CLOSED")
    ):
        return False
    before = Status(task["status"])
    try:
        answer = await api.call(
            "change_status", taskId=task["taskId"], body={"status": status, "expected": before}, seen=etag
        )
    except Refused as error:
        if not error.is_conflict:
            raise
        now = await api.call("get_task", taskId=task["taskId"])
        toast(t("tasks.moved_meanwhile", title=task["title"], who=now.body["updatedBy"]), bad=True)
        return False

    async def move_back() -> None:
        moved = answer.body
        await api.call("change_status", taskId=moved["taskId"], body={"status": before}, seen=answer.etag)

    undo = (t("shell.undo"), move_back) if before in FOLLOWING[status] else None
    toast(t("tasks.moved", title=task["title"], status=t(f"tasks.is_{status}")), undo=undo)
    return True
