"""A condition with its names and values written out, as a person types it.

    status = 'open' AND size(lines) > 3 AND begins_with(PK, 'ORDER#') AND "order-id" <> NULL

It is DynamoDB's condition expression with literals in place of ``#n`` and ``:v``: text is in single quotes, names with
special characters are in double quotes; numbers, TRUE, FALSE and NULL are written as they are, and DynamoDB's reserved
words need no quotes. It is evaluated here, so that it means the same for a table and for a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress

from tablewright.dynamo import AttributeValue, DynamoError, Item, checked, checked_item
from tablewright.dynamo.expressions import compile_condition
from tablewright.transfer.errors import TransferError

_WORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN"})
_FUNCTIONS = frozenset(
    {"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size"}
)
_CONSTANTS: dict[str, AttributeValue] = {"TRUE": {"BOOL": True}, "FALSE": {"BOOL": False}, "NULL": {"NULL": True}}
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<text>'(?:[^']|'')*')
    |(?P<quoted>"[^"]+")
    |(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_][\w-]*)
    |(?P<index>\[\d+\])
    |(?P<sign><>|<=|>=|[=<>(),.])""",
    re.VERBOSE,
)


def where(text: str) -> Callable[[Item], bool]:
    """Whether an item meets a condition."""
    names: dict[str, str] = {}
    values: dict[str, AttributeValue] = {}
    parts: list[str] = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise TransferError(
                f"--where {text}: syntax error at {text[position:][:20]!r}; write it as status = 'open' AND total > 5"
            )
        position = found.end()
        kind, token = str(found.lastgroup), found[0]
        if kind == "text":
            parts.append(_placed(values, ":v", {"S": token[1:-1].replace("''", "'")}))
        elif kind == "number":
            parts.append(_placed(values, ":v", {"N": token}))
        elif kind == "quoted":
            parts.append(_placed(names, "#n", token[1:-1]))
        elif kind == "name" and token.upper() in _CONSTANTS:
            parts.append(_placed(values, ":v", _CONSTANTS[token.upper()]))
        elif kind == "name" and not _is_word(token, text[position:]):
            parts.append(_placed(names, "#n", token))
        else:
            parts.append(" " if kind == "space" else token)
    try:
        values = {name: checked(value)[0] for name, value in values.items()}
        program = compile_condition("".join(parts), names, "FilterExpression")
        program.check(values)
    except DynamoError as error:
        raise TransferError(f"--where {text}: {_readable(error.message or error.code, names, values)}") from None

    def holds(item: Item) -> bool:
        # Files, and some endpoints, have numbers in other forms; what DynamoDB would refuse stays as it is.
        with suppress(DynamoError, TypeError, ValueError):
            item, _ = checked_item(item)
        return bool(program.evaluate(item, values))

    return holds


def _is_word(token: str, rest: str) -> bool:
    return token.upper() in _WORDS or (token in _FUNCTIONS and rest.lstrip().startswith("("))


def _placed(known: dict[str, AttributeValue] | dict[str, str], prefix: str, value: AttributeValue | str) -> str:
    name = f"{prefix}{len(known)}"
    known[name] = value  # type: ignore[assignment]  # the caller has a dictionary of that kind
    return name


def _readable(message: str, names: dict[str, str], values: dict[str, AttributeValue]) -> str:
    """DynamoDB's message, with placeholders replaced by their names and values."""
    shown = {**names, **{name: str(next(iter(value.values()))) for name, value in values.items()}}
    return re.sub(r"[#:][nv]\d+", lambda found: shown.get(found[0], found[0]), message)
