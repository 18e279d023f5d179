"""Compiling a query template: an access pattern as DynamoDB's expressions, for the fields that are given.

The partition key equals what follows from these fields. The parts of the sort key are taken from the left: given fields
make an equality or a prefix, and the first field that is not given may have bounds. A given field that is in neither
key is one that the index is conditional on (``when``), or a mistake. Conditions on other fields are a filter (see
``read_filter``).

Values are blanks in these conditions, each with its builder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from tablewright.dynamo import AttributeValue, Item, value_at
from tablewright.dynamo.expressions.builder import (
    Condition,
    begins_with,
    between,
    compare,
    render,
)
from tablewright.model import ModelError, Template
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.model.keys.fast_keys import AttributeBuilder, attribute_builder
from tablewright.model.keys.key_forms import Field, Part
from tablewright.model.keys.key_rules import KeyRule
from tablewright.model.keys.key_template import PAST
from tablewright.store.read.planning.query_template import AccessPath, BoundedKey, QueryTemplate, ValueBuilder

__all__ = ["compile_template"]


def compile_template(
    access: AccessPath,
    item: Item,
    bounds: Mapping[str, Any],
    consistent: bool,
    keys_only: bool,
    filtered_by: Sequence[str] = (),
) -> QueryTemplate:
    """The template of a read that is given the attributes of an item, and bounds of these names.

    ``filtered_by`` are attributes that a filter needs.
    """
    compiler = _Compiler(access, item)
    if access.available is not None:
        compiler.checked += [name for name in filtered_by if name not in access.available]
    return compiler.compile(bounds, consistent, keys_only)


class _Compiler:
    def __init__(self, access: AccessPath, item: Item) -> None:
        self.access = access
        self.schema = access.schema
        self.item = item
        self.result = QueryTemplate(access, len(item))
        # Given attributes that are part of a condition.
        self.used: set[str] = set()
        self.key_conditions: list[str] = []
        # Attributes that checks need.
        self.checked: list[str] = []

    def compile(self, bounds: Mapping[str, Any], consistent: bool, keys_only: bool) -> QueryTemplate:
        access, query, index, result = self.access, self.access.query, self.access.index, self.result
        if consistent and index is not None and index.is_global:
            raise ModelError(
                f"{access.pattern} reads the global index {index.name}, which is always eventually consistent; "
                "read the item by its primary key where that is not enough"
            )
        for attribute in access.partition:
            self._partition(attribute)
        if not access.reads_whole_partition:
            # A day says which partition is read, and leaves the sort key free.
            result.buckets = frozenset(self.schema.buckets(access.partition))
            self.item = {name: value for name, value in self.item.items() if name not in result.buckets}
            self._sort(bounds)
        self._check_all_used()
        projected = self._projected(access.project, keys_only) if access.project or keys_only else ()
        lacking = access.available is not None and (not projected or not access.available.issuperset(projected))
        fetches_from_table = lacking and index is not None and index.is_global
        result.target = access.target(fetches_from_table, projected)
        body = result.body
        if index is not None:
            body["IndexName"] = index.name
        if lacking and not fetches_from_table and not projected:
            body["Select"] = "ALL_ATTRIBUTES"
        if query.newest_first:
            body["ScanIndexForward"] = False
        if consistent:
            body["ConsistentRead"] = True
        body["KeyConditionExpression"] = " AND ".join(self.key_conditions)
        if projected and not fetches_from_table:
            body["ProjectionExpression"] = ", ".join(map(result.placeholders.path, projected))
        body["ExpressionAttributeNames"] = result.placeholders.names
        if result.is_empty or result.allowed_values or result.sharded or result.bounded is not None:
            result.fast_builders = None
        return result

    def _add_condition(
        self, condition: Condition, *builders: ValueBuilder, fast: AttributeBuilder | None = None
    ) -> list[str]:
        """Add a condition on the key; returns the placeholders of its values.

        The builders are for its blanks; without them, it has its values already. ``fast`` is the same builder from
        field values, where there is one.
        """
        placeholders, result = self.result.placeholders, self.result
        before = len(placeholders.values)
        self.key_conditions.append(render(condition, placeholders))
        added = list(placeholders.values)[before:]
        if builders:
            result.builders += zip(added, builders, strict=True)
            if fast is None:
                result.fast_builders = None
            elif result.fast_builders is not None:
                result.fast_builders.append((added[0], fast))
        return added

    def _fast_builder(self, attribute: str, parts: Sequence[Part] | None = None) -> AttributeBuilder | None:
        return attribute_builder(self.schema, attribute, parts)

    def _projected(self, project: Sequence[str], keys_only: bool) -> tuple[str, ...]:
        """The attributes to read: of the fields, and those that decide whether an item is visible."""
        schema = self.schema
        needed = [schema.table.type_attribute, None if schema.expiry is None else schema.expiry.attribute]
        wanted = [] if keys_only else [schema.locate(name, self.access.pattern).parts[0] for name in project]
        wanted = schema.stored_names(wanted)
        if any(spec.attribute in wanted for spec in schema.large):
            needed.append(BLOB_REFERENCES)
        names = [*self.access.key, *needed, *schema.stored_names(self.checked), *wanted]
        return tuple(dict.fromkeys(name for name in names if name is not None))

    # -- the partition key --------------------------------------------------------------------------------------

    def _partition(self, attribute: str) -> None:
        if attribute == self.schema.table.type_attribute:
            self.result.partition += self._add_condition(self._has_type(attribute))
            return
        rule = self.schema.key_rules.get(attribute)
        build: ValueBuilder
        if rule is None:
            self.used.add(attribute)
            if attribute not in self.item:
                raise self._missing([attribute])
            build = itemgetter(attribute)
            fast = self._fast_builder(attribute)
        else:
            template = self._template(attribute, rule)
            self._use(template, None)
            lacking = [name for name in sorted(template.required) if value_at(self.item, name) is None]
            if lacking:
                raise self._missing(lacking)
            build = _text(template.render)
            fast = None if template.optional else self._fast_builder(attribute, template.parts)
        (placeholder,) = self._add_condition(compare(attribute, "=", _BLANK), build, fast=fast)
        self.result.partition.append(placeholder)
        if rule is not None and rule.is_spread:
            self.result.sharded.append((placeholder, rule))

    def _template(self, attribute: str, rule: KeyRule) -> Template:
        """The template of a partition key: of several, that of the state that is given."""
        cases = self._cases(rule)
        if len(cases) > 1:
            names = " and ".join(map(self.schema.field_path, self.schema.undecided(attribute, self._known())))
            raise ModelError(f"{self.access.pattern} needs {names}, which the form of {attribute} depends on")
        if not cases:
            # Items in this state have no such key.
            self.result.is_empty = True
        return (cases or rule.cases)[0].template

    def _cases(self, rule: KeyRule) -> tuple[KeyRule, ...]:
        """The rules that can make a key, for what is given."""
        if not rule.others:
            return (rule,)
        self.used.update(path.partition(".")[0] for path in rule.state_paths)
        return rule.possible(self._known())

    def _known(self) -> dict[str, AttributeValue | None]:
        """What is given, by path; what a pattern fixes to None is known to be absent."""
        paths = {path for rule in self.schema.key_rules.values() for path in rule.state_paths}
        known: dict[str, AttributeValue | None] = {
            path: value for path in paths if (value := value_at(self.item, path)) is not None
        }
        absent = (name for name, value in self.access.query.fixed.items() if value is None)
        return known | {self.schema.path(name): None for name in absent}

    def _has_type(self, attribute: str) -> Condition:
        """The condition on a type attribute that is part of the key, which a caller does not give."""
        return compare(attribute, "=", {"S": self.schema.type_name})

    def _missing(self, paths: Sequence[str]) -> ModelError:
        names = " and ".join(self.schema.field_path(path) for path in paths)
        return ModelError(f"{self.access.pattern} needs {names}, which its partition key is made of")

    def _use(self, template: Template, until: str | None) -> None:
        """Mark the fields of a template as used, up to one."""
        for part in template.fields:
            if part.name == until:
                return
            self.used.add(part.name.partition(".")[0])

    # -- the sort key -------------------------------------------------------------------------------------------

    def _sort(self, bounds: Mapping[str, Any]) -> None:
        range_field = self.access.query.range
        target = self.schema.path(range_field) if bounds and range_field is not None else None
        for attribute in self.access.sort:
            if attribute == self.schema.table.type_attribute:
                self._add_condition(self._has_type(attribute))
                continue
            rule = self.schema.key_rules.get(attribute)
            open_field = None
            if rule is None:
                if attribute in self.item:
                    self.used.add(attribute)
                    self._add_condition(
                        compare(attribute, "=", _BLANK), itemgetter(attribute), fast=self._fast_builder(attribute)
                    )
                    continue
                if target == attribute:
                    self._bounded(attribute)
                break
            cases = self._cases(rule)
            if len(cases) != 1:
                # All of the partition, in whatever state items are; or none of it.
                self.result.is_empty = self.result.is_empty or not cases
                break
            template = cases[0].template
            open_field = template.prefix(self.item)[1]
            self._use(template, None if open_field is None else open_field.name)
            if open_field is None:
                fast = self._fast_builder(attribute, template.parts + template.optional)
                self._add_condition(compare(attribute, "=", _BLANK), _text(template.prefix_renderer()), fast=fast)
                continue
            if target == open_field.name:
                self._bounded(attribute, template, open_field)
            else:
                self._open(attribute, template, open_field)
            break
        if bounds and self.result.bounded is None:
            raise ModelError(
                f"{self.access.pattern}: {range_field} cannot be bounded by {' and '.join(bounds)}: "
                f"it must be the first part of the sort key that is not given"
            )

    def _open(self, attribute: str, template: Template, open_field: Field) -> None:
        """The keys that begin with the given fields."""
        first_optional = next((part.name for part in template.fields if part.name not in template.required), None)
        if open_field.name == first_optional:
            # The key may end here, or have its optional part.
            self._add_condition(
                between(attribute, _BLANK, _BLANK),
                _text(template.render),
                lambda item: {"S": f"{template.render(item)}{PAST}"},
            )
            return
        beginning = template.prefix(self.item)[0]
        if open_field is template.fields[0]:
            # It has no given field.
            if beginning:
                self._add_condition(begins_with(attribute, {"S": beginning}))
        else:
            parts = template.parts + template.optional
            fast = self._fast_builder(attribute, parts[: parts.index(open_field)])
            build = _text(template.prefix_renderer(open_field))
            self._add_condition(begins_with(attribute, _BLANK), build, fast=fast)

    def _bounded(self, attribute: str, template: Template | None = None, part: Field | None = None) -> None:
        range_field = self.access.query.range
        assert range_field is not None
        location = self.schema.locate(range_field, self.access.pattern)
        bounded = self.result.bounded = BoundedKey(self.schema, attribute, range_field, location, template, part)
        if bounded.is_day_only and part is not None:
            self.checked.append(part.name.partition(".")[0])

    def _check_all_used(self) -> None:
        rules = [
            self.schema.key_rules[name]
            for name in self.access.partition + self.access.sort
            if name in self.schema.key_rules
        ]
        for attribute in (name for name in self.item if name not in self.used):
            states = [rule.when[attribute] for rule in rules if attribute in rule.when and not rule.others]
            name = self.schema.field_path(attribute)
            if not states:
                raise ModelError(
                    f"{self.access.pattern}: {name} cannot be given: it is not part of the key, "
                    "or a part of the sort key before it is not given"
                )
            self.result.allowed_values += [(attribute, allowed) for allowed in states]


# Stands for a value that is not known yet.
_BLANK: AttributeValue = {}


def _text(render: Callable[[Item], str | None]) -> ValueBuilder:
    """Renders a template whose fields are known to be given."""
    return lambda item: {"S": render(item)}
