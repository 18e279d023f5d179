"""Values of requests and responses: bodies, texts, and free-form JSON, limited to what an item can hold.

Items have exact decimals, JSON has floating-point numbers: a fraction is shown as it was sent.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, TypeVar
from unicodedata import category

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.config import JsonDict

from tablewright.model.values.attribute_codec import encode
from tablewright.runtime.parameter_texts import matching

# What other packages use.
__all__ = [
    "SEEN",
    "UNIQUE",
    "ApiModel",
    "JsonObject",
    "Said",
    "Shown",
    "Text",
    "each_once",
    "in_json",
    "not_blank",
    "storable",
]

T = TypeVar("T")

# DynamoDB takes 32 levels; a few are the item's own.
_MAX_DEPTH = 24
_MAX_MEMBERS = 100
# Integers that every reader and writer of JSON takes.
_LEAST, _GREATEST = -(2**63), 2**64 - 1


class ApiModel(BaseModel):
    """A body, or a part of one.

    Its validator is built on first use, and not when its module is imported. A process has a hundred of them, and most
    functions use a few.
    """

    model_config = ConfigDict(defer_build=True)


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
        if any(isinstance(member, int) and not _LEAST <= member <= _GREATEST for member in members):
            raise ValueError("it has an integer of more than 64 bits")
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


# What is invisible to a reader: controls and marks without a width, and spaces.
_UNSEEN = ("Cc", "Cf", "Zs", "Zl", "Zp")
# Matches a character that is not one of them, nearly: what the description of a field can say.
SEEN = matching(r"[^\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2060\ufeff]", "it must not be blank")


def not_blank(text: str) -> str:
    """The same text; ValueError if it has no visible character."""
    if all(category(char) in _UNSEEN for char in text):
        raise ValueError("it must not be blank")
    return text


Said = Annotated[str, Field(min_length=1, pattern=SEEN), AfterValidator(not_blank)]
"""Text with a visible character; its field limits the length."""


def each_once(members: list[T]) -> list[T]:
    """The same list; ValueError if it has duplicate members."""
    if len(set(members)) < len(members):
        raise ValueError("it has duplicate members")
    return members


# What the description of a list says whose members are checked by ``each_once``.
UNIQUE: JsonDict = {"uniqueItems": True}

Text = Annotated[str, AfterValidator(_text)]
"""Text of any length."""

JsonObject = Annotated[dict[str, Any], Field(max_length=_MAX_MEMBERS), AfterValidator(storable)]
"""An object that an item can hold; any other is rejected, with its field."""

Shown = Annotated[dict[str, Any], PlainSerializer(in_json, return_type=dict[str, Any], when_used="json")]
"""An object from an item, as responses show it."""
