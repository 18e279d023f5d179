"""Rules about access patterns: reads that no key supports, in the wrong order, or at a high cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import combinations

from tablewright.design.filter_fields import has_filter, restrictions
from tablewright.design.lint.composed_key_rules import share_partitions
from tablewright.design.lint.lint_context import EntityKey, LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule
from tablewright.design.lint.repair_code import (
    declared_template,
    field_code,
    free_index_name,
    free_key_attributes,
    group_code,
    identity_template,
    index_code,
    keys_code,
    labelled_template,
)
from tablewright.model import GlobalIndex, Index, Query, Schema, Table, schemas_of
from tablewright.model.keys.key_forms import Literal


@rule("no-key", "A required read that no key supports", "error")
def no_key(context: LintContext) -> Iterator[Occurrence]:
    """A read without a partition key is a scan of the whole table."""
    for need in context.design.required_reads:
        schema = need.entity.schema_
        keys = [(key, context.fields_of(schema, key.partition)) for key in context.keys(schema)]
        serving = [
            key
            for key, fields in keys
            # A constant partition key supports it only if what is known comes first in the sort key.
            if set(fields) <= set(need.by) and (fields or set(context.fields_of(schema, key.sort)[:1]) & set(need.by))
        ]
        if not serving:
            known = "; ".join(f"{key.place} by {', '.join(fields)}" for key, fields in keys)
            yield Occurrence(
                need.name,
                f"{need.name!r} reads {need.entity.__name__} by {', '.join(need.by)}, and no key begins with that "
                f"({known}). It is a scan, which reads and is charged for every item of the table.",
                _new_index(schema, need.by),
                context.where(need.entity),
            )


def _new_index(schema: Schema, by: Sequence[str]) -> str:
    """An index for a read, with names that are free, as it can be declared."""
    table = schema.table
    several = [name for name in by if schema.fields[name.partition(".")[0]].types & {"L", "SET"}]
    if several:
        return f"Store an item for each of {several[0]}, with it in its key; an item has one entry in an index."
    partition, sort = free_key_attributes(table)
    index = GlobalIndex(free_index_name(table, by), partition, sort)
    # In a sort key, the primary key tells items apart that have the same values.
    keys = {partition: labelled_template(by), sort: _primary_key(schema)}
    return (
        f"Add an index to the table, {index_code(index)}, and its keys to {schema.entity.__name__}: {keys_code(keys)}."
    )


def _primary_key(schema: Schema) -> str:
    """The primary key in a sort key, as it was declared where that is one template."""
    templates = [
        f"{{{schema.field_path(name)}}}"
        if name in schema.by_attribute and not schema.table.types.get(name)
        else declared_template(schema, name)
        for name in schema.table.key
    ]
    return "#".join(each for each in templates if each) if all(templates) else identity_template(schema)


@rule("index-not-unique", "An index that is assumed to be unique", "error")
def index_not_unique(context: LintContext) -> Iterator[Occurrence]:
    """An index may have several items under one key."""
    for place, schema, pattern, key in context.gets():
        if pattern.index is None:
            continue
        fields = context.fields_of(schema, key.partition + key.sort)
        primary = set(context.fields_of(schema, schema.table.key))
        if primary <= set(fields) or any(context.traits(schema, name).is_unique for name in fields):
            continue
        name = fields[0] if fields else key.partition[0]
        yield Occurrence(
            place,
            f"{place} expects one item for {' and '.join(fields)}, but an index does not enforce uniqueness: two "
            "items may have the same value, and either of them is returned.",
            f"Mark it as unique, {_unique(schema, fields) or f'with Unique() on {name}'}, which a guard in the same "
            "transaction enforces, or use a Query.",
            context.where(schema.entity),
        )


def _unique(schema: Schema, fields: Sequence[str]) -> str | None:
    """The last of some fields, unique together with the others."""
    if not fields or any("." in name for name in fields):
        return None
    if len(fields) == 1:
        return field_code(schema, fields[0], marker="Unique()")
    return group_code(schema, "Unique", fields[-1], fields[:-1])


@rule("filter-reads-most", "A filter that discards most of what it reads", "warning")
def filter_reads_most(context: LintContext) -> Iterator[Occurrence]:
    """A filter is applied after an item has been read and charged."""
    for place, schema, pattern, key in context.queries():
        if not has_filter(pattern):
            continue
        volume = context.design.volume.get(schema.entity)
        distinct = None if volume is None else volume.distinct.get(key.partition[0])
        fields = list(dict.fromkeys(each.field for each in restrictions(schema, pattern)))
        names = ", ".join(fields) or "what its function returns"
        share = _kept(context, schema, pattern)
        if volume is not None and distinct and pattern.expected is not None:
            stored = volume.items / distinct
            share = pattern.expected / stored
            share_text = f"a partition has about {stored:,.0f} items, and {pattern.expected:,} are expected"
        elif share is not None:
            share_text = f"it keeps about {share:.0%} of what it reads"
        else:
            share_text = "how much it discards is not declared"
        if share is not None and share >= 0.5:
            continue
        yield Occurrence(
            place,
            f"{place} filters by {names} after reading: {share_text}. What a filter discards is read and charged.",
            f"Put {', '.join(fields) or 'it'} into a key (an index with it in the partition, or a sparse one, by "
            "when), or declare volume and expected to show that most of it is returned.",
            context.where(schema.entity),
            None if share is not None else "advice",
        )


def _kept(context: LintContext, schema: Schema, pattern: Query) -> float | None:
    """The share of items that pass a filter, if the number of values of its fields is known."""
    found = restrictions(schema, pattern)
    share = 1.0
    for restriction in found:
        choices = context.traits(schema, restriction.field).choices
        if choices is None or restriction.allowed is None:
            return None
        share *= restriction.allowed / choices
    return share if found else None


@rule("projection-gap", "An index that does not project what a pattern reads", "warning")
def projection_gap(context: LintContext) -> Iterator[Occurrence]:
    """Each item is read again, from the table."""
    for place, schema, pattern, key in [*context.queries(), *context.gets()]:
        wanted = pattern.project if isinstance(pattern, Query) and pattern.project else list(schema.fields)
        filtered = [each.field for each in restrictions(schema, pattern)] if isinstance(pattern, Query) else []
        yield from _gap(context, place, key, [*wanted, *filtered])
    for place, collection, gather in context.gathers():
        for schema in [schema for member in collection.members_ for schema in member.schemas]:
            yield from _gap(context, place, context.key(schema, gather.index), list(schema.fields))


def _gap(context: LintContext, place: str, key: EntityKey, wanted: list[str]) -> Iterator[Occurrence]:
    if key.index is None or key.index.include is None:
        return
    schema = key.schema
    projected = {*schema.table.key, *key.index.attributes, *key.index.include}
    attributes = dict.fromkeys(schema.locate(name, place).parts[0] for name in wanted)
    # The type attribute and the expiry are read as well.
    if schema.table.type_attribute is not None:
        attributes[schema.table.type_attribute] = None
    if schema.expiry is not None:
        attributes[schema.expiry.attribute] = None
    lacking = [name for name in attributes if name not in projected]
    if lacking:
        yield Occurrence(
            place,
            f"{place} reads {', '.join(lacking)}, which index {key.index.name} does not project, so every item is "
            f"read again from the table{', by another request' if key.index.is_global else ''}, at full cost.",
            f"Let the index have them: {index_code(replace(key.index, include=(*key.index.include, *lacking)))}; or "
            "declare the pattern in a Projection of what the caller needs.",
            context.where(schema.entity),
        )


@rule("over-projection", "An index that projects more than its patterns read", "advice")
def over_projection(context: LintContext) -> Iterator[Occurrence]:
    """What an index has is stored and written once more."""
    readers: dict[tuple[str, str], list[set[str] | None]] = {}
    for _, schema, pattern, key in [*context.queries(), *context.gets()]:
        if key.index is not None:
            projected = set(pattern.project) if isinstance(pattern, Query) and pattern.project else None
            readers.setdefault((schema.table.name, key.index.name), []).append(projected)
    gathered = {(collection.members_[0].schema.table.name, gather.index) for _, collection, gather in context.gathers()}
    for table in context.design.tables:
        for index in table.indexes:
            found = readers.get((table.name, index.name), [])
            read = [fields for fields in found if fields is not None]
            if index.include is not None or not found or len(read) < len(found) or (table.name, index.name) in gathered:
                continue
            wanted = {name.partition(".")[0] for fields in read for name in fields}
            most = max(len(schema.fields) for schema in schemas_of(table) if schema.covers(index))
            if 2 * len(wanted) <= most:
                yield Occurrence(
                    f"{table.name}/{index.name}",
                    f"Index {index.name} projects all attributes, and its patterns read {', '.join(sorted(wanted))} "
                    "only. Every write of another attribute is charged for the index too, and everything is "
                    "stored twice.",
                    f"Project what is read: {index_code(replace(index, include=_attributes(table, index, wanted)))}.",
                )


def _attributes(table: Table, index: Index, fields: AbstractSet[str]) -> tuple[str, ...]:
    """What an index has to project so that some fields can be read: also the type attribute, and the expiry."""
    wanted = set[str]()
    for schema in schemas_of(table):
        if schema.covers(index):
            wanted |= {spec.attribute for name, spec in schema.fields.items() if name in fields}
            wanted |= {schema.expiry.attribute} if schema.expiry is not None else set()
    wanted |= {table.type_attribute} if table.type_attribute is not None else set()
    return tuple(sorted(wanted - {*table.key, *index.attributes}))


@rule("unused-index", "An index that no pattern reads", "warning")
def unused_index(context: LintContext) -> Iterator[Occurrence]:
    """Every write of an item in it is charged for it."""
    used = {(schema.table.name, pattern.index) for _, schema, pattern, _ in context.queries()}
    used |= {(schema.table.name, pattern.index) for _, schema, pattern, _ in context.gets()}
    used |= {(collection.members_[0].schema.table.name, gather.index) for _, collection, gather in context.gathers()}
    for table in context.design.tables:
        for index in table.indexes:
            if (table.name, index.name) not in used:
                yield Occurrence(
                    f"{table.name}/{index.name}",
                    f"No pattern reads index {index.name}, yet every write of an item in it is charged twice.",
                    "Remove the index, or declare the pattern that reads it.",
                )


@rule("same-key", "Two entities whose keys can be equal", "error")
def same_key(context: LintContext) -> Iterator[Occurrence]:
    """One replaces the other."""
    for one, other in combinations(context.schemas, 2):
        if one.table is not other.table:
            continue
        if all(_can_be_equal(context, one, other, attribute) for attribute in one.table.key):
            yield Occurrence(
                other.entity.__name__,
                f"{one.entity.__name__} and {other.entity.__name__} can have the same key in table {one.table.name}. "
                "The type attribute distinguishes their items when they are read, but the second one written "
                "replaces the first.",
                "Use different prefixes in their keys.",
                context.where(other.entity),
            )


def _can_be_equal(context: LintContext, one: Schema, other: Schema, attribute: str) -> bool:
    first, second = context.key_template(one, attribute), context.key_template(other, attribute)
    if first is None or second is None or first.compiled is None or second.compiled is None:
        return True
    return first.compiled.overlaps(second.compiled)


@rule("shared-prefix", "A query that also reads items of another entity", "warning")
def shared_prefix(context: LintContext) -> Iterator[Occurrence]:
    """Keys with the same prefix are read together."""
    for place, schema, pattern, key in context.queries():
        if not key.sort:
            continue
        prefix = _prefix(context, schema, key, pattern)
        others = []
        for other in schemas_of(schema.table):
            theirs = next((found for found in context.keys(other) if found.index == key.index), None)
            if other is schema or theirs is None or not share_partitions(context, key, theirs):
                continue
            template = context.key_template(other, key.sort[0])
            if template is not None and prefix is not None and (template.head.startswith(prefix)):
                others.append(other.entity.__name__)
        if others:
            yield Occurrence(
                place,
                f"{place} reads keys of {key.place} with the prefix {prefix!r}, which {', '.join(others)} in the "
                "same partition have as well. Those items are read, charged and left out, and pages are short.",
                f"Use different prefixes in the sort keys, such as {schema.entity.__name__.upper()}#.",
                context.where(schema.entity),
            )


def _prefix(context: LintContext, schema: Schema, key: EntityKey, pattern: Query) -> str | None:
    """The prefix of the sort keys that a query reads; None if a fixed value narrows it further."""
    template = context.key_template(schema, key.sort[0])
    if template is None or (template.fields and template.fields[0] in pattern.fixed):
        return None
    return template.parts[0].text if isinstance(template.parts[0], Literal) else ""
