"""Counts and checksums of items, in any order, and which items differ.

Items are divided into parts by a hash of their key. Each part has a count, and a sum of the digests of its items, which
does not depend on their order, so each side can be read in any order. If a part differs, only its items have to be
compared one by one.

A digest is of the value: numbers, sets and maps are normalized, however an endpoint writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, Self

import orjson

from tablewright.dynamo import DynamoError, Item, checked_item

__all__ = ["ItemDifference"]

PARTS = 256
_DIGEST_BYTES = 16
_MODULUS = 1 << (8 * _DIGEST_BYTES)

Kind = Literal["missing", "extra", "different", "twice", "blob"]
_WORDS = {
    "missing": "is missing from the target",
    "extra": "is in the target only",
    "different": "is not the same in the target",
    "twice": "has the same key as another item that was copied",
    "blob": "has a large value that is missing or damaged in the target's blob store",
}


@dataclass(frozen=True, slots=True, order=True)
class ItemDifference:
    """An item that is wrong in the target: ``missing``, ``extra``, ``different``, ``twice``, ``blob``."""

    # In DynamoDB's JSON.
    key: str
    kind: Kind

    def __str__(self) -> str:
        return f"{self.key} {_WORDS[self.kind]}"


class KeyDigests:
    """The counts and checksums of a table, by part."""

    def __init__(self, counts: list[int] | None = None, sums: list[int] | None = None) -> None:
        self.counts = counts or [0] * PARTS
        self.sums = sums or [0] * PARTS

    def add(self, items: Iterable[Item], key: Sequence[str]) -> None:
        for item in items:
            content = canonical_bytes(item)
            part = part_of(key_bytes(item, key)) if key else part_of(content)
            self.counts[part] += 1
            self.sums[part] = (self.sums[part] + int.from_bytes(digest(content), "big")) % _MODULUS

    def differing(self, other: KeyDigests) -> list[int]:
        """The parts that differ."""
        return [
            part
            for part in range(PARTS)
            if self.counts[part] != other.counts[part] or self.sums[part] != other.sums[part]
        ]

    @property
    def count(self) -> int:
        return sum(self.counts)

    def as_json(self) -> list[Any]:
        return [self.counts, [f"{each:x}" for each in self.sums]]

    @classmethod
    def from_json(cls, content: list[Any]) -> Self:
        counts, sums = content
        return cls(counts, [int(each, 16) for each in sums])


def canonical_bytes(item: Item) -> bytes:
    """An item as bytes that are the same for equal items."""
    # An endpoint may store what DynamoDB would refuse; it is compared as it is.
    with suppress(DynamoError, TypeError, ValueError):
        item, _ = checked_item(item)
    return orjson.dumps(item, option=orjson.OPT_SORT_KEYS)


def key_bytes(item: Item, key: Sequence[str]) -> bytes:
    """The key of an item as bytes; without key attributes, the whole item."""
    return canonical_bytes({name: item[name] for name in key if name in item} if key else item)


def digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()


def part_of(key: bytes) -> int:
    """The part that a key belongs to."""
    return blake2b(key).digest()[0]


class ItemTable:
    """The digests of the items of some parts, by key."""

    def __init__(self, parts: Iterable[int], key: Sequence[str]) -> None:
        self._parts, self._key = frozenset(parts), key
        self.digests: dict[bytes, bytes] = {}
        self.twice: set[bytes] = set()

    def add(self, items: Iterable[Item]) -> None:
        for item in items:
            key = key_bytes(item, self._key)
            if part_of(key) in self._parts:
                if key in self.digests:
                    self.twice.add(key)
                self.digests[key] = digest(canonical_bytes(item))

    def differences(self, target: ItemTable) -> list[ItemDifference]:
        """The differences in a target, in key order."""
        found: list[tuple[bytes, Kind]] = [(key, "twice") for key in self.twice]
        found += [(key, "missing") for key in self.digests.keys() - target.digests.keys()]
        found += [(key, "extra") for key in target.digests.keys() - self.digests.keys()]
        both = self.digests.keys() & target.digests.keys() - self.twice
        found += [(key, "different") for key in both if self.digests[key] != target.digests[key]]
        return sorted(ItemDifference(key.decode(), kind) for key, kind in found)
