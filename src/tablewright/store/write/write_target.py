"""Which item a write is for: an entity at hand, or a lookup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import Condition, all_equal
from tablewright.model import Entity, Lookup, schema_of
from tablewright.model.schema import Schema
from tablewright.store.context import Context
from tablewright.store.errors import ReadRequired
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.read.pager import begin
from tablewright.store.read.read_planner import plan_lookup
from tablewright.store.write.write_conditions import living


def pattern_of(lookup: Lookup[Any]) -> str:
    return f"{lookup.entity.__name__}.{lookup.name}"


def told(lookup: Lookup[Any]) -> str:
    """Which item is meant, in words."""
    return ", ".join(f"{name} {value}" for name, value in lookup.values.items())


def key_by(lookup: Lookup[Any]) -> Item:
    """The primary key that a lookup gives, which is not by an index."""
    return schema_of(lookup.entity).key_for(lookup.values, pattern_of(lookup))


def key_in(schema: Schema, item: Item) -> Item:
    """The primary key of a whole item."""
    try:
        return {name: item[name] for name in schema.table.key}
    except KeyError:
        # Says which fields are missing.
        return schema.key_of(item)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What follows from which attributes of an entity."""

    # The primary key.
    identity: frozenset[str]
    # Those that the primary key has all of, so that they are the same as long as it is the same item.
    fixed: frozenset[str]
    # Each key attribute of an index.
    indexes: Mapping[str, frozenset[str]]
    # The guards of unique fields.
    guards: frozenset[str]

    def affected(self, changed: frozenset[str]) -> list[str]:
        """The key attributes of indexes that follow from what is changed."""
        return [attribute for attribute, sources in self.indexes.items() if not sources.isdisjoint(changed)]


@lru_cache(maxsize=1024)
def dependencies(schema: Schema) -> Dependencies:
    key = schema.table.key
    fixed: set[str] = set()
    for attribute in key:
        rule = schema.key_rules.get(attribute)
        fixed |= {attribute} if rule is None else {part.name for part in rule.template.fields if part.reversible}
    guards = {spec.attribute for spec in schema.unique}
    if guards and schema.expiry is not None:
        guards.add(schema.expiry.attribute)
    return Dependencies(
        identity=frozenset(source for attribute in key for source in schema.sources(attribute)),
        fixed=frozenset(name for name in fixed if "." not in name),
        indexes={attribute: schema.sources(attribute) for attribute in schema.key_rules if attribute not in key},
        guards=frozenset(guards),
    )


def is_older(schema: Schema, item: Item) -> bool:
    """Whether an item has an older shape, so that it can be replaced, and not be changed in place."""
    return schema.upgrades is not None and schema.schema_version_of(item) < schema.upgrades.schema_version


def read_target(context: Context, lookup: Lookup[Any], needed: str) -> Flow[Item | None]:
    """The whole item that a lookup means, as it is now; None when it is not there, or has expired.

    An index is behind the table and may not have all attributes, so the item that it leads to is read from the table,
    and must still be the one that was looked up.
    """
    schema = schema_of(lookup.entity)
    if context.strict:
        raise ReadRequired(lookup.entity.__name__, told(lookup), needed)
    if lookup.index is None:
        key = key_by(lookup)
    else:
        items = yield from begin(context, plan_lookup(context, lookup)).take(1)
        if not items:
            return None
        key = {name: items[0][name] for name in schema.table.key}
    item = yield from read_item(context, schema, key, pattern_of(lookup))
    if item is None or lookup.index is None:
        return item
    return item if is_meant(lookup, item) else None


def read_item(context: Context, schema: Schema, key: Item, pattern: str) -> Flow[Item | None]:
    """The item under a key, as it is now; None when it is not there, or has expired."""
    body = {"TableName": context.name_of(schema.table), "Key": key, "ConsistentRead": True}
    response = yield from retrying(context, Request("GetItem", body, pattern))
    return living(context, schema, response.get("Item"))


def still_meant(target: Entity | Lookup[Any]) -> list[Condition]:
    """The condition that an item which was found by an index has still the values that were looked up."""
    if isinstance(target, Entity) or target.index is None:
        return []
    return all_equal(schema_of(target.entity).encode_values(target.values))


def is_meant(target: Entity | Lookup[Any], item: Item | None) -> bool:
    """Whether an item that was found by an index has still the values that were looked up."""
    if isinstance(target, Entity) or target.index is None:
        return True
    sought = schema_of(target.entity).encode_values(target.values)
    return item is not None and all(item.get(name) == value for name, value in sought.items())
