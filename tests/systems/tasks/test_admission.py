"""Who is admitted is read again whenever anything has been written, and not for every request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.runtime.errors import Forbidden
from tablewright.runtime.http.application import prepare
from tablewright.runtime.identity.tokens import MEMBERS, Caller
from tablewright.runtime.settings import Settings
from tablewright.runtime.system import Runtime
from tablewright.systems.tasks import system
from tablewright.systems.tasks.model import Group, User, UserStatus
from tablewright.systems.tasks.service import Tasks
from tablewright.wire import serve_in_thread

GRACE = Caller("grace", groups=frozenset({MEMBERS}))
PROFILE = User(user_id="grace", email="grace@example.org", groups=frozenset({Group.MEMBERS}))


def reads(runtime: Runtime) -> float:
    labels = {"table": "TaskManagement", "pattern": "User.by_id", "operation": "GetItem"}
    return runtime.metrics.registry.get_sample_value("dynamodb_consumed_capacity_units_total", labels) or 0.0


def with_tasks(work: Callable[[Runtime, Tasks], Awaitable[None]], **settings: Any) -> None:
    runtime = Runtime.open(Settings(**settings), [system])
    try:
        asyncio.run(_prepared(runtime, work))
    finally:
        runtime.close()


async def _prepared(runtime: Runtime, work: Callable[[Runtime, Tasks], Awaitable[None]]) -> None:
    await prepare(runtime, [system])
    await work(runtime, system.service(runtime))


@pytest.mark.requirement("TM6")
def test_a_profile_is_read_once_while_nothing_is_written() -> None:
    async def work(runtime: Runtime, tasks: Tasks) -> None:
        profile = await runtime.store.create(PROFILE.model_copy())
        for _ in range(5):
            assert await tasks.admit(GRACE) == GRACE
        assert reads(runtime) == 1
        await runtime.store.update(profile, user_status=UserStatus.DEACTIVATED)
        for _ in range(5):
            with pytest.raises(Forbidden, match="deactivated"):
                await tasks.admit(GRACE)
        assert reads(runtime) == 2
        await runtime.store.delete(profile)
        for _ in range(5):
            assert await tasks.admit(GRACE) == GRACE
        assert await tasks.admit(Caller("linus")) == Caller("linus")
        assert reads(runtime) == 4

    with_tasks(work, memory=True)


def test_on_an_endpoint_where_others_write_it_is_read_every_time(tmp_path: Path) -> None:
    async def work(runtime: Runtime, tasks: Tasks) -> None:
        for _ in range(5):
            await tasks.admit(GRACE)
        assert reads(runtime) == 5

    with Engine.open() as engine, serve_in_thread(engine) as url:
        with_tasks(work, endpoint=url, data=tmp_path)
