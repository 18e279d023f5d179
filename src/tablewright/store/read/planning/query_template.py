"""Outlines: what of a read is the same whatever the values are.

An outline is made from a pattern and the fields that are given (see ``outlining``). It has the expressions of the
request, with placeholders, and for each placeholder what makes its value; ``Outline.plan`` makes the values. Only the
bounds of a range are worked out anew each time, as the values decide how they can be said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from itertools import product
from typing import Any

from tablewright.dynamo import AttributeValue, Item
from tablewright.dynamo.expressions.builder import Placeholders, render
from tablewright.model import Entity, Query, schema_of
from tablewright.model.declarations import KeyRule
from tablewright.model.items.field_layout import encode_value
from tablewright.model.items.field_spec import FieldLocation
from tablewright.model.keys.fast_keys import AttributeBuilder, build_attributes
from tablewright.model.keys.key_template import Field, Template
from tablewright.model.schema import Schema
from tablewright.store.context import Context
from tablewright.store.read.planning.key_range import Check, Range, keys_within
from tablewright.store.read.planning.read_plan import Plan, Scope

# An expression, its names, and the placeholders of the bounds in it.
BoundText = tuple[str, dict[str, str], list[str]]
# Gives the value of a placeholder, from the values that were given.
Maker = Callable[[Item], AttributeValue]


class Way:
    """What of a pattern is the same in every read: which key it goes by, of which entities."""

    def __init__(
        self,
        owner: type,
        entity: type[Entity],
        name: str,
        index_name: str | None,
        query: Query,
        others: tuple[Schema, ...] = (),
        whole: bool = True,
    ) -> None:
        self.schema = schema = schema_of(entity)
        self.pattern = f"{owner.__name__}.{name}"
        self.query = query
        self.others = others
        self.whole = whole
        # A collection has all of it.
        self.whole_partition = owner is not entity
        table = schema.table
        self.index = None if index_name is None else table.index(index_name)
        self.partition = (table.partition,) if self.index is None else self.index.partition
        self.sort = table.key[1:] if self.index is None else self.index.sort
        self.key = tuple(dict.fromkeys(table.key + self.partition + self.sort))
        # What an entry has; None for everything.
        include = None if self.index is None else self.index.include
        self.has = None if include is None else frozenset([*self.key, *include])

    def scope(self, partial: bool, projected: tuple[str, ...]) -> Scope:
        """What is read, of all attributes or of some."""
        return Scope(
            self.schema,
            self.pattern,
            "Query",
            self.key,
            self.sort,
            self.query.newest_first,
            partial,
            projected,
            self.others,
            in_own_partition=self.index is None,
            whole=self.whole,
        )


@dataclass(slots=True)
class Outline:
    """A plan without its values."""

    way: Way
    # How many attributes were given.
    given: int
    scope: Scope = field(init=False)
    # The request, but for its values; the key condition lacks the bounds.
    body: dict[str, Any] = field(default_factory=dict)
    placeholders: Placeholders = field(default_factory=Placeholders)
    # What makes the values that follow from those given, by placeholder.
    makers: list[tuple[str, Maker]] = field(default_factory=list)
    # The same straight from field values, if there is such a one for each, and no more follows from the values.
    straight: list[tuple[str, AttributeBuilder]] | None = field(default_factory=list)
    # The placeholders of the partition key, and of those the ones that stand for several partitions.
    partition: list[str] = field(default_factory=list)
    sharded: list[tuple[str, KeyRule]] = field(default_factory=list)
    bounded: Bounded | None = None
    # The key condition with bounds, by their shape.
    bound_texts: dict[Any, BoundText] = field(default_factory=dict)
    # Attributes that must have one of some values, or there is nothing to read.
    states: list[tuple[str, tuple[AttributeValue, ...]]] = field(default_factory=list)
    nothing: bool = False
    checks: list[Check] = field(default_factory=list)

    def straight_plan(self, context: Context, values: Mapping[str, Any]) -> Plan | None:
        """The plan for these values of fields, if it can be made without an item of them."""
        if self.straight is None:
            return None
        found = build_attributes(self.straight, values, dict(self.placeholders.values))
        if found is None:
            return None
        table = context.name_of(self.scope.schema.table)
        return Plan(self.scope, ({"TableName": table, **self.body, "ExpressionAttributeValues": found},), self.checks)

    def plan(self, context: Context, item: Item, bounds: Mapping[str, Any]) -> Plan:
        """The plan for these attributes and bounds."""
        values = dict(self.placeholders.values)
        for placeholder, make in self.makers:
            values[placeholder] = make(item)
        name = context.name_of(self.scope.schema.table)
        body = {"TableName": name, **self.body, "ExpressionAttributeValues": values}
        nothing, checks = self.nothing, self.checks
        for attribute, allowed in self.states:
            nothing = nothing or item[attribute] not in allowed
        if self.bounded is not None:
            within, more = self.bounded.within(item, bounds)
            nothing = nothing or within.is_empty
            checks = [*checks, *more]
            self._bound(body, within)
        if nothing:
            return Plan(self.scope, (), checks)
        if not self.sharded:
            return Plan(self.scope, (body,), checks)
        bodies = _spread(body, self.sharded)
        partitions: Sequence[Item] = ()
        if any(rule.was is not None for _, rule in self.sharded):
            partitions = [self._partition_of(each) for each in bodies]
            names = partitions[0].keys()
            checks = [*checks, lambda item: {name: item.get(name) for name in names} in partitions]
        return Plan(self.scope, bodies, checks, partitions)

    def _partition_of(self, body: dict[str, Any]) -> Item:
        """The partition that a request reads."""
        values = body["ExpressionAttributeValues"]
        names = zip(self.way.partition, self.partition, strict=True)
        return {attribute: values[placeholder] for attribute, placeholder in names}

    def _bound(self, body: dict[str, Any], within: Range) -> None:
        """Put bounds of the sort key into a request."""
        assert self.bounded is not None
        texts = self.bound_texts.get(within.shape)
        if texts is None:
            texts = self.bound_texts[within.shape] = self._bound_text(within)
        body["KeyConditionExpression"], body["ExpressionAttributeNames"], places = texts
        values = body["ExpressionAttributeValues"]
        bounds = [bound[0] for bound in (within.low, within.high) if bound is not None]
        values.update(zip(places, bounds, strict=True))

    def _bound_text(self, within: Range) -> BoundText:
        assert self.bounded is not None
        condition = within.condition(self.bounded.attribute)
        if condition is None:
            return self.body["KeyConditionExpression"], self.placeholders.names, []
        placeholders = self.placeholders.copy()
        before = len(placeholders.values)
        text = f"{self.body['KeyConditionExpression']} AND {render(condition, placeholders)}"
        return text, placeholders.names, list(placeholders.values)[before:]


def _spread(body: dict[str, Any], sharded: Sequence[tuple[str, KeyRule]]) -> list[dict[str, Any]]:
    """A request for each shard of a partition, those first that items move away from."""
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
    """The combinations of generations, none before one that items come from."""
    return sorted(product(*map(range, numbers)), key=sum)


@dataclass(slots=True)
class Bounded:
    """A key attribute that is bounded: by itself, or as the field of a template, behind what comes before it."""

    schema: Schema
    attribute: str
    range_field: str
    place: FieldLocation
    template: Template | None = None
    part: Field | None = None
    by_day: bool = field(init=False)
    _name: str = field(init=False)

    def __post_init__(self) -> None:
        self._name = f"{self.schema.entity.__name__}.{self.range_field}"
        self.by_day = self.part is not None and self.part.form == "date"

    def within(self, item: Item, bounds: Mapping[str, Any]) -> tuple[Range, list[Check]]:
        """The bounds of the attribute, and what they do not say."""
        within = self._values_within(bounds)
        checks = []
        if self.template is not None and self.part is not None:
            if self.by_day:
                checks.append(within.check(self.part.name))
            within = keys_within(self.template.prefix(item)[0], self.part, within, self.by_day)
        if not within.is_said_in_full:
            checks.append(within.check(self.attribute))
        return within, checks

    def _values_within(self, bounds: Mapping[str, Any]) -> Range:
        """The bounds as stored values; a date stands for the whole day where the field is a time."""
        within = Range()
        for bound, value in bounds.items():
            if type(value) is date and datetime in self.place.coercion.bound_encoders:
                edge = time.min if bound in ("since", "before") else time.max
                value = datetime.combine(value, edge, UTC)
            stored = encode_value(self.place, value, f"{self._name}, {bound}", is_bound=True)
            assert stored is not None
            if bound in ("since", "after"):
                within.low = (stored, bound == "since")
            else:
                within.high = (stored, bound == "until")
        return within
