"""The type of a relation's column: one that holds every value seen, without losing a digit.

    text ▶ VARCHAR     integers ▶ BIGINT, HUGEINT    others ▶ DECIMAL, beyond 38 digits DOUBLE    booleans ▶ BOOLEAN
    bytes ▶ BLOB       times ▶ TIMESTAMP (UTC), DATE, TIME      sets, lists of one kind ▶ VARCHAR[] ...  the rest ▶ JSON

Rows are written to files until all of them are read, so a type is chosen when no value can contradict it any more. In
the files, numbers are text with all of their digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from tablewright.dynamo import AttributeValue

__all__ = ["Column"]

TEXT, NUMBER, FLOAT, TRUTH, BYTES, TIMESTAMP, DATE, TIME, JSON, NOTHING = (
    *("VARCHAR", "NUMBER", "DOUBLE", "BOOLEAN", "BLOB", "TIMESTAMP", "DATE", "TIME", "JSON", ""),
)
_TAGS = {"S": TEXT, "N": NUMBER, "B": BYTES, "BOOL": TRUTH, "NULL": NOTHING}
_SETS = {"SS": TEXT, "NS": NUMBER, "BS": BYTES}


@dataclass(slots=True)
class Column:
    """A column, and what is known about its values so far."""

    name: str
    # Used if no value was seen.
    declared: str = TEXT
    _kinds: set[str] = field(default_factory=set)
    _of_lists: set[str] = field(default_factory=set)
    _has_lists: bool = False
    _whole: int = 0
    _scale: int = 0
    _is_beyond: bool = False

    # -- values -----------------------------------------------------------------------------------------------------

    def of_attribute(self, value: AttributeValue) -> Any:
        """An attribute value in the form of the file; its kind is noted."""
        ((tag, content),) = value.items()
        if tag in _SETS:
            self._has_lists = True
            return [self._element(_SETS[tag], each) for each in content]
        if tag == "L":
            kinds = {_TAGS.get(next(iter(each))) for each in content}
            if kinds <= {TEXT} or kinds <= {NUMBER}:
                self._has_lists = True
                return [
                    self._element(TEXT if kinds <= {TEXT} else NUMBER, next(iter(each.values()))) for each in content
                ]
        if tag in ("L", "M"):
            self._kinds.add(JSON)
            return _plain_attribute(value)
        kind = _TAGS[tag]
        if kind == NOTHING:
            return None
        self._note(kind, content)
        return content

    def of_value(self, value: Any) -> Any:
        """The value of a field in the form of the file; its kind is noted."""
        if isinstance(value, set | frozenset):
            value = sorted(value, key=str)
        if isinstance(value, list | tuple):
            flat = [_flat(each) for each in value]
            kinds = {kind for kind, _ in flat}
            if len(kinds) <= 1 and not kinds & {JSON, NOTHING}:
                self._has_lists = True
                return [self._element(kind, content) for kind, content in flat]
            self._kinds.add(JSON)
            return _plain_value(value)
        kind, content = _flat(value)
        if kind == NOTHING:
            return None
        self._note(kind, content)
        return content

    def _element(self, kind: str, content: Any) -> Any:
        self._of_lists.add(kind)
        if kind == NUMBER:
            self._measure(content)
        return content

    def _note(self, kind: str, content: Any) -> None:
        self._kinds.add(kind)
        if kind == NUMBER:
            self._measure(content)

    def _measure(self, text: str) -> None:
        digits = text.lstrip("-")
        if not digits.replace(".", "", 1).isdigit():
            self._is_beyond = True
            return
        whole, _, fraction = digits.partition(".")
        self._whole = max(self._whole, len(whole.lstrip("0")))
        self._scale = max(self._scale, len(fraction))

    # -- types ------------------------------------------------------------------------------------------------------

    @property
    def type(self) -> str:
        """Its type in DuckDB."""
        if self._kinds:
            return JSON if self._has_lists else self._one_of(self._kinds)
        if not self._has_lists:
            return self.declared
        kind = self._one_of(self._of_lists or {TEXT})
        return JSON if kind == JSON else f"{kind}[]"

    def _one_of(self, kinds: set[str]) -> str:
        if kinds <= {NUMBER, FLOAT}:
            return FLOAT if FLOAT in kinds else self._number
        return next(iter(kinds)) if len(kinds) == 1 else JSON

    @property
    def _number(self) -> str:
        digits = self._whole + self._scale
        if self._is_beyond or digits > 38:
            return FLOAT
        if not self._scale:
            return "BIGINT" if digits <= 18 else "HUGEINT"
        return f"DECIMAL({18 if digits <= 18 else 38}, {self._scale})"

    @property
    def read_as(self) -> str:
        """The type that a file is read with; ``expression`` converts it to the final type."""
        kind = self.type
        if kind in (JSON, TRUTH):
            return kind
        return "VARCHAR[]" if kind.endswith("[]") else TEXT

    def expression(self, column: str) -> str:
        """The SQL that converts a value to the column's type."""
        kind = self.type
        if kind == BYTES:
            return f"from_base64({column})"
        if kind == f"{BYTES}[]":
            return f"list_transform({column}, lambda each: from_base64(each))"
        return column if kind == self.read_as else f"CAST({column} AS {kind})"


def _flat(value: Any) -> tuple[str, Any]:
    """The kind of a value, and its form in a file."""
    if isinstance(value, Enum):
        value = value.value
    match value:
        case None:
            return NOTHING, None
        case bool():
            return TRUTH, value
        case int() | Decimal():
            return NUMBER, f"{value:f}" if isinstance(value, Decimal) else str(value)
        case float():
            return FLOAT, value
        case datetime():
            at = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
            return TIMESTAMP, at.isoformat(sep=" ")
        case date():
            return DATE, value.isoformat()
        case time():
            return TIME, value.isoformat()
        case timedelta():
            return FLOAT, value.total_seconds()
        case bytes():
            from base64 import b64encode

            return BYTES, b64encode(value).decode()
        case str() | UUID():
            return TEXT, str(value)
    return JSON, _plain_value(value)


def _plain_value(value: Any) -> Any:
    """A value that contains others, as JSON."""
    if isinstance(value, BaseModel):
        value = dict(value)
    if isinstance(value, Mapping):
        return {str(name): _plain_value(each) for name, each in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes):
        return [_plain_value(each) for each in value]
    kind, content = _flat(value) if isinstance(value, _SCALARS) or value is None else (TEXT, str(value))
    return _number(content) if kind == NUMBER else content


_SCALARS = (Enum, bool, int, float, Decimal, datetime, date, time, timedelta, bytes, str, UUID)


def _plain_attribute(value: AttributeValue) -> Any:
    ((tag, content),) = value.items()
    if tag == "M":
        return {name: _plain_attribute(each) for name, each in content.items()}
    if tag == "L":
        return [_plain_attribute(each) for each in content]
    if tag == "NS":
        return [_number(each) for each in content]
    return _number(content) if tag == "N" else None if tag == "NULL" else content


def _number(text: str) -> Any:
    """A number in a document, with all of its digits."""
    import orjson

    return orjson.Fragment(text)
