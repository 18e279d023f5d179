"""The design document, generated from the design, so that it is never out of date.

    to_markdown(document(design))

Tables and indexes, entities with attributes and keys, item collections, access patterns, writes and reactions, roles,
sample items, capacity and cost. The same design always gives the same document.
"""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from itertools import groupby
from textwrap import dedent

from tablewright.design.cost.capacity_estimate import CapacityEstimate
from tablewright.design.cost.cost_report import cost_blocks
from tablewright.design.cost.monthly_bill import plan_costs
from tablewright.design.cost.write_actions import is_transaction
from tablewright.design.document.design_outline import key_text, state_text
from tablewright.design.document.key_tables import key_tables
from tablewright.design.document.mermaid import collection_diagram, entity_diagram, flow_diagram, type_text
from tablewright.design.document.svg_diagrams import collection_drawing, entity_drawing, flow_drawing
from tablewright.design.filter_fields import has_filter, restrictions
from tablewright.design.place_names import place_text
from tablewright.design.report.number_format import units_text
from tablewright.design.report.report_blocks import Block, Bullets, Code, DesignReport, Diagram, Grid, Heading, Text
from tablewright.design.sample_entities import sample
from tablewright.model import (
    CollectionQuery,
    Design,
    Expiry,
    Get,
    Index,
    ItemWrite,
    Large,
    Numbered,
    Personal,
    Query,
    Retain,
    Schema,
    Table,
    Unique,
    schemas_of,
)
from tablewright.model.items.field_spec import FieldSpec

__all__ = ["document"]


def document(design: Design) -> DesignReport:
    """The design document."""
    parts = (
        _introduction(design),
        _tables(design),
        _entities(design),
        _collections(design),
        _patterns(design),
        _writes(design),
        _roles(design),
        _accepted(design),
        key_tables(design),
        _samples(design),
        _costs(design),
    )
    return DesignReport(design.name, [block for part in parts for block in part])


def _introduction(design: Design) -> Iterator[Block]:
    yield from _prose(design.about)
    tables, entities = len(design.tables), len(list(design.schemas))
    yield Text(
        f"{_count(tables, 'table')}, {_count(entities, 'entity', 'entities')}, "
        f"{_count(len(design.patterns), 'access pattern')}, {_count(len(design.writes), 'write')}. "
        "Generated from the model by `tablewright docs`; change the model, not this page."
    )


# -- tables ---------------------------------------------------------------------------------------------------------


def _tables(design: Design) -> Iterator[Block]:
    yield Heading("Tables")
    for table in design.tables:
        yield Heading(f"Table `{table.name}`", 3)
        yield Grid(["setting", "value"], list(_settings(table)))
        if table.indexes:
            yield Grid(
                ["index", "kind", "partition key", "sort key", "projection", "entities"],
                [_index_row(table, index) for index in table.indexes],
            )
    if design.internal_tables:
        names = ", ".join(f"`{table.name}`" for table in design.internal_tables)
        yield Text(f"Internal tables, which systems share: {names}.")


def _settings(table: Table) -> Iterator[list[str]]:
    yield ["partition key", f"`{table.partition}` ({table.types.get(table.partition, 'S')})"]
    if table.sort is not None:
        yield ["sort key", f"`{table.sort}` ({table.types.get(table.sort, 'S')})"]
    yield ["billing", "on demand"]
    if table.type_attribute is not None:
        yield ["type attribute", f"`{table.type_attribute}`"]
    yield ["time to live", f"`{table.ttl}`" if table.ttl else "off"]
    yield ["stream", table.stream or "off"]
    yield ["point-in-time recovery", "on" if table.point_in_time_recovery else "off"]
    yield ["encryption with a KMS key", "on" if table.encryption else "off"]
    yield ["deletion protection", "on" if table.deletion_protection else "off"]
    if table.tags:
        yield ["tags", ", ".join(f"{name}={value}" for name, value in table.tags.items())]


def _index_row(table: Table, index: Index) -> list[str]:
    projection = "all" if index.include is None else "keys" if not index.include else ", ".join(index.include)
    entities = [schema.entity.__name__ for schema in schemas_of(table) if schema.covers(index)]
    return [
        f"`{index.name}`",
        "global" if index.is_global else "local",
        ", ".join(f"`{name}`" for name in index.partition),
        ", ".join(f"`{name}`" for name in index.sort) or "-",
        projection,
        ", ".join(entities) or "-",
    ]


# -- entities -------------------------------------------------------------------------------------------------------


def _entities(design: Design) -> Iterator[Block]:
    yield Heading("Entities")
    yield Diagram(entity_diagram(design), entity_drawing(design))
    for schema in design.schemas:
        yield Heading(schema.entity.__name__, 3)
        # The docstring of the class itself, not of a base.
        yield from _prose(schema.entity.__dict__.get("__doc__"))
        yield Grid(
            ["attribute", "field", "type", "meaning"],
            [
                [
                    f"`{spec.attribute}`",
                    f"`{name}`",
                    type_text(schema, name).replace("_or_", " or "),
                    _meaning(schema, spec),
                ]
                for name, spec in schema.fields.items()
            ],
        )
        rows = [_key_row(schema, attribute) for attribute in schema.table.key_attributes if _has_key(schema, attribute)]
        yield Grid(["key attribute", "template", "key of", "present if"], rows)


def _meaning(schema: Schema, spec: FieldSpec) -> str:
    info = schema.entity.model_fields[spec.name]
    parts = [info.description or ""]
    if spec is schema.version:
        parts.append("optimistic lock")
    for known, text in ((schema.created, "when it was created"), (schema.updated, "when it was last written")):
        if spec is known:
            parts.append(text)
    if spec in schema.unique:
        parts.append(_uniqueness(spec.marker(Unique)))
    if spec in schema.numbered:
        per = spec.marker(Numbered).per
        parts.append("numbered" + (f" for each {', '.join(per)}" if per else ""))
    for counter in schema.counts:
        if counter.spec is spec:
            what = "counts" if counter.amount is None else f"sums {counter.source.field_path(counter.amount)} of"
            where = "" if counter.where is None else f" where {counter.where.text}"
            parts.append(f"{what} {counter.source.entity.__name__}{where}, kept by the {counter.kept_by}")
    if spec is schema.expiry:
        expiry = spec.marker(Expiry)
        if isinstance(expiry, Retain) and expiry.after is not None:
            parts.append(f"retention: kept for {_duration(expiry.after)} after its last write")
        else:
            parts.append("when it expires" + (f", by default after {_duration(expiry.after)}" if expiry.after else ""))
    personal = spec.marker(Personal)
    if personal is not None:
        kind = "" if personal.kind == "value" else f" ({personal.kind})"
        parts.append(f"personal{kind}" + (f", kept: {personal.keep}" if personal.keep else ""))
    if spec in schema.large:
        parts.append(f"stored as a blob if the item exceeds {spec.marker(Large).threshold:,} bytes")
    if info.is_required():
        parts.append("required")
    elif info.default is not None and info.default_factory is None and spec not in (schema.version, *schema.numbered):
        default = getattr(info.default, "value", info.default)
        if isinstance(default, str | int | float | Decimal) and default != "":
            parts.append(f"by default {default}")
    return "; ".join(filter(None, parts))


def _uniqueness(marker: Unique) -> str:
    together = f" together with {' and '.join(marker.per)}" if marker.per else ""
    scope = "" if marker.scope is None else f" among {marker.scope}"
    return f"unique{together}{scope}{' in any case' if marker.ignore_case else ''}"


def _has_key(schema: Schema, attribute: str) -> bool:
    return attribute in schema.key_rules or attribute in schema.by_attribute


def _key_row(schema: Schema, attribute: str) -> list[str]:
    places = [schema.table.name] if attribute in schema.table.key else []
    places += [index.name for index in schema.table.indexes if attribute in index.attributes and schema.covers(index)]
    return [
        f"`{attribute}`",
        f"`{key_text(schema, attribute)}`",
        ", ".join(places) or "-",
        state_text(schema, attribute) or "always",
    ]


def _collections(design: Design) -> Iterator[Block]:
    yield Heading("Item collections")
    yield Text("Items with the same partition key are stored together, sorted by their sort keys.")
    yield Diagram(collection_diagram(design), collection_drawing(design))
    if design.collections:
        yield Grid(
            ["collection", "members"],
            [
                [
                    kind.__name__,
                    ", ".join(
                        f"{member.name}: {'many ' if member.many else 'optional ' if member.optional else ''}"
                        f"{' or '.join(schema.entity.__name__ for schema in member.schemas)}"
                        for member in kind.members_
                    ),
                ]
                for kind in design.collections
            ],
        )


# -- patterns and writes --------------------------------------------------------------------------------------------


def _patterns(design: Design) -> Iterator[Block]:
    if not design.patterns:
        return
    capacity = CapacityEstimate(design)
    rows = []
    for name, (whose, pattern) in design.patterns.items():
        schema = whose if isinstance(whose, Schema) else whose.members_[0].schema
        rows.append(
            [
                f"`{name}`",
                _operation(pattern),
                place_text(schema.table.name, pattern.index),
                _condition(schema, pattern),
                _details(schema, pattern),
                units_text(sum((units.read for units in capacity.of(name)), Decimal(0))),
            ]
        )
    yield Heading("Access patterns")
    yield Grid(["pattern", "operation", "reads", "by", "how", "read units"], rows, ["read units"])
    if design.required_reads:
        yield Text("Required reads:")
        yield Bullets(
            [f"{read.name}: {read.entity.__name__} by {', '.join(read.by)}" for read in design.required_reads]
        )


def _operation(pattern: Get | Query | CollectionQuery) -> str:
    return "GetItem" if isinstance(pattern, Get) and pattern.index is None else "Query"


def _condition(schema: Schema, pattern: Get | Query | CollectionQuery) -> str:
    table = schema.table
    index = None if pattern.index is None else table.index(pattern.index)
    partition = (table.partition,) if index is None else index.partition
    sort = table.key[1:] if index is None else index.sort
    parts = [f"`{name} = {key_text(schema, name)}`" for name in partition]
    if isinstance(pattern, Get):
        parts += [f"`{name} = {key_text(schema, name)}`" for name in sort if index is None]
    elif isinstance(pattern, Query):
        for name in sort:
            text = key_text(schema, name)
            head = text.partition("{")[0]
            if pattern.range is not None and f"{{{pattern.range}" in text:
                parts.append(f"range of `{name}` by {pattern.range}")
            elif head and head != text:
                parts.append(f"`{name}` begins with `{head}`")
            elif head:
                parts.append(f"`{name} = {text}`")
    return " and ".join(parts)


def _details(schema: Schema, pattern: Get | Query | CollectionQuery) -> str:
    parts = []
    if isinstance(pattern, Query):
        parts += [f"{name} = {getattr(value, 'value', value)}" for name, value in pattern.fixed.items()]
    if isinstance(pattern, Query | CollectionQuery) and pattern.newest_first:
        parts.append("descending")
    if has_filter(pattern):
        names = dict.fromkeys(each.field for each in restrictions(schema, pattern))
        parts.append(f"filtered by {', '.join(names)}" if names else "filtered")
    if isinstance(pattern, Query) and pattern.project:
        parts.append(f"only {', '.join(pattern.project)}")
    if isinstance(pattern, Query | CollectionQuery) and pattern.expected is not None:
        parts.append(f"about {pattern.expected} items")
    parts.append("strongly consistent" if pattern.consistent else "eventually consistent")
    return ", ".join(parts)


def _writes(design: Design) -> Iterator[Block]:
    flow = flow_diagram(design)
    if flow is None:
        return
    capacity = CapacityEstimate(design)
    yield Heading("Writes")
    rows = []
    for write in design.writes.values():
        rows.append(
            [
                f"`{write.name}`",
                "; ".join(
                    [
                        *(
                            f"read {name}{f' ({times} times)' if times > 1 else ''}"
                            for name, times in Counter(write.reads).items()
                        ),
                        *map(_touch_text, write.item_writes),
                        *(f"check {each.__name__}" for each in write.checks),
                    ]
                ),
                "batches" if write.is_batch else "transaction" if is_transaction(write) else "one item",
                units_text(sum((units.write for units in capacity.of(write.name)), Decimal(0))),
                write.about,
            ]
        )
    yield Grid(["write", "items", "as", "write units", "about"], rows, ["write units"])
    if design.reactions:
        yield Heading("Reactions", 3)
        yield Grid(
            ["reaction", "to", "effect", "source", "consumer", "write", "redelivery"],
            [
                [
                    f"`{each.name}`",
                    f"{', '.join(sorted(each.events))} of {each.entity.__name__}",
                    each.effect,
                    "the stream" if each.source == "stream" else "the writer",
                    each.consumer or "-",
                    "-" if each.write is None else f"`{each.write}`",
                    "has no effect" if each.once else "repeats the effect",
                ]
                for each in design.reactions
            ],
        )
    yield Diagram(flow, flow_drawing(design))


def _touch_text(item_write: ItemWrite) -> str:
    changes = [
        *item_write.sets,
        *(f"add to {name}" for name in item_write.adds),
        *(f"append to {name}" for name in item_write.appends),
    ]
    many = "" if item_write.count == 1 else f" (up to {item_write.count})"
    return f"{item_write.action} {item_write.entity.__name__}{many}" + (f": {', '.join(changes)}" if changes else "")


def _roles(design: Design) -> Iterator[Block]:
    if design.roles:
        yield Heading("Roles")
        yield Bullets(
            [
                f"{role}: {', '.join(f'`{name}`' for name in names) or 'nothing'}"
                + (f"; only items with their own `{design.tenants[role]}`" if role in design.tenants else "")
                for role, names in design.roles.items()
            ]
        )


def _accepted(design: Design) -> Iterator[Block]:
    if design.accepted:
        yield Heading("Accepted findings")
        yield Grid(
            ["lint rule", "place", "reason"],
            [[f"`{each.rule}`", f"`{each.place}`", each.reason] for each in design.accepted],
        )


def _samples(design: Design) -> Iterator[Block]:
    yield Heading("Sample items")
    for schema in design.schemas:
        yield Text(f"`{schema.entity.__name__}`:")
        attributes = [
            f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
            for name, value in sample(schema.entity).item().items()
        ]
        yield Code("\n".join(["{", ",\n".join(attributes), "}"]), "json")


def _costs(design: Design) -> Iterator[Block]:
    yield Heading("Capacity and cost")
    yield from cost_blocks(plan_costs(design), 3)


def _prose(text: str | None) -> Iterator[Block]:
    """The text of a docstring: paragraphs, and indented blocks as code."""
    lines = inspect.cleandoc(text or "").splitlines()
    for indented, group in groupby(_paragraphs(lines), key=lambda part: any(line.startswith("  ") for line in part)):
        if indented:
            yield Code(dedent("\n\n".join("\n".join(part) for part in group)), "text")
        else:
            yield from (Text(" ".join(" ".join(part).replace("``", "`").split())) for part in group)


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        if not blank:
            yield list(group)


def _duration(time: timedelta) -> str:
    """A duration in the largest unit that divides it."""
    seconds = int(time.total_seconds())
    for unit, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds and seconds % unit == 0:
            return _count(seconds // unit, name)
    return _count(seconds, "second")


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
