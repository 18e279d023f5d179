"""Key conditions as a range of key bytes: every sort key condition is one range of the B-tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tablewright.dynamo import INVALID_VALUES, AttributeValue, ValidationException
from tablewright.engine.storage import key_encoding
from tablewright.engine.tables.table_schema import Index, Key

SortCondition = tuple[str, str, tuple[AttributeValue, ...]]
"""A sort key attribute, an operator and its operands."""


def key_range(
    key: Key, partition: Mapping[str, AttributeValue], sort: Sequence[SortCondition]
) -> tuple[bytes, bytes | None]:
    """The range of key bytes that has exactly the matching keys."""
    prefix = key.partition_prefix(partition)
    for _, operator, values in sort:
        first = key_encoding.scalar_bytes(values[0])
        whole = prefix + key_encoding.sort_bytes(first)
        match operator:
            case "=":
                prefix = whole
            case "<":
                return prefix, whole
            case "<=":
                return prefix, key_encoding.after(whole)
            case ">":
                return key_encoding.after(whole) or whole, key_encoding.after(prefix)
            case ">=":
                return whole, key_encoding.after(prefix)
            case "begins_with":
                beginning = prefix + key_encoding.sort_prefix(first)
                return beginning, key_encoding.after(beginning)
            case "BETWEEN":
                return whole, key_encoding.after(prefix + key_encoding.sort_bytes(key_encoding.scalar_bytes(values[1])))
    return prefix, key_encoding.after(prefix)


def check_key_conditions(
    key: Key, index: Index | None, partition: Mapping[str, AttributeValue], sort: Sequence[SortCondition]
) -> None:
    """The operands must be values that a key can have; ``key`` is that of ``index``, if there is one."""
    for name, value in partition.items():
        _check_operand(key, index, name, value)
    for name, _, values in sort:
        for value in values:
            _check_operand(key, index, name, value)


def _check_operand(key: Key, index: Index | None, name: str, value: AttributeValue) -> None:
    expected = key.types[name]
    if expected not in value:
        raise ValidationException(f"{INVALID_VALUES}Condition parameter type does not match schema type")
    if index is None:
        key.check_value(name, value)
    else:
        index.check_element(name, value)
