"""ExclusiveStartKey: its checks for a query or a scan, and how a read continues after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tablewright.dynamo import KEY_MISMATCH, AttributeValue, Item, ValidationException, check_name, checked
from tablewright.engine.items.page_reader import PageRead, Source

_INVALID_START_KEY = "The provided starting key is invalid"
# The errors about a value that DynamoDB reports without mentioning the starting key.
_BARE_ERRORS = (
    "contains duplicates",
    "number set",
    "numeric value",
    "significant digits",
    "number with magnitude",
)


def checked_start_key(request: Mapping[str, Any]) -> Item | None:
    """The starting key of a request, its values checked and canonical."""
    start = request.get("ExclusiveStartKey")
    if start is None:
        return None
    result: Item = {}
    for name, value in start.items():
        check_name(name)
        try:
            result[name] = checked(value)[0]
        except ValidationException as error:
            message = error.message or ""
            if any(part in message for part in _BARE_ERRORS):
                raise
            raise ValidationException(f"{_INVALID_START_KEY}: {message}") from None
    return result


def check_query_start(source: Source, start: Item) -> None:
    """The names and the source's own key in the starting key of a query."""
    if len(start) != len(source.start_names):
        raise ValidationException(_INVALID_START_KEY)
    _check_source_key(source, start)


def check_scan_start(source: Source, start: Item) -> None:
    """The same for a scan; the key of a table is checked later (``check_table_key``)."""
    if source.index is not None:
        check_query_start(source, start)
    elif len(start) != len(source.start_names):
        raise ValidationException(f"{_INVALID_START_KEY}: {KEY_MISMATCH}")


def _check_source_key(source: Source, start: Item) -> None:
    """The part of a starting key that is the key of what is read."""
    for name in source.key.names:
        if name not in start:
            raise ValidationException(_INVALID_START_KEY)
        source.table.check_key_element(source.key, start, name)


def check_table_key(source: Source, start: Item) -> None:
    """The part of a starting key that is the key of the table behind it."""
    try:
        source.table.check_key({name: start[name] for name in source.table.key.names if name in start})
    except ValidationException as error:
        raise ValidationException(f"{_INVALID_START_KEY}: {error.message}") from None


def continue_query(read: PageRead, partition: Mapping[str, AttributeValue], ranged: bool, start: Item) -> None:
    """Continue after the starting key, which must be in the range."""
    source = read.source
    same_partition = all(start[name] == value for name, value in partition.items())
    position = source.position(start)
    if ranged:
        # The starting key as it would be in the partition that is queried.
        moved = source.key.partition_prefix(partition) + position[len(source.key.partition_prefix(start)) :]
        if moved < read.low or (read.high is not None and moved >= read.high):
            raise ValidationException("The provided starting key does not match the range key predicate")
        if not same_partition:
            raise ValidationException("The query can return at most one row and cannot be restarted")
    elif not same_partition:
        raise ValidationException("The provided starting key is outside query boundaries based on provided conditions")
    if read.forward:
        read.low = position + b"\x00"
    else:
        read.high = position


def continue_scan(read: PageRead, start: Item, segment: int, total: int) -> None:
    """Continue after the starting key, which must be in the segment."""
    position = read.source.position(start)
    if position < read.low or (read.high is not None and position >= read.high):
        raise ValidationException(
            f"{_INVALID_START_KEY}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
            f"TotalSegments: {total} Segment: {segment}"
        )
    read.low = position + b"\x00"
