"""Conversion of DuckDB values to attributes of a customer: JSON values, with exact numbers.

    BOOLEAN, text, numbers          as they are; a number of more than 38 digits is text, NaN and infinity are null
    DATE, TIME, INTERVAL, UUID, BIT, ENUM, VARIANT, all others                      text, as DuckDB writes it
    TIMESTAMP                       2026-01-02T03:04:05.5
    TIMESTAMP WITH TIME ZONE        2026-01-02T03:04:05.5+00:00, in UTC
    BLOB                            base64
    LIST, ARRAY, STRUCT, MAP        lists and objects of these; the keys of a map are text
    UNION                           the value that it has; text, if one of its members would be text

DuckDB converts a value to text where Python has no equivalent type, or one that loses information. So a column of any
type can be read, however deep it is nested, and without further modules.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_TEXT = "VARCHAR"
_AS_THEY_ARE = frozenset(
    {"boolean", "varchar", "float", "double", "decimal", "blob", "enum", "hugeint", "uhugeint"}
    | {f"{sign}{size}" for sign in ("", "u") for size in ("tinyint", "smallint", "integer", "bigint")}
    # The type of NULL.
    | {"null", '"null"'}
)
_TIMESTAMPS = frozenset({"timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"})
_TIMESTAMP = re.compile(r"(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(\+00)?").fullmatch

Read = Callable[[Any], Any]


def reading(kind: Any) -> tuple[str | None, Read | None]:
    """How a column of a type (a ``DuckDBPyType``) is read: what it is cast to, and how its values are converted."""
    match str(kind.id):
        case name if name in _AS_THEY_ARE:
            return None, None
        case name if name in _TIMESTAMPS or name == "timestamp with time zone":
            return _TEXT, _timestamp
        case "list":
            return _members(kind, "[]")
        case "array":
            return _members(kind, f"[{dict(kind.children)['size']}]")
        case "map":
            return _map(kind)
        case "struct" if all(name for name, _ in kind.children):
            return _struct(kind)
        case "union" if all(reading(member) == (None, None) for _, member in kind.children):
            return None, None
    return _TEXT, None


def _members(kind: Any, brackets: str) -> tuple[str | None, Read | None]:
    cast, read = reading(dict(kind.children)["child"])
    if cast is None:
        return None, None
    return cast + brackets, None if read is None else lambda value: value and [read(each) for each in value]


def _map(kind: Any) -> tuple[str | None, Read | None]:
    parts = dict(kind.children)
    cast, read = reading(parts["value"])
    if cast is None and str(parts["key"].id) == "varchar":
        return None, None
    target = f"MAP({_TEXT}, {cast or parts['value']})"
    return target, None if read is None else lambda value: value and {name: read(each) for name, each in value.items()}


def _struct(kind: Any) -> tuple[str | None, Read | None]:
    parts = {name: reading(member) for name, member in kind.children}
    if all(cast is None for cast, _ in parts.values()):
        return None, None
    fields = [f"{quoted(name)} {parts[name][0] or member}" for name, member in kind.children]
    reads = {name: read for name, (_, read) in parts.items() if read is not None}

    def read_all(value: Any) -> Any:
        return value and {name: reads[name](each) if name in reads else each for name, each in value.items()}

    return f"STRUCT({', '.join(fields)})", read_all if reads else None


def _timestamp(text: Any) -> Any:
    """ISO 8601; values that it cannot express, such as infinity, are left as they are."""
    found = None if text is None else _TIMESTAMP(text)
    if found is None:
        return text
    return f"{found[1]}T{found[2]}" + ("" if found[3] is None else "+00:00")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
