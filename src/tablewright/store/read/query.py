"""Reading items in order: pages of them, all of them, how many there are. Each read is a ``Pager``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from tablewright.dynamo import Item
from tablewright.model import Collection, Entity, FieldCondition, Projection, Selection
from tablewright.store.argument_checks import A_CLASS, A_QUERY, wrong_argument
from tablewright.store.context import Context
from tablewright.store.flow.driver import Flow, Request, together
from tablewright.store.flow.retry import retrying
from tablewright.store.read.entity_decoding import entities_of, entity_of, projection_of
from tablewright.store.read.pager import MAX_PAGE_SIZE, Pager, cursor_maker, open_pager, resume_pager
from tablewright.store.read.planning.read_plan import ReadPlan, ReadTarget
from tablewright.store.read.planning.read_planner import plan_scan, plan_selection
from tablewright.store.read.planning.scan import Scan
from tablewright.store.visibility import visible

E = TypeVar("E", bound=BaseModel)
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


@dataclass(frozen=True, slots=True)
class ReadProgress:
    """How far a read is: the items that the service has ``read`` for it, and those that it has ``returned``.

    ``ended`` of its ``parts`` are at their end: the segments of a scan, or the partitions of a selection.
    """

    read: int
    returned: int
    parts: int
    ended: int


ReadProgressHook = Callable[[ReadProgress], None]


def begin_read(
    context: Context,
    source: Selection[E] | Scan[E] | type[E],
    page_size: int | None,
    cursor: str | None,
    consistent: bool | None,
    where: FieldCondition | None = None,
    *,
    keys_only: bool = False,
) -> tuple[Pager, type[E]]:
    """Begin to read a selection, or all items of an entity."""
    if isinstance(source, Selection):
        entity = source.entity
        plan = plan_selection(context, source, consistent=consistent, keys_only=keys_only, where=where)
    else:
        scan = as_scan("a read", f"{A_QUERY}, or {A_CLASS}", source)
        entity = scan.source
        plan = plan_scan(context, scan, consistent=bool(consistent), keys_only=keys_only, where=where)
    return open_pager(context, plan, cursor, page_size), entity


def as_scan(call: str, takes: str, source: Scan[E] | type[E]) -> Scan[E]:
    """A scan, or an entity class as the scan of its table."""
    if isinstance(source, Scan):
        return source
    given: Any = source
    if not isinstance(given, type) or not issubclass(given, Entity | Projection):
        raise wrong_argument(call, takes, given)
    return Scan(source)


def progress_of(pager: Pager, returned: int) -> ReadProgress:
    """How far a pager is, of which so many items were returned."""
    return ReadProgress(pager.read, returned, len(pager.plan.bodies), pager.parts_ended)


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
    if target.projection is not None:
        return [projection_of(schema, target.projection, item) for item in items]
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
    source: Scan[E] | type[E],
    *,
    limit: int | None = None,
    cursor: str | None = None,
    page_size: int | None = None,
    segment: tuple[int, int] | None = None,
    consistent: bool | None = None,
    where: FieldCondition | None = None,
) -> Flow[Page[E]]:
    """A page of all items of an entity, in no order."""
    found = as_scan("scan", A_CLASS, source)
    plan = plan_scan(context, found, consistent=bool(consistent), segment=segment, where=where)
    return read_page(open_pager(context, plan, cursor, page_size), found.source, limit)


def count(
    context: Context,
    source: Selection[E] | Scan[E] | type[E],
    *,
    consistent: bool | None = None,
    where: FieldCondition | None = None,
) -> Flow[int]:
    """The number of items of a selection, or of all items of an entity.

    The service's own count would include expired items and those of other entities, so keys are read and counted.
    """
    pager, _ = begin_read(context, source, None, None, consistent, where, keys_only=True)
    total = 0
    while not pager.ended:
        total += len((yield from pager.take(None)))
    return total


def query_each(
    context: Context,
    selections: Iterable[Selection[E]],
    *,
    limit: int | None,
    consistent: bool | None,
    where: FieldCondition | None,
    concurrency: int,
) -> Flow[list[Page[E]]]:
    """The first page of each selection; on an endpoint, many are read at the same time."""
    flows = [query(context, each, limit=limit, consistent=consistent, where=where) for each in selections]
    results = yield from together(flows, concurrency if context.reads_ahead else 1)
    return [each.unwrap() for each in results]


def first(
    context: Context, selection: Selection[E], *, consistent: bool | None = None, where: FieldCondition | None = None
) -> Flow[E | None]:
    """The first item of a selection, or None if it has none."""
    page = yield from query(context, selection, limit=1, consistent=consistent, where=where)
    return page.items[0] if page.items else None
