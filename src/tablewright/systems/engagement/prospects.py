"""A customer on the way to become a candidate: what connectors read, models score, and filters look at."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import orjson

from tablewright.systems.engagement.model import Subject

# Attributes of a customer have so many bytes at most, as JSON; there are many customers in a transaction.
LARGEST_ATTRIBUTES = 20_000
_LARGEST_NUMBER = Decimal("1e30")
_MOST_DIGITS = 38


@dataclass(slots=True)
class Prospect:
    """A customer and a subject. Filters may take channels away."""

    customer_id: str
    subject: Subject
    attributes: dict[str, Any]
    # Its place among the rows of its source.
    place: tuple[str, str, str] = ("", "", "")
    channels: list[str] = field(default_factory=list)
    score: Decimal = Decimal(0)


class Unfit(Exception):
    """A customer who cannot be dealt with; the text says why, and nothing of the customer's."""


def checked(prospect: Prospect) -> Prospect:
    """A prospect whose parts fit into an item; Unfit if not."""
    if not 1 <= len(prospect.customer_id) <= 200:
        raise Unfit("the customer's id has 1 to 200 characters")
    if not prospect.customer_id.isprintable():
        raise Unfit("the customer's id has characters that cannot be printed")
    subject = prospect.subject
    if not (1 <= len(subject.type) <= 50 and 1 <= len(subject.id) <= 150):
        raise Unfit("the subject's type has 1 to 50 characters, its id 1 to 150")
    try:
        size = len(orjson.dumps(prospect.attributes, default=str))
    except TypeError:
        raise Unfit("the attributes have something that cannot be stored") from None
    if size > LARGEST_ATTRIBUTES:
        raise Unfit(f"the attributes have more than {LARGEST_ATTRIBUTES} bytes")
    return prospect


def plain(value: Any) -> Any:
    """A value of a source as an attribute: what JSON has, with exact numbers."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) < 2**63 else plain(Decimal(value))
        case float():
            return plain(Decimal(repr(value))) if math.isfinite(value) else None
        case Decimal():
            fits = value.is_finite() and len(value.as_tuple().digits) <= _MOST_DIGITS
            return value if fits and (not value or 1 / _LARGEST_NUMBER < abs(value) < _LARGEST_NUMBER) else str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case UUID():
            return str(value)
        case list() | tuple():
            return [plain(member) for member in value]
        case dict():
            return {str(name): plain(member) for name, member in value.items()}
    return str(value)
