"""Reading items in order: pages of them, all of them, how many there are.

Each is a reading (see ``readings``) that is begun, and gone on with as far as it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tablewright.dynamo import Item
from tablewright.model import Collection, CollectionSelection, Entity, Selection
from tablewright.store.argument_checks import A_CLASS, A_COLLECTION_QUERY, A_QUERY, is_entity_class, not_taken
from tablewright.store.context import Context
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.read.entity_decoding import entities_of, entity_of
from tablewright.store.read.pager import MOST_AT_ONCE, Reading, begin, go_on, sealed
from tablewright.store.read.planning.read_plan import Plan, Scope
from tablewright.store.read.planning.read_planner import plan_collection, plan_scan, plan_selection
from tablewright.store.read.visibility import visible

E = TypeVar("E", bound=Entity)
C = TypeVar("C", bound=Collection)


class Page(Generic[E]):
    """Some items of a read, and the cursor that goes on behind them; None at the end."""

    __slots__ = ("_cursor", "items")

    def __init__(self, items: list[E], cursor: str | Callable[[], str] | None) -> None:
        self.items = items
        self._cursor = cursor

    @property
    def cursor(self) -> str | None:
        # Signed when it is asked for, which it mostly is not.
        if callable(self._cursor):
            self._cursor = self._cursor()
        return self._cursor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Page) and self.items == other.items and self.cursor == other.cursor

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Page(items={self.items!r}, cursor={self.cursor!r})"


def begin_read(
    context: Context, source: Selection[E] | type[E], page_size: int | None, cursor: str | None, consistent: bool | None
) -> tuple[Reading, type[E]]:
    """Begin to read a selection, or all items of an entity."""
    if isinstance(source, Selection):
        plan, entity = plan_selection(context, source, consistent=consistent), source.entity
    elif is_entity_class(source):
        plan, entity = plan_scan(context, source, consistent=bool(consistent)), source
    else:
        raise not_taken("a read", f"{A_QUERY}, or {A_CLASS}", source)
    return begin(context, plan, cursor, page_size), entity


def read_page(reading: Reading, entity: type[E], limit: int | None) -> Flow[Page[E]]:
    """The next page of a reading."""
    items = yield from reading.take(limit)
    if reading.scope.is_special:
        items = yield from reading.whole(items)
    return Page(_entities(reading.scope, items), reading.cursor)


def read_some(reading: Reading, entity: type[E], most: int | None) -> Flow[list[E]]:
    """The next entities of a reading, up to so many, for those who take one after the other."""
    items = yield from reading.take(None if most is None else min(most, MOST_AT_ONCE), light=True)
    if reading.scope.is_special:
        items = yield from reading.whole(items)
    return _entities(reading.scope, items)


def read_all(context: Context, selection: Selection[E], *, consistent: bool | None = None) -> Flow[list[E]]:
    """All entities of a selection that is known to be short."""
    reading, entity = begin_read(context, selection, None, None, consistent)
    found: list[E] = []
    while not reading.ended:
        found += yield from read_some(reading, entity, None)
    return found


def _entities(scope: Scope, items: Sequence[Item]) -> list[Any]:
    """What was read, as entities: whole, or with the fields that the pattern projects."""
    schema, projected = scope.schema, scope.projected
    if not projected:
        return entities_of(schema, items)
    parts = [{name: item[name] for name in projected if name in item} for item in items]
    return [entity_of(schema, part, partial=True) for part in parts]


def query(
    context: Context,
    selection: Selection[E],
    *,
    limit: int | None = None,
    cursor: str | None = None,
    page_size: int | None = None,
    consistent: bool | None = None,
) -> Flow[Page[E]]:
    """A page of a selection: up to ``limit`` items, or without one what a page of the service has."""
    if not isinstance(selection, Selection):
        raise not_taken("query", A_QUERY, selection)
    plan = plan_selection(context, selection, consistent=consistent)
    if limit is not None and limit > 0 and cursor is None and page_size is None and plan.is_plain:
        return _first_page(context, plan, selection.entity, limit)
    return read_page(begin(context, plan, cursor, page_size), selection.entity, limit)


def _first_page(context: Context, plan: Plan, entity: type[E], limit: int) -> Flow[Page[E]]:
    """The first page of a plain read: one request mostly, and a reading only where that shows too little."""
    scope = plan.scope
    body = {**plan.bodies[0], "Limit": limit}
    response = yield from retrying(context, Request(scope.operation, body, scope.pattern))
    items = visible(scope.schema, response["Items"], context.clock(), scope.in_own_partition)
    end: Item | None = response.get("LastEvaluatedKey")
    if end is None:
        return Page(entities_of(scope.schema, items), None)
    if len(items) < limit:
        return (yield from read_page(go_on(context, plan, items, end), entity, limit))
    return Page(entities_of(scope.schema, items), sealed(context, plan, [end]))


def scan(
    context: Context,
    entity: type[E],
    *,
    limit: int | None = None,
    cursor: str | None = None,
    page_size: int | None = None,
    segment: tuple[int, int] | None = None,
    consistent: bool | None = None,
) -> Flow[Page[E]]:
    """A page of all items of an entity, in no order."""
    if not is_entity_class(entity):
        raise not_taken("scan", A_CLASS, entity)
    plan = plan_scan(context, entity, consistent=bool(consistent), segment=segment)
    return read_page(begin(context, plan, cursor, page_size), entity, limit)


def collect(context: Context, selection: CollectionSelection[C], *, consistent: bool | None = None) -> Flow[C | None]:
    """A collection: all of a partition; None when a member is missing that has to be there."""
    if not isinstance(selection, CollectionSelection):
        raise not_taken("collect", A_COLLECTION_QUERY, selection)
    reading = begin(context, plan_collection(context, selection, consistent=consistent))
    items: list[Item] = []
    while not reading.ended:
        taken = yield from reading.take(None)
        items += (yield from reading.whole(taken)) if reading.scope.is_special else taken
    return selection.collection.of(items, entity_of)


def count(context: Context, selection: Selection[E], *, consistent: bool | None = None) -> Flow[int]:
    """How many items a selection has.

    The service's own count would include expired items and those of other entities, so keys are read and counted.
    """
    if not isinstance(selection, Selection):
        raise not_taken("count", A_QUERY, selection)
    reading = begin(context, plan_selection(context, selection, consistent=consistent, keys_only=True))
    total = 0
    while not reading.ended:
        total += len((yield from reading.take(None)))
    return total
