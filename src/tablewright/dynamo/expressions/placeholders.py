"""The members of a request around the expressions: which can be combined, and the maps of names and values.

DynamoDB checks these in steps, with other checks in between:

1. ``check_parameters``: expressions and legacy parameters cannot be mixed, and names and values need an expression that
   uses them.
2. ``check_placeholders``: the maps are not empty, their keys are well formed, and every value is valid.
3. The expressions themselves, each compiled and checked.
4. ``check_expression_attributes``: every name and value given was used by one of them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from tablewright.dynamo.attribute_values import AttributeValue
from tablewright.dynamo.errors import RequestValidationException
from tablewright.dynamo.item_size import text_size
from tablewright.dynamo.limits import MAX_NAME_BYTES, MAX_VARIABLES_BYTES
from tablewright.dynamo.value_checks import NAME_TOO_LARGE

_KEY = re.compile(r"[#:][A-Za-z0-9_]+", re.ASCII)
_MAX_KEY_BYTES = 255
# So many are certainly not too large together.
_FEW = 31
# From here on they are first checked together.
_MANY = 1000
# A cache of well-formed keys, because applications use the same few all the time.
_WELL_FORMED: dict[str, set[str]] = {"#": set(), ":": set()}
_MAX_KNOWN = 4096
_MAX_ORDERED = 10_000

# Expressions, and the legacy parameters that cannot be mixed with them, in the order of messages.
_PARAMETERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "GetItem": (("ProjectionExpression",), ("AttributesToGet",)),
    "BatchGetItem": (("ProjectionExpression",), ("AttributesToGet",)),
    "PutItem": (("ConditionExpression",), ("Expected", "ConditionalOperator")),
    "DeleteItem": (("ConditionExpression",), ("Expected", "ConditionalOperator")),
    "UpdateItem": (
        ("UpdateExpression", "ConditionExpression"),
        ("AttributeUpdates", "Expected", "ConditionalOperator"),
    ),
    "Query": (
        ("ProjectionExpression", "FilterExpression", "KeyConditionExpression"),
        ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"),
    ),
    "Scan": (
        ("ProjectionExpression", "FilterExpression"),
        ("AttributesToGet", "ScanFilter", "ConditionalOperator"),
    ),
}

_EXPRESSIONS = frozenset(
    ["ExpressionAttributeNames", "ExpressionAttributeValues"]
    + [name for expressions, _ in _PARAMETERS.values() for name in expressions]
)
_OLDER = {operation: frozenset(older) for operation, (_, older) in _PARAMETERS.items()}


def check_parameters(operation: str, request: Mapping[str, Any]) -> None:
    """Step 1; operations without legacy parameters need no call."""
    if _EXPRESSIONS.isdisjoint(request):
        return
    expressions, older = _PARAMETERS[operation]
    given = [name for name in expressions if request.get(name) is not None]
    if given and not _OLDER[operation].isdisjoint(request):
        legacy = [name for name in older if request.get(name) is not None]
        # KeyConditions alone has no expression to clash with, so it goes with the other expressions.
        if "KeyConditions" in legacy and "KeyConditionExpression" not in given:
            legacy.remove("KeyConditions")
        if legacy:
            raise RequestValidationException(
                "Can not use both expression and non-expression parameters in the same request: "
                f"Non-expression parameters: {{{', '.join(legacy)}}} "
                f"Expression parameters: {{{', '.join(given)}}}"
            )
    _check_users(request, expressions, given)


def _check_users(request: Mapping[str, Any], expressions: Sequence[str], given: Sequence[str]) -> None:
    if request.get("ExpressionAttributeNames") is not None and not given:
        raise RequestValidationException("ExpressionAttributeNames can only be specified when using expressions")
    # A projection comes first, and is the one expression that uses no values.
    if request.get("ExpressionAttributeValues") is None or (given and given[-1] != "ProjectionExpression"):
        return
    users = [name for name in expressions if name != "ProjectionExpression"]
    if users:
        problem = "ExpressionAttributeValues can only be specified when using expressions"
        raise RequestValidationException(
            f"{problem}: {' and '.join(users)} {'are' if len(users) > 1 else 'is'} null", newer=problem
        )


def check_placeholders(
    request: Mapping[str, Any], canonical: Callable[[AttributeValue], AttributeValue] | None = None
) -> dict[str, AttributeValue] | None:
    """Step 2. ``canonical`` validates a value and returns its canonical form, in which all of them are returned."""
    names = request.get("ExpressionAttributeNames")
    if names is not None:
        if len(names) > _FEW:
            _check_size("ExpressionAttributeNames", names)
        _check_keys("ExpressionAttributeNames", "#", names)
        for key, name in () if _are_good(names.values()) else names.items():
            if not name:
                raise RequestValidationException(
                    f"ExpressionAttributeNames contains invalid value: Empty attribute name for key {key}"
                )
            if text_size(name) > MAX_NAME_BYTES:
                raise RequestValidationException(
                    f"ExpressionAttributeNames contains invalid value: {NAME_TOO_LARGE} for key {key}",
                    newer=NAME_TOO_LARGE,
                )
    values: dict[str, AttributeValue] | None = request.get("ExpressionAttributeValues")
    if values is None:
        return None
    _check_keys("ExpressionAttributeValues", ":", values)
    if canonical is None:
        return values
    try:
        return {key: canonical(value) for key, value in values.items()}
    except RequestValidationException:
        # Only now the order in which the service checks them matters.
        _raise_first_invalid(values, canonical)
        raise


def _check_size(parameter: str, names: Mapping[str, str]) -> None:
    """The total length of an expression's variables is limited; for so many it is known before each is checked."""
    try:
        size = sum(len("".join(texts).encode("utf-8", "surrogatepass")) for texts in (names, names.values()))
    except TypeError:  # one is no text, and refused as such
        return
    if size > MAX_VARIABLES_BYTES:
        raise RequestValidationException(f"{parameter} exceeds max size")


def _are_good(names: Collection[str]) -> bool:
    """Whether all of very many names are certainly valid; checking each of them takes ten times as long."""
    return len(names) > _MANY and "".join(names).isascii() and all(names) and max(map(len, names)) <= MAX_NAME_BYTES


def _raise_first_invalid(
    values: Mapping[str, AttributeValue], canonical: Callable[[AttributeValue], AttributeValue]
) -> None:
    for key in hash_order(values, len(values)):
        try:
            canonical(values[key])
        except RequestValidationException as error:
            message = f"ExpressionAttributeValues contains invalid value: {error.message} for key {key}"
            # The newer words are without the name as well.
            raise RequestValidationException(message, newer=error.newer().message) from None


def _check_keys(parameter: str, sigil: str, keys: Collection[str]) -> None:
    if not keys:
        raise RequestValidationException(f"{parameter} must not be empty")
    known = _WELL_FORMED[sigil]
    if known.issuperset(keys):
        return
    if len(keys) > _MANY and _are_well_formed(sigil, keys):
        return
    for key in keys:
        if type(key) is not str or len(key) > _MAX_KEY_BYTES or key[:1] != sigil or not _KEY.fullmatch(key):
            text_size(key)  # raises when it is no text at all
            raise RequestValidationException(f"{parameter} contains invalid key: {_key_problem(key)}")
    if len(known) + len(keys) > _MAX_KNOWN:
        known.clear()
    known.update(keys if len(keys) <= _MAX_KNOWN else ())


def _are_well_formed(sigil: str, keys: Collection[str]) -> bool:
    try:
        together = "\n".join(keys)
    except TypeError:  # one is no text
        return False
    return (
        together.count("\n") == len(keys) - 1
        and max(map(len, keys)) <= _MAX_KEY_BYTES
        and re.fullmatch(f"(?:{sigil}[A-Za-z0-9_]+\n)*{sigil}[A-Za-z0-9_]+", together) is not None
    )


def _key_problem(key: str) -> str:
    size = len(key.encode("utf-8", "surrogatepass"))
    if size > _MAX_KEY_BYTES:
        return f"The expression attribute map contains a key that is too long; size of key: {size}"
    return f'Syntax error; key: "{key}"'


def check_expression_attributes(
    request: Mapping[str, Any], used_names: AbstractSet[str], used_values: AbstractSet[str]
) -> None:
    """Step 4, with the names and values that the expressions of the request use between them."""
    _check_unused("ExpressionAttributeNames", request, used_names)
    _check_unused("ExpressionAttributeValues", request, used_values)


def _check_unused(parameter: str, request: Mapping[str, Any], used: AbstractSet[str]) -> None:
    given = request.get(parameter)
    if given and not given.keys() <= used:
        unused = [key for key in given if key not in used]
        listing = ", ".join(hash_order(unused, len(given)))
        raise RequestValidationException(f"Value provided in {parameter} unused in expressions: keys: {{{listing}}}")


def hash_order(keys: Iterable[str], total: int) -> list[str]:
    """The keys as the service lists and visits them: in the order of a hash table made for ``total`` of them.

    The order is that of Java's HashSet: by the low bits of the string's hash. If there are so many that the order does
    not matter to a reader, they stay as they are: hashing them would take longer than the rest of the request.
    """
    if total > _MAX_ORDERED:
        return list(keys)
    slots = 16
    while slots < total * 4 // 3 + 1:
        slots *= 2
    return sorted(keys, key=lambda key: spread_hash(key) & (slots - 1))


def spread_hash(text: str) -> int:
    """The hash of a string as Java's hash tables use it: its lowest bits are the bucket."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for unit in struct.unpack(f">{len(units) // 2}H", units):
        code = (31 * code + unit) & 0xFFFFFFFF
    return code ^ code >> 16
