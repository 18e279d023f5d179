"""Comments and attachments of tasks.

All members of the team may add them to any task, even a closed one; an attachment can be deleted by the user who added
it, or by an admin. Neither changes the task itself, so the ETag that a caller has of it stays valid. The task's creator
and assignees are notified of a comment.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TypeVar
from uuid import uuid4

from tablewright.model import attr
from tablewright.runtime import UNSEEN, Caller, Forbidden, Idempotency, ResourceNotFound, Responder, Seen
from tablewright.runtime.audit import Audit
from tablewright.runtime.identity.stored_notices import notify
from tablewright.store import (
    AsyncStore,
    AsyncTolerantReader,
    Cancelled,
    Check,
    Create,
    Delete,
    NotFound,
    Operation,
    Outcome,
    TolerantPage,
    Unreadable,
)
from tablewright.systems.tasks.model import Attachment, AttachmentContent, Comment, FullTask, Task
from tablewright.systems.tasks.roles import ADMINS

R = TypeVar("R")


class TaskAdditions:
    """Comments and attachments of tasks."""

    def __init__(
        self,
        store: AsyncStore,
        reader: AsyncTolerantReader,
        idempotency: Idempotency,
        audit: Audit,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._reader = reader
        self._idempotency = idempotency
        self._audit = audit
        self._now = now

    async def add_comment(self, task_id: str, text: str, responder: Responder[Comment, R], *, caller: Caller) -> R:
        """Add a comment to a task; returns the response."""
        comment = Comment(task_id=task_id, comment_id=uuid4().hex, text=text, created_by=caller.user_id)

        async def work() -> Outcome:
            comment.created_at = now = self._now()
            return Outcome(responder.view(comment), *await self._commented(comment, now), at=now)

        try:
            if responder.key is None:
                await self._store.transact(*await self._commented(comment, self._now()))
                return responder.view(comment)
            request = {"task_id": task_id, "text": text}
            return await self._idempotency.execute(self._store, "comment", request, responder, work)
        except Cancelled as cancelled:
            raise _refusal(task_id, cancelled) from None

    async def _commented(self, comment: Comment, now: datetime) -> list[Operation]:
        """The writes of a comment on an existing task, whose creator and assignees are notified."""
        people: list[str] = []
        # The people of an unreadable task are unknown.
        with suppress(Unreadable):
            full, _ = await self._reader.collect(FullTask.of_task(comment.task_id), consistent=True)
            if full is not None:
                people = [full.task.created_by, *(each.assigned_to for each in full.assignments)]
        notices = notify("tasks", comment.task_id, people, by=comment.created_by, at=now)
        return [Check(Task.by_id(comment.task_id)), Create(comment), *notices]

    async def comments(self, task_id: str, *, limit: int, cursor: str | None) -> TolerantPage[Comment]:
        """The comments on a task, newest first."""
        page = await self._reader.page(Comment.newest_of_task(task_id), limit=limit, cursor=cursor)
        if not page.items and not page.unreadable and cursor is None:
            await self._require(task_id)
        return page

    async def attach(
        self,
        task_id: str,
        name: str,
        content_type: str,
        content: bytes,
        responder: Responder[Attachment, R],
        *,
        caller: Caller,
    ) -> R:
        """Attach a file to a task; returns the response."""
        attachment = Attachment(
            task_id=task_id,
            attachment_id=uuid4().hex,
            name=name,
            content_type=content_type,
            size=len(content),
            created_by=caller.user_id,
        )

        async def work() -> Outcome:
            attachment.created_at = now = self._now()
            return Outcome(responder.view(attachment), *writes, at=now)

        writes = (
            Check(Task.by_id(task_id)),
            Create(attachment),
            Create(AttachmentContent(attachment_id=attachment.attachment_id, content=content)),
            self._audit.changed(task_thing(task_id), {}, attachment=name),
        )
        try:
            if responder.key is None:
                await self._store.transact(*writes)
                return responder.view(attachment)
            request = {"task_id": task_id, "name": name, "content_type": content_type, "content": content.hex()}
            return await self._idempotency.execute(self._store, "attachment", request, responder, work)
        except Cancelled as cancelled:
            raise _refusal(task_id, cancelled) from None

    async def attachments(self, task_id: str, *, limit: int, cursor: str | None) -> TolerantPage[Attachment]:
        """The attachments of a task, without their content."""
        page = await self._reader.page(Attachment.of_task(task_id), limit=limit, cursor=cursor)
        if not page.items and not page.unreadable and cursor is None:
            await self._require(task_id)
        return page

    async def content(self, task_id: str, attachment_id: str) -> tuple[Attachment, bytes]:
        """An attachment with its content."""
        attachment = await self._attachment(task_id, attachment_id)
        found = await self._store.get(AttachmentContent.by_id(attachment_id))
        if found is None:
            # Deleted meanwhile.
            raise _no_attachment(task_id, attachment_id)
        return attachment, found.content

    async def detach(self, task_id: str, attachment_id: str, *, caller: Caller, seen: Seen = UNSEEN) -> None:
        """Delete an attachment."""
        attachment = await self._attachment(task_id, attachment_id)
        seen.require(attachment)
        if attachment.created_by != caller.user_id and not caller.has(ADMINS):
            raise Forbidden(f"attachment {attachment_id} was added by another user; ask an admin to delete it")
        try:
            await self._store.transact(
                # Of several concurrent deletions, one succeeds.
                Delete(attachment, expect=[attr(Attachment.name).exists(), *seen.unchanged(attachment)]),
                Delete(AttachmentContent.by_id(attachment_id)),
                self._audit.changed(task_thing(task_id), {"attachment": attachment.name}, attachment=None),
            )
        except Cancelled as cancelled:
            if any(isinstance(reason, NotFound) for reason in cancelled.reasons):
                raise _no_attachment(task_id, attachment_id) from None
            raise

    async def _attachment(self, task_id: str, attachment_id: str) -> Attachment:
        found = await self._store.get(Attachment.by_id(task_id, attachment_id))
        if found is None:
            raise _no_attachment(task_id, attachment_id)
        return found

    async def _require(self, task_id: str) -> None:
        if await self._store.get(Task.by_id(task_id)) is None:
            raise no_task(task_id)


def _refusal(task_id: str, cancelled: Cancelled) -> Exception:
    return no_task(task_id) if isinstance(cancelled.reasons[0], NotFound) else cancelled


def task_thing(task_id: str) -> str:
    return f"tasks/{task_id}"


def no_task(task_id: str) -> ResourceNotFound:
    return ResourceNotFound(f"there is no task {task_id}")


def _no_attachment(task_id: str, attachment_id: str) -> ResourceNotFound:
    return ResourceNotFound(f"task {task_id} has no attachment {attachment_id}")
