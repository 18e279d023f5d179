"""Tasks as the runtime knows it (``system``): design, routes, service, consumers, and demo data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tablewright.runtime import Background, DemoUser, OnProgress, Runtime, System
from tablewright.systems.tasks.api import router
from tablewright.systems.tasks.model import design
from tablewright.systems.tasks.roles import ADMINS, MEMBERS, ROLES
from tablewright.systems.tasks.service import Tasks
from tablewright.systems.tasks.tasks_search import SEARCH
from tablewright.systems.unreadable_log import UnreadableLog

if TYPE_CHECKING:
    from tablewright.runtime import ConsumerSpec

__all__ = ["system"]

_USERS = (
    DemoUser("ada", (ADMINS,), "plans the work", "ada@example.org"),
    DemoUser("grace", (MEMBERS,), "has tasks to do", "grace@example.org"),
    DemoUser("linus", (MEMBERS,), "has tasks to do", "linus@example.org"),
)


def _service(runtime: Runtime) -> Tasks:
    unreadable_log = UnreadableLog("tasks", runtime.metrics, runtime.now)
    return Tasks(runtime.store, runtime.clock, unreadable_log, runtime.deny_list, runtime.people.invitation)


async def _demo(runtime: Runtime, tasks: Tasks, on_progress: OnProgress) -> None:
    from tablewright.systems.tasks import demo_tasks

    await demo_tasks.fill(runtime, tasks, _USERS, on_progress)


def _consumers(runtime: Runtime, tasks: Tasks) -> Sequence[ConsumerSpec]:
    from tablewright.systems.tasks import handlers

    return handlers.consumers(runtime, tasks.unreadable_log)


def _background(runtime: Runtime, tasks: Tasks) -> Sequence[Background]:
    from tablewright.runtime.mail.event_mail import MailRetries

    return [MailRetries(runtime.mailer.on(runtime.consumer_store), name="tasks.mail-retries", role="notifications")]


system = System(
    "tasks",
    "Tasks",
    "What a team has to do, who does it, and its status.",
    design,
    router,
    service=_service,
    roles=ROLES,
    admit=Tasks.admit,
    consumers=_consumers,
    background=_background,
    demo=_demo,
    demo_users=_USERS,
    search=SEARCH,
    screens="tablewright.systems.tasks.app.tasks_app",
)
