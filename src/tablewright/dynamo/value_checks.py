"""The checks of attribute values, and their canonical form.

``checked`` walks a value once, when it arrives: it raises DynamoDB's error for a value that the service would refuse,
and otherwise returns the canonical value (numbers rewritten and sets in order, everything else the same object)
together with its size. After that, nothing validates a value again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tablewright.dynamo.attribute_values import AttributeValue, Item, set_order
from tablewright.dynamo.error_messages import INVALID_VALUES
from tablewright.dynamo.errors import RequestValidationException
from tablewright.dynamo.item_size import LONG_LIST, binary_size, number_size, text_size, uniform_size
from tablewright.dynamo.limits import MAX_NAME_BYTES, MAX_NESTING
from tablewright.dynamo.numbers import canonical_number, sized_number

BESIDE_ITEM = -1
"""The initial depth of a value that is not in an item, where the attribute would be the first level."""

_PLAIN_LEVELS = 8
WRITTEN_TOO_DEEPLY = "Nesting Levels have exceeded supported limits"
"""DynamoDB's message for an item that would be written with too many levels."""
NESTED_TOO_DEEPLY = f"{WRITTEN_TOO_DEEPLY}: Attributes in the item have nested levels beyond supported limit"
"""DynamoDB's message for a value that was sent with too many levels."""
NAME_TOO_LARGE = f"Attribute name is too large, must be less than {MAX_NAME_BYTES + 1} bytes"
"""DynamoDB's message for an attribute name that is too long."""
_EMPTY_NAME = "Empty attribute name"
_EMPTY_SET = {
    "SS": "An string set  may not be empty",
    "NS": "An number set  may not be empty",
    "BS": "Binary sets should not be empty",
}

_MEMBER_SIZES = {"SS": text_size, "NS": number_size, "BS": binary_size}


def checked_item(item: Mapping[str, AttributeValue]) -> tuple[Item, int]:
    """A canonical copy of the item and its size; the caller checks the limit of 400 KB."""
    result: Item = dict(item)
    if "" in item:
        raise RequestValidationException(_EMPTY_NAME)
    try:
        size = _names_size(item)
        for name, value in item.items():
            # Most attributes are text, which stays as it is; the loop is not worth a call for each of them.
            text = value.get("S")
            if text is not None and len(value) == 1 and text.isascii():
                size += len(text)
            else:
                result[name], value_size = checked(value)
                size += value_size
    except RequestValidationException as error:
        # A map with an empty name is reported after levels that are too deep anywhere in the item.
        if error.message == _EMPTY_NAME and any(levels(value) >= MAX_NESTING for value in item.values()):
            raise RequestValidationException(NESTED_TOO_DEEPLY) from None
        raise
    if size > MAX_NAME_BYTES:
        _check_names(item)
    return result, size


def plain_size(item: Any) -> int | None:
    """The size of a well-formed item in canonical form; None for any other, which needs a full check.

    This equals the results of the check of its form and of ``checked_item``, in one walk. Large items, deep ones, sets
    and binaries are left to these.
    """
    try:
        size = _plain_map(item, _PLAIN_LEVELS)
    except (_NotPlain, RequestValidationException, TypeError, ValueError):
        return None
    return size if size <= MAX_NAME_BYTES else None


class _NotPlain(Exception):
    """There is something in the item that needs a full check."""


def _plain_map(content: Any, levels: int) -> int:
    if type(content) is not dict or "" in content:
        raise _NotPlain
    names = "".join(content)
    return (len(names) if names.isascii() else len(names.encode())) + _plain_values(content.values(), levels)


def _plain_values(values: Iterable[Any], levels: int) -> int:
    if not levels:
        raise _NotPlain
    size = 0
    for value in values:
        if type(value) is not dict or len(value) != 1:
            raise _NotPlain
        text = value.get("S")
        if type(text) is str:
            size += len(text) if text.isascii() else len(text.encode())
        else:
            size += _plain_value(value, levels)
    return size


def _plain_value(value: AttributeValue, levels: int) -> int:
    ((tag, content),) = value.items()
    if tag == "N" and type(content) is str:
        number, size = sized_number(content)
        if number == content:
            return size
    elif tag == "M":
        return 3 + len(content) + _plain_map(content, levels - 1)
    elif tag == "L" and type(content) is list:
        return 3 + len(content) + _plain_values(content, levels - 1)
    elif (tag == "BOOL" and type(content) is bool) or (tag == "NULL" and content is True):
        return 1
    raise _NotPlain


def _names_size(content: Mapping[str, AttributeValue]) -> int:
    """The bytes of all names in an item or map."""
    try:
        names = "".join(content)
    except TypeError:
        return sum(map(text_size, content))  # raises, for the one that is no text
    return len(names) if names.isascii() else text_size(names)


def check_name(name: str) -> None:
    """The name of an attribute, on its own."""
    size = text_size(name)
    if not size:
        raise RequestValidationException(_EMPTY_NAME)
    if size > MAX_NAME_BYTES:
        raise RequestValidationException(NAME_TOO_LARGE)


def levels(value: AttributeValue) -> int:
    """The levels of lists and maps in a value, without empty ones."""
    deepest = 0
    pending = [(value, 1)]
    while pending:
        current, level = pending.pop()
        for tag in ("L", "M"):
            content = current.get(tag)
            if content:
                deepest = max(deepest, level)
                pending += [(member, level + 1) for member in (content if tag == "L" else content.values())]
    return deepest


def checked(value: AttributeValue, depth: int = 0) -> tuple[AttributeValue, int]:
    """The canonical value and its size, or DynamoDB's error; ``depth`` is that of its container."""
    if len(value) == 1:
        # The common types first: this runs for every attribute of every write.
        canonical: Any
        ((tag, content),) = value.items()
        if tag == "S":
            return value, len(content) if content.isascii() else text_size(content)
        if tag == "N":
            canonical, size = sized_number(content)
            return (value if canonical == content else {"N": canonical}), size
        if depth >= MAX_NESTING:
            raise RequestValidationException(NESTED_TOO_DEEPLY)
        if tag == "M":
            canonical, size = _checked_map(content, depth + 1)
        elif tag == "L":
            canonical, size = _checked_list(content, depth + 1)
        else:
            canonical, size = _checked_content(tag, content, depth)
        return (value if canonical is content else {tag: canonical}), size
    if not value:
        raise RequestValidationException(
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
        )
    for tag, content in value.items():
        _checked_content(tag, content, depth)
    raise RequestValidationException(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
    )


def _checked_content(tag: str, content: Any, depth: int) -> tuple[Any, int]:
    if tag == "S":
        return content, text_size(content)
    if tag == "N":
        return sized_number(content)
    if tag == "BOOL":
        return content, 1
    if tag == "NULL":
        if content is not True:
            raise RequestValidationException(INVALID_VALUES + "Null attribute value types must have the value of true")
        return content, 1
    if tag == "B":
        return content, binary_size(content)
    if tag == "M":
        return _checked_map(content, depth + 1)
    if tag == "L":
        return _checked_list(content, depth + 1)
    return _checked_set(tag, content)


def _checked_map(content: Item, depth: int) -> tuple[Item, int]:
    size = 3 + len(content) + _names_size(content)
    result = content
    for name, member in content.items():
        # As in an item, most are text.
        text = member.get("S")
        if text is not None and len(member) == 1 and text.isascii():
            size += len(text)
            continue
        canonical, member_size = checked(member, depth)
        size += member_size
        if canonical is not member:
            if result is content:
                result = dict(content)
            result[name] = canonical
    if "" in content:
        raise RequestValidationException(_EMPTY_NAME)
    if size > MAX_NAME_BYTES:
        _check_names(content)
    if depth >= MAX_NESTING and content:
        raise RequestValidationException(NESTED_TOO_DEEPLY)
    return result, size


def _checked_list(content: list[AttributeValue], depth: int) -> tuple[list[AttributeValue], int]:
    if len(content) >= LONG_LIST and set(map(len, content)) == {1} and depth < MAX_NESTING:
        # All of them are canonical as they are.
        members_size = uniform_size(content)
        if members_size is not None:
            return content, 3 + len(content) + members_size
    size = 3
    result = content
    for position, member in enumerate(content):
        canonical, member_size = checked(member, depth)
        if canonical is not member:
            if result is content:
                result = list(content)
            result[position] = canonical
        size += 1 + member_size
    if depth >= MAX_NESTING and content:
        raise RequestValidationException(NESTED_TOO_DEEPLY)
    return result, size


def _checked_set(tag: str, content: list[str]) -> tuple[list[str], int]:
    if not content:
        raise RequestValidationException(INVALID_VALUES + _EMPTY_SET[tag])
    members = [canonical_number(number) for number in content] if tag == "NS" else content
    size = sum(map(_MEMBER_SIZES[tag], members))
    if len(set(members)) != len(members):
        raise _duplicates(tag, members)
    ordered = set_order(tag, members)
    return (content if ordered == content else ordered), size


def _duplicates(tag: str, members: list[str]) -> RequestValidationException:
    """The newer words show the members before the first repeated one in order, with quotes."""
    if tag == "NS":
        message = "Input collection contains duplicates"
        return RequestValidationException(message, newer=f"{INVALID_VALUES}{message}.")
    seen: set[str] = set()
    position = 0
    while members[position] not in seen:
        seen.add(members[position])
        position += 1
    quoted = [f'"{member}"' for member in (*set_order(tag, seen), *members[position:])]
    shown, separator = (" contains", ", ") if tag == "SS" else ("of type BS contains", ",")
    return RequestValidationException(
        f"{INVALID_VALUES}Input collection [{', '.join(members)}]{shown} duplicates.",
        newer=f"{INVALID_VALUES}Input collection [{separator.join(quoted)}]{shown} duplicates.",
    )


def _check_names(content: Mapping[str, AttributeValue]) -> None:
    """The names in an item or map that is so large that they might be too long."""
    if any(text_size(name) > MAX_NAME_BYTES for name in content):
        raise RequestValidationException(NAME_TOO_LARGE)
