"""One change of many items: an attribute that all of them get, or lose, as a request for each.

    changes_of_all(table, key, items, schema_of, "status", {"S": "open"})
        .requests     UpdateItem for each item that it changes, by the item's name in the address
        .refused      why an item cannot be changed so, in words

Each request has the condition that what it changes is as it was seen, as an edit of one item has; so of many requests
some may be refused, and the others are made.
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
    """What would be sent, and what cannot be; items that have the value already are in neither."""

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
    """The requests that give all items an attribute, or with None take it away; RefusedChange if none may have it."""
    if not name:
        raise RefusedChange("the attribute has a name")
    if name in key:
        raise RefusedChange(f"{name} is a part of the key: an item with another key is another item")
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
