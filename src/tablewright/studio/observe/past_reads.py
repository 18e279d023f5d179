"""Reads of the views of the past, in addition to ``StudioDatabase.at``.

    plan_then(description, where, index, after)      a search: the same plan as in the view of items
    await past_page(database, description, plan, at) PastPage: the items of that time, with their current or later state
    PastReads(engine, table)                         versions of an item, and which items changed

Only an engine in this process can read the past; an endpoint can only restore a table to a time. An index has only what
it projects, so the items of a page are read from the table, for both times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from tablewright.dynamo import DynamoError, Item
from tablewright.engine import ChangedItems, Engine, ItemVersions
from tablewright.studio.items.attribute_text import key_token, token_key
from tablewright.studio.items.item_search import ItemPlan, parse_conditions, plan
from tablewright.studio.studio_database import StudioDatabase
from tablewright.studio.studio_parts import key_names
from tablewright.ui.api_calls import Refused

__all__ = ["PastPage", "PastReads", "exact_time", "moment_in", "past_page", "plan_then"]

_T = TypeVar("_T")
# The year 3000: more is a typing error, and what a clock cannot show is an error elsewhere.
_LAST_MOMENT = 32_503_680_000.0
_SHOWN = 25
# The most keys of a BatchGetItem, and so the most items of a page.
_MOST = 100


def exact_time(at: float) -> str:
    """A moment to the second, in UTC, with milliseconds if it has any."""
    moment = datetime.fromtimestamp(at, UTC)
    shown = moment.strftime("%Y-%m-%d %H:%M:%S")
    milliseconds = moment.microsecond // 1000
    return f"{shown}.{milliseconds:03} UTC" if milliseconds else f"{shown} UTC"


def moment_in(query: Mapping[str, str], name: str = "at") -> float | None:
    """The moment in an address, in epoch seconds; ValueError if it is not a valid time."""
    if not query.get(name):
        return None
    at = float(query[name])
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


@dataclass(frozen=True, slots=True)
class PastPage:
    """Items as they were, each with its current state, or that at the later moment: None if it no longer exists."""

    items: list[tuple[Item, Item | None]]
    # Where the next page begins, as a part of an address; None if there is none.
    after: str | None


def plan_then(description: Mapping[str, Any], where: str, index: str | None, after: str | None) -> ItemPlan:
    """The request that answers a search; ValueError if it is not valid."""
    start = None if after is None else token_key(after)
    return plan(description, parse_conditions(where), index=index, after=start, limit=_SHOWN)


async def past_page(
    database: StudioDatabase, description: Mapping[str, Any], found: ItemPlan, at: float, until: float | None = None
) -> PastPage:
    """The items of that time, next to those of ``until``, or the current ones if that is None."""
    past = database.at(at)
    later = database if until is None else database.at(until)
    answer = await past.call(found.operation, **found.body)
    items: list[Item] = answer["Items"][:_MOST]
    last = answer.get("LastEvaluatedKey")
    table, key = description["TableName"], key_names(description["KeySchema"])
    if len(items) < len(answer["Items"]):
        last = {name: items[-1][name] for name in (*key, *found.place.key)}
    keys = [{name: item[name] for name in key} for item in items]
    if found.place.index is not None:
        then = await _read(past, table, keys)
        items = [then[key_token(each)] for each in keys]
    now = await _read(later, table, keys)
    shown = [(item, now.get(key_token(each))) for item, each in zip(items, keys, strict=True)]
    return PastPage(shown, None if last is None else key_token(last))


async def _read(database: StudioDatabase, table: str, keys: Sequence[Item]) -> dict[str, Item]:
    """The items with some keys, by the keys' names in an address."""
    found: dict[str, Item] = {}
    request: dict[str, Any] = {table: {"Keys": list(keys), "ConsistentRead": True}}
    while keys and request:
        # An answer has 16 MB at most, and says what is left.
        answer = await database.call("BatchGetItem", RequestItems=request)
        for item in answer["Responses"].get(table, ()):
            found[key_token({name: item[name] for name in keys[0]})] = item
        request = answer.get("UnprocessedKeys") or {}
    return found
