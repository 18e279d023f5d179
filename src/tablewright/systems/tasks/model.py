"""Tasks: what a team has to do, who does it, and its status.

One table, ``TaskManagement``: tasks, assignments and users; comments and attachments.

    PK                          SK                               entity
    TASK#<taskId>               METADATA                         TASK
    TASK#<taskId>               ASSIGNMENT#<userId>              ASSIGNMENT   one query reads a task with them
    USER#<userId>               PROFILE                          USER
    COMMENTS#<taskId>           COMMENT#<time>#<commentId>       COMMENT      read separately: there may be many
    ATTACHMENTS#<taskId>        ATTACHMENT#<attachmentId>        ATTACHMENT
    ATTACHMENT#<attachmentId>   CONTENT                          CONTENT      read only on request

``GSI1-UserTasksIndex`` has the tasks of a user, ``GSI2-TaskStatusIndex`` the tasks with a status, by creation time. The
second index also lists users, by their own status.

Events are derived from the stream: an event exists if and only if its write was committed.
"""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from tablewright.model import (
    Collection,
    CollectionQuery,
    Design,
    Entity,
    EpochMillis,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Large,
    Personal,
    Query,
    Reaction,
    Stamp,
    Table,
    Traffic,
    Volume,
    Write,
    pascal_case,
)
from tablewright.runtime import Event
from tablewright.runtime.audit import AUDITED, READ_AUDIT
from tablewright.runtime.events.event_log import PUBLISH_EVENT
from tablewright.runtime.idempotency import KEEP_RESPONSE
from tablewright.runtime.identity.deny_list import CHECK_CALLER, DeactivatedUser
from tablewright.runtime.identity.stored_notices import Notice
from tablewright.runtime.internal_tables import events_table, internal_table
from tablewright.runtime.mail.invitation_mail import Invited
from tablewright.runtime.mail.mail_records import (
    CLAIM_MAIL,
    COMPLETE_MAIL,
    QUEUE_MAIL,
    RECORD_MAIL,
    SETTLE_MAIL,
    MailRecord,
    QueuedMail,
)
from tablewright.systems.key_times import KeyMillis

task_management = Table(
    "TaskManagement",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("GSI1-UserTasksIndex", "GSI1PK", "GSI1SK"),
        GlobalIndex("GSI2-TaskStatusIndex", "GSI2PK", "GSI2SK"),
    ],
    type_attribute="EntityType",
    stream="NEW_AND_OLD_IMAGES",
)


class Status(StrEnum):
    OPEN = "OPEN"
    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    CLOSED = "CLOSED"


# The allowed transitions. Work can be put back and resumed; a closed task stays closed.
FOLLOWING: dict[Status, tuple[Status, ...]] = {
    Status.OPEN: (Status.IN_PROGRESS, Status.CLOSED),
    Status.IN_PROGRESS: (Status.COMPLETED, Status.OPEN, Status.CLOSED),
    Status.COMPLETED: (Status.CLOSED, Status.IN_PROGRESS),
    Status.CLOSED: (),
}


class Priority(StrEnum):
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class UserStatus(StrEnum):
    ACTIVE = "ACTIVE"
    DEACTIVATED = "DEACTIVATED"


class Group(StrEnum):
    """The names of the groups in the user pool; the roles of ``runtime.identity``."""

    ADMINS = "Admins"
    MEMBERS = "Members"


class Task(Entity, table=task_management, naming=pascal_case, type_name="TASK"):
    """Something to do."""

    task_id: str
    title: str
    description: str
    status: Status = Status.OPEN
    priority: Priority
    # The due date.
    due: date | None = None
    # The ids of the admin who created it, and of the user who last changed it.
    created_by: Annotated[str, Personal("reference")]
    updated_by: Annotated[str, Personal("reference")]
    created_at: Annotated[KeyMillis | None, Stamp("created")] = None
    updated_at: Annotated[EpochMillis | None, Stamp("updated")] = None

    # A partition supports 1,000 writes per second, and a team's tasks change a few times per second (see ``traffic``).
    # If that is no longer enough: sharded("STATUS#{status}", 8), and reads merge the shards.
    keys = Keys(
        PK="TASK#{task_id}",
        SK="METADATA",
        GSI2PK="STATUS#{status}",
        GSI2SK="CREATED_AT#{created_at:013}",
    )

    @Get(many=True)
    def by_id(self, task_id: str) -> None:
        """A task."""

    @Query("GSI2-TaskStatusIndex", expected=25)
    def by_status(self, status: Status, *, since: datetime | None = None, until: datetime | None = None) -> None:
        """The tasks with a status, oldest first."""

    @Query("GSI2-TaskStatusIndex", newest_first=True, expected=25)
    def newest_by_status(self, status: Status, *, since: datetime | None = None, until: datetime | None = None) -> None:
        """The tasks with a status, newest first."""


class Assignment(Entity, table=task_management, naming=pascal_case, type_name="ASSIGNMENT"):
    """The assignment of a task to a user."""

    task_id: str
    assigned_to: Annotated[str, Personal("subject")]
    assigned_by: Annotated[str, Personal("reference")]
    assigned_at: Annotated[EpochMillis | None, Stamp("created")] = None

    keys = Keys(
        PK="TASK#{task_id}",
        SK="ASSIGNMENT#{assigned_to}",
        GSI1PK="USER#{assigned_to}",
        GSI1SK="TASK#{task_id}",
    )

    @Get(consistent=True)
    def by_id(self, task_id: str, assigned_to: str) -> None:
        """The assignment of a task to a user."""

    @Query(expected=5)
    def of_task(self, task_id: str) -> None:
        """The assignments of a task."""

    @Query("GSI1-UserTasksIndex", expected=25)
    def of_user(self, assigned_to: str) -> None:
        """The assignments of a user."""


class User(Entity, table=task_management, naming=pascal_case, type_name="USER"):
    """A user; the id is the ``sub`` of their tokens."""

    user_id: Annotated[str, Personal("subject")]
    email: Annotated[str, Personal()]
    user_status: UserStatus = UserStatus.ACTIVE
    groups: Annotated[frozenset[Group], Field(max_length=len(Group))]
    created_at: Annotated[EpochMillis | None, Stamp("created")] = None
    updated_at: Annotated[EpochMillis | None, Stamp("updated")] = None

    keys = Keys(
        PK="USER#{user_id}",
        SK="PROFILE",
        GSI2PK="USERS#{user_status}",
        GSI2SK="USER#{user_id}",
    )

    @Get(many=True, consistent=True)
    def by_id(self, user_id: str) -> None:
        """The profile of a user."""

    @Query("GSI2-TaskStatusIndex", expected=50)
    def by_status(self, user_status: UserStatus) -> None:
        """The users with a status."""


class Comment(Entity, table=task_management, naming=pascal_case, type_name="COMMENT"):
    """A comment on a task."""

    task_id: str
    comment_id: str
    text: Annotated[str, Personal()]
    created_by: Annotated[str, Personal("author")]
    created_at: Annotated[KeyMillis | None, Stamp("created")] = None

    keys = Keys(PK="COMMENTS#{task_id}", SK="COMMENT#{created_at:013}#{comment_id}")

    @Get(many=True)
    def by_id(self, task_id: str, created_at: datetime, comment_id: str) -> None:
        """A comment on a task."""

    @Query(newest_first=True, expected=10)
    def newest_of_task(self, task_id: str) -> None:
        """The comments on a task, newest first."""


class Attachment(Entity, table=task_management, naming=pascal_case, type_name="ATTACHMENT"):
    """A file that is attached to a task."""

    task_id: str
    attachment_id: str
    name: str
    content_type: str
    size: int
    created_by: Annotated[str, Personal("reference")]
    created_at: Annotated[EpochMillis | None, Stamp("created")] = None

    keys = Keys(PK="ATTACHMENTS#{task_id}", SK="ATTACHMENT#{attachment_id}")

    @Get(consistent=True)
    def by_id(self, task_id: str, attachment_id: str) -> None:
        """An attachment of a task."""

    @Query(expected=3)
    def of_task(self, task_id: str) -> None:
        """The attachments of a task."""


class AttachmentContent(Entity, table=task_management, naming=pascal_case, type_name="CONTENT"):
    """The content of an attachment; stored as a blob if it is large."""

    attachment_id: str
    content: Annotated[bytes, Large()]

    keys = Keys(PK="ATTACHMENT#{attachment_id}", SK="CONTENT")

    @Get(consistent=True)
    def by_id(self, attachment_id: str) -> None:
        """The content of an attachment."""


class FullTask(Collection):
    """A task with all of its assignments."""

    task: Task
    assignments: list[Assignment]

    @CollectionQuery(expected=6)
    def of_task(self, task_id: str) -> None:
        """A task and its assignments."""


_EVENTS: tuple[tuple[str, type[Entity], Literal["INSERT", "MODIFY"]], ...] = (
    ("TaskCreated", Task, "INSERT"),
    ("TaskStatusUpdated", Task, "MODIFY"),
    ("TaskAssigned", Assignment, "INSERT"),
)

# The entities that a search finds.
_FOUND: tuple[tuple[str, type[Entity]], ...] = (("task", Task), ("comment", Comment), ("person", User))

design = Design(
    "Tasks",
    about=__doc__,
    tables=[task_management],
    internal_tables=[events_table, internal_table],
    collections=[FullTask],
    writes=[
        Write("create task", ItemWrite(Task, "create")),
        Write(
            "change details",
            ItemWrite(Task, "update", sets=[Task.title, Task.description, Task.priority, Task.due, Task.updated_by]),
            AUDITED,
            reads=[Task.by_id, Task.by_id],
        ),
        Write(
            "change status",
            ItemWrite(Task, "update", sets=[Task.status, Task.updated_by]),
            AUDITED,
            checks=[Assignment],
            reads=[Task.by_id, Assignment.by_id],
        ),
        Write("assign", ItemWrite(Assignment, "create"), AUDITED, checks=[Task, User]),
        Write("unassign", ItemWrite(Assignment, "delete"), AUDITED),
        # The task is read with its assignments, by one query; its creator and assignees are notified.
        Write(
            "add comment",
            ItemWrite(Comment, "create"),
            ItemWrite(Notice, "create", count=6),
            checks=[Task],
            reads=[Assignment.of_task],
        ),
        Write(
            "attach", ItemWrite(Attachment, "create"), ItemWrite(AttachmentContent, "create"), AUDITED, checks=[Task]
        ),
        Write(
            "detach",
            ItemWrite(Attachment, "delete"),
            ItemWrite(AttachmentContent, "delete"),
            AUDITED,
            reads=[Attachment.by_id],
        ),
        # With an invitation by mail.
        Write(
            "create user",
            ItemWrite(User, "create"),
            AUDITED,
            ItemWrite(MailRecord, "create", sets=[MailRecord.message]),
            ItemWrite(QueuedMail, "create"),
            ItemWrite(Invited, "put"),
            reads=[Invited.of_person],
        ),
        Write(
            "change user",
            ItemWrite(User, "update", sets=[User.email, User.groups, User.user_status]),
            AUDITED,
            checks=[User],
            reads=[User.by_id],
        ),
        Write(
            "deactivate user",
            ItemWrite(User, "update", sets=[User.user_status]),
            ItemWrite(DeactivatedUser, "put"),
            AUDITED,
            checks=[User],
            reads=[User.by_id],
            about="refused by every system from now on",
        ),
        Write(
            "reactivate user",
            ItemWrite(User, "update", sets=[User.user_status]),
            ItemWrite(DeactivatedUser, "delete"),
            AUDITED,
            reads=[User.by_id],
        ),
        PUBLISH_EVENT,
        CLAIM_MAIL,
        RECORD_MAIL,
        QUEUE_MAIL,
        SETTLE_MAIL,
        COMPLETE_MAIL,
        KEEP_RESPONSE,
    ],
    reactions=[
        *(
            Reaction(name, entity, events=frozenset([event]), consumer="events", write="publish event")
            for name, entity, event in _EVENTS
        ),
        # Mail is sent for events, in stream order.
        Reaction(
            "mail about an event",
            Event,
            events=frozenset(["INSERT"]),
            effect="notify",
            consumer="notifications",
            write="complete mail",
        ),
        *(Reaction(f"find {name}", entity, effect="index", consumer="search") for name, entity in _FOUND),
    ],
    roles={
        "api": [
            "Task.by_id",
            "Task.by_status",
            "Task.newest_by_status",
            "Assignment.by_id",
            "Assignment.of_task",
            "Assignment.of_user",
            "Comment.by_id",
            "Comment.newest_of_task",
            "Attachment.by_id",
            "Attachment.of_task",
            "AttachmentContent.by_id",
            "User.by_id",
            "User.by_status",
            "Invited.of_person",
            "FullTask.of_task",
            "create task",
            "change details",
            "change status",
            "assign",
            "unassign",
            "add comment",
            "attach",
            "detach",
            "create user",
            "change user",
            "deactivate user",
            "reactivate user",
        ],
        "notifications": [
            "Task.by_id",
            "User.by_id",
            "FullTask.of_task",
            "MailRecord.by_recipient",
            "MailRecord.by_recipients",
            "MailCompleted.by_event",
            "QueuedMail.waiting",
            "DeadMail.newest",
            "claim mail",
            "record mail",
            "queue mail",
            "settle mail",
        ],
        "runtime": [CHECK_CALLER, READ_AUDIT, "Event.of_source", "keep response"],
    },
    volume={
        Task: Volume(items=50_000, size=700, distinct={"GSI2PK": len(Status)}),
        Assignment: Volume(items=100_000, size=300),
        Comment: Volume(items=250_000, size=600),
        Attachment: Volume(items=25_000, size=350),
        AttachmentContent: Volume(items=25_000, size=100_000),
        User: Volume(items=500, size=300, distinct={"GSI2PK": len(UserStatus)}),
    },
    traffic={
        "create task": Traffic(per_second=0.1, peak=2),
        "assign": Traffic(per_second=0.2, peak=4),
        "change status": Traffic(per_second=0.3, peak=5),
        "Task.by_id": Traffic(per_second=2, peak=20),
        "Task.by_status": Traffic(per_second=1, peak=10),
        "Assignment.of_user": Traffic(per_second=1, peak=10),
        "FullTask.of_task": Traffic(per_second=1, peak=10),
        "Comment.newest_of_task": Traffic(per_second=1, peak=10),
        "Attachment.of_task": Traffic(per_second=1, peak=10),
        "add comment": Traffic(per_second=0.1, peak=2),
        "attach": Traffic(per_second=0.01, peak=1),
        "User.by_id": Traffic(per_second=5, peak=50),
        "User.by_status": Traffic(per_second=0.01, peak=1),
        "create user": Traffic(per_second=0.001, peak=1),
        "change user": Traffic(per_second=0.001, peak=1),
    },
)
