"""A text that takes long to look through holds nobody up."""

from __future__ import annotations

import asyncio
import time
from uuid import uuid4

import pytest

from tablewright.runtime.idempotency import UNKEYED
from tablewright.store import AsyncStore
from tablewright.systems.servicedesk.caller_ids import CallerIds
from tablewright.systems.servicedesk.model import tickets
from tablewright.systems.servicedesk.service import ServiceDesk

# Digits without end: each could be the beginning of a code.
_LONG = "code" + " 1" * 20_000


@pytest.mark.requirement("SD6")
def test_others_go_on_while_secrets_are_looked_for() -> None:
    async def turns() -> int:
        """How often others had their turn while a comment was added."""
        async with AsyncStore.open() as store:
            await store.ensure_tables(tickets)
            desk = ServiceDesk(store, CallerIds(b"secret"), time.time)
            ticket = (await desk.create(f"caller-{uuid4()}", "short", UNKEYED)).ticket
            adding = asyncio.create_task(desk.add_comment(ticket.ticket_id, _LONG, UNKEYED))
            counted = 0
            while not adding.done():
                await asyncio.sleep(0)
                counted += 1
            assert (await adding).masked == ("mfa_code",)
            return counted

    # Without waiting for anything it would be a handful.
    assert asyncio.run(turns()) > 1000
