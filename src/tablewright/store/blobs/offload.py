"""Offloading: large values are written to a blob store, in an order in which nothing can be lost.

    blobs (durable) ──▶ item that refers to them (commit) ──▶ blobs that it referred to before (marked as orphans)

Wherever a write stops, all blobs referred to exist. A blob that nothing refers to may remain, and those are collected
(``orphan_blobs``):

* after a commit, what the item referred to before is marked, with the time: known because the write was made under the
  condition that it did. It is not deleted, as a restore of the table may bring back an item that refers to it;
* after a refusal, what was written for it is deleted, unless a response was lost, so that it may have been committed.

Both only tidy up: if they fail, the write has still succeeded, or failed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from tablewright.dynamo import AttributeValue, Item, item_size
from tablewright.dynamo.expressions.builder import Condition, UpdateActions, equals
from tablewright.dynamo.limits import MAX_ITEM_SIZE
from tablewright.model import Entity, ModelError, Schema
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.store.blobs.blob_references import (
    Blob,
    Reference,
    make_blob,
    references,
    remember,
    stored_references,
    to_offload,
    with_references,
)
from tablewright.store.blobs.blob_requests import delete_blobs, put_blobs
from tablewright.store.blobs.blob_store import blob_prefix, name_length, new_name, orphan_mark, orphaned_since
from tablewright.store.context import Context
from tablewright.store.errors import LimitExceeded, ServiceError
from tablewright.store.flow.driver import Flow, Work, relay
from tablewright.store.flow.retry import is_undone, retrying
from tablewright.store.item_description import describe_item
from tablewright.store.write.planning.item_conditions import version_condition, version_of

T = TypeVar("T")


@dataclass(slots=True)
class Placement:
    """Where the large values of an item go, and what becomes of those that it had."""

    references: dict[str, Reference]
    fresh: list[Blob] = field(default_factory=list)
    # Blobs that the item has, written once more: whatever becomes of the write, they stay.
    rewritten: list[Blob] = field(default_factory=list)
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

    def remembering(self, result_of: Callable[[Any], T], entity: Entity) -> Callable[[Any], T]:
        """The function that makes the result of a write, so that the entity then knows its references as well."""

        def remembered(response: Any) -> T:
            result = result_of(response)
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

    def place(self, schema: Schema, item: Item, before: Mapping[str, Reference], *, reuse: bool = True) -> Placement:
        """Place the values of a whole item, given those that it had; their blobs may be reused if it is the same item.

        An item that had them under another key takes them along in new blobs.
        """
        plain = with_references(item, {})
        placed = Placement({})
        for attribute in self._to_offload(schema, plain):
            known = before.get(attribute) if reuse else None
            self._put(placed, schema, item, attribute, plain[attribute], known)
        placed.item = placed.stored(plain)
        placed.superseded = self.superseded(schema, before, placed.references)
        return placed

    def place_update(self, schema: Schema, basis: Item, after: Item, actions: UpdateActions) -> Placement:
        """Place the values of an item that is updated in place, and change the actions of the update accordingly."""
        large = {spec.attribute for spec in schema.large}
        before, changed = references(basis), actions.attributes & large
        if not changed <= actions.replaced:
            names = ", ".join(schema.by_attribute[name].name for name in changed - actions.replaced)
            raise ModelError(f"{schema.entity.__name__}: {names} is Large, so it can only be set and removed")
        # What another writer has set in the item itself is valid, and not the blob.
        kept = {name: found for name, found in before.items() if name not in changed and name not in basis}
        placed = Placement(dict(kept))
        stored = with_references(after, kept)
        for attribute in self._to_offload(schema, stored):
            value = stored[attribute]
            if attribute not in changed:
                vouched = schema.version is not None
                placed.conditions.append(
                    version_condition(schema, version_of(schema, basis)) if vouched else equals(attribute, value)
                )
            actions.sets.pop(attribute, None)
            actions.removes.append(attribute)
            self._put(placed, schema, basis, attribute, value, before.get(attribute), is_set=attribute in changed)
        if placed.references != before:
            if placed.references:
                actions.sets[BLOB_REFERENCES] = stored_references(placed.references)
            else:
                actions.removes.append(BLOB_REFERENCES)
        if changed or placed.references != before:
            placed.conditions.append(equals(BLOB_REFERENCES, basis.get(BLOB_REFERENCES)))
        placed.superseded = self.superseded(schema, before, placed.references)
        return placed

    def superseded(
        self, schema: Schema, before: Mapping[str, Reference], after: Mapping[str, Reference] | None = None
    ) -> list[str]:
        """The blobs that an item had and has no longer; those of another table, which it was restored from, stay."""
        kept, own = {found.blob for found in (after or {}).values()}, blob_prefix(self._context.name_of(schema.table))
        named = [found.blob for found in before.values()]
        return [name for name in named if name not in kept and name.startswith(own)]

    def _to_offload(self, schema: Schema, item: Item) -> list[str]:
        context = self._context
        if context.blobs is None:
            if item_size(item) > MAX_ITEM_SIZE:
                fields = " and ".join(spec.name for spec in schema.large)
                raise LimitExceeded(
                    f"{schema.entity.__name__} {describe_item(schema, item)}: the item would be larger than 400 KB, "
                    f"and the store has no blob store for {fields}; give it blobs=..."
                )
            return []
        name = context.name_of(schema.table)
        return [spec.attribute for spec in to_offload(schema, item, name_length(name, schema.type_name))]

    def _put(
        self,
        placed: Placement,
        schema: Schema,
        item: Item,
        attribute: str,
        value: AttributeValue,
        known: Reference | None,
        *,
        is_set: bool = False,
    ) -> None:
        """Offload a value, unless its blob exists already.

        One that is set is written even so, to the same blob: that may be lost, and this is how it is repaired.
        """
        context = self._context
        table = context.name_of(schema.table)
        key = {name: item[name] for name in schema.table.key}
        # One of another table, which this one was restored from, is not ours to keep.
        if known is not None and known.is_of(value) and known.blob.startswith(blob_prefix(table)):
            placed.references[attribute] = known
            placed.values[known.blob] = value
            if is_set:
                placed.rewritten.append(make_blob(known.blob, table, key, attribute, value))
            return
        blob = make_blob(new_name(table, schema.type_name, context.clock()), table, key, attribute, value)
        identity = orjson.dumps([table, key, attribute, blob.reference.sha256], option=orjson.OPT_SORT_KEYS)
        # A write that is planned again has written it already.
        blob = self._made.setdefault(identity, blob)
        placed.fresh.append(blob)
        placed.references[attribute] = blob.reference
        placed.values[blob.reference.blob] = value

    # -- carrying out -------------------------------------------------------------------------------------------

    def has_work(self, placed: Sequence[Placement]) -> bool:
        """Whether there is anything to write, or to tidy up."""
        return bool(self._written or [each for each in placed if each.fresh or each.rewritten or each.superseded])

    def upload(self, placed: Collection[Placement]) -> Flow[None]:
        """Write the blobs that what was planned refers to."""
        missing = {blob.reference.blob: blob.data for each in placed for blob in each.fresh}
        contents = [(name, data) for name, data in missing.items() if name not in self._written]
        if contents:
            # First: what fails half-way has left something behind.
            self._written.update(dict.fromkeys(name for name, _ in contents))
        contents += [(blob.reference.blob, blob.data) for each in placed for blob in each.rewritten]
        if contents:
            yield from retrying(self._context, put_blobs(self._context.blob_store(), contents))

    def track_outcome(self, commit: Flow[T]) -> Flow[T]:
        """A commit, of which we want to know whether it may have happened although it is said that it has not."""

        def failed(error: ServiceError) -> None:
            self._in_doubt = self._in_doubt or not is_undone(error)

        return relay(commit, on_error=failed)

    def committed(self, placed: Sequence[Placement]) -> Flow[None]:
        """Tidy up after a commit."""
        used = {reference.blob for each in placed for reference in each.references.values()}
        superseded = [name for each in placed for name in each.superseded]
        unused = [] if self._in_doubt else [name for name in self._written if name not in used]
        # From here on, nothing that goes wrong makes it a refusal.
        self._written = {}
        yield from _mark_orphans(self._context, superseded)
        yield from _discard(self._context, unused)

    def refused(self) -> Flow[None]:
        """Tidy up after a refusal."""
        if not self._in_doubt:
            yield from _discard(self._context, list(self._written))


def _mark_orphans(context: Context, names: Sequence[str]) -> Flow[None]:
    """Say of blobs that nothing refers to them any more; those that cannot be marked now are found later."""
    if names and context.blobs is not None:
        since = orphaned_since(context.clock())
        yield from _if_possible(put_blobs(context.blobs, [(orphan_mark(name), since) for name in names]))


def _discard(context: Context, names: Sequence[str]) -> Flow[None]:
    """Delete blobs that nothing ever referred to; those that cannot be deleted now are collected later."""
    if names and context.blobs is not None:
        yield from _if_possible(delete_blobs(context.blobs, names))


def _if_possible(work: Work) -> Flow[None]:
    try:
        yield work
    except ServiceError:
        return
