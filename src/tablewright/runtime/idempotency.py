"""A request that is sent again while its first copy is being carried out waits for that one's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tablewright.store import AsyncStore, IdempotencyRecord, InProgress, Outcome

_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0)


async def once(
    store: AsyncStore,
    record: type[IdempotencyRecord],
    key: str,
    request: Any,
    work: Callable[[], Awaitable[Outcome]],
) -> Any:
    """``store.execute_once``, patient with a copy of the request that was faster; InProgress after some seconds."""
    for pause in _PAUSES:
        try:
            return await store.execute_once(record, key, request, work)
        except InProgress:
            await asyncio.sleep(pause)
    return await store.execute_once(record, key, request, work)
