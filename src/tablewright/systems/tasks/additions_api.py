"""Comments and attachments over HTTP."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime
from typing import Annotated, NotRequired

from fastapi import Depends, Path
from pydantic import AfterValidator, Base64Bytes, ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from tablewright.runtime import (
    Caller,
    Changing,
    Cursor,
    IdempotencyKey,
    Limit,
    Reading,
    Responder,
    allow,
    documented,
    service_of,
)
from tablewright.runtime.http.json_values import ApiModel, Said, not_blank
from tablewright.runtime.parameter_texts import matching
from tablewright.systems.response_views import page_end
from tablewright.systems.system_router import SystemRouter
from tablewright.systems.tasks.model import Attachment, Comment
from tablewright.systems.tasks.roles import ADMINS, MEMBERS
from tablewright.systems.tasks.service import Tasks
from tablewright.systems.unreadable_log import UnreadableItem

__all__ = ["MAX_CONTENT", "additions_router"]

additions_router = SystemRouter("tasks", tags=["comments and attachments"])

Service = Annotated[Tasks, Depends(service_of)]
Member = Annotated[Caller, allow(MEMBERS, ADMINS)]
# For callers' own attachments.
Author = Annotated[Caller, allow(MEMBERS.own, ADMINS)]

_TASK_ID = "7c2f0f0e-2d0e-4c5b-9a51-0f6d2c3b8f11"
_ID = "9b1c7a52d7d94f5a8c4a0b8f6c0f4d1e"
# What fits into a request by default, in base64.
MAX_CONTENT = 700_000
# No path separators, line breaks or other control characters.
_NOT_IN_NAME = r"\x00-\x1f\x7f-\x9f/\\\u2028\u2029"
_NAME = matching(
    rf"^[^{_NOT_IN_NAME}]*[^\s{_NOT_IN_NAME}][^{_NOT_IN_NAME}]*$",
    "use the name of a file, without / and \\ and without control characters",
)
_TYPE = matching(
    r"^[A-Za-z0-9!#$&^_.+-]{1,50}/[A-Za-z0-9!#$&^_.+-]{1,49}$", "use a media type, such as application/pdf"
)

TaskId = Annotated[str, Path(alias="taskId", min_length=1, max_length=64, examples=[_TASK_ID])]
AttachmentId = Annotated[str, Path(alias="attachmentId", min_length=1, max_length=64, examples=[_ID])]
When = Annotated[str, Field(description="ISO 8601, UTC, with milliseconds", examples=["2026-01-01T09:00:00.000Z"])]
_More = Annotated[str | None, Field(description="for the next page; null on the last one")]


class Strict(ApiModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")


class NewComment(Strict):
    text: Annotated[Said, Field(max_length=10_000, examples=["The keys are in the vault."])]


class NewAttachment(Strict):
    name: Annotated[
        str, Field(min_length=1, max_length=200, pattern=_NAME, examples=["plan.pdf"]), AfterValidator(not_blank)
    ]
    content_type: str = Field(
        "application/octet-stream",
        max_length=100,
        pattern=_TYPE,
        examples=["application/pdf"],
    )
    content: Annotated[Base64Bytes, Field(max_length=MAX_CONTENT, description="base64", examples=["aGVsbG8="])]


class CommentView(TypedDict):
    """A comment on a task."""

    commentId: Annotated[str, Field(examples=[_ID])]
    taskId: Annotated[str, Field(examples=[_TASK_ID])]
    text: str
    createdBy: Annotated[str, Field(examples=["u-789"])]
    createdAt: When


class AttachmentView(TypedDict):
    """A file that is attached to a task."""

    attachmentId: Annotated[str, Field(examples=[_ID])]
    taskId: Annotated[str, Field(examples=[_TASK_ID])]
    name: Annotated[str, Field(examples=["plan.pdf"])]
    contentType: Annotated[str, Field(examples=["application/pdf"])]
    size: Annotated[int, Field(description="in bytes")]
    createdBy: Annotated[str, Field(examples=["u-789"])]
    createdAt: When


class AttachmentWithContent(AttachmentView):
    """A file that is attached to a task, with its content."""

    content: Annotated[str, Field(description="base64", examples=["aGVsbG8="])]


class CommentPage(TypedDict):
    comments: list[CommentView]
    cursor: NotRequired[_More]
    unreadable: list[UnreadableItem]


class AttachmentPage(TypedDict):
    attachments: list[AttachmentView]
    cursor: NotRequired[_More]
    unreadable: list[UnreadableItem]


@additions_router.post("/tasks/{taskId}/comments", status_code=201, responses=documented(404, 409))
async def add_comment(
    task_id: TaskId, body: NewComment, tasks: Service, caller: Member, idempotency_key: IdempotencyKey = None
) -> CommentView:
    """Add a comment to a task."""
    responder = Responder(_comment, caller.user_id, idempotency_key)
    return await tasks.additions.add_comment(task_id, body.text, responder, caller=caller)


@additions_router.get("/tasks/{taskId}/comments", responses=documented(400, 404, 409))
async def list_comments(
    task_id: TaskId, tasks: Service, _: Member, limit: Limit = 25, cursor: Cursor = None
) -> CommentPage:
    """The comments on a task, newest first."""
    page = await tasks.additions.comments(task_id, limit=limit, cursor=cursor)
    return {"comments": [_comment(each) for each in page.items], **page_end(page)}


@additions_router.post("/tasks/{taskId}/attachments", status_code=201, responses=documented(404, 409, 413))
async def attach(
    task_id: TaskId, body: NewAttachment, tasks: Service, caller: Member, idempotency_key: IdempotencyKey = None
) -> AttachmentView:
    """Attach a file to a task."""
    responder = Responder(_attachment, caller.user_id, idempotency_key)
    return await tasks.additions.attach(task_id, body.name, body.content_type, body.content, responder, caller=caller)


@additions_router.get("/tasks/{taskId}/attachments", responses=documented(400, 404, 409))
async def list_attachments(
    task_id: TaskId, tasks: Service, _: Member, limit: Limit = 25, cursor: Cursor = None
) -> AttachmentPage:
    """The attachments of a task, without their content."""
    page = await tasks.additions.attachments(task_id, limit=limit, cursor=cursor)
    return {"attachments": [_attachment(each) for each in page.items], **page_end(page)}


@additions_router.get("/tasks/{taskId}/attachments/{attachmentId}", responses=documented(404, 409, 410))
async def get_attachment(
    task_id: TaskId, attachment_id: AttachmentId, tasks: Service, _: Member, reading: Reading
) -> AttachmentWithContent:
    """An attachment with its content."""
    attachment, content = await tasks.additions.content(task_id, attachment_id)
    reading.of(attachment)
    return {**_attachment(attachment), "content": b64encode(content).decode()}


@additions_router.delete("/tasks/{taskId}/attachments/{attachmentId}", status_code=204, responses=documented(404, 409))
async def detach(
    task_id: TaskId, attachment_id: AttachmentId, tasks: Service, caller: Author, changing: Changing
) -> None:
    """Delete an attachment. For the user who added it, and for Admins."""
    await tasks.additions.detach(task_id, attachment_id, caller=caller, seen=changing.seen)


def _comment(comment: Comment) -> CommentView:
    return {
        "commentId": comment.comment_id,
        "taskId": comment.task_id,
        "text": comment.text,
        "createdBy": comment.created_by,
        "createdAt": time_text(comment.created_at),
    }


def _attachment(attachment: Attachment) -> AttachmentView:
    return {
        "attachmentId": attachment.attachment_id,
        "taskId": attachment.task_id,
        "name": attachment.name,
        "contentType": attachment.content_type,
        "size": attachment.size,
        "createdBy": attachment.created_by,
        "createdAt": time_text(attachment.created_at),
    }


def time_text(value: datetime | None) -> str:
    # None if another program wrote no time.
    return "" if value is None else value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
