"""Events of tasks, as they were published."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from tablewright.runtime.events.event_log import Event
from tests.systems.harness import wait_for
from tests.systems.tasks.team import Team


def events(team: Team, *task_ids: str) -> list[Event]:
    """What was published about tasks, oldest first."""
    found = team.served.runtime.sync_store.iterate(Event.of_source(source="tasks"))
    about = [event for event in found if event.detail["taskId"] in task_ids]
    return about[::-1]


def settled(team: Team, task_id: str) -> list[Event]:
    """The events about a task, when all that went before has been published: what is written last comes last."""
    last = team.member(f"last{uuid4().hex[:4]}")
    team.assign(task_id, last)
    wait_for(lambda: last in assigned(events(team, task_id)))
    return events(team, task_id)


def assigned(found: list[Event]) -> set[str]:
    return {str(event.detail["userId"]) for event in found if event.type == "TaskAssigned"}


def told(found: list[Event]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (event.type, {name: value for name, value in event.detail.items() if name != "taskId"})
        for event in found
        if not str(event.detail.get("userId", "")).startswith("last")
    ]
