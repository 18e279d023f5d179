"""The first layer that every request passes.

``check_request`` returns a clean request, in which every member is known, not null, and of its JSON
type and within its constraints; or it raises what the service would, in the service's order:

1. SerializationException, for JSON of the wrong kind, at the first wrong value in the request;
2. ValidationException for a missing or malformed table name, and for a few other members, each reported alone;
3. ValidationException for all other broken constraints together, at most ten.

Nearly all requests have nothing to clean or refuse. Those are recognised by closures made from the declared
shapes when the module is loaded, in a few microseconds and without building anything; only the others are
read and explained member by member. Attribute values that need no cleaning come out as the same objects.
"""

from __future__ import annotations

from typing import Any

from tablewright.dynamo import (
    DynamoError,
    RequestValidationException,
    UnknownOperationException,
    ValidationException,
)
from tablewright.engine.requests.backup_inputs import BACKUP_INPUTS
from tablewright.engine.requests.common_shapes import Input
from tablewright.engine.requests.input_shapes import Check, Path, Violations
from tablewright.engine.requests.item_inputs import ITEM_INPUTS
from tablewright.engine.requests.table_inputs import STREAM_INPUTS, TABLE_INPUTS
from tablewright.engine.requests.table_name_shape import TableName, table_name_of

__all__ = ["DYNAMODB_OPERATIONS", "STREAMS_OPERATIONS", "check_request", "examine_request", "table_name_of", "worded"]

DYNAMODB_OPERATIONS = frozenset({*ITEM_INPUTS, *TABLE_INPUTS, *BACKUP_INPUTS})
"""The operations of the target ``DynamoDB_20120810``."""

STREAMS_OPERATIONS = frozenset(STREAM_INPUTS)
"""The operations of the target ``DynamoDBStreams_20120810``."""

_INPUTS: dict[str, Input] = {**ITEM_INPUTS, **TABLE_INPUTS, **BACKUP_INPUTS, **STREAM_INPUTS}


# The operations that report what is wrong with the form of a request in newer words, and those that count as well.
_COUNTING = frozenset({"DeleteItem", "PutItem", "UpdateItem"})
_NEWER = frozenset({"BatchGetItem", "GetItem", "Query"})


def _whole_check(declared: Input) -> Check:
    check, entries = declared.shape.check(), declared.required_entries
    return check if entries is None else lambda request: check(request) and bool(request[entries])


_CHECKS = {operation: _whole_check(declared) for operation, declared in _INPUTS.items()}


def check_request(operation: str, request: Any) -> dict[str, Any]:
    """The request with nothing in it that its handler would have to check again."""
    check = _CHECKS.get(operation)
    if check is None:
        raise UnknownOperationException(f"Tablewright does not support the operation {operation}")
    return dict(request) if check(request) else examine_request(operation, request)


def worded(operation: str, error: DynamoError) -> DynamoError:
    """The error in the words of the operation that reports it."""
    if isinstance(error, RequestValidationException):
        if operation in _COUNTING:
            return error.counted()
        if operation in _NEWER:
            return error.newer()
    return error


def examine_request(operation: str, request: Any) -> dict[str, Any]:
    """What ``check_request`` returns, found member by member."""
    declared = _INPUTS[operation]
    shape = declared.shape
    try:
        clean = shape.read(request, element=True)
    except RequestValidationException as error:
        raise worded(operation, error) from None

    name = declared.required_parameter
    if name is not None and name not in clean:
        raise ValidationException(f"The parameter '{name}' is required but was not present in the request")

    # With an invalid table name, the service checks nothing else.
    names_table = isinstance(shape.members.get("TableName"), TableName)
    for name in (*(("TableName",) if names_table else ()), *declared.alone):
        if name in clean:
            found = Violations()
            shape.members[name].violations(clean[name], Path().member(name), found)
            found.raise_any()

    found = Violations()
    shape.violations(clean, Path(), found)
    found.raise_any()

    entries = declared.required_entries
    if entries is not None and not clean[entries]:
        raise ValidationException(f"The {entries[0].lower()}{entries[1:]} parameter is required for {operation}")
    return clean
