"""Update actions applied to an item here come to what the service makes of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import UpdateActions, with_expressions
from tablewright.engine import DynamoError, Engine

TABLE = {
    "TableName": "items",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}
KEY = {"id": {"S": "1"}}

text = st.sampled_from(["", "a", "b", "#"]).map(lambda value: {"S": value})
numbers = st.one_of(st.integers(-99, 99).map(str), st.sampled_from(["0.1", "-2.75", "1000000"])).map(lambda n: {"N": n})
sets = st.sets(st.sampled_from("abc"), min_size=1).map(lambda values: {"SS": sorted(values)})
lists = st.lists(st.one_of(text, numbers), max_size=4).map(lambda values: {"L": values})
maps = st.dictionaries(st.sampled_from("xyz"), st.one_of(text, numbers, lists), max_size=3).map(lambda v: {"M": v})
values = st.one_of(text, numbers, sets, lists, maps)

attributes = st.dictionaries(st.sampled_from("nslm"), values, max_size=4)
paths = st.sampled_from(["n", "s", "l", "m", "m.x", "m.y", "m.x[0]", "l[0]", "l[1]", "l[3]", "l[9]", "fresh"])


@st.composite
def updates(draw: st.DrawFn) -> UpdateActions:
    changes = UpdateActions()
    used: list[str] = []
    for path in draw(st.lists(paths, min_size=1, max_size=4, unique=True)):
        if any(path.startswith(other) or other.startswith(path) for other in used):
            continue
        used.append(path)
        match draw(st.sampled_from(["put", "removed", "added", "appended", "deleted"])):
            case "put":
                changes.sets[path] = draw(values)
            case "removed":
                changes.removes.append(path)
            case "added":
                changes.adds[path] = draw(st.one_of(numbers, sets))
            case "appended":
                changes.appends[path] = draw(lists)
            case _:
                changes.deletes[path] = draw(sets)
    return changes


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.open() as engine:
        engine.call("CreateTable", TABLE)
        yield engine


def normal(item: Item) -> Item:
    """The item with its sets in one order."""
    return {
        name: {tag: sorted(content) if tag == "SS" else content for tag, content in value.items()}
        for name, value in item.items()
    }


@given(item=attributes, changes=updates())
@example(item={"l": {"L": []}}, changes=UpdateActions(sets={"l[1]": {"S": ""}}, removes=["l[0]"]))
@example(item={"l": {"L": []}}, changes=UpdateActions(sets={"l[1]": {"S": "b"}, "l[0]": {"S": "a"}}))
def test_an_item_becomes_what_the_service_makes_of_it_or_neither_does_it(
    engine: Engine, item: Item, changes: UpdateActions
) -> None:
    before = {**item, **KEY}
    engine.call("PutItem", {"TableName": "items", "Item": before})
    request = with_expressions({"TableName": "items", "Key": KEY, "ReturnValues": "ALL_NEW"}, None, changes)
    try:
        expected = engine.call("UpdateItem", request)["Attributes"]
    except DynamoError:
        with pytest.raises(DynamoError):
            changes.apply(before)
        return
    assert normal(changes.apply(before)) == normal(expected)
    assert before == {**item, **KEY}


@given(item=attributes, changes=updates())
def test_only_the_attributes_that_are_asked_for_are_changed(item: Item, changes: UpdateActions) -> None:
    try:
        part = changes.apply(item, frozenset("n"))
    except DynamoError:
        return
    assert {name: value for name, value in part.items() if name != "n"} == {
        name: value for name, value in item.items() if name != "n"
    }
    if "n" not in changes.attributes:
        assert part == item
