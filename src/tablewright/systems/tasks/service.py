"""The use cases of Tasks.

Permissions: Admins create and change tasks, assign them, and manage users. Members see all tasks of the team, and
change the status of those that are assigned to them. Profiles, which have addresses, are visible to Admins and their
owner only.

A role comes from the token. If there is a profile, it must have the group as well, and must be active: what an admin
revokes is gone at once, not when the token expires. A user whose profile cannot be read has no role. Deactivating a
user also puts them on the deny list, in the same transaction: all systems refuse them.

There is always an admin: admins can neither deactivate nor demote themselves, and a write that removes an admin checks,
in the same transaction, that another one remains. So if two admins demote each other, only one succeeds.

Unreadable items are left out of lists, and cannot be changed (Unreadable).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, TypeVar
from uuid import uuid4

from tablewright.model import FieldChange, attr
from tablewright.runtime import (
    UNSEEN,
    Caller,
    Forbidden,
    Idempotency,
    Invalid,
    ResourceNotFound,
    Responder,
    Role,
    Seen,
    StateConflict,
)
from tablewright.runtime.audit import Audit, AuditPage, Recorded, own_error
from tablewright.runtime.identity.deny_list import DeactivatedUser, DenyList
from tablewright.runtime.mail.invitation_mail import Language
from tablewright.store import (
    AlreadyExists,
    AsyncStore,
    AsyncTolerantReader,
    Cancelled,
    Check,
    ConditionFailed,
    Create,
    Delete,
    NotFound,
    Operation,
    Outcome,
    Put,
    TolerantPage,
    Unreadable,
    Update,
)
from tablewright.systems.tasks.model import (
    FOLLOWING,
    Assignment,
    FullTask,
    Group,
    Priority,
    Status,
    Task,
    User,
    UserStatus,
)
from tablewright.systems.tasks.roles import ADMINS
from tablewright.systems.tasks.task_additions import TaskAdditions, no_task, task_thing
from tablewright.systems.unreadable_log import UnreadableLog

R = TypeVar("R")

Invitation = Callable[[str, str, Caller, Language | None], Awaitable[list[Operation]]]

SYSTEM = "tasks"

# Attempts of a change that loses against concurrent ones.
_ATTEMPTS = 5
# The most assignees of a task that a list of tasks includes.
MOST_LISTED = 25
# All sets of groups that make an admin, as a condition compares the whole set.
_ADMIN_GROUPS = frozenset({Group.ADMINS}), frozenset({Group.ADMINS, Group.MEMBERS})
# An unreadable status is none of these.
_NOT_CLOSED = [status for status in Status if status is not Status.CLOSED]


@dataclass(frozen=True, slots=True)
class Admitted(Caller):
    """A caller with the roles that apply here; ``has_profile`` saves reading the profile again."""

    has_profile: bool = False


@dataclass(frozen=True, slots=True)
class Assigned:
    """A task with its assignment."""

    task: Task
    assignment: Assignment


class Tasks:
    """Tasks, their assignments, and users."""

    def __init__(
        self,
        store: AsyncStore,
        clock: Callable[[], float],
        unreadable_log: UnreadableLog | None = None,
        deny_list: DenyList | None = None,
        invitation: Invitation | None = None,
    ) -> None:
        """``invitation`` returns what is written with a new user, so that they get mail with a link."""
        self.unreadable_log = unreadable_log or UnreadableLog("tasks")
        self._deny_list = deny_list or DenyList(store)
        self._invitation = invitation
        self._store = store
        self._clock = clock
        self._reader = AsyncTolerantReader(store, self.unreadable_log.add)
        self._idempotency = Idempotency("tasks")
        self._audit = Audit(SYSTEM, clock)
        self.additions = TaskAdditions(store, self._reader, self._idempotency, self._audit, self._now)

    async def admit(self, caller: Caller) -> Admitted:
        """The caller with the roles that apply here; Forbidden for a deactivated one."""
        try:
            profile = await self._store.get(User.by_id(caller.user_id), consistent=True)
        except Unreadable as error:
            self.unreadable_log.add(error)
            raise Forbidden(
                "your profile cannot be read, so you have no role here; ask an admin to repair it"
            ) from None
        if profile is None:
            return Admitted(caller.user_id, caller.email, caller.roles)
        if profile.user_status is not UserStatus.ACTIVE:
            raise Forbidden("your account is deactivated; ask an admin")
        return Admitted(caller.user_id, caller.email, caller.roles & roles_of(profile.groups), has_profile=True)

    # -- tasks --------------------------------------------------------------------------------------------------

    async def create(
        self,
        title: str,
        description: str,
        priority: Priority,
        responder: Responder[Task, R],
        *,
        admin: Caller,
        due: date | None = None,
    ) -> R:
        """Create a task; returns the response."""
        task = Task(
            task_id=str(uuid4()),
            title=title,
            description=description,
            priority=priority,
            due=due,
            created_by=admin.user_id,
            updated_by=admin.user_id,
        )
        if responder.key is None:
            return responder.view(await self._store.create(task))

        async def work() -> Outcome:
            task.created_at = task.updated_at = now = self._now()
            return Outcome(responder.view(task), Create(task), at=now)

        request = {"title": title, "description": description, "priority": priority}
        if due is not None:
            request["due"] = due.isoformat()
        return await self._idempotency.execute(self._store, "task", request, responder, work)

    async def get(self, task_id: str, *, consistent: bool = False) -> Task:
        task = await self._store.get(Task.by_id(task_id), consistent=consistent)
        if task is None:
            raise no_task(task_id)
        return task

    async def full(self, task_id: str) -> tuple[FullTask, list[Unreadable]]:
        """A task with all of its assignments, by one query; and those that cannot be read."""
        full, unreadable = await self._reader.collect(FullTask.of_task(task_id))
        if full is None:
            raise no_task(task_id)
        return full, unreadable

    async def by_status(
        self, status: Status, *, newest_first: bool = False, limit: int = 25, cursor: str | None = None
    ) -> TolerantPage[Task]:
        """The tasks with a status, by creation time."""
        pattern = Task.newest_by_status if newest_first else Task.by_status
        return await self._reader.page(pattern(status=status), limit=limit, cursor=cursor)

    async def change(self, task_id: str, changes: Sequence[FieldChange], *, admin: Caller, seen: Seen = UNSEEN) -> Task:
        """Change title, description, priority or due date of a task that is not closed."""
        values = _values(changes)
        for _ in range(_ATTEMPTS):
            # An update would detect an unreadable task only after writing it.
            task = await self.get(task_id, consistent=True)
            seen.require(task)
            if task.status is Status.CLOSED:
                raise _closed(task_id)
            # The values as they were read: the audit records them.
            known = [attr(getattr(Task, name)) == getattr(task, name) for name in values]
            change = Update(
                task,
                *changes,
                attr(Task.updated_by).set(admin.user_id),
                expect=[attr(Task.status).is_in(*_NOT_CLOSED), *known, *seen.unchanged(task)],
            )
            entry = self._audit.changed(task_thing(task_id), task, **values)
            try:
                with own_error():
                    await self._store.transact(change, entry)
                return await self.get(task_id, consistent=True)
            except NotFound:
                raise no_task(task_id) from None
            except ConditionFailed:
                # Changed concurrently; reading it again shows whether that matters.
                continue
        raise StateConflict(f"other requests keep changing task {task_id}; try again")

    async def change_status(
        self, task_id: str, status: Status, *, caller: Caller, expected: Status | None = None, seen: Seen = UNSEEN
    ) -> Task:
        """Change the status, if the task is the caller's and as it was seen; of concurrent changes, one wins."""
        task = await self.get(task_id, consistent=True)
        lookup = Assignment.by_id(task_id, caller.user_id)
        is_admin = caller.has(ADMINS)
        if not is_admin and await self._store.get(lookup, consistent=True) is None:
            raise _not_assigned(task_id)
        seen.require(task)
        if expected not in (None, task.status):
            raise StateConflict(f"task {task_id} is {task.status}, not {expected}; read it again")
        if status not in FOLLOWING[task.status]:
            allowed = " or ".join(FOLLOWING[task.status])
            hint = f"it can become {allowed}, not {status}" if allowed else "it cannot be changed"
            raise StateConflict(f"task {task_id} is {task.status}; {hint}")
        entry = self._audit.changed(task_thing(task_id), task, status=status)
        change = Update(
            task,
            attr(Task.status).set(status),
            attr(Task.updated_by).set(caller.user_id),
            expect=[attr(Task.status) == task.status, *seen.unchanged(task)],
        )
        checks = [] if is_admin else [Check(lookup)]
        try:
            await self._store.transact(change, *checks, entry)
        except Cancelled as cancelled:
            changed, *unassigned = cancelled.reasons
            if any(unassigned):
                raise _not_assigned(task_id) from None
            if isinstance(changed, NotFound):
                raise no_task(task_id) from None
            if isinstance(changed, ConditionFailed):
                raise seen.outrun(f"another request changed the status of task {task_id}; read it again") from None
            raise
        return task

    # -- assignments --------------------------------------------------------------------------------------------

    async def assign(self, task_id: str, user_id: str, responder: Responder[Assignment, R], *, admin: Caller) -> R:
        """Assign a task to an active user who does not have it yet: all checks and the write are one transaction."""
        assignment = Assignment(task_id=task_id, assigned_to=user_id, assigned_by=admin.user_id)
        writes = (
            Check(Task.by_id(task_id), attr(Task.status).is_in(*_NOT_CLOSED)),
            Check(User.by_id(user_id), attr(User.user_status) == UserStatus.ACTIVE),
            Create(assignment),
            self._audit.changed(task_thing(task_id), {}, assigned_to=user_id),
        )

        async def work() -> Outcome:
            assignment.assigned_at = now = self._now()
            return Outcome(responder.view(assignment), *writes, at=now)

        try:
            if responder.key is None:
                await self._store.transact(*writes)
                return responder.view(assignment)
            request = {"task_id": task_id, "user_id": user_id}
            return await self._idempotency.execute(self._store, "assignment", request, responder, work)
        except Cancelled as cancelled:
            task, user, existing, _ = cancelled.reasons
            if isinstance(task, NotFound):
                raise no_task(task_id) from None
            if isinstance(user, NotFound):
                raise Invalid(f"there is no user {user_id}", field="userId") from None
            if isinstance(user, ConditionFailed):
                # Raises Unreadable if the status cannot be read.
                await self._user(user_id)
                raise Invalid(f"user {user_id} is deactivated", field="userId") from None
            if isinstance(existing, AlreadyExists):
                raise StateConflict(f"task {task_id} is already assigned to {user_id}", kind="already-exists") from None
            if isinstance(task, ConditionFailed):
                await self.get(task_id, consistent=True)
                raise _closed(task_id) from None
            raise

    async def unassign(self, task_id: str, user_id: str) -> None:
        assignment = Assignment.by_id(task_id, user_id)
        gone = Delete(assignment, expect=attr(Assignment.assigned_to) == user_id)
        entry = self._audit.changed(task_thing(task_id), {"assigned_to": user_id}, assigned_to=None)
        try:
            with own_error():
                await self._store.transact(gone, entry)
        except NotFound:
            raise ResourceNotFound(f"task {task_id} is not assigned to {user_id}") from None

    async def assignments(
        self, task_id: str, *, limit: int = 25, cursor: str | None = None
    ) -> TolerantPage[Assignment]:
        """The assignments of a task."""
        page = await self._reader.page(Assignment.of_task(task_id), limit=limit, cursor=cursor)
        if not page.items and not page.unreadable and cursor is None:
            await self.get(task_id)
        return page

    async def assigned_to(self, tasks: Sequence[Task]) -> list[list[str]]:
        """The first assignees of each task, as a list shows them, read concurrently."""
        pages = await asyncio.gather(
            *(self._reader.page(Assignment.of_task(task.task_id), limit=MOST_LISTED) for task in tasks)
        )
        return [[each.assigned_to for each in page.items] for page in pages]

    async def of_user(
        self, user_id: str, *, limit: int = 25, cursor: str | None = None
    ) -> tuple[list[Assigned], list[Unreadable], str | None]:
        """The tasks that are assigned to a user, those that cannot be read, and the cursor for the next ones."""
        page = await self._reader.page(Assignment.of_user(user_id), limit=limit, cursor=cursor)
        tasks = await self._reader.each([Task.by_id(each.task_id) for each in page.items])
        found = zip(tasks, page.items, strict=True)
        return (
            [Assigned(task, assignment) for task, assignment in found if isinstance(task, Task)],
            [*page.unreadable, *(each for each in tasks if isinstance(each, Unreadable))],
            page.cursor,
        )

    # -- users --------------------------------------------------------------------------------------------------

    async def create_user(
        self,
        user_id: str,
        email: str,
        groups: frozenset[Group],
        responder: Responder[User, R],
        *,
        admin: Caller,
        invites: bool = True,
        language: Language | None = None,
    ) -> R:
        """Create a user, who is invited by mail; returns the response."""
        user = User(user_id=user_id, email=email, groups=groups)
        # Without a profile, the token alone makes a user an admin.
        if user_id == admin.user_id and not _is_admin(user):
            raise _locked_out()

        async def work() -> Outcome:
            user.created_at = user.updated_at = now = self._now()
            return Outcome(responder.view(user), Create(user), entry, *mail, at=now)

        entry = self._audit.created(_user_thing(user_id), user)
        mail: list[Operation] = []
        if invites and self._invitation is not None:
            mail = await self._invitation(user_id, email, admin, language)
        try:
            with own_error():
                if responder.key is None:
                    await self._store.transact(Create(user), entry, *mail)
                    return responder.view(user)
                request = {"user_id": user_id, "email": email, "groups": sorted(groups), "language": language}
                return await self._idempotency.execute(self._store, "user", request, responder, work)
        except AlreadyExists:
            raise StateConflict(f"user {user_id} already exists", kind="already-exists") from None

    async def user(self, user_id: str, *, caller: Caller) -> User:
        """A profile, for its owner and for Admins."""
        if caller.user_id != user_id:
            caller.require(ADMINS)
        return await self._user(user_id, consistent=False)

    async def users(self, status: UserStatus, *, limit: int = 25, cursor: str | None = None) -> TolerantPage[User]:
        return await self._reader.page(User.by_status(status), limit=limit, cursor=cursor)

    async def change_user(
        self,
        user_id: str,
        changes: Sequence[FieldChange],
        responder: Responder[User, R],
        *,
        admin: Caller,
        seen: Seen = UNSEEN,
    ) -> R:
        """Change the address, groups or status of a user; returns the response. An active admin always remains."""
        try:
            return await self._change_user(user_id, changes, responder, admin, seen)
        finally:
            # Also after an error, as the change may have been made.
            self._deny_list.forget(user_id)

    async def _change_user(
        self, user_id: str, changes: Sequence[FieldChange], responder: Responder[User, R], admin: Caller, seen: Seen
    ) -> R:
        values = _values(changes)

        async def work() -> Outcome:
            user, now = await self._user(user_id), self._now()
            operations = await self._user_changes(user, changes, admin, seen)
            return Outcome(responder.view(user.model_copy(update={**values, "updated_at": now})), *operations, at=now)

        for _ in range(_ATTEMPTS):
            try:
                if responder.key is None:
                    user = await self._user(user_id)
                    await self._store.transact(*await self._user_changes(user, changes, admin, seen))
                    return responder.view(user)
                request = {"user_id": user_id, "changes": values}
                return await self._idempotency.execute(self._store, "change of a user", request, responder, work)
            except (NotFound, ConditionFailed, Cancelled) as error:
                reasons = error.reasons if isinstance(error, Cancelled) else [error]
                if isinstance(reasons[0], NotFound):
                    raise _no_user(user_id) from None
                if not any(isinstance(reason, ConditionFailed | NotFound) for reason in reasons):
                    raise
                if len(reasons) > 1:
                    # The caller may no longer be an admin.
                    admin = await self.admit(admin)
                    admin.require(ADMINS)
        raise StateConflict(f"other requests keep changing user {user_id}; try again")

    async def _user_changes(
        self, user: User, changes: Sequence[FieldChange], admin: Caller, seen: Seen
    ) -> tuple[Operation, ...]:
        """The writes that change a user as it was read; if an admin is removed, with a check that another remains."""
        seen.require(user)
        values = _values(changes)
        after = user.model_copy(update=values)
        if user.user_id == admin.user_id and not _is_admin(after):
            raise _locked_out()
        # Whether an admin is removed depends on both.
        known = [attr(User.user_status) == user.user_status, attr(User.groups) == user.groups]
        operations: list[Operation] = [
            Update(user, *changes, expect=[*known, *seen.unchanged(user)]),
        ]
        if _is_admin(user) and not _is_admin(after):
            lookup = User.by_id(await self._another_admin(user.user_id, admin))
            is_active = attr(User.user_status) == UserStatus.ACTIVE
            operations.append(Check(lookup, is_active, attr(User.groups).is_in(*_ADMIN_GROUPS)))
        if "user_status" in values:
            # Also if the status stays the same: the deny list always agrees with the profile.
            operations.append(_denial(after, admin))
        return *operations, self._audit.changed(_user_thing(user.user_id), user, **values)

    async def _another_admin(self, user_id: str, admin: Caller) -> str:
        """An active admin with a profile, other than a user; StateConflict if there is none."""
        if isinstance(admin, Admitted) and admin.has_profile:
            return admin.user_id
        cursor: str | None = None
        while True:
            page = await self.users(UserStatus.ACTIVE, limit=100, cursor=cursor)
            for user in page.items:
                if user.user_id != user_id and _is_admin(user):
                    return user.user_id
            cursor = page.cursor
            if cursor is None:
                raise StateConflict(f"{user_id} is the last active admin; make another user an admin first")

    # -- audit --------------------------------------------------------------------------------------------------

    async def audit(self, task_id: str, *, limit: int, cursor: str | None) -> AuditPage:
        """The audit of a task and its assignments, newest first."""
        task = await self._reader.one(Task.by_id(task_id), consistent=True)
        recorded: list[Recorded] | None = None if task is None else []
        if isinstance(task, Task):
            recorded = [Recorded(task.created_by, task.created_at, "create_task")]
        return await self._audit.page(self._store, task_thing(task_id), recorded, limit=limit, cursor=cursor)

    async def user_audit(self, user_id: str, *, limit: int, cursor: str | None) -> AuditPage:
        """The audit of a user, newest first."""
        user = await self._reader.one(User.by_id(user_id), consistent=True)
        recorded: list[Recorded] | None = None if user is None else []
        return await self._audit.page(self._store, _user_thing(user_id), recorded, limit=limit, cursor=cursor)

    async def _user(self, user_id: str, *, consistent: bool = True) -> User:
        user = await self._store.get(User.by_id(user_id), consistent=consistent)
        if user is None:
            raise _no_user(user_id)
        return user

    def _now(self) -> datetime:
        # Times are stored as whole milliseconds.
        return datetime.fromtimestamp(int(self._clock() * 1000) / 1000, UTC)


def roles_of(groups: Iterable[Group]) -> frozenset[str]:
    """The roles that groups stand for."""
    return frozenset(f"{SYSTEM}:{group}" for group in groups)


def groups_of(roles: Iterable[Role]) -> frozenset[Group]:
    """The groups that roles stand for."""
    return frozenset(Group(role.name.partition(":")[2]) for role in roles)


def _denial(user: User, admin: Caller) -> Operation:
    """The write that makes every system refuse a user, or admit them again."""
    if user.user_status is UserStatus.DEACTIVATED:
        return Put(DeactivatedUser(user_id=user.user_id, deactivated_by=admin.user_id))
    return Delete(DeactivatedUser.by_id(user.user_id))


def _values(changes: Iterable[FieldChange]) -> dict[str, Any]:
    """The values that changes set, by field."""
    return {change.path: change.value for change in changes}


def _user_thing(user_id: str) -> str:
    return f"users/{user_id}"


def _no_user(user_id: str) -> ResourceNotFound:
    return ResourceNotFound(f"there is no user {user_id}")


def _is_admin(user: User) -> bool:
    return user.user_status is UserStatus.ACTIVE and Group.ADMINS in user.groups


def _locked_out() -> Forbidden:
    return Forbidden("you cannot deactivate yourself or give up your admin role; ask another admin")


def _closed(task_id: str) -> StateConflict:
    return StateConflict(f"task {task_id} is closed and cannot be changed")


def _not_assigned(task_id: str) -> Forbidden:
    return Forbidden(f"task {task_id} is not assigned to you; ask an admin to assign it")
