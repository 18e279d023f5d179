"""What follows from which attributes of an entity: its primary key, the keys of indexes, its guards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tablewright.model import Schema


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
