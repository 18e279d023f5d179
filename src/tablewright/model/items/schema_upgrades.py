"""Items of older shapes, brought to the present one by the steps that ``Upgrades`` declares.

The steps work on plain values, by attribute. What they leave alone stays as it is stored, to the letter: a number in
another form, or a set in another order, would look like a change. A step follows from the values alone and may be done
any number of times, so an upgrade is no write; what would change the primary key is none that a read could make.
"""

from __future__ import annotations

from collections.abc import Iterable

from tablewright.dynamo import Item
from tablewright.model.declarations import Upgrades
from tablewright.model.errors import ModelError
from tablewright.model.values.attribute_codec import decode, encode

__all__ = ["schema_version_of", "upgraded"]


def schema_version_of(upgrades: Upgrades, item: Item) -> int:
    """The number of an item's shape; one that says nothing has the first."""
    return int(item.get(upgrades.attribute, {"N": "1"})["N"])


def upgraded(upgrades: Upgrades, item: Item, name: str, key: Iterable[str]) -> Item:
    """The item in the present shape: the same one if it has that already. ``name`` is its entity's."""
    shape = schema_version_of(upgrades, item)
    if shape == upgrades.schema_version:
        return item
    if shape > upgrades.schema_version:
        raise ModelError(
            f"an item of {name} has shape {shape}, but the newest one declared is {upgrades.schema_version}; "
            "it was written by a newer program"
        )
    values = {attribute: decode(value) for attribute, value in item.items()}
    for number, step in enumerate(upgrades.steps[shape - 1 :], shape):
        try:
            values = step(values)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ModelError(f"the upgrade of {name} from shape {number} failed: {reason}") from error
    result: Item = {}
    for attribute, value in values.items():
        before = item.get(attribute)
        if before is not None and decode(before) == value:
            result[attribute] = before
        elif (stored := encode(value)) is not None:
            result[attribute] = stored
    result[upgrades.attribute] = {"N": str(upgrades.schema_version)}
    if any(result.get(attribute) != item.get(attribute) for attribute in key):
        raise ModelError(f"an upgrade of {name} changes the primary key, which only a move can do")
    return result
