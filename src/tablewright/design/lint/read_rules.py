"""Rules about access patterns: what a key cannot answer, answers in another order, or answers at a price."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from tablewright.design.lint.composed_key_rules import share_partitions
from tablewright.design.lint.lint_context import EntityKey, LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule
from tablewright.model import Query, Schema, schemas_of
from tablewright.model.keys.key_template import Literal


@rule("no-key", "A question that no key answers", "error")
def no_key(context: LintContext) -> Iterator[Occurrence]:
    """What no partition key holds takes a scan of the whole table."""
    for need in context.design.required_reads:
        schema = need.entity.schema_
        keys = [(key, context.fields_of(schema, key.partition)) for key in context.keys(schema)]
        serving = [
            key
            for key, fields in keys
            # A partition that is the same for all is no answer, unless what is known comes first in its order.
            if set(fields) <= set(need.by) and (fields or set(context.fields_of(schema, key.sort)[:1]) & set(need.by))
        ]
        if not serving:
            known = "; ".join(f"{key.place} by {', '.join(fields)}" for key, fields in keys)
            text = "#".join(f"{'_'.join(name.split('.')).upper()}#{{{name}}}" for name in need.by)
            yield Occurrence(
                need.name,
                f"{need.name!r} knows {', '.join(need.by)} of {need.entity.__name__}, and no key begins with that "
                f"({known}). It takes a scan, which reads and pays for every item of the table.",
                f'Give it an index: GlobalIndex("...", "GSI1PK", "GSI1SK") and Keys(GSI1PK="{text}", ...).',
                context.where(need.entity),
            )


@rule("order-within-part", "An order that holds within one part of the key only", "warning")
def order_within_part(context: LintContext) -> Iterator[Occurrence]:
    """Items sort by the first part of the key before they sort by time."""
    for place, schema, pattern, key in context.queries():
        if not pattern.newest_first:
            continue
        fields = context.fields_of(schema, key.sort)
        while fields and fields[0] in pattern.fixed:
            fields.pop(0)
        if len(fields) < 2 or context.traits(schema, fields[0]).is_ordered or pattern.range in fields[1:]:
            continue
        ordered = next((name for name in fields[1:] if context.traits(schema, name).is_ordered), None)
        if ordered is not None:
            yield Occurrence(
                place,
                f"{place} reads newest first, but {key.sort[0]} begins with {fields[0]}: items come in the order of "
                f"{fields[0]}, and by {ordered} only within one. The first page is not the newest.",
                f'Fix {fields[0]} (fixed={{"{fields[0]}": ...}}) and merge one read for each of its values, or give '
                f"the list an index that sorts by {ordered} alone.",
                context.where(schema.entity),
            )


@rule("index-not-unique", "An index that is taken as unique", "error")
def index_not_unique(context: LintContext) -> Iterator[Occurrence]:
    """An index holds as many items of one key as there are."""
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
            f"{place} expects one item for {' and '.join(fields)}, but an index enforces nothing: two items may have "
            "the same, and either of them comes back.",
            f"Mark it {name}: Annotated[str, Unique()], which a guard in the same transaction holds, or say Query.",
            context.where(schema.entity),
        )


@rule("filter-reads-most", "A filter that throws away what was read", "warning")
def filter_reads_most(context: LintContext) -> Iterator[Occurrence]:
    """A filter applies after an item has been read, and paid for."""
    for place, schema, pattern, key in context.queries():
        if not pattern.where:
            continue
        volume = context.design.volume.get(schema.entity)
        distinct = None if volume is None else volume.distinct.get(key.partition[0])
        names = ", ".join(pattern.where)
        share = _kept(context, schema, pattern)
        if volume is not None and distinct and pattern.expected is not None:
            held = volume.items / distinct
            share = pattern.expected / held
            told = f"about {held:,.0f} items are in a partition, and {pattern.expected:,} are wanted"
        elif share is not None:
            told = f"it keeps about {share:.0%} of what it reads"
        else:
            told = "how much it throws away is not declared"
        if share is not None and share >= 0.5:
            continue
        yield Occurrence(
            place,
            f"{place} filters by {names} after reading: {told}. What a filter drops is read and paid for.",
            f"Put {names} into a key (an index with it in the partition, or when(..., {next(iter(pattern.where))}=...) "
            "for a sparse one), or declare volume and expected to show that most of it is wanted.",
            context.where(schema.entity),
            None if share is not None else "advice",
        )


def _kept(context: LintContext, schema: Schema, pattern: Query) -> float | None:
    """The share of items that pass a filter, where its fields have values that can be counted."""
    share = 1.0
    for name, wanted in pattern.where.items():
        choices = context.traits(schema, name).choices
        if choices is None:
            return None
        share *= (len(wanted) if isinstance(wanted, list | tuple | set | frozenset) else 1) / choices
    return share


@rule("projection-gap", "An index that lacks what a pattern reads", "warning")
def projection_gap(context: LintContext) -> Iterator[Occurrence]:
    """Each item is read again from the table."""
    for place, schema, pattern, key in [*context.queries(), *context.gets()]:
        wanted = pattern.project if isinstance(pattern, Query) and pattern.project else list(schema.fields)
        filtered = list(pattern.where) if isinstance(pattern, Query) else []
        yield from _gap(context, place, key, [*wanted, *filtered])
    for place, collection, gather in context.gathers():
        for member in collection.members_:
            yield from _gap(context, place, context.key(member.schema, gather.index), list(member.schema.fields))


def _gap(context: LintContext, place: str, key: EntityKey, wanted: list[str]) -> Iterator[Occurrence]:
    if key.index is None or key.index.include is None:
        return
    schema = key.schema
    held = {*schema.table.key, *key.index.attributes, *key.index.include}
    attributes = dict.fromkeys(schema.locate(name, place).parts[0] for name in wanted)
    # What tells whose item it is, and whether it has expired, is read as well.
    if schema.table.type_attribute is not None:
        attributes[schema.table.type_attribute] = None
    if schema.expiry is not None:
        attributes[schema.expiry.attribute] = None
    lacking = [name for name in attributes if name not in held]
    if lacking:
        yield Occurrence(
            place,
            f"{place} reads {', '.join(lacking)}, which index {key.index.name} does not hold, so every item is read "
            f"again from the table{': one more request, and' if key.index.is_global else ', at'} its full price.",
            f"Add {', '.join(lacking)} to include=[...] of the index, or say project=[...] with what the caller needs.",
            context.where(schema.entity),
        )


@rule("unused-index", "An index that nothing reads", "warning")
def unused_index(context: LintContext) -> Iterator[Occurrence]:
    """Every write pays for it."""
    used = {(schema.table.name, pattern.index) for _, schema, pattern, _ in context.queries()}
    used |= {(schema.table.name, pattern.index) for _, schema, pattern, _ in context.gets()}
    used |= {(collection.members_[0].schema.table.name, gather.index) for _, collection, gather in context.gathers()}
    for table in context.design.tables:
        for index in table.indexes:
            if (table.name, index.name) not in used:
                yield Occurrence(
                    f"{table.name}/{index.name}",
                    f"No pattern reads index {index.name}, yet every write of an item in it is paid for twice.",
                    "Drop the index, or declare the pattern that reads it.",
                )


@rule("same-key", "Two entities whose keys can be equal", "error")
def same_key(context: LintContext) -> Iterator[Occurrence]:
    """One overwrites the other."""
    for one, other in combinations(context.schemas, 2):
        if one.table is not other.table:
            continue
        if all(_can_meet(context, one, other, attribute) for attribute in one.table.key):
            yield Occurrence(
                other.entity.__name__,
                f"{one.entity.__name__} and {other.entity.__name__} can have the same key in table "
                f"{one.table.name}. The type attribute tells their items apart when they are read, but the second one "
                "written replaces the first.",
                "Begin their keys with different text.",
                context.where(other.entity),
            )


def _can_meet(context: LintContext, one: Schema, other: Schema, attribute: str) -> bool:
    first, second = context.key_pattern(one, attribute), context.key_pattern(other, attribute)
    if first is None or second is None or first.template is None or second.template is None:
        return True
    return first.template.overlaps(second.template)


@rule("shared-prefix", "A query that reads the items of another entity", "warning")
def shared_prefix(context: LintContext) -> Iterator[Occurrence]:
    """What begins alike is read together."""
    for place, schema, pattern, key in context.queries():
        if not key.sort:
            continue
        prefix = _prefix(context, schema, key, pattern)
        others = []
        for other in schemas_of(schema.table):
            theirs = next((found for found in context.keys(other) if found.index == key.index), None)
            if other is schema or theirs is None or not share_partitions(context, key, theirs):
                continue
            shape = context.key_pattern(other, key.sort[0])
            if shape is not None and prefix is not None and (shape.head.startswith(prefix)):
                others.append(other.entity.__name__)
        if others:
            yield Occurrence(
                place,
                f"{place} reads the keys of {key.place} that begin with {prefix!r}, and so do those of "
                f"{', '.join(others)} in the same partition. Their items are read, paid for and left out, and pages "
                "come out short.",
                f"Begin the sort keys with different text, such as {schema.entity.__name__.upper()}#.",
                context.where(schema.entity),
            )


def _prefix(context: LintContext, schema: Schema, key: EntityKey, pattern: Query) -> str | None:
    """The text that the sort keys begin with that a query reads; None where a fixed value narrows it further."""
    shape = context.key_pattern(schema, key.sort[0])
    if shape is None or (shape.fields and shape.fields[0] in pattern.fixed):
        return None
    return shape.parts[0].text if isinstance(shape.parts[0], Literal) else ""
