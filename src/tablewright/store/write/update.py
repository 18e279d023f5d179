"""Updates: some fields of an item, and every key attribute that follows from them, in one write.

What an update has to know of the item beyond what it sets depends on what it sets. If a field feeds a key, all other
fields of that key are needed to make the new one; if a number that is added to feeds a key, so is the number. What is
needed is known from the entity, or is read; either way the write is made under the condition that it is still
so, and planned again on what is there when it is not. So no update can leave a key behind, and one that feeds no key is
a single request that assumes nothing. Where validators look at a whole model, they have to see the result, so all of
the item is needed.

    draft: actions, what is known of the item ─▶ in place          one UpdateItem
                                              ─▶ to another key    a move (see ``move``)
                                              ─▶ replaced          an item of an older schema version, as a whole
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self, TypeVar, get_args

from tablewright.dynamo import DynamoError, Item, non_null_at, parse_path
from tablewright.dynamo.expressions import Function, Operand
from tablewright.dynamo.expressions.builder import Condition, UpdateActions, all_equal, exists, missing
from tablewright.model import Entity, FieldChange, Lookup, ModelError, Schema
from tablewright.model.items.field_paths import place_of
from tablewright.model.items.item_decoding import keep_unknown_attributes, unknown_attributes
from tablewright.store.blobs.blob_loading import Values, load_blobs, loaded_values
from tablewright.store.blobs.blob_references import missing_references, references, without_blob_values
from tablewright.store.blobs.offload import Placement
from tablewright.store.context import Context
from tablewright.store.errors import NotFound, ReadRequired, ServiceError, StoreError
from tablewright.store.flow.driver import Flow, Response
from tablewright.store.item_description import describe_item, describe_lookup
from tablewright.store.read.entity_decoding import entity_of
from tablewright.store.write.fields.expectations import Expectations, Expected, expectations, expected_preconditions
from tablewright.store.write.fields.field_bounds import field_preconditions
from tablewright.store.write.fields.field_updates import FieldUpdates, to_actions, updates_of
from tablewright.store.write.move import plan_move, unchanged_conditions
from tablewright.store.write.planning.attribute_dependencies import Impact, dependencies, impact_of
from tablewright.store.write.planning.executor import execute
from tablewright.store.write.planning.item_conditions import is_older, live_conditions
from tablewright.store.write.planning.operation import (
    Attempt,
    Draws,
    LoadResult,
    Operation,
    Planning,
    WritePlan,
    action,
    schema_for,
)
from tablewright.store.write.planning.preconditions import (
    Precondition,
    assumptions,
    live_preconditions,
    refusal_of,
    version_conflict,
    version_precondition,
)
from tablewright.store.write.planning.write_target import (
    key_in,
    key_of_lookup,
    match_preconditions,
    read_item,
    read_target,
    version_read,
)
from tablewright.store.write.put import expiry_after
from tablewright.store.write.sequence import Draw, counted_attributes
from tablewright.store.write.upkeep import upkeep_changes

E = TypeVar("E", bound=Entity)
ReturnValues = Literal["ALL_NEW", "ALL_OLD"]


@dataclass(slots=True)
class _Draft:
    """What an attempt knows before it plans: what is changed, and what is stored."""

    actions: UpdateActions
    impact: Impact
    # What is known of the stored item, without its large values; and whether that is all of it.
    stored: Item
    complete: bool


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Update(Operation):
    """Changes fields of an existing item.

    ``expect`` is a condition on the stored item; ``ConditionFailed`` if it does not hold.

        withdrawal = Update(account, attr(Account.balance).add(-20), expect=attr(Account.state) == State.OPEN)
        store.transact(withdrawal, Create(payment))
    """

    name = "update"
    target: Entity | Lookup[Any]
    schema: Schema
    updates: FieldUpdates
    expect: Expectations
    # The version that was read; None: whichever is stored will do.
    version: int | None
    # Whether there are validators of a whole model, which have to see the result.
    has_model_validators: bool
    # Whether the result is the item as it was, and not as it is then.
    returns_old: bool

    def __init__(
        self,
        target: Entity | Lookup[Any],
        *changes: FieldChange,
        expect: Expected | None = None,
    ) -> None:
        schema = schema_for(target, self.name)
        updates = updates_of(schema, changes)
        self._set(target, schema, updates, expectations(schema, expect), version_read(schema, target))

    @classmethod
    def of(cls, target: Entity | Lookup[Any], updates: FieldUpdates, *, version: int | None) -> Self:
        """An update over a given version, or over any."""
        update, schema = cls.__new__(cls), schema_for(target, cls.name)
        update._set(target, schema, updates, (), version)
        return update

    def _set(
        self,
        target: Entity | Lookup[Any],
        schema: Schema,
        updates: FieldUpdates,
        expect: Expectations,
        version: int | None,
    ) -> None:
        paths = (*updates.fields, *updates.nested, *updates.remove)
        validated = [path for path in paths if place_of(schema.entity, path).has_model_validators]
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "updates", updates)
        object.__setattr__(self, "expect", expect)
        object.__setattr__(self, "version", version)
        object.__setattr__(self, "has_model_validators", bool(validated))
        object.__setattr__(self, "returns_old", False)

    def returning_old(self) -> Self:
        """The same update, whose result is the item as it was."""
        object.__setattr__(self, "returns_old", True)
        return self

    def plan(self, attempt: Attempt) -> Planning:
        return self.planned(attempt, draws=bool(self.schema.numbered))

    def planned(self, attempt: Attempt, *, draws: bool) -> Planning:
        """Plan the update, with or without numbers for fields that come to be counted for something else."""
        schema, context = self.schema, attempt.context
        draft = yield from self._draft(attempt)
        if draws:
            numbers = yield Draws((yield from self._draws(context, draft)))
            if numbers:
                values = {schema.fields[name].attribute: {"N": str(number)} for name, number in numbers.items()}
                draft.actions.sets.update(values)
                draft = _Draft(
                    draft.actions,
                    impact_of(schema, draft.actions, has_model_validators=self.has_model_validators),
                    draft.stored,
                    draft.complete,
                )
        if draft.complete and not schema.key_defaults.keys() <= draft.stored.keys():
            draft = self._with_key_defaults(draft)
        if draft.complete and is_older(schema, draft.stored):
            stored, whole = yield from self._whole(context, draft.stored)
            return self._replaced(attempt, stored, whole, draft.actions)
        if draft.complete and draft.impact.changed & dependencies(schema).identity:
            stored = draft.stored
            key, after = key_in(schema, stored), self._after(stored, draft.actions)
            if key_in(schema, after) != key:
                whole = stored
                if schema.large:
                    stored, whole = yield from self._whole(context, stored)
                    after = self._after(whole, draft.actions)
                preconditions = [*self._preconditions(context, key), *assumptions(unchanged_conditions(schema, stored))]
                result = partial(self._result, old=whole)
                return plan_move(attempt, schema, stored, after, preconditions, result)
        old: Item | None = None
        if self._reads_old:
            _, old = yield from self._whole(context, draft.stored)
        return self._in_place(attempt, draft, old)

    # -- what is changed, and what has to be known for it -------------------------------------------------------

    def _draft(self, attempt: Attempt) -> Flow[_Draft]:
        context, found = attempt.context, attempt.found
        entity = None if isinstance(self.target, Lookup) else self.target
        actions = self._actions(context, entity)
        impact = impact_of(self.schema, actions, has_model_validators=self.has_model_validators)
        # An item that is of no use here has been refused already, so that what was found is there.
        if found is not None and found.item is not None:
            stored, complete = found.item, True
        elif self._reads_old or (self.returns_old and impact.changed & dependencies(self.schema).identity):
            stored, complete = (yield from self._read_old(context)), True
        elif entity is not None:
            stored, complete = (yield from self._stored_of_entity(context, entity, impact)), True
        else:
            stored, complete = yield from self._stored_of_lookup(context, impact)
        if self.has_model_validators:
            actions = yield from self._validated(context, stored)
            impact = impact_of(self.schema, actions, has_model_validators=self.has_model_validators)
        return _Draft(actions, impact, stored, complete)

    @property
    def _reads_old(self) -> bool:
        """Whether the item as it was has to be read: a transaction does not return it, nor any write its blobs."""
        schema = self.schema
        return self.returns_old and bool(schema.needs_upkeep or schema.numbered or schema.large)

    def _read_old(self, context: Context) -> Flow[Item]:
        """The item as it is; that it was the same when it is written is assumed."""
        target, schema = self.target, self.schema
        if isinstance(target, Lookup):
            stored, which = (yield from read_target(context, target, "the item")), describe_lookup(target)
        else:
            item = schema.encode(target)
            stored, which = (yield from self._read(context, key_in(schema, item))), describe_item(schema, item)
        if stored is None:
            raise NotFound(schema.entity.__name__, which)
        return stored

    def _read(self, context: Context, key: Item) -> Flow[Item | None]:
        if context.strict:
            raise ReadRequired(self.schema.entity.__name__, describe_item(self.schema, key), "the item")
        return (yield from read_item(context, self.schema, key, self.pattern))

    def _actions(self, context: Context, entity: Entity | None) -> UpdateActions:
        """What is changed, including what the store sets itself."""
        schema = self.schema
        actions = to_actions(schema, self.updates, entity)
        managed = [spec for spec in (schema.version, schema.updated, schema.retained) if spec is not None]
        if managed and not actions.attributes.isdisjoint(spec.attribute for spec in managed):
            names = ", ".join(spec.name for spec in managed if spec.attribute in actions.attributes)
            raise ModelError(f"{schema.entity.__name__}: {names} is set by the store")
        if schema.version is not None:
            actions.adds[schema.version.attribute] = {"N": "1"}
        if schema.updated is not None:
            actions.sets[schema.updated.attribute] = schema.updated.encode(context.now()) or {"NULL": True}
        if schema.retained is not None:
            expiry = expiry_after(schema, context.now())
            actions.sets[schema.retained.attribute] = schema.retained.encode(expiry) or {"NULL": True}
        return actions

    def _with_key_defaults(self, draft: _Draft) -> _Draft:
        """An item that was stored before a field of a key was declared reads as if it had the default.

        It is given that, and the keys that follow from it.
        """
        schema, actions = self.schema, draft.actions
        for name, value in schema.key_defaults.items():
            if name not in draft.stored and name not in actions.attributes:
                actions.sets[name] = value
        impact = impact_of(schema, actions, has_model_validators=self.has_model_validators)
        return _Draft(actions, impact, draft.stored, draft.complete)

    def _stored_of_entity(self, context: Context, entity: Entity, impact: Impact) -> Flow[Item]:
        """What an entity says of its item. A version vouches for all of it.

        Else a move has to read what it moves, and where there are large values, the size of the item has to be known.
        """
        schema = self.schema
        item = schema.encode(entity)
        if schema.large:
            item = without_blob_values(item)
        reads = bool(impact.changed & dependencies(schema).identity) or bool(schema.large)
        if schema.version is not None or context.strict or not reads:
            return item
        stored = yield from read_item(context, schema, key_in(schema, item), self.pattern)
        if stored is None:
            raise NotFound(schema.entity.__name__, describe_item(schema, item))
        return stored

    def _stored_of_lookup(self, context: Context, impact: Impact) -> Flow[tuple[Item, bool]]:
        """What a lookup says of the item by itself, or the item, where that is not enough; and whether it is all."""
        lookup, schema, follow = self.target, self.schema, dependencies(self.schema)
        assert isinstance(lookup, Lookup)
        reason = "the item"
        if lookup.index is None and not impact.changed & follow.identity:
            needed = impact.needed
            if schema.large:
                # The references, and, if that does not count as too much to ask for, how large the item is.
                needed |= {
                    spec.attribute for spec in schema.large if not context.strict or spec.attribute in impact.changed
                }
            if not needed and not self.has_model_validators:
                key = key_of_lookup(lookup)
                # The fields in it are looked at only if something else follows from them.
                follows = impact.affected or follow.guards
                return ({**schema.encode_values(lookup.values), **key} if follows else key), False
            if not self.has_model_validators:
                names = sorted(schema.by_attribute[name].name for name in needed if name in schema.by_attribute)
                reason = " and ".join(names)
        item = yield from read_target(context, lookup, reason)
        if item is None:
            raise NotFound(schema.entity.__name__, describe_lookup(lookup))
        return item, True

    def _validated(self, context: Context, stored: Item) -> Flow[UpdateActions]:
        """The actions, once the validators of whole models have seen the result."""
        _, whole = yield from self._whole(context, stored)
        current = self.schema.upgrade(whole)
        actions = self._actions(context, entity_of(self.schema, current))
        self.schema.decode(self._after(current, actions))
        return actions

    def _draws(self, context: Context, draft: _Draft) -> Flow[list[Draw]]:
        """An item that comes to be counted for something else is given the next number there."""
        schema = self.schema
        if draft.impact.changed.isdisjoint(counted_attributes(schema)):
            return []
        _, whole = yield from self._whole(context, draft.stored)
        before = schema.upgrade(whole)
        after = self._applied(before, draft.actions)
        draws = []
        for spec in schema.numbered:
            paths = [path for _, path in schema.numbered_per[spec.name]]
            given = int(after[spec.attribute]["N"]) if spec.attribute in draft.impact.changed & after.keys() else None
            if given or [non_null_at(before, path) for path in paths] != [non_null_at(after, path) for path in paths]:
                draws.append(Draw(schema, spec, schema.sequence_key(spec, after), {}, given))
        return draws

    # -- the item afterwards ---------------------------------------------------------------------------------------

    def _whole(self, context: Context, stored: Item) -> Flow[tuple[Item, Item]]:
        """An item as it is stored, and with its large values."""
        if not self.schema.large or not missing_references(stored):
            return stored, stored
        (whole,) = yield from load_blobs(context, self.schema.table, [stored], self._values())
        if whole is None:
            raise NotFound(self.schema.entity.__name__, describe_item(self.schema, stored))
        return without_blob_values(whole), whole

    def _values(self) -> Values:
        return loaded_values(self.target) if isinstance(self.target, Entity) else {}

    def _applied(self, item: Item, actions: UpdateActions, only: Container[str] | None = None) -> Item:
        """An item after the actions; where they cannot be applied, the precondition that says why is raised."""
        if self.schema.unstored:
            item = self.schema.unstored.taken_out(item)
        try:
            return actions.apply(item, only)
        except DynamoError as error:
            refusal = refusal_of(field_preconditions(self.schema, self.updates, item), item)
            raise refusal or ServiceError(error.code, str(error)) from None

    def _after(self, item: Item, actions: UpdateActions) -> Item:
        """An item after the actions, with the key attributes that it should have."""
        return self._derived(self._applied(item, actions))

    def _derived(self, item: Item) -> Item:
        return self.schema.with_keys(item)

    def _result(self, item: Item, old: Item | None = None) -> Entity:
        """The entity after the write: the one that was given, brought up to date, or a new one; or as it was."""
        fresh: Entity = entity_of(self.schema, item)
        entity = self.target
        if isinstance(entity, Entity):
            entity.__dict__.update(fresh.__dict__)
            entity.__pydantic_fields_set__.update(fresh.__pydantic_fields_set__)
            keep_unknown_attributes(entity, unknown_attributes(fresh))
            fresh = entity
        return entity_of(self.schema, old) if self.returns_old and old is not None else fresh

    # -- plans --------------------------------------------------------------------------------------------------

    def _preconditions(self, context: Context, key: Item) -> list[Precondition]:
        """What must hold of the item, whatever is changed."""
        schema, version = self.schema, self.version

        def gone(_: Item) -> StoreError:
            if version:
                return version_conflict(schema, None, version, key)
            return NotFound(schema.entity.__name__, describe_item(schema, key))

        preconditions = live_preconditions(context, schema, gone)
        preconditions += match_preconditions(self.target, gone)
        if version is not None:
            preconditions.append(version_precondition(schema, version, key))
        preconditions += expected_preconditions(schema, self.expect, key)
        return preconditions + field_preconditions(schema, self.updates, key)

    def _is_repeatable(self, actions: UpdateActions) -> bool:
        """Whether a second execution changes nothing more: nothing is counted or appended, or a version refuses it.

        A version that is incremented once more than requested does no harm.
        """
        if self.version is not None:
            return True
        own = None if self.schema.version is None else self.schema.version.attribute
        if any("N" in value for path, value in actions.adds.items() if path != own):
            return False
        # What is behind a removed element moves up, and what is set behind the end of a list is appended.
        is_of_list = any(path.endswith("]") for path in (*actions.sets, *actions.removes))
        return not (actions.appends or is_of_list) and all(map(_is_set_once, actions.computed.items()))

    def _in_place(self, attempt: Attempt, draft: _Draft, old: Item | None) -> WritePlan:
        """The plan of one update; ``old`` is the whole item, where it is read to be returned."""
        context, schema, follow = attempt.context, self.schema, dependencies(self.schema)
        stored, actions, complete = draft.stored, draft.actions, draft.complete
        key = key_in(schema, stored)
        affected, guarded = draft.impact.affected, follow.guards & draft.impact.changed
        # Else nothing follows from what the item is afterwards, and the service returns that.
        follows = affected or guarded or schema.large
        after = stored
        if follows:
            concerned = follow.guards.union(*(follow.indexes[attribute] for attribute in affected))
            after = self._applied(stored, actions, None if complete else concerned)
        placement = None
        if schema.large and complete:
            placement = attempt.offload.place_update(schema, stored, self._derived(after), actions)
        # The service takes no key attribute in an update, even if it stays as it is.
        for attribute in (*schema.table.key, *schema.unstored.names):
            actions.sets.pop(attribute, None)
        if schema.unstored:
            actions.removes[:] = [path for path in actions.removes if path not in schema.unstored.names]
        derived = schema.derive(after, affected) if affected else {}
        for attribute in affected:
            if attribute in derived:
                actions.sets[attribute] = derived[attribute]
            else:
                actions.removes.append(attribute)
        guards = upkeep_changes(schema, stored, key, after, key) if guarded else []
        preconditions = self._preconditions(context, key)
        if draft.impact.needed:
            needed = schema.stored_names(draft.impact.needed)
            preconditions += assumptions(all_equal({name: stored.get(name) for name in needed}))
        if follow.defaults:
            preconditions += assumptions(self._default_conditions(draft))
        if placement is not None:
            preconditions += assumptions(placement.conditions)
        if old is not None:
            preconditions += assumptions(unchanged_conditions(schema, stored))
        returns = "ALL_OLD" if self.returns_old and old is None else None

        def result(response: Response) -> Entity | None:
            attributes = response.get("Attributes")
            if returns is not None and attributes is not None:
                return self._result(self._applied(attributes, actions), attributes)
            if attributes is None and complete:
                attributes = self._derived(after) if follows else self._after(stored, actions)
            return None if attributes is None else self._result(attributes, old)

        body = {"TableName": context.name_of(schema.table), "Key": key}
        repeatable = self._is_repeatable(actions)
        update = action("Update", body, preconditions, actions, repeatable=repeatable, returns=returns)
        load_result = self._loader(context, after, placement, old) if schema.large else None
        return WritePlan([update], guards, result, placement, load_result)

    def _default_conditions(self, draft: _Draft) -> Iterator[Condition]:
        """The fields of keys that have a default are stored as they are known, so that no key is without its field."""
        replaced = (*draft.actions.sets, *draft.actions.removes)
        for name in dependencies(self.schema).defaults:
            if draft.complete and name not in draft.stored:
                yield missing(name)
            elif name not in replaced and name not in draft.impact.needed:
                yield exists(name)

    def _loader(self, context: Context, after: Item, placement: Placement | None, old: Item | None) -> LoadResult:
        """The result of an update in place, with its large values."""

        def load_result(response: Response, wanted: bool) -> Flow[Entity | None]:
            attributes = response.get("Attributes")
            if attributes is None and placement is not None:
                attributes = placement.stored(self._derived(after))
            if attributes is None or (not wanted and isinstance(self.target, Lookup)):
                return None
            known = {**self._values(), **(placement.values if placement is not None else {})}
            (item,) = yield from load_blobs(context, self.schema.table, [attributes], known)
            if item is None:
                raise NotFound(self.schema.entity.__name__, describe_item(self.schema, attributes))
            return self._result(item, old)

        return load_result

    def _replaced(self, attempt: Attempt, stored: Item, whole: Item, actions: UpdateActions) -> WritePlan:
        """The plan for an item of an older schema version: its attributes may mean something else, so it is replaced.

        All of it must still be the same, so what else must hold of it is evaluated here, on the upgraded item.
        """
        context, schema = attempt.context, self.schema
        key, before = key_in(schema, stored), schema.upgrade(whole)
        error = refusal_of(self._preconditions(context, key), before)
        if error is not None:
            raise error
        after = self._after(before, actions)
        same = assumptions([*live_conditions(context, schema), *all_equal(stored)])
        if key_in(schema, after) != key:
            return plan_move(attempt, schema, before, after, same, partial(self._result, old=before))
        placement = attempt.offload.place(schema, after, references(stored)) if schema.large else None
        item = after if placement is None else placement.item
        result = after if placement is None else placement.whole(after)
        put = action("Put", {"TableName": context.name_of(schema.table), "Item": item}, same)
        guards = upkeep_changes(schema, before, key, after, key)
        return WritePlan([put], guards, lambda _: self._result(result, before), placement)


def _is_set_once(computed: tuple[str, Operand]) -> bool:
    """Whether a computed value is that of the attribute itself, once it is stored (``set_if_absent``)."""
    path, operand = computed
    return isinstance(operand, Function) and operand.arguments[0] == parse_path(path)


def update(
    context: Context,
    target: E | Lookup[E],
    *changes: FieldChange,
    expect: Expected | None = None,
    return_values: ReturnValues = "ALL_NEW",
) -> Flow[E]:
    """Change some fields of an item (see ``Update``); returns the entity after the change, or before it."""
    if return_values not in get_args(ReturnValues):
        raise ModelError(f"return_values is ALL_NEW or ALL_OLD, not {return_values!r}")
    operation = Update(target, *changes, expect=expect)
    return execute(context, operation.returning_old() if return_values == "ALL_OLD" else operation)
