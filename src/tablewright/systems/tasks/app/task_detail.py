"""One task: its description, assignees, actions and activity."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any
from uuid import uuid4

from nicegui import ui

from tablewright.systems.tasks.additions_api import MAX_CONTENT
from tablewright.systems.tasks.app.task_parts import TaskBody, edit_task, pills, status_pill
from tablewright.systems.tasks.model import FOLLOWING, Status
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import avatar, box, button, fact, facts, icon, section, text, time
from tablewright.ui.feedback import confirm, guarded, toast
from tablewright.ui.forms import file_button, select
from tablewright.ui.list_detail.conversation import Kind, activity, composer, message
from tablewright.ui.list_detail.detail_panel import DetailPanel, Parts
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import Texts, parsed_time

__all__ = ["TaskDetail", "move_task"]

_ACTIVITIES = 20
_PEOPLE = 100
_COMMENTS = 50
_ATTACHMENTS = 50
_KNOWN_CALLS = ("create_task", "change_status", "change_task", "assign_task", "unassign_task", "attach", "detach")
# The fields that the audit names, and the keys of their texts.
_FIELDS = {"title": "field_title", "description": "field_description", "priority": "priority", "due": "due"}


class TaskDetail(DetailPanel):
    """A task, beside a list or a board."""

    ID = "taskId"

    def __init__(
        self, page: Page, task_id: str, thing: ui.element, context: ui.element, close: Callable[[], object]
    ) -> None:
        super().__init__(page, task_id, thing, context, close)
        self._task: TaskBody = {}
        self._audit: list[dict[str, Any]] = []
        self._comments: dict[str, Any] = {}
        self._attachments: list[dict[str, Any]] = []
        self._people: list[str] = []

    async def _read(self) -> Parts:
        api = self._page.api
        answer = await self._call("get_full_task")
        self._task, self._etag = answer.body, answer.etag
        if api.may("audit"):
            self._audit = (await self._call("audit", limit=_ACTIVITIES)).body["audit"]
        self._comments = (await self._call("list_comments", limit=_COMMENTS)).body
        self._attachments = (await self._call("list_attachments", limit=_ATTACHMENTS)).body["attachments"]
        if api.may("assign_task", "list_users"):
            users = (await api.call("list_users", limit=_PEOPLE)).body["users"]
            self._people = [user["userId"] for user in users]
        task = self._task, self._etag
        return Parts(
            head=task,
            body=(self._task["description"], self._comments),
            context=(task, self._people, self._attachments, self._audit),
        )

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw_head(self) -> None:
        t, task = self._page.t, self._task
        self._close()
        with box("tw-grow tw-stack-tight"):
            text(task["title"], "", "h2", dir="auto")
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

    def _draw_body(self) -> None:
        text(self._task["description"], "tw-pre", "p", dir="auto")
        self._draw_comments()

    def _draw_foot(self) -> None:
        t = self._page.t
        if not self._page.may("add_comment"):
            return

        async def send(written: str, key: str) -> None:
            await self._call("add_comment", body={"text": written}, key=key)

        composer(Kind(send, t("tasks.write_comment"), t("tasks.comment")), most=10_000, after=self.load)

    def _draw_context(self) -> None:
        t = self._page.t
        self._draw_facts()
        self._draw_assignees()
        self._draw_attachments()
        if self._page.may("audit"):
            activity(t, t("tasks.activity"), self._audit, self._describe, t("tasks.no_activity"))

    def _may_move(self) -> bool:
        """Admins move any task, members those that are assigned to them; the service has the last word."""
        page = self._page
        assigned = any(each["userId"] == page.user_id for each in self._task["assignments"])
        return page.may("change_status") and (page.may("assign_task") or assigned)

    def _draw_facts(self) -> None:
        t, task = self._page.t, self._task
        with section(t("tasks.about")), facts():
            due = task["due"]
            fact(t("tasks.due"), t.day(date.fromisoformat(due)) if due else t("tasks.no_due"))
            fact(t("tasks.created_by"), task["createdBy"])
            fact(t("tasks.created_at"), lambda: time(t, parsed_time(task["createdAt"])))
            fact(t("tasks.changed_by"), task["updatedBy"])

    def _draw_assignees(self) -> None:
        t, task, page = self._page.t, self._task, self._page
        assigned = [each["userId"] for each in task["assignments"]]
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
            left = [user_id for user_id in self._people if user_id not in assigned]
            if left and task["status"] != Status.CLOSED:
                options = {"": t("tasks.assign_to"), **{user_id: user_id for user_id in left}}
                select(options, "", self._chosen, label=t("tasks.assign_to"))

    def _draw_comments(self) -> None:
        t, comments = self._page.t, self._comments["comments"]
        if self._comments.get("cursor"):
            text(t("tasks.older_comments", number=len(comments)), "tw-event")
        for comment in reversed(comments):
            message(
                t,
                comment["createdBy"],
                parsed_time(comment["createdAt"]),
                lambda comment=comment: text(comment["text"], "tw-pre", "p", dir="auto"),  # type: ignore[misc]
                mine=comment["createdBy"] == self._page.user_id,
            )

    def _draw_attachments(self) -> None:
        t, page = self._page.t, self._page
        with section(t("tasks.attachments")):
            for each in self._attachments:
                self._draw_attachment(each)
            if not self._attachments:
                text(t("tasks.no_attachments"), "tw-mute")
            if page.may("attach"):
                file_button(t, t("tasks.attach"), self._upload, most=MAX_CONTENT)

    def _draw_attachment(self, attachment: dict[str, Any]) -> None:
        t, page, name = self._page.t, self._page, attachment["name"]
        with box("tw-row"):
            icon("clip", "tw-mute")
            with box("tw-grow tw-stack-tight"):
                with box("tw-link tw-clip", "button", type="button", title=name) as opened:
                    text(name)
                opened.on("click", guarded(lambda: self._download(attachment), opened), [])
                text(f"{_size(t, attachment['size'])} · {attachment['createdBy']}", "tw-mute tw-small")
            if page.may("assign_task") or attachment["createdBy"] == page.user_id:
                label = t("tasks.detach", name=name)
                button(
                    label, lambda: self._detach(attachment), icon_name="close", only_icon=True, small=True, kind="quiet"
                )

    def _describe(self, entry: Mapping[str, Any]) -> str:
        """An entry of the audit in words."""
        t, call, changes = self._page.t, entry["call"], entry["changes"]
        key = f"tasks.did_{call}" if call in _KNOWN_CALLS else "tasks.did_something"
        values: dict[str, str] = {"who": entry["by"], "what": call, "old": "", "new": ""}
        if call == "change_status" and "status" in changes:
            values["old"], values["new"] = (t(f"tasks.is_{changes['status'][each]}") for each in ("old", "new"))
        elif "assigned_to" in changes or "attachment" in changes:
            found = changes.get("assigned_to") or changes["attachment"]
            values["what"] = str(found["new"] or found["old"])
        elif changes:
            named = [t(f"tasks.{_FIELDS[name]}").lower() for name in changes if name in _FIELDS]
            values["what"] = ", ".join(named) or call
        return t(key, **values)

    # -- doing ----------------------------------------------------------------------------------------------------

    async def _move(self, status: Status) -> None:
        await move_task(self._page, self._task, status, self._etag)
        await self.load()

    async def _chosen(self, user_id: str) -> None:
        if user_id:
            await guarded(lambda: self._assign(user_id))()

    async def _upload(self, name: str, content_type: str, content: bytes) -> None:
        body = {"name": name, "contentType": content_type, "content": b64encode(content).decode()}
        await self._call("attach", body=body, key=uuid4().hex)
        toast(self._page.t("tasks.attached", name=name))
        await self.load()

    async def _download(self, attachment: dict[str, Any]) -> None:
        attachment_id = attachment["attachmentId"]
        found = await self._call("get_attachment", attachmentId=attachment_id)
        # Never shown as a page of this origin, whatever its content type.
        ui.download(b64decode(found.body["content"]), attachment["name"], "application/octet-stream")

    async def _detach(self, attachment: dict[str, Any]) -> None:
        t = self._page.t
        asked = t("tasks.detach", name=attachment["name"]), t("tasks.detach_about"), t("tasks.detach_action")
        if await confirm(*asked):
            await self._call("detach", attachmentId=attachment["attachmentId"])
            await self.load()

    async def _assign(self, user_id: str, *, is_undo: bool = False) -> None:
        t = self._page.t
        await self._call("assign_task", body={"userId": user_id})
        undo = None if is_undo else (t("shell.undo"), lambda: self._unassign(user_id, is_undo=True))
        toast(t("tasks.assigned", who=user_id), undo=undo)
        await self.load()

    async def _unassign(self, user_id: str, *, is_undo: bool = False) -> None:
        t = self._page.t
        await self._call("unassign_task", userId=user_id)
        undo = None if is_undo else (t("shell.undo"), lambda: self._assign(user_id, is_undo=True))
        toast(t("tasks.unassigned", who=user_id), undo=undo)
        await self.load()


def _size(t: Texts, number: int) -> str:
    return f"{t.number(max(1, round(number / 1000)))} KB"


async def move_task(page: Page, task: TaskBody, status: Status, etag: str | None) -> bool:
    """Change the status of a task, if it is still the version that was seen; returns whether it was changed.

    A change that cannot be undone needs a confirmation; for others, the toast offers to undo them.
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
