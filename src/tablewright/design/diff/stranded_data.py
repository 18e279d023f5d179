"""Values that a new version would leave behind: fields and entities that are gone, and where they seem to be now.

A field that is gone, while another field of the same type is new, looks renamed. One that another entity has gained
looks moved there; so does one of an entity that lost fields while a new entity refers to it by its key: that looks
split. An
entity that is gone, while a new one has most of its fields and shares a field of its key, looks renamed. Names are all
there is to go by, so each is reported as what it looks like, and may be accepted.

What the new version has declared a ``RetiredEntity`` for is not left behind: a repair migrates it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tablewright.design.diff.change import Described

__all__ = [
    "Entities",
    "looks_renamed",
    "moved_fields",
    "primary_key",
    "renamed_fields",
    "retired_fields",
    "retired_form",
    "same_key",
]


@dataclass(frozen=True, slots=True)
class Entities:
    """All entities of the two versions of a design, by name."""

    old: Mapping[str, Any]
    new: Mapping[str, Any]


def retired_form(entity: Described, table: Described, new_table: Described) -> Described | None:
    """The retired entity of a new version that has the items of an old entity."""
    primary = primary_key(table)
    form: Described
    for form in new_table.get("retired", {}).values():
        if table["type_attribute"] is not None and new_table["type_attribute"] is not None:
            if form["type_name"] == entity["type_name"]:
                return form
        elif all(form["keys"].get(name) == _template(entity, name) for name in primary):
            return form
    return None


def same_key(old: Described, new: Described, table: Described) -> bool:
    """Whether two entities have the same primary key."""
    return all(_template(old, name) == _template(new, name) for name in primary_key(table))


def primary_key(table: Described) -> list[str]:
    return [name for name in (table["partition"], table["sort"]) if name is not None]


def _template(entity: Described, attribute: str) -> str | None:
    rule = entity["keys"].get(attribute)
    return None if rule is None else rule["template"]


# -- entities -------------------------------------------------------------------------------------------------------


def looks_renamed(old: Described, new: Described, table: Described) -> bool:
    """Whether an entity has most fields of another one, and a primary key of some of the same fields."""
    before, after = _by_attribute(old), _by_attribute(new)
    shared = [name for name, field in before.items() if name in after and field["types"] == after[name]["types"]]
    if 2 * len(shared) <= max(len(before), len(after)):
        return False
    return bool(_key_fields(old, table) & _key_fields(new, table))


def _by_attribute(entity: Described) -> dict[str, Any]:
    return {field["attribute"]: field for field in entity["fields"].values()}


def _key_fields(entity: Described, table: Described) -> set[str]:
    found: set[str] = set()
    for name in primary_key(table):
        rule = entity["keys"].get(name)
        found |= {name} if rule is None else {path for path, _ in rule["parts"]}
    return found


def _most_specific(entity: Described, table: Described) -> str | None:
    """The attribute that the primary key ends with: an entity that has it too refers to this one."""
    found = None
    for name in primary_key(table):
        rule = entity["keys"].get(name)
        paths = [name] if rule is None else [path for path, _ in rule["parts"]]
        found = paths[-1].partition(".")[0] if paths else found
    return found


# -- fields ---------------------------------------------------------------------------------------------------------


def _gone(old: Described, new: Described) -> dict[str, Any]:
    """The fields of an entity that are gone, under their names and from their attributes."""
    after = _by_attribute(new)
    return {
        name: field
        for name, field in old["fields"].items()
        if field["attribute"] not in after and name not in new["fields"]
    }


def retired_fields(old: Described, new: Described, form: Described) -> set[str]:
    """Fields that are gone from an entity, and that a retired entity has."""
    return {name for name, field in _gone(old, new).items() if field["attribute"] in form["attributes"]}


def renamed_fields(old: Described, new: Described) -> dict[str, str]:
    """Fields that look renamed, with their new names: gone ones, each with a new one of the same type."""
    gone = _gone(old, new)
    added = _gone(new, old)
    found: dict[str, str] = {}
    for name, field in gone.items():
        alike = [
            other for other, described in added.items() if other not in found.values() and _is_alike(field, described)
        ]
        if alike:
            found[name] = max(alike, key=lambda other: _shared_letters(name, other))
    return found


def _is_alike(old: Described, new: Described) -> bool:
    kinds = [{each["kind"] for each in field["type"]} - {"None"} for field in (old, new)]
    return kinds[0] == kinds[1]


def _shared_letters(one: str, other: str) -> int:
    return sum(min(one.count(letter), other.count(letter)) for letter in set(one))


def moved_fields(
    name: str, old: Described, new: Described, entities: Entities, table: Described
) -> dict[str, list[str]]:
    """Fields that are gone from an entity, with the entities that seem to have them now."""
    gone = _gone(old, new)
    if not gone:
        return {}
    gained = {
        other: described["fields"] if other not in entities.old else _gone(described, entities.old[other])
        for other, described in entities.new.items()
        if other != name
    }
    found: dict[str, list[str]] = {}
    for each, field in gone.items():
        targets = [
            other
            for other, fields in gained.items()
            if any(
                each == gained_name or field["attribute"] == described["attribute"]
                for gained_name, described in fields.items()
            )
        ]
        if targets:
            found[each] = targets
    if not found:
        own = _most_specific(old, table)
        split = [other for other in gained if other not in entities.old and own in _by_attribute(entities.new[other])]
        return dict.fromkeys(gone, split) if split else {}
    return found
