"""Whole items: put, create, delete, upsert.

Whatever is written carries what the store keeps in order: the version is counted up, stamps are set, an expiry that was
not given is filled in, and key attributes follow from the fields. When the write is done, the entity that was given is
brought up to date, so that it can be written again; when it is refused, the entity is left as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import Condition, all_equal, all_of, equals, exists, with_expressions
from tablewright.model import Entity, Lookup, schema_of
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.items.item_decoding import unknown_attributes
from tablewright.model.schema import Schema
from tablewright.store.argument_checks import AN_ENTITY
from tablewright.store.blobs.blob_references import references
from tablewright.store.blobs.offload import Placed, whole_if_older
from tablewright.store.context import Context
from tablewright.store.errors import AlreadyExists, NotFound, ServiceError, StoreError
from tablewright.store.flow.driver import Flow, Request, Response
from tablewright.store.flow.retry import retrying
from tablewright.store.write.executor import (
    CONDITION_FAILED,
    Action,
    Found,
    Operation,
    WritePlan,
    execute,
    in_words,
    schema_for,
)
from tablewright.store.write.field_paths import place_of
from tablewright.store.write.sequence import Draw
from tablewright.store.write.unique_values import GuardChange, guard_changes
from tablewright.store.write.write_conditions import (
    Expectations,
    described,
    has_older_shape,
    has_present_shape,
    has_version,
    if_free,
    if_replaceable,
    is_free,
    is_of_another,
    is_over,
    is_own,
    is_replaceable,
    is_there,
    living,
    version_refusal,
)
from tablewright.store.write.write_target import (
    is_meant,
    is_older,
    key_by,
    key_in,
    read_target,
    still_meant,
    told,
)

E = TypeVar("E", bound=Entity)

# -- what the store sets --------------------------------------------------------------------------------------------


def assigned(
    context: Context, schema: Schema, entity: Entity, numbers: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The fields that the store sets when an entity is written, with their values."""
    values: dict[str, Any] = dict(numbers or {})
    if schema.version is not None:
        values[schema.version.name] = getattr(entity, schema.version.name) + 1
    if schema.created is None and schema.updated is None and schema.lifetime is None:
        return values
    now = context.now()
    if schema.created is not None and getattr(entity, schema.created.name) is None:
        values[schema.created.name] = _stamp(schema, schema.created, now)
    if schema.updated is not None:
        values[schema.updated.name] = _stamp(schema, schema.updated, now)
    if schema.expiry is not None and schema.lifetime is not None and getattr(entity, schema.expiry.name) is None:
        values[schema.expiry.name] = (now + schema.lifetime).replace(microsecond=0)
    return values


def _stamp(schema: Schema, spec: FieldSpec, now: datetime) -> Any:
    """A time as it will come back: one that is stored as a count of milliseconds has no microseconds."""
    return place_of(schema.entity, spec.name).validate(now) if "N" in spec.types else now


def brought_up_to_date(entity: E, values: Mapping[str, Any]) -> E:
    """Give fields of an entity the values that they have been stored with."""
    entity.__dict__.update(values)
    entity.__pydantic_fields_set__.update(values)
    return entity


def held(schema: Schema, item: Item) -> dict[str, Any]:
    """The attributes that an item's guards follow from, as they are; of an older shape that may be any."""
    if is_older(schema, item):
        return dict(item)
    names = [spec.attribute for spec in schema.unique]
    if schema.expiry is not None:
        names.append(schema.expiry.attribute)
    return {name: item.get(name) for name in names}


def number_draws(entity: Entity) -> list[Draw]:
    """The draws of a whole item that is written."""
    schema = schema_of(type(entity))
    draws = []
    for spec in schema.numbered:
        given = getattr(entity, spec.name) or None
        if given and schema.version is not None and getattr(entity, schema.version.name):
            # It has been written before, and counted then.
            continue
        per = [name for name, _ in schema.counted[spec.name]]
        group = {name: getattr(entity, name, None) for name in per}
        draws.append(Draw(schema, spec, schema.counter_key(spec, schema.encode_fields(entity, per)), group, given))
    return draws


# -- operations -----------------------------------------------------------------------------------------------------


class _Whole(Operation):
    """A write of a whole item."""

    def __init__(self, entity: Entity) -> None:
        self.entity = entity
        self.schema = schema_for(entity, self.name, AN_ENTITY)
        self.numbers: dict[str, int] = {}

    def draws(self, context: Context, found: Found | None) -> Flow[list[Draw]]:
        """A numbered field that has no number yet is given one; one that has is counted, if it is new."""
        yield from ()
        return number_draws(self.entity)

    def number(self, numbers: dict[str, int]) -> None:
        self.numbers = numbers

    def planned(
        self, action: Action, guards: list[GuardChange], values: Mapping[str, Any], placed: Placed | None
    ) -> WritePlan:
        """The plan of a write after which the entity is what was written."""

        def done(_: Response) -> Entity:
            return brought_up_to_date(self.entity, values)

        return WritePlan([action], guards, done if placed is None else placed.done(done, self.entity), placed)


class Create(_Whole):
    """A new item; there must be none yet, or one that has expired."""

    name = "create"

    def makes(self, fields: Mapping[str, Any]) -> bool:
        identity = self.schema.identity_fields
        return identity == fields.keys() and all(getattr(self.entity, name) == fields[name] for name in identity)

    def plan(self, context: Context, found: Found | None) -> Flow[WritePlan]:
        yield from ()
        schema, entity = self.schema, self.entity
        values = assigned(context, schema, entity, self.numbers)
        item = schema.encode(entity, values)
        key = key_in(schema, item)
        placed = None
        if schema.large:
            placed = self.outside.place(schema, item, {})
            item = placed.item
        body = {"TableName": context.name_of(schema.table), "Item": item, **if_free(context, schema)}

        def refused(found: Item | None) -> StoreError:
            return AlreadyExists(schema.entity.__name__, described(schema, item))

        action = Action("Put", body, refused)
        guards = guard_changes(schema, None, key, item, key)
        return self.planned(action, guards, values, placed)


class Put(_Whole):
    """A whole item, whatever was there before of its entity; with a version, only over the one that was read."""

    name = "put"

    def plan(self, context: Context, found: Found | None) -> Flow[WritePlan]:
        yield from ()
        schema, entity = self.schema, self.entity
        values = assigned(context, schema, entity, self.numbers)
        item = schema.encode(entity, values)
        key = key_in(schema, item)
        expected = None if schema.version is None else getattr(entity, schema.version.name)
        # What is replaced, as far as is known: what was read has a key, and most likely the same unique values.
        before = schema.encode(entity) if expected else None
        if found is not None:
            before = living(context, schema, found.item)
        placed, condition = None, self._condition(context, expected, before)
        if schema.large:
            stored = unknown_attributes(entity) if found is None else found.item or {}
            placed = self.outside.place(schema, item, references(stored))
            item = placed.item
            condition = all_of(
                [equals(BLOB_REFERENCES, stored.get(BLOB_REFERENCES)), *([] if condition is None else [condition])]
            )
            before = yield from whole_if_older(context, schema, before)

        def refused(found: Item | None) -> StoreError | None:
            if not expected and is_of_another(schema, found):
                return AlreadyExists(schema.entity.__name__, described(schema, item))
            there = living(context, schema, found)
            return None if there is None and not expected else version_refusal(schema, there, expected, item)

        body = {"TableName": context.name_of(schema.table), "Item": item}
        guards = guard_changes(schema, before and schema.upgrade(before), key, item, key)
        action = Action("Put", with_expressions(body, condition), refused)
        return self.planned(action, guards, values, placed)

    def _condition(self, context: Context, expected: int | None, before: Item | None) -> Condition | None:
        schema = self.schema
        if schema.unique and before is None:
            return is_free(context, schema)
        conditions: list[Condition] = []
        if expected is not None:
            conditions.append(has_version(schema, expected))
        if schema.unique and before is not None:
            conditions.extend([*is_there(context, schema), *all_equal(held(schema, before))])
        elif expected:
            conditions.extend(is_there(context, schema))
        elif expected == 0:
            over, fresh = is_over(context, schema), all_of([*conditions, *is_own(schema)])
            return fresh if over is None or fresh is None else fresh | over
        else:
            return is_replaceable(context, schema)
        return all_of(conditions)


class Delete(Operation):
    """No item any more. Of a versioned entity, only the version that was read is deleted."""

    name = "delete"

    def __init__(self, target: Entity | Lookup[Any], *, expect: Mapping[str, Any] | None = None) -> None:
        self.target = target
        self.schema = schema_for(target, self.name)
        self.expect = Expectations(self.schema, expect or {})

    def plan(self, context: Context, found: Found | None) -> Flow[WritePlan]:
        schema, target, expect = self.schema, self.target, self.expect
        expected = self._expected()
        if found is not None:
            before = None if is_of_another(schema, found.item) else found.item
        elif isinstance(target, Entity):
            before = schema.encode(target)
        elif target.index is not None or schema.unique:
            before = yield from read_target(context, target, "the item")
        else:
            before = key_by(target)
        if before is None:
            if expect.given:
                raise NotFound(schema.entity.__name__, self._told())
            return WritePlan([], done=lambda _: False)
        key = key_in(schema, before)
        conditions = is_own(schema)
        if expected:
            conditions.append(has_version(schema, expected))
        if schema.unique:
            conditions.extend([exists(schema.table.partition), *all_equal(held(schema, before))])

        def refusal(item: Item | None) -> StoreError | None:
            there = living(context, schema, item)
            if not is_meant(target, there):
                return NotFound(schema.entity.__name__, self._told())
            conflict = version_refusal(schema, there, expected or None, key)
            if conflict is None and expect.given:
                if there is None:
                    return NotFound(schema.entity.__name__, described(schema, key))
                return expect.refusal(there, key)
            return conflict

        if expect.given and found is not None and has_older_shape(schema, before):
            whole = yield from whole_if_older(context, schema, before)
            error = refusal(None if whole is None else schema.upgrade(whole))
            if error is not None:
                raise error
            conditions.extend([*is_there(context, schema), *all_equal(before)])
        elif expect.given:
            conditions.extend([*is_there(context, schema), *has_present_shape(schema), *expect.conditions()])
        conditions.extend(still_meant(target))
        placed = None
        if schema.large:
            placed = Placed({}, superseded=[reference.blob for reference in references(before).values()])
            conditions.append(equals(BLOB_REFERENCES, before.get(BLOB_REFERENCES)))
            before = (yield from whole_if_older(context, schema, before)) or before

        def refused(found: Item | None) -> StoreError | None:
            # Of an older shape, it is seen what it is when the delete is planned again.
            return None if expect.given and has_older_shape(schema, found) else refusal(found)

        def done(response: Response) -> bool:
            # A transaction does not tell, but was made under the condition that the item is there.
            old = response.get("Attributes", before if schema.unique else None)
            return living(context, schema, old) is not None

        body = {"TableName": context.name_of(schema.table), "Key": key}
        action = Action("Delete", with_expressions(body, all_of(conditions)), refused)
        guards = guard_changes(schema, schema.upgrade(before), key, None, key) if schema.unique else []
        return WritePlan([action], guards, done, placed)

    def _told(self) -> str:
        target = self.target
        return told(target) if isinstance(target, Lookup) else described(self.schema, self.schema.encode(target))

    def _expected(self) -> int | None:
        if self.schema.version is None or not isinstance(self.target, Entity):
            return None
        version: int = getattr(self.target, self.schema.version.name)
        return version


# -- flows ----------------------------------------------------------------------------------------------------------


def put(context: Context, entity: E) -> Flow[E]:
    """Store a whole item: the last writer wins, unless the entity has a version; AlreadyExists when the item is of
    another entity."""
    schema = schema_for(entity, "put", AN_ENTITY)
    if schema.version is not None or _concerns_others(schema):
        return execute(context, Put(entity))
    return _written(context, schema, entity, "put", if_replaceable(context, schema))


def create(context: Context, entity: E) -> Flow[E]:
    """Store a new item; AlreadyExists when there is one that has not expired."""
    schema = schema_for(entity, "create", AN_ENTITY)
    if _concerns_others(schema):
        return execute(context, Create(entity))
    return _written(context, schema, entity, "create", if_free(context, schema))


def _concerns_others(schema: Schema) -> bool:
    """Whether the write of an item is more than one request: there are guards, counters or blobs as well."""
    return bool(schema.unique or schema.numbered or schema.large)


def _written(context: Context, schema: Schema, entity: E, name: str, condition: Mapping[str, Any]) -> Flow[E]:
    """Write an item by one request, which needs no plan: it assumes nothing that could be found out of date."""
    values = assigned(context, schema, entity)
    item = schema.encode(entity, values)
    body = {"TableName": context.name_of(schema.table), "Item": item, **condition}
    try:
        yield from retrying(context, Request("PutItem", body, f"{schema.entity.__name__}.{name}"))
    except ServiceError as error:
        if condition and error.code == CONDITION_FAILED:
            raise AlreadyExists(schema.entity.__name__, described(schema, item)) from None
        raise in_words(error) from None
    return brought_up_to_date(entity, values)


def delete(context: Context, target: Entity | Lookup[Any], *, expect: Mapping[str, Any] | None = None) -> Flow[bool]:
    """Delete an item, and say whether there was one."""
    was_there: bool = yield from execute(context, Delete(target, expect=expect))
    return was_there
