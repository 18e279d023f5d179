"""The items of a table or an index by partition, each partition in the order of the sort key.

This is how a single-table design is read: one query returns the items of one partition key. The design document prints
it for samples, and the studio draws it for samples and for real items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tablewright.design.sample_entities import samples
from tablewright.dynamo import AttributeValue, Item
from tablewright.model import ModelError, Table, schemas_of
from tablewright.model.values.attribute_codec import decode

__all__ = ["LaidItem", "Partition", "lay_out", "other_attributes", "sample_items"]

_SAMPLES = 2


@dataclass(frozen=True, slots=True)
class LaidItem:
    """An item in its partition, and its entity; an empty name if it has none."""

    entity: str
    item: Item


@dataclass(frozen=True, slots=True)
class Partition:
    """The items with the same partition key, in the order of their sort key."""

    key: tuple[AttributeValue, ...]
    items: tuple[LaidItem, ...]


def lay_out(items: Iterable[tuple[str, Item]], partition: Sequence[str], sort: Sequence[str]) -> list[Partition]:
    """Items with their entities, by a key; those without a part of it are left out, as in a sparse index."""
    names = [*partition, *sort]
    present = [LaidItem(entity, item) for entity, item in items if all(name in item for name in names)]
    present.sort(key=lambda each: [_sortable(each.item[name]) for name in names])
    return list(_partitions(present, partition))


def _partitions(items: Sequence[LaidItem], partition: Sequence[str]) -> Iterator[Partition]:
    start = 0
    for position in range(1, len(items) + 1):
        key = tuple(items[start].item[name] for name in partition)
        if position == len(items) or tuple(items[position].item[name] for name in partition) != key:
            yield Partition(key, tuple(items[start:position]))
            start = position


def sample_items(table: Table) -> list[tuple[str, Item]]:
    """Some items of each entity of a table, with its name."""
    found: list[tuple[str, Item]] = []
    for schema in schemas_of(table):
        try:
            found += [(schema.entity.__name__, each.item()) for each in samples(schema.entity, _SAMPLES)]
        except ModelError:
            # Its validators accept no second one.
            found += [(schema.entity.__name__, each.item()) for each in samples(schema.entity, 1)]
    return found


def other_attributes(item: Item, keys: Iterable[str]) -> list[str]:
    """The attributes of an item that are not keys, in its order."""
    known = set(keys)
    return [name for name in item if name not in known]


def _sortable(value: AttributeValue) -> tuple[Decimal, str]:
    return (Decimal(value["N"]), "") if "N" in value else (Decimal(0), str(decode(value)))
