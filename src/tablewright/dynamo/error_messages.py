"""DynamoDB's messages for what more than one operation refuses, word for word."""

from __future__ import annotations

INVALID_VALUES = "One or more parameter values were invalid: "
"""What most messages about parameters begin with."""
ITEM_TOO_LARGE = "Item size has exceeded the maximum allowed size"
"""For an item that would be larger than 400 KB."""
KEY_MISMATCH = "The provided key element does not match the schema"
"""For a key that has other attributes than the key of its table, or of other types."""
ITEM_REPEATED = "Transaction request cannot include multiple operations on one item"
"""For a transaction that names an item twice."""
KEYS_REPEATED = "Provided list of item keys contains duplicates"
"""For a batch that names an item twice."""
