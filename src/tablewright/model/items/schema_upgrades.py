"""Items of older schema versions, brought to the newest by the steps that ``Upgrades`` declares.

Steps work on plain Python values, by attribute. Attributes that they leave alone stay exactly as they are stored: a
number written differently, or a set in another order, would look like a change. A step depends on the values alone and
may run any number of times, so that reads can upgrade without writing; that is also why no step may change the primary
key.
"""

from __future__ import annotations

from collections.abc import Iterable

from tablewright.dynamo import Item
from tablewright.model.declarations import Upgrades
from tablewright.model.errors import ModelError
from tablewright.model.values.attribute_codec import decode, encode

__all__ = ["schema_version_of", "upgraded"]


def schema_version_of(upgrades: Upgrades, item: Item) -> int:
    """The schema version of an item; 1 if it has none."""
    return int(item.get(upgrades.attribute, {"N": "1"})["N"])


def upgraded(upgrades: Upgrades, item: Item, name: str, key: Iterable[str]) -> Item:
    """The item in the newest schema version: the same object if it has that already. ``name`` is the entity's."""
    version = schema_version_of(upgrades, item)
    if version == upgrades.schema_version:
        return item
    if version > upgrades.schema_version:
        raise ModelError(
            f"an item of {name} has schema version {version}, but the newest declared is {upgrades.schema_version}; "
            "it was written by a newer program, so run that"
        )
    values = {attribute: decode(value) for attribute, value in item.items()}
    for number, step in enumerate(upgrades.steps[version - 1 :], version):
        try:
            values = step(values)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ModelError(f"the upgrade of {name} from schema version {number} failed: {reason}") from error
    result: Item = {}
    for attribute, value in values.items():
        before = item.get(attribute)
        if before is not None and decode(before) == value:
            result[attribute] = before
        elif (stored := encode(value)) is not None:
            result[attribute] = stored
    result[upgrades.attribute] = {"N": str(upgrades.schema_version)}
    if any(result.get(attribute) != item.get(attribute) for attribute in key):
        raise ModelError(
            f"an upgrade of {name} changes the primary key, which an upgrade cannot do; move the item with an update"
        )
    return result
