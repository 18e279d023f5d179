"""Large values, written and read: in an order in which nothing can get lost.

    write       blobs (durable) ──▶ item that refers to them (commit) ──▶ blobs that it referred to before (deleted)
    read        item ──▶ blobs that it refers to; one that is not there was superseded, so the item is read again

Wherever a write stops, what is referred to is there. What may remain is a blob that nothing refers to, and those are
collected (``orphans``). A blob is deleted only by who knows that nothing refers to it, and that nothing will:

* after a commit, what the item referred to before: known because the write was made under the condition that it did;
* after a refusal, what was written for it, unless an answer got lost on the way, so that it may have been committed.

Both are for tidiness: if they fail, the write has succeeded, or failed, all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from tablewright.dynamo import AttributeValue, Item, item_size
from tablewright.dynamo.expressions.builder import Condition, UpdateActions, equals
from tablewright.model import Entity, ModelError, Schema, Table, schema_of, schemas_of
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.model.items.item_decoding import unknown_attributes
from tablewright.model.values.attribute_codec import decode
from tablewright.store.blobs.blob_references import (
    Blob,
    Reference,
    lacking,
    made,
    references,
    remember,
    stored_references,
    to_go,
    value_in,
    with_references,
)
from tablewright.store.blobs.blob_requests import delete_blobs, get_blobs, put_blobs
from tablewright.store.blobs.blob_store import BlobStore, name_length, new_name
from tablewright.store.context import Context
from tablewright.store.errors import BlobLost, Conflict, LimitExceeded, ServiceError, StoreError
from tablewright.store.flow.driver import Flow
from tablewright.store.flow.retry import is_undone, retrying
from tablewright.store.item_description import describe_item
from tablewright.store.read.batch_get import batch_get
from tablewright.store.read.visibility import is_visible
from tablewright.store.write.planning.item_conditions import has_version, version_of

T = TypeVar("T")

# How often an item is read again because what it referred to has been superseded.
_ATTEMPTS = 8
_MOST_OF_ITEM = 400 * 1024

# Values by the blob that they are in, as far as they are at hand.
Values = Mapping[str, AttributeValue]


@dataclass(slots=True)
class Placement:
    """Where the large values of an item go, and what becomes of those that it had."""

    references: dict[str, Reference]
    fresh: list[Blob] = field(default_factory=list)
    superseded: list[str] = field(default_factory=list)
    # The item as it is to be stored; an update in place has none.
    item: Item = field(default_factory=dict)
    # What has to hold of the stored item for all that.
    conditions: list[Condition] = field(default_factory=list)
    values: dict[str, AttributeValue] = field(default_factory=dict)

    def stored(self, item: Item) -> Item:
        """What is stored of an item after all."""
        if not self.references:
            return with_references(item, {})
        return with_references({n: v for n, v in item.items() if n not in self.references}, self.references)

    def whole(self, item: Item) -> Item:
        """An item that has its values as well as the references to them, so that its entity knows of both."""
        return with_references(item, self.references)

    def done(self, written: Callable[[Any], T], entity: Entity) -> Callable[[Any], T]:
        """What is to be done after the write of a whole entity, which is then to know what of it is outside."""

        def remembered(response: Any) -> T:
            result = written(response)
            remember(entity, self.references)
            return result

        return remembered


class Offload:
    """The large values of the items that one write is about, through all its attempts."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._made: dict[bytes, Blob] = {}
        self._written: dict[str, None] = {}
        self._in_doubt = False

    # -- planning -----------------------------------------------------------------------------------------------

    def place(self, schema: Schema, item: Item, before: Mapping[str, Reference], *, same: bool = True) -> Placement:
        """Place the values of a whole item, given those that it had; it may have them still if it is the ``same`` item.

        An item that had them under another key takes them along in new blobs.
        """
        plain = with_references(item, {})
        placed = Placement({})
        for attribute in self._going(schema, plain):
            known = before.get(attribute) if same else None
            self._put(placed, schema, item, attribute, plain[attribute], known)
        placed.item = placed.stored(plain)
        placed.superseded = _superseded(before, placed.references)
        return placed

    def place_update(self, schema: Schema, basis: Item, after: Item, actions: UpdateActions) -> Placement:
        """Place the values of an item that is updated in place, and change the actions of the update accordingly."""
        large = {spec.attribute for spec in schema.large}
        before, changed = references(basis), actions.attributes & large
        if not changed <= actions.replaced:
            names = ", ".join(schema.by_attribute[name].name for name in changed - actions.replaced)
            raise ModelError(f"{schema.entity.__name__}: {names} is Large, so it can only be set and removed")
        # What another writer has set in the item itself is there, and not outside.
        kept = {name: found for name, found in before.items() if name not in changed and name not in basis}
        placed = Placement(dict(kept))
        stored = with_references(after, kept)
        for attribute in self._going(schema, stored):
            value = stored[attribute]
            if attribute not in changed:
                vouched = schema.version is not None
                placed.conditions.append(
                    has_version(schema, version_of(schema, basis)) if vouched else equals(attribute, value)
                )
            actions.sets.pop(attribute, None)
            actions.removes.append(attribute)
            self._put(placed, schema, basis, attribute, value, before.get(attribute))
        if placed.references != before:
            if placed.references:
                actions.sets[BLOB_REFERENCES] = stored_references(placed.references)
            else:
                actions.removes.append(BLOB_REFERENCES)
        if changed or placed.references != before:
            placed.conditions.append(equals(BLOB_REFERENCES, basis.get(BLOB_REFERENCES)))
        placed.superseded = _superseded(before, placed.references)
        return placed

    def _going(self, schema: Schema, item: Item) -> list[str]:
        context = self._context
        if context.blobs is None:
            if item_size(item) > _MOST_OF_ITEM:
                fields = " and ".join(spec.name for spec in schema.large)
                raise LimitExceeded(
                    f"{schema.entity.__name__} {describe_item(schema, item)}: the item would be larger than 400 KB, "
                    f"and the store has no blob store for {fields}; give it blobs=..."
                )
            return []
        name = context.name_of(schema.table)
        return [spec.attribute for spec in to_go(schema, item, name_length(name, schema.type_name))]

    def _put(
        self,
        placed: Placement,
        schema: Schema,
        item: Item,
        attribute: str,
        value: AttributeValue,
        known: Reference | None,
    ) -> None:
        """Send a value outside, unless it is there already."""
        if known is not None and known.is_of(value):
            placed.references[attribute] = known
            placed.values[known.blob] = value
            return
        context = self._context
        key = {name: item[name] for name in schema.table.key}
        table = context.name_of(schema.table)
        blob = made(new_name(table, schema.type_name, context.clock()), table, key, attribute, value)
        identity = orjson.dumps([table, key, attribute, blob.reference.sha256], option=orjson.OPT_SORT_KEYS)
        # A write that is planned again has written it already.
        blob = self._made.setdefault(identity, blob)
        placed.fresh.append(blob)
        placed.references[attribute] = blob.reference
        placed.values[blob.reference.blob] = value

    # -- carrying out -------------------------------------------------------------------------------------------

    def is_concerned(self, placed: Sequence[Placement]) -> bool:
        """Whether there is anything to write, or to tidy up."""
        return bool(self._written) or any(each.fresh or each.superseded for each in placed)

    def upload(self, placed: Iterable[Placement]) -> Flow[None]:
        """Write the blobs that what was planned refers to."""
        missing = {blob.reference.blob: blob.data for each in placed for blob in each.fresh}
        contents = [(name, data) for name, data in missing.items() if name not in self._written]
        if contents:
            # First: what fails half-way has left something behind.
            self._written.update(dict.fromkeys(name for name, _ in contents))
            yield from retrying(self._context, put_blobs(_blobs(self._context), contents))

    def watched(self, commit: Flow[T]) -> Flow[T]:
        """A commit, of which we want to know whether it may have happened although it is said that it has not."""
        try:
            step = next(commit)
            while True:
                try:
                    answer = yield step
                except ServiceError as error:
                    self._in_doubt = self._in_doubt or not is_undone(error)
                    step = commit.throw(error)
                else:
                    step = commit.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    def committed(self, placed: Sequence[Placement]) -> Flow[None]:
        """Tidy up after a commit."""
        used = {reference.blob for each in placed for reference in each.references.values()}
        superseded = [name for each in placed for name in each.superseded]
        unused = [] if self._in_doubt else [name for name in self._written if name not in used]
        # From here on, nothing that goes wrong makes it a refusal.
        self._written = {}
        yield from discard(self._context, [*superseded, *unused])

    def refused(self) -> Flow[None]:
        """Tidy up after a refusal."""
        if not self._in_doubt:
            yield from discard(self._context, list(self._written))


def _superseded(before: Mapping[str, Reference], after: Mapping[str, Reference]) -> list[str]:
    kept = {reference.blob for reference in after.values()}
    return [reference.blob for reference in before.values() if reference.blob not in kept]


def discard(context: Context, names: Sequence[str]) -> Flow[None]:
    """Delete blobs that nothing refers to; those that cannot be deleted now are collected later."""
    if names and context.blobs is not None:
        try:
            yield delete_blobs(context.blobs, names)
        except ServiceError:
            return


def _blobs(context: Context) -> BlobStore:
    if context.blobs is None:
        raise StoreError("a value is kept outside of its item, and the store does not know where; give it blobs=...")
    return context.blobs


# -- reading --------------------------------------------------------------------------------------------------------


def at_hand(entity: Entity) -> Values:
    """The values that an entity has of those that are outside, as far as they are what is there."""
    schema, found = schema_of(type(entity)), {}
    for attribute, reference in references(unknown_attributes(entity)).items():
        spec = schema.by_attribute.get(attribute)
        if spec is not None and spec.name in entity.__dict__:
            value = spec.encode(entity.__dict__[spec.name])
            if value is not None and reference.is_of(value):
                found[reference.blob] = value
    return found


def loaded(
    context: Context, table: Table, items: Sequence[Item], values: Values | None = None
) -> Flow[list[Item | None]]:
    """Items with the values that are outside; as they are now where they have changed, None where they are gone."""
    result: list[Item | None] = list(items)
    waiting = {number: item for number, item in enumerate(items) if lacking(item)}
    known = dict(values or {})
    for _ in range(_ATTEMPTS):
        if not waiting:
            return result
        wanted = {found.blob: found for item in waiting.values() for found in lacking(item).values()}
        known |= yield from _read(context, [name for name in wanted if name not in known])
        superseded = {}
        for number, item in waiting.items():
            filled = _filled(table, item, known)
            if filled is None:
                superseded[number] = item
            result[number] = filled
        waiting = yield from _again(context, table, superseded, known, result)
    raise Conflict(f"{table.name}: others keep changing what is read")


def still_shown(
    context: Context, schemas: Sequence[Schema], items: Sequence[Item], key: Sequence[str]
) -> Flow[list[Item | None]]:
    """Items that a read has found, with the values that are outside.

    None for those that have changed meanwhile and are not what was asked for any more: they are gone, have expired, or
    are elsewhere by the attributes of a key.
    """
    found = yield from loaded(context, schemas[0].table, items)
    now = context.clock()

    def is_shown(before: Item, item: Item) -> bool:
        if references(item) == references(before):
            return True
        in_place = all(item.get(name) == before.get(name) for name in key)
        return in_place and any(is_visible(schema, item, now) for schema in schemas)

    pairs = zip(items, found, strict=True)
    return [item if item is not None and is_shown(before, item) else None for before, item in pairs]


def whole_if_older(context: Context, schema: Schema, item: Item | None) -> Flow[Item | None]:
    """An item with all its values if it has an older shape, as its upgrade may look at them; else as it is."""
    if (
        item is None
        or schema.upgrades is None
        or schema.schema_version_of(item) == schema.upgrades.schema_version
        or not lacking(item)
    ):
        return item
    (whole,) = yield from loaded(context, schema.table, [item])
    if whole is None:
        raise Conflict(f"{schema.entity.__name__} {describe_item(schema, item)}: others keep changing the item")
    return whole


def _read(context: Context, names: Sequence[str]) -> Flow[dict[str, Any]]:
    if not names:
        return {}
    response = yield from retrying(context, get_blobs(_blobs(context), names))
    return {name: data for name, data in zip(names, response["Blobs"], strict=True) if data is not None}


def _filled(table: Table, item: Item, known: Mapping[str, Any]) -> Item | None:
    """An item with its values; None if a blob of them is not there."""
    filled = dict(item)
    for attribute, reference in lacking(item).items():
        found = known.get(reference.blob)
        if found is None:
            return None
        value = value_in(found, reference) if isinstance(found, bytes) else found
        if value is None:
            raise _lost(table, item, attribute, reference, "does not hold what was written")
        filled[attribute] = value
    return filled


def _again(
    context: Context,
    table: Table,
    superseded: Mapping[int, Item],
    known: Mapping[str, Any],
    result: list[Item | None],
) -> Flow[dict[int, Item]]:
    """Read items again that refer to something else by now; those that are to be filled once more."""
    if not superseded:
        return {}
    name = context.name_of(table)
    addresses = [(name, {part: item[part] for part in table.key}) for item in superseded.values()]
    items = yield from batch_get(context, addresses, f"{table.name}.outside", consistent=True)
    waiting = {}
    for (number, before), now in zip(superseded.items(), items, strict=True):
        result[number] = now
        if now is None or not lacking(now):
            continue
        missing = lacking(before)
        for attribute, reference in lacking(now).items():
            if reference.blob not in known and missing.get(attribute) == reference:
                raise _lost(table, now, attribute, reference, f"is not in {_blobs(context)!r}")
        waiting[number] = now
    return waiting


def _lost(table: Table, item: Item, attribute: str, reference: Reference, reason: str) -> BlobLost:
    schema = next((schema for schema in schemas_of(table) if schema.matches(item)), None)
    if schema is None:
        return BlobLost(table.name, "", attribute, reference.blob, reason)
    return BlobLost(
        schema.entity.__name__, describe_item(schema, item), schema.field_path(attribute), reference.blob, reason
    )


def load(context: Context, entity: Entity) -> Flow[None]:
    """Give an entity the large values that it lacks because nobody read them, as the changes of a stream do."""
    schema = schema_of(type(entity))
    known = references(unknown_attributes(entity))
    lacked = {
        attribute: reference
        for attribute, reference in known.items()
        if attribute in schema.by_attribute and schema.by_attribute[attribute].name not in entity.__dict__
    }
    contents = yield from _read(context, [reference.blob for reference in lacked.values()])
    name = schema.entity.__name__
    for attribute, reference in lacked.items():
        field_name = schema.by_attribute[attribute].name
        data = contents.get(reference.blob)
        reason = "is no longer there: the item has been changed or deleted since"
        value = None if data is None else value_in(data, reference)
        if value is None:
            reason = reason if data is None else "does not hold what was written"
            raise BlobLost(name, _told(schema, entity), field_name, reference.blob, reason)
        schema.entity.__pydantic_validator__.validate_assignment(entity, field_name, decode(value))


def _told(schema: Schema, entity: Entity) -> str:
    """Which item an entity is of that was read in part."""
    values = {name: value for name, value in entity.__dict__.items() if name in schema.fields and value is not None}
    return describe_item(schema, schema.key_of(schema.encode_values(values)))
