"""A store in memory that has the internal table, at a moment that stays."""

from __future__ import annotations

from datetime import UTC, datetime

from tablewright import Engine
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore, EmbeddedBackend

NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)


async def opened() -> AsyncStore:
    store = AsyncStore(EmbeddedBackend(Engine.open(), owned=True), clock=NOW.timestamp)
    await store.ensure_tables(internal_table)
    return store
