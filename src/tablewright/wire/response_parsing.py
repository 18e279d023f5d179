"""botocore's response parsing, compiled from the service model.

botocore walks the whole response shape by shape, looking every handler up by name, although almost everything in a
DynamoDB response already has its final form: only binary values and timestamps change. Compiled once per operation, the
walk skips everything else. The result equals botocore's own: members unknown to the model are dropped, and so are
nulls.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from botocore.utils import parse_timestamp

Parser = Callable[[Any], Any]


def parser_for(shape: Any) -> Parser:
    """Turns the JSON of a response of this shape into what a botocore client returns."""
    if shape is None:
        return lambda value: {}
    return _compile(shape, {}) or (lambda value: value)


def _compile(shape: Any, known: dict[str, Parser | None]) -> Parser | None:
    """The parser of a shape, or None if values stay as they are."""
    kind = shape.type_name
    if kind == "structure":
        if shape.name in known:
            return known[shape.name]
        members: dict[str, Parser | None] = {}

        def parse(value: dict[str, Any]) -> dict[str, Any]:
            return _structure(members, value)

        known[shape.name] = parse  # before its members: attribute values contain attribute values
        for name, member in shape.members.items():
            members[name] = _compile(member, known)
        return parse
    if kind == "list":
        element = _compile(shape.member, known)
        if element is None:
            return None
        return lambda values: [None if value is None else element(value) for value in values]
    if kind == "map":
        entry = _compile(shape.value, known)
        if entry is None:
            return None
        return lambda mapping: {key: entry(value) for key, value in mapping.items()}
    if kind == "blob":
        return base64.b64decode
    if kind == "timestamp":
        parse_time: Parser = parse_timestamp
        return parse_time
    return None


def _drop(value: Any) -> Any:
    """Stands for a member that the model does not have."""
    raise AssertionError("dropped members are not parsed")


def _structure(members: dict[str, Parser | None], value: dict[str, Any]) -> dict[str, Any]:
    for name, member in value.items():
        if member is None or members.get(name, _drop) is not None:
            break
    else:
        return value
    parsed = {}
    for name, member in value.items():
        parse = members.get(name, _drop)
        if member is not None and parse is not _drop:
            parsed[name] = member if parse is None else parse(member)
    return parsed
