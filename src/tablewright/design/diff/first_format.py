"""Snapshots of the first format, as those of today.

That format had the tags under which a field is stored, and of its type what stands at the top: the values of an enum,
limits, the unit of a time, the members of a nested model where there was one. The rest is not known: an alternative of
kind ``?`` has the tag that it is ``stored`` under, and differs from nothing that is stored so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tablewright.design.diff.value_types import Alternative, Type

__all__ = ["read"]


def read(design: Mapping[str, Any]) -> dict[str, Any]:
    """A design of the first format."""
    tables = {name: {**table, "entities": _entities(table["entities"])} for name, table in design["tables"].items()}
    return {**design, "tables": tables}


def _entities(entities: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {**entity, "fields": {field: _field(each) for field, each in entity["fields"].items()}, "models": {}}
        for name, entity in entities.items()
    }


def _field(field: Mapping[str, Any], nested: bool = False) -> dict[str, Any]:
    kept = {name: value for name, value in field.items() if name not in ("values", "unit", "limits", "members")}
    # Of a member that may be None it was not said whether it has to be there.
    unclear = nested and not {"NULL", "SET"}.isdisjoint(field["types"])
    absent = "refused" if field["required"] else "?" if unclear else "default"
    return {**kept, "type": _type(field), "absent": absent}


def _type(field: Mapping[str, Any]) -> Type:
    found: Type = [{"kind": "None"}] if "NULL" in field["types"] else []
    values = field.get("values")
    for tag in field["types"]:
        if tag == "NULL":
            continue
        if values is not None:
            stored = [value for value in values if value.startswith(f'{{"{tag}":')]
            found.append({"kind": "choice", "stored": tag, "values": stored})
        elif "unit" in field and tag == "N":
            found.append(_limited({"kind": field["unit"]}, field))
        else:
            unknown: Alternative = {"kind": "?", "stored": tag}
            if "members" in field:
                unknown["members"] = {name: _field(each, nested=True) for name, each in field["members"].items()}
            found.append(_limited(unknown, field))
    return found


def _limited(alternative: Alternative, field: Mapping[str, Any]) -> Alternative:
    return {**alternative, "limits": field["limits"]} if "limits" in field else alternative
