"""Updates: the effect of an UpdateExpression on an item.

Every right-hand side is computed from the original item; only then is anything written. Writing copies the containers
along a path and shares the rest with the original item, which is not changed. Positions in a list are those before the
update: elements are removed, and new ones appended in the order of their indexes, at the very end.

Before that the expression is checked, in DynamoDB's order: reserved words, functions, repeated sections and
undefined names with the text; undefined values, overlapping paths, the operands of ADD and DELETE, and
those of functions and arithmetic with each request's values.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, TypeVar

from tablewright.dynamo.attribute_values import AttributeValue, Item, set_order
from tablewright.dynamo.document_paths import getter, lookup
from tablewright.dynamo.errors import ValidationException
from tablewright.dynamo.expressions import condition_checks
from tablewright.dynamo.expressions.compile_cache import compiler
from tablewright.dynamo.expressions.condition_checks import Test, Values
from tablewright.dynamo.expressions.nodes import (
    Action,
    AddAction,
    Arithmetic,
    DeleteAction,
    Function,
    Literal,
    NameRef,
    Operand,
    Path,
    PathPart,
    Placeholder,
    RemoveAction,
    SetAction,
)
from tablewright.dynamo.expressions.parser import InvalidExpression, Parser, Section
from tablewright.dynamo.expressions.path_checks import (
    clash,
    name_problem,
    nested_names,
    resolved,
    top_level_names,
    word_problem,
)
from tablewright.dynamo.expressions.projection import ProjectionProgram
from tablewright.dynamo.expressions.update_size import StatementSize
from tablewright.dynamo.item_size import value_size
from tablewright.dynamo.limits import MAX_ITEM_SIZE
from tablewright.dynamo.numbers import NUMBER_OVERFLOW, canonical_number

_KIND = "UpdateExpression"
_SETS = frozenset({"SS", "NS", "BS"})
_LONG_TYPES = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "NULL": "NULL",
    "BOOL": "BOOL",
    "L": "LIST",
    "M": "MAP",
}

_WRONG_TYPE = "An operand in the update expression has an incorrect data type"
_MISSING = "The provided expression refers to an attribute that does not exist in the item"
TOO_LARGE_TO_UPDATE = "Item size to update has exceeded the maximum allowed size"
# The actions of an update, and the lists in one list_append: applications have only a few.
_FEW_VALUES = 8
_BAD_PATH = "The document path provided in the update expression is invalid for update"

# Exact for any two numbers DynamoDB can store: 1E+125 and 1E-130 are 256 digits apart.
_EXACT = decimal.Context(prec=400, Emax=9999, Emin=-9999, traps=[])

_V = TypeVar("_V", AttributeValue, AttributeValue | None)
Evaluator = Callable[[Item, Values], AttributeValue]


class UpdateProgram:
    """A compiled update. ``check`` a request's values first; then ``apply``."""

    __slots__ = (
        "_actions",
        "_assignments",
        "_clash",
        "_evaluators",
        "_tests",
        "_touched",
        "_values",
        "nested_attributes",
        "only_removes",
        "statement_size",
        "top_level_attributes",
        "used_names",
        "used_values",
    )

    def __init__(self, actions: list[Action], names: Mapping[str, str]) -> None:
        written = [path for action in actions for path in _paths(action)]
        self.used_names: frozenset[str] = frozenset(
            str(part) for path in written for part in path.parts if isinstance(part, NameRef)
        )
        # In the order written, because DynamoDB names the first undefined one.
        self._values = tuple(dict.fromkeys(name for action in actions for name in _values(action)))
        self.used_values: frozenset[str] = frozenset(self._values)
        targets = [resolved(action.path, names) for action in actions]
        self._clash = clash(targets)
        self.top_level_attributes = top_level_names(targets)
        self.nested_attributes = nested_names(resolved(path, names) for path in written)
        self._tests = (*_operand_tests(actions), *_function_tests(actions, names))
        self._actions = tuple(zip(actions, (target.parts for target in targets), strict=True))
        self._evaluators = tuple(
            _evaluator(action.value, names) if isinstance(action, SetAction) else None for action in actions
        )
        # Most updates only set attributes.
        self._assignments = _assignments(self._actions, self._evaluators)
        self._touched = None if self._clash else ProjectionProgram(targets)
        self.only_removes = all(isinstance(action, RemoveAction | DeleteAction) for action in actions)
        """If there is no item, such an update does nothing."""
        self.statement_size = StatementSize(actions, names)

    def check(self, values: Values | None) -> None:
        """Raises DynamoDB's error if the values do not fit the expression."""
        values = values or {}
        for name in self._values:
            if name not in values:
                raise InvalidExpression(_KIND, condition_checks.undefined_value(name))
        if self._clash is not None:
            raise InvalidExpression(_KIND, self._clash)
        for test in self._tests:
            if (problem := test(values)) is not None:
                raise InvalidExpression(_KIND, problem)

    def static_types(self, values: Values) -> dict[str, str]:
        """The types that whole attributes are given, as far as the request alone determines them."""
        types = {}
        for action, parts in self._actions:
            if len(parts) == 1 and not isinstance(action, RemoveAction):
                tag = _assigned_type(action.value, values)
                if tag is not None:
                    types[str(parts[0])] = tag
        return types

    def apply(self, item: Item, values: Values) -> Item:
        """The item after the update; ``item`` itself, only a key if it is new, is not changed."""
        if self._assignments is None:
            return _applied(item, values, self._actions, self._evaluators)
        draft = item.copy()
        for name, evaluate in self._assignments:
            draft[name] = evaluate(item, values)
        return draft

    def updated(self, item: Item) -> Item:
        """The attributes that the update touches, of the old item for UPDATED_OLD or of the new one for UPDATED_NEW."""
        assert self._touched is not None, "the values of this update have not been checked"
        return self._touched.apply(item)


def _assignments(
    actions: Sequence[tuple[Action, tuple[PathPart, ...]]], evaluators: Sequence[Evaluator | None]
) -> tuple[tuple[str, Evaluator], ...] | None:
    """The attributes that an update sets, with their values, if it does nothing else, and sets only few."""
    if len(actions) > _FEW_VALUES:
        return None
    found = []
    for (_, parts), evaluate in zip(actions, evaluators, strict=True):
        if evaluate is None or len(parts) > 1:
            return None
        found.append((str(parts[0]), evaluate))
    return tuple(found)


def apply_actions(item: Item, actions: Sequence[Action]) -> Item:
    """The item after actions that contain their values; the actions themselves are not checked."""
    evaluators = [_evaluator(action.value, {}) if isinstance(action, SetAction) else None for action in actions]
    return _applied(item, {}, [(action, action.path.parts) for action in actions], evaluators)


def _applied(
    item: Item,
    values: Values,
    actions: Sequence[tuple[Action, tuple[PathPart, ...]]],
    evaluators: Sequence[Evaluator | None],
) -> Item:
    if len(evaluators) <= _FEW_VALUES:
        results = [evaluate and evaluate(item, values) for evaluate in evaluators]
    else:
        results = list(_bounded(evaluate and evaluate(item, values) for evaluate in evaluators))
    draft = _Draft(item)
    for (action, parts), result in zip(actions, results, strict=True):
        container = draft.item if len(parts) == 1 else draft.container(parts)
        if isinstance(action, SetAction):
            assert result is not None
            draft.write(container, parts[-1], result)
        elif isinstance(action, RemoveAction):
            draft.remove(container, parts[-1])
        else:
            value = condition_checks.constant(action.value, values)
            assert value is not None
            old = lookup(item, parts)
            if old is not None and old.keys() != value.keys():
                raise ValidationException(_WRONG_TYPE)
            if isinstance(action, AddAction):
                draft.write(container, parts[-1], value if old is None else add_values(old, value))
            elif old is not None:
                remaining = subtract_elements(old, value)
                if remaining is None:
                    draft.remove(container, parts[-1])
                else:
                    draft.write(container, parts[-1], remaining)
    return draft.finish()


@compiler(_KIND)
def compile_update(text: str, names: Mapping[str, str]) -> UpdateProgram:
    """The program of an update expression; raises the errors in its text and names."""
    sections = Parser(_KIND, text).update()
    actions = [action for section in sections for action in section.actions]
    for problem in _text_problems(sections, actions, names):
        if problem is not None:
            raise InvalidExpression(_KIND, problem)
    return UpdateProgram(actions, names)


def _text_problems(sections: list[Section], actions: list[Action], names: Mapping[str, str]) -> Iterator[str | None]:
    paths = [path for action in actions for path in _paths(action)]
    for path in paths:
        yield word_problem(path)
    for action in actions:
        if isinstance(action, SetAction):
            for call in _calls(action.value):
                yield condition_checks.function_problem(call.name, in_update=True)
                if call.name == "list_append" and call is not action.value:
                    yield condition_checks.misused_function(call.name)
    seen = set()
    for section in sections:
        if section.keyword in seen:
            yield f'The "{section.keyword}" section can only be used once in an update expression;'
        seen.add(section.keyword)
    for path in paths:
        yield name_problem(path, names)


# -- what an action refers to --------------------------------------------------------------------


def _children(operand: Operand) -> tuple[Operand, ...]:
    if isinstance(operand, Function):
        return operand.arguments
    return (operand.left, operand.right) if isinstance(operand, Arithmetic) else ()


def _operands(operand: Operand) -> Iterator[Operand]:
    yield operand
    for child in _children(operand):
        yield from _operands(child)


def _calls(operand: Operand) -> Iterator[Function]:
    return (node for node in _operands(operand) if isinstance(node, Function))


def _paths(action: Action) -> Iterator[Path]:
    yield action.path
    if isinstance(action, SetAction):
        yield from (node for node in _operands(action.value) if isinstance(node, Path))


def _values(action: Action) -> Iterator[str]:
    if not isinstance(action, RemoveAction):
        yield from (node.name for node in _operands(action.value) if isinstance(node, Placeholder))


# -- checks with values --------------------------------------------------------------------------


def _operand_tests(actions: list[Action]) -> Iterator[Test]:
    for action in actions:
        if isinstance(action, AddAction):
            yield _section_test("ADD", action.value, _SETS | {"N"})
        elif isinstance(action, DeleteAction):
            yield _section_test("DELETE", action.value, _SETS)


def _section_test(keyword: str, operand: Operand, allowed: frozenset[str]) -> Test:
    def test(values: Values) -> str | None:
        tag = condition_checks.static_type(operand, values)
        if tag is None or tag in allowed:
            return None
        return (
            f"Incorrect operand type for operator or function; operator: {keyword}, "
            f"operand type: {_LONG_TYPES[tag]}, typeSet: ALLOWED_FOR_ADD_OPERAND"
        )

    return test


def _function_tests(actions: list[Action], names: Mapping[str, str]) -> Iterator[Test]:
    for action in actions:
        if isinstance(action, SetAction):
            yield from _value_tests(action.value, names)


def _value_tests(operand: Operand, names: Mapping[str, str]) -> Iterator[Test]:
    for child in _children(operand):
        yield from _value_tests(child, names)
    if isinstance(operand, Arithmetic):
        yield from condition_checks.type_tests(operand.operator, _children(operand), frozenset({"N"}))
    elif isinstance(operand, Function):
        if (problem := condition_checks.operand_count_problem(operand)) is not None:
            yield condition_checks.always(problem)
        elif operand.name == "list_append":
            yield from condition_checks.type_tests("list_append", operand.arguments, frozenset({"L"}))
        elif not isinstance(operand.arguments[0], Path):
            yield condition_checks.always(condition_checks.path_required(operand.name))
        elif (problem := condition_checks.same_operands(operand, names)) is not None:
            yield condition_checks.always(problem)


def _assigned_type(operand: Operand, values: Values) -> str | None:
    match operand:
        case Arithmetic():
            return "N"
        case Function("list_append"):
            return "L"
        case Function("if_not_exists", (_, default)):
            return _assigned_type(default, values)
        case _:
            return condition_checks.static_type(operand, values)


# -- values to write -----------------------------------------------------------------------------


def _evaluator(operand: Operand, names: Mapping[str, str]) -> Evaluator:
    match operand:
        case Placeholder(name):
            return lambda item, values: values[name]
        case Literal(value):
            return lambda item, values: value
        case Path():
            return _existing(resolved(operand, names))
        case Arithmetic(operator, left, right):
            return _sum(operator == "-", _evaluator(left, names), _evaluator(right, names))
        case Function("if_not_exists", (Path() as path, default)):
            return _if_not_exists(resolved(path, names), _evaluator(default, names))
        case Function("list_append", (_, _)):
            return _list_append(*(_evaluator(part, names) for part in _appended(operand)))
        case Function():
            return _unusable


def _unusable(item: Item, values: Values) -> AttributeValue:
    raise AssertionError("the values of this update have not been checked")


def _existing(path: Path) -> Evaluator:
    at = getter(path.parts)

    def evaluate(item: Item, values: Values) -> AttributeValue:
        value = at(item)
        if value is None:
            raise ValidationException(_MISSING)
        return value

    return evaluate


def _if_not_exists(path: Path, default: Evaluator) -> Evaluator:
    at = getter(path.parts)

    def evaluate(item: Item, values: Values) -> AttributeValue:
        value = at(item)
        return default(item, values) if value is None else value

    return evaluate


def _sum(negative: bool, left: Evaluator, right: Evaluator) -> Evaluator:
    def evaluate(item: Item, values: Values) -> AttributeValue:
        one = left(item, values).get("N")
        if one is None:
            raise ValidationException(_WRONG_TYPE)
        other = right(item, values).get("N")
        if other is None:
            raise ValidationException(_WRONG_TYPE)
        return {"N": number_sum(one, other, negative)}

    return evaluate


def _list_append(*operands: Evaluator) -> Evaluator:
    def evaluate(item: Item, values: Values) -> AttributeValue:
        lists = [operand(item, values) for operand in operands]
        if any("L" not in value for value in lists):
            raise ValidationException(_WRONG_TYPE)
        if len(lists) > _FEW_VALUES:
            lists = list(_bounded(lists))
        return {"L": list(chain.from_iterable([value["L"] for value in lists]))}

    return evaluate


def _bounded(values: Iterable[_V]) -> Iterator[_V]:
    """The values, until they are too large for an item: many, possibly the same one, are not combined first."""
    sizes: dict[int, int] = {}
    total = 0
    for value in values:
        if value is not None:
            (content,) = value.values()
            if (size := sizes.get(id(content))) is None:
                size = sizes[id(content)] = value_size(value)
            # Without the header that a list has by itself, and not in another one.
            total += size - 3
            if total > MAX_ITEM_SIZE:
                raise ValidationException(TOO_LARGE_TO_UPDATE)
        yield value


def _appended(operand: Operand) -> Iterator[Operand]:
    """The lists that nested calls of list_append combine, in order."""
    if isinstance(operand, Function) and operand.name == "list_append" and len(operand.arguments) == 2:
        for argument in operand.arguments:
            yield from _appended(argument)
    else:
        yield operand


def number_sum(one: str, other: str, negative: bool = False) -> str:
    """The canonical sum or difference of two canonical numbers; an error if it cannot be stored."""
    if len(one) < 18 and len(other) < 18 and "." not in one and "." not in other:
        return str(int(one) - int(other) if negative else int(one) + int(other))
    left, right = _EXACT.create_decimal(one), _EXACT.create_decimal(other)
    try:
        return canonical_number(str(_EXACT.subtract(left, right) if negative else _EXACT.add(left, right)))
    except ValidationException:
        # Too many digits and too small a number are reported as an overflow as well.
        raise ValidationException(NUMBER_OVERFLOW) from None


def add_values(old: AttributeValue, value: AttributeValue) -> AttributeValue:
    """ADD: numbers add up and sets unite; both values are of one type."""
    ((tag, content),) = value.items()
    if tag == "N":
        return {"N": number_sum(old["N"], content)}
    there = set(old[tag])
    # Both are in order, so that they are merged rather than sorted.
    return {tag: set_order(tag, [*old[tag], *(element for element in content if element not in there)])}


def subtract_elements(old: AttributeValue, value: AttributeValue) -> AttributeValue | None:
    """DELETE: the set without the elements, or None if none is left."""
    ((tag, content),) = value.items()
    gone = set(content)
    left = [element for element in old[tag] if element not in gone]
    return {tag: left} if left else None


class _Draft:
    """A new version of an item: containers are copied when they are first written into."""

    __slots__ = ("_lists", "_owned", "item")

    def __init__(self, item: Item) -> None:
        self.item: Item = dict(item)
        self._owned: set[int] = set()
        self._lists: dict[int, tuple[list[AttributeValue], set[int], list[tuple[int, AttributeValue]]]] = {}

    def container(self, parts: tuple[PathPart, ...]) -> Any:
        """The map or list, safe to write into, that holds the last step of the path."""
        holder: Any = self.item
        for part, following in pairwise(parts):
            if isinstance(holder, list):
                value = holder[part] if isinstance(part, int) and part < len(holder) else None
            else:
                value = holder.get(part)
            tag = "L" if isinstance(following, int) else "M"
            content = None if value is None else value.get(tag)
            if content is None:
                raise ValidationException(_BAD_PATH)
            if id(content) not in self._owned:
                content = content.copy()
                self._owned.add(id(content))
                holder[part] = {tag: content}
            holder = content
        return holder

    def write(self, container: Any, part: PathPart, value: AttributeValue) -> None:
        if isinstance(part, int) and part >= len(container):
            self._changes(container)[2].append((part, value))
        else:
            container[part] = value

    def remove(self, container: Any, part: PathPart) -> None:
        if isinstance(part, int):
            self._changes(container)[1].add(part)
        else:
            container.pop(part, None)

    def finish(self) -> Item:
        for elements, removed, appended in self._lists.values():
            appended.sort(key=lambda entry: entry[0])
            kept = [element for position, element in enumerate(elements) if position not in removed]
            elements[:] = kept + [value for _, value in appended]
        return self.item

    def _changes(
        self, elements: list[AttributeValue]
    ) -> tuple[list[AttributeValue], set[int], list[tuple[int, AttributeValue]]]:
        return self._lists.setdefault(id(elements), (elements, set(), []))
