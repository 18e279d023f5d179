"""The design of Tasks: the seed's table and keys, what reads and writes come to, and lint."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from tablewright.design.lint import lint
from tablewright.engine import Engine
from tablewright.runtime.events.event_log import Event
from tablewright.runtime.idempotency import UNKEYED
from tablewright.runtime.identity.access import Caller
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore, Store, TolerantReader
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Request, Response
from tablewright.systems.tasks.handlers import messages_about
from tablewright.systems.tasks.model import (
    Assignment,
    FullTask,
    Group,
    Priority,
    Status,
    Task,
    User,
    design,
    task_management,
)
from tablewright.systems.tasks.service import Tasks
from tests.systems.harness import Served
from tests.systems.stored_items import ask, items
from tests.systems.tasks.team import Team

AT = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.requirement("TM1", "TM2")
def test_keys_are_those_of_the_document() -> None:
    task = Task(
        task_id="123",
        title="Fix bug",
        description="",
        priority=Priority.LOW,
        created_by="456",
        updated_by="456",
        created_at=AT,
    )
    assert keys(task) == {
        "PK": "TASK#123",
        "SK": "METADATA",
        "GSI2PK": "STATUS#OPEN",
        "GSI2SK": "CREATED_AT#1704067200000",
    }
    assignment = Assignment(task_id="123", assigned_to="789", assigned_by="456")
    assert keys(assignment) == {
        "PK": "TASK#123",
        "SK": "ASSIGNMENT#789",
        "GSI1PK": "USER#789",
        "GSI1SK": "TASK#123",
    }
    user = User(user_id="789", email="member@example.org", groups=frozenset({Group.MEMBERS}))
    assert keys(user) == {"PK": "USER#789", "SK": "PROFILE", "GSI2PK": "USERS#ACTIVE", "GSI2SK": "USER#789"}


def keys(entity: Any) -> dict[str, str]:
    names = ("PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK")
    return {name: value["S"] for name, value in entity.item().items() if name in names}


@pytest.mark.requirement("TM1", "TM2")
def test_the_table_is_that_of_the_document(served: Served, team: Team) -> None:
    described = ask(served, "DescribeTable", task_management)["Table"]
    assert described["KeySchema"] == [
        {"AttributeName": "PK", "KeyType": "HASH"},
        {"AttributeName": "SK", "KeyType": "RANGE"},
    ]
    indexes = {
        index["IndexName"]: [element["AttributeName"] for element in index["KeySchema"]]
        for index in described["GlobalSecondaryIndexes"]
    }
    assert indexes == {
        "GSI1-UserTasksIndex": ["GSI1PK", "GSI1SK"],
        "GSI2-TaskStatusIndex": ["GSI2PK", "GSI2SK"],
    }
    assert described["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}

    task_id, grace = team.task(), team.member("grace")
    team.assign(task_id, grace)
    stored = {item["EntityType"]["S"]: item for item in items(served, task_management)}
    common = {"PK", "SK", "EntityType"}
    assert {"TaskId", "Title", "Description", "Status", "Priority", "CreatedBy", "CreatedAt", "UpdatedAt"} <= (
        stored["TASK"].keys() - common
    )
    assert {"TaskId", "AssignedTo", "AssignedBy", "AssignedAt"} <= stored["ASSIGNMENT"].keys() - common
    assert {"UserId", "Email", "UserStatus", "Groups"} <= stored["USER"].keys() - common
    for entity, name in (("TASK", "CreatedAt"), ("TASK", "UpdatedAt"), ("ASSIGNMENT", "AssignedAt")):
        assert len(stored[entity][name]["N"]) == 13


def test_lint_has_nothing_to_say() -> None:
    assert lint(design) == []


class Watched(EmbeddedBackend):
    """The embedded backend, and what it is asked."""

    requests: list[Request]

    async def call_async(self, request: Request) -> Response:
        self.requests.append(request)
        return await super().call_async(request)

    def call(self, request: Request) -> Response:
        self.requests.append(request)
        return super().call(request)


@pytest.mark.requirement("TM9")
def test_checks_are_strongly_consistent_and_listings_are_not() -> None:
    ada = Caller("ada", None, frozenset({"tasks:Admins"}))
    grace = Caller("grace", None, frozenset({"tasks:Members"}))

    async def work(tasks: Tasks, seen: list[Request]) -> dict[str, list[Request]]:
        found: dict[str, list[Request]] = {}

        async def watch(name: str, awaitable: Any) -> Any:
            seen.clear()
            result = await awaitable
            found[name] = list(seen)
            return result

        await tasks.create_user("grace", "grace@example.org", frozenset({Group.MEMBERS}), UNKEYED, admin=ada)
        task = await tasks.create("Deploy", "Now.", Priority.LOW, UNKEYED, admin=ada)
        await watch("assign", tasks.assign(task.task_id, "grace", UNKEYED, admin=ada))
        await watch("move", tasks.change_status(task.task_id, Status.IN_PROGRESS, caller=grace))
        await watch("admit", tasks.admit(grace))
        await watch("by status", tasks.by_status(Status.IN_PROGRESS))
        await watch("of user", tasks.of_user("grace"))
        await watch("assignments", tasks.assignments(task.task_id))
        await watch("users", tasks.users(User.model_fields["user_status"].default))
        full, _ = await watch("full", tasks.full(task.task_id))
        assert isinstance(full, FullTask)
        return found

    with Engine.open() as engine:
        Store.on(engine).ensure_tables(internal_table, task_management)
        backend = Watched(engine, owned=False)
        backend.requests = []
        found = asyncio.run(work(Tasks(AsyncStore(backend), time.time), backend.requests))

    # An assignment is one transaction: it reads nothing before, and checks everything in it.
    (transaction,) = found["assign"]
    assert transaction.operation == "TransactWriteItems"
    assert [next(iter(action)) for action in transaction.body["TransactItems"]] == [
        "ConditionCheck",
        "ConditionCheck",
        "Put",
        # The entry of the audit.
        "Put",
    ]
    *reads, change = found["move"]
    assert [(read.operation, read.body["ConsistentRead"]) for read in reads] == [("GetItem", True)] * 2
    assert [next(iter(action)) for action in change.body["TransactItems"]] == ["Update", "ConditionCheck", "Put"]
    assert [(read.operation, read.body["ConsistentRead"]) for read in found["admit"]] == [("GetItem", True)]
    for name in ("by status", "of user", "assignments", "users", "full"):
        assert found[name], name
        assert not any(consistent(read.body) for read in found[name]), name
    assert [read.operation for read in found["full"]] == ["Query"]


@pytest.mark.requirement("TM8", "TM9")
def test_mail_is_about_what_was_written_last() -> None:
    with Engine.open() as engine:
        backend = Watched(engine, owned=False)
        backend.requests = []
        store = Store(backend)
        store.ensure_tables(task_management)
        store.create(User(user_id="grace", email="grace@example.org", groups=frozenset({Group.MEMBERS})))
        made: dict[str, Any] = {"title": "Deploy", "description": "Now.", "priority": Priority.LOW}
        store.create(Task(task_id="t-1", created_by="grace", updated_by="grace", **made))
        detail = {"taskId": "t-1", "userId": "grace", "assignedBy": "ada"}
        detail |= {"oldStatus": "OPEN", "newStatus": "IN_PROGRESS", "updatedBy": "ada"}
        for type_ in ("TaskAssigned", "TaskStatusUpdated"):
            backend.requests.clear()
            event = Event(event_id="e", source="tasks", type=type_, at=datetime.now(UTC), sequence="1", detail=detail)
            (letter,) = messages_about(TolerantReader(store), event)
            assert letter.recipient == "grace@example.org"
            assert len(backend.requests) == 2
            assert all(consistent(read.body) for read in backend.requests)


def consistent(body: dict[str, Any]) -> bool:
    if "RequestItems" in body:
        return any(table.get("ConsistentRead", False) for table in body["RequestItems"].values())
    return bool(body.get("ConsistentRead", False))
