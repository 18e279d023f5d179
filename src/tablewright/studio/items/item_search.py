"""Searches for items: typed conditions, the Query or Scan that answers them, and its cost.

    status = open and n >= 3          conditions, joined by "and"
    name begins_with "Ada"            quotes make text of a number; inside of them a quote is written twice
    address.city = Rome               a path into maps, lines[0].sku into lists; "a.b" = 1 is of one attribute
    email exists

    Search.parse(text) ──▶ plan(description, search) ──▶ ItemPlan(operation, body, index, units, ...)

An equality condition on a partition key makes a Query, of the table or of the first index that has that key; the other
conditions become a filter. Everything else is a Scan, and is shown as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tablewright.dynamo import AttributeValue, Item, Path, expressions
from tablewright.dynamo.expressions import And, Between, Compare, Function, Literal
from tablewright.dynamo.expressions.builder import Placeholders, render
from tablewright.studio.items.attribute_text import guessed_value, quoted, unquoted, value_of

__all__ = [
    "PAGE",
    "Condition",
    "ItemPlan",
    "Place",
    "SearchError",
    "equal_to",
    "parse_conditions",
    "places_of",
    "plan",
    "typed_name",
]

PAGE = 50
"""Items of a page."""

# A request reads no more than 1 MB, whatever is asked.
_MOST_BYTES = 1024 * 1024
_READ_UNIT = 4096
_COMPARISONS = ("=", "<>", "!=", "<=", ">=", "<", ">")
_SEGMENT = r"""(?:"(?:[^"]|"")+"|[\w\-:/#]+)(?:\[\d+\])*"""
_CONDITION = re.compile(
    rf"""\s*(?P<name>{_SEGMENT}(?:\.{_SEGMENT})*)\s*
        (?:(?P<operator><>|!=|<=|>=|=|<|>|\bbegins_with\b|\bcontains\b|\bbetween\b)\s*(?P<value>.+)
          |(?P<presence>\bnot\s+exists|\bexists))\s*""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_PART = re.compile(r"""\[(?P<place>\d+)\]|"(?P<quoted>(?:[^"]|"")+)"|(?P<bare>[^.\[\]"]+)""")


class SearchError(ValueError):
    """A search that cannot be understood; the message says why."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: an attribute, an operator, and the value as it was typed."""

    name: str
    operator: str
    values: tuple[str, ...] = ()
    # Where the value is, if the name leads into maps and lists.
    path: tuple[str | int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Place:
    """Where items are read: the table (without a name), or an index."""

    index: str | None
    key: tuple[str, ...]
    size: int
    items: int


@dataclass(frozen=True, slots=True)
class ItemPlan:
    """A request for a page of items, and what is known about it before it is sent."""

    operation: str
    body: dict[str, Any]
    place: Place
    # Read units of one page, and of all pages if everything has to be read, as far as that is known.
    page_units: float
    all_units: float | None
    # Whether it reads items that it does not show.
    is_filtered: bool
    # Whether a page may not take more: one without a filter has so many items, of the size that they have on average.
    is_most: bool = False
    # Whether everything has to be read, and it is not known how much that is.
    is_unknown: bool = False

    @property
    def is_scan(self) -> bool:
        return self.operation == "Scan"


def parse_conditions(text: str) -> list[Condition]:
    """The conditions in a text; SearchError says which one is not valid."""
    return [_condition(part) for part in _parts(text)]


def _parts(text: str) -> list[str]:
    """Text at each "and" that is not quoted, and not the one of a between."""
    masked = _masked(text)
    cuts = [(found.start(), found.end()) for found in _AND.finditer(masked)]
    parts: list[str] = []
    begin = 0
    for start, end in cuts:
        if re.search(r"\bbetween\b(?!.*\band\b)", masked[begin:start], re.IGNORECASE):
            continue
        parts.append(text[begin:start])
        begin = end
    parts.append(text[begin:])
    return [part for part in parts if part.strip()]


def _masked(text: str) -> str:
    """Quoted text as blanks, so that positions stay."""
    return _QUOTED.sub(lambda found: "\x00" * len(found[0]), text)


def _condition(part: str) -> Condition:
    found = _CONDITION.fullmatch(part)
    if found is None:
        raise SearchError(
            f"“{part.strip()}” is not a condition; write name = value, with one of {' '.join(_COMPARISONS)}, "
            f"begins_with, "
            'contains, between, exists, not exists; and a name with blanks in quotes: "full name" = Ada'
        )
    path = tuple(
        int(each["place"]) if each["place"] else each["bare"] or each["quoted"].replace('""', '"')
        for each in _PART.finditer(found["name"])
    )
    name = str(path[0]) if len(path) == 1 else found["name"]
    if found["presence"]:
        return Condition(name, " ".join(found["presence"].lower().split()), path=path)
    operator, value = found["operator"].lower(), found["value"].strip()
    if operator != "between":
        return Condition(name, "<>" if operator == "!=" else operator, (value,), path)
    cuts = list(_AND.finditer(_masked(value)))
    if len(cuts) != 1:
        raise SearchError(f"“{part.strip()}”: write between LOW and HIGH")
    return Condition(name, "between", (value[: cuts[0].start()], value[cuts[0].end() :]), path)


def equal_to(name: str, value: str) -> Condition:
    """The condition that an attribute equals a text; or a number or bytes, if a key has that type."""
    return Condition(name, "=", (quoted(value),), (name,))


def typed_name(name: str) -> str:
    """The name of an attribute as it is typed."""
    return name if re.fullmatch(r"[\w\-:/#]+", name) else quoted(name)


def places_of(description: Mapping[str, Any]) -> list[Place]:
    """The table and its indexes, from the table's description."""
    from tablewright.studio.studio_parts import key_names

    size, items = description.get("TableSizeBytes", 0), description.get("ItemCount", 0)
    found = [Place(None, key_names(description["KeySchema"]), size, items)]
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for index in description.get(member) or ():
            found.append(
                Place(
                    index["IndexName"],
                    key_names(index["KeySchema"]),
                    index.get("IndexSizeBytes", size),
                    index.get("ItemCount", items),
                )
            )
    return found


def plan(
    description: Mapping[str, Any],
    conditions: Sequence[Condition],
    *,
    index: str | None = None,
    is_backward: bool = False,
    after: Item | None = None,
    limit: int = PAGE,
    is_counted: bool = True,
) -> ItemPlan:
    """The request that answers a search; on ``index`` if given, otherwise where it costs least.

    ``is_counted`` says that the sizes in the description are current. Amazon DynamoDB counts every six hours, and
    others never; then a missing size means that it is unknown.
    """
    places = places_of(description)
    if index is not None:
        places = [place for place in places if place.index == index]
        if not places:
            raise SearchError(f"there is no index {index}")
    types = {each["AttributeName"]: each["AttributeType"] for each in description["AttributeDefinitions"]}
    place, in_key = _best(places, conditions)
    placeholders = Placeholders()
    body: dict[str, Any] = {"TableName": description["TableName"], "ReturnConsumedCapacity": "INDEXES"}
    if place.index is not None:
        body["IndexName"] = place.index
    filters = [each for each in conditions if each not in in_key]
    if in_key:
        body["KeyConditionExpression"] = _expression(in_key, types, placeholders)
        if is_backward:
            body["ScanIndexForward"] = False
    if filters:
        body["FilterExpression"] = _expression(filters, types, placeholders)
    else:
        # With a filter a page is what one request finds: a limit would be of what is read, not of what is found.
        body["Limit"] = limit
    placeholders.into(body)
    if after is not None:
        body["ExclusiveStartKey"] = after
    size, number = place.size, max(place.items, 1)
    is_known = size > 0 or (is_counted and not place.items)
    page_bytes = min(_MOST_BYTES, size if filters else min(size, limit * size / number)) if is_known else _MOST_BYTES
    reads_all = bool(filters) and not in_key
    return ItemPlan(
        "Query" if in_key else "Scan",
        body,
        place,
        _units(page_bytes),
        _units(size) if reads_all and is_known else None,
        bool(filters),
        is_most=bool(filters) or not is_known,
        is_unknown=reads_all and not is_known,
    )


def _units(size: float) -> float:
    """Read units of so many bytes that are read together, eventually consistent."""
    return max(1, -(-int(size) // _READ_UNIT)) / 2


def _best(places: Sequence[Place], conditions: Sequence[Condition]) -> tuple[Place, list[Condition]]:
    """Where most of the conditions are answered by the key; the first place, without any, if none is."""
    best: tuple[Place, list[Condition]] = places[0], []
    for place in places:
        partition = next((each for each in conditions if (each.name, each.operator) == (place.key[0], "=")), None)
        if partition is None:
            continue
        found = [partition]
        if len(place.key) > 1:
            of_sort = [each for each in conditions if each.name == place.key[1] and _is_of_key(each.operator)]
            found += of_sort[:1]
        if len(found) > len(best[1]):
            best = place, found
    return best


def _is_of_key(operator: str) -> bool:
    return operator in ("=", "<", "<=", ">", ">=", "begins_with", "between")


def _expression(conditions: Sequence[Condition], types: Mapping[str, str], placeholders: Placeholders) -> str:
    """Conditions on attributes of which some, those of keys, have these types."""
    return render(And(tuple(_node(each, types) for each in conditions)), placeholders)


def _node(condition: Condition, types: Mapping[str, str]) -> expressions.Condition:
    path, operator = _path(condition, types), condition.operator
    if operator == "exists":
        return Function("attribute_exists", (path,))
    if operator == "not exists":
        return Function("attribute_not_exists", (path,))
    values = [Literal(_value(condition, text, types.get(condition.name))) for text in condition.values]
    if operator == "between":
        return Between(path, values[0], values[1])
    if operator in ("begins_with", "contains"):
        return Function(operator, (path, values[0]))
    return Compare(operator, path, values[0])


def _path(condition: Condition, types: Mapping[str, str]) -> Path:
    """A name, or a path into maps and lists (``address.city``) unless a key is called so."""
    is_name = not condition.path or condition.name in types
    return Path((condition.name,) if is_name else condition.path)


def _value(condition: Condition, text: str, kind: str | None) -> AttributeValue:
    try:
        if kind is None or condition.operator == "contains":
            value = guessed_value(text)
        else:
            value = value_of(unquoted(text), kind)
    except ValueError as error:
        raise SearchError(f"{condition.name}: {error}") from None
    if condition.operator == "begins_with" and "N" in value:
        return {"S": text.strip()}
    return value
