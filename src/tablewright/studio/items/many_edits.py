"""One change of many items: set or remove an attribute, with a request for each.

    changes_of_all(table, key, items, schema_of, "status", {"S": "open"})
        .requests     UpdateItem for each item that it changes, by the item's name in the address
        .refused      why an item cannot be changed, as text

Each request has the condition that what it changes is as it was read, like an edit of one item; so some requests may be
refused while the others succeed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tablewright.dynamo import AttributeValue, Item
from tablewright.model import Schema
from tablewright.studio.items.item_edits import RefusedChange, follow_design, update_request

__all__ = ["ManyChanges", "changes_of_all"]


@dataclass(slots=True)
class ManyChanges:
    """The requests to send, and the refused items; items that already have the value are in neither."""

    requests: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def changes_of_all(
    table: str,
    key: Sequence[str],
    items: Mapping[str, Item],
    schema_of: Callable[[Item], Schema | None],
    name: str,
    value: AttributeValue | None,
) -> ManyChanges:
    """The requests that set an attribute of all items, or remove it for None; raises RefusedChange if they cannot."""
    if not name:
        raise RefusedChange("the attribute needs a name")
    if name in key:
        raise RefusedChange(f"{name} is part of the key, which cannot be changed")
    found = ManyChanges()
    for token, item in items.items():
        after = {each: content for each, content in item.items() if each != name}
        if value is not None:
            after[name] = value
        schema = schema_of(item)
        try:
            if schema is not None:
                after = follow_design(schema, item, after)
        except RefusedChange as error:
            found.refused[token] = str(error)
            continue
        request = update_request(table, key, item, after)
        if request is not None:
            found.requests[token] = request
    return found
