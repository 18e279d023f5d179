"""Items of retired entities, replaced by what they become: one old item by several, or by one under another key.

    item ──▶ which form? ──▶ RetiredEntity.becomes() ──▶ one transaction: the old item goes, its successors come

An item has a retired form if the present model does not account for it: no entity matches it, or the one that does
lacks an attribute of the retired form, or cannot read it. So migrated items already differ from the others, and a pass
that was killed is simply run again.

The old item is deleted, or replaced by the successor that has its key, on condition that it is still what the
successors were made of. What does not fit into a transaction is created in parts, each while the old item is unchanged,
and the old item goes last; successors that a killed pass has created are recognised by their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import all_equal
from tablewright.model import Entity, ModelError, Schema, Table, retired_schemas_of, schema_of, schemas_of
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.model.items.item_decoding import keep_unknown_attributes, unknown_attributes
from tablewright.store.blobs.blob_loading import load_blobs
from tablewright.store.blobs.blob_references import missing_references, references, without_blob_values
from tablewright.store.blobs.offload import Offload, Placement
from tablewright.store.errors import (
    AlreadyExists,
    BlobLost,
    Cancelled,
    ConditionFailed,
    Conflict,
    LimitExceeded,
    NotFound,
    NotUnique,
    StoreError,
    Unreadable,
)
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import backoff, retrying
from tablewright.store.item_description import describe_item
from tablewright.store.maintenance.findings import Fault, Finding, Remedy
from tablewright.store.maintenance.repair_pass import MAX_REPAIR_ATTEMPTS, Changed, RepairPass
from tablewright.store.read.batch_get import batch_get
from tablewright.store.read.entity_decoding import entity_of
from tablewright.store.write.planning.executor import execute_all
from tablewright.store.write.planning.operation import Attempt, Operation, Planned, Planning, WritePlan, action
from tablewright.store.write.planning.preconditions import Precondition
from tablewright.store.write.planning.write_target import key_in
from tablewright.store.write.put import Create, managed_values, number_draws, whole_item_plan
from tablewright.store.write.upkeep import upkeep_changes

__all__ = ["replace_retired", "retired_form"]

# Of successors that do not fit into one transaction: each may have guards and sequences, too.
_PART = 25
# Decisions for a person: the pass continues with the next item.
_LEFT = (AlreadyExists, ConditionFailed, Conflict, LimitExceeded, NotFound, NotUnique)


# -- which items ----------------------------------------------------------------------------------------------------


def retired_form(target: Table | type[Entity], item: Item) -> Schema | None:
    """The retired entity that an item is of, among those that a pass is about."""
    table = target if isinstance(target, Table) else schema_of(target).table
    return next(
        (schema for schema in _forms(target) if schema.matches(item) and not _is_current(table, schema, item)), None
    )


def _forms(target: Table | type[Entity]) -> Iterator[Schema]:
    """The retired entities of a table; or the one that was given, or those that become the given one."""
    table = target if isinstance(target, Table) else schema_of(target).table
    for schema in retired_schemas_of(table):
        if isinstance(target, Table) or issubclass(schema.entity, target):
            yield schema


def _is_current(table: Table, form: Schema, item: Item) -> bool:
    """Whether the present model accounts for an item of a retired form."""
    schema = next((schema for schema in schemas_of(table) if schema.matches(item)), None)
    if (
        schema is None
        or (form.by_attribute.keys() & item.keys()) - schema.by_attribute.keys() - schema.key_rules.keys()
    ):
        return False
    return _is_readable(schema, item) or not _is_readable(form, item)


def _is_readable(schema: Schema, item: Item) -> bool:
    try:
        entity_of(schema, item)
    except Unreadable:
        return False
    return True


# -- what becomes of them -------------------------------------------------------------------------------------------


def replace_retired(repair_pass: RepairPass, form: Schema, item: Item) -> Flow[list[tuple[Schema, Item]]]:
    """Report an item of a retired entity, and replace it by its successors: those that the table has then."""
    finding = Finding(Fault.RETIRED, form.entity.__name__, describe_item(form, item), "", None, "the retired form")
    for attempt in range(1, MAX_REPAIR_ATTEMPTS + 1):
        try:
            whole = item
            if missing_references(item):
                (loaded,) = yield from load_blobs(repair_pass.context, repair_pass.table, [item])
                whole = item if loaded is None else loaded
            successors = _successors(form, whole)
        except (BlobLost, Unreadable, ModelError) as error:
            repair_pass.report([replace(finding, found=str(error))], Remedy.LEFT)
            return []
        finding = replace(finding, expected=_described(successors))
        if not repair_pass.repairs:
            repair_pass.report([finding], Remedy.FOUND)
            return []
        try:
            yield from _Replacement(repair_pass, form, without_blob_values(whole), whole, successors).run()
        except Changed:
            yield backoff(repair_pass.context, attempt)
            body = {**repair_pass.at(repair_pass.key(item)), "ConsistentRead": True}
            response = yield from retrying(repair_pass.context, Request("GetItem", body, "repair"))
            if "Item" not in response or retired_form(repair_pass.target, response["Item"]) is not form:
                return []
            item = response["Item"]
        except _LEFT as error:
            repair_pass.report([replace(finding, found=str(error))], Remedy.LEFT)
            return []
        else:
            repair_pass.report([finding], Remedy.REPAIRED)
            made = [(schema_of(type(each)), each) for each in successors if isinstance(each, Entity)]
            return [(schema, schema.encode(each)) for schema, each in made if schema.table is repair_pass.table]
    repair_pass.report([finding], Remedy.BUSY)
    return []


def _successors(form: Schema, item: Item) -> list[Entity | Operation]:
    """What an item becomes; attributes of other writers stay with the first entity."""
    old = entity_of(form, item)
    name = form.entity.__name__
    try:
        found = list(old.becomes())
    except ValidationError as error:
        # Not pydantic's own message, which shows the stored values.
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise ModelError(f"{name}.becomes: {error.title}.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except Exception as error:
        raise ModelError(f"{name}.becomes failed: {type(error).__name__}: {error}") from error
    for each in found:
        if not isinstance(each, Entity | Operation) or getattr(each, "is_retired_", False):
            raise ModelError(f"{name}.becomes yields {type(each).__name__}; yield entities, or operations of the store")
    first_entity = next((each for each in found if isinstance(each, Entity)), None)
    if first_entity is not None:
        table = schema_of(type(first_entity)).table
        own = {*form.table.key_attributes, *table.key_attributes, form.table.type_attribute, BLOB_REFERENCES}
        kept = {name: value for name, value in unknown_attributes(old).items() if name not in own}
        keep_unknown_attributes(first_entity, {**kept, **unknown_attributes(first_entity)})
    return found


def _described(successors: Sequence[Entity | Operation]) -> str:
    texts = []
    for each in successors:
        if isinstance(each, Entity):
            schema = schema_of(type(each))
            texts.append(f"{schema.entity.__name__} {describe_item(schema, schema.encode(each))}")
        else:
            texts.append(each.pattern)
    return "; ".join(texts) or "no item"


@dataclass(slots=True)
class _Replacement:
    """The replacement of one item by its successors."""

    repair_pass: RepairPass
    form: Schema
    # The item as it is stored, and with its large values.
    stored: Item
    whole: Item
    successors: Sequence[Entity | Operation]

    def run(self) -> Flow[None]:
        creations = [Create(each) for each in self._entities if each is not self._in_place]
        changes = [each for each in self.successors if isinstance(each, Operation)]
        try:
            yield from self._commit([self._removal, *creations, *changes])
        except LimitExceeded:
            if len(creations) <= 1:
                raise
            yield from self._create_in_parts(creations)
            yield from self._commit([self._removal, *changes])

    def _create_in_parts(self, creations: Sequence[Create]) -> Flow[None]:
        context = self.repair_pass.context
        for start in range(0, len(creations), _PART):
            part = creations[start : start + _PART]
            items = [each.schema.encode(each.entity) for each in part]
            addresses = [
                (context.name_of(each.schema.table), key_in(each.schema, item))
                for each, item in zip(part, items, strict=True)
            ]
            found = yield from batch_get(context, addresses, "repair", consistent=True)
            new = [
                each
                for each, item, there in zip(part, items, found, strict=True)
                if there is None or not _is_same(each.schema, item, there)
            ]
            check = action("ConditionCheck", self.repair_pass.at(self._key), self._unchanged)
            yield from self._commit([Planned(self.form, "repair", WritePlan([check])), *new])

    @property
    def _key(self) -> Item:
        return self.repair_pass.key(self.stored)

    @property
    def _entities(self) -> list[Entity]:
        return [each for each in self.successors if isinstance(each, Entity)]

    @property
    def _in_place(self) -> Entity | None:
        """The successor that has the key of the old item."""
        for each in self._entities:
            schema = schema_of(type(each))
            if schema.table is self.form.table and key_in(schema, schema.encode(each)) == self._key:
                return each
        return None

    @property
    def _unchanged(self) -> list[Precondition]:
        # Not by the version alone: an entity of the present model that has none may have changed the item.
        names = dict.fromkeys([*self.form.by_attribute, *self.stored])
        assumed = {name: self.stored.get(name) for name in names if name not in self.form.table.key}
        return self.repair_pass.unchanged(*all_equal(assumed))

    @property
    def _removal(self) -> Operation:
        """The operation that takes the old item away."""
        if self._in_place is not None:
            entity = self._in_place
            return _InPlace(schema_of(type(entity)), entity, self.form, self.whole, self._unchanged)
        placement = None
        if self.form.large:
            offload = Offload(self.repair_pass.context)
            placement = Placement({}, superseded=offload.superseded(self.form, references(self.stored)))
        guards = upkeep_changes(self.form, self.form.upgrade(self.whole), self._key, None, self._key)
        delete = action("Delete", self.repair_pass.at(self._key), self._unchanged)
        return Planned(self.form, "repair", WritePlan([delete], guards, placement=placement))

    def _commit(self, operations: Sequence[Operation]) -> Flow[None]:
        try:
            yield from execute_all(self.repair_pass.context, operations, f"{self.form.entity.__name__}.repair")
        except Cancelled as cancelled:
            reasons: list[StoreError] = [reason for reason in cancelled.reasons if reason is not None]
            # Whatever else is in the way may be so only because of the change.
            raise next((reason for reason in reasons if isinstance(reason, Changed)), reasons[0]) from None


@dataclass(frozen=True, slots=True, eq=False)
class _InPlace(Operation):
    """The successor that has the key of the old item, put in its place."""

    schema: Schema
    entity: Entity
    form: Schema
    before: Item
    unchanged: Sequence[Precondition]
    name = "repair"

    def plan(self, attempt: Attempt) -> Planning:
        schema, entity = self.schema, self.entity
        numbers = (yield number_draws(schema, entity)) if schema.numbered else {}
        values = managed_values(attempt.context, schema, entity, numbers)
        item = schema.encode(entity, values)
        key = key_in(schema, item)
        placement = None
        if schema.large or self.form.large:
            placement = attempt.offload.place(schema, item, references(self.before))
            item = placement.item
        body = {"TableName": attempt.context.name_of(schema.table), "Item": item}
        guards = [
            *upkeep_changes(self.form, self.form.upgrade(self.before), key, None, key),
            *upkeep_changes(schema, None, key, item, key),
        ]
        return whole_item_plan(action("Put", body, self.unchanged), guards, entity, values, placement)


def _is_same(schema: Schema, item: Item, there: Item) -> bool:
    """Whether an item has been created already, apart from what the store sets."""
    managed = [schema.version, schema.created, schema.updated, schema.expiry, *schema.numbered, *schema.large]
    names = schema.by_attribute.keys() - {spec.attribute for spec in managed if spec is not None}
    return all(item.get(name) == there.get(name) for name in names)
