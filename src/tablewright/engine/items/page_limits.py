"""Where a page of Query, Scan or SELECT ends: with the item that takes it to 1 MB, as DynamoDB counts.

What counts is not the size of the items but the space they take in DynamoDB's storage (``page_size``), before any
filter. Measuring an item requires parsing it, and most pages are far from full: ``PageFill`` adds up upper bounds,
derived from the sizes alone, and measures only once those reach the limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from tablewright.dynamo import LONG_LIST, AttributeValue, Item, number_size, text_size, uniform_size, value_size
from tablewright.dynamo.limits import MAX_PAGE_BYTES


class PageFill:
    """How full a page is. Items are measured only once their sizes show that it might be full."""

    __slots__ = ("_bound", "_measured", "_sort_key", "_unmeasured")

    def __init__(self, sort: tuple[str, ...]) -> None:
        self._sort_key = sort[0] if sort else None
        self._measured = 0
        self._bound = 0
        self._unmeasured: list[bytes | Item] = []

    def take_all(self, total: int, items: Sequence[bytes]) -> bool:
        """Add some items, of so many bytes in total, if the page certainly does not end with any of them."""
        bound = self._bound + page_size_bound(total, len(items))
        if bound >= MAX_PAGE_BYTES:
            return False
        self._unmeasured += items
        self._bound = bound
        return True

    def add(self, size: int, item: bytes | Item) -> bool:
        """Whether the page ends with this item."""
        self._unmeasured.append(item)
        self._bound += page_size_bound(size)
        if self._bound < MAX_PAGE_BYTES:
            return False
        for pending in self._unmeasured:
            measurable = orjson.loads(pending) if isinstance(pending, bytes) else pending
            self._measured += page_size(measurable, self._sort_key)
        self._unmeasured.clear()
        self._bound = self._measured
        return self._measured >= MAX_PAGE_BYTES

    def add_parsed(self, size: int, item: Item, data: bytes | Item) -> bool:
        """The same for an item that is parsed already, from ``data``, if its bytes are kept.

        It is measured at once if that is probably necessary. Otherwise its bytes are kept until then: thousands of
        parsed items use much memory, and make each garbage collection slow.
        """
        if not self._measured or self._unmeasured:
            return self.add(size, data)
        self._bound = self._measured = self._measured + page_size(item, self._sort_key)
        return self._measured >= MAX_PAGE_BYTES


def page_size(item: Mapping[str, AttributeValue], sort_key: str | None) -> int:
    """What an item adds to the 1 MB of a page.

    That is the space it takes in DynamoDB's storage: a byte for each name, whatever its length, a length before each
    value, and for every started 3 KB a header that repeats the table's sort key.
    """
    attributes = header = 0
    for name, value in item.items():
        if name == sort_key:
            header = value_size(value)
            continue
        ((tag, content),) = value.items()
        # The most frequent values without a call: this runs for every item of a large page.
        if tag == "S" and len(content) < 32:
            attributes += 2 + (len(content) if content.isascii() else text_size(content))
        elif tag == "N":
            attributes += 2 + number_size(content)
        else:
            attributes += 1 + _stored_size(tag, content)
    return 2 + attributes + (1 + (1 + attributes) // 3072) * (18 + header)


def page_size_bound(size: int, count: int = 1) -> int:
    """An upper bound of the page sizes of so many items, which have this size together."""
    return 4 * size + 32 * count


def _stored_size(tag: str, content: Any) -> int:
    if tag == "N":
        return number_size(content) + 1
    if tag == "S":
        size = len(content) if content.isascii() else text_size(content)
        return size + (1 if size < 128 else 2 if size < 16384 else 3)
    if tag == "M":
        return 3 + sum(2 + _stored_size(*next(iter(member.items()))) for member in content.values())
    if tag == "L":
        # Long lists are of small numbers and short texts, or else they do not fit into an item.
        size = 3 + len(content)
        if len(content) >= LONG_LIST and "N" in content[0] and (members := uniform_size(content)) is not None:
            return size + members + len(content)
        for member in content:
            ((tag, value),) = member.items()
            size += value_size(member) + 1 if tag == "N" else _stored_size(tag, value)
        return size
    if tag == "BOOL":
        return 1
    if tag == "NULL":
        return 0
    # A length before the value, and in a set one before each member as well.
    return value_size({tag: content}) + 1 + (len(content) if tag in ("SS", "NS", "BS") else 0)
