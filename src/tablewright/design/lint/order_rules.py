"""Rules about the order in which a pattern reads: by a part of the key first, by random ids, or by nothing at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tablewright.design.lint.lint_context import EntityKey, LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule
from tablewright.design.lint.repair_code import (
    declared_template,
    free_key_attributes,
    identity_template,
    index_code,
    keys_code,
    own_ids,
    sortable_part,
)
from tablewright.model import Query, Schema, schemas_of
from tablewright.model.keys.key_forms import Literal

# Names of fields whose words have an order.
_RANKS = frozenset(["priority", "severity", "level", "size", "urgency", "importance", "rank", "grade", "weekday"])


def _ordered_by(context: LintContext, schema: Schema, pattern: Query, key: EntityKey) -> list[str]:
    """The fields of the sort key that a pattern leaves open, in their order."""
    fields = context.fields_of(schema, key.sort)
    required = frozenset[str]() if pattern.signature is None else pattern.signature.required
    while fields and (fields[0] in pattern.fixed or fields[0].replace(".", "__") in required):
        fields.pop(0)
    return fields


@rule("order-within-part", "A sort order that holds only within one part of the key", "warning")
def order_within_part(context: LintContext) -> Iterator[Occurrence]:
    """Items sort by the first part of the key, and by time within it."""
    yield from _feeds_in_parts(context)
    for place, schema, pattern, key in context.queries():
        if not pattern.newest_first:
            continue
        fields = _ordered_by(context, schema, pattern, key)
        if len(fields) < 2 or context.traits(schema, fields[0]).is_ordered or pattern.range in fields[1:]:
            continue
        ordered = next((name for name in fields[1:] if context.traits(schema, name).is_ordered), None)
        if ordered is not None:
            yield Occurrence(
                place,
                f"{place} reads newest first, but {key.sort[0]} begins with {fields[0]}: items are sorted by "
                f"{fields[0]}, and by {ordered} only within each value. The first page is not the newest.",
                f"Take {fields[0]} as a parameter of {pattern.name}, and merge one read for each of its values, or "
                f"add an index that sorts by {ordered} alone.",
                context.where(schema.entity),
            )


def _feeds_in_parts(context: LintContext) -> Iterator[Occurrence]:
    """Lists of several entities whose sort keys begin with different text: one kind comes after the other."""
    for place, collection, gather in context.gathers():
        for member in collection.members_:
            begins = {}
            for schema in member.schemas if member.others else ():
                key = context.key(schema, gather.index)
                template = context.key_template(schema, key.sort[0]) if key.sort else None
                first = None if template is None else template.parts[0]
                rest = () if template is None else template.fields
                if any(context.traits(schema, name).is_ordered for name in rest):
                    begins[schema.entity.__name__] = first.text if isinstance(first, Literal) else ""
            if len({*begins.values()}) < 2:
                continue
            schema = member.schema
            yield Occurrence(
                f"{collection.__name__}.{member.name}",
                f"{place} reads {' and '.join(begins)} as one list, but their sort keys begin with "
                f"{' and '.join(each or 'a field' for each in begins.values())}: all items of one come before those of "
                "the other, whatever their times are.",
                "Begin these sort keys with the same text, AT#{at}#COMMENT#{comment_id} and AT#{at}#EVENT#{event_id}, "
                "or read a list of each.",
                context.where(schema.entity),
            )


@rule("random-order", "Newest first by ids that are not ordered by time", "error")
def random_order(context: LintContext) -> Iterator[Occurrence]:
    """Random ids sort at random."""
    for place, schema, pattern, key in context.queries():
        if not pattern.newest_first:
            continue
        fields = _ordered_by(context, schema, pattern, key)
        if not fields:
            continue
        first = context.traits(schema, fields[0])
        if not first.is_random_id or any(context.traits(schema, name).is_ordered for name in fields):
            continue
        times = [name for name in schema.fields if context.traits(schema, name).is_instant]
        certain = first.is_certainly_random
        if certain:
            what = f"{fields[0]} is random, and so is the order"
        else:
            what = f"nothing says that {fields[0]} sorts by time; random ids are in random order"
        yield Occurrence(
            place,
            f"{place} reads newest first, but {key.sort[0]} sorts by {fields[0]}: {what}.",
            f"Put the time before the id{_timed(schema, key, fields[0], times)}; or make ids that sort by time, such "
            "as ULIDs, and say so in the description of the field.",
            context.where(schema.entity),
            None if certain else "advice",
        )


def _timed(schema: Schema, key: EntityKey, id_: str, times: list[str]) -> str:
    """A sort key with the time before an id, if the entity has one."""
    template = declared_template(schema, key.sort[0])
    part = f"{{{id_}}}"
    if not times or template is None or part not in template:
        return ""
    timed = template.replace(part, f"{sortable_part(schema, times[0])}#{part}", 1)
    return f": {keys_code({key.sort[0]: timed})}"


@rule("no-order", "Newest first without a sort order", "error")
def no_order(context: LintContext) -> Iterator[Occurrence]:
    """Without a sort key, or with a constant one, items of a partition are in no order."""
    for place, schema, pattern, key in context.queries():
        if not pattern.newest_first or context.fields_of(schema, key.sort):
            continue
        times = [name for name in schema.fields if context.traits(schema, name).is_instant]
        what = "has no sort key" if not key.sort else f"has the same sort key for all items ({key.sort[0]})"
        yield Occurrence(
            place,
            f"{place} reads newest first, but {key.place} {what}: the order of the items is undefined.",
            f"Sort by the time{_sort_key(schema, key, times)}.",
            context.where(schema.entity),
        )


def _sort_key(schema: Schema, key: EntityKey, times: list[str]) -> str:
    """A sort key of the time, if the entity has one, and nothing that others rely on has to change."""
    if not times:
        return ", of which the entity needs a field"
    template = f"{sortable_part(schema, times[0])}#{identity_template(schema)}"
    if key.sort and declared_template(schema, key.sort[0]) is not None:
        ids = [name for name in own_ids(schema) if name not in key.schema.identity_fields]
        if key.index is not None or ids:
            unique = template if key.index is not None else f"{sortable_part(schema, times[0])}#{{{ids[0]}}}"
            return f": {keys_code({key.sort[0]: unique})}"
    elif key.index is not None and not key.sort and schemas_of(schema.table) == [schema]:
        _, sort = free_key_attributes(schema.table)
        return f": {index_code(replace(key.index, sort=(sort,)))} with {keys_code({sort: template})}"
    return f", with a sort key that begins with {times[0]}"


@rule("alphabetical-order", "Values that sort alphabetically, not by rank", "warning")
def alphabetical_order(context: LintContext) -> Iterator[Occurrence]:
    """As text, high comes before low, and low before medium."""
    for place, schema, pattern, key in context.queries():
        fields = _ordered_by(context, schema, pattern, key)
        if not fields or context.traits(schema, fields[0]).name.split("_")[-1] not in _RANKS:
            continue
        values = context.traits(schema, fields[0]).words
        if len(values) > 2 and list(values) not in (sorted(values), sorted(values, reverse=True)):
            yield Occurrence(
                place,
                f"{place} reads in the order of {fields[0]}, which is alphabetical: {', '.join(sorted(values))}.",
                f"Store a number for it, such as an IntEnum, in the form number in {key.sort[0]}; or "
                f"take {fields[0]} as a parameter, and merge one read for each of its values.",
                context.where(schema.entity),
            )


@rule("newest-by-name", "Newest first by something that is not a time", "advice")
def newest_by_name(context: LintContext) -> Iterator[Occurrence]:
    """Backwards through the alphabet is not newest first."""
    for place, schema, pattern, key in context.queries():
        fields = _ordered_by(context, schema, pattern, key) if pattern.newest_first else []
        traits = [context.traits(schema, name) for name in fields]
        if not fields or any(trait.is_ordered or trait.is_sortable_id for trait in traits):
            continue
        times = [name for name in schema.fields if context.traits(schema, name).is_instant]
        if traits[0].is_plain_text and not (traits[0].is_formatted or traits[0].is_random_id):
            yield Occurrence(
                place,
                f"{place} reads newest first, but {key.sort[0]} sorts by {fields[0]}: items are returned in "
                "reverse alphabetical order"
                + (f", and {times[0]} does not matter." if times else ", where 9 comes before 10."),
                f"Sort an index by the time, or leave newest_first out if the order of {fields[0]} is meant."
                + ("" if times else f" If {fields[0]} is a number, declare it as one."),
                context.where(schema.entity),
            )
