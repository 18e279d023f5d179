"""What follows from which attributes of an entity: its primary key, the keys of indexes, its guards.

Both what follows in general and what the actions of an update have an impact on are worked out once, and kept: programs
make few kinds of updates, and many of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tablewright.dynamo.expressions.builder import UpdateActions, attribute_of
from tablewright.model import Schema
from tablewright.model.derived.counters import Counter
from tablewright.store.write.sequence import counted_attributes


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What follows from which attributes of an entity."""

    # The primary key.
    identity: frozenset[str]
    # Those that the primary key has all of, so that they are the same as long as it is the same item.
    fixed: frozenset[str]
    # Each key attribute of an index.
    indexes: Mapping[str, frozenset[str]]
    # The guards of unique fields, and the counters that transactions keep.
    guards: frozenset[str]
    # Those of indexes' keys that have a default, which a missing attribute stands for.
    defaults: tuple[str, ...]

    def affected(self, changed: frozenset[str]) -> list[str]:
        """The key attributes of indexes that follow from what is changed."""
        return [attribute for attribute, sources in self.indexes.items() if not sources.isdisjoint(changed)]


def dependencies(schema: Schema) -> Dependencies:
    """What follows from which attributes of an entity; a counter of it may be declared at any time."""
    return _dependencies(schema, schema.counters)


@lru_cache(maxsize=1024)
def _dependencies(schema: Schema, counters: tuple[Counter, ...]) -> Dependencies:
    key = schema.table.key
    fixed: set[str] = set()
    for attribute in key:
        rule = schema.key_rules.get(attribute)
        fixed |= {attribute} if rule is None else {part.name for part in rule.fields if part.reversible}
    fixed_names = frozenset(name for name in fixed if "." not in name)
    guards = set(schema.guarded_attributes)
    if guards and schema.expiry is not None:
        guards.add(schema.expiry.attribute)
    for counter in counters:
        if counter.kept_by == "transaction":
            guards |= counter.sources
    return Dependencies(
        identity=frozenset(source for attribute in key for source in schema.sources(attribute)),
        fixed=fixed_names,
        indexes={attribute: schema.sources(attribute) for attribute in schema.key_rules if attribute not in key},
        guards=frozenset(guards),
        defaults=tuple(name for name in schema.key_defaults if name not in fixed_names),
    )


@dataclass(frozen=True, slots=True)
class Impact:
    """What the actions of an update have an impact on."""

    # The attributes that the actions change, in whole or in part, and the key attributes of indexes that follow.
    changed: frozenset[str]
    affected: list[str]
    # The attributes whose present value has to be known, and is not known from the key.
    needed: frozenset[str]


def impact_of(schema: Schema, actions: UpdateActions, *, has_model_validators: bool) -> Impact:
    """The impact of actions; validators of a whole model have to see all of the item."""
    in_part = (*actions.adds, *actions.appends, *actions.deletes, *actions.computed)
    operands = tuple(actions.operands) if actions.computed else ()
    replaced = (*actions.sets, *actions.removes)
    return _impact(schema, schema.counters, replaced, in_part, operands, has_model_validators)


@lru_cache(maxsize=4096)
def _impact(
    schema: Schema,
    counters: tuple[Counter, ...],
    replaced: tuple[str, ...],
    in_part: tuple[str, ...],
    operands: tuple[str, ...],
    has_model_validators: bool,
) -> Impact:
    """``operands`` are the attributes that values are computed from, which have to be known if a key follows."""
    follow = _dependencies(schema, counters)
    changed = frozenset(map(attribute_of, (*replaced, *in_part)))
    affected = follow.affected(changed)
    sources: set[str] = set()
    for attribute in affected:
        sources |= follow.indexes[attribute]
    sources.difference_update(replaced)
    if follow.guards & changed:
        sources |= follow.guards
    if affected or follow.guards & changed or follow.identity & changed:
        sources.update(operands)
    if schema.numbered and not changed.isdisjoint(counted := counted_attributes(schema)):
        sources |= counted
    if has_model_validators:
        whole = schema.by_attribute if schema.version is None else [schema.version.attribute]
        sources |= set(whole).difference(replaced)
    return Impact(changed, affected, frozenset(sources - follow.fixed))
