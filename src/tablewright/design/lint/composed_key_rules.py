"""Rules about keys that a writer composes by hand: they go stale, or come in more than one template."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from tablewright.design.lint.lint_context import ComposedKey, EntityKey, KeyTemplate, LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule
from tablewright.design.lint.repair_code import keys_code, sortable_part
from tablewright.model import Schema
from tablewright.model.keys.key_forms import TIME_PARTS, Field


@rule("hand-made-key", "A key attribute that a writer composes by hand", "error")
def hand_made_key(context: LintContext) -> Iterator[Occurrence]:
    """Every write has to compose it again, and one will forget."""
    for schema in context.schemas:
        entity = schema.entity.__name__
        for composed in context.composed_keys(schema):
            yield Occurrence(
                f"{entity}.{composed.name}",
                f"{composed.name} is composed by hand and stored in the key attribute "
                f"{composed.attribute}: {composed.because}. Every write has to compose it in the same way; "
                "after the first one that does not, the item is not found.",
                _derived(context, schema, composed),
                context.where(schema.entity),
            )
        for write, item_write in context.item_writes_of(schema):
            ruled = [attribute for attribute in item_write.keys if attribute in schema.key_rules]
            if ruled:
                yield Occurrence(
                    write.name,
                    f"{write.name} composes {', '.join(ruled)} of {entity} by hand, although the entity declares how "
                    "it is derived from fields.",
                    "Remove keys= from the ItemWrite and write through the store, which derives the keys.",
                    context.where(schema.entity),
                )


def _derived(context: LintContext, schema: Schema, composed: ComposedKey) -> str:
    """How a key that is composed by hand can be derived, if what it consists of is known."""
    templates = [str(each) for each in context.key_templates(schema, composed.attribute) if each.write]
    if len(set(templates)) == 1:
        text = templates[0]
    else:
        text = "#".join(sortable_part(schema, name) for name in composed.repeats)
    remove = "Remove the field" if composed.spec is not None else "Remove it from the writes"
    fields = [name.partition(".")[0] for name in composed.repeats]
    if not text or any(name not in schema.fields for name in fields) or len(set(templates)) > 1:
        return f"{remove}, and declare in Keys of which fields {composed.attribute} is made."
    takes = f"; patterns take {' and '.join(composed.repeats)} in its place." if composed.spec is not None else "."
    return f"{remove} and declare how the key is derived, {keys_code({composed.attribute: text})}{takes}"


@rule("stale-index-key", "A write that leaves an index key stale", "error")
def stale_index_key(context: LintContext) -> Iterator[Occurrence]:
    """The item keeps its old place in the index."""
    for schema in context.schemas:
        for write, item_write in context.item_writes_of(schema):
            if item_write.action != "update":
                continue
            changed = {path.partition(".")[0] for path in (*item_write.sets, *item_write.adds)}
            stale = {
                composed.name: changed.intersection(composed.repeats)
                for composed in context.composed_keys(schema)
                if changed.intersection(composed.repeats)
                and composed.name not in changed
                and composed.attribute not in item_write.keys
            }
            if stale:
                sources = sorted({name for names in stale.values() for name in names})
                yield Occurrence(
                    write.name,
                    f"{write.name} sets {', '.join(sources)} of {schema.entity.__name__}, but not {', '.join(stale)}, "
                    f"made of it. The item stays in the index under its old value, and is not found under the new one.",
                    f"Declare {' and '.join(stale)} in Keys, and compose nothing by hand; every write of the store "
                    "then updates them together.",
                    context.where(schema.entity),
                )


@rule("two-shapes", "A key attribute with more than one template", "error")
def two_shapes(context: LintContext) -> Iterator[Occurrence]:
    """A range or a prefix that fits one template misses the other."""
    for schema in context.schemas:
        for attribute in schema.table.key_attributes:
            templates = {str(template): template for template in context.key_templates(schema, attribute)}
            if len(templates) > 1 and any(template.write is not None for template in templates.values()):
                listed = [f"{text} ({template.write or 'the entity'})" for text, template in templates.items()]
                yield Occurrence(
                    f"{schema.entity.__name__}.{attribute}",
                    f"{attribute} of {schema.entity.__name__} has {len(templates)} templates: {', '.join(listed)}. "
                    "Their values do not sort together, and a range or prefix for one misses the others.",
                    f"Keep one template of {attribute}, in Keys, and let every write derive the key from it.",
                    context.where(schema.entity),
                )
    for one, other in combinations(context.schemas, 2):
        if one.table is other.table:
            yield from _between(context, one, other)


def _between(context: LintContext, one: Schema, other: Schema) -> Iterator[Occurrence]:
    """Two entities that share partitions, and whose sort keys have the same prefix, followed by different types."""
    for mine in context.keys(one):
        theirs = next((key for key in context.keys(other) if key.index == mine.index), None)
        if theirs is None or not mine.sort or not share_partitions(context, mine, theirs):
            continue
        first, second = context.key_template(one, mine.sort[0]), context.key_template(other, theirs.sort[0])
        if first is None or second is None or first.head != second.head or not (first.fields and second.fields):
            continue
        kinds = _sort_type(context, one, first), _sort_type(context, other, second)
        # Without a prefix, only two forms of time are sure to be meant to sort together.
        timed = all(kind in _TIMES for kind in kinds)
        if kinds[0] != kinds[1] and (first.head or timed):
            yield Occurrence(
                f"{one.entity.__name__}.{mine.sort[0]}",
                f"In {mine.place}, {one.entity.__name__} has {first} and {other.entity.__name__} has {second}: "
                + (
                    f"the prefix is the same, and {kinds[0]} and {kinds[1]} follow"
                    if first.head
                    else f"{kinds[0]} and {kinds[1]}"
                )
                + ", so their items do not sort together.",
                "Use one type and one template for both, or different prefixes.",
                context.where(one.entity),
            )


def _sort_type(context: LintContext, schema: Schema, template: KeyTemplate) -> str:
    """The type that the first value in a key sorts as."""
    first = next((part for part in template.parts if isinstance(part, Field)), None)
    if first is None:
        return "text"
    kind = context.traits(schema, first.name)
    if first.form in TIME_PARTS or (kind.is_day and not kind.is_instant):
        return "a day"
    if not kind.is_instant:
        return "a number" if kind.is_number else "text"
    if kind.unit is not None:
        return f"a time in {kind.unit} since 1970"
    return "a time as a number" if kind.is_number else "a time as text"


_TIMES = frozenset(
    [
        "a day",
        "a time as text",
        "a time as a number",
        *(f"a time in {unit} since 1970" for unit in ("seconds", "milliseconds")),
    ]
)


def share_partitions(context: LintContext, mine: EntityKey, theirs: EntityKey) -> bool:
    for attribute in mine.partition:
        first, second = context.key_template(mine.schema, attribute), context.key_template(theirs.schema, attribute)
        if first is None or second is None:
            return False
        one, other = first.compiled, second.compiled
        if (one is None) != (other is None) or (one is not None and other is not None and not one.overlaps(other)):
            return False
    return True


@rule("range-across-parts", "A range over a key that is composed of several parts", "error")
def range_across_parts(context: LintContext) -> Iterator[Occurrence]:
    """The range from A#1 to C#9 contains all of B."""
    for place, schema, pattern, _ in context.queries():
        if pattern.range is None:
            continue
        composed = next(
            (composed for composed in context.composed_keys(schema) if composed.name == pattern.range), None
        )
        if composed is not None and len(composed.repeats) > 1:
            parts = " and ".join(composed.repeats)
            first = next(
                (
                    template.fields[0]
                    for template in context.key_templates(schema, composed.attribute)
                    if template.write
                ),
                None,
            )
            ordered = first is not None and context.traits(schema, first).is_ordered
            yield Occurrence(
                place,
                f"{place} bounds {pattern.range}, which is composed of {parts}. "
                + (
                    f"The keys of the last {first} sort after the upper bound, so all of them are left out."
                    if ordered
                    else "A range over several parts does not limit the second one: the range from A#5 to C#6 contains "
                    "all of B."
                ),
                f"Declare {composed.attribute} in Keys, and let the pattern take or fix the fields before "
                "the one that is bounded.",
                context.where(schema.entity),
            )
