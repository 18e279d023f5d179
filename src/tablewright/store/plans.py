"""Access patterns as requests: pure, from a pattern's values to DynamoDB's Query.

    Call.upcoming(user_id="u-1", since=now)
        ──▶ userStatus = "u-1#SCHEDULED" AND sk BETWEEN "1762…" AND …

The partition key must be known entirely. Of the sort key, fields are fixed from the left, and the first one that is not
may be bounded. A plan has one request for each partition that it reads: several only where the key is sharded.

What DynamoDB cannot say is checked when an item arrives (``Plan.accepts``): BETWEEN includes both ends, and a key that
holds the day of a time knows no hours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from functools import cache
from itertools import product
from typing import Annotated, Any, get_args, get_origin

from tablewright.model import Entity, Gathering, Lookup, ModelError, Selection, schema_of
from tablewright.model.keys import AttributeValue, Template, lookup
from tablewright.model.schema import Item, Schema
from tablewright.store.context import Context
from tablewright.store.expressions import Compared, Condition, OneOf, Placeholders, all_of, equals, missing
from tablewright.store.ranges import Check, Range, beginning, keys_within


@dataclass(frozen=True, slots=True)
class Plan:
    """A read of items of one entity: a request for each partition, and how their items are put in one order."""

    schema: Schema
    # What it is counted under: "Call.upcoming"
    pattern: str
    operation: str
    bodies: tuple[dict[str, Any], ...]
    # The attributes of a position: the key of the table, and of the index that is read.
    key: tuple[str, ...]
    sort: tuple[str, ...] = ()
    newest_first: bool = False
    checks: tuple[Check, ...] = ()
    # The index does not have everything that is wanted: the items have to be read from the table.
    partial: bool = False
    # The attributes that are wanted, when it is not all of them.
    projected: tuple[str, ...] = ()
    # Further entities that are read along.
    others: tuple[Schema, ...] = ()

    def accepts(self, item: Item) -> bool:
        return all(check(item) for check in self.checks)


def plan_selection(
    context: Context, selection: Selection[Any], *, consistent: bool | None = None, keys_only: bool = False
) -> Plan:
    """The plan of a selection; ``keys_only`` reads no more of an item than tells whether it belongs to it."""
    way = _way(selection.entity, f"{selection.entity.__name__}.{selection.name}", selection.index)
    return _Planner(context, way, selection.values).plan(
        selection.consistent if consistent is None else consistent,
        bounds=selection.bounds,
        range_field=selection.range,
        newest_first=selection.newest_first,
        where=selection.where,
        project=selection.project,
        keys_only=keys_only,
    )


def plan_lookup(context: Context, lookup: Lookup[Any], *, consistent: bool | None = None) -> Plan:
    """The plan of a lookup by an index."""
    way = _way(lookup.entity, f"{lookup.entity.__name__}.{lookup.name}", lookup.index)
    return _Planner(context, way, lookup.values).plan(lookup.consistent if consistent is None else consistent)


def plan_gathering(context: Context, gathering: Gathering[Any], *, consistent: bool | None = None) -> Plan:
    """The plan of a collection: the whole partition, with the items of all its members."""
    first, *others = [member.schema for member in gathering.collection.members_]
    way = _way(first.entity, f"{gathering.collection.__name__}.{gathering.name}", gathering.index)
    plan = _Planner(context, way, gathering.values).plan(
        gathering.consistent if consistent is None else consistent,
        newest_first=gathering.newest_first,
        whole_partition=True,
    )
    return replace(plan, others=tuple(others))


def plan_scan(
    context: Context, entity: type[Entity], *, consistent: bool = False, segment: tuple[int, int] | None = None
) -> Plan:
    """The plan of a scan of the table that an entity is kept in, or of one segment (number, of how many)."""
    schema = schema_of(entity)
    body: dict[str, Any] = {"TableName": context.name_of(schema.table)}
    if segment is not None:
        body["Segment"], body["TotalSegments"] = segment
    if consistent:
        body["ConsistentRead"] = True
    return Plan(schema, f"{entity.__name__}.scan", "Scan", (body,), schema.table.key)


def primary_key(schema: Schema, pattern: str, values: Mapping[str, Any]) -> Item:
    """The primary key that field values make up, exactly."""
    item = schema.stored(values)
    key = schema.key_of(item)
    for attribute in item.keys() - _identity(schema):
        raise ModelError(f"{pattern}: {schema.field_path(attribute)} is not part of the primary key")
    return key


@cache
def _identity(schema: Schema) -> frozenset[str]:
    """The attributes that the primary key follows from."""
    return frozenset(source for attribute in schema.table.key for source in schema.sources(attribute))


# -- from values to conditions --------------------------------------------------------------------------------------


class _Way:
    """What of a pattern is the same in every read: which key it goes by, of which entity."""

    def __init__(self, entity: type[Entity], pattern: str, index_name: str | None) -> None:
        self.schema = schema = schema_of(entity)
        self.pattern = pattern
        table = schema.table
        self.index = None if index_name is None else table.index(index_name)
        self.partition = (table.partition,) if self.index is None else self.index.partition
        self.sort = table.key[1:] if self.index is None else self.index.sort
        self.key = tuple(dict.fromkeys(table.key + self.partition + self.sort))
        # What an entry has; None for everything.
        include = None if self.index is None else self.index.include
        self.has = None if include is None else frozenset([*self.key, *include])


_WAYS: dict[tuple[type[Entity], str, str | None], _Way] = {}


def _way(entity: type[Entity], pattern: str, index_name: str | None) -> _Way:
    way = _WAYS.get((entity, pattern, index_name))
    if way is None:
        way = _WAYS[entity, pattern, index_name] = _Way(entity, pattern, index_name)
    return way


class _Planner:
    """The plan of one read."""

    def __init__(self, context: Context, way: _Way, values: Mapping[str, Any]) -> None:
        self.context = context
        self.way = way
        self.schema = way.schema
        self.item = way.schema.stored(values)
        # Attributes of the values given that have become part of a condition.
        self.used: set[str] = set()
        self.checks: list[Check] = []
        # Attributes that the checks look at.
        self.checked: list[str] = []
        # The values contradict each other: there is nothing to read.
        self.nothing = False

    def plan(
        self,
        consistent: bool,
        *,
        bounds: Mapping[str, Any] | None = None,
        range_field: str | None = None,
        newest_first: bool = False,
        where: Mapping[str, Any] | None = None,
        project: Sequence[str] = (),
        keys_only: bool = False,
        whole_partition: bool = False,
    ) -> Plan:
        way, index = self.way, self.way.index
        if consistent and index is not None and index.is_global:
            raise ModelError(
                f"{way.pattern} reads the global index {index.name}, which is always eventually consistent; "
                "read the item by its primary key where that is not enough"
            )
        partitions = product(*map(self._partition_values, way.partition))
        sort_conditions = [] if whole_partition else self._sort_conditions(bounds or {}, range_field)
        self._check_all_used()
        filtered = self._filter(where) if where else None
        projected = self._projected(project, keys_only) if project or keys_only else ()
        lacking = way.has is not None and (not projected or not way.has.issuperset(projected))
        partial = lacking and index is not None and index.is_global
        base: dict[str, Any] = {"TableName": self.context.name_of(self.schema.table)}
        if index is not None:
            base["IndexName"] = index.name
        if lacking and not partial and not projected:
            base["Select"] = "ALL_ATTRIBUTES"
        if newest_first:
            base["ScanIndexForward"] = False
        if consistent:
            base["ConsistentRead"] = True
        bodies = []
        for partition in () if self.nothing else partitions:
            fixed = [Compared(name, "=", value) for name, value in zip(way.partition, partition, strict=True)]
            bodies.append(_body(base, [*fixed, *sort_conditions], filtered, () if partial else projected))
        return Plan(
            self.schema,
            way.pattern,
            "Query",
            tuple(bodies),
            way.key,
            way.sort,
            newest_first,
            tuple(self.checks),
            partial,
            projected,
        )

    def _projected(self, project: Sequence[str], keys_only: bool) -> tuple[str, ...]:
        """The attributes to ask for: those of the fields wanted, and those that tell whether an item counts."""
        schema = self.schema
        telling = [schema.table.type_attribute, None if schema.expiry is None else schema.expiry.attribute]
        wanted = [] if keys_only else [schema.place(name, self.way.pattern).steps[0] for name in project]
        names = [*self.way.key, *telling, *self.checked, *wanted]
        return tuple(dict.fromkeys(name for name in names if name is not None))

    # -- the partition key --------------------------------------------------------------------------------------

    def _partition_values(self, attribute: str) -> list[AttributeValue]:
        rule = self.schema.rules.get(attribute)
        if rule is None:
            self.used.add(attribute)
            if attribute not in self.item:
                raise self._lacks([attribute])
            return [self.item[attribute]]
        self._use(rule.template, None)
        text = rule.template.render(self.item)
        if text is None:
            raise self._lacks([name for name in sorted(rule.template.required) if lookup(self.item, name) is None])
        return [{"S": text + rule.shard_suffix(shard)} for shard in range(rule.shards)]

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

    def _sort_conditions(self, bounds: Mapping[str, Any], range_field: str | None) -> list[Condition]:
        target = self.schema.path(range_field) if bounds and range_field is not None else None
        conditions: list[Condition] = []
        bounded = not bounds
        for attribute in self.way.sort:
            rule = self.schema.rules.get(attribute)
            if rule is None:
                value = self.item.get(attribute)
                if value is not None:
                    self.used.add(attribute)
                    conditions.append(Compared(attribute, "=", value))
                    continue
                if bounds and attribute == target:
                    assert range_field is not None
                    bounded = True
                    condition = self._limited(attribute, self._values_within(range_field, bounds))
                    conditions += [] if condition is None else [condition]
                break
            text, open_field = rule.template.prefix(self.item)
            self._use(rule.template, None if open_field is None else open_field.name)
            if open_field is None:
                conditions.append(Compared(attribute, "=", {"S": text}))
                continue
            if bounds and open_field.name == target:
                assert range_field is not None
                bounded = True
                within = self._values_within(range_field, bounds)
                day_only = open_field.form == "date"
                if day_only:
                    self._check(open_field.name, within.check(open_field.name))
                condition = self._limited(attribute, keys_within(text, open_field, within, day_only))
            else:
                condition = beginning(attribute, rule.template, self.item, text, open_field.name)
            conditions += [] if condition is None else [condition]
            break
        if not bounded:
            raise ModelError(
                f"{self.way.pattern}: {range_field} cannot be bounded by {' and '.join(bounds)}: "
                f"it must be the first part of the sort key that is not given"
            )
        return conditions

    def _limited(self, attribute: str, within: Range) -> Condition | None:
        self.nothing = self.nothing or within.is_empty
        if not within.is_said_in_full:
            self._check(attribute, within.check(attribute))
        return within.condition(attribute)

    def _check(self, path: str, check: Check) -> None:
        self.checks.append(check)
        self.checked.append(path.partition(".")[0])

    def _values_within(self, range_field: str, bounds: Mapping[str, Any]) -> Range:
        """The bounds as stored values; a date stands for the whole day where the field is a time."""
        within = Range()
        encode = self.schema.place(range_field, self.way.pattern).encode
        for bound, value in bounds.items():
            if isinstance(value, date) and not isinstance(value, datetime) and self._is_time(range_field):
                edge = time.min if bound in ("since", "before") else time.max
                value = datetime.combine(value, edge, UTC)
            stored = encode(value)
            assert stored is not None
            if bound in ("since", "after"):
                within.low = (stored, bound == "since")
            else:
                within.high = (stored, bound == "until")
        return within

    def _is_time(self, name: str) -> bool:
        spec = self.schema.fields.get(name)
        return spec is not None and _mentions(spec.annotation, datetime)

    def _check_all_used(self) -> None:
        rules = [self.schema.rules[name] for name in self.way.partition + self.way.sort if name in self.schema.rules]
        for attribute, value in self.item.items():
            if attribute in self.used:
                continue
            states = [rule.when[attribute] for rule in rules if attribute in rule.when]
            name = self.schema.field_path(attribute)
            if not states:
                raise ModelError(
                    f"{self.way.pattern}: {name} cannot be given: it is no part of the key, "
                    "or a part of the sort key before it is not given"
                )
            if not all(value in allowed for allowed in states):
                self.nothing = True

    # -- the filter ---------------------------------------------------------------------------------------------

    def _filter(self, where: Mapping[str, Any]) -> Condition | None:
        """The conditions outside of the key. What an index does not have, DynamoDB cannot filter by: it is checked."""
        conditions: list[Condition] = []
        for name, wanted in where.items():
            place = self.schema.place(name, self.way.pattern)
            path = ".".join(place.steps)
            if path in self.way.partition + self.way.sort:
                raise ModelError(f"{self.way.pattern}: {name} is part of the key, so it cannot be in where")
            several = isinstance(wanted, list | tuple | set | frozenset)
            options = [None if value is None else place.encode(value) for value in (wanted if several else [wanted])]
            if not options:
                self.nothing = True
            elif self.way.has is not None and place.steps[0] not in self.way.has:
                self._check(path, _is_one_of(path, options))
            else:
                conditions.append(_one_of(path, options))
        return all_of(conditions)


def _one_of(path: str, options: Sequence[AttributeValue | None]) -> Condition:
    """One of several values. None is stored as nothing at all, or as NULL."""
    values = [{"NULL": True} if value is None else value for value in options]
    condition = equals(path, values[0]) if len(values) == 1 else OneOf(path, values)
    return missing(path) | condition if None in options else condition


def _is_one_of(path: str, options: Sequence[AttributeValue | None]) -> Check:
    return lambda item: lookup(item, path) in options


def _body(
    base: Mapping[str, Any], key: Sequence[Condition], filtered: Condition | None, projected: Sequence[str]
) -> dict[str, Any]:
    placeholders = Placeholders()
    body = dict(base)
    condition = all_of(key)
    assert condition is not None
    body["KeyConditionExpression"] = condition.render(placeholders)
    if filtered is not None:
        body["FilterExpression"] = filtered.render(placeholders)
    if projected:
        body["ProjectionExpression"] = ", ".join(map(placeholders.path, projected))
    return placeholders.into(body)


def _mentions(annotation: Any, kind: type) -> bool:
    """Whether a type is ``kind``, or an annotated or optional one."""
    if get_origin(annotation) is Annotated:
        return _mentions(get_args(annotation)[0], kind)
    return annotation is kind or any(_mentions(member, kind) for member in get_args(annotation))
