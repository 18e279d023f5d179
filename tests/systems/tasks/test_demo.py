"""Demo data of Tasks."""

from __future__ import annotations

import asyncio
from typing import Any

from tablewright.runtime.internal_tables import internal_table
from tablewright.runtime.settings import Settings
from tablewright.runtime.system import Runtime
from tablewright.systems.tasks.model import Status, UserStatus
from tablewright.systems.tasks.tasks_system import system


def test_a_fill_that_is_repeated_changes_nothing() -> None:
    settings: dict[str, Any] = {"memory": True}
    runtime = Runtime.open(Settings(**settings), [system])
    tasks = system.service(runtime)
    told: list[tuple[str, int, int]] = []

    async def fill() -> tuple[int, int, int]:
        assert system.demo is not None
        await runtime.store.ensure_tables(internal_table, *system.tables)
        for _ in range(2):
            await system.demo(runtime, tasks, lambda *step: told.append(step))
        return (
            len((await tasks.by_status(Status.OPEN)).items),
            len((await tasks.by_status(Status.IN_PROGRESS)).items),
            len((await tasks.users(UserStatus.ACTIVE)).items),
        )

    try:
        assert asyncio.run(fill()) == (5, 3, 3)
    finally:
        runtime.close()
    assert told[-1] == ("users and tasks", 14, 14)
    assert {user.user_id for user in system.demo_users} == {"ada", "grace", "linus"}
