"""Whole items: put and create.

Whatever is written carries what the store keeps in order: the version is counted up, stamps are set, an expiry that was
not given is filled in, a retention period begins again, and key attributes follow from the fields. When the write is
done, the entity that was given is brought up to date, so that it can be written again; when it is refused, the entity
is left as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Self, TypeVar

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import Condition, all_equal, all_of, equals
from tablewright.model import Entity, FieldCondition, ModelError, Schema
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.model.items.field_paths import place_of
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.items.item_decoding import unknown_attributes
from tablewright.store.argument_checks import AN_ENTITY
from tablewright.store.blobs.blob_loading import whole_if_older
from tablewright.store.blobs.blob_references import references
from tablewright.store.blobs.offload import Placement
from tablewright.store.context import Context
from tablewright.store.errors import NotFound, ServiceError, StoreError
from tablewright.store.flow.driver import Flow, Request, Response
from tablewright.store.flow.retry import retrying
from tablewright.store.item_description import describe_item
from tablewright.store.write.fields.expectations import Expectations, Expected, expectations, expected_preconditions
from tablewright.store.write.planning.commit import CONDITION_FAILED, in_words
from tablewright.store.write.planning.executor import execute
from tablewright.store.write.planning.item_conditions import (
    expired_condition,
    free_condition,
    free_members,
    is_of_another,
    live_conditions,
    live_item,
    own_conditions,
    replaceable_condition,
    replaceable_members,
    version_condition,
    version_of,
)
from tablewright.store.write.planning.operation import (
    Action,
    Attempt,
    Draws,
    EntityOperation,
    Operation,
    Planning,
    WritePlan,
    action,
    schema_for,
)
from tablewright.store.write.planning.preconditions import (
    Precondition,
    Refusal,
    already_exists,
    assumptions,
    free_precondition,
    live_preconditions,
    refusal_of,
    version_conflict,
)
from tablewright.store.write.planning.write_target import key_in, read_item, version_read
from tablewright.store.write.sequence import Draw
from tablewright.store.write.unique_values import guarded_values
from tablewright.store.write.upkeep import Upkeep, upkeep_changes

E = TypeVar("E", bound=Entity)

# -- what the store sets --------------------------------------------------------------------------------------------


def managed_values(
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
    if schema.retained is not None:
        values[schema.retained.name] = expiry_after(schema, now)
    elif schema.expiry is not None and schema.lifetime is not None and getattr(entity, schema.expiry.name) is None:
        values[schema.expiry.name] = expiry_after(schema, now)
    return values


def expiry_after(schema: Schema, now: datetime) -> datetime:
    """When what is written now expires, of an entity with a lifetime."""
    assert schema.lifetime is not None
    return (now + schema.lifetime).replace(microsecond=0)


def _stamp(schema: Schema, spec: FieldSpec, now: datetime) -> Any:
    """A time as it will come back: one that is stored as a count of milliseconds has no microseconds."""
    return place_of(schema.entity, spec.name).validate(now) if "N" in spec.types else now


def brought_up_to_date(entity: E, values: Mapping[str, Any]) -> E:
    """Give fields of an entity the values that they have been stored with."""
    entity.__dict__.update(values)
    entity.__pydantic_fields_set__.update(values)
    return entity


def number_draws(schema: Schema, entity: Entity) -> Draws:
    """The numbers of a whole item: a field that has none yet is given one; one that has is counted, if it is new."""
    draws = []
    for spec in schema.numbered:
        given = getattr(entity, spec.name) or None
        if given and version_read(schema, entity):
            # It has been written before, and counted then.
            continue
        per = [name for name, _ in schema.numbered_per[spec.name]]
        group = {name: getattr(entity, name, None) for name in per}
        draws.append(Draw(schema, spec, schema.sequence_key(spec, schema.encode_fields(entity, per)), group, given))
    return Draws(draws)


def whole_item_plan(
    action: Action,
    guards: list[Upkeep],
    entity: Entity,
    values: Mapping[str, Any],
    placement: Placement | None,
) -> WritePlan:
    """The plan of a write after which the entity is what was written."""

    def result(_: Response) -> Entity:
        return brought_up_to_date(entity, values)

    return WritePlan(
        [action], guards, result if placement is None else placement.remembering(result, entity), placement
    )


# -- operations -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Create(EntityOperation):
    """Creates an item; ``AlreadyExists`` if there is one, unless it has expired or ``replacing`` holds for it.

        Create(Lock(name="import", until=soon), replacing=attr(Lock.until) < now)

    ``then`` is called with the entity once it has its numbers, and returns what is written with it in the transaction;
    it is called again, with new numbers, if the write is planned again.

        Create(invoice, then=lambda made: [Create(Line(invoice=made.number, text=text)) for text in texts])
    """

    name = "create"
    replacing: Expectations

    def __init__(
        self,
        entity: E,
        *,
        replacing: FieldCondition | None = None,
        then: Callable[[E], Iterable[Operation]] | None = None,
    ) -> None:
        EntityOperation.__init__(self, entity, then)
        object.__setattr__(self, "replacing", expectations(self.schema, replacing))
        if self.replacing and self.schema.version is not None:
            name = self.schema.entity.__name__
            raise ModelError(f"{name} has a version, so a {name} is replaced by put, over the version that was read")

    def creates(self, fields: Mapping[str, Any]) -> bool:
        identity = self.schema.identity_fields
        return identity == fields.keys() and all(getattr(self.entity, name) == fields[name] for name in identity)

    def plan(self, attempt: Attempt) -> Planning:
        schema, found = self.schema, attempt.found
        if self.replacing and found is not None and live_item(attempt.context, schema, found.item) is not None:
            error = self._refusal(attempt.context, found.item or {})
            if error is not None:
                raise error
            return (yield from Put(self.entity).over(self.replacing).plan(attempt))
        numbers = (yield number_draws(schema, self.entity)) if schema.numbered else {}
        refusal = partial(self._refusal, attempt.context) if self.replacing else None
        return plan_creation(attempt, schema, self.entity, numbers, refusal)

    def _refusal(self, context: Context, found: Item) -> StoreError | None:
        """Why the existing item is not replaced; None: it is."""
        schema, live = self.schema, live_item(context, self.schema, found)
        if is_of_another(schema, found):
            return already_exists(schema, found)
        if (
            live is None
            or refusal_of(expected_preconditions(schema, self.replacing, live), schema.upgrade(live)) is None
        ):
            return None
        return already_exists(schema, found)


def plan_creation(
    attempt: Attempt, schema: Schema, entity: Entity, numbers: Mapping[str, int], refusal: Refusal | None = None
) -> WritePlan:
    """The plan that stores a new item, if its key is free; else it is AlreadyExists, or what ``refusal`` says."""
    values = managed_values(attempt.context, schema, entity, numbers)
    item = schema.encode(entity, values)
    key = key_in(schema, item)
    free = free_precondition(attempt.context, schema, item, refusal)
    placement = None
    if schema.large:
        placement = attempt.offload.place(schema, item, {})
        item = placement.item
    body = {
        "TableName": attempt.context.name_of(schema.table),
        "Item": item,
        **free_members(attempt.context, schema),
    }
    guards = upkeep_changes(schema, None, key, item, key)
    return whole_item_plan(Action("Put", body, [free]), guards, entity, values, placement)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Put(EntityOperation):
    """Stores a whole item, replacing any of the same entity; a versioned one only in the version that was read.

    ``expect`` has conditions on the stored item, which must then exist. ``then`` is that of ``Create``.
    """

    name = "put"
    expect: Expectations
    # Whether what is expected is only assumed: if it does not hold, the write is planned again.
    is_assumed: bool

    def __init__(
        self, entity: E, *, expect: Expected | None = None, then: Callable[[E], Iterable[Operation]] | None = None
    ) -> None:
        EntityOperation.__init__(self, entity, then)
        object.__setattr__(self, "expect", expectations(self.schema, expect))
        object.__setattr__(self, "is_assumed", False)

    def over(self, expect: Expectations) -> Self:
        """The same put, over an item that is assumed to be as expected."""
        object.__setattr__(self, "expect", expect)
        object.__setattr__(self, "is_assumed", True)
        return self

    def plan(self, attempt: Attempt) -> Planning:
        context, schema, entity, found = attempt.context, self.schema, self.entity, attempt.found
        numbers = (yield number_draws(schema, entity)) if schema.numbered else {}
        values = managed_values(context, schema, entity, numbers)
        item = schema.encode(entity, values)
        key = key_in(schema, item)
        expected = version_read(schema, entity)
        # What is replaced, as far as is known: what was read has a key, and most likely the same unique values.
        before = schema.encode(entity) if expected else None
        if found is not None:
            before = live_item(context, schema, found.item)
        elif self.expect and schema.needs_upkeep and before is None:
            before = yield from read_item(context, schema, key, f"{schema.entity.__name__}.put")

        def gone(_: Item) -> StoreError:
            return NotFound(schema.entity.__name__, describe_item(schema, key))

        def refusal(found: Item) -> StoreError | None:
            if not expected and is_of_another(schema, found):
                return already_exists(schema, key)
            live = live_item(context, schema, found)
            if expected is None or (live is None and not expected):
                return None
            current = live is not None and version_of(schema, live) == expected
            return None if current else version_conflict(schema, live, expected, key)

        placement = None
        preconditions = [Precondition(each, refusal) for each in self._conditions(context, expected, before)]
        if self.expect:
            if before is None and (found is not None or schema.needs_upkeep):
                raise gone(key)
            expected_of_it = [
                *live_preconditions(context, schema, gone),
                *expected_preconditions(schema, self.expect, key),
            ]
            if self.is_assumed:
                expected_of_it = assumptions([each.condition for each in expected_of_it])
            preconditions += expected_of_it
        if schema.large:
            stored = unknown_attributes(entity) if found is None else found.item or {}
            placement = attempt.offload.place(schema, item, references(stored))
            item = placement.item
            preconditions += assumptions([equals(BLOB_REFERENCES, stored.get(BLOB_REFERENCES))])
            before = yield from whole_if_older(context, schema, before)
        body = {"TableName": context.name_of(schema.table), "Item": item}
        guards = upkeep_changes(schema, before and schema.upgrade(before), key, item, key)
        return whole_item_plan(action("Put", body, preconditions), guards, entity, values, placement)

    def _conditions(self, context: Context, expected: int | None, before: Item | None) -> list[Condition]:
        """What may be stored: an item of this version and with these unique values; or none, or any of the entity."""
        schema = self.schema
        if schema.needs_upkeep and before is None:
            return [free_condition(context, schema)]
        version = [] if expected is None else [version_condition(schema, expected)]
        if schema.needs_upkeep and before is not None:
            return [*version, *live_conditions(context, schema), *all_equal(guarded_values(schema, before))]
        if expected:
            return [*version, *live_conditions(context, schema)]
        if expected == 0:
            expired, fresh = expired_condition(context, schema), all_of([*version, *own_conditions(schema)])
            assert fresh is not None
            return [fresh if expired is None else fresh | expired]
        replaceable = replaceable_condition(context, schema)
        return [] if replaceable is None else [replaceable]


# -- flows ----------------------------------------------------------------------------------------------------------


def put(context: Context, entity: E, *, expect: Expected | None = None) -> Flow[E]:
    """Store a whole item: the last writer wins, unless the entity has a version; AlreadyExists when the item is of
    another entity."""
    schema = schema_for(entity, "put", AN_ENTITY)
    if schema.version is not None or expect is not None or _concerns_others(schema):
        return execute(context, Put(entity, expect=expect))
    return _written(context, schema, entity, "put", replaceable_members(context, schema))


def create(context: Context, entity: E, *, replacing: FieldCondition | None = None) -> Flow[E]:
    """Store a new item; AlreadyExists when there is one that has not expired, and that is not to be replaced."""
    schema = schema_for(entity, "create", AN_ENTITY)
    if replacing is not None or _concerns_others(schema):
        return execute(context, Create(entity, replacing=replacing))
    return _written(context, schema, entity, "create", free_members(context, schema))


def _concerns_others(schema: Schema) -> bool:
    """Whether the write of an item is more than one request: there are guards, sequences or blobs as well."""
    return bool(schema.needs_upkeep or schema.numbered or schema.large)


def _written(context: Context, schema: Schema, entity: E, name: str, condition: Mapping[str, Any]) -> Flow[E]:
    """Write an item by one request, which needs no plan: it assumes nothing that could be out of date."""
    values = managed_values(context, schema, entity)
    item = schema.encode(entity, values)
    body = {"TableName": context.name_of(schema.table), "Item": item, **condition}
    try:
        yield from retrying(context, Request("PutItem", body, f"{schema.entity.__name__}.{name}"))
    except ServiceError as error:
        if condition and error.code == CONDITION_FAILED:
            raise already_exists(schema, item) from None
        raise in_words(error) from None
    return brought_up_to_date(entity, values)
