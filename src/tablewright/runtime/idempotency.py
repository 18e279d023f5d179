"""Requests that are carried out once, however often they come.

    answer = await once(store, Once, key, request, work)                       by a record of a system's own
    answer = await under_key(store, "comment", caller, key, request, work)     by one in the runtime's notes

A request that is sent again while its first copy is being carried out waits for that one's answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

from tablewright.model import Keys
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore, Cancelled, IdempotencyRecord, InProgress, KeyMismatch, Outcome

__all__ = ["KeyedRequest", "once", "under_key"]

_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0)


class KeyedRequest(IdempotencyRecord, table=internal_table):
    """What was asked for under an idempotency key, for a day; the key itself is a digest here."""

    keys = Keys(PK="REQUEST#{idempotency_key}", SK="REQUEST")


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


async def under_key(
    store: AsyncStore,
    what: str,
    caller: str,
    key: str,
    request: Any,
    work: Callable[[], Awaitable[Outcome]],
) -> Any:
    """Carry a caller's request out once under a key of his own; ``what`` says what kind of request it is.

    KeyMismatch if he used the key for another request of that kind. What fails leaves the key free, and fails as it
    would without one: a single write by its own error.
    """
    name = sha256(f"{what}\x00{caller}\x00{key}".encode()).hexdigest()
    try:
        return await once(store, KeyedRequest, name, request, work)
    except KeyMismatch:
        raise KeyMismatch(f"the idempotency key {key} was used before, for another {what}") from None
    except InProgress:
        raise InProgress(f"the {what} with the idempotency key {key} is being carried out; ask again") from None
    except Cancelled as cancelled:
        first, *others = cancelled.reasons
        raise cancelled if others or first is None else first from None
