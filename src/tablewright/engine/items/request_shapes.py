"""Request shapes: checks of expressions are not repeated for requests with the same expressions.

All checks of expressions that DynamoDB makes before it looks at a value depend only on their texts, the names, and
which values there are. That is the shape of a request, and applications send few. For a request of a known valid shape,
the values are made canonical, and compared with what the programs require. Any other takes the slow path, and so does
one with an invalid value: only the slow path raises errors about names, placeholders and parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from tablewright.dynamo import AttributeValue, RequestValidationException, checked
from tablewright.dynamo.expressions import Values

_NAMES, _VALUES = "ExpressionAttributeNames", "ExpressionAttributeValues"
_NONE: Mapping[str, AttributeValue] = {}
# So many are cached, of at most so many characters: others are rare, or not an application's. A program takes some
# eighty times the memory of its text.
_KEPT = 256
_SIZE = 512


class Programs(Protocol):
    """The compiled expressions of a shape."""

    def check(self, values: Values, /) -> None: ...


_P = TypeVar("_P", bound=Programs)


class RequestShapes(Generic[_P]):
    """The shapes of one operation. A request with members other than its expressions and ``others`` has none."""

    __slots__ = ("_expressions", "_known", "_members")

    def __init__(self, expressions: Iterable[str], others: Iterable[str]) -> None:
        self._expressions = tuple(expressions)
        self._members = frozenset([*self._expressions, _NAMES, _VALUES, *others])
        self._known: dict[tuple[Any, ...], _P] = {}

    def find(self, request: Mapping[str, Any]) -> tuple[_P, Mapping[str, AttributeValue]] | None:
        """The programs for a request, and its values; raises if these do not fit the programs."""
        if not request.keys() <= self._members:
            return None
        programs = self._known.get(self._shape(request))
        if programs is None:
            return None
        given = request.get(_VALUES)
        if given is None:
            return programs, _NONE
        values = {}
        try:
            for name, value in given.items():
                # Most are text, which stays as it is.
                text = value.get("S")
                plain = text is not None and len(value) == 1 and text.isascii()
                values[name] = value if plain else checked(value)[0]
        except RequestValidationException:
            return None
        programs.check(values)
        return programs, values

    def learn(self, request: Mapping[str, Any], programs: _P) -> None:
        """Cache the programs of a valid request."""
        if not request.keys() <= self._members:
            return
        shape = self._shape(request)
        if len(repr(shape)) > _SIZE:
            return
        if len(self._known) >= _KEPT:
            # A copy, since another engine's thread may change it at the same time, and drop the same one.
            self._known.pop(next(iter(self._known.copy())), None)
        self._known[shape] = programs

    def _shape(self, request: Mapping[str, Any]) -> tuple[Any, ...]:
        names, values = request.get(_NAMES), request.get(_VALUES)
        return (
            *map(request.get, self._expressions),
            None if names is None else tuple(names.items()),
            None if values is None else tuple(values),
        )
