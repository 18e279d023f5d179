"""JSON of any shape: as users send it, bounded by what an item can hold, and as it is shown.

An item has numbers as decimals, exactly, and JSON has them as numbers: a fraction that was sent is shown as it was.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainSerializer

from tablewright.model.values.attribute_codec import encode

# DynamoDB takes 32 levels; a few are the item's own.
_DEEPEST = 24
_MOST_MEMBERS = 100


def storable(value: dict[str, Any]) -> dict[str, Any]:
    """The same object; ValueError, which says why, if an item cannot hold it."""
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        objects = [each for each in level if isinstance(each, dict)]
        if any("" in each for each in objects):
            raise ValueError("a name in it is empty")
        members = [member for each in level for member in (each.values() if isinstance(each, dict) else each)]
        if not all(map(_is_text, [*(name for each in objects for name in each), *members])):
            raise ValueError("a text in it has something that is no character")
        level = [member for member in members if isinstance(member, dict | list)]
        if not level:
            encode(value)
            return value
    raise ValueError(f"it is nested more than {_DEEPEST} levels deep")


def in_json(value: Any) -> Any:
    """A value of any shape with numbers as JSON has them."""
    match value:
        case Decimal():
            return float(value)
        case dict():
            return {name: in_json(member) for name, member in value.items()}
        case list():
            return [in_json(member) for member in value]
    return value


def _is_text(value: Any) -> bool:
    """False for a text with half of a surrogate pair, which JSON can write and nobody can store."""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
    return True


def _text(value: str) -> str:
    if not _is_text(value):
        raise ValueError("it has something that is no character")
    return value


# In a text that says something: a character that can be seen.
SEEN = r"[^\s\x00-\x1f\x7f]"

Text = Annotated[str, AfterValidator(_text)]
"""Text of any length."""

JsonObject = Annotated[dict[str, Any], Field(max_length=_MOST_MEMBERS), AfterValidator(storable)]
"""An object whose numbers and depth fit into an item; a request with another one is refused, by its field."""

Shown = Annotated[dict[str, Any], PlainSerializer(in_json, return_type=dict[str, Any], when_used="json")]
"""An object that comes from an item, as it is shown."""
