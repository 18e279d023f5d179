"""Rules about keys that a writer composes: they go stale, and they come in two shapes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from tablewright.design.lint.lint_context import EntityKey, KeyPattern, LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule
from tablewright.model import Schema
from tablewright.model.keys.key_template import Field


@rule("hand-made-key", "A key attribute that a writer composes", "error")
def hand_made_key(context: LintContext) -> Iterator[Occurrence]:
    """What repeats other fields has to be made in every write, and one will forget."""
    for schema in context.schemas:
        entity = schema.entity.__name__
        for made in context.composed_keys(schema):
            shape = next((shape for shape in context.key_patterns(schema, made.spec.attribute) if shape.write), None)
            template = str(shape) if shape else "#".join(f"{{{name}}}" for name in sorted(made.repeats)) or "..."
            yield Occurrence(
                f"{entity}.{made.spec.name}",
                f"{made.spec.name} is stored by hand in the key attribute {made.spec.attribute}: {made.because}. Every "
                "write path has to compose it again, in the same way; the first one that does not loses the item.",
                f'Drop the field and let it follow: keys = Keys({made.spec.attribute}="{template}").',
                context.where(schema.entity),
            )
        for write, item_write in context.item_writes_of(schema):
            ruled = [attribute for attribute in item_write.keys if attribute in schema.key_rules]
            if ruled:
                yield Occurrence(
                    write.name,
                    f"{write.name} composes {', '.join(ruled)} of {entity} by hand, although the entity says how it "
                    "follows from its fields.",
                    "Drop keys=... from the ItemWrite and write through the store, which derives them.",
                    context.where(schema.entity),
                )


@rule("stale-index-key", "A write that leaves an index key behind", "error")
def stale_index_key(context: LintContext) -> Iterator[Occurrence]:
    """The item stays in the index where it was."""
    for schema in context.schemas:
        for write, item_write in context.item_writes_of(schema):
            if item_write.action != "update":
                continue
            changed = {path.partition(".")[0] for path in item_write.sets}
            stale = {
                made.spec.name: made.repeats & changed
                for made in context.composed_keys(schema)
                if made.repeats & changed
                and made.spec.name not in changed
                and made.spec.attribute not in item_write.keys
            }
            if stale:
                sources = sorted({name for names in stale.values() for name in names})
                yield Occurrence(
                    write.name,
                    f"{write.name} sets {', '.join(sources)} of {schema.entity.__name__}, but not {', '.join(stale)}, "
                    "which repeat it. The item stays in the index under what it was before, and is missing where it "
                    "belongs.",
                    "Drop the stored keys and give them rules in Keys(...); every write of the store then changes them "
                    "together.",
                    context.where(schema.entity),
                )


@rule("two-shapes", "A key attribute in two shapes", "error")
def two_shapes(context: LintContext) -> Iterator[Occurrence]:
    """A range or a prefix that fits one shape misses the other."""
    for schema in context.schemas:
        for attribute in schema.table.key_attributes:
            shapes = {str(shape): shape for shape in context.key_patterns(schema, attribute)}
            if len(shapes) > 1:
                told = [f"{text} ({shape.write or 'the entity'})" for text, shape in shapes.items()]
                yield Occurrence(
                    f"{schema.entity.__name__}.{attribute}",
                    f"{attribute} of {schema.entity.__name__} has {len(shapes)} shapes: {', '.join(told)}. They sort "
                    "among each other by accident, and a range or prefix made for one misses the others.",
                    f"Keep one, as the rule in Keys({attribute}=...), and let every write derive it.",
                    context.where(schema.entity),
                )
    for one, other in combinations(context.schemas, 2):
        if one.table is other.table:
            yield from _between(context, one, other)


def _between(context: LintContext, one: Schema, other: Schema) -> Iterator[Occurrence]:
    """Two entities that share partitions, and begin their sort keys alike, only to go on differently."""
    for mine in context.keys(one):
        theirs = next((key for key in context.keys(other) if key.index == mine.index), None)
        if theirs is None or not mine.sort or not share_partitions(context, mine, theirs):
            continue
        first, second = context.key_pattern(one, mine.sort[0]), context.key_pattern(other, theirs.sort[0])
        if first is None or second is None or not first.head or first.head != second.head:
            continue
        if _sense(context, one, first) != _sense(context, other, second):
            yield Occurrence(
                f"{one.entity.__name__}.{mine.sort[0]}",
                f"In {mine.place}, {one.entity.__name__} has {first} and {other.entity.__name__} has {second}: they "
                "begin alike and go on with different kinds of values, so that neither sorts among the other.",
                "Use one shape for both, or begin them with different text.",
                context.where(one.entity),
            )


def _sense(context: LintContext, schema: Schema, shape: KeyPattern) -> str:
    """What the first value in a key is compared as."""
    first = next((part for part in shape.parts if isinstance(part, Field)), None)
    if first is None:
        return "text"
    kind = context.traits(schema, first.name)
    if first.form == "date" or (kind.is_day and not kind.is_instant):
        return "day"
    return "time" if kind.is_instant else "number" if kind.is_number else "text"


def share_partitions(context: LintContext, mine: EntityKey, theirs: EntityKey) -> bool:
    for attribute in mine.partition:
        first, second = context.key_pattern(mine.schema, attribute), context.key_pattern(theirs.schema, attribute)
        if first is None or second is None:
            return False
        one, other = first.template, second.template
        if (one is None) != (other is None) or (one is not None and other is not None and not one.overlaps(other)):
            return False
    return True


@rule("range-across-parts", "A range over a key of several parts", "error")
def range_across_parts(context: LintContext) -> Iterator[Occurrence]:
    """Between A#1 and C#9 there is all of B."""
    for place, schema, pattern, _ in context.queries():
        if pattern.range is None:
            continue
        made = next((made for made in context.composed_keys(schema) if made.spec.name == pattern.range), None)
        if made is not None and len(made.repeats) > 1:
            parts = " and ".join(sorted(made.repeats))
            first = next(
                (shape.fields[0] for shape in context.key_patterns(schema, made.spec.attribute) if shape.write), None
            )
            ordered = first is not None and context.traits(schema, first).is_ordered
            yield Occurrence(
                place,
                f"{place} bounds {pattern.range}, which is made of {parts}. "
                + (
                    f"The keys of the last {first} go on behind it, so that an upper bound leaves all of them out."
                    if ordered
                    else "A range over several parts at once does not bound the second one: between A#5 and C#6 there "
                    "is all of B."
                ),
                f"Give {made.spec.attribute} a rule in Keys(...), and make the field that is meant the range; those "
                "before it are fixed or given.",
                context.where(schema.entity),
            )
