"""Upserts: an item that is created, or whose fields are set where it is already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from tablewright.dynamo import Item
from tablewright.model import Entity, ModelError
from tablewright.store.context import Context
from tablewright.store.errors import StoreError
from tablewright.store.flow.driver import Flow
from tablewright.store.write.fields.field_updates import FieldUpdates
from tablewright.store.write.planning.executor import execute
from tablewright.store.write.planning.item_conditions import is_of_another, live_item, version_of
from tablewright.store.write.planning.operation import Attempt, EntityOperation, Planning
from tablewright.store.write.planning.preconditions import already_exists, version_conflict
from tablewright.store.write.planning.write_target import version_read
from tablewright.store.write.put import managed_values, number_draws, plan_creation
from tablewright.store.write.update import Update

E = TypeVar("E", bound=Entity)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Upsert(EntityOperation):
    """Creates an item, or sets the fields of the existing one; its other attributes are kept.

    An entity that was never read (version 0) is set over whichever version there is.
    """

    name = "upsert"

    def __init__(self, entity: Entity) -> None:
        EntityOperation.__init__(self, entity)
        for spec in self.schema.numbered:
            if not getattr(entity, spec.name):
                name = self.schema.entity.__name__
                raise ModelError(f"{name}.{spec.name} is assigned when an item is created; use create for a new {name}")

    def plan(self, attempt: Attempt) -> Planning:
        schema = self.schema
        numbers = (yield number_draws(schema, self.entity)) if schema.numbered else {}
        if attempt.found is not None and live_item(attempt.context, schema, attempt.found.item) is not None:
            return (yield from self._update(attempt.context).planned(attempt, draws=False))
        return plan_creation(attempt, schema, self.entity, numbers, lambda found: self._refusal(attempt.context, found))

    def _refusal(self, context: Context, found: Item) -> StoreError | None:
        """Why the existing item is not to be set; None: it is."""
        schema = self.schema
        if is_of_another(schema, found):
            return already_exists(schema, found)
        live, version = live_item(context, schema, found), version_read(schema, self.entity)
        if live is None or not version or version_of(schema, live) == version:
            return None
        return version_conflict(schema, live, version, live)

    def _update(self, context: Context) -> Update:
        schema = self.schema
        values = {**self.entity.__dict__, **managed_values(context, schema, self.entity)}
        # A number is given at creation, and stays.
        set_by_update = (schema.version, schema.updated, schema.retained)
        managed = {spec.name for spec in (*set_by_update, *schema.numbered) if spec is not None}
        if schema.created is not None and getattr(self.entity, schema.created.name) is None:
            managed.add(schema.created.name)
        fields = {name: values[name] for name in schema.fields if name not in managed}
        return Update.of(self.entity, FieldUpdates(nested=fields), version=version_read(schema, self.entity) or None)


def upsert(context: Context, entity: E) -> Flow[E]:
    """Create an item, or set the fields of the existing one."""
    yield from execute(context, Upsert(entity))
    return entity
