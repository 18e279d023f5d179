"""The derived contents of documents: key templates, item collections, and relations between entities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tablewright.design.place_names import place_of
from tablewright.dynamo import AttributeValue
from tablewright.model import Design, Index, Keys, Schema, Table, schemas_of
from tablewright.model.keys.key_forms import Literal
from tablewright.model.keys.key_rules import KeyRule

__all__ = ["CollectionMember", "ItemCollection", "Relation", "item_collections", "key_text", "relations"]


@dataclass(frozen=True, slots=True)
class CollectionMember:
    """An entity in an item collection, and its sort key; with ``state``, only if that holds."""

    schema: Schema
    sort: str
    state: str


@dataclass(frozen=True, slots=True)
class ItemCollection:
    """The items that share a partition key, of a table or of an index."""

    table: Table
    index: Index | None
    partition: str
    members: tuple[CollectionMember, ...]

    @property
    def place(self) -> str:
        return place_of(self.table, self.index)

    @property
    def partition_name(self) -> str:
        return ", ".join((self.table.partition,) if self.index is None else self.index.partition)


@dataclass(frozen=True, slots=True)
class Relation:
    """Two entities of which one item of the first belongs to one or many of the second.

    ``by`` says how that is known: the fields that name it, or the partition that they share.
    """

    one: Schema
    other: Schema
    many: bool
    by: str


def rule_of(schema: Schema, attribute: str) -> KeyRule | None:
    """The rule of a key attribute as it was declared, in terms of fields."""
    declared: Keys | None = getattr(schema.entity, "keys", None)
    return None if declared is None else declared.get(attribute)


def key_text(schema: Schema, attribute: str) -> str:
    """What a key attribute is made of: its template, with its shards, or the field that it is."""
    rule = rule_of(schema, attribute)
    if rule is not None:
        shards = "" if rule.shards == 1 else f"{rule.shard_suffix(0)}…{rule.shards - 1}"
        return rule.text + shards
    spec = schema.by_attribute.get(attribute)
    return attribute if spec is None else f"{{{spec.name}}}"


def state_text(schema: Schema, attribute: str) -> str:
    """When a key attribute exists, if not always: ``status is ESCALATED and engineer is there``."""
    rule = rule_of(schema, attribute)
    states_text = []
    if rule is not None and rule.is_partial:
        cases = [
            " and ".join(f"{name} is {' or '.join(map(_shown, allowed))}" for name, allowed in case.when.items())
            for case in rule.cases
        ]
        states_text.append(" or ".join(dict.fromkeys(cases)))
    stored = schema.key_rules.get(attribute)
    for path in [attribute] if stored is None else sorted(stored.required):
        spec = schema.by_attribute.get(path.partition(".")[0])
        # The store sees to its stamps.
        if spec is not None and "NULL" in spec.types and spec not in (schema.created, schema.updated):
            states_text.append(f"{schema.field_path(path)} is set")
    return " and ".join(states_text)


def _shown(value: AttributeValue | None) -> str:
    return "absent" if value is None else str(*value.values())


def item_collections(design: Design) -> Iterator[ItemCollection]:
    """The collections of every table, then those of its indexes, in the order of declaration."""
    for table in design.tables:
        for index in (None, *table.indexes):
            partition = (table.partition,) if index is None else index.partition
            sort = table.key[1:] if index is None else index.sort
            found: dict[str, list[CollectionMember]] = {}
            for schema in schemas_of(table):
                if index is not None and not schema.covers(index):
                    continue
                text = ", ".join(key_text(schema, name) for name in partition)
                sorts = ", ".join(key_text(schema, name) for name in sort)
                states = dict.fromkeys(state_text(schema, name) for name in (*partition, *sort))
                found.setdefault(text, []).append(CollectionMember(schema, sorts, " and ".join(filter(None, states))))
            for text, members in found.items():
                yield ItemCollection(table, index, text, tuple(members))


def relations(design: Design) -> list[Relation]:
    """What belongs to what: by fields of the same name, by keys of the same form, or by a shared partition."""
    # Of entities that are named alike, such as a program and the lease on it, others belong to the first.
    first: dict[frozenset[str], Schema] = {}
    for schema in design.schemas:
        first.setdefault(schema.identity_fields, schema)
    every = (*_by_partition(design), *_by_key(design), *_by_name(design))
    found = {(each.one, each.other): each for each in every if first[each.one.identity_fields] is each.one}
    return [each for each in found.values() if not _is_indirect(each, list(found.values()))]


def _by_partition(design: Design) -> Iterator[Relation]:
    """Entities in one item collection: they belong to the one that there is one item of."""
    for collection in item_collections(design):
        if collection.index is not None or len(collection.members) < 2:
            continue
        single = next((member for member in collection.members if _is_single(member.schema)), None)
        first = single or collection.members[0]
        for member in collection.members:
            if member is not first:
                yield Relation(first.schema, member.schema, not _is_single(member.schema), collection.partition)


def _by_name(design: Design) -> Iterator[Relation]:
    """An entity that has all the fields that name another one."""
    schemas = list(design.schemas)
    for position, one in enumerate(schemas):
        names = one.identity_fields
        if not names or not names <= one.fields.keys():
            continue
        for number, other in enumerate(schemas):
            same = other.identity_fields == names
            # Of two that are named alike, the first is the one that the other belongs to.
            if other is not one and names <= other.fields.keys() and not (same and number < position):
                yield Relation(one, other, not same, ", ".join(sorted(names)))


def _by_key(design: Design) -> Iterator[Relation]:
    """An entity with a key of the same form as the primary key of another one, made of other fields."""
    for one in design.schemas:
        rule = one.key_rules.get(one.table.partition)
        if rule is None or not rule.fields or not (one.table.sort is None or _is_single(one)):
            continue
        for other in design.schemas:
            for attribute, own in other.key_rules.items():
                names = [other.field_path(part.name) for part in own.fields]
                if other is not one and _form(own) == _form(rule) and not one.identity_fields.issuperset(names):
                    is_key = attribute == other.table.partition and (other.table.sort is None or _is_single(other))
                    yield Relation(one, other, not is_key, ", ".join(names))


def _form(rule: KeyRule) -> tuple[str, ...]:
    """A template without the names of its fields; literal text alone says nothing."""
    parts = rule.template.parts + rule.template.optional
    texts = tuple(part.text if isinstance(part, Literal) else f"{{{part.form}}}" for part in parts)
    return texts if any(isinstance(part, Literal) for part in parts) and rule.template.fields else (rule.template.text,)


def _is_indirect(relation: Relation, known: Sequence[Relation]) -> bool:
    """Whether there is an entity between the two: a program, its run, and what belongs to the run."""
    one, other = relation.one.identity_fields, relation.other.identity_fields
    return any(
        first.one is relation.one
        and second.other is relation.other
        and first.other is second.one
        and one < first.other.identity_fields <= other
        and first.other is not relation.other
        for first in known
        for second in known
    )


def _is_single(schema: Schema) -> bool:
    sort = schema.table.sort
    rule = None if sort is None else schema.key_rules.get(sort)
    return rule is not None and not rule.fields
