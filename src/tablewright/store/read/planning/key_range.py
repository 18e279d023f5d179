"""Ranges of the sort key: the bounds of a field as bounds of the keys that it is part of.

A range has a low and a high end, each with whether it is included. DynamoDB's BETWEEN includes both, so the items of a
range that excludes one of them are checked again when they arrive.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tablewright.dynamo import AttributeValue, Item, non_null_at
from tablewright.dynamo.expressions.builder import Condition, begins_with, between, compare
from tablewright.model.keys.key_forms import Field
from tablewright.model.keys.key_template import PAST

ItemCheck = Callable[[Item], bool]

# After all that a raw key continues with.
_LAST = "\U0010ffff"


def comparable(value: AttributeValue) -> Any:
    """A stored value as a Python value that sorts as DynamoDB sorts it."""
    ((tag, content),) = value.items()
    if tag == "N":
        return Decimal(content)
    # Python compares text by code point, which is the order of its UTF-8 bytes.
    return b64decode(content) if tag == "B" else content


@dataclass(slots=True)
class KeyRange:
    """The bounds of one key attribute: each is a value, and whether the range includes it; or how its text begins."""

    low: tuple[AttributeValue, bool] | None = None
    high: tuple[AttributeValue, bool] | None = None
    prefix: AttributeValue | None = None

    @property
    def values(self) -> list[AttributeValue]:
        """The values in ``condition``, in their order."""
        if self.prefix is not None:
            return [self.prefix]
        return [bound[0] for bound in (self.low, self.high) if bound is not None]

    @property
    def is_empty(self) -> bool:
        if self.low is None or self.high is None:
            return False
        low, high = comparable(self.low[0]), comparable(self.high[0])
        return bool(low > high or (low == high and not (self.low[1] and self.high[1])))

    def condition(self, attribute: str) -> Condition | None:
        if self.prefix is not None:
            return begins_with(attribute, self.prefix)
        if self.low is not None and self.high is not None:
            return between(attribute, self.low[0], self.high[0])
        if self.low is not None:
            return compare(attribute, ">=" if self.low[1] else ">", self.low[0])
        if self.high is not None:
            return compare(attribute, "<=" if self.high[1] else "<", self.high[0])
        return None

    def fitted(self, width: int | None) -> KeyRange:
        """The range, limited to the values that a key part can hold: a number of so many digits."""
        if width is None or any(bound is not None and "N" not in bound[0] for bound in (self.low, self.high)):
            return self
        low, high = self.low, self.high
        if all(bound is None or (bound[0]["N"].isdecimal() and len(bound[0]["N"]) <= width) for bound in (low, high)):
            return self
        least, most = 0, 10**width - 1
        if low is not None and not least <= comparable(low[0]) <= most:
            low = None if comparable(low[0]) < least else ({"N": str(most)}, False)
        if high is not None and not least <= comparable(high[0]) <= most:
            high = None if comparable(high[0]) > most else ({"N": str(least)}, False)
        return KeyRange(low, high)

    def check(self, path: str) -> ItemCheck:
        """The same condition, for an item that has been read."""
        low, high = self.low, self.high

        def within(item: Item) -> bool:
            value = non_null_at(item, path)
            if value is None:
                return False
            found = comparable(value)
            if low is not None and not (found > (least := comparable(low[0])) or (low[1] and found == least)):
                return False
            return high is None or found < (most := comparable(high[0])) or (high[1] and found == most)

        return within

    @property
    def included_ends(self) -> tuple[bool | None, bool | None] | str:
        """What ``condition`` depends on except for the values: which ends there are, and whether they are included."""
        if self.prefix is not None:
            return "prefix"
        return None if self.low is None else self.low[1], None if self.high is None else self.high[1]

    @property
    def is_exact(self) -> bool:
        """Whether ``condition`` says all of it, so that no item has to be checked."""
        if self.low is None or self.high is None:
            return True
        return self.low[1] and self.high[1]


def key_range(prefix: str, part: Field, within: KeyRange, is_day_only: bool, is_last: bool) -> KeyRange:
    """A range of values as the range of the keys that have them after ``prefix``.

    Keys whose field is v are ``prefix + v`` and what continues that with the separator: all are before ``prefix + v +
    PAST``. A key that holds only the day includes all of that day, whatever the hour of the bound. In a raw key, any
    text may follow a value of a fixed length; other text is bounded only where it ``is_last``.
    """
    if within.prefix is not None:
        return KeyRange(prefix={"S": prefix + part.encode(within.prefix)})
    within = within.fitted(part.width)
    if part.is_descending:
        within = KeyRange(within.high, within.low)
    past = PAST if part.raw is None else "" if is_last else _LAST
    keys = KeyRange()
    if within.low is not None:
        value, included = within.low
        low = prefix + part.encode(value)
        keys.low = ({"S": low}, True) if included or is_day_only else ({"S": low + past}, bool(past))
    elif prefix:
        keys.low = ({"S": prefix}, True)
    if within.high is not None:
        value, included = within.high
        high = prefix + part.encode(value)
        keys.high = ({"S": high + past}, True) if included or is_day_only else ({"S": high}, False)
    elif prefix:
        keys.high = ({"S": _successor(prefix)}, False)
    return keys


def _successor(prefix: str) -> str:
    """The least text that is greater than all that begin with ``prefix``, which ends in a literal."""
    code = ord(prefix[-1]) + 1
    # Surrogates are not characters; a literal does not end in the very last character.
    return prefix[:-1] + chr(0xE000 if code == 0xD800 else code)
