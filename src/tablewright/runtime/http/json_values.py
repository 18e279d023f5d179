"""Free-form JSON: as clients send it, limited to what an item can hold, and as responses show it.

An item has exact decimals, and JSON has numbers: a fraction is shown as it was sent.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainSerializer

from tablewright.model.values.attribute_codec import encode

# What other packages use.
__all__ = [
    "SEEN",
    "JsonObject",
    "Shown",
    "Text",
    "in_json",
    "storable",
]

# DynamoDB takes 32 levels; a few are the item's own.
_MAX_DEPTH = 24
_MAX_MEMBERS = 100


def storable(value: dict[str, Any]) -> dict[str, Any]:
    """The same object; ValueError, with the reason, if an item cannot hold it."""
    level: list[Any] = [value]
    for _ in range(_MAX_DEPTH):
        objects = [each for each in level if isinstance(each, dict)]
        if any("" in each for each in objects):
            raise ValueError("it has an empty name")
        members = [member for each in level for member in (each.values() if isinstance(each, dict) else each)]
        if not all(map(_is_text, [*(name for each in objects for name in each), *members])):
            raise ValueError("it has text that is not valid Unicode")
        level = [member for member in members if isinstance(member, dict | list)]
        if not level:
            encode(value)
            return value
    raise ValueError(f"it is nested more than {_MAX_DEPTH} levels deep")


def in_json(value: Any) -> Any:
    """A value with decimals as JSON numbers."""
    match value:
        case Decimal():
            return float(value)
        case dict():
            return {name: in_json(member) for name, member in value.items()}
        case list():
            return [in_json(member) for member in value]
    return value


def _is_text(value: Any) -> bool:
    """False for text with half of a surrogate pair, which JSON can escape and nothing can store."""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
    return True


def _text(value: str) -> str:
    if not _is_text(value):
        raise ValueError("it is not valid Unicode")
    return value


# Matches a visible character: required in texts that must not be blank.
SEEN = r"[^\s\x00-\x1f\x7f]"

Text = Annotated[str, AfterValidator(_text)]
"""Text of any length."""

JsonObject = Annotated[dict[str, Any], Field(max_length=_MAX_MEMBERS), AfterValidator(storable)]
"""An object that an item can hold; another one is rejected, by its field."""

Shown = Annotated[dict[str, Any], PlainSerializer(in_json, return_type=dict[str, Any], when_used="json")]
"""An object from an item, as responses show it."""
