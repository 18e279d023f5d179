"""Versions of a design to compare: a table ``Orders`` and an entity ``Order``, written as a test wants it to be."""

from collections.abc import Callable, Mapping
from types import new_class
from typing import Any

from tablewright.design.diff import DesignChange, changes
from tablewright.design.diff.design_snapshot import snapshot
from tablewright.model import (
    Design,
    Entity,
    GlobalIndex,
    Keys,
    Table,
)
from tablewright.model.declarations import GroupRule

KEYS = {"PK": "ORDER#{order_id}", "SK": "METADATA"}
INDEXED = {**KEYS, "GSI1PK": "SHOP#{shop}", "GSI1SK": "{order_id}"}
INDEX = GlobalIndex("byShop", "GSI1PK", "GSI1SK")


def version(
    fields: Mapping[str, Any] | None = None,
    *,
    keys: Mapping[str, Any] = KEYS,
    members: Mapping[str, Any] | None = None,
    name: str = "Order",
    entities: int = 1,
    design: Mapping[str, Any] | None = None,
    entity: Mapping[str, Any] | None = None,
    **table: Any,
) -> dict[str, Any]:
    """The snapshot of a version: ``fields`` and rules beside ``order_id`` and ``shop``, settings of the table."""
    settings = {"name": "Orders", "partition": "PK", "sort": "SK", **table}
    orders = Table(settings.pop("name"), settings.pop("partition"), settings.pop("sort"), **settings)
    given_fields = {"order_id": str, "shop": str, **(fields or {})}
    rules = {name: each for name, each in given_fields.items() if isinstance(each, GroupRule)}
    annotations = {name: each for name, each in given_fields.items() if name not in rules}
    for number in range(entities):
        namespace = {
            "__module__": __name__,
            "__annotations__": {field: _annotation(given) for field, given in annotations.items()},
            **{field: given[1] for field, given in annotations.items() if isinstance(given, tuple)},
            "keys": Keys({**keys, **({"SK": f"PART{number}"} if number else {})}),
            **rules,
            **(members or {}),
        }
        arguments = {"table": orders, **(entity or {})}
        made = new_class(f"{name}{number or ''}", (Entity,), arguments, filled(namespace))
        globals()[made.__name__] = made
    parts = {member: make(globals()[name]) for member, make in (design or {}).items()}
    return snapshot(Design("Shop", tables=[orders], **parts))


def filled(given: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    def fill(namespace: dict[str, Any]) -> None:
        namespace.update(given)

    return fill


def _annotation(given: Any) -> Any:
    return given[0] if isinstance(given, tuple) else given


def difference(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str]]:
    return [(change.impact, change.place) for change in changes(old, new)]


def only(old: dict[str, Any], new: dict[str, Any]) -> DesignChange:
    (change,) = changes(old, new)
    return change
