"""Fields as expressions: conditions, filters and changes, with names and types that a checker knows.

    attr(Ticket.status) == "open"                    attr(Ticket.status).set("closed")
    attr(Ticket.count) >= 5                          attr(Ticket.count).add(1)
    attr(Ticket.title).begins_with("VPN")            attr(Ticket.comments).append(comment)
    attr(Ticket.tags).contains("urgent")             attr(Ticket.tags).discard({"urgent"})
    attr(Ticket.address.city).exists()               attr(Ticket.lines[0].count).remove()

To a type checker ``Ticket.status`` is a ``str``, so that ``attr(Ticket.status)`` is an ``Attr[str]`` and takes nothing
else; at run time it is the path of the field, and values are validated as the field validates them. A path through a
field that may be None goes on with ``present``: ``attr(present(Ticket.address).city)``.

A missing attribute counts as what it is read as: the default of its field, or None.
"""

from __future__ import annotations

import builtins
from dataclasses import replace
from decimal import Decimal
from enum import Enum
from typing import Any, Generic, Literal, TypeVar, overload

from pydantic import ValidationError

from tablewright.dynamo import AttributeValue, Path, parse_path
from tablewright.dynamo.expressions import (
    And,
    Arithmetic,
    Between,
    Compare,
    Condition,
    Function,
    In,
    Not,
    Operand,
    Or,
    Placeholder,
    leaves,
    operands,
)
from tablewright.dynamo.expressions import Literal as LiteralValue
from tablewright.dynamo.expressions.builder import exists, missing
from tablewright.model.errors import ModelError
from tablewright.model.field_conditions import (
    ChangeKind,
    FieldChange,
    FieldCondition,
    FieldGroup,
    FieldPath,
    FilterParameter,
    path_of,
)
from tablewright.model.items.field_layout import encode_value, invalid_value
from tablewright.model.items.field_paths import markers_of, place_of
from tablewright.model.items.missing_values import COMPARISONS, is_met_by, is_met_by_missing, missing_steps
from tablewright.model.schema import schema_of
from tablewright.model.values.attribute_codec import encode

__all__ = ["Attr", "Size", "Sum", "attr", "present"]

T = TypeVar("T")
M = TypeVar("M")

AttributeType = Literal["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"]

_NULL: AttributeValue = {"NULL": True}
# What is made by these is the same each time.
_EMPTY: dict[Any, AttributeValue] = {list: {"L": []}, dict: {"M": {}}}


def attr(field: T) -> Attr[T]:
    """The field of an entity as an expression: ``attr(Ticket.status) == "open"``."""
    if not isinstance(field, FieldPath):
        raise ModelError(f"attr takes a field of an entity class, such as attr(Ticket.status), not {field!r}")
    expression: Attr[T] | None = field._attr
    if expression is None:
        expression = field._attr = Attr(field._entity, field._path)
    return expression


def present(field: T | None) -> T:
    """A field that may be None, for a path into it: ``attr(present(Ticket.address).city)``."""
    if not isinstance(field, FieldPath):
        raise ModelError(f"present takes a field of an entity class, such as present(Ticket.address), not {field!r}")
    return field


class Attr(Generic[T]):
    """A field in conditions and changes: ``attr(Ticket.status)``."""

    __slots__ = ("_default", "_entity", "_lacking", "_location", "_made", "_parsed", "_path", "_place", "_refusal")

    def __init__(self, entity: Any, path: str) -> None:
        schema = schema_of(entity)
        # Comparisons that have been made before, as programs compare with few values; and the path, once it is parsed.
        self._made: dict[tuple[str, type, Any], FieldCondition] = {}
        self._parsed: Path | None = None
        self._entity = entity
        self._path = path
        self._place = place_of(entity, path)
        # What a missing attribute stands for.
        self._default = schema.defaults.get(self._place.path)
        self._location = None
        if path in schema.fields:
            self._location = schema.locate(path, self._name)
            if (factory := entity.model_fields[path].default_factory) in _EMPTY:
                self._default = _EMPTY[factory]
        self._lacking = missing_steps(entity, path) if self._location is None else ()
        if self._lacking and all(step.value == self._lacking[0].value for step in self._lacking):
            # It is the same, wherever the path ends.
            self._default = self._lacking[0].value
            self._lacking = ()
        # Why no condition can be on it.
        self._refusal: str | None = None
        if self._place.path in schema.unstored.names:
            self._refusal = "is stored in keys only, so it cannot be in a condition; pass it to a pattern"
        elif any(spec.name == path for spec in schema.large):
            self._refusal = "is Large and may be stored as a blob, so it cannot be in a condition"

    def __repr__(self) -> str:
        return f"attr({self._entity.__name__}.{self._path})"

    # -- conditions ---------------------------------------------------------------------------------------------

    def __eq__(self, value: T | Attr[T]) -> FieldCondition:  # type: ignore[override]
        return self._compared("=", value)

    def __ne__(self, value: T | Attr[T]) -> FieldCondition:  # type: ignore[override]
        return self._compared("<>", value)

    def __lt__(self, value: T | Attr[T]) -> FieldCondition:
        return self._compared("<", value)

    def __le__(self, value: T | Attr[T]) -> FieldCondition:
        return self._compared("<=", value)

    def __gt__(self, value: T | Attr[T]) -> FieldCondition:
        return self._compared(">", value)

    def __ge__(self, value: T | Attr[T]) -> FieldCondition:
        return self._compared(">=", value)

    __hash__ = None  # type: ignore[assignment]

    def is_(self, value: T) -> FieldCondition:
        """The same as ``==``, for ``None``, ``True`` and ``False``, for which linters reject ``==``."""
        return self._compared("=", value)

    def is_not(self, value: T) -> FieldCondition:
        """The same as ``!=``."""
        return self._compared("<>", value)

    def between(self, low: T, high: T) -> FieldCondition:
        """From ``low`` to ``high``, both included."""
        node = Between(self._node(), self._literal(low), self._literal(high))
        return self._condition(node, f"{self._path} is from {low} to {high}")

    def is_in(self, *values: T) -> FieldCondition:
        """One of some values."""
        options = tuple(self._literal(value) for value in values if value is not None)
        text = f"{self._path} is {' or '.join(map(_words, values)) or 'one of no values'}"
        # No value is one of none.
        parts = [In(self._node(), options[at : at + _MOST_OPTIONS]) for at in range(0, len(options), _MOST_OPTIONS)]
        node: Condition = parts[0] if len(parts) == 1 else Or(tuple(parts))
        if not parts:
            node = And((self._exists(), self._missing()))
        found = self._condition(node, text)
        if len(options) == len(values):
            return found
        return self._described(Or((found.node, self._is_none().node)), text)

    def begins_with(self: Attr[str] | Attr[str | None] | Attr[bytes], prefix: str | bytes) -> FieldCondition:
        """Text that begins with a prefix."""
        operand: Operand
        if isinstance(prefix, FilterParameter):
            operand = _placeholder(prefix)
        else:
            stored = encode(prefix)
            if stored is None or not stored.keys() & {"S", "B"} or not self._place.types & {*stored, None}:
                raise invalid_value(self._name, prefix, TypeError("begins_with takes text, and is for fields of text"))
            operand = LiteralValue(stored)
        node = Function("begins_with", (self._node(), operand))
        return self._condition(node, f"{self._path} begins with {prefix!r}")

    @overload
    def contains(self: Attr[str], member: str) -> FieldCondition: ...
    @overload
    def contains(self: Attr[str | None], member: str) -> FieldCondition: ...
    @overload
    def contains(self: Attr[list[M]], member: M) -> FieldCondition: ...
    @overload
    def contains(self: Attr[list[M] | None], member: M) -> FieldCondition: ...
    @overload
    def contains(self: Attr[builtins.set[M]], member: M) -> FieldCondition: ...
    @overload
    def contains(self: Attr[builtins.set[M] | None], member: M) -> FieldCondition: ...
    @overload
    def contains(self: Attr[frozenset[M]], member: M) -> FieldCondition: ...
    @overload
    def contains(self: Attr[frozenset[M] | None], member: M) -> FieldCondition: ...
    def contains(self: Any, member: Any) -> FieldCondition:
        """A member of a list or a set, or a part of a text."""
        types = self._place.types
        if not types & {"L", "SET", "S", None}:
            raise ModelError(f"{self._name} is neither a list, a set nor text, so it cannot contain anything")
        operand: Operand
        if isinstance(member, FilterParameter):
            operand = _placeholder(member)
        else:
            if types & {"L"}:
                stored = place_of(self._entity, f"{self._path}[0]").encode(member)
            else:
                stored = encode(self._member(member) if types & {"SET"} else member)
            if stored is None:
                raise invalid_value(self._name, member, TypeError("None cannot be contained in anything"))
            operand = LiteralValue(stored)
        node = Function("contains", (self._node(), operand))
        return self._condition(node, f"{self._path} contains {member}")  # type: ignore[no-any-return]

    def size(self) -> Size:
        """The length of a text or of binary data in bytes, the number of members of a list, map or set."""
        return Size(self)

    def exists(self) -> FieldCondition:
        """The attribute is stored, whatever its value."""
        return self._described(self._exists(), f"{self._path} exists")

    def absent(self) -> FieldCondition:
        """The attribute is not stored."""
        return self._described(self._missing(), f"{self._path} is absent")

    def stored_as(self, kind: AttributeType) -> FieldCondition:
        """The attribute is stored with a type of DynamoDB's."""
        node = Function("attribute_type", (self._node(), LiteralValue({"S": kind})))
        return self._described(node, f"{self._path} is stored as {kind}")

    # -- changes ------------------------------------------------------------------------------------------------

    def set(self, value: T | Attr[T] | Sum[T]) -> FieldChange:
        """The field gets a value; that of another field, or a sum, is computed where the item is."""
        if isinstance(value, Attr | Sum):
            return self._computed(value)
        return FieldChange(self._entity, ChangeKind.SET, self._path, value)

    def set_if_absent(self, value: T) -> FieldChange:
        """The field gets a value unless it is stored already."""
        operand = Function("if_not_exists", (self._node(), LiteralValue(self._stored(value))))
        return FieldChange(self._entity, ChangeKind.COMPUTE, self._path, operand)

    @overload
    def add(self: Attr[int] | Attr[int | None], amount: int) -> FieldChange: ...
    @overload
    def add(self: Attr[Decimal] | Attr[Decimal | None], amount: Decimal | int) -> FieldChange: ...
    @overload
    def add(self: Attr[float] | Attr[float | None], amount: float) -> FieldChange: ...
    @overload
    def add(self: Attr[builtins.set[M]], amount: builtins.set[M]) -> FieldChange: ...
    @overload
    def add(self: Attr[builtins.set[M] | None], amount: builtins.set[M]) -> FieldChange: ...
    @overload
    def add(self: Attr[frozenset[M]], amount: builtins.set[M] | frozenset[M]) -> FieldChange: ...
    @overload
    def add(self: Attr[frozenset[M] | None], amount: builtins.set[M] | frozenset[M]) -> FieldChange: ...
    def add(self: Any, amount: Any) -> FieldChange:
        """Adds to a number, or members to a set; a missing attribute starts as what is added."""
        self._node()
        return FieldChange(self._entity, ChangeKind.ADD, self._path, amount)

    @overload
    def discard(self: Attr[builtins.set[M]], members: builtins.set[M]) -> FieldChange: ...
    @overload
    def discard(self: Attr[builtins.set[M] | None], members: builtins.set[M]) -> FieldChange: ...
    @overload
    def discard(self: Attr[frozenset[M]], members: builtins.set[M] | frozenset[M]) -> FieldChange: ...
    @overload
    def discard(self: Attr[frozenset[M] | None], members: builtins.set[M] | frozenset[M]) -> FieldChange: ...
    def discard(self: Any, members: Any) -> FieldChange:
        """Takes members away from a set."""
        return FieldChange(self._entity, ChangeKind.DISCARD, self._path, members)

    @overload
    def append(self: Attr[list[M]], *members: M) -> FieldChange: ...
    @overload
    def append(self: Attr[list[M] | None], *members: M) -> FieldChange: ...
    def append(self: Any, *members: Any) -> FieldChange:
        """Appends to a list; a missing list starts as what is appended."""
        return FieldChange(self._entity, ChangeKind.APPEND, self._path, members)

    def remove(self) -> FieldChange:
        """Removes the attribute, or an element of a list."""
        return FieldChange(self._entity, ChangeKind.REMOVE, self._path)

    @overload
    def __add__(self: Attr[int], amount: int | Attr[int]) -> Sum[int]: ...
    @overload
    def __add__(self: Attr[Decimal], amount: Decimal | int | Attr[Decimal]) -> Sum[Decimal]: ...
    @overload
    def __add__(self: Attr[float], amount: float | Attr[float]) -> Sum[float]: ...
    def __add__(self: Any, amount: Any) -> Any:
        return Sum(self, "+", amount)

    @overload
    def __sub__(self: Attr[int], amount: int | Attr[int]) -> Sum[int]: ...
    @overload
    def __sub__(self: Attr[Decimal], amount: Decimal | int | Attr[Decimal]) -> Sum[Decimal]: ...
    @overload
    def __sub__(self: Attr[float], amount: float | Attr[float]) -> Sum[float]: ...
    def __sub__(self: Any, amount: Any) -> Any:
        return Sum(self, "-", amount)

    @overload
    def __rsub__(self: Attr[int], amount: int) -> Sum[int]: ...
    @overload
    def __rsub__(self: Attr[Decimal], amount: Decimal | int) -> Sum[Decimal]: ...
    @overload
    def __rsub__(self: Attr[float], amount: float) -> Sum[float]: ...
    def __rsub__(self: Any, amount: Any) -> Any:
        return Sum(amount, "-", self)

    def per(self, *fields: object) -> FieldGroup[T]:
        """The field within the items that have the same values of other fields, for ``Unique`` and ``Numbered``."""
        return FieldGroup(self._entity, self._path, tuple(path_of(each, self._entity, "per") for each in fields))

    # -- helpers ------------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return f"{self._entity.__name__}.{self._path}"

    def _node(self) -> Path:
        if self._parsed is None:
            if self._place.path in schema_of(self._entity).unstored.names:
                raise ModelError(f"{self._name} {self._refusal}")
            self._parsed = parse_path(self._place.path)
        return self._parsed

    def _exists(self) -> Condition:
        self._node()
        return exists(self._place.path)

    def _missing(self) -> Condition:
        return missing(self._place.path)

    def _encoded(self, value: Any) -> AttributeValue | None:
        """A value as the field stores it, None for no attribute; what no item can have is a mistake."""
        if self._location is not None:
            return encode_value(self._location, value, self._name)
        try:
            return self._place.encode(self._place.validate(value))
        except (TypeError, ValueError) as error:
            raise invalid_value(self._name, value, error) from None

    def _stored(self, value: Any) -> AttributeValue:
        stored = self._encoded(value)
        if stored is None:
            raise invalid_value(self._name, value, TypeError("it is not stored as an attribute"))
        return stored

    def _literal(self, value: Any) -> Operand:
        return _placeholder(value) if isinstance(value, FilterParameter) else LiteralValue(self._stored(value))

    def _member(self, member: Any) -> Any:
        if self._place.member is None:
            return member
        try:
            return self._place.member.validate_python(member)
        except ValidationError as error:
            raise invalid_value(self._name, member, error) from None

    def _check_alike(self, other: Attr[Any]) -> None:
        """The other field is of the same item, and has values of the same kind."""
        if other._entity is not self._entity:
            raise ModelError(f"{self._name} and {other._name} are fields of different entities")
        mine, theirs = self._place.types - {"NULL"}, other._place.types - {"NULL"}
        if None not in mine | theirs and mine.isdisjoint(theirs):
            raise ModelError(f"{self._name} and {other._name} are stored as different types")

    def _operand(self) -> Operand:
        """The value of the field where the item is; a missing attribute has the value of its default."""
        if self._default is None:
            return self._node()
        return Function("if_not_exists", (self._node(), LiteralValue(self._default)))

    def _compared(self, operator: str, value: Any) -> FieldCondition:
        kind = type(value)
        if (kind not in _REMEMBERED and not isinstance(value, Enum)) or (kind is str and len(value) > _LONG):
            return self._comparison(operator, value)
        # 1 and True are equal, and so are an enum and its text.
        made = self._made.get((operator, kind, value))
        if made is None:
            made = self._comparison(operator, value)
            if len(self._made) >= _MAX_REMEMBERED:
                self._made.clear()
            self._made[operator, kind, value] = made
        return made

    def _comparison(self, operator: str, value: Any) -> FieldCondition:
        if isinstance(value, Attr):
            return self._compared_with_field(operator, value)
        if isinstance(value, FilterParameter):
            return self._condition(
                Compare(operator, self._node(), _placeholder(value)), f"{self._path} {operator} {value}"
            )
        stored = None if value is None else self._encoded(value)
        if stored is None:
            if operator not in ("=", "<>"):
                raise invalid_value(
                    self._name, value, TypeError(f"{value!r} cannot be ordered; compare it with == or !=")
                )
            found = self._is_none()
            if operator == "=":
                return found
            return self._described(Not(found.node), f"{self._path} is not None")
        node = Compare(operator, self._node(), LiteralValue(stored))
        return self._condition(node, f"{self._path} {operator} {_words(value)}")

    def _compared_with_field(self, operator: str, other: Attr[Any]) -> FieldCondition:
        """Two fields compared, each of which may be missing and count as its default."""
        self._check_alike(other)
        options: list[Condition] = []
        for mine, my_state in self._states():
            for theirs, their_state in other._states():
                leaf = Compare(operator, mine, theirs)
                options.append(And((*my_state, *their_state, leaf)) if my_state or their_state else leaf)
        node = options[0] if len(options) == 1 else Or(tuple(options))
        compared = self._condition(node, f"{self._path} {operator} {other._path}", is_missing_known=True)
        return replace(compared, paths=(*compared.paths, (other._path, other._place.path)))

    def _states(self) -> list[tuple[Operand, tuple[Condition, ...]]]:
        """What the field is in an item: its attribute, or the default of a missing one; each with its condition."""
        if self._lacking:
            known = [step for step in self._lacking if step.value is not None]
            return [
                (self._node(), (self._exists(),)),
                *((LiteralValue(step.value), (step.condition,)) for step in known if step.value is not None),
            ]
        if self._default is None:
            return [(self._node(), ())]
        return [(self._node(), (self._exists(),)), (LiteralValue(self._default), (self._missing(),))]

    def _is_none(self) -> FieldCondition:
        """None is stored as no attribute, or as NULL; where a missing one is a default, as NULL only."""
        null: Condition = Compare("=", self._node(), LiteralValue(_NULL))
        if self._lacking:
            null = Or((*(step.condition for step in self._lacking if step.value is None), null))
        elif self._default is None:
            null = Or((self._missing(), null))
        return self._described(null, f"{self._path} is None")

    def _condition(self, node: Condition, text: str, *, is_missing_known: bool = False) -> FieldCondition:
        """A condition, which a missing attribute meets if the default of its field does."""
        default = self._default
        if self._lacking and not is_missing_known and not _has_parameters(node):
            return self._described(self._with_missing(node), text)
        if default is not None and not is_missing_known and not _has_parameters(node):
            is_met = is_met_by(node, default, self._place.path)
            if is_met is not is_met_by_missing(node):
                node = Or((self._missing(), node)) if is_met else And((self._exists(), node))
        return self._described(node, text)

    def _with_missing(self, condition: Condition) -> Condition:
        """A condition that a path also meets where it is missing, if the value that it has then does."""
        node = condition
        if_missing = is_met_by_missing(condition)
        for step in self._lacking:
            is_met = if_missing if step.value is None else is_met_by(condition, step.value, self._place.path)
            if is_met is not if_missing:
                node = Or((step.condition, node)) if is_met else And((Not(step.condition), node))
        return node

    def _described(self, node: Condition, text: str) -> FieldCondition:
        if self._refusal is not None:
            raise ModelError(f"{self._name} {self._refusal}")
        return FieldCondition(self._entity, node, text, ((self._path, self._place.path),))

    def _computed(self, value: Attr[Any] | Sum[Any]) -> FieldChange:
        operands = value.fields if isinstance(value, Sum) else (value,)
        for operand in operands:
            self._check_alike(operand)
        if self._place.whole and not (all(each._place.whole for each in operands) and value._is_whole):
            raise ModelError(f"{self._name} is an integer, and the value it is set to may have a fraction")
        if any(hasattr(marker, name) for marker in markers_of(self._entity, self._path) for name in _BOUNDS):
            raise ModelError(
                f"{self._name} has bounds, which cannot be checked for a value that is computed in the "
                "database; use add(), or read the item and set() it"
            )
        return FieldChange(self._entity, ChangeKind.COMPUTE, self._path, value._operand())

    @property
    def _is_whole(self) -> bool:
        return self._place.whole


def _placeholder(parameter: FilterParameter) -> Placeholder:
    return Placeholder(f":{parameter.name}")


# The service takes so many in an IN.
_MOST_OPTIONS = 100
# The types whose comparisons are remembered, and how many of one field.
_REMEMBERED = frozenset([str, int, bool, type(None)])
_MAX_REMEMBERED = 128
_LONG = 64


def _has_parameters(condition: Condition) -> bool:
    if isinstance(condition, Compare):
        return isinstance(condition.right, Placeholder)
    return any(isinstance(operand, Placeholder) for leaf in leaves(condition) for operand in operands(leaf))


_BOUNDS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length")


class Sum(Generic[T]):
    """A field plus or minus a number, or another field: ``attr(Account.balance) - 20``."""

    __slots__ = ("_is_whole", "_node", "fields")

    def __init__(self, left: Any, operator: str, right: Any) -> None:
        self.fields = tuple(each for each in (left, right) if isinstance(each, Attr))
        first = self.fields[0]
        for field in self.fields:
            if not field._place.types & {"N", None}:
                raise ModelError(f"{field._name} is not a number, so nothing can be added to it")
            first._check_alike(field)
        self._is_whole = all(field._place.whole for field in self.fields)
        self._node = Arithmetic(operator, self._operand_of(first, left), self._operand_of(first, right))

    def _operand_of(self, field: Attr[Any], value: Any) -> Operand:
        if isinstance(value, Attr):
            return value._operand()
        stored = encode(value)
        if stored is None or "N" not in stored:
            raise invalid_value(field._name, value, TypeError("only a number can be added to a number"))
        self._is_whole &= isinstance(value, int) or value == int(value)
        return LiteralValue(stored)

    def _operand(self) -> Operand:
        return self._node


class Size:
    """How large a value is: ``attr(Ticket.comments).size() < 100``."""

    __slots__ = ("_attr",)

    def __init__(self, of: Attr[Any]) -> None:
        self._attr = of

    def __eq__(self, size: int) -> FieldCondition:  # type: ignore[override]
        return self._compared("=", size)

    def __ne__(self, size: int) -> FieldCondition:  # type: ignore[override]
        return self._compared("<>", size)

    def __lt__(self, size: int) -> FieldCondition:
        return self._compared("<", size)

    def __le__(self, size: int) -> FieldCondition:
        return self._compared("<=", size)

    def __gt__(self, size: int) -> FieldCondition:
        return self._compared(">", size)

    def __ge__(self, size: int) -> FieldCondition:
        return self._compared(">=", size)

    __hash__ = None  # type: ignore[assignment]

    def _compared(self, operator: str, size: int) -> FieldCondition:
        of = self._attr
        of_node, text = Function("size", (of._node(),)), f"the size of {of._path} {operator} {size}"
        if isinstance(size, FilterParameter):
            return of._condition(Compare(operator, of_node, _placeholder(size)), text)
        if isinstance(size, bool) or not isinstance(size, int):
            raise invalid_value(of._name, size, TypeError("a size is compared with an integer"))
        node: Condition = Compare(operator, of_node, LiteralValue({"N": str(size)}))
        if "SET" in of._place.types:
            # Sets are never stored empty.
            is_met = COMPARISONS[operator](0, size)
            node = Or((of._missing(), node)) if is_met else And((of._exists(), node))
        return of._condition(node, text)


def _words(value: Any) -> str:
    """A value as messages show it: the members of a set have an order there."""
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(repr, value)))}}}"
    return str(value)
