"""Query templates: what of a read is the same whatever the values are.

A template is compiled from a pattern and the names of the fields that are given (see ``query_compiler``). It has the
expressions of the request, with placeholders, and for each placeholder a builder of its value; ``plan`` builds the
values. Only the bounds of a range are rendered each time, as that depends on the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from itertools import product
from typing import Any

from pydantic import BaseModel

from tablewright.dynamo import AttributeValue, Item
from tablewright.dynamo.expressions.builder import Placeholders, render
from tablewright.model import Entity, ModelError, Query, Schema, Template, schema_of
from tablewright.model.items.field_layout import encode_value
from tablewright.model.items.field_spec import FieldLocation
from tablewright.model.keys.fast_keys import AttributeBuilder, build_attributes
from tablewright.model.keys.key_forms import Field
from tablewright.model.keys.key_rules import KeyRule
from tablewright.store.context import Context
from tablewright.store.read.planning.key_range import ItemCheck, KeyRange, key_range
from tablewright.store.read.planning.read_plan import ReadPlan, ReadTarget

# An expression, its names, and the placeholders of the bounds in it.
BoundExpression = tuple[str, dict[str, str], list[str]]
# Builds the value of a placeholder, from the attributes that were given.
ValueBuilder = Callable[[Item], AttributeValue]


class AccessPath:
    """How a pattern reaches its items: by which key, of the table or of an index, and of which entities."""

    def __init__(
        self,
        owner: type,
        entity: type[Entity],
        name: str,
        index_name: str | None,
        query: Query,
        other_schemas: tuple[Schema, ...] = (),
        load_large: bool = True,
        projection: type[BaseModel] | None = None,
    ) -> None:
        self.schema = schema = schema_of(entity)
        self.pattern = name if "." in name else f"{owner.__name__}.{name}"
        self.query = query
        self.other_schemas = other_schemas
        self.load_large = load_large
        self.projection = projection
        # The fields that are read; empty for all of them, which an upgrade needs.
        is_partial = projection is not None and schema.upgrades is None
        self.project = tuple(projection.model_fields) if projection is not None and is_partial else ()
        # As a collection does.
        self.reads_whole_partition = owner is not entity
        table = schema.table
        self.index = None if index_name is None else table.index(index_name)
        self.partition = (table.partition,) if self.index is None else self.index.partition
        self.sort = table.key[1:] if self.index is None else self.index.sort
        self.key = tuple(dict.fromkeys(table.key + self.partition + self.sort))
        # The attributes that an index entry has; None for all of them.
        include = None if self.index is None else self.index.include
        self.available = None if include is None else frozenset([*self.key, *include])

    def target(self, fetches_from_table: bool, projected: tuple[str, ...]) -> ReadTarget:
        """What is read: all attributes, or some."""
        return ReadTarget(
            self.schema,
            self.pattern,
            "Query",
            self.key,
            self.sort,
            self.query.newest_first,
            fetches_from_table,
            projected,
            self.other_schemas,
            in_own_partition=self.index is None,
            load_large=self.load_large,
            projection=self.projection,
        )


@dataclass(slots=True)
class QueryTemplate:
    """A read plan without its values."""

    access_path: AccessPath
    # The number of attributes that are given.
    given_count: int
    target: ReadTarget = field(init=False)
    # The request without its values; the key condition lacks the bounds.
    body: dict[str, Any] = field(default_factory=dict)
    placeholders: Placeholders = field(default_factory=Placeholders)
    # The builders of values, by placeholder.
    builders: list[tuple[str, ValueBuilder]] = field(default_factory=list)
    # The same from field values directly; None if a value has none, or if more than values depends on them.
    fast_builders: list[tuple[str, AttributeBuilder]] | None = field(default_factory=list)
    # The placeholders of the partition key, and those of them that stand for several shards.
    partition: list[str] = field(default_factory=list)
    sharded: list[tuple[str, KeyRule]] = field(default_factory=list)
    bounded: BoundedKey | None = None
    # The key condition with bounds, by ``included_ends``.
    bound_expressions: dict[Any, BoundExpression] = field(default_factory=dict)
    # Attributes that must have one of these values; otherwise there is no item to read.
    allowed_values: list[tuple[str, tuple[AttributeValue | None, ...]]] = field(default_factory=list)
    # No item can match.
    is_empty: bool = False
    checks: list[ItemCheck] = field(default_factory=list)
    # The attributes that say which bucket is read, and nothing of the sort key.
    buckets: frozenset[str] = frozenset()

    def fast_plan(self, context: Context, values: Mapping[str, Any]) -> ReadPlan | None:
        """The plan for these field values, if it can be built from them directly."""
        if self.fast_builders is None:
            return None
        found = build_attributes(self.fast_builders, values, dict(self.placeholders.values))
        if found is None:
            return None
        table = context.name_of(self.target.schema.table)
        return ReadPlan(
            self.target, ({"TableName": table, **self.body, "ExpressionAttributeValues": found},), self.checks
        )

    def plan(self, context: Context, item: Item, bounds: Mapping[str, Any]) -> ReadPlan:
        """The plan for these attributes and bounds."""
        values = dict(self.placeholders.values)
        for placeholder, make in self.builders:
            values[placeholder] = make(item)
        name = context.name_of(self.target.schema.table)
        body = {"TableName": name, **self.body, "ExpressionAttributeValues": values}
        is_empty, checks = self.is_empty, self.checks
        for attribute, allowed in self.allowed_values:
            is_empty = is_empty or item[attribute] not in allowed
        if self.bounded is not None:
            rest = {name: value for name, value in item.items() if name not in self.buckets} if self.buckets else item
            within, more = self.bounded.within(rest, bounds)
            is_empty = is_empty or within.is_empty
            checks = [*checks, *more]
            self._bound(body, within)
        if is_empty:
            return ReadPlan(self.target, (), checks)
        if not self.sharded:
            return ReadPlan(self.target, (body,), checks)
        bodies = _for_each_shard(body, self.sharded)
        partitions: Sequence[Item] = ()
        if any(rule.was is not None for _, rule in self.sharded):
            partitions = [self._partition_of(each) for each in bodies]
        return ReadPlan(self.target, bodies, checks, partitions)

    def _partition_of(self, body: dict[str, Any]) -> Item:
        """The partition that a request reads."""
        values = body["ExpressionAttributeValues"]
        names = zip(self.access_path.partition, self.partition, strict=True)
        return {attribute: values[placeholder] for attribute, placeholder in names}

    def _bound(self, body: dict[str, Any], within: KeyRange) -> None:
        """Add the bounds of the sort key to a request."""
        assert self.bounded is not None
        texts = self.bound_expressions.get(within.included_ends)
        if texts is None:
            texts = self.bound_expressions[within.included_ends] = self._bound_expression(within)
        body["KeyConditionExpression"], body["ExpressionAttributeNames"], added = texts
        values = body["ExpressionAttributeValues"]
        values.update(zip(added, within.values, strict=True))

    def _bound_expression(self, within: KeyRange) -> BoundExpression:
        assert self.bounded is not None
        condition = within.condition(self.bounded.attribute)
        if condition is None:
            return self.body["KeyConditionExpression"], self.placeholders.names, []
        placeholders = self.placeholders.copy()
        before = len(placeholders.values)
        text = f"{self.body['KeyConditionExpression']} AND {render(condition, placeholders)}"
        return text, placeholders.names, list(placeholders.values)[before:]


def _for_each_shard(body: dict[str, Any], sharded: Sequence[tuple[str, KeyRule]]) -> list[dict[str, Any]]:
    """A request for each shard of a partition; first those that items move away from."""
    bodies = []
    for generations in _in_order([len(rule.suffixes) for _, rule in sharded]):
        chosen = [rule.suffixes[generation] for (_, rule), generation in zip(sharded, generations, strict=True)]
        for suffixes in product(*chosen):
            values = dict(body["ExpressionAttributeValues"])
            for (placeholder, _), suffix in zip(sharded, suffixes, strict=True):
                values[placeholder] = {"S": values[placeholder]["S"] + suffix}
            bodies.append({**body, "ExpressionAttributeValues": values})
    return bodies


def _in_order(numbers: Sequence[int]) -> list[tuple[int, ...]]:
    """The combinations of generations, each after those that items move away from."""
    return sorted(product(*map(range, numbers)), key=sum)


@dataclass(slots=True)
class BoundedKey:
    """A key attribute with bounds: on itself, or on a field of its template, after what comes before that."""

    schema: Schema
    attribute: str
    range_field: str
    location: FieldLocation
    template: Template | None = None
    part: Field | None = None
    is_day_only: bool = field(init=False)
    _name: str = field(init=False)

    def __post_init__(self) -> None:
        self._name = f"{self.schema.entity.__name__}.{self.range_field}"
        self.is_day_only = self.part is not None and self.part.is_time_part

    def within(self, item: Item, bounds: Mapping[str, Any]) -> tuple[KeyRange, list[ItemCheck]]:
        """The range of the attribute, and the checks for what it cannot express."""
        within = self._values_within(bounds)
        checks = []
        if self.template is not None and self.part is not None:
            if self.is_day_only:
                checks.append(within.check(self.part.name))
            within = key_range(
                self.template.prefix(item)[0], self.part, within, self.is_day_only, self.part is self.template.parts[-1]
            )
        if not within.is_exact:
            checks.append(within.check(self.attribute))
        return within, checks

    def _values_within(self, bounds: Mapping[str, Any]) -> KeyRange:
        """The bounds as stored values; a date stands for the whole day if the field is a time."""
        within = KeyRange()
        for bound, value in bounds.items():
            if bound == "begins_with":
                if not isinstance(value, str):
                    raise ModelError(f"{self._name}, begins_with: {value!r} is not text")
                within.prefix = {"S": value}
                continue
            if type(value) is date and datetime in self.location.coercion.bound_encoders:
                edge = time.min if bound in ("since", "before") else time.max
                value = datetime.combine(value, edge, UTC)
            stored = encode_value(self.location, value, f"{self._name}, {bound}", is_bound=True)
            assert stored is not None
            if bound in ("since", "after"):
                within.low = (stored, bound == "since")
            else:
                within.high = (stored, bound == "until")
        return within
