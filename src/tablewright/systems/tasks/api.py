"""Tasks over HTTP."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, NotRequired

from fastapi import APIRouter, Depends, Path, Query
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from tablewright.model import attr
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
from tablewright.runtime.audit import AuditPage
from tablewright.runtime.http.json_values import UNIQUE, ApiModel, Said, each_once, not_blank
from tablewright.runtime.http.path_ids import not_dots
from tablewright.runtime.mail.invitation_mail import InvitationLanguage
from tablewright.runtime.mail.mail_addresses import MailAddress
from tablewright.runtime.parameter_texts import matching
from tablewright.runtime.search.search_route import search_route
from tablewright.systems.response_views import page_end
from tablewright.systems.system_router import SystemRouter, UnreadableList
from tablewright.systems.tasks.additions_api import additions_router, time_text
from tablewright.systems.tasks.model import Assignment, Group, Priority, Status, Task, User, UserStatus
from tablewright.systems.tasks.roles import ADMINS, MEMBERS
from tablewright.systems.tasks.service import MOST_LISTED, Tasks
from tablewright.systems.unreadable_log import UnreadableItem, unreadable_items

tasks_router = SystemRouter("tasks", tags=["tasks"])
users_router = SystemRouter("tasks", tags=["users"])
maintenance_router = SystemRouter("tasks", tags=["maintenance"])

Service = Annotated[Tasks, Depends(service_of)]


Admin = Annotated[Caller, allow(ADMINS)]
Member = Annotated[Caller, allow(MEMBERS, ADMINS)]
# For callers' own resources: tasks that are assigned to them, and their profile.
Concerned = Annotated[Caller, allow(MEMBERS.own, ADMINS)]

_TASK_ID = "7c2f0f0e-2d0e-4c5b-9a51-0f6d2c3b8f11"
# Line breaks and other control characters; a ``_LINE`` has at least one visible character.
_CONTROLS = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_USER_ID = matching(
    r"^[^\s\x00-\x20\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff/]+$",
    "use the user id exactly as in tokens, without spaces, / or invisible characters",
)
_LINE = matching(
    rf"^[^{_CONTROLS}]*[^\s{_CONTROLS}][^{_CONTROLS}]*$", "write one line that is not blank, without control characters"
)


def _written_day(value: Any) -> Any:
    if not isinstance(value, str) or _DAY.fullmatch(value) is None:
        raise ValueError("write a date such as 2026-01-31")
    return date.fromisoformat(value)


TaskId = Annotated[str, Path(alias="taskId", min_length=1, max_length=64, examples=[_TASK_ID])]
UserId = Annotated[str, Path(alias="userId", min_length=1, max_length=128, examples=["u-789"])]
Title = Annotated[
    str,
    Field(min_length=1, max_length=200, pattern=_LINE, description="one line", examples=["Fix the login page"]),
    AfterValidator(not_blank),
]
Description = Annotated[Said, Field(max_length=10_000, examples=["It asks for the password twice."])]
Groups = Annotated[
    list[Group],
    Field(min_length=1, max_length=len(Group), json_schema_extra=UNIQUE, examples=[["Members"]]),
    AfterValidator(each_once),
]
When = Annotated[str, Field(description="ISO 8601, UTC, with milliseconds", examples=["2026-01-01T09:00:00.000Z"])]
# In this format only: pydantic would also accept a number of days or seconds as a date.
_Day = Annotated[date, BeforeValidator(_written_day)]
Due = Annotated[_Day | None, Field(description="due date", examples=["2026-01-31"])]


class Strict(ApiModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")


class NewTask(Strict):
    title: Title
    description: Description
    priority: Priority
    due: Due = None


class Changes(Strict):
    """Omitted fields stay unchanged."""

    @model_validator(mode="after")
    def _says_something(self) -> Changes:
        if not self.given():
            raise ValueError("give at least one field")
        return self

    def given(self) -> dict[str, Any]:
        """The values to change; null is ignored, except for fields that it removes."""
        return self.model_dump(exclude_none=True)


class TaskChanges(Changes):
    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "examples": [{"priority": "HIGH"}]})

    title: Title | None = None
    description: Description | None = None
    priority: Priority | None = None
    due: Due = None

    def given(self) -> dict[str, Any]:
        taken_away = {"due": None} if "due" in self.model_fields_set and self.due is None else {}
        return {**self.model_dump(exclude_none=True), **taken_away}


class StatusChange(Strict):
    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "IN_PROGRESS"}]})

    status: Status
    expected: Status | None = Field(
        None, description="the status that the change is based on; 409 if the current one differs"
    )


class NewAssignment(Strict):
    user_id: Annotated[
        str, Field(min_length=1, max_length=128, pattern=_USER_ID, examples=["u-789"]), AfterValidator(not_blank)
    ]


class NewUser(Strict):
    user_id: Annotated[
        str,
        Field(
            min_length=1,
            max_length=128,
            pattern=_USER_ID,
            description="the `sub` of the user's tokens",
            examples=["u-789"],
        ),
        AfterValidator(not_dots),
        AfterValidator(not_blank),
    ]
    email: MailAddress
    groups: Groups
    language: InvitationLanguage = None


class UserChanges(Changes):
    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "examples": [{"groups": ["Members", "Admins"]}]})

    email: MailAddress | None = None
    groups: Groups | None = None


class TaskView(TypedDict):
    """A task."""

    taskId: Annotated[str, Field(examples=[_TASK_ID])]
    title: Annotated[str, Field(examples=["Fix the login page"])]
    description: str
    status: Status
    priority: Priority
    due: Annotated[str | None, Field(description="due date", examples=["2026-01-31"])]
    createdBy: Annotated[str, Field(examples=["u-456"])]
    createdAt: When
    updatedBy: Annotated[str, Field(examples=["u-456"])]
    updatedAt: When


class ListedTaskView(TaskView):
    """A task in a list that was requested with `assignees`."""

    assignedTo: Annotated[list[str], Field(description=f"the first {MOST_LISTED} assignees")]


class AssignmentView(TypedDict):
    """The assignment of a task to a user."""

    taskId: Annotated[str, Field(examples=[_TASK_ID])]
    userId: Annotated[str, Field(examples=["u-789"])]
    assignedBy: Annotated[str, Field(examples=["u-456"])]
    assignedAt: When


class FullTaskView(TaskView):
    """A task with all of its assignments."""

    assignments: list[AssignmentView]
    unreadable: list[UnreadableItem]


class AssignedTaskView(TaskView):
    """A task in a user's list, with its assignment."""

    assignedBy: Annotated[str, Field(examples=["u-456"])]
    assignedAt: When


class UserView(TypedDict):
    """A user."""

    userId: Annotated[str, Field(examples=["u-789"])]
    email: Annotated[str, Field(examples=["member@example.org"])]
    groups: list[Group]
    status: UserStatus
    createdAt: When
    updatedAt: When


_More = Annotated[str | None, Field(description="for the next page; null on the last one")]


class TaskPage(TypedDict):
    tasks: list[ListedTaskView | TaskView]
    cursor: NotRequired[_More]
    unreadable: list[UnreadableItem]


class AssignedTaskPage(TypedDict):
    tasks: list[AssignedTaskView]
    cursor: NotRequired[_More]
    unreadable: list[UnreadableItem]


class AssignmentPage(TypedDict):
    assignments: list[AssignmentView]
    cursor: NotRequired[_More]
    unreadable: list[UnreadableItem]


class UserPage(TypedDict):
    users: list[UserView]
    cursor: NotRequired[_More]
    unreadable: list[UnreadableItem]


# -- tasks ----------------------------------------------------------------------------------------------------------


@tasks_router.post("/tasks", status_code=201, responses=documented(409))
async def create_task(body: NewTask, tasks: Service, admin: Admin, idempotency_key: IdempotencyKey = None) -> TaskView:
    """Create a task with status OPEN, unassigned. Admins only."""
    responder = Responder(_task, admin.user_id, idempotency_key)
    return await tasks.create(body.title, body.description, body.priority, responder, admin=admin, due=body.due)


@tasks_router.get("/tasks", responses=documented(400))
async def list_tasks(
    status: Annotated[Status, Query(description="only tasks with this status")],
    tasks: Service,
    _: Member,
    newest_first: Annotated[
        bool, Query(alias="newestFirst", description="newest first instead of oldest first")
    ] = False,
    assignees: Annotated[bool, Query(description="include the assignees of each task")] = False,
    limit: Limit = 25,
    cursor: Cursor = None,
) -> TaskPage:
    """The tasks with a status, by creation time."""
    page = await tasks.by_status(status, newest_first=newest_first, limit=limit, cursor=cursor)
    found: list[ListedTaskView | TaskView] = [_task(task) for task in page.items]
    if assignees:
        users = await tasks.assigned_to(page.items)
        found = [_listed(task, each) for task, each in zip(page.items, users, strict=True)]
    return {"tasks": found, **page_end(page)}


@tasks_router.get("/tasks/{taskId}", responses=documented(404, 409))
async def get_task(task_id: TaskId, tasks: Service, _: Member, reading: Reading) -> TaskView:
    """A task."""
    return _task(reading.of(await tasks.get(task_id)))


@tasks_router.get("/tasks/{taskId}/full", responses=documented(404, 409, 413))
async def get_full_task(task_id: TaskId, tasks: Service, _: Member, reading: Reading) -> FullTaskView:
    """A task with all of its assignments."""
    full, unreadable = await tasks.full(task_id)
    reading.of(full.task, full.assignments)
    assignments = [_assignment(each) for each in full.assignments]
    return {**_task(full.task), "assignments": assignments, "unreadable": unreadable_items(unreadable)}


@tasks_router.patch("/tasks/{taskId}", responses=documented(404, 409))
async def change_task(task_id: TaskId, body: TaskChanges, tasks: Service, admin: Admin, changing: Changing) -> TaskView:
    """Change a task that is not CLOSED: its title, description, priority or due date. Admins only.

    `"due": null` removes the date.
    """
    changes = [attr(getattr(Task, name)).set(value) for name, value in body.given().items()]
    return _task(changing.of(await tasks.change(task_id, changes, admin=admin, seen=changing.seen)))


@tasks_router.put("/tasks/{taskId}/status", responses=documented(404, 409))
async def change_status(
    task_id: TaskId, body: StatusChange, tasks: Service, caller: Concerned, changing: Changing
) -> TaskView:
    """Change the status of a task. For its assignees, and for Admins.

    | from | to |
    |---|---|
    | OPEN | IN_PROGRESS, CLOSED |
    | IN_PROGRESS | COMPLETED, OPEN, CLOSED |
    | COMPLETED | CLOSED, IN_PROGRESS |
    | CLOSED | none |

    409 if the transition is not allowed, or if the status is not the `expected` one or was changed concurrently.
    """
    task = await tasks.change_status(task_id, body.status, caller=caller, expected=body.expected, seen=changing.seen)
    return _task(changing.of(task))


@tasks_router.get("/tasks/{taskId}/audit", responses=documented(400, 404))
async def audit(task_id: TaskId, tasks: Service, _: Admin, limit: Limit = 50, cursor: Cursor = None) -> AuditPage:
    """The audit of a task and its assignments, newest first: who changed what, when and how. Admins only."""
    return await tasks.audit(task_id, limit=limit, cursor=cursor)


# -- assignments ----------------------------------------------------------------------------------------------------


@tasks_router.post("/tasks/{taskId}/assign", responses=documented(400, 404, 409))
async def assign_task(
    task_id: TaskId, body: NewAssignment, tasks: Service, admin: Admin, idempotency_key: IdempotencyKey = None
) -> AssignmentView:
    """Assign a task to an active user, who is notified by mail. Admins only.

    404 if the task does not exist, 400 if the user does not exist or is deactivated, 409 if the task is already
    assigned to the user, or is CLOSED.
    """
    responder = Responder(_assignment, admin.user_id, idempotency_key)
    return await tasks.assign(task_id, body.user_id, responder, admin=admin)


@tasks_router.get("/tasks/{taskId}/assignments", responses=documented(400, 404, 409))
async def list_assignments(
    task_id: TaskId, tasks: Service, _: Member, limit: Limit = 25, cursor: Cursor = None
) -> AssignmentPage:
    """The assignments of a task."""
    page = await tasks.assignments(task_id, limit=limit, cursor=cursor)
    found = [_assignment(each) for each in page.items]
    return {"assignments": found, **page_end(page)}


@tasks_router.delete("/tasks/{taskId}/assignments/{userId}", status_code=204, responses=documented(404))
async def unassign_task(task_id: TaskId, user_id: UserId, tasks: Service, _: Admin) -> None:
    """Remove an assignment. Admins only."""
    await tasks.unassign(task_id, user_id)


@users_router.get("/users/{userId}/tasks", responses=documented(400))
async def list_tasks_of_user(
    user_id: UserId, tasks: Service, _: Member, limit: Limit = 25, cursor: Cursor = None
) -> AssignedTaskPage:
    """The tasks that are assigned to a user; empty for an unknown user."""
    return await _tasks_of(tasks, user_id, limit, cursor)


@users_router.get("/me/tasks", responses=documented(400))
async def list_my_tasks(tasks: Service, caller: Member, limit: Limit = 25, cursor: Cursor = None) -> AssignedTaskPage:
    """The tasks that are assigned to the caller."""
    return await _tasks_of(tasks, caller.user_id, limit, cursor)


# -- users ----------------------------------------------------------------------------------------------------------


@users_router.post("/users", status_code=201, responses=documented(409))
async def create_user(body: NewUser, tasks: Service, admin: Admin, idempotency_key: IdempotencyKey = None) -> UserView:
    """Create a user, who gets mail with a link to the applications, unless they already got it. Admins only.

    A group counts only if both the token and the profile have it, so removing it here takes effect at once.
    """
    responder = Responder(_user, admin.user_id, idempotency_key)
    groups, language = frozenset(body.groups), body.language
    return await tasks.create_user(body.user_id, body.email, groups, responder, admin=admin, language=language)


@users_router.get("/users", responses=documented(400))
async def list_users(
    tasks: Service,
    _: Admin,
    status: Annotated[UserStatus, Query(description="only users with this status")] = UserStatus.ACTIVE,
    limit: Limit = 25,
    cursor: Cursor = None,
) -> UserPage:
    """The users with a status, ordered by id. Admins only."""
    page = await tasks.users(status, limit=limit, cursor=cursor)
    found = [_user(user) for user in page.items]
    return {"users": found, **page_end(page)}


@users_router.get("/users/{userId}", responses=documented(404, 409))
async def get_user(user_id: UserId, tasks: Service, caller: Concerned, reading: Reading) -> UserView:
    """A user's profile; for that user, and for Admins."""
    return _user(reading.of(await tasks.user(user_id, caller=caller)))


@users_router.get("/users/{userId}/audit", responses=documented(400, 404))
async def user_audit(user_id: UserId, tasks: Service, _: Admin, limit: Limit = 50, cursor: Cursor = None) -> AuditPage:
    """The audit of a user, newest first: who changed what, when and how. Admins only."""
    return await tasks.user_audit(user_id, limit=limit, cursor=cursor)


@users_router.patch("/users/{userId}", responses=documented(404, 409))
async def change_user(user_id: UserId, body: UserChanges, tasks: Service, admin: Admin, changing: Changing) -> UserView:
    """Change the address or the groups of a user. Admins only; they cannot demote themselves, or the last admin."""
    changes = []
    if body.email is not None:
        changes.append(attr(User.email).set(body.email))
    if body.groups is not None:
        changes.append(attr(User.groups).set(frozenset(body.groups)))
    responder: Responder[User, UserView] = Responder(lambda user: _user(changing.of(user)))
    return await tasks.change_user(user_id, changes, responder, admin=admin, seen=changing.seen)


@users_router.post("/users/{userId}/deactivate", responses=documented(404, 409))
async def deactivate_user(
    user_id: UserId, tasks: Service, admin: Admin, changing: Changing, idempotency_key: IdempotencyKey = None
) -> UserView:
    """Deactivate a user: their tokens are refused from now on, and they get no more tasks or mail.

    Admins only; they cannot deactivate themselves, or the last admin. Tasks that are assigned to the user stay so.
    """
    changes = [attr(User.user_status).set(UserStatus.DEACTIVATED)]
    responder = Responder(_user, admin.user_id, idempotency_key)
    return await tasks.change_user(user_id, changes, responder, admin=admin, seen=changing.seen)


@users_router.post("/users/{userId}/reactivate", responses=documented(404, 409))
async def reactivate_user(
    user_id: UserId, tasks: Service, admin: Admin, changing: Changing, idempotency_key: IdempotencyKey = None
) -> UserView:
    """Reactivate a user. Admins only."""
    changes = [attr(User.user_status).set(UserStatus.ACTIVE)]
    responder = Responder(_user, admin.user_id, idempotency_key)
    return await tasks.change_user(user_id, changes, responder, admin=admin, seen=changing.seen)


@maintenance_router.get("/unreadable")
async def unreadable(tasks: Service, _: Admin) -> UnreadableList:
    """Items that could not be read since this process started, the latest first: their keys, reasons and counts."""
    return UnreadableList.of(tasks.unreadable_log)


router = APIRouter(
    routes=[
        *tasks_router.routes,
        *additions_router.routes,
        *users_router.routes,
        *search_route("tasks", MEMBERS, ADMINS).routes,
        *maintenance_router.routes,
    ]
)


# -- views ----------------------------------------------------------------------------------------------------------


async def _tasks_of(tasks: Tasks, user_id: str, limit: int, cursor: str | None) -> AssignedTaskPage:
    found, unreadable, more = await tasks.of_user(user_id, limit=limit, cursor=cursor)
    views: list[AssignedTaskView] = [
        {
            **_task(each.task),
            "assignedBy": each.assignment.assigned_by,
            "assignedAt": time_text(each.assignment.assigned_at),
        }
        for each in found
    ]
    return {"tasks": views, "cursor": more, "unreadable": unreadable_items(unreadable)}


def _task(task: Task) -> TaskView:
    created = time_text(task.created_at)
    return {
        "taskId": task.task_id,
        "title": task.title,
        "description": task.description,
        "status": task.status,
        "priority": task.priority,
        "due": None if task.due is None else task.due.isoformat(),
        "createdBy": task.created_by,
        "createdAt": created,
        "updatedBy": task.updated_by,
        # Comparing two times takes a tenth of the time of formatting one.
        "updatedAt": created if task.updated_at == task.created_at else time_text(task.updated_at),
    }


def _listed(task: Task, assigned_to: list[str]) -> ListedTaskView:
    return {**_task(task), "assignedTo": assigned_to}


def _assignment(assignment: Assignment) -> AssignmentView:
    return {
        "taskId": assignment.task_id,
        "userId": assignment.assigned_to,
        "assignedBy": assignment.assigned_by,
        "assignedAt": time_text(assignment.assigned_at),
    }


def _user(user: User) -> UserView:
    return {
        "userId": user.user_id,
        "email": user.email,
        "groups": sorted(user.groups),
        "status": user.user_status,
        "createdAt": time_text(user.created_at),
        "updatedAt": time_text(user.updated_at),
    }
