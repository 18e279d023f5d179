"""Making an outline: how a pattern is said in DynamoDB's expressions, for the fields that are given.

The partition key is equal to what follows from them. The sort key is gone through from the left: what is given is
equal, or the beginning of the key; the first field that is not given may be bounded. What is given and is no part of
either is a state that the index goes by, or a mistake. Conditions outside of the key are a filter, or a check of the
items where an index does not have the attribute.

Values stand in conditions as blanks, each with what makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from tablewright.dynamo import AttributeValue, Item, non_null_at
from tablewright.dynamo.expressions.builder import (
    Condition,
    all_of,
    begins_with,
    between,
    compare,
    equals,
    missing,
    one_of,
    render,
)
from tablewright.model import ModelError
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.model.items.field_layout import encode_value
from tablewright.model.keys.fast_keys import AttributeBuilder, attribute_builder
from tablewright.model.keys.key_template import PAST, Field, Part, Template
from tablewright.store.read.planning.key_range import Check
from tablewright.store.read.planning.query_template import Bounded, Maker, Outline, Way

__all__ = ["outlined"]


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

    def _place(self, condition: Condition, *makers: Maker, straight: AttributeBuilder | None = None) -> list[str]:
        """Add a condition on the key, with what makes its values, which are blanks in the condition; if nothing does,
        they are as they are in it. Gives their placeholders. ``straight`` is the only maker again."""
        placeholders, result = self.result.placeholders, self.result
        before = len(placeholders.values)
        self.key_conditions.append(render(condition, placeholders))
        added = list(placeholders.values)[before:]
        if makers:
            result.makers += zip(added, makers, strict=True)
            if straight is None:
                result.straight = None
            elif result.straight is not None:
                result.straight.append((added[0], straight))
        return added

    def _straight(self, attribute: str, parts: Sequence[Part] | None = None) -> AttributeBuilder | None:
        return attribute_builder(self.schema, attribute, parts)

    def _projected(self, project: Sequence[str], keys_only: bool) -> tuple[str, ...]:
        """The attributes to ask for: those of the fields wanted, and those that tell whether an item counts."""
        schema = self.schema
        telling = [schema.table.type_attribute, None if schema.expiry is None else schema.expiry.attribute]
        wanted = [] if keys_only else [schema.locate(name, self.way.pattern).parts[0] for name in project]
        if any(spec.attribute in wanted for spec in schema.large):
            telling.append(BLOB_REFERENCES)
        names = [*self.way.key, *telling, *self.checked, *wanted]
        return tuple(dict.fromkeys(name for name in names if name is not None))

    # -- the partition key --------------------------------------------------------------------------------------

    def _partition(self, attribute: str) -> None:
        if attribute == self.schema.table.type_attribute:
            self.result.partition += self._place(self._is_of_the_entity(attribute))
            return
        rule = self.schema.key_rules.get(attribute)
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
            lacking = [name for name in sorted(template.required) if non_null_at(self.item, name) is None]
            if lacking:
                raise self._lacks(lacking)
            make = _text(template.render)
            straight = None if template.optional else self._straight(attribute, template.parts)
        (placeholder,) = self._place(compare(attribute, "=", _BLANK), make, straight=straight)
        self.result.partition.append(placeholder)
        if rule is not None and rule.is_spread:
            self.result.sharded.append((placeholder, rule))

    def _is_of_the_entity(self, attribute: str) -> Condition:
        """The condition on a type attribute that is part of the key: it is nothing that a caller gives."""
        return compare(attribute, "=", {"S": self.schema.type_name})

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
            rule = self.schema.key_rules.get(attribute)
            open_field = None
            if rule is None:
                if attribute in self.item:
                    self.used.add(attribute)
                    self._place(
                        compare(attribute, "=", _BLANK), itemgetter(attribute), straight=self._straight(attribute)
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
                self._place(compare(attribute, "=", _BLANK), _text(template.prefix_renderer()), straight=straight)
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
                between(attribute, _BLANK, _BLANK),
                _text(template.render),
                lambda item: {"S": f"{template.render(item)}{PAST}"},
            )
            return
        beginning = template.prefix(self.item)[0]
        if open_field is template.fields[0]:
            # Nothing in it follows from what is given.
            if beginning:
                self._place(begins_with(attribute, {"S": beginning}))
        else:
            parts = template.parts + template.optional
            straight = self._straight(attribute, parts[: parts.index(open_field)])
            make = _text(template.prefix_renderer(open_field))
            self._place(begins_with(attribute, _BLANK), make, straight=straight)

    def _bounded(self, attribute: str, template: Template | None = None, part: Field | None = None) -> None:
        range_field = self.way.query.range
        assert range_field is not None
        place = self.schema.locate(range_field, self.way.pattern)
        bounded = self.result.bounded = Bounded(self.schema, attribute, range_field, place, template, part)
        if bounded.by_day and part is not None:
            self.checked.append(part.name.partition(".")[0])

    def _check_all_used(self) -> None:
        rules = [
            self.schema.key_rules[name] for name in self.way.partition + self.way.sort if name in self.schema.key_rules
        ]
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

    def _filter(self, filters: Mapping[str, Any]) -> str:
        """The conditions outside of the key. What an index does not have, DynamoDB cannot filter by: it is checked."""
        rendered = []
        for name, wanted in filters.items():
            place = self.schema.locate(name, self.way.pattern)
            path = ".".join(place.parts)
            if path in self.way.partition + self.way.sort:
                raise ModelError(f"{self.way.pattern}: {name} is part of the key, so it cannot be in where")
            several = isinstance(wanted, list | tuple | set | frozenset)
            choices = wanted if several else [wanted]
            where = f"{self.way.pattern}, where {name}"
            options = [None if value is None else encode_value(place, value, where) for value in choices]
            if not options:
                self.result.nothing = True
            elif self.way.has is not None and place.parts[0] not in self.way.has:
                self.result.checks.append(_is_one_of(path, options))
                self.checked.append(place.parts[0])
            else:
                rendered.append(_one_of(path, options))
        condition = all_of(rendered)
        return "" if condition is None else render(condition, self.result.placeholders)


# Stands in a condition for a value that is not known yet.
_BLANK: AttributeValue = {}


def _text(render: Callable[[Item], str | None]) -> Maker:
    """What a template makes of the fields that it is known to have."""
    return lambda item: {"S": render(item)}


def _one_of(path: str, options: Sequence[AttributeValue | None]) -> Condition:
    """One of several values. None is stored as nothing at all, or as NULL."""
    values = [{"NULL": True} if value is None else value for value in options]
    condition = equals(path, values[0]) if len(values) == 1 else one_of(path, values)
    return missing(path) | condition if None in options else condition


def _is_one_of(path: str, options: Sequence[AttributeValue | None]) -> Check:
    return lambda item: non_null_at(item, path) in options
