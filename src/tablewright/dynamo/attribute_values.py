"""Attribute values in DynamoDB's JSON, and when two of them are equal.

    {"S": "ada"}   {"N": "42"}   {"B": "Zm9v"}   {"BOOL": true}   {"NULL": true}
    {"SS": [...]}  {"NS": [...]}  {"BS": [...]}  {"L": [...]}     {"M": {...}}

Binary values are base64 text. After ``value_checks``, numbers are text in canonical form (``numbers``), and the members
of a set are in order.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

AttributeValue = dict[str, Any]
"""A dict with one key, the type, and the content."""
Item = dict[str, AttributeValue]
"""Attribute values by attribute name."""


def same_value(one: AttributeValue, other: AttributeValue) -> bool:
    """Equal as DynamoDB compares: sets without regard to order, at any depth."""
    if one == other:
        return True
    ((tag, left),) = one.items()
    ((other_tag, right),) = other.items()
    if tag != other_tag:
        return False
    if tag in ("SS", "NS", "BS"):
        return len(left) == len(right) and set(left) == set(right)
    if tag == "L":
        return len(left) == len(right) and not any(
            mine != its and not same_value(mine, its) for mine, its in zip(left, right, strict=True)
        )
    if tag == "M":
        return left.keys() == right.keys() and not any(
            mine != right[name] and not same_value(mine, right[name]) for name, mine in left.items()
        )
    return False


def set_order(tag: str, members: Iterable[str]) -> list[str]:
    """The members of a set as DynamoDB returns them: texts and binaries by their bytes, numbers by their value.

    Code points of Python strings order as their UTF-8 bytes do.
    """
    if tag == "SS":
        return sorted(members)
    if tag == "BS":
        return sorted(members, key=b64decode)
    members = list(members)
    # Most are integers, which Python compares in a fifth of the time.
    return sorted(members, key=Decimal if "." in "".join(members) else int)


def same_item(one: Item, other: Item) -> bool:
    """Whether a write from one to the other would change nothing."""
    return one == other or (one.keys() == other.keys() and all(same_value(one[name], other[name]) for name in one))
