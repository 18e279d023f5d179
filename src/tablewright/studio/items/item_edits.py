"""The changes of an item, as the request that will be sent.

    update_request(table, key, before, after)     UpdateItem: only what changed, if it has not changed since it was read
    put_request(table, key, item)                 PutItem, if there is none with that key
    delete_request(table, key, item)              DeleteItem, if it is still there

An item of an entity follows its design: index keys that are derived from changed fields are changed with them
(``follow_design``), and changes that only the store can make, such as of unique values, are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tablewright.dynamo import AttributeValue, Item, Path, same_value
from tablewright.dynamo.expressions.builder import Placeholders
from tablewright.model import ModelError, Schema

__all__ = [
    "RefusedChange",
    "changed_names",
    "delete_request",
    "follow_design",
    "more_than_one_item",
    "put_request",
    "update_request",
]


class RefusedChange(ValueError):
    """A change that would break the rules of the design; the message says why."""


def update_request(table: str, key: Sequence[str], before: Item, after: Item) -> dict[str, Any] | None:
    """The UpdateItem that turns one item into another; None if nothing changed.

    Maps are changed member by member. The request requires that everything it changes is as it was read, so no
    concurrent change is lost.
    """
    marks = Placeholders()
    sets, removes, conditions = [], [], [f"attribute_exists({marks.parsed(Path((key[0],)))})"]
    for path, old, new in _differences(before, after, ()):
        name = marks.parsed(Path(path))
        if new is None:
            removes.append(name)
        else:
            sets.append(f"{name} = {marks.value(new)}")
        conditions.append(f"attribute_not_exists({name})" if old is None else f"{name} = {marks.value(old)}")
    if not sets and not removes:
        return None
    parts = [*(["SET " + ", ".join(sets)] if sets else []), *(["REMOVE " + ", ".join(removes)] if removes else [])]
    return marks.into(
        {
            "TableName": table,
            "Key": {name: before[name] for name in key},
            "UpdateExpression": " ".join(parts),
            "ConditionExpression": " AND ".join(conditions),
        }
    )


def put_request(table: str, key: Sequence[str], item: Item) -> dict[str, Any]:
    return {
        "TableName": table,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(#key)",
        "ExpressionAttributeNames": {"#key": key[0]},
    }


def delete_request(table: str, key: Sequence[str], item: Item) -> dict[str, Any]:
    return {
        "TableName": table,
        "Key": {name: item[name] for name in key},
        "ConditionExpression": "attribute_exists(#key)",
        "ExpressionAttributeNames": {"#key": key[0]},
    }


def changed_names(before: Item, after: Item) -> list[str]:
    """The attributes in which two items differ."""
    return list(dict.fromkeys(path[0] for path, _, _ in _differences(before, after, ())))


def follow_design(schema: Schema, before: Item | None, after: Item) -> Item:
    """An item as its entity would be stored: index keys are derived from its fields, and its version is incremented.

    ``before`` is None for a new item. RefusedChange if that is not enough.
    """
    name = schema.entity.__name__
    if before is None:
        obstacle = more_than_one_item(schema) or ("numbered fields" if schema.numbered else None)
        if obstacle is not None:
            raise RefusedChange(f"a new {name} needs more than one item to be written ({obstacle}): use the store")
    else:
        for attribute in changed_names(before, after):
            if attribute in schema.guarded_attributes:
                raise RefusedChange(f"{attribute} is unique, and its guard has to change with it: use the store")
    try:
        stored = schema.entity.of(after).item()
    except (ModelError, ValueError) as error:
        raise RefusedChange(f"this would not be a valid {name}: {error}") from None
    table = schema.table
    for attribute in table.key:
        if not same_value(stored[attribute], after[attribute]):
            raise RefusedChange(f"the {attribute} of this {name} is derived from other fields, and would be different")
    found = dict(after)
    for attribute in table.key_attributes:
        if attribute not in table.key:
            found.pop(attribute, None)
            if attribute in stored:
                found[attribute] = stored[attribute]
    version = schema.version
    if before is not None and version is not None and "N" in before.get(version.attribute, {}):
        found[version.attribute] = {"N": str(int(before[version.attribute]["N"]) + 1)}
    return found


def more_than_one_item(schema: Schema) -> str | None:
    """Why a write of an entity is a transaction, of which the studio would send only a part; None if it is not."""
    if schema.unique:
        return "unique fields"
    return "counters that its transactions update" if schema.needs_upkeep else None


def _differences(
    before: Item, after: Item, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], AttributeValue | None, AttributeValue | None]]:
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        path = (*above, name)
        if old is None or new is None:
            yield path, old, new
        elif "M" in old and "M" in new and old["M"] and new["M"]:
            yield from _differences(old["M"], new["M"], path)
        elif not same_value(old, new):
            yield path, old, new
