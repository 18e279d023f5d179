"""Fields as expressions: conditions, filters and changes, with names and types that a checker knows.

    attr(Ticket.status) == "open"                    attr(Ticket.status).set("closed")
    attr(Ticket.count) >= 5                          attr(Ticket.count).add(1)
    attr(Ticket.title).begins_with("VPN")            attr(Ticket.comments).append(comment)
    attr(Ticket.tags).contains("urgent")             attr(Ticket.tags).discard({"urgent"})
    attr(Ticket.address.city).exists()               attr(Ticket.lines[0].count).remove()

To a type checker ``Ticket.status`` is a ``str``, so that ``attr(Ticket.status)`` is an ``Attr[str]`` and takes nothing
else; at run time it is the path of the field, and values are validated as the field validates them.

A missing attribute counts as what it is read as: the default of its field, or None.
"""

from __future__ import annotations

import builtins
from decimal import Decimal
from typing import Any, Generic, Literal, TypeVar, overload

from pydantic import ValidationError

from tablewright.dynamo import AttributeValue, Path, parse_path
from tablewright.dynamo.expressions import And, Arithmetic, Between, Compare, Condition, Function, In, Operand, Or
from tablewright.dynamo.expressions import Literal as LiteralValue
from tablewright.dynamo.expressions.builder import exists, holds, missing
from tablewright.model.errors import ModelError
from tablewright.model.field_conditions import ChangeKind, FieldChange, FieldCondition, FieldPath
from tablewright.model.items.field_layout import invalid_value
from tablewright.model.items.field_paths import markers_of, place_of
from tablewright.model.schema import schema_of
from tablewright.model.values.attribute_codec import encode

__all__ = ["Attr", "Size", "Sum", "attr"]

T = TypeVar("T")
M = TypeVar("M")

AttributeType = Literal["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"]

_NULL: AttributeValue = {"NULL": True}


def attr(field: T) -> Attr[T]:
    """The field of an entity as an expression: ``attr(Ticket.status) == "open"``."""
    if not isinstance(field, FieldPath):
        raise ModelError(f"attr takes a field of an entity class, such as attr(Ticket.status), not {field!r}")
    return Attr(field._entity, field._path)


class Attr(Generic[T]):
    """A field in conditions and changes: ``attr(Ticket.status)``."""

    __slots__ = ("_entity", "_path", "_place")

    def __init__(self, entity: Any, path: str) -> None:
        self._entity = entity
        self._path = path
        self._place = place_of(entity, path)

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

    def between(self, low: T, high: T) -> FieldCondition:
        """From ``low`` to ``high``, both included."""
        node = Between(self._node(), LiteralValue(self._stored(low)), LiteralValue(self._stored(high)))
        return self._condition(node, f"{self._path} is from {low} to {high}")

    def is_in(self, *values: T) -> FieldCondition:
        """One of some values."""
        stored = [self._stored(value) for value in values if value is not None]
        text = f"{self._path} is {' or '.join(map(str, values)) or 'one of no values'}"
        # No value is one of none.
        node = In(self._node(), tuple(map(LiteralValue, stored))) if stored else And((self._exists(), self._missing()))
        found = self._condition(node, text)
        if None not in values:
            return found
        return FieldCondition(self._entity, Or((found.node, self._is_none().node)), text)

    def begins_with(self: Attr[str] | Attr[str | None] | Attr[bytes], prefix: str | bytes) -> FieldCondition:
        """Text that begins with a prefix."""
        stored = encode(prefix)
        if stored is None or not stored.keys() & {"S", "B"} or not self._place.types & {*stored, None}:
            raise invalid_value(self._name, prefix, TypeError("begins_with takes a text, and a field of text"))
        node = Function("begins_with", (self._node(), LiteralValue(stored)))
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
    def contains(self: Any, member: Any) -> FieldCondition:
        """A member of a list or a set, or a part of a text."""
        types = self._place.types
        if types & {"L"}:
            stored = place_of(self._entity, f"{self._path}[0]").encode(member)
        elif types & {"SET"}:
            stored = encode(self._member(member))
        elif types & {"S", None}:
            stored = encode(member)
        else:
            raise ModelError(f"{self._name} is neither a list, a set nor a text, so it contains nothing")
        if stored is None:
            raise invalid_value(self._name, member, TypeError("nothing contains None"))
        node = Function("contains", (self._node(), LiteralValue(stored)))
        return self._condition(node, f"{self._path} contains {member}")  # type: ignore[no-any-return]

    def size(self) -> Size:
        """The length of a text or of binary data in bytes, the number of members of a list, map or set."""
        return Size(self)

    def exists(self) -> FieldCondition:
        """The attribute is stored, whatever its value."""
        return FieldCondition(self._entity, self._exists(), f"{self._path} exists")

    def absent(self) -> FieldCondition:
        """The attribute is not stored."""
        return FieldCondition(self._entity, self._missing(), f"{self._path} is absent")

    def stored_as(self, kind: AttributeType) -> FieldCondition:
        """The attribute is stored with a type of DynamoDB's."""
        node = Function("attribute_type", (self._node(), LiteralValue({"S": kind})))
        return FieldCondition(self._entity, node, f"{self._path} is stored as {kind}")

    # -- changes ------------------------------------------------------------------------------------------------

    def set(self, value: T | Attr[T] | Sum[T]) -> FieldChange:
        """The field gets a value; that of another field, or a sum, is computed where the item is."""
        if isinstance(value, Attr | Sum):
            return self._computed(value._node())
        return FieldChange(self._entity, ChangeKind.SET, self._path, value)

    def set_if_absent(self, value: T) -> FieldChange:
        """The field gets a value unless it is stored already."""
        return self._computed(Function("if_not_exists", (self._node(), LiteralValue(self._stored(value)))))

    @overload
    def add(self: Attr[int] | Attr[int | None], amount: int) -> FieldChange: ...
    @overload
    def add(self: Attr[Decimal] | Attr[Decimal | None], amount: Decimal | int) -> FieldChange: ...
    @overload
    def add(self: Attr[float] | Attr[float | None], amount: float) -> FieldChange: ...
    @overload
    def add(self: Attr[builtins.set[M]], amount: builtins.set[M]) -> FieldChange: ...
    @overload
    def add(self: Attr[frozenset[M]], amount: builtins.set[M] | frozenset[M]) -> FieldChange: ...
    def add(self: Any, amount: Any) -> FieldChange:
        """Adds to a number, or members to a set; what is not there begins with what is added."""
        return FieldChange(self._entity, ChangeKind.ADD, self._path, amount)

    @overload
    def discard(self: Attr[builtins.set[M]], members: builtins.set[M]) -> FieldChange: ...
    @overload
    def discard(self: Attr[frozenset[M]], members: builtins.set[M] | frozenset[M]) -> FieldChange: ...
    def discard(self: Any, members: Any) -> FieldChange:
        """Takes members away from a set."""
        return FieldChange(self._entity, ChangeKind.DISCARD, self._path, members)

    @overload
    def append(self: Attr[list[M]], *members: M) -> FieldChange: ...
    @overload
    def append(self: Attr[list[M] | None], *members: M) -> FieldChange: ...
    def append(self: Any, *members: Any) -> FieldChange:
        """Appends to a list; one that is not there begins with what is appended."""
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

    # -- helpers ------------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return f"{self._entity.__name__}.{self._path}"

    def _node(self) -> Path:
        return parse_path(self._place.path)

    def _exists(self) -> Condition:
        return exists(self._place.path)

    def _missing(self) -> Condition:
        return missing(self._place.path)

    def _stored(self, value: Any) -> AttributeValue:
        """A value as the field stores it; what no item can have is a mistake."""
        schema = schema_of(self._entity)
        if self._path in schema.fields:
            stored = schema.encode_values({self._path: value}).get(self._place.path)
        else:
            try:
                stored = self._place.encode(self._place.validate(value))
            except (TypeError, ValueError) as error:
                raise invalid_value(self._name, value, error) from None
        if stored is None:
            raise invalid_value(self._name, value, TypeError("it is stored as no attribute; use absent()"))
        return stored

    def _member(self, member: Any) -> Any:
        if self._place.member is None:
            return member
        try:
            return self._place.member.validate_python(member)
        except ValidationError as error:
            raise invalid_value(self._name, member, error) from None

    def _check_same(self, other: Attr[Any]) -> None:
        if other._entity is not self._entity:
            raise ModelError(f"{self._name} and {other._name} are fields of different entities")

    def _compared(self, operator: str, value: Any) -> FieldCondition:
        if value is None:
            if operator not in ("=", "<>"):
                raise invalid_value(self._name, value, TypeError("None has no order"))
            found = self._is_none()
            return (
                found if operator == "=" else FieldCondition(self._entity, (~found).node, f"{self._path} is not None")
            )
        if isinstance(value, Attr):
            return self._compared_with_field(operator, value)
        node = Compare(operator, self._node(), LiteralValue(self._stored(value)))
        return self._condition(node, f"{self._path} {operator} {value}")

    def _compared_with_field(self, operator: str, other: Attr[Any]) -> FieldCondition:
        """Two fields compared, each of which may be missing and count as its default."""
        self._check_same(other)
        options: list[Condition] = []
        for mine, my_state in self._states():
            for theirs, their_state in other._states():
                compared = Compare(operator, mine, theirs)
                options.append(And((*my_state, *their_state, compared)) if my_state or their_state else compared)
        node = options[0] if len(options) == 1 else Or(tuple(options))
        return self._condition(node, f"{self._path} {operator} {other._path}", is_missing_known=True)

    def _states(self) -> list[tuple[Operand, tuple[Condition, ...]]]:
        """What the field is in an item: its attribute, or the default of a missing one; each with its condition."""
        default = schema_of(self._entity).defaults.get(self._place.path)
        if default is None:
            return [(self._node(), ())]
        return [(self._node(), (self._exists(),)), (LiteralValue(default), (self._missing(),))]

    def _is_none(self) -> FieldCondition:
        """None is stored as no attribute, or as NULL; where a missing one is a default, as NULL only."""
        null: Condition = Compare("=", self._node(), LiteralValue(_NULL))
        if self._place.path not in schema_of(self._entity).defaults:
            null = Or((self._missing(), null))
        return FieldCondition(self._entity, null, f"{self._path} is None")

    def _condition(self, node: Condition, text: str, *, is_missing_known: bool = False) -> FieldCondition:
        """A condition, which a missing attribute meets if the default of its field does."""
        schema = schema_of(self._entity)
        if any(spec.name == self._path for spec in schema.large):
            raise ModelError(f"{self._name} is Large and may be a blob: no condition can be on it")
        default = schema.defaults.get(self._place.path)
        if default is not None and not is_missing_known:
            if holds(node, {self._place.path: default}):
                node = Or((self._missing(), node))
            elif holds(node, {}):
                node = And((self._exists(), node))
        return FieldCondition(self._entity, node, text)

    def _computed(self, operand: Operand) -> FieldChange:
        if any(hasattr(marker, name) for marker in markers_of(self._entity, self._path) for name in _BOUNDS):
            raise ModelError(
                f"{self._name} has bounds, which cannot be checked for a value that is computed where the item is; "
                "use add(), or read the item and set() it"
            )
        return FieldChange(self._entity, ChangeKind.COMPUTE, self._path, operand)


_BOUNDS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length")


class Sum(Generic[T]):
    """A field plus or minus a number, or another field: ``attr(Account.balance) - 20``."""

    __slots__ = ("_operand",)

    def __init__(self, left: Attr[Any], operator: str, right: Any) -> None:
        if not left._place.types & {"N", None}:
            raise ModelError(f"{left._name} is not a number, so nothing is added to it")
        if isinstance(right, Attr):
            left._check_same(right)
            other: Operand = right._node()
        else:
            stored = encode(right)
            if stored is None or "N" not in stored:
                raise invalid_value(left._name, right, TypeError("only a number is added to a number"))
            other = LiteralValue(stored)
        self._operand = Arithmetic(operator, left._node(), other)

    def _node(self) -> Operand:
        return self._operand


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
        if isinstance(size, bool) or not isinstance(size, int):
            raise invalid_value(of._name, size, TypeError("a size is a whole number"))
        function = Function("size", (of._node(),))
        node = Compare(operator, function, LiteralValue({"N": str(size)}))
        return of._condition(node, f"the size of {of._path} {operator} {size}")
