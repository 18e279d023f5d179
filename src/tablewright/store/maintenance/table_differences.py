"""How a table differs from the model, one value for each difference."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Aspect(StrEnum):
    """The part of a table in which it differs from the model."""

    TABLE = "table"
    KEY = "key"
    ATTRIBUTE_TYPE = "attribute type"
    INDEX = "index"
    INDEX_KEY = "index key"
    PROJECTION = "projection"
    TIME_TO_LIVE = "time to live"
    STREAM = "stream"
    RECOVERY = "point-in-time recovery"
    ENCRYPTION = "encryption"
    PROTECTION = "deletion protection"
    TAG = "tag"


class Resolution(StrEnum):
    """What ``ensure_tables`` did, or would do, about a difference."""

    PLANNED = "planned"
    APPLIED = "applied"
    # Not safe to change: something would have to be deleted or rebuilt.
    REFUSED = "refused"
    # In the table and not in the model; harmless.
    LEFT = "left"
    # The endpoint does not have the operation.
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which a table differs from the model; ``name`` is the index, attribute or tag it is about."""

    table: str
    aspect: Aspect
    name: str
    expected: str | None
    found: str | None
    resolution: Resolution

    def __str__(self) -> str:
        subject = f"{self.aspect} {self.name}" if self.name else str(self.aspect)
        expected, found = self.expected or "none", self.found or "none"
        return f"{self.table}: {subject}: {expected} expected, {found} found ({self.resolution})"
