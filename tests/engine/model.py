"""A model of the engine that is plain enough to be believed.

``Model`` is a dictionary of items for each table, and a list of changes for each item. Items are plain
values: a str is an S, an int an N, a frozenset an SS, a list an L, a dict an M. An expression comes with a
Python function that says what it means. The rest turns all that into requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

START = 1_800_000_000
Item = dict[str, Any]
Key = tuple[Any, ...]

KEY_NAMES = {"rich": ("pk", "sk"), "plain": ("pk",)}
# The indexes of the table "rich": key attributes with their types. The last one comes and goes.
INDEXES: dict[str, dict[str, type]] = {
    "by-weight": {"pk": str, "weight": int},
    "by-colour": {"colour": str, "weight": int},
    "by-mood": {"mood": str, "colour": str},
}


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda one, other: bool(one == other),
    "<": lambda one, other: bool(one < other),
    "<=": lambda one, other: bool(one <= other),
    ">": lambda one, other: bool(one > other),
    ">=": lambda one, other: bool(one >= other),
}

# What the stream tells of a change: the item before and after, and whether it expired.
Change = tuple[Item | None, Item | None, bool]


class Invalid(Exception):
    """What DynamoDB answers with a ValidationException."""


# -- plain values and DynamoDB's -----------------------------------------------------------------------------


def encoded(value: Any) -> dict[str, Any]:
    match value:
        case str():
            return {"S": value}
        case int():
            return {"N": str(value)}
        case frozenset():
            return {"SS": sorted(value)}
        case list():
            return {"L": [encoded(element) for element in value]}
        case _:
            return {"M": {name: encoded(element) for name, element in value.items()}}


def decoded(value: dict[str, Any]) -> Any:
    ((tag, content),) = value.items()
    match tag:
        case "S":
            return content
        case "N":
            return int(content)
        case "SS":
            return frozenset(content)
        case "L":
            return [decoded(element) for element in content]
        case _:
            return {name: decoded(element) for name, element in content.items()}


def to_dynamo(item: Item) -> dict[str, Any]:
    return {name: encoded(value) for name, value in item.items()}


def from_dynamo(item: dict[str, Any] | None) -> Item | None:
    return None if item is None else {name: decoded(value) for name, value in item.items()}


# -- expressions, each with what it means --------------------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    expression: str
    values: dict[str, Any]
    holds: Callable[[Item], bool]

    def __repr__(self) -> str:
        return f"<{self.expression} {self.values}>"


@dataclass(frozen=True)
class Update:
    expression: str
    values: dict[str, Any]
    apply: Callable[[Item], None]

    def __repr__(self) -> str:
        return f"<{self.expression} {self.values}>"


small = st.integers(-3, 12)
colours = st.sampled_from(["red", "green", "grey"])
friend_sets = st.frozensets(st.sampled_from(["ann", "bob", "cy"]), min_size=1)


def conditions() -> st.SearchStrategy[Condition]:
    return st.one_of(
        st.just(Condition("attribute_exists(pk)", {}, lambda item: "pk" in item)),
        st.just(Condition("attribute_not_exists(pk)", {}, lambda item: "pk" not in item)),
        small.map(lambda c: Condition("weight > :c", {":c": c}, lambda item: "weight" in item and item["weight"] > c)),
        # Of an attribute that is not there no comparison holds; NOT turns that around.
        small.map(lambda c: Condition("NOT weight = :c", {":c": c}, lambda item: item.get("weight") != c)),
        st.tuples(small, small).map(
            lambda pair: Condition(
                "weight BETWEEN :low AND :high",
                {":low": min(pair), ":high": max(pair)},
                lambda item: "weight" in item and min(pair) <= item["weight"] <= max(pair),
            )
        ),
        colours.map(
            lambda c: Condition(
                "begins_with(colour, :c) OR size(friends) >= :two",
                {":c": c[:2], ":two": 2},
                lambda item: item.get("colour", "").startswith(c[:2]) or len(item.get("friends", "")) >= 2,
            )
        ),
        st.sampled_from(["ann", "bob"]).map(
            lambda name: Condition(
                "contains(friends, :f) AND attribute_type(friends, :t)",
                {":f": name, ":t": "SS"},
                lambda item: name in item.get("friends", ()),
            )
        ),
    )


def set_attribute(name: str, value: Any) -> Callable[[Item], None]:
    return lambda item: item.__setitem__(name, value)


def increase(by: int) -> Callable[[Item], None]:
    def apply(item: Item) -> None:
        if "weight" not in item:
            raise Invalid
        item["weight"] += by

    return apply


def add(by: int) -> Callable[[Item], None]:
    return lambda item: item.__setitem__("weight", item.get("weight", 0) + by)


def join(names: frozenset[str]) -> Callable[[Item], None]:
    return lambda item: item.__setitem__("friends", item.get("friends", frozenset()) | names)


def leave(names: frozenset[str]) -> Callable[[Item], None]:
    def apply(item: Item) -> None:
        left = item.pop("friends", frozenset()) - names
        if left:
            item["friends"] = left

    return apply


def move_to(street: str) -> Callable[[Item], None]:
    def apply(item: Item) -> None:
        if "place" not in item:
            raise Invalid
        item["place"]["street"] = street

    return apply


def forget_first_note(item: Item) -> None:
    if "notes" not in item:
        raise Invalid
    del item["notes"][:1]


def several(colour: str, by: int) -> Callable[[Item], None]:
    def apply(item: Item) -> None:
        item["colour"] = colour
        item.pop("place", None)
        add(by)(item)

    return apply


def updates() -> st.SearchStrategy[Update]:
    return st.one_of(
        small.map(lambda v: Update("SET weight = :v", {":v": v}, set_attribute("weight", v))),
        small.map(lambda v: Update("SET weight = weight + :v", {":v": v}, increase(v))),
        small.map(lambda v: Update("ADD weight :v", {":v": v}, add(v))),
        small.map(
            lambda v: Update(
                "SET weight = if_not_exists(weight, :v)",
                {":v": v},
                lambda item: item.__setitem__("weight", item.get("weight", v)),
            )
        ),
        st.just(Update("REMOVE colour", {}, lambda item: item.pop("colour", None))),
        small.map(
            lambda v: Update(
                "SET notes = list_append(if_not_exists(notes, :none), :more)",
                {":none": [], ":more": [v]},
                lambda item: item.__setitem__("notes", [*item.get("notes", []), v]),
            )
        ),
        st.just(Update("REMOVE notes[0]", {}, forget_first_note)),
        colours.map(lambda c: Update("SET place.street = :s", {":s": c}, move_to(c))),
        friend_sets.map(lambda names: Update("ADD friends :f", {":f": names}, join(names))),
        friend_sets.map(lambda names: Update("DELETE friends :f", {":f": names}, leave(names))),
        st.tuples(colours, small).map(
            lambda pair: Update(
                "SET colour = :c REMOVE place ADD weight :w", {":c": pair[0], ":w": pair[1]}, several(*pair)
            )
        ),
    )


# -- the model -----------------------------------------------------------------------------------------------


@dataclass
class Model:
    now: int = START
    tables: dict[str, dict[Key, Item]] = field(default_factory=lambda: {"rich": {}, "plain": {}})
    # What the stream of "rich" must tell of each item.
    history: dict[Key, list[Change]] = field(default_factory=dict)
    indexes: set[str] = field(default_factory=lambda: {"by-weight", "by-colour"})

    def change(self, table: str, key: Key, new: Item | None, expired: bool = False) -> None:
        old = self.tables[table].pop(key, None)
        if new is not None:
            self.tables[table][key] = new
        if table == "rich" and old != new:
            self.history.setdefault(key, []).append((old, new, expired))

    def check(self, table: str, item: Item) -> None:
        """An index key of the wrong type is refused."""
        for index in self.indexes if table == "rich" else ():
            for name, kind in INDEXES[index].items():
                if name in item and not isinstance(item[name], kind):
                    raise Invalid

    def updated(self, table: str, key: Key, update: Update) -> Item | None:
        """The item after an update; where there is none, only removing makes none."""
        if key not in self.tables[table] and update.expression.startswith(("REMOVE", "DELETE")):
            return None
        item = deepcopy(self.tables[table].get(key) or dict(zip(KEY_NAMES[table], key, strict=True)))
        update.apply(item)
        return item

    def holds(self, table: str, key: Key, condition: Condition | None) -> bool:
        return condition is None or condition.holds(self.tables[table].get(key, {}))

    def expire(self) -> None:
        for key, item in list(self.tables["rich"].items()):
            if "expires" in item and item["expires"] <= self.now:
                self.change("rich", key, None, expired=True)

    def entries(self, index: str) -> list[Item]:
        """What an index shows."""
        held = [
            item
            for item in self.tables["rich"].values()
            if all(isinstance(item.get(name), kind) for name, kind in INDEXES[index].items())
        ]
        if index != "by-mood":
            return held
        return [{name: item[name] for name in ("pk", "sk", "mood", "colour")} for item in held]


# -- requests ------------------------------------------------------------------------------------------------


def definitions(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": "N" if name in ("sk", "weight") else "S"} for name in names]


def key_schema(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]


def index(name: str, projection: str) -> dict[str, Any]:
    return {
        "IndexName": name,
        "KeySchema": key_schema(*INDEXES[name]),
        "Projection": {"ProjectionType": projection},
    }


def key_of(table: str, key: Key) -> dict[str, Any]:
    return to_dynamo(dict(zip(KEY_NAMES[table], key, strict=True)))


def with_expressions(
    request: dict[str, Any], condition: Condition | None, update: Update | None = None
) -> dict[str, Any]:
    request = dict(request)
    values: dict[str, Any] = {}
    if condition is not None:
        request["ConditionExpression"] = condition.expression.replace(":", ":if_")
        values.update({name.replace(":", ":if_"): value for name, value in condition.values.items()})
    if update is not None:
        request["UpdateExpression"] = update.expression
        values.update(update.values)
    if values:
        request["ExpressionAttributeValues"] = to_dynamo(values)
    return request


def key_range(name: str, sort: Any) -> tuple[str, dict[str, Any], Callable[[Any], bool]]:
    """A condition on a sort key (none, a prefix, or a comparison), its values, and what it means."""
    match sort:
        case None:
            return "", {}, lambda _: True
        case str():
            return f" AND begins_with({name}, :s)", {":s": sort}, lambda value: bool(value.startswith(sort))
        case "BETWEEN", low, width:
            values = {":low": low, ":high": low + width}
            return f" AND {name} BETWEEN :low AND :high", values, lambda value: low <= value <= low + width
        case operator, limit:
            holds = _COMPARISONS[operator]
            return f" AND {name} {operator} :s", {":s": limit}, lambda value: holds(value, limit)
    raise AssertionError(sort)


def by_key(items: Iterable[Item]) -> list[Item]:
    return sorted(items, key=lambda item: (item["pk"], item.get("sk", 0)))
