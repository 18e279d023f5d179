"""What the views of the past ask an engine: reads at a time, versions of an item, changed items.

Only an engine in this process has them; an endpoint can restore a table to a time, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tablewright.dynamo import DynamoError
from tablewright.engine import ChangedItems, Engine, ItemVersions
from tablewright.store import EmbeddedBackend, Request, ServiceError
from tablewright.studio.studio_database import StudioDatabase, refusal
from tablewright.ui.api_calls import Refused

__all__ = ["PastReads", "engine_of"]

_T = TypeVar("_T")


def engine_of(database: StudioDatabase) -> Engine | None:
    """The engine in this process; None for an endpoint."""
    return database.backend.engine if isinstance(database.backend, EmbeddedBackend) else None


class PastReads:
    """Reads of one table as it was."""

    def __init__(self, database: StudioDatabase, engine: Engine, table: str) -> None:
        self._database = database
        self._engine = engine
        self._table = table

    async def call(self, time: float, operation: str, **body: Any) -> dict[str, Any]:
        """The response of a read at a time."""
        backend = EmbeddedBackend(self._engine.at(time), owned=False)
        try:
            return await backend.call_async(Request(operation, {"TableName": self._table, **body}))
        except ServiceError as error:
            raise refusal(error, self._database.name) from None

    async def versions(
        self, key: Mapping[str, Any], start: float, end: float, after: int | None = None
    ) -> ItemVersions:
        return await self._asked(
            lambda: self._engine.item_versions(self._table, key, start, end, limit=50, after=after)
        )

    async def changed(self, start: float, end: float, after: int | None = None) -> ChangedItems:
        return await self._asked(lambda: self._engine.changed_items(self._table, start, end, limit=50, after=after))

    async def _asked(self, work: Callable[[], _T]) -> _T:
        try:
            return await asyncio.to_thread(work)
        except DynamoError as error:
            raise Refused(400, error.code, error.message or error.code, {}) from None
