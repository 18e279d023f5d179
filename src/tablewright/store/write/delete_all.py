"""Deleting all items of a selection, page by page.

Items without guards, versions and blobs go in batches of 25; the others one by one, each with what belongs to it. It
may be run again after it was interrupted: what is gone is not found any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tablewright.model import Entity, FieldCondition, ModelError, Selection, schema_of
from tablewright.store.argument_checks import A_QUERY, wrong_argument
from tablewright.store.context import Context
from tablewright.store.errors import VersionConflict
from tablewright.store.flow.driver import Flow
from tablewright.store.read.query import begin_read, read_some
from tablewright.store.write.batch_write import write_many
from tablewright.store.write.delete import delete

__all__ = ["DeletionHook", "delete_all"]

E = TypeVar("E", bound=Entity)
# Is called after each page, with the number of items that have been deleted so far.
DeletionHook = Callable[[int], None]

_PAGE = 100


def delete_all(
    context: Context,
    selection: Selection[E],
    *,
    where: FieldCondition | None = None,
    on_progress: DeletionHook | None = None,
) -> Flow[int]:
    """Delete all items of a selection; returns how many."""
    if not isinstance(selection, Selection):
        raise wrong_argument("delete_all", A_QUERY, selection)
    if selection.projection is not None:
        raise ModelError(
            f"delete_all needs whole items: give it a selection of {selection.entity.__name__}, not of its projection "
            f"{selection.projection.__name__}"
        )
    schema = schema_of(selection.entity)
    in_batches = schema.batch_obstacle() is None and not schema.large
    pager, entity = begin_read(context, selection, _PAGE, None, None, where)
    deleted = 0
    while not pager.ended:
        found: list[Any] = yield from read_some(pager, entity, _PAGE)
        if in_batches:
            yield from write_many(context, (), delete=found)
            deleted += len(found)
        else:
            for each in found:
                deleted += yield from _deleted(context, each)
        if on_progress is not None and found:
            on_progress(deleted)
    return deleted


def _deleted(context: Context, entity: Entity) -> Flow[bool]:
    """Delete one item, in whichever version it is by now, as long as it is the same item."""
    try:
        return (yield from delete(context, entity))
    except VersionConflict as error:
        if error.found is None:
            return False
        raise
