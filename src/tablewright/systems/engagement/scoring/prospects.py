"""A customer who may become a candidate: read by connectors, scored by models, checked by filters."""

from __future__ import annotations

import math
from base64 import b64encode
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import orjson

from tablewright.runtime.http.json_values import storable
from tablewright.runtime.http.path_ids import is_id
from tablewright.systems.engagement.model import Subject

# Maximum bytes of a customer's attributes, as JSON; a transaction has many customers.
MAX_ATTRIBUTES_BYTES = 20_000
# Maximum characters of a customer's id, and of the type and the id of a subject.
MAX_CUSTOMER_ID_LENGTH = 200
MAX_SUBJECT_TYPE_LENGTH = 50
MAX_SUBJECT_ID_LENGTH = 150
_MAX_NUMBER = Decimal("1e30")
_MAX_DIGITS = 38


@dataclass(slots=True)
class Prospect:
    """A customer and a subject. Filters may remove channels."""

    customer_id: str
    subject: Subject
    attributes: dict[str, Any]
    # Its position among the rows of its source.
    place: tuple[str, str, str] = ("", "", "")
    channels: list[str] = field(default_factory=list)
    score: Decimal = Decimal(0)


class Unfit(Exception):
    """A customer who cannot be processed; the text is the reason, without personal data."""


def checked(prospect: Prospect) -> Prospect:
    """A prospect whose parts fit into an item; Unfit if not."""
    if not 1 <= len(prospect.customer_id) <= MAX_CUSTOMER_ID_LENGTH:
        raise Unfit(f"the customer's id can have 1 to {MAX_CUSTOMER_ID_LENGTH} characters")
    subject = prospect.subject
    if not (1 <= len(subject.type) <= MAX_SUBJECT_TYPE_LENGTH and 1 <= len(subject.id) <= MAX_SUBJECT_ID_LENGTH):
        raise Unfit(
            f"the subject's type can have 1 to {MAX_SUBJECT_TYPE_LENGTH} characters, the id "
            f"1 to {MAX_SUBJECT_ID_LENGTH}"
        )
    if not all(map(is_id, (prospect.customer_id, subject.type, subject.id))):
        raise Unfit("an id, or the subject's type, has a / or an invisible character")
    try:
        size = len(orjson.dumps(prospect.attributes, default=str))
        # Nested values may have a depth, or names, that items do not support; the rest was converted (``plain``).
        nested = {name: value for name, value in prospect.attributes.items() if isinstance(value, dict | list)}
        if nested:
            storable(nested)
    except (TypeError, ValueError):
        raise Unfit("the attributes have a value that cannot be stored") from None
    if size > MAX_ATTRIBUTES_BYTES:
        raise Unfit(f"the attributes have more than {MAX_ATTRIBUTES_BYTES} bytes")
    return prospect


def plain(value: Any) -> Any:
    """A value of a source as an attribute: a JSON value, with exact numbers."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) < 2**63 else plain(Decimal(value))
        case float():
            return plain(Decimal(repr(value))) if math.isfinite(value) else None
        case Decimal():
            if not value.is_finite():
                return None
            fits = len(value.as_tuple().digits) <= _MAX_DIGITS
            return value if fits and (not value or 1 / _MAX_NUMBER < abs(value) < _MAX_NUMBER) else str(value)
        case bytes():
            return b64encode(value).decode()
        case list() | tuple():
            return [plain(member) for member in value]
        case dict():
            return {str(name): plain(member) for name, member in value.items()}
    return str(value)
