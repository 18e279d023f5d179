"""How two versions of an item differ, attribute by attribute, in short texts."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from tablewright.dynamo import AttributeValue, Item

__all__ = ["Difference", "differences", "short_item", "short_value"]

_LONGEST = 120


class Difference(NamedTuple):
    """An attribute in which two versions differ; None where one of them does not have it."""

    name: str
    before: str | None
    after: str | None


def differences(before: Item | None, after: Item | None) -> list[Difference]:
    """The attributes in which two versions differ, by name."""
    old, new = before or {}, after or {}
    return [
        Difference(name, _shown(old.get(name)), _shown(new.get(name)))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]


def _shown(value: AttributeValue | None) -> str | None:
    return None if value is None else short_value(value)


def short_value(value: AttributeValue) -> str:
    """A value on one line."""
    ((tag, content),) = value.items()
    if tag in ("S", "N", "B"):
        shown = str(content)
    elif tag == "BOOL":
        shown = str(content).lower()
    elif tag == "NULL":
        shown = "null"
    elif tag in ("SS", "NS", "BS"):
        shown = "{" + ", ".join(map(str, content)) + "}"
    else:
        shown = orjson.dumps(value).decode()
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


def short_item(item: Item, without: tuple[str, ...] = (), most: int = 4) -> str:
    """Some attributes of an item on one line."""
    parts = [f"{name}: {short_value(value)}" for name, value in sorted(item.items()) if name not in without]
    return "  ".join(parts[:most]) + ("  …" if len(parts) > most else "")
