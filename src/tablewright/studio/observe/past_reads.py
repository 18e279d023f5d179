"""What the views of the past ask an engine beside reads at a time (``StudioDatabase.at``): versions, changed items.

Only an engine in this process has them; an endpoint can restore a table to a time, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from tablewright.dynamo import DynamoError
from tablewright.engine import ChangedItems, Engine, ItemVersions
from tablewright.ui.api_calls import Refused

__all__ = ["PastReads", "exact_time", "moment_in"]

_T = TypeVar("_T")
# The year 3000: more is a typing error, and what a clock cannot show is an error elsewhere.
_LAST_MOMENT = 32_503_680_000.0


def exact_time(at: float) -> str:
    """A moment to the second, in UTC; milliseconds where it has some."""
    moment = datetime.fromtimestamp(at, UTC)
    shown = moment.strftime("%Y-%m-%d %H:%M:%S")
    milliseconds = moment.microsecond // 1000
    return f"{shown}.{milliseconds:03} UTC" if milliseconds else f"{shown} UTC"


def moment_in(query: Mapping[str, str]) -> float | None:
    """The moment that an address names, in epoch seconds; ValueError if it is none that a clock shows."""
    if not query.get("at"):
        return None
    at = float(query["at"])
    if not 0 <= at < _LAST_MOMENT:
        raise ValueError("no moment")
    return at


class PastReads:
    """The history of one table."""

    def __init__(self, engine: Engine, table: str) -> None:
        self._engine = engine
        self._table = table

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
