"""The shapes that requests are made of.

A shape is declared once, as data, and has four functions for a value of its kind:

``check``       a fast closure that confirms that the value is valid and that nothing in it has to change. It
                runs on every request, and returns False rather than a reason.
``read``        the value as the service's JSON reader would read it (unknown members and nulls dropped,
                numbers and booleans coerced), or the reader's SerializationException.
``violations``  the constraints the value breaks, in the order in which the service lists them.
``render``      the value as the service prints it in a message: the way Java's ``toString`` would.

The order of the members of a ``Struct`` is the order in which its violations are listed.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from tablewright.dynamo import SerializationException, ValidationException, text_size

Check = Callable[[Any], bool]

JAVA_PACKAGE = "com.amazonaws.dynamodb.v20120810"

MAX_VIOLATIONS = 10

# How much of a value is shown in a message. No ordinary request comes near; without a limit, a few megabytes of empty
# structures would give a response of hundreds.
_MAX_SHOWN = 100_000

_CLASS_CAST = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
    "java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are "
    "in module java.base of loader 'bootstrap')"
)
_UNEXPECTED_STRUCTURE = "Start of structure or map found where not expected"

_SURROGATE = re.compile("[\ud800-\udfff]")
_TRUE_WORDS = frozenset({"TRUE", "1", "YES"})
_FALSE_WORDS = frozenset({"FALSE", "0", "NO"})


class Path(NamedTuple):
    """The place of a value: as the service writes it (``keySchema.1.member``), and as the request does."""

    java: str = ""
    wire: str = ""

    def member(self, name: str) -> Path:
        dot = "." if self.java else ""
        return Path(f"{self.java}{dot}{name[0].lower()}{name[1:]}", f"{self.wire}{dot}{name}")

    def inside(self, index_or_key: int | str) -> Path:
        return Path(f"{self.java}.{index_or_key}.member", f"{self.wire}.{index_or_key}.member")


class Violations:
    """The violated constraints found so far, as many as the service lists."""

    def __init__(self) -> None:
        self._found: list[str] = []

    @property
    def full(self) -> bool:
        return len(self._found) >= MAX_VIOLATIONS

    def add(self, value: str, path: Path, message: str) -> None:
        if not self.full:
            self._found.append(f"Value {value} at '{path.java}' failed to satisfy constraint: {message}")

    def add_terse(self, path: Path, message: str) -> None:
        """For the few constraints that the service reports without the value."""
        if not self.full:
            self._found.append(f"Value at '{path.wire}' failed to satisfy constraint: {message}")

    def add_nameless(self, message: str) -> None:
        """For the constraints that the service reports without the value and without its place."""
        if not self.full:
            self._found.append(message)

    def raise_any(self) -> None:
        if self._found:
            plural = "s" if len(self._found) > 1 else ""
            raise ValidationException(f"{len(self._found)} validation error{plural} detected: {'; '.join(self._found)}")


class Shape(ABC):
    """A kind of value. ``java_type`` is its name in the service's reader."""

    @property
    @abstractmethod
    def java_type(self) -> str: ...

    @abstractmethod
    def check(self) -> Check: ...

    @abstractmethod
    def read(self, value: Any, *, element: bool = False) -> Any:
        """``element``: the value is an element of a list or map, not a member; errors differ."""

    def violations(self, value: Any, path: Path, found: Violations) -> None:
        return None

    @abstractmethod
    def render(self, value: Any) -> str: ...

    def null_element(self) -> Any:
        """The replacement for a null in a list or map; None drops it."""
        return None


def token(value: Any) -> str:
    """The name of a scalar's JSON token in the service's reader."""
    if value is True:
        return "TRUE_VALUE"
    if value is False:
        return "FALSE_VALUE"
    if isinstance(value, str):
        return "STRING_VALUE"
    return "DECIMAL_VALUE" if isinstance(value, float) else "NUMBER_VALUE"


def _is_text(value: Any) -> bool:
    """Whether the value is a string that can be encoded; half of a surrogate pair cannot."""
    return type(value) is str and (value.isascii() or not _SURROGATE.search(value))


def _accept(value: Any) -> bool:
    return True


class Scalar(Shape):
    """The common part of all scalars: lists and objects are refused alike."""

    java_type = ""

    def read(self, value: Any, *, element: bool = False) -> Any:
        if isinstance(value, list):
            raise SerializationException(f"Unrecognized collection type class {self.java_type}")
        if isinstance(value, dict):
            raise SerializationException(_UNEXPECTED_STRUCTURE)
        if not isinstance(value, (str, bool, int, float)):
            raise SerializationException("Unexpected value type in payload")
        return self.convert(value)

    @abstractmethod
    def convert(self, value: str | bool | float) -> Any: ...

    def cannot_convert(self, value: Any) -> SerializationException:
        return SerializationException(f"{token(value)} cannot be converted to {self.java_type.rpartition('.')[2]}")

    def render(self, value: Any) -> str:
        return str(value)


class String(Scalar):
    java_type = "java.lang.String"

    def __init__(
        self,
        *,
        min: int | None = None,
        max: int | None = None,
        pattern: str | None = None,
        enum: tuple[str, ...] = (),
    ) -> None:
        self.min, self.max, self.pattern, self.enum = min, max, pattern, enum

    def check(self) -> Check:
        if self.enum:
            allowed = frozenset(self.enum)
            return lambda value: type(value) is str and value in allowed
        if self.min is None and self.max is None and self.pattern is None:
            return _is_text
        low, high = self.min or 0, math.inf if self.max is None else self.max
        fits = re.compile(self.pattern or ".*", re.DOTALL).fullmatch
        return lambda value: _is_text(value) and low <= len(value) <= high and fits(value) is not None

    def convert(self, value: str | bool | float) -> str:
        if not isinstance(value, str):
            raise self.cannot_convert(value)
        text_size(value)  # raises for half of a surrogate pair, which no JSON has
        return value

    def broken(self, value: str) -> list[str]:
        """The constraints that the string breaks."""
        messages = []
        if self.pattern is not None and not re.fullmatch(self.pattern, value):
            messages.append(_pattern_message(self.pattern))
        messages += broken_limits(len(value), self.min, self.max)
        if self.enum and value not in self.enum:
            messages.append(f"Member must satisfy enum value set: [{', '.join(self.enum)}]")
        return messages

    def violations(self, value: Any, path: Path, found: Violations) -> None:
        for message in self.broken(value):
            found.add(f"'{value}'", path, message)

    def constraint_list(self) -> str:
        """All constraints, as the service lists them for the keys of a map or the members of a list."""
        messages = limit_messages(self.min, self.max)
        if self.pattern is not None:
            messages.append(_pattern_message(self.pattern))
        return f"[{', '.join(messages)}]"


class NamelessEnum(String):
    """An enumeration that the service reports without the value, and with names that are not quite its own.

    ``alone``: it is reported by itself, and not counted.
    """

    def __init__(self, *enum: str, shown: str, alone: bool = False) -> None:
        super().__init__(enum=enum)
        self._problem = f"Failed to satisfy constraint: Member must satisfy enum value set: [{shown}]"
        self._alone = alone

    def violations(self, value: Any, path: Path, found: Violations) -> None:
        if value in self.enum:
            return
        if self._alone:
            raise ValidationException(self._problem)
        found.add_nameless(self._problem)


class Number(Scalar):
    """An integer; ``java`` is Integer or Long. Values beyond Java's range become the end of that range."""

    def __init__(self, java: str, *, min: int | None = None, max: int | None = None, terse: bool = False) -> None:
        self.java_type = f"java.lang.{java}"
        self.min, self.max, self.terse = min, max, terse
        self.last = 2**31 - 1 if java == "Integer" else 2**63 - 1

    def check(self) -> Check:
        low = -self.last - 1 if self.min is None else self.min
        high = self.last if self.max is None else self.max
        return lambda value: type(value) is int and low <= value <= high

    def convert(self, value: str | bool | float) -> int:
        if isinstance(value, (str, bool)) or not abs(value) < math.inf:
            raise self.cannot_convert(value)
        return max(-self.last - 1, min(math.floor(value), self.last))

    def violations(self, value: Any, path: Path, found: Violations) -> None:
        messages = []
        if self.min is not None and value < self.min:
            messages.append(f"Member must have value greater than or equal to {self.min}")
        if self.max is not None and value > self.max:
            messages.append(f"Member must have value less than or equal to {self.max}")
        for message in messages:
            if self.terse:
                found.add_terse(path, message)
            else:
                found.add(f"'{value}'", path, message)


class Boolean(Scalar):
    java_type = "java.lang.Boolean"

    def check(self) -> Check:
        return lambda value: value is True or value is False

    def convert(self, value: str | bool | float) -> bool:
        if isinstance(value, bool):
            return value
        if not isinstance(value, str):
            raise self.cannot_convert(value)
        word = value.upper()
        if word in _TRUE_WORDS:
            return True
        if word in _FALSE_WORDS:
            return False
        raise SerializationException("Unexpected token received from parser")

    def render(self, value: Any) -> str:
        return "true" if value else "false"


class Timestamp(Scalar):
    """Seconds since the epoch, with or without a fraction."""

    java_type = "java.util.Date"

    def check(self) -> Check:
        return lambda value: type(value) is int or (type(value) is float and math.isfinite(value))

    def convert(self, value: str | bool | float) -> float:
        if isinstance(value, (str, bool)) or not abs(value) < math.inf:
            raise SerializationException(f"{token(value)} can not be converted to milliseconds since epoch")
        return value


class List(Shape):
    def __init__(self, member: Shape, *, min: int | None = None, max: int | None = None, terse: bool = False) -> None:
        self.member, self.min, self.max, self.terse = member, min, max, terse

    @property
    def java_type(self) -> str:
        return f"java.util.List<{self.member.java_type}>"

    def check(self) -> Check:
        check_member = self.member.check()
        low = self.min or 0
        high = math.inf if self.max is None else self.max

        def check(value: Any) -> bool:
            return type(value) is list and low <= len(value) <= high and all(map(check_member, value))

        return check

    def read(self, value: Any, *, element: bool = False) -> list[Any]:
        if isinstance(value, dict):
            raise SerializationException(_UNEXPECTED_STRUCTURE)
        if not isinstance(value, list):
            raise SerializationException(_CLASS_CAST if element else "Unexpected field type")
        members = (
            self.member.null_element() if member is None else self.member.read(member, element=True) for member in value
        )
        return [member for member in members if member is not None]

    def violations(self, value: Any, path: Path, found: Violations) -> None:
        for message in broken_limits(len(value), self.min, self.max):
            if self.terse:
                found.add_terse(path, message)
            else:
                found.add(f"'{self.render(value)}'", path, message)
        self.member_violations(value, path, found)

    def member_violations(self, value: list[Any], path: Path, found: Violations) -> None:
        if isinstance(self.member, String) and any(map(self.member.broken, value)):
            message = f"Member must satisfy constraint: {self.member.constraint_list()}"
            found.add(f"'{self.render(value)}'", path, message)
            return
        check_member = self.member.check()
        for index, member in enumerate(value, 1):
            if found.full:
                return
            if not check_member(member):
                self.member.violations(member, path.inside(index), found)

    def render(self, value: Any) -> str:
        return f"[{_shown(map(self.member.render, value))}]"

    def null_element(self) -> Any:
        return []


class Map(Shape):
    """A map from strings; the limits of its values, if they are lists, are limits of the map."""

    def __init__(self, value: Shape, *, keys: String | None = None, min: int = 0, shown_as_json: bool = False) -> None:
        self.value, self.keys, self.min, self.shown_as_json = value, keys, min, shown_as_json

    @property
    def java_type(self) -> str:
        return f"java.util.Map<java.lang.String, {self.value.java_type}>"

    def check(self) -> Check:
        check_value = self.value.check()
        check_key = (self.keys or String()).check()
        low = self.min

        def check(value: Any) -> bool:
            return (
                type(value) is dict
                and len(value) >= low
                and all(map(check_key, value))
                and all(map(check_value, value.values()))
            )

        return check

    def read(self, value: Any, *, element: bool = False) -> dict[str, Any]:
        if isinstance(value, list):
            raise SerializationException(f"Unrecognized collection type {self.java_type}")
        if not isinstance(value, dict):
            raise SerializationException(_CLASS_CAST if element else "Unexpected field type")
        if not all(isinstance(key, str) for key in value):
            raise SerializationException("Unexpected field type")
        for key in value:
            text_size(key)
        entries = {
            key: self.value.null_element() if entry is None else self.value.read(entry, element=True)
            for key, entry in value.items()
        }
        return {key: entry for key, entry in entries.items() if entry is not None}

    def violations(self, value: Any, path: Path, found: Violations) -> None:
        for message in broken_limits(len(value), self.min, None):
            found.add_terse(path, message)
        messages = []
        if self.keys is not None:
            message = f"Map keys must satisfy constraint: {self.keys.constraint_list()}"
            messages += [message for key in value if self.keys.broken(key)]
        if isinstance(self.value, List):
            low, high = self.value.min, self.value.max
            message = f"Map value must satisfy constraint: [{', '.join(limit_messages(low, high))}]"
            messages += [message for entry in value.values() if broken_limits(len(entry), low, high)]
        if messages:
            rendered = f"'{self.render(value)}'"
            for message in messages[:MAX_VIOLATIONS]:
                found.add(rendered, path, message)
        for key, entry in value.items():
            if found.full:
                return
            if isinstance(self.value, List):
                self.value.member_violations(entry, path.inside(key), found)
            else:
                self.value.violations(entry, path.inside(key), found)

    def render(self, value: Any) -> str:
        if self.shown_as_json:
            return orjson.dumps(value).decode()
        entries = (f"{key}={self.value.render(entry)}" for key, entry in value.items())
        return f"{{{_shown(entries)}}}"

    def null_element(self) -> Any:
        return {}


class Struct(Shape):
    def __init__(self, name: str, members: Mapping[str, Shape], required: tuple[str, ...] = ()) -> None:
        self.name, self.members, self.required = name, members, frozenset(required)

    @property
    def java_type(self) -> str:
        return f"{JAVA_PACKAGE}.{self.name}"

    def check(self, *, but: str | None = None) -> Check:
        """``but`` is a member that is checked elsewhere."""
        checks = {name: _accept if name == but else shape.check() for name, shape in self.members.items()}
        required = tuple(self.required)

        def check(value: Any) -> bool:
            if type(value) is not dict:
                return False
            for name in required:
                if name not in value:
                    return False
            for name, member in value.items():
                check_member = checks.get(name)
                if check_member is None or not check_member(member):
                    return False
            return True

        return check

    def read(self, value: Any, *, element: bool = False) -> dict[str, Any]:
        if isinstance(value, list):
            raise SerializationException(f"Unrecognized collection type class {self.java_type}")
        if not isinstance(value, dict):
            raise SerializationException("Unexpected value type in payload" if element else "Unexpected field type")
        return {
            name: self.members[name].read(member)
            for name, member in value.items()
            if member is not None and name in self.members
        }

    def violations(self, value: Any, path: Path, found: Violations) -> None:
        for name, shape in self.members.items():
            if found.full:
                return
            if name in value:
                shape.violations(value[name], path.member(name), found)
            elif name in self.required:
                found.add("null", path.member(name), "Member must not be null")

    def render(self, value: Any) -> str:
        members = (
            f"{name[0].lower()}{name[1:]}={shape.render(value[name]) if name in value else 'null'}"
            for name, shape in self.members.items()
        )
        return f"{self.name}({', '.join(members)})"

    def null_element(self) -> Any:
        return {}


def _shown(parts: Iterable[str]) -> str:
    """The parts of a list or map in a message."""
    shown, length = [], 0
    for part in parts:
        if length > _MAX_SHOWN:
            shown.append("...")
            break
        shown.append(part)
        length += len(part)
    return ", ".join(shown)


def broken_limits(length: int, low: int | None, high: int | None) -> list[str]:
    """The limits that a length violates, in the order in which violations are listed."""
    messages = []
    if low is not None and length < low:
        messages.append(f"Member must have length greater than or equal to {low}")
    if high is not None and length > high:
        messages.append(f"Member must have length less than or equal to {high}")
    return messages


def limit_messages(low: int | None, high: int | None) -> list[str]:
    """Both limits, in the order in which they are listed as the constraints of a map or list."""
    messages = []
    if high is not None:
        messages.append(f"Member must have length less than or equal to {high}")
    if low is not None:
        messages.append(f"Member must have length greater than or equal to {low}")
    return messages


def _pattern_message(pattern: str) -> str:
    return f"Member must satisfy regular expression pattern: {pattern}"
