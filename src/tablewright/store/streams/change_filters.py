"""Which changes a consumer's handler is given, and how it picks those of one entity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from tablewright.model import Entity, schema_of
from tablewright.store.errors import Unreadable
from tablewright.store.streams.change_records import AnyChange, Change, ChangeFilter, RawChange, schema_in, typed_change

E = TypeVar("E", bound=Entity)


def entity_filter(*entities: type[Entity]) -> ChangeFilter:
    """A filter for the changes of some entities: ``Consumer(..., change_filter=entity_filter(Ticket, Comment))``."""
    schemas = [schema_of(entity) for entity in entities]

    def is_included(change: RawChange) -> bool:
        return schema_in(schemas, change) is not None

    return is_included


def readable_filter(*entities: type[Entity], on_unreadable: Callable[[Unreadable], None] | None = None) -> ChangeFilter:
    """A filter that excludes unreadable items of these entities; ``on_unreadable`` is called with the error of each.

    A consumer makes dead letters of changes that it cannot read. This is for where there are none, as in a rebuild.
    """
    schemas = [schema_of(entity) for entity in entities]

    def is_included(change: RawChange) -> bool:
        schema = schema_in(schemas, change)
        try:
            if schema is not None:
                typed_change(schema, change)
        except Unreadable as error:
            if on_unreadable is not None:
                on_unreadable(error)
            return False
        return True

    return is_included


def typed_changes(entity: type[E], changes: Iterable[AnyChange]) -> list[Change[E]]:
    """Those of some changes that are of one entity, with its type."""
    return [change for change in changes if isinstance(change, Change) and change.entity is entity]  # type: ignore[misc]
