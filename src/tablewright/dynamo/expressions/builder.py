"""Expressions that a program builds: conditions and updates as trees, which can be rendered, evaluated and applied.

    condition = exists("PK") & (equals("state", {"S": "open"}) | missing("state"))

    with_expressions({"Key": key}, condition)       a request, with #names and :values from one allocator
    holds(condition, item)                          the service's result for this item

    update = UpdateActions(sets={"state": {"S": "done"}}, adds={"version": {"N": "1"}})
    update.apply(item)                              the item that the service would make of this one

The trees are the same that the parser makes of an expression's text (``nodes``), so predicting the effect of a write
uses the code that executes it. Paths are text such as ``address.city`` or ``lines[0].count``.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from tablewright.dynamo.attribute_values import AttributeValue, Item
from tablewright.dynamo.document_paths import parse_path, value_at
from tablewright.dynamo.expressions.conditions import holds
from tablewright.dynamo.expressions.nodes import (
    Action,
    AddAction,
    And,
    Arithmetic,
    Between,
    Compare,
    Condition,
    DeleteAction,
    Function,
    In,
    Literal,
    Not,
    Operand,
    Or,
    Path,
    Placeholder,
    RemoveAction,
    SetAction,
)
from tablewright.dynamo.expressions.updates import apply_actions

__all__ = [
    "Condition",
    "Placeholders",
    "UpdateActions",
    "all_equal",
    "all_of",
    "any_of",
    "attribute_of",
    "attributes_in",
    "begins_with",
    "between",
    "compare",
    "compare_size",
    "contains",
    "equals",
    "exists",
    "holds",
    "missing",
    "one_of",
    "render",
    "value_at",
    "with_expressions",
]

_JOINED = (And, Or)
_EMPTY_LIST = Literal({"L": []})

# -- conditions -----------------------------------------------------------------------------------------------------


def compare(path: str, operator: str, value: AttributeValue) -> Condition:
    """The operator is one of ``= <> < <= > >=``."""
    return Compare(operator, parse_path(path), Literal(value))


def compare_size(path: str, operator: str, value: AttributeValue) -> Condition:
    """The size of a value, or the number of members that a list or a set has, compared."""
    return Compare(operator, Function("size", (parse_path(path),)), Literal(value))


def between(path: str, low: AttributeValue, high: AttributeValue) -> Condition:
    return Between(parse_path(path), Literal(low), Literal(high))


def one_of(path: str, values: Iterable[AttributeValue]) -> Condition:
    return In(parse_path(path), tuple(map(Literal, values)))


def begins_with(path: str, prefix: AttributeValue) -> Condition:
    return Function("begins_with", (parse_path(path), Literal(prefix)))


def contains(path: str, member: AttributeValue) -> Condition:
    return Function("contains", (parse_path(path), Literal(member)))


@lru_cache(maxsize=4096)
def exists(path: str) -> Condition:
    return Function("attribute_exists", (parse_path(path),))


@lru_cache(maxsize=4096)
def missing(path: str) -> Condition:
    return Function("attribute_not_exists", (parse_path(path),))


def equals(path: str, value: AttributeValue | None) -> Condition:
    """The attribute has this value; None: it does not exist."""
    return missing(path) if value is None else Compare("=", parse_path(path), Literal(value))


def all_equal(attributes: Mapping[str, AttributeValue | None]) -> list[Condition]:
    """The attributes have these values; None: they do not exist."""
    return [
        missing(name) if value is None else Compare("=", parse_path(name), Literal(value))
        for name, value in attributes.items()
    ]


def all_of(conditions: Sequence[Condition]) -> Condition | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return And(tuple(conditions))


def any_of(conditions: Sequence[Condition]) -> Condition:
    return conditions[0] if len(conditions) == 1 else Or(tuple(conditions))


def attributes_in(condition: Condition) -> list[str]:
    """The attributes that a condition uses, in order."""
    return list(dict.fromkeys(str(path.parts[0]) for path in _paths_of(condition)))


def _paths_of(condition: Condition) -> list[Path]:
    if isinstance(condition, _JOINED):
        return [path for part in condition.parts for path in _paths_of(part)]
    if isinstance(condition, Not):
        return _paths_of(condition.part)
    if isinstance(condition, Compare):
        return [*_paths_in(condition.left), *_paths_in(condition.right)]
    if isinstance(condition, Function):
        return _paths_in(condition)
    operands = (condition.low, condition.high) if isinstance(condition, Between) else condition.options
    return [path for operand in (condition.operand, *operands) for path in _paths_in(operand)]


# -- updates --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class UpdateActions:
    """The actions of an update expression, by path, while a write is being planned."""

    sets: dict[str, AttributeValue] = field(default_factory=dict)
    # Values that are computed from the item: sums, other attributes, defaults for absent ones.
    computed: dict[str, Operand] = field(default_factory=dict)
    removes: list[str] = field(default_factory=list)
    adds: dict[str, AttributeValue] = field(default_factory=dict)
    # Lists to append; a missing list starts empty.
    appends: dict[str, AttributeValue] = field(default_factory=dict)
    deletes: dict[str, AttributeValue] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.sets or self.computed or self.removes or self.adds or self.appends or self.deletes)

    @property
    def paths(self) -> list[str]:
        return [*self.sets, *self.computed, *self.removes, *self.adds, *self.appends, *self.deletes]

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes that are changed, in whole or in part."""
        return frozenset(map(attribute_of, self.paths))

    @property
    def operands(self) -> frozenset[str]:
        """The attributes that values are computed from."""
        paths = [path for operand in self.computed.values() for path in _paths_in(operand)]
        return frozenset(str(path.parts[0]) for path in paths)

    @property
    def replaced(self) -> frozenset[str]:
        """The attributes whose new value does not depend on the old one."""
        return frozenset(path for path in [*self.sets, *self.removes] if path == attribute_of(path))

    def nodes(self) -> list[Action]:
        actions: list[Action] = [SetAction(parse_path(path), Literal(value)) for path, value in self.sets.items()]
        actions += [SetAction(parse_path(path), operand) for path, operand in self.computed.items()]
        for text, value in self.appends.items():
            path = parse_path(text)
            present = Function("if_not_exists", (path, _EMPTY_LIST))
            actions.append(SetAction(path, Function("list_append", (present, Literal(value)))))
        actions += [RemoveAction(parse_path(path)) for path in self.removes]
        actions += [AddAction(parse_path(path), Literal(value)) for path, value in self.adds.items()]
        actions += [DeleteAction(parse_path(path), Literal(value)) for path, value in self.deletes.items()]
        return actions

    def render(self, placeholders: Placeholders) -> str:
        """The text of the update expression; from the paths and not from nodes, because every update renders one."""
        path, value = placeholders.path, placeholders.value
        sets = [f"{path(name)} = {value(new)}" for name, new in self.sets.items()]
        sets += [f"{path(name)} = {_operand(operand, placeholders)}" for name, operand in self.computed.items()]
        for name, members in self.appends.items():
            list_ = path(name)
            sets.append(f"{list_} = list_append(if_not_exists({list_}, {value(_EMPTY_LIST.value)}), {value(members)})")
        sections = ["SET " + ", ".join(sets)] if sets else []
        if self.removes:
            sections.append("REMOVE " + ", ".join(map(path, self.removes)))
        for keyword, operands in (("ADD", self.adds), ("DELETE", self.deletes)):
            if operands:
                sections.append(
                    f"{keyword} " + ", ".join([f"{path(name)} {value(each)}" for name, each in operands.items()])
                )
        return " ".join(sections)

    def apply(self, item: Item, only: Container[str] | None = None) -> Item:
        """The item after the update, or after the part of it that concerns ``only`` some attributes.

        Raises the service's ValidationException if the update cannot be applied to the item.
        """
        actions = self.nodes()
        if only is not None:
            actions = [action for action in actions if action.path.parts[0] in only]
        return apply_actions(item, actions)


def _paths_in(operand: Operand) -> list[Path]:
    if isinstance(operand, Path):
        return [operand]
    if isinstance(operand, Function):
        return [path for argument in operand.arguments for path in _paths_in(argument)]
    if isinstance(operand, Arithmetic):
        return [*_paths_in(operand.left), *_paths_in(operand.right)]
    return []


@lru_cache(maxsize=4096)
def attribute_of(path: str) -> str:
    """The attribute that a path starts from."""
    return str(parse_path(path).parts[0])


# -- rendering ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Placeholders:
    """The names and values of one request: equal names share a placeholder."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, AttributeValue] = field(default_factory=dict)
    _by_name: dict[str, str] = field(default_factory=dict)

    def path(self, path: str) -> str:
        """A path such as ``address.city`` or ``lines[0]``, each name of it as a placeholder."""
        return self._by_name.get(path) or self.parsed(parse_path(path))

    def parsed(self, path: Path) -> str:
        parts = path.parts
        if len(parts) == 1:
            name: str = parts[0]  # type: ignore[assignment]  # a path begins with a name
            return self._by_name.get(name) or self._added(name)
        text = ""
        for part in parts:
            if isinstance(part, int):
                text += f"[{part}]"
            else:
                placeholder = self._by_name.get(part) or self._added(part)
                text = f"{text}.{placeholder}" if text else placeholder
        return text

    def _added(self, name: str) -> str:
        placeholder = self._by_name[name] = f"#n{len(self._by_name)}"
        self.names[placeholder] = name
        return placeholder

    def value(self, value: AttributeValue) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def copy(self) -> Placeholders:
        """A copy of the names and values, to be extended."""
        return Placeholders(dict(self.names), dict(self.values), dict(self._by_name))

    def into(self, request: dict[str, Any]) -> dict[str, Any]:
        """The request with its placeholders, if it has any."""
        if self.names:
            request["ExpressionAttributeNames"] = self.names
        if self.values:
            request["ExpressionAttributeValues"] = self.values
        return request


def render(condition: Condition, placeholders: Placeholders) -> str:
    """The text of a condition, a filter or a key condition."""
    # By type and not by pattern, the most common first: every write renders some.
    if isinstance(condition, Compare):
        left, right = condition.left, condition.right
        low = placeholders.parsed(left) if isinstance(left, Path) else _operand(left, placeholders)
        high = placeholders.value(right.value) if isinstance(right, Literal) else _operand(right, placeholders)
        return f"{low} {condition.operator} {high}"
    if isinstance(condition, Function):
        return _operand(condition, placeholders)
    if isinstance(condition, _JOINED):
        texts = [
            f"({render(part, placeholders)})" if isinstance(part, _JOINED) else render(part, placeholders)
            for part in condition.parts
        ]
        return (" AND " if isinstance(condition, And) else " OR ").join(texts)
    if isinstance(condition, Not):
        return f"NOT ({render(condition.part, placeholders)})"
    value = _operand(condition.operand, placeholders)
    if isinstance(condition, Between):
        return f"{value} BETWEEN {_operand(condition.low, placeholders)} AND {_operand(condition.high, placeholders)}"
    return f"{value} IN ({', '.join([_operand(option, placeholders) for option in condition.options])})"


def _operand(operand: Operand, placeholders: Placeholders) -> str:
    if isinstance(operand, Path):
        return placeholders.parsed(operand)
    if isinstance(operand, Literal):
        return placeholders.value(operand.value)
    if isinstance(operand, Function):
        return f"{operand.name}({', '.join([_operand(argument, placeholders) for argument in operand.arguments])})"
    if isinstance(operand, Placeholder):
        return operand.name
    return f"{_operand(operand.left, placeholders)} {operand.operator} {_operand(operand.right, placeholders)}"


# -- shapes ---------------------------------------------------------------------------------------------------------


def with_expressions(
    request: dict[str, Any], condition: Condition | None, update: UpdateActions | None = None
) -> dict[str, Any]:
    """A write request with its expressions and their placeholders.

    They are rendered once for each shape, which is everything but the values.
    """
    values: list[AttributeValue] = []
    # In the order in which they are rendered.
    shape = (
        None if update is None else _update_shape(update, values),
        None if condition is None else _shape(condition, values),
    )
    rendered = _RENDERED.get(shape)
    if rendered is None:
        rendered = _rendered(condition, update)
        if len(_RENDERED) >= _MAX_RENDERED:
            _RENDERED.clear()
        if len(values) <= _MAX_VALUES:
            _RENDERED[shape] = rendered
    expressions, placeholders = rendered
    request.update(expressions)
    if values:
        request["ExpressionAttributeValues"] = dict(zip(placeholders, values, strict=True))
    return request


# The expressions of a request and their names, and the placeholders of values, in their order.
_Rendered = tuple[dict[str, Any], tuple[str, ...]]
_RENDERED: dict[Any, _Rendered] = {}
_MAX_RENDERED = 1024
_MAX_VALUES = 64


def _rendered(condition: Condition | None, update: UpdateActions | None) -> _Rendered:
    placeholders = Placeholders()
    expressions: dict[str, Any] = {}
    if update is not None and (text := update.render(placeholders)):
        expressions["UpdateExpression"] = text
    if condition is not None:
        expressions["ConditionExpression"] = render(condition, placeholders)
    if placeholders.names:
        expressions["ExpressionAttributeNames"] = placeholders.names
    return expressions, tuple(placeholders.values)


def _update_shape(update: UpdateActions, values: list[AttributeValue]) -> tuple[Any, ...]:
    values += update.sets.values()
    computed = [(path, _operand_shape(operand, values)) for path, operand in update.computed.items()]
    for members in update.appends.values():
        values += _EMPTY_LIST.value, members
    values += update.adds.values()
    values += update.deletes.values()
    return (
        tuple(update.sets),
        tuple(computed),
        tuple(update.appends),
        tuple(update.removes),
        tuple(update.adds),
        tuple(update.deletes),
    )


def _shape(condition: Condition, values: list[AttributeValue]) -> tuple[Any, ...]:
    """Everything of a condition but its values, which are added to the list in the order of ``render``."""
    kind = condition.__class__
    if isinstance(condition, Compare):
        return (condition.operator, _operand_shape(condition.left, values), _operand_shape(condition.right, values))
    if isinstance(condition, Function):
        return (condition.name, *[_operand_shape(each, values) for each in condition.arguments])
    if isinstance(condition, _JOINED):
        return (kind, *[_shape(part, values) for part in condition.parts])
    if isinstance(condition, Not):
        return (kind, _shape(condition.part, values))
    operands = (condition.low, condition.high) if isinstance(condition, Between) else condition.options
    return (kind, *[_operand_shape(each, values) for each in (condition.operand, *operands)])


def _operand_shape(operand: Operand, values: list[AttributeValue]) -> Any:
    if isinstance(operand, Path):
        # A path consists of text and numbers, an operation has operands.
        return operand.parts
    if isinstance(operand, Literal):
        values.append(operand.value)
        return None
    if isinstance(operand, Function):
        return _shape(operand, values)
    if isinstance(operand, Placeholder):
        return operand
    return (operand.operator, _operand_shape(operand.left, values), _operand_shape(operand.right, values))
