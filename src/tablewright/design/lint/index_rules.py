"""Rules about indexes: the same one twice, one that repeats the table, and reads that find nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

from tablewright.design.filter_fields import restrictions
from tablewright.design.lint.lint_context import LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule
from tablewright.dynamo import AttributeValue
from tablewright.model import Index, Query, Schema, Table, schemas_of
from tablewright.model.keys.key_forms import Field
from tablewright.model.values.attribute_codec import encode


def _same_entries(context: LintContext, table: Table, one: Index, other: Index | None) -> bool:
    """Whether another index, or the table, has all entries of an index, under the same keys for every entity.

    An index without a sort key is in no particular order, so that one with the same partitions has all it has.
    """
    partition = table.key[:1] if other is None else other.partition
    sort = table.key[1:] if other is None else other.sort
    if len(one.partition) != len(partition) or (one.sort and len(one.sort) != len(sort)):
        return False
    if not one.sort and sort and one.include is not None:
        return False  # it is small, which may be what it is for
    mine, theirs = (*one.partition, *one.sort), (*partition, *(sort if one.sort else ()))
    found = False
    # Text between the fields tells entities apart, and puts them in an order; of one entity, it says nothing.
    shared = sum(schema.covers(one) for schema in schemas_of(table)) > 1
    for schema in schemas_of(table):
        if not schema.covers(one):
            if other is not None and schema.covers(other):
                return False
            continue
        if other is not None and not schema.covers(other):
            return False
        found = True
        keys = [[_key(context, schema, name, shared) for name in names] for names in (mine, theirs)]
        if keys[0] != keys[1]:
            return False
        if not one.sort and other is not None and not all(_is_always_there(context, schema, name) for name in sort):
            return False
    return found


def _is_always_there(context: LintContext, schema: Schema, attribute: str) -> bool:
    """Whether every item has a key attribute."""
    template = context.key_template(schema, attribute)
    if template is None or template.is_sparse:
        return False
    return not any(context.traits(schema, name).is_optional for name in template.fields)


def _key(context: LintContext, schema: Schema, attribute: str, shared: bool) -> object:
    """How a key attribute is made, and of which items; the text in it counts where entities share an index."""
    rule_ = schema.key_rules.get(attribute)
    templates = [
        str(template) if shared else "#".join(str(part) for part in template.parts if isinstance(part, Field))
        for template in context.key_templates(schema, attribute)
    ]
    cases = () if rule_ is None else rule_.cases
    states = [{path: sorted(map(str, values)) for path, values in case.when.items()} for case in cases]
    # A field that is the key, and a template that has it alone, sort alike if it is text.
    return (templates, states or [{}], 1 if rule_ is None else rule_.shards)


@rule("equal-indexes", "Two indexes with the same keys", "warning")
def equal_indexes(context: LintContext) -> Iterator[Occurrence]:
    """Both are written, stored and paid for, and one would do."""
    for table in context.design.tables:
        for first, second in combinations(table.indexes, 2):
            one, other = first, second
            if not _same_entries(context, table, other, one):
                one, other = second, first
            if _same_entries(context, table, other, one):
                yield Occurrence(
                    f"{table.name}/{other.name}",
                    f"Indexes {one.name} and {other.name} of table {table.name} have the same keys: "
                    f"{one.name} finds all that {other.name} does, and each write is charged for both.",
                    f"Remove {other.name}, and read {one.name} instead"
                    + (", with both projections in its include." if one.include != other.include else "."),
                )


@rule("index-like-table", "An index with the key of the table", "warning")
def index_like_table(context: LintContext) -> Iterator[Occurrence]:
    """The table itself answers the same reads."""
    for table in context.design.tables:
        for index in table.indexes:
            if _same_entries(context, table, index, None):
                yield Occurrence(
                    f"{table.name}/{index.name}",
                    f"Index {index.name} has the same key as table {table.name} itself: it finds nothing that "
                    "the table does not find, finds it later, and each write is charged for it.",
                    f"Remove {index.name}, and read the table: leave the index out of the patterns that name it.",
                )


@rule("never-found", "A read of states that are not in the index", "error")
def never_found(context: LintContext) -> Iterator[Occurrence]:
    """A sparse index has the items in some states, and no others."""
    for place, schema, pattern, key in context.queries():
        rules = [schema.key_rules[name] for name in (*key.partition, *key.sort) if name in schema.key_rules]
        states_of = (rule_.when.items() for rule_ in rules if not rule_.others)
        for path, allowed in chain.from_iterable(states_of):
            name = schema.field_path(path)
            wanted = _wanted(schema, pattern, name)
            if wanted is not None and not any(value in allowed for value in wanted):
                states = " or ".join(sorted("absent" if each is None else str(*each.values()) for each in allowed))
                yield Occurrence(
                    place,
                    f"{place} reads items of {key.place} with another {name} than the index has: only those with "
                    f"{name} {states} are in it, so nothing is ever found.",
                    f"Add the state to those of {name} in when, or read another index.",
                    context.where(schema.entity),
                )
                break


def _wanted(schema: Schema, pattern: Query, name: str) -> list[AttributeValue | None] | None:
    """The stored values of a field that a pattern asks for; None if it does not."""
    if name in pattern.fixed and name in schema.fields:
        value = pattern.fixed[name]
        return [schema.fields[name].encode(value) or encode(value)]
    for restriction in restrictions(schema, pattern):
        if restriction.field == name and restriction.values is not None:
            return [None if "NULL" in each else each for each in restriction.values]
    return None
