"""Expressions as a small tree, rendered with placeholders handed out by one allocator.

Nothing outside this module writes an expression, an ``#n`` or a ``:v``. No part of a tree is ever changed; the classes
are not frozen, because every write makes some, and they would take three times as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

AttributeValue = dict[str, Any]


@dataclass(slots=True)
class Placeholders:
    """The names and values of one request: equal ones share a placeholder."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, AttributeValue] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def path(self, attribute: str) -> str:
        """A path such as ``address.city`` or ``lines[0]``, each name of it as a placeholder."""
        known = self._names.get(attribute)
        if known is not None:
            return known
        if "." in attribute:
            return ".".join(map(self.path, attribute.split(".")))
        name, bracket, rest = attribute.partition("[")
        if bracket:
            return self.path(name) + bracket + rest
        placeholder = self._names[name] = f"#n{len(self._names)}"
        self.names[placeholder] = name
        return placeholder

    def value(self, value: AttributeValue) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def copy(self) -> Placeholders:
        """The same names and values, to go on with."""
        return Placeholders(dict(self.names), dict(self.values), dict(self._names))

    def into(self, request: dict[str, Any]) -> dict[str, Any]:
        """The request with its placeholders, if it has any."""
        if self.names:
            request["ExpressionAttributeNames"] = self.names
        if self.values:
            request["ExpressionAttributeValues"] = self.values
        return request


class Condition:
    """A condition; combine with ``&`` and ``|``, negate with ``~``."""

    def render(self, placeholders: Placeholders) -> str:
        raise NotImplementedError

    def __and__(self, other: Condition) -> Condition:
        return Joined("AND", (self, other))

    def __or__(self, other: Condition) -> Condition:
        return Joined("OR", (self, other))

    def __invert__(self) -> Condition:
        return Negated(self)


@dataclass(slots=True)
class Compared(Condition):
    """``=``, ``<>``, ``<``, ``<=``, ``>``, ``>=``."""

    attribute: str
    operator: str
    value: AttributeValue

    def render(self, placeholders: Placeholders) -> str:
        return f"{placeholders.path(self.attribute)} {self.operator} {placeholders.value(self.value)}"


@dataclass(slots=True)
class Sized(Condition):
    """The number of members of a list or a set, compared."""

    attribute: str
    operator: str
    value: AttributeValue

    def render(self, placeholders: Placeholders) -> str:
        return f"size({placeholders.path(self.attribute)}) {self.operator} {placeholders.value(self.value)}"


@dataclass(slots=True)
class Between(Condition):
    attribute: str
    low: AttributeValue
    high: AttributeValue

    def render(self, placeholders: Placeholders) -> str:
        path = placeholders.path(self.attribute)
        return f"{path} BETWEEN {placeholders.value(self.low)} AND {placeholders.value(self.high)}"


@dataclass(slots=True)
class OneOf(Condition):
    attribute: str
    values: Sequence[AttributeValue]

    def render(self, placeholders: Placeholders) -> str:
        options = ", ".join(map(placeholders.value, self.values))
        return f"{placeholders.path(self.attribute)} IN ({options})"


@dataclass(slots=True)
class Called(Condition):
    """``begins_with``, ``contains``, ``attribute_exists``, ``attribute_not_exists``."""

    function: str
    attribute: str
    value: AttributeValue | None = None

    def render(self, placeholders: Placeholders) -> str:
        path = placeholders.path(self.attribute)
        operand = "" if self.value is None else f", {placeholders.value(self.value)}"
        return f"{self.function}({path}{operand})"


@dataclass(slots=True)
class Joined(Condition):
    operator: str
    parts: tuple[Condition, ...]

    def render(self, placeholders: Placeholders) -> str:
        rendered = [
            f"({part.render(placeholders)})" if isinstance(part, Joined) else part.render(placeholders)
            for part in self.parts
        ]
        return f" {self.operator} ".join(rendered)


@dataclass(slots=True)
class Negated(Condition):
    part: Condition

    def render(self, placeholders: Placeholders) -> str:
        return f"NOT ({self.part.render(placeholders)})"


def exists(attribute: str) -> Condition:
    return Called("attribute_exists", attribute)


def missing(attribute: str) -> Condition:
    return Called("attribute_not_exists", attribute)


def equals(attribute: str, value: AttributeValue | None) -> Condition:
    """The attribute has this value; None: it is not there."""
    return missing(attribute) if value is None else Compared(attribute, "=", value)


def all_of(conditions: Sequence[Condition]) -> Condition | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return Joined("AND", tuple(conditions))


@dataclass(slots=True)
class Changes:
    """What an update does, by attribute path."""

    put: dict[str, AttributeValue] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    added: dict[str, AttributeValue] = field(default_factory=dict)
    appended: dict[str, AttributeValue] = field(default_factory=dict)
    deleted: dict[str, AttributeValue] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.put or self.removed or self.added or self.appended or self.deleted)

    def render(self, placeholders: Placeholders) -> str:
        sections = []
        sets = [f"{placeholders.path(name)} = {placeholders.value(value)}" for name, value in self.put.items()]
        for name, value in self.appended.items():
            path = placeholders.path(name)
            empty = placeholders.value({"L": []})
            sets.append(f"{path} = list_append(if_not_exists({path}, {empty}), {placeholders.value(value)})")
        if sets:
            sections.append("SET " + ", ".join(sets))
        if self.removed:
            sections.append("REMOVE " + ", ".join(map(placeholders.path, self.removed)))
        for keyword, members in (("ADD", self.added), ("DELETE", self.deleted)):
            if members:
                rendered = [f"{placeholders.path(n)} {placeholders.value(v)}" for n, v in members.items()]
                sections.append(f"{keyword} " + ", ".join(rendered))
        return " ".join(sections)


def with_condition(
    request: dict[str, Any], condition: Condition | None, changes: Changes | None = None
) -> dict[str, Any]:
    """A write request with its expressions and their placeholders."""
    if condition is None and changes is None:
        return request
    placeholders = Placeholders()
    if changes is not None:
        request["UpdateExpression"] = changes.render(placeholders)
    if condition is not None:
        request["ConditionExpression"] = condition.render(placeholders)
    return placeholders.into(request)


def stored_equal(attributes: Mapping[str, AttributeValue | None]) -> list[Condition]:
    """The attributes have these values, or are missing where None is given."""
    return [equals(name, value) for name, value in attributes.items()]
