"""DynamoDB's messages for what more than one operation refuses, word for word."""

from __future__ import annotations

INVALID_VALUES = "One or more parameter values were invalid: "
"""What most messages about parameters begin with."""
ITEM_TOO_LARGE = "Item size has exceeded the maximum allowed size"
KEY_MISMATCH = "The provided key element does not match the schema"
ITEM_REPEATED = "Transaction request cannot include multiple operations on one item"
KEYS_REPEATED = "Provided list of item keys contains duplicates"
