"""What a screen reads of a table: its requests and read units, counted for some things and for many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from tablewright.engine import Engine
from tablewright.model import Design, Entity
from tablewright.store import AsyncStore, Create, Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Request, Response

# With the guards of unique values, a transaction has no more than a hundred items.
_AT_ONCE = 40


class _Counting(EmbeddedBackend):
    """Counts requests and what they are charged."""

    requests = 0
    units = 0.0

    async def call_async(self, request: Request) -> Response:
        body = {**request.body, "ReturnConsumedCapacity": "TOTAL"}
        response = await super().call_async(Request(request.operation, body))
        self.requests += 1
        charged = response.get("ConsumedCapacity", [])
        self.units += sum(each["CapacityUnits"] for each in (charged if isinstance(charged, list) else [charged]))
        return response


def counted_reads(
    design: Design, things: Iterable[Entity], screens: Callable[[AsyncStore], Awaitable[None]]
) -> tuple[int, float]:
    """Requests and read units of some screens, of a table with some things."""
    with Engine.open() as engine:
        store = Store(EmbeddedBackend(engine, owned=False))
        store.ensure_tables(*design.all_tables)
        everything = list(things)
        for start in range(0, len(everything), _AT_ONCE):
            store.transact(*map(Create, everything[start : start + _AT_ONCE]))
        backend = _Counting(engine, owned=False)
        asyncio.run(_read(screens, AsyncStore(backend)))
        return backend.requests, backend.units


async def _read(screens: Callable[[AsyncStore], Awaitable[None]], store: AsyncStore) -> None:
    await screens(store)
