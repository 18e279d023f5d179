"""JSON of any shape that users send, bounded by what an item can hold."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from tablewright.model.attributes import encode

# DynamoDB takes 32 levels; a few are the item's own.
_DEEPEST = 24
_MOST_MEMBERS = 100


def _storable(value: dict[str, Any]) -> dict[str, Any]:
    if _depth(value) > _DEEPEST:
        raise ValueError(f"it is nested more than {_DEEPEST} levels deep")
    encode(value)
    return value


def _depth(value: Any) -> int:
    level, deepest = [value], 0
    while level and deepest <= _DEEPEST:
        deepest += 1
        inner = [member for each in level if isinstance(each, dict) for member in each.values()]
        inner += [member for each in level if isinstance(each, list) for member in each]
        level = [member for member in inner if isinstance(member, dict | list)]
    return deepest


JsonObject = Annotated[dict[str, Any], Field(max_length=_MOST_MEMBERS), AfterValidator(_storable)]
"""An object whose numbers and depth fit into an item; a request with another one is refused, by its field."""
