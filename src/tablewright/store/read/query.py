"""Reading items in order: pages of them, all of them, how many there are. Each read is a ``Pager``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tablewright.dynamo import Item
from tablewright.model import Collection, CollectionSelection, Entity, FieldCondition, Selection
from tablewright.store.argument_checks import A_CLASS, A_COLLECTION_QUERY, A_QUERY, is_entity_class, wrong_argument
from tablewright.store.context import Context
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.read.entity_decoding import entities_of, entity_of
from tablewright.store.read.pager import MAX_PAGE_SIZE, Pager, cursor_maker, open_pager, resume_pager
from tablewright.store.read.planning.read_filter import filtered
from tablewright.store.read.planning.read_plan import ReadPlan, ReadTarget
from tablewright.store.read.planning.read_planner import plan_collection, plan_scan, plan_selection
from tablewright.store.read.visibility import visible

E = TypeVar("E", bound=Entity)
C = TypeVar("C", bound=Collection)


class Page(Generic[E]):
    """A page of a read: its ``items``, and the ``cursor`` for the next page, which is None at the end."""

    __slots__ = ("_cursor", "items")

    def __init__(self, items: list[E], cursor: str | Callable[[], str] | None) -> None:
        self.items = items
        self._cursor = cursor

    @property
    def cursor(self) -> str | None:
        """The cursor for the next page; None at the end."""
        # Signed only if it is asked for, which is rare.
        if callable(self._cursor):
            self._cursor = self._cursor()
        return self._cursor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Page) and self.items == other.items and self.cursor == other.cursor

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Page(items={self.items!r}, cursor={self.cursor!r})"


def begin_read(
    context: Context,
    source: Selection[E] | type[E],
    page_size: int | None,
    cursor: str | None,
    consistent: bool | None,
    where: FieldCondition | None = None,
) -> tuple[Pager, type[E]]:
    """Begin to read a selection, or all items of an entity."""
    if isinstance(source, Selection):
        plan, entity = plan_selection(context, source, consistent=consistent, where=where), source.entity
    elif is_entity_class(source):
        plan, entity = filtered(plan_scan(context, source, consistent=bool(consistent)), where), source
    else:
        raise wrong_argument("a read", f"{A_QUERY}, or {A_CLASS}", source)
    return open_pager(context, plan, cursor, page_size), entity


def read_page(pager: Pager, entity: type[E], limit: int | None) -> Flow[Page[E]]:
    """The next page."""
    items = yield from pager.take(limit)
    if pager.target.is_postprocessed:
        items = yield from pager.complete(items)
    return Page(_entities(pager.target, items), pager.cursor)


def read_some(pager: Pager, entity: type[E], limit: int | None) -> Flow[list[E]]:
    """The next entities, up to a limit, for a caller that takes one after the other."""
    items = yield from pager.take(None if limit is None else min(limit, MAX_PAGE_SIZE), bound_blobs=True)
    if pager.target.is_postprocessed:
        items = yield from pager.complete(items)
    return _entities(pager.target, items)


def read_all(context: Context, selection: Selection[E], *, consistent: bool | None = None) -> Flow[list[E]]:
    """All entities of a selection that is known to be short."""
    pager, entity = begin_read(context, selection, None, None, consistent)
    found: list[E] = []
    while not pager.ended:
        found += yield from read_some(pager, entity, None)
    return found


def _entities(target: ReadTarget, items: Sequence[Item]) -> list[Any]:
    """The entities of items, with the fields that the pattern projects."""
    schema, projected = target.schema, target.projected
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
    where: FieldCondition | None = None,
) -> Flow[Page[E]]:
    """A page of a selection: up to ``limit`` items, or a page of the service if no limit is given."""
    if not isinstance(selection, Selection):
        raise wrong_argument("query", A_QUERY, selection)
    plan = plan_selection(context, selection, consistent=consistent, where=where)
    if limit is not None and limit > 0 and cursor is None and page_size is None and plan.is_plain:
        return _first_page(context, plan, selection.entity, limit)
    return read_page(open_pager(context, plan, cursor, page_size), selection.entity, limit)


def _first_page(context: Context, plan: ReadPlan, entity: type[E], limit: int) -> Flow[Page[E]]:
    """The first page of a plain read: mostly one request, and a pager only if that is not enough."""
    target = plan.target
    body = {**plan.bodies[0], "Limit": limit}
    response = yield from retrying(context, Request(target.operation, body, target.pattern))
    items = visible(target.schema, response["Items"], context.clock(), target.in_own_partition)
    end: Item | None = response.get("LastEvaluatedKey")
    if end is None:
        return Page(entities_of(target.schema, items), None)
    if len(items) < limit:
        return (yield from read_page(resume_pager(context, plan, items, end), entity, limit))
    return Page(entities_of(target.schema, items), cursor_maker(context, plan, [end]))


def scan(
    context: Context,
    entity: type[E],
    *,
    limit: int | None = None,
    cursor: str | None = None,
    page_size: int | None = None,
    segment: tuple[int, int] | None = None,
    consistent: bool | None = None,
    where: FieldCondition | None = None,
) -> Flow[Page[E]]:
    """A page of all items of an entity, in no order."""
    if not is_entity_class(entity):
        raise wrong_argument("scan", A_CLASS, entity)
    plan = filtered(plan_scan(context, entity, consistent=bool(consistent), segment=segment), where)
    return read_page(open_pager(context, plan, cursor, page_size), entity, limit)


def collect(context: Context, selection: CollectionSelection[C], *, consistent: bool | None = None) -> Flow[C | None]:
    """A collection: all of a partition; None if a required member is missing."""
    if not isinstance(selection, CollectionSelection):
        raise wrong_argument("collect", A_COLLECTION_QUERY, selection)
    pager = open_pager(context, plan_collection(context, selection, consistent=consistent))
    items: list[Item] = []
    while not pager.ended:
        taken = yield from pager.take(None)
        items += (yield from pager.complete(taken)) if pager.target.is_postprocessed else taken
    return selection.collection.of(items, entity_of)


def count(
    context: Context,
    selection: Selection[E],
    *,
    consistent: bool | None = None,
    where: FieldCondition | None = None,
) -> Flow[int]:
    """The number of items of a selection.

    The service's own count would include expired items and those of other entities, so keys are read and counted.
    """
    if not isinstance(selection, Selection):
        raise wrong_argument("count", A_QUERY, selection)
    pager = open_pager(context, plan_selection(context, selection, consistent=consistent, keys_only=True, where=where))
    total = 0
    while not pager.ended:
        total += len((yield from pager.take(None)))
    return total


def first(
    context: Context, selection: Selection[E], *, consistent: bool | None = None, where: FieldCondition | None = None
) -> Flow[E | None]:
    """The first item of a selection, or None if it has none."""
    page = yield from query(context, selection, limit=1, consistent=consistent, where=where)
    return page.items[0] if page.items else None
