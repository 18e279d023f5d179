"""Task management as its document has it: a creation time in two spellings, a few statuses as partitions, and events
that are published once the write is done."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from tablewright.model import (
    Collection,
    CollectionQuery,
    CostClaim,
    Design,
    Entity,
    EpochSeconds,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Query,
    Reaction,
    Table,
    Write,
    pascal_case,
)

table = Table(
    "TaskManagement",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("GSI1-UserTasksIndex", "GSI1PK", "GSI1SK"),
        GlobalIndex("GSI2-TaskStatusIndex", "GSI2PK", "GSI2SK"),
    ],
    type_attribute="EntityType",
)


class Status(StrEnum):
    OPEN = "OPEN"
    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    CLOSED = "CLOSED"


class Task(Entity, table=table, naming=pascal_case, type_name="TASK"):
    task_id: str
    title: str
    description: str
    status: Status = Status.OPEN
    priority: str
    created_by: str
    created_at: EpochSeconds
    updated_at: EpochSeconds

    keys = Keys(
        PK="TASK#{task_id}",
        SK="METADATA",
        GSI2PK="STATUS#{status}",
        GSI2SK="CREATED_AT#{created_at:010}",
    )

    @Get()
    def by_id(self, task_id: str) -> None: ...

    @Query("GSI2-TaskStatusIndex")
    def by_status(self, status: Status, *, since: datetime | None = None, before: datetime | None = None) -> None: ...


class User(Entity, table=table, naming=pascal_case, type_name="USER"):
    user_id: str
    email: str
    user_status: str

    keys = Keys(PK="USER#{user_id}", SK="PROFILE")

    @Get()
    def by_id(self, user_id: str) -> None: ...


class Assignment(Entity, table=table, naming=pascal_case, type_name="ASSIGNMENT"):
    task_id: str
    user_id: str
    assigned_by: str
    assigned_at: EpochSeconds

    keys = Keys(PK="TASK#{task_id}", SK="ASSIGNMENT#{user_id}", GSI1PK="USER#{user_id}", GSI1SK="TASK#{task_id}")

    @Query()
    def of_task(self, task_id: str) -> None: ...

    @Query("GSI1-UserTasksIndex")
    def of_user(self, user_id: str) -> None: ...


class TaskWithAssignments(Collection):
    task: Task
    assignments: list[Assignment]

    @CollectionQuery()
    def of_task(self, task_id: str) -> None: ...


design = Design(
    "Tasks, as written",
    tables=[table],
    collections=[TaskWithAssignments],
    writes=[
        # The diagram of the table has "GSI2-SK: 1704067200", without the CREATED_AT# of the key design.
        Write("create_task", ItemWrite(Task, "create", keys={"GSI2SK": "{created_at}"})),
        Write("assign", ItemWrite(Assignment, "create")),
        Write("update_status", ItemWrite(Task, "update", sets=[Task.status, Task.updated_at])),
    ],
    reactions=[
        Reaction("TaskCreated", Task, events=frozenset(["INSERT"]), effect="publish", source="writer"),
        Reaction("TaskAssigned", Assignment, events=frozenset(["INSERT"]), effect="publish", source="writer"),
        Reaction("TaskStatusUpdated", Task, events=frozenset(["MODIFY"]), effect="publish", source="writer"),
    ],
    claims=[CostClaim("On-Demand Mode", write_price=1.25, read_price=0.25)],
)
