"""Updates: some fields of an item, and every key attribute that follows from them, in one write.

What an update has to know of the item beyond what it sets depends on what it sets. If a field feeds a key, all other
fields of that key are needed to make it anew; if a number that is added to feeds a key, so is the number. What is
needed is known from the entity at hand, or is read; either way the write is made under the condition that it is still
so, and planned again on what is there when it is not. So no update can leave a key behind, and one that feeds no key is
a single request that assumes nothing. Where validators look at a whole model, they have to see what comes of it, so all
of the item is needed.

An update that changes the primary key is a move (see ``moves``).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tablewright.dynamo import DynamoError, Item, non_null_at
from tablewright.dynamo.expressions.builder import Condition, UpdateActions, all_equal, all_of, with_expressions
from tablewright.model import Entity, Lookup, ModelError
from tablewright.model.items.item_decoding import keep_unknown_attributes, unknown_attributes
from tablewright.store.blobs.blob_references import lacking, references, stripped
from tablewright.store.blobs.offload import Values, at_hand, loaded
from tablewright.store.context import Context
from tablewright.store.errors import ConditionFailed, NotFound, ServiceError, StoreError
from tablewright.store.flow.driver import Flow, Response
from tablewright.store.read.entity_decoding import entity_of
from tablewright.store.write.attribute_changes import Wanted, to_changes
from tablewright.store.write.executor import Action, Found, Operation, WritePlan, execute, schema_for
from tablewright.store.write.field_paths import place_of
from tablewright.store.write.move import move, unchanged
from tablewright.store.write.preconditions import Requirement, requirements_of
from tablewright.store.write.sequence import Draw, counted_attributes
from tablewright.store.write.unique_values import guard_changes
from tablewright.store.write.write_conditions import (
    Expectations,
    described,
    has_present_shape,
    has_version,
    is_of_another,
    is_there,
    living,
    version_refusal,
)
from tablewright.store.write.write_target import (
    dependencies,
    is_meant,
    is_older,
    key_by,
    key_in,
    read_item,
    read_target,
    still_meant,
    told,
)

E = TypeVar("E", bound=Entity)
# What is known of an item, and whether that is all of it; and with that, what is changed, and the attributes of it.
Basis = tuple[Item, bool]
_Plan = tuple[UpdateActions, frozenset[str], Item, bool]


class Update(Operation):
    """UpdateActions to an item that is there.

    ``Update(call, status=DONE)`` sets fields. Further, each by field or path: ``nested`` sets inside of fields
    (``{"address.city": "Rome"}``), ``add`` adds to numbers and sets, ``append`` appends to lists, ``discard`` takes
    away from sets, ``remove`` removes. ``expect`` names values that fields must have, or ConditionFailed.
    """

    name = "update"

    def __init__(
        self,
        target: Entity | Lookup[Any],
        /,
        *,
        nested: Mapping[str, Any] | None = None,
        add: Mapping[str, Any] | None = None,
        append: Mapping[str, Iterable[Any]] | None = None,
        discard: Mapping[str, Any] | None = None,
        remove: Iterable[str] = (),
        expect: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        if isinstance(remove, str):
            raise ModelError(f"remove takes several names: remove=[{remove!r}]")
        self.target = target
        self.schema = schema_for(target, self.name)
        self.follow = dependencies(self.schema)
        self.wanted = Wanted(fields, nested or {}, add or {}, append or {}, discard or {}, tuple(remove))
        self.expect = Expectations(self.schema, expect or {})
        # Whether validators of a whole model have to see what comes of it.
        set_or_removed = (*fields, *self.wanted.nested, *self.wanted.remove)
        self.watched = any(place_of(self.schema.entity, path).is_watched for path in set_or_removed)
        # The version that was read; None: whichever there is.
        self.expected: int | None = None
        if isinstance(target, Entity) and self.schema.version is not None:
            self.expected = getattr(target, self.schema.version.name)
        # Numbers that it is given, and what they were drawn for.
        self.numbers: dict[str, int] = {}
        self._drawn: _Plan | None = None

    def draws(self, context: Context, found: Found | None) -> Flow[list[Draw]]:
        """An item that comes to be counted for something else is given the next number there."""
        self.numbers = {}
        changes, changed, basis, _ = self._drawn = yield from self._begun(context, found)
        if changed.isdisjoint(counted_attributes(self.schema)):
            return []
        _, whole = yield from self._whole(context, basis)
        before = self.schema.upgrade(whole)
        after = self._applied(before, changes)
        draws = []
        for spec in self.schema.numbered:
            paths = [path for _, path in self.schema.counted[spec.name]]
            given = int(after[spec.attribute]["N"]) if spec.attribute in changed & after.keys() else None
            if given or [non_null_at(before, path) for path in paths] != [non_null_at(after, path) for path in paths]:
                draws.append(Draw(self.schema, spec, self.schema.counter_key(spec, after), {}, given))
        return draws

    def number(self, numbers: dict[str, int]) -> None:
        self.numbers = numbers

    def plan(self, context: Context, found: Found | None) -> Flow[WritePlan]:
        schema = self.schema
        changes, changed, basis, complete = self._drawn or (yield from self._begun(context, found))
        self._drawn = None
        for name, number in self.numbers.items():
            changes.sets[schema.fields[name].attribute] = {"N": str(number)}
            changed |= {schema.fields[name].attribute}
        if complete and is_older(schema, basis):
            basis, whole = yield from self._whole(context, basis)
            return self._replaced(context, basis, whole, changes)
        if complete and changed & self.follow.identity:
            after = self._after(self._applied(basis, changes))
            if key_in(schema, after) != key_in(schema, basis):
                if schema.large:
                    basis, whole = yield from self._whole(context, basis)
                    after = self._after(self._applied(whole, changes))
                return move(self, context, basis, after, [*self.conditions(context), *unchanged(schema, basis)])
        return self._in_place(context, basis, complete, changes, changed)

    def _begun(self, context: Context, found: Found | None) -> Flow[_Plan]:
        """What is to be changed, and what is known of the item."""
        entity = self.target if isinstance(self.target, Entity) else None
        changes, changed = self._changes(context, entity)
        # An item that is of no use here has been refused already, so that what was found is there.
        if found is not None and found.item is not None:
            basis, complete = found.item, True
        elif entity is not None:
            basis, complete = (yield from self._at_hand(context, entity, changed)), True
        else:
            basis, complete = yield from self._looked_up(context, changes, changed)
        if self.watched:
            changes, changed = yield from self._seen(context, basis)
        return changes, changed, basis, complete

    def _whole(self, context: Context, basis: Item) -> Flow[tuple[Item, Item]]:
        """An item as it is stored, and with the values that are outside."""
        if not self.schema.large or not lacking(basis):
            return basis, basis
        (whole,) = yield from loaded(context, self.schema.table, [basis], self._values())
        if whole is None:
            raise NotFound(self.schema.entity.__name__, described(self.schema, basis))
        return stripped(whole), whole

    def _seen(self, context: Context, basis: Item) -> Flow[tuple[UpdateActions, frozenset[str]]]:
        """The changes, once the validators of whole models have seen what comes of them."""
        _, whole = yield from self._whole(context, basis)
        current = self.schema.upgrade(whole)
        changes, changed = self._changes(context, entity_of(self.schema, current))
        self.schema.decode(self._after(self._applied(current, changes)))
        return changes, changed

    def _applied(self, item: Item, changes: UpdateActions, only: Container[str] | None = None) -> Item:
        try:
            return changes.apply(item, only)
        except DynamoError as error:
            raise self._broken(item, item) or ServiceError(error.code, str(error)) from None

    def _values(self) -> Values:
        return at_hand(self.target) if isinstance(self.target, Entity) else {}

    # -- what is changed, and what has to be known for it -------------------------------------------------------

    def _changes(self, context: Context, entity: Entity | None) -> tuple[UpdateActions, frozenset[str]]:
        """The changes, and the attributes that they are of."""
        schema = self.schema
        changes = to_changes(schema, self.wanted, entity)
        changed = changes.attributes
        managed = [spec.attribute for spec in (schema.version, schema.updated) if spec is not None]
        if not changed.isdisjoint(managed):
            names = ", ".join(schema.by_attribute[attribute].name for attribute in managed if attribute in changed)
            raise ModelError(f"{schema.entity.__name__}: {names} is set by the store")
        if schema.version is not None:
            changes.adds[schema.version.attribute] = {"N": "1"}
        if schema.updated is not None:
            changes.sets[schema.updated.attribute] = schema.updated.encode(context.now()) or {"NULL": True}
        return changes, changed.union(managed)

    def _needed(self, changes: UpdateActions, changed: frozenset[str], affected: Sequence[str]) -> frozenset[str]:
        """The attributes whose present value has to be known, and is not known from the key."""
        follow = self.follow
        sources: set[str] = set()
        for attribute in affected:
            sources |= follow.indexes[attribute]
        if sources:
            sources -= changes.replaced
        if follow.guards & changed:
            sources |= follow.guards
        counted = counted_attributes(self.schema)
        if not changed.isdisjoint(counted):
            sources |= counted
        if self.watched:
            version = self.schema.version
            sources |= set(self.schema.by_attribute if version is None else [version.attribute]) - changes.replaced
        return frozenset(sources - follow.fixed)

    def _at_hand(self, context: Context, entity: Entity, changed: frozenset[str]) -> Flow[Item]:
        """What an entity says of its item. A version vouches for all of it.

        Else a move has to look what it moves, and where there are large values, the size of the item has to be known.
        """
        schema = self.schema
        item = schema.encode(entity)
        if schema.large:
            item = stripped(item)
        if schema.version is not None or context.strict or not (changed & self.follow.identity or schema.large):
            return item
        stored = yield from read_item(context, schema, key_in(schema, item), self.pattern)
        if stored is None:
            raise NotFound(schema.entity.__name__, described(schema, item))
        return stored

    def _looked_up(self, context: Context, changes: UpdateActions, changed: frozenset[str]) -> Flow[Basis]:
        """What a lookup says of the item by itself, or the item, where that is not enough."""
        lookup = self.target
        assert isinstance(lookup, Lookup)
        schema = self.schema
        if lookup.index is None and not changed & self.follow.identity:
            affected = self.follow.affected(changed)
            needed = self._needed(changes, changed, affected)
            if schema.large:
                # What there is outside, and, if that does not count as too much to ask for, how large the item is.
                needed |= {spec.attribute for spec in schema.large if not context.strict or spec.attribute in changed}
            if not needed and not self.watched:
                key = key_by(lookup)
                # The fields in it are looked at only if something else follows from them.
                follows = affected or self.follow.guards
                return {**schema.encode_values(lookup.values), **key} if follows else key, False
            names = sorted(schema.by_attribute[name].name for name in needed if name in schema.by_attribute)
            reason = "the item" if self.watched else " and ".join(names)
        else:
            reason = "the item"
        item = yield from read_target(context, lookup, reason)
        if item is None:
            raise NotFound(schema.entity.__name__, told(lookup))
        return item, True

    # -- the write ----------------------------------------------------------------------------------------------

    def _in_place(
        self, context: Context, basis: Item, complete: bool, changes: UpdateActions, changed: frozenset[str]
    ) -> WritePlan:
        schema = self.schema
        key = key_in(schema, basis)
        follow = self.follow
        affected = follow.affected(changed)
        guarded = follow.guards & changed
        needed = self._needed(changes, changed, affected)
        # Else nothing follows from what the item is afterwards, and the service tells that.
        follows = affected or guarded or schema.large
        after = basis
        if follows:
            concerned = follow.guards.union(*(follow.indexes[attribute] for attribute in affected))
            after = self._applied(basis, changes, None if complete else concerned)
        placed = self.outside.replace(schema, basis, self._after(after), changes) if schema.large and complete else None
        # The service takes no key attribute in an update, even if it stays as it is.
        for attribute in schema.table.key:
            changes.sets.pop(attribute, None)
        derived = schema.derive(after, affected) if affected else {}
        for attribute in affected:
            if attribute in derived:
                changes.sets[attribute] = derived[attribute]
            else:
                changes.removes.append(attribute)
        guards = guard_changes(schema, basis, key, after, key) if guarded else []
        body = {"TableName": context.name_of(schema.table), "Key": key}
        conditions = [*self.conditions(context), *all_equal({name: basis.get(name) for name in needed})]
        if placed is not None:
            conditions += placed.conditions

        def done(response: Response) -> Entity | None:
            attributes = response.get("Attributes")
            if attributes is None and complete:
                attributes = self._after(after if follows else self._applied(basis, changes))
            return None if attributes is None else self.result(attributes)

        def settle(response: Response, wanted: bool) -> Flow[Entity | None]:
            stored = response.get("Attributes")
            if stored is None and placed is not None:
                stored = placed.stored(self._after(after))
            if stored is None or (not wanted and isinstance(self.target, Lookup)):
                return None
            known = {**self._values(), **(placed.values if placed is not None else {})}
            (item,) = yield from loaded(context, schema.table, [stored], known)
            if item is None:
                raise NotFound(schema.entity.__name__, described(schema, key))
            return self.result(item)

        action = Action(
            "Update",
            with_expressions(body, all_of(conditions), None if changes.is_empty else changes),
            lambda found: self.refusal(context, found, key),
        )
        return WritePlan([action], guards, done, placed, settle if schema.large else None)

    def _replaced(self, context: Context, stored: Item, whole: Item, changes: UpdateActions) -> WritePlan:
        """The plan for an item of an older shape: as the attributes may mean something else, it is replaced as a whole.

        All of it must still be the same, so what else must hold of it can be looked up here.
        """
        schema = self.schema
        key = key_in(schema, stored)
        before = schema.upgrade(whole)
        refusal = self.refusal(context, before, key)
        if refusal is not None:
            raise refusal
        after = self._after(self._applied(before, changes))
        conditions = [*is_there(context, schema), *all_equal(stored)]
        if key_in(schema, after) != key:
            return move(self, context, before, after, conditions)
        placed = self.outside.place(schema, after, references(stored)) if schema.large else None
        item = after if placed is None else placed.item
        after = after if placed is None else placed.whole(after)
        body = with_expressions({"TableName": context.name_of(schema.table), "Item": item}, all_of(conditions))
        action = Action("Put", body, lambda found: self.refusal(context, found, key))
        guards = guard_changes(schema, before, key, after, key)
        return WritePlan([action], guards, lambda _: self.result(after), placed)

    def _after(self, item: Item) -> Item:
        """An item with the key attributes that it should have."""
        kept = {name: value for name, value in item.items() if name not in self.schema.key_rules}
        return {**kept, **self.schema.derive(kept)}

    # -- for moves, too -----------------------------------------------------------------------------------------

    def conditions(self, context: Context) -> list[Condition]:
        """What must hold of the item, whatever is changed."""
        conditions = is_there(context, self.schema)
        if self.expected is not None:
            conditions.append(has_version(self.schema, self.expected))
        conditions += has_present_shape(self.schema)
        conditions += [requirement.condition() for requirement in self._requirements()]
        return [*conditions, *self.expect.conditions(), *still_meant(self.target)]

    def _requirements(self) -> list[Requirement]:
        return requirements_of(self.schema, self.wanted)

    def _broken(self, item: Item, key: Item) -> StoreError | None:
        """Why the changes are not possible, or would leave an item that cannot be read."""
        for requirement in self._requirements():
            broken = requirement.broken(item)
            if broken is not None:
                return ConditionFailed(f"{self.schema.entity.__name__} {described(self.schema, key)}: {broken}")
        return None

    def refusal(self, context: Context, found: Item | None, key: Item) -> StoreError | None:
        """Why the item is not as it must be; None: because what was assumed of it is out of date."""
        if found is not None and self.schema.large and is_older(self.schema, found) and lacking(found):
            # What it would be in the present shape is known when it has been read whole.
            return None
        own = None if found is None or is_of_another(self.schema, found) else self.schema.upgrade(found)
        there = living(context, self.schema, own)
        if not is_meant(self.target, there) or (there is None and not self.expected):
            return NotFound(self.schema.entity.__name__, described(self.schema, key))
        conflict = version_refusal(self.schema, there, self.expected, key)
        if conflict is not None or there is None:
            return conflict
        unexpected = self.expect.refusal(there, key)
        return unexpected or self._broken(there, key)

    def result(self, item: Item) -> Entity:
        """The entity after the write: the one that was given, brought up to date, or a new one."""
        fresh: Entity = entity_of(self.schema, item)
        entity = self.target
        if not isinstance(entity, Entity):
            return fresh
        entity.__dict__.update(fresh.__dict__)
        entity.__pydantic_fields_set__.update(fresh.__pydantic_fields_set__)
        keep_unknown_attributes(entity, unknown_attributes(fresh))
        return entity


def update(context: Context, target: E | Lookup[E], /, **changes: Any) -> Flow[E]:
    """Change some fields of an item (see ``Update``); gives the entity as it is then."""
    entity: E = yield from execute(context, Update(target, **changes))
    return entity
