"""Outlines: what of a read is the same whatever the values are.

An outline is made from a pattern and the fields that are given (``outlined``). It has the expressions of the request,
with placeholders, and for each placeholder what makes its value; ``Outline.plan`` makes the values. Only the bounds of
a range are worked out anew each time, as the values decide how they can be said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from itertools import product
from operator import itemgetter
from typing import Annotated, Any, get_args, get_origin

from tablewright.model import Entity, ModelError, Query, schema_of
from tablewright.model.fields import KINDS, Place
from tablewright.model.key_makers import AttributeMaker, attribute_maker, made
from tablewright.model.keys import PAST, AttributeValue, Field, Part, Template, lookup
from tablewright.model.rules import OUTSIDE, KeyRule
from tablewright.model.schema import Item, Schema
from tablewright.store.context import Context
from tablewright.store.expressions import (
    Between,
    Called,
    Compared,
    Condition,
    OneOf,
    Placeholders,
    all_of,
    equals,
    missing,
)
from tablewright.store.ranges import Check, Range, keys_within
from tablewright.store.scopes import Plan, Scope

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
    straight: list[tuple[str, AttributeMaker]] | None = field(default_factory=list)
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
        found = made(self.straight, values, dict(self.placeholders.values))
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
        text = f"{self.body['KeyConditionExpression']} AND {condition.render(placeholders)}"
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
    place: Place
    template: Template | None = None
    part: Field | None = None
    by_day: bool = field(init=False)
    _is_time: bool = field(init=False)
    _is_text: bool = field(init=False)

    def __post_init__(self) -> None:
        spec = self.schema.fields.get(self.range_field)
        self.by_day = self.part is not None and self.part.form == "date"
        self._is_time = spec is not None and _mentions(spec.annotation, datetime)
        self._is_text = spec is not None and _mentions(spec.annotation, str)

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
            if isinstance(value, date) and not isinstance(value, datetime) and self._is_time:
                edge = time.min if bound in ("since", "before") else time.max
                value = datetime.combine(value, edge, UTC)
            elif isinstance(value, str) and self._is_time and not self._is_text:
                # It would be compared as it is, and find nothing or too much.
                name = f"{self.schema.entity.__name__}.{self.range_field}"
                raise ModelError(f"{name} is a time, so {bound} is a datetime or a date, not {value!r}")
            stored = self.place.encode(value)
            if stored is None or self.place.tags.isdisjoint(stored):
                name, types = f"{self.schema.entity.__name__}.{self.range_field}", self.place.types
                kinds = " or ".join(words for kind, words in KINDS.items() if kind in types and kind != "NULL")
                raise ModelError(f"{name} is {kinds}, so {bound} is not {value!r}")
            if bound in ("since", "after"):
                within.low = (stored, bound == "since")
            else:
                within.high = (stored, bound == "until")
        return within


# -- making an outline ----------------------------------------------------------------------------------------------


def outlined(way: Way, item: Item, bounds: Mapping[str, Any], consistent: bool, keys_only: bool) -> Outline:
    """The outline of a read that is given the attributes of an item, and bounds of these names."""
    return _Outliner(way, item).outline(bounds, consistent, keys_only)


class _Outliner:
    def __init__(self, way: Way, item: Item) -> None:
        self.way = way
        self.schema = way.schema
        self.item = item
        self.result = Outline(way, len(item))
        # Attributes of the values given that have become part of a condition.
        self.used: set[str] = set()
        self.key_conditions: list[str] = []
        # Attributes that the checks look at.
        self.checked: list[str] = []

    def outline(self, bounds: Mapping[str, Any], consistent: bool, keys_only: bool) -> Outline:
        way, query, index, result = self.way, self.way.query, self.way.index, self.result
        if consistent and index is not None and index.is_global:
            raise ModelError(
                f"{way.pattern} reads the global index {index.name}, which is always eventually consistent; "
                "read the item by its primary key where that is not enough"
            )
        for attribute in way.partition:
            self._partition(attribute)
        if not way.whole_partition:
            self._sort(bounds)
        self._check_all_used()
        filtered = self._filter(query.where)
        projected = self._projected(query.project, keys_only) if query.project or keys_only else ()
        lacking = way.has is not None and (not projected or not way.has.issuperset(projected))
        partial = lacking and index is not None and index.is_global
        result.scope = way.scope(partial, projected)
        body = result.body
        if index is not None:
            body["IndexName"] = index.name
        if lacking and not partial and not projected:
            body["Select"] = "ALL_ATTRIBUTES"
        if query.newest_first:
            body["ScanIndexForward"] = False
        if consistent:
            body["ConsistentRead"] = True
        body["KeyConditionExpression"] = " AND ".join(self.key_conditions)
        if filtered:
            body["FilterExpression"] = filtered
        if projected and not partial:
            body["ProjectionExpression"] = ", ".join(map(result.placeholders.path, projected))
        body["ExpressionAttributeNames"] = result.placeholders.names
        if result.nothing or result.states or result.sharded or result.bounded is not None:
            result.straight = None
        return result

    def _place(self, condition: Condition, *makers: Maker, straight: AttributeMaker | None = None) -> list[str]:
        """Add a condition on the key, with what makes its values, which are blanks in the condition; if nothing does,
        they are as they are in it. Gives their placeholders. ``straight`` is the only maker again."""
        placeholders, result = self.result.placeholders, self.result
        before = len(placeholders.values)
        self.key_conditions.append(condition.render(placeholders))
        added = list(placeholders.values)[before:]
        if makers:
            result.makers += zip(added, makers, strict=True)
            if straight is None:
                result.straight = None
            elif result.straight is not None:
                result.straight.append((added[0], straight))
        return added

    def _straight(self, attribute: str, parts: Sequence[Part] | None = None) -> AttributeMaker | None:
        return attribute_maker(self.schema, attribute, parts)

    def _projected(self, project: Sequence[str], keys_only: bool) -> tuple[str, ...]:
        """The attributes to ask for: those of the fields wanted, and those that tell whether an item counts."""
        schema = self.schema
        telling = [schema.table.type_attribute, None if schema.expiry is None else schema.expiry.attribute]
        wanted = [] if keys_only else [schema.place(name, self.way.pattern).steps[0] for name in project]
        if any(spec.attribute in wanted for spec in schema.large):
            telling.append(OUTSIDE)
        names = [*self.way.key, *telling, *self.checked, *wanted]
        return tuple(dict.fromkeys(name for name in names if name is not None))

    # -- the partition key --------------------------------------------------------------------------------------

    def _partition(self, attribute: str) -> None:
        if attribute == self.schema.table.type_attribute:
            self.result.partition += self._place(self._is_of_the_entity(attribute))
            return
        rule = self.schema.rules.get(attribute)
        make: Maker
        if rule is None:
            self.used.add(attribute)
            if attribute not in self.item:
                raise self._lacks([attribute])
            make = itemgetter(attribute)
            straight = self._straight(attribute)
        else:
            template = rule.template
            self._use(template, None)
            lacking = [name for name in sorted(template.required) if lookup(self.item, name) is None]
            if lacking:
                raise self._lacks(lacking)
            make = _text(template.render)
            straight = None if template.optional else self._straight(attribute, template.parts)
        (placeholder,) = self._place(Compared(attribute, "=", _BLANK), make, straight=straight)
        self.result.partition.append(placeholder)
        if rule is not None and rule.is_spread:
            self.result.sharded.append((placeholder, rule))

    def _is_of_the_entity(self, attribute: str) -> Condition:
        """The condition on a type attribute that is part of the key: it is nothing that a caller gives."""
        return Compared(attribute, "=", {"S": self.schema.type_name})

    def _lacks(self, paths: Sequence[str]) -> ModelError:
        names = " and ".join(self.schema.field_path(path) for path in paths)
        return ModelError(f"{self.way.pattern} needs {names}, which its partition key is made of")

    def _use(self, template: Template, until: str | None) -> None:
        """Count the fields of a template that were given, up to one, as made use of."""
        for part in template.fields:
            if part.name == until:
                return
            self.used.add(part.name.partition(".")[0])

    # -- the sort key -------------------------------------------------------------------------------------------

    def _sort(self, bounds: Mapping[str, Any]) -> None:
        range_field = self.way.query.range
        target = self.schema.path(range_field) if bounds and range_field is not None else None
        for attribute in self.way.sort:
            if attribute == self.schema.table.type_attribute:
                self._place(self._is_of_the_entity(attribute))
                continue
            rule = self.schema.rules.get(attribute)
            open_field = None
            if rule is None:
                if attribute in self.item:
                    self.used.add(attribute)
                    self._place(
                        Compared(attribute, "=", _BLANK), itemgetter(attribute), straight=self._straight(attribute)
                    )
                    continue
                if target == attribute:
                    self._bounded(attribute)
                break
            template = rule.template
            open_field = template.prefix(self.item)[1]
            self._use(template, None if open_field is None else open_field.name)
            if open_field is None:
                straight = self._straight(attribute, template.parts + template.optional)
                self._place(Compared(attribute, "=", _BLANK), _text(template.beginning()), straight=straight)
                continue
            if target == open_field.name:
                self._bounded(attribute, template, open_field)
            else:
                self._open(attribute, template, open_field)
            break
        if bounds and self.result.bounded is None:
            raise ModelError(
                f"{self.way.pattern}: {range_field} cannot be bounded by {' and '.join(bounds)}: "
                f"it must be the first part of the sort key that is not given"
            )

    def _open(self, attribute: str, template: Template, open_field: Field) -> None:
        """The keys whose first fields are those given."""
        first_optional = next((part.name for part in template.fields if part.name not in template.required), None)
        if open_field.name == first_optional:
            # The key may end here, or go on with its optional part.
            self._place(
                Between(attribute, _BLANK, _BLANK),
                _text(template.render),
                lambda item: {"S": f"{template.render(item)}{PAST}"},
            )
            return
        beginning = template.prefix(self.item)[0]
        if open_field is template.fields[0]:
            # Nothing in it follows from what is given.
            if beginning:
                self._place(Called("begins_with", attribute, {"S": beginning}))
        else:
            parts = template.parts + template.optional
            straight = self._straight(attribute, parts[: parts.index(open_field)])
            make = _text(template.beginning(open_field))
            self._place(Called("begins_with", attribute, _BLANK), make, straight=straight)

    def _bounded(self, attribute: str, template: Template | None = None, part: Field | None = None) -> None:
        range_field = self.way.query.range
        assert range_field is not None
        place = self.schema.place(range_field, self.way.pattern)
        bounded = self.result.bounded = Bounded(self.schema, attribute, range_field, place, template, part)
        if bounded.by_day and part is not None:
            self.checked.append(part.name.partition(".")[0])

    def _check_all_used(self) -> None:
        rules = [self.schema.rules[name] for name in self.way.partition + self.way.sort if name in self.schema.rules]
        for attribute in (name for name in self.item if name not in self.used):
            states = [rule.when[attribute] for rule in rules if attribute in rule.when]
            name = self.schema.field_path(attribute)
            if not states:
                raise ModelError(
                    f"{self.way.pattern}: {name} cannot be given: it is no part of the key, "
                    "or a part of the sort key before it is not given"
                )
            self.result.states += [(attribute, allowed) for allowed in states]

    # -- the filter ---------------------------------------------------------------------------------------------

    def _filter(self, where: Mapping[str, Any]) -> str:
        """The conditions outside of the key. What an index does not have, DynamoDB cannot filter by: it is checked."""
        rendered = []
        for name, wanted in where.items():
            place = self.schema.place(name, self.way.pattern)
            path = ".".join(place.steps)
            if path in self.way.partition + self.way.sort:
                raise ModelError(f"{self.way.pattern}: {name} is part of the key, so it cannot be in where")
            several = isinstance(wanted, list | tuple | set | frozenset)
            options = [None if value is None else place.encode(value) for value in (wanted if several else [wanted])]
            if not options:
                self.result.nothing = True
            elif self.way.has is not None and place.steps[0] not in self.way.has:
                self.result.checks.append(_is_one_of(path, options))
                self.checked.append(place.steps[0])
            else:
                rendered.append(_one_of(path, options))
        condition = all_of(rendered)
        return "" if condition is None else condition.render(self.result.placeholders)


# Stands in a condition for a value that is not known yet.
_BLANK: AttributeValue = {}


def _text(render: Callable[[Item], str | None]) -> Maker:
    """What a template makes of the fields that it is known to have."""
    return lambda item: {"S": render(item)}


def _one_of(path: str, options: Sequence[AttributeValue | None]) -> Condition:
    """One of several values. None is stored as nothing at all, or as NULL."""
    values = [{"NULL": True} if value is None else value for value in options]
    condition = equals(path, values[0]) if len(values) == 1 else OneOf(path, values)
    return missing(path) | condition if None in options else condition


def _is_one_of(path: str, options: Sequence[AttributeValue | None]) -> Check:
    return lambda item: lookup(item, path) in options


def _mentions(annotation: Any, kind: type) -> bool:
    """Whether a type is ``kind``, or an annotated or optional one."""
    if get_origin(annotation) is Annotated:
        return _mentions(get_args(annotation)[0], kind)
    return annotation is kind or any(_mentions(member, kind) for member in get_args(annotation))
