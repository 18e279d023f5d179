"""DynamoDB's limits, each defined once: the engine enforces them, and model, store and design plan for them.

Sizes are in bytes, lengths in characters.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "MAX_BATCH_GET_BYTES",
    "MAX_BATCH_GET_KEYS",
    "MAX_BATCH_STATEMENTS",
    "MAX_BATCH_WRITES",
    "MAX_COLLECTION_BYTES",
    "MAX_DIGITS",
    "MAX_EXPONENT",
    "MAX_EXPRESSION_BYTES",
    "MAX_GLOBAL_INDEXES",
    "MAX_IN_OPERANDS",
    "MAX_ITEM_SIZE",
    "MAX_KEY_ATTRIBUTES",
    "MAX_LIST_INDEX",
    "MAX_LOCAL_INDEXES",
    "MAX_NAME_BYTES",
    "MAX_NESTING",
    "MAX_OPERATORS",
    "MAX_PAGE_BYTES",
    "MAX_PARTITION_BYTES",
    "MAX_PARTITION_KEY_BYTES",
    "MAX_PARTITION_READ_UNITS",
    "MAX_PARTITION_WRITE_UNITS",
    "MAX_PATH_DEPTH",
    "MAX_PROJECTED_ATTRIBUTES",
    "MAX_SORT_KEY_BYTES",
    "MAX_STREAM_RECORDS",
    "MAX_TABLE_NAMES",
    "MAX_TABLE_NAME_LENGTH",
    "MAX_TAGS",
    "MAX_TAG_KEY_LENGTH",
    "MAX_TAG_VALUE_LENGTH",
    "MAX_TRANSACTION_ACTIONS",
    "MAX_TRANSACTION_BYTES",
    "MAX_VARIABLES_BYTES",
    "MIN_EXPONENT",
    "MIN_TABLE_NAME_LENGTH",
]

_KB: Final = 1024
_MB: Final = 1024**2
_GB: Final = 1024**3

# -- items and values --------------------------------------------------------------------------------------------

MAX_ITEM_SIZE: Final = 400 * _KB
"""An item, names included."""
MAX_NESTING: Final = 32
"""Levels of lists and maps in an item."""
MAX_NAME_BYTES: Final = 65_535
"""The name of an attribute."""
MAX_VARIABLES_BYTES: Final = 2 * 1024 * 1024
"""The names that the placeholders of a request's expressions stand for, with the placeholders."""
MAX_PARTITION_KEY_BYTES: Final = 2048
MAX_SORT_KEY_BYTES: Final = 1024
MAX_DIGITS: Final = 38
"""Significant digits of a number."""
MAX_EXPONENT: Final = 125
"""The largest power of ten of a number."""
MIN_EXPONENT: Final = -130
"""The smallest power of ten of a number."""

# -- expressions -------------------------------------------------------------------------------------------------

MAX_EXPRESSION_BYTES: Final = 4 * _KB
MAX_OPERATORS: Final = 300
"""Operators of an expression or a PartiQL statement."""
MAX_PATH_DEPTH: Final = 32
"""Parts of a document path."""
MAX_LIST_INDEX: Final = 2**31 - 1
MAX_IN_OPERANDS: Final = 100

# -- requests ----------------------------------------------------------------------------------------------------

MAX_PAGE_BYTES: Final = 1 * _MB
"""A page of Query, Scan, SELECT or GetRecords."""
MAX_BATCH_GET_KEYS: Final = 100
MAX_BATCH_GET_BYTES: Final = 16 * _MB
MAX_BATCH_WRITES: Final = 25
MAX_BATCH_STATEMENTS: Final = 25
MAX_TRANSACTION_ACTIONS: Final = 100
MAX_TRANSACTION_BYTES: Final = 4 * _MB
MAX_STREAM_RECORDS: Final = 1000
"""Records that one GetRecords returns."""
MAX_TABLE_NAMES: Final = 100
"""Names that one ListTables returns."""

# -- tables ------------------------------------------------------------------------------------------------------

MIN_TABLE_NAME_LENGTH: Final = 3
"""The name of a table, an index or a backup."""
MAX_TABLE_NAME_LENGTH: Final = 255
MAX_GLOBAL_INDEXES: Final = 20
MAX_LOCAL_INDEXES: Final = 5
MAX_KEY_ATTRIBUTES: Final = 4
"""Attributes of the partition key of a global index, and of its sort key."""
MAX_PROJECTED_ATTRIBUTES: Final = 100
"""Attributes that the indexes of a table list in their projections, together."""
MAX_COLLECTION_BYTES: Final = 10 * _GB
"""The items of a partition key, in a table with local indexes."""
MAX_TAGS: Final = 50
MAX_TAG_KEY_LENGTH: Final = 128
MAX_TAG_VALUE_LENGTH: Final = 256

# -- partitions --------------------------------------------------------------------------------------------------

MAX_PARTITION_BYTES: Final = 10 * _GB
MAX_PARTITION_READ_UNITS: Final = 3000
"""Read units per second that one partition serves."""
MAX_PARTITION_WRITE_UNITS: Final = 1000
"""Write units per second that one partition serves."""
