"""The concepts of DynamoDB, which all other packages share; this one imports none of them.

    attribute_values   a value and an item in DynamoDB's JSON, and equality
    document_paths     the place of a value inside of an item: `address.city`, `lines[0]`
    numbers            the range of numbers and their canonical form
    item_size          the size of a value and of an item in bytes
    value_checks       what is accepted as a value, and its canonical form
    capacity_units     the units charged for so many bytes
    limits             DynamoDB's limits: 400 KB per item, 100 actions per transaction, ...
    errors             the errors of DynamoDB
    error_messages     the messages that several operations refuse with
    expressions        conditions, key conditions, projections and updates; a package of its own

Other packages import from here, from ``dynamo.limits`` and from ``dynamo.expressions``.
"""

from tablewright.dynamo.attribute_values import AttributeValue, Item, same_item, same_value
from tablewright.dynamo.capacity_units import READ_UNIT, WRITE_UNIT, read_units, write_units
from tablewright.dynamo.document_paths import Path, PathPart, lookup, non_null_at, parse_path, value_at
from tablewright.dynamo.error_messages import INVALID_VALUES, ITEM_REPEATED, ITEM_TOO_LARGE, KEY_MISMATCH, KEYS_REPEATED
from tablewright.dynamo.errors import (
    AccessDeniedException,
    BackupNotFoundException,
    ConditionalCheckFailedException,
    ContinuousBackupsUnavailableException,
    DuplicateItemException,
    DynamoError,
    ExpiredIteratorException,
    IdempotentParameterMismatchException,
    InternalServerError,
    InvalidRestoreTimeException,
    LimitExceededException,
    PointInTimeRecoveryUnavailableException,
    RequestValidationException,
    ResourceInUseException,
    ResourceNotFoundException,
    SerializationException,
    TableAlreadyExistsException,
    TableInUseException,
    TableNotFoundException,
    TransactionCanceledException,
    TransactionConflictException,
    TransactionInProgressException,
    TrimmedDataAccessException,
    UnknownOperationException,
    ValidationException,
)
from tablewright.dynamo.item_size import (
    LONG_LIST,
    binary_size,
    item_size,
    number_size,
    text_size,
    uniform_size,
    value_size,
)
from tablewright.dynamo.numbers import NUMBER_OVERFLOW, canonical_number, is_big_decimal
from tablewright.dynamo.value_checks import (
    BESIDE_ITEM,
    NAME_TOO_LARGE,
    NESTED_TOO_DEEPLY,
    WRITTEN_TOO_DEEPLY,
    check_name,
    checked,
    checked_item,
    levels,
    plain_size,
)

__all__ = [
    "BESIDE_ITEM",
    "INVALID_VALUES",
    "ITEM_REPEATED",
    "ITEM_TOO_LARGE",
    "KEYS_REPEATED",
    "KEY_MISMATCH",
    "LONG_LIST",
    "NAME_TOO_LARGE",
    "NESTED_TOO_DEEPLY",
    "NUMBER_OVERFLOW",
    "READ_UNIT",
    "WRITE_UNIT",
    "WRITTEN_TOO_DEEPLY",
    "AccessDeniedException",
    "AttributeValue",
    "BackupNotFoundException",
    "ConditionalCheckFailedException",
    "ContinuousBackupsUnavailableException",
    "DuplicateItemException",
    "DynamoError",
    "ExpiredIteratorException",
    "IdempotentParameterMismatchException",
    "InternalServerError",
    "InvalidRestoreTimeException",
    "Item",
    "LimitExceededException",
    "Path",
    "PathPart",
    "PointInTimeRecoveryUnavailableException",
    "RequestValidationException",
    "ResourceInUseException",
    "ResourceNotFoundException",
    "SerializationException",
    "TableAlreadyExistsException",
    "TableInUseException",
    "TableNotFoundException",
    "TransactionCanceledException",
    "TransactionConflictException",
    "TransactionInProgressException",
    "TrimmedDataAccessException",
    "UnknownOperationException",
    "ValidationException",
    "binary_size",
    "canonical_number",
    "check_name",
    "checked",
    "checked_item",
    "is_big_decimal",
    "item_size",
    "levels",
    "lookup",
    "non_null_at",
    "number_size",
    "parse_path",
    "plain_size",
    "read_units",
    "same_item",
    "same_value",
    "text_size",
    "uniform_size",
    "value_at",
    "value_size",
    "write_units",
]
