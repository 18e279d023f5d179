"""Capacity units: what DynamoDB charges for reading or writing so many bytes."""

from __future__ import annotations

WRITE_UNIT = 1024
"""The bytes that one write unit covers."""
READ_UNIT = 4096
"""The bytes that one read unit covers."""


def write_units(size: int) -> int:
    """One unit per started KB; at least one. Twice that in a transaction."""
    return -(-size // WRITE_UNIT) or 1


def read_units(size: int, consistent: bool) -> float:
    """One unit per started 4 KB, at least one, and half of that if eventually consistent. Twice in a transaction."""
    units = -(-size // READ_UNIT) or 1
    return float(units) if consistent else units / 2
