"""The audit: an entry exists exactly if its change was made, whenever the process dies, and shows no secrets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tablewright.engine import Engine
from tablewright.model import attr
from tablewright.runtime.audit import Audit, AuditEntry
from tablewright.runtime.idempotency import UNKEYED
from tablewright.runtime.identity.access import Caller
from tablewright.runtime.identity.actor import SYSTEM_ACTOR, Actor, acting
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore, EmbeddedBackend, Request, Response
from tablewright.systems.calls.model import Status as CallStatus
from tablewright.systems.calls.model import design as calls_design
from tablewright.systems.calls.service import Basis, Calls, NewCall
from tablewright.systems.servicedesk.caller_ids import CallerIds
from tablewright.systems.servicedesk.model import Status as DeskStatus
from tablewright.systems.servicedesk.model import tickets
from tablewright.systems.servicedesk.service import ServiceDesk
from tablewright.systems.support.model import Status as SupportStatus
from tablewright.systems.support.model import design as support_design
from tablewright.systems.support.service import Support
from tablewright.systems.tasks.model import Priority, Task, task_management
from tablewright.systems.tasks.service import Tasks
from tests.systems.dying_backend import Died

ADA = Caller("ada", None, frozenset({"tasks:Admins"}))


class MortalBackend(EmbeddedBackend):
    """A backend of a process that dies at one of its requests, before it takes effect or after."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, owned=False)
        self.left: int | None = None
        self.after = False

    async def call_async(self, request: Request) -> Response:
        if self.left is None:
            return await super().call_async(request)
        self.left -= 1
        if self.left < 0:
            if self.after:
                await super().call_async(request)
            raise Died
        return await super().call_async(request)


# A thing, the change of it, what it is afterwards, and its name.
Scene = tuple[Callable[[], Awaitable[Any]], Callable[[], Awaitable[bool]], str]


async def service_desk(store: AsyncStore) -> Scene:
    desk = ServiceDesk(store, CallerIds(b"secret"), time.time)
    ticket_id = (await desk.create("c", "It is broken", UNKEYED)).ticket.ticket_id

    async def is_changed() -> bool:
        return (await desk.get(ticket_id, consistent=True)).status is DeskStatus.IN_PROGRESS

    return lambda: desk.change_status(ticket_id, DeskStatus.IN_PROGRESS), is_changed, f"servicedesk/tickets/{ticket_id}"


async def support(store: AsyncStore) -> Scene:
    service = Support(store, time.time)
    ticket_id = (await service.create_ticket("c", "It is broken", UNKEYED)).ticket_id

    async def is_changed() -> bool:
        return (await service.ticket(ticket_id, consistent=True)).status is SupportStatus.PROCESSING

    change = service.change_status
    return lambda: change(ticket_id, SupportStatus.PROCESSING, by="op"), is_changed, f"support/tickets/{ticket_id}"


async def tasks(store: AsyncStore) -> Scene:
    service = Tasks(store, time.time)
    task_id = (await service.create("Fix it", "Now", Priority.LOW, UNKEYED, admin=ADA)).task_id

    async def is_changed() -> bool:
        return (await service.get(task_id, consistent=True)).title == "Fixed"

    changes = [attr(Task.title).set("Fixed")]
    return lambda: service.change(task_id, changes, admin=ADA), is_changed, f"tasks/tasks/{task_id}"


async def calls(store: AsyncStore) -> Scene:
    service = Calls(store, time.time)
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    name = uuid4().hex
    call = await service.create(NewCall(f"u-{name}", f"p-{name}", at), UNKEYED)

    async def is_changed() -> bool:
        return (await service.get(call.call_id, consistent=True)).status is CallStatus.CANCELLED

    return lambda: service.cancel(call.call_id, basis=Basis(1)), is_changed, f"calls/calls/{call.call_id}"


TABLES = [internal_table, tickets, task_management, *support_design.tables, *calls_design.tables]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("scene", [service_desk, support, tasks, calls])
def test_there_is_an_entry_exactly_if_the_change_was_made(
    scene: Callable[[AsyncStore], Awaitable[Scene]], after: bool
) -> None:
    async def play() -> list[bool]:
        outcomes = []
        with Engine.open() as engine:
            backend = MortalBackend(engine)
            store = AsyncStore(backend)
            await store.ensure_tables(*TABLES)
            for lifetime in range(10):
                backend.left = None
                change, is_changed, thing = await scene(store)
                count = len((await store.query(AuditEntry.of_thing(thing=thing), consistent=True)).items)
                backend.left, backend.after = lifetime, after
                acting.set(Actor("sam", "a_call"))
                try:
                    await change()
                except Died:
                    finished = False
                else:
                    finished = True
                acting.set(SYSTEM_ACTOR)
                backend.left = None
                entries = (await store.query(AuditEntry.of_thing(thing=thing), consistent=True)).items
                made = await is_changed()
                assert len(entries) - count == made
                if made:
                    assert (entries[0].by, entries[0].call) == ("sam", "a_call")
                outcomes.append(made)
                if finished:
                    assert made
                    break
            return outcomes

    outcomes = asyncio.run(play())
    # It died before and after the change, and got through in the end.
    assert set(outcomes) == {False, True}
    assert len(outcomes) > 2


def test_secrets_and_long_texts_are_not_shown() -> None:
    audit = Audit("tests", lambda: 1_800_000_000.0)
    change = audit.changed(
        "things/1",
        {"headers": {"Authorization": "Bearer x", "Accept": "a"}, "text": "short"},
        headers={"Authorization": "Bearer y", "api_key": "k", "Accept": "b"},
        text="x" * 5_000,
        client_secret="s",
    )
    entry = change.entity
    assert isinstance(entry, AuditEntry)
    for secret in ("Bearer", '"k"', '"s"'):
        assert secret not in entry.changes
    assert "(hidden)" in entry.changes
    assert "(5000 characters)" in entry.changes
    assert len(entry.changes) < 2_000


def test_a_value_of_any_size_and_kind_has_an_entry() -> None:
    audit = Audit("tests", lambda: 1_800_000_000.0)
    values: dict[str, Any] = {
        "large": {str(number): ["y" * 900] * 3 for number in range(200)},
        "number": 2**80,
        "moment": datetime(2026, 1, 1, tzinfo=UTC),
        "set": frozenset({"b"}),
        "bytes": b"\xff",
        "surrogate": "\ud800",
        "enum": DeskStatus.OPEN,
    }
    entry = audit.changed("things/" + "é" * 2_000, {}, **values).entity
    assert isinstance(entry, AuditEntry)
    assert len(entry.changes) < 10_000
    assert len(entry.thing) < 100
