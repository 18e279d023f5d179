"""Upserts: an item that is created, or whose fields are set where it is already."""

from __future__ import annotations

from typing import Any, TypeVar

from tablewright.dynamo import Item
from tablewright.model import Entity, ModelError
from tablewright.store.argument_checks import AN_ENTITY
from tablewright.store.context import Context
from tablewright.store.errors import AlreadyExists, StoreError
from tablewright.store.flow.driver import Flow
from tablewright.store.write.executor import Action, Found, Operation, WritePlan, execute, schema_for
from tablewright.store.write.put import Create, assigned, number_draws
from tablewright.store.write.sequence import Draw
from tablewright.store.write.update import Update
from tablewright.store.write.write_conditions import described, is_of_another, living, version_refusal

E = TypeVar("E", bound=Entity)


class Upsert(Operation):
    """An item that is created, or whose fields are set if it is there already; what else it has is kept.

    An entity that was never read (version 0) is set over whichever version there is.
    """

    name = "upsert"

    def __init__(self, entity: Entity) -> None:
        self.entity = entity
        self.schema = schema_for(entity, self.name, AN_ENTITY)

        for spec in self.schema.numbered:
            if not getattr(entity, spec.name):
                name = self.schema.entity.__name__
                raise ModelError(f"{name}.{spec.name} is given when an item is created; use create for a new {name}")

    def draws(self, context: Context, found: Found | None) -> Flow[list[Draw]]:
        yield from ()
        return number_draws(self.entity)

    def number(self, numbers: dict[str, int]) -> None:
        """All of them are given."""

    def plan(self, context: Context, found: Found | None) -> Flow[WritePlan]:
        there = None if found is None else living(context, self.schema, found.item)
        if there is not None:
            return (yield from self._over(context).plan(context, Found(there)))
        create = Create(self.entity)
        if self.schema.large:
            create.outside = self.outside
        creation = yield from create.plan(context, None)
        action = Action("Put", creation.actions[0].body, self._refusal(context))
        return WritePlan([action], creation.guards, creation.done, creation.placed)

    def _refusal(self, context: Context) -> Any:
        version = None if self.schema.version is None else getattr(self.entity, self.schema.version.name)

        def refused(found: Item | None) -> StoreError | None:
            if found is not None and is_of_another(self.schema, found):
                return AlreadyExists(self.schema.entity.__name__, described(self.schema, found))
            there = living(context, self.schema, found)
            if there is None or not version:
                return None
            return version_refusal(self.schema, there, version, there)

        return refused

    def _over(self, context: Context) -> Update:
        schema = self.schema
        values = {**self.entity.__dict__, **assigned(context, schema, self.entity)}
        # A number is given at creation, and stays.
        managed = {spec.name for spec in (schema.version, schema.updated, *schema.numbered) if spec is not None}
        if schema.created is not None and getattr(self.entity, schema.created.name) is None:
            managed.add(schema.created.name)
        fields = {name: values[name] for name in schema.fields if name not in managed}
        update = Update(self.entity, nested=fields)
        update.expected = update.expected or None
        if schema.large:
            update.outside = self.outside
        return update


def upsert(context: Context, entity: E) -> Flow[E]:
    """Create an item, or set the fields of the one that is there."""
    yield from execute(context, Upsert(entity))
    return entity
