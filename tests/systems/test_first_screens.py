"""What a first screen reads does not grow with the table: as many requests and read units for 10,000 things as for few.

Those of Support are in ``support/test_many_tickets.py``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from tablewright.model import Design, Entity
from tablewright.store import AsyncStore
from tablewright.systems.calls.model import Call
from tablewright.systems.calls.model import design as calls
from tablewright.systems.calls.service import Bounds, Calls
from tablewright.systems.engagement.entities.candidate_entities import ChannelEntry, Subject
from tablewright.systems.engagement.model import design as engagement
from tablewright.systems.engagement.service import Engagement
from tablewright.systems.servicedesk.caller_ids import CallerIds
from tablewright.systems.servicedesk.model import Priority as Urgency
from tablewright.systems.servicedesk.model import Ticket
from tablewright.systems.servicedesk.model import design as servicedesk
from tablewright.systems.servicedesk.service import ServiceDesk
from tablewright.systems.tasks.model import Assignment, Priority, Status, Task
from tablewright.systems.tasks.model import design as tasks
from tablewright.systems.tasks.service import Tasks
from tests.systems.counted_reads import counted_reads

_NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
_FEW = 300


def _tickets(number: int) -> Iterator[Entity]:
    for place in range(number):
        yield Ticket(
            ticket_id=UUID(int=place),
            caller_id=f"caller-{place % 50}",
            issue_description="My laptop does not turn on",
            priority=list(Urgency)[place % 4],
            created_at=_NOW - timedelta(minutes=place),
            assignee=f"agent-{place % 6}" if place % 2 else None,
        )


async def _queue(store: AsyncStore) -> None:
    desk = ServiceDesk(store, CallerIds(b"secret"), _NOW.timestamp)
    for chosen in ({}, {"assignee": "agent-1"}, {"unassigned": True}):
        assert len((await desk.queue(limit=25, **chosen)).items) == 25
    assert len((await desk.of_caller("caller-1", limit=5)).items) == 5
    # What waits, for the start page and the bell.
    assert len((await desk.queue(limit=100)).items) == 100


def _tasks(number: int) -> Iterator[Entity]:
    for place in range(number):
        task_id, at = f"task-{place:06}", _NOW - timedelta(minutes=place)
        yield Task(
            task_id=task_id,
            title="Write the release notes",
            description="What changed for users",
            status=list(Status)[place % 4],
            priority=Priority.LOW,
            created_by="ada",
            updated_by="ada",
            created_at=at,
        )
        yield Assignment(task_id=task_id, assigned_to=f"user-{place % 5}", assigned_by="ada", assigned_at=at)


async def _board(store: AsyncStore) -> None:
    service = Tasks(store, _NOW.timestamp)
    for status in Status:
        shown = (await service.by_status(status, newest_first=True, limit=20)).items
        assert len(shown) == 20
        assert list(map(len, await service.assigned_to(shown))) == [1] * 20
    for limit in (25, 50):
        assert len((await service.of_user("user-1", limit=limit))[0]) == limit


def _calls(number: int) -> Iterator[Entity]:
    for place in range(number):
        yield Call(
            user_id=f"user-{place % 3}",
            call_id=f"call-{place}",
            provider_id=f"provider-{place % 4}",
            scheduled_for=_NOW + timedelta(hours=place),
        )


async def _calendar(store: AsyncStore) -> None:
    service = Calls(store, _NOW.timestamp)
    week = Bounds(_NOW + timedelta(days=1), _NOW + timedelta(days=8))
    assert len((await service.of_user("user-1", week, limit=100)).items) == 56
    assert len((await service.of_provider("provider-1", week, limit=100)).items) == 42
    assert len((await service.upcoming("user-1", limit=100)).items) == 100


def _candidates(number: int) -> Iterator[Entity]:
    for place in range(number):
        yield ChannelEntry(
            customer_id=f"c-{place:06}",
            program_id="coffee",
            marketplace_id="EU",
            subject=Subject(type="product", id="p-1"),
            channel_id="email",
            score=Decimal(place % 97),
            created=_NOW,
        )


async def _best(store: AsyncStore) -> None:
    service = Engagement(store, _NOW.timestamp, lambda configuration: None)
    for marketplace in (None, "EU"):
        assert len((await service.top("coffee", "email", marketplace_id=marketplace, limit=50)).items) == 50


_Things = Callable[[int], Iterator[Entity]]
_Screens = Callable[[AsyncStore], Awaitable[None]]
_FIRST: dict[str, tuple[Design, _Things, _Screens]] = {
    "servicedesk": (servicedesk, _tickets, _queue),
    "tasks": (tasks, _tasks, _board),
    "calls": (calls, _calls, _calendar),
    "engagement": (engagement, _candidates, _best),
}


@pytest.mark.parametrize("many", [900, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "system",
    [
        pytest.param("servicedesk", marks=pytest.mark.requirement("AP4")),
        pytest.param("tasks", marks=pytest.mark.requirement("AP8")),
        pytest.param("calls", marks=pytest.mark.requirement("AP7")),
        pytest.param("engagement", marks=pytest.mark.requirement("AP6")),
    ],
)
def test_a_first_screen_takes_as_much_for_many_things_as_for_some(system: str, many: int) -> None:
    design, things, screens = _FIRST[system]
    requests, units = counted_reads(design, things(_FEW), screens)
    found = counted_reads(design, things(many), screens)
    # Which shards the first are in differs, and with it how many of them are asked a second time.
    assert found[0] <= 1.25 * requests + 1
    assert found[1] <= 1.25 * units + 1
