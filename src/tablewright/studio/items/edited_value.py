"""A value while it is being edited: its type, its text, its members; without a screen.

    edited = EditedValue({"L": [{"S": "a"}, {"N": "1"}]})
    edited.move(0, 1)
    edited.change("SS")
    edited.value("colours")        {"SS": ["1", "a"]}; ValueError names what is wrong, and where

No input is lost when a type is changed back and forth: the text stays, and so do members with their names and types,
even if the current type does not have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tablewright.dynamo import AttributeValue, Item
from tablewright.studio.items.attribute_text import type_of, value_of

__all__ = ["SETS", "EditedMember", "EditedValue", "item_of", "moved"]

SETS = ("SS", "NS", "BS")
_WITH_MEMBERS = ("M", "L", *SETS)


class EditedValue:
    """One value."""

    def __init__(self, value: AttributeValue) -> None:
        self.kind = type_of(value)
        self.text = ""
        self.members: list[EditedMember] = []
        content = value[self.kind]
        if self.kind == "M":
            self.members = [EditedMember(name, EditedValue(each)) for name, each in content.items()]
        elif self.kind == "L":
            self.members = [EditedMember("", EditedValue(each)) for each in content]
        elif self.kind in SETS:
            self.members = [EditedMember("", EditedValue({self.kind[0]: each})) for each in content]
        elif self.kind == "BOOL":
            self.text = str(content).lower()
        elif self.kind != "NULL":
            self.text = content

    @property
    def has_members(self) -> bool:
        return self.kind in _WITH_MEMBERS

    @property
    def member_kind(self) -> str | None:
        """The type that all members have; None where each has its own."""
        return self.kind[0] if self.kind in SETS else None

    @property
    def flag(self) -> str:
        """The text of a boolean: false unless it is true."""
        return "true" if self.text.strip().lower() == "true" else "false"

    # -- changes ----------------------------------------------------------------------------------------------------

    def change(self, kind: str) -> None:
        """Make it a value of another type: a text becomes the first member of a type with members."""
        before, self.kind = self.kind, kind
        if not self.has_members or self.members:
            return
        if before not in _WITH_MEMBERS and self.text:
            first = EditedValue({"S": self.text})
            first.kind = before
            self.members = [EditedMember("", first)]
        elif kind in SETS:
            # An empty set is none.
            self.add()

    def add(self) -> None:
        self.members.append(EditedMember("", EditedValue({self.member_kind or "S": ""})))

    def remove(self, place: int) -> None:
        del self.members[place]

    def move(self, place: int, by: int) -> int:
        """Move a member up or down; returns its new position."""
        return moved(self.members, place, by)

    # -- the value --------------------------------------------------------------------------------------------------

    def label_of(self, label: str, place: int) -> str:
        """The label of a member in a value with the label ``label``."""
        name = self.members[place].name
        return f"{label}.{name}" if self.kind == "M" and name else f"{label}[{place}]"

    def value(self, label: str, kind: str | None = None) -> AttributeValue:
        """The input as a value; ``kind`` is its type as a member of a set."""
        kind = kind or self.kind
        if kind == "M":
            return {"M": item_of(self.members, label)}
        if kind in _WITH_MEMBERS:
            found = [
                each.value.value(self.label_of(label, place), self.member_kind)
                for place, each in enumerate(self.members)
            ]
            return {"L": found} if kind == "L" else {kind: _distinct(found, kind, label)}
        try:
            return value_of(self.flag if kind == "BOOL" else self.text, kind)
        except ValueError as error:
            raise ValueError(f"{label}: {error}") from None


@dataclass(slots=True)
class EditedMember:
    """A member of a value, or an attribute of an item; members of lists and sets have no name."""

    name: str
    value: EditedValue


def item_of(members: Sequence[EditedMember], label: str = "") -> Item:
    """Members with names, as an item or a map; ValueError if a name is missing or used twice."""
    names = [each.name for each in members]
    if len(set(names)) < len(names) or "" in names:
        where = f"{label}: " if label else ""
        raise ValueError(f"{where}every attribute needs a name, and names must be unique")
    return {each.name: each.value.value(f"{label}.{each.name}" if label else each.name) for each in members}


def moved(members: list[Any], place: int, by: int) -> int:
    """Move a member up or down, as far as there is room; returns its new position."""
    target = min(max(place + by, 0), len(members) - 1)
    members.insert(target, members.pop(place))
    return target


def _distinct(found: Sequence[AttributeValue], kind: str, label: str) -> list[str]:
    members = [each[kind[0]] for each in found]
    if not members:
        raise ValueError(f"{label}: a set needs at least one member")
    seen: set[str] = set()
    for member in members:
        if member in seen:
            raise ValueError(f"{label}: {member[:60]!r} is in the set twice")
        seen.add(member)
    return members
