"""The validation that every request passes first.

``check_request`` returns a clean request, in which every member is known, not null, and of its JSON
type and within its constraints; or it raises what the service would, in the service's order:

1. SerializationException, for JSON of the wrong kind, at the first wrong value in the request;
2. ValidationException for a missing or malformed table name, and for a few other members, each reported alone;
3. ValidationException for all other broken constraints together, at most ten.

The writes of one item have two layers of checks, with different messages. What the newer one cannot read (no key or
item at all, or values nested too deeply) is left to the older one, which lists all constraints together.

Nearly all requests have nothing to clean or refuse. Those are recognised by closures made from the declared shapes when
the module is loaded, in a few microseconds and without allocating anything; only the others are read and explained
member by member. Attribute values that need no cleaning are returned as the same objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tablewright.dynamo import (
    DynamoError,
    RequestValidationException,
    UnknownOperationException,
    ValidationException,
    levels,
    plain_size,
)
from tablewright.engine.requests.backup_inputs import BACKUP_INPUTS
from tablewright.engine.requests.common_shapes import Input
from tablewright.engine.requests.input_shapes import Check, Path, Struct, Violations
from tablewright.engine.requests.item_inputs import ITEM_INPUTS
from tablewright.engine.requests.table_inputs import STREAM_INPUTS, TABLE_INPUTS
from tablewright.engine.requests.table_name_shape import TableName, table_name_of
from tablewright.engine.requests.value_shape import MAX_LEVELS_READ

__all__ = [
    "DYNAMODB_OPERATIONS",
    "ITEM_SIZE",
    "MAX_LEVELS_READ",
    "STREAMS_OPERATIONS",
    "check_request",
    "examine_request",
    "table_name_of",
    "worded",
]

DYNAMODB_OPERATIONS = frozenset({*ITEM_INPUTS, *TABLE_INPUTS, *BACKUP_INPUTS})
"""The operations of the target ``DynamoDB_20120810``."""

STREAMS_OPERATIONS = frozenset(STREAM_INPUTS)
"""The operations of the target ``DynamoDBStreams_20120810``."""

_INPUTS: dict[str, Input] = {**ITEM_INPUTS, **TABLE_INPUTS, **BACKUP_INPUTS, **STREAM_INPUTS}


# The operations that report errors in the form of a request in newer words, and those that count as well.
_COUNTING = frozenset({"DeleteItem", "PutItem", "UpdateItem"})
_NEWER = frozenset({"BatchGetItem", "GetItem", "Query"})


def _whole_check(declared: Input) -> Check:
    check, entries = declared.shape.check(), declared.required_entries
    return check if entries is None else lambda request: check(request) and bool(request[entries])


ITEM_SIZE = "\0item size"
"""The member of a checked PutItem that has the size of its item, where that is canonical as it was sent.

No caller can send a member with this name.
"""

_check_around_item = ITEM_INPUTS["PutItem"].shape.check(but="Item")
_CHECKS = {operation: _whole_check(declared) for operation, declared in _INPUTS.items()}


def check_request(operation: str, request: Any) -> dict[str, Any]:
    """The request with nothing in it that its handler would have to check again."""
    check = _CHECKS.get(operation)
    if check is None:
        raise UnknownOperationException(f"Tablewright does not support the operation {operation}")
    if operation == "PutItem" and type(request) is dict:
        # Most of what there is to check and to measure is in its item, and for most of them one walk does both.
        size = plain_size(request.get("Item"))
        if size is not None and _check_around_item(request):
            return {**request, ITEM_SIZE: size}
    return dict(request) if check(request) else examine_request(operation, request)


class OlderRequest(dict[str, Any]):
    """A request that the newer layer of checks cannot read, and that is refused in the older words."""


def worded(operation: str, error: DynamoError, request: dict[str, Any] | None = None) -> DynamoError:
    """The error in the words of the operation that reports it."""
    if isinstance(error, RequestValidationException) and not isinstance(request, OlderRequest):
        if operation in _COUNTING:
            return error.counted()
        if operation in _NEWER:
            return error.newer()
    return error


def examine_request(operation: str, request: Any) -> dict[str, Any]:
    """What ``check_request`` returns, found member by member."""
    declared = _INPUTS[operation]
    clean = declared.shape.read(request, element=True)

    name = declared.required_parameter
    if name is not None and name not in clean:
        raise ValidationException(f"The parameter '{name}' is required but was not present in the request")

    if declared.older is not None and _is_beyond_newer(declared.older, clean):
        _check_members(declared.older, clean, declared.older.members)
        return OlderRequest(clean)

    shape = declared.shape
    # With an invalid table name, the service checks nothing else.
    if isinstance(shape.members.get("TableName"), TableName):
        _check_members(shape, clean, ["TableName"], present=True)
    for group in declared.first:
        _check_members(shape, clean, group, present=True)
    _check_members(shape, clean, shape.members)

    entries = declared.required_entries
    if entries is not None and not clean[entries]:
        raise ValidationException(f"The {entries[0].lower()}{entries[1:]} parameter is required for {operation}")
    return clean


def _check_members(shape: Struct, clean: Mapping[str, Any], names: Iterable[str], *, present: bool = False) -> None:
    """Raise all constraints that these members break; ``present`` is to leave out those that are missing."""
    found = Violations()
    chosen = {name: shape.members[name] for name in names if not present or name in clean}
    Struct(shape.name, chosen, tuple(shape.required & chosen.keys())).violations(clean, Path(), found)
    found.raise_any()


def _is_beyond_newer(shape: Struct, clean: Mapping[str, Any]) -> bool:
    """Whether a request lacks its item or key, or has a value nested too deeply for the newer layer of checks."""
    lacking = shape.required - clean.keys() - {"TableName"}
    return bool(lacking) or any(levels(value) > MAX_LEVELS_READ for value in _attribute_values(clean))


def _attribute_values(request: Mapping[str, Any]) -> Iterator[Any]:
    """The attribute values in a write of one item."""
    for name in ("Item", "Key", "ExpressionAttributeValues"):
        yield from request.get(name, {}).values()
    for name in ("Expected", "AttributeUpdates"):
        for entry in request.get(name, {}).values():
            yield from entry.get("AttributeValueList", ())
            if "Value" in entry:
                yield entry["Value"]
