"""Any request: the quick check and the careful one agree, and what is clean stays as it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablewright.dynamo import DynamoError, checked_item, plain_size
from tablewright.engine.requests import ITEM_SIZE, check_request, examine_request
from tablewright.engine.requests.input_shapes import Boolean, List, Map, Number, Shape, String, Struct
from tablewright.engine.requests.value_shape import AttributeValue, is_attribute_map
from tests.engine.requests.refusals import INPUTS

JUNK = st.sampled_from([None, True, 0, 1, 2.5, "", "a", "AA==", [], {}, [None], {"S": "a"}, {"TableName": 1}])

CONTENTS = {
    "S": st.text(max_size=3),
    "N": st.just("1"),
    "B": st.sampled_from(["", "AAAA", "AA==", "A"]),
    "BOOL": st.booleans(),
    "NULL": st.just(True),
    "SS": st.lists(st.text(max_size=2), max_size=2),
    "BS": st.lists(st.just("AAA="), max_size=2),
}

ATTRIBUTE_VALUES = st.recursive(
    st.sampled_from(sorted(CONTENTS)).flatmap(lambda tag: st.fixed_dictionaries({tag: CONTENTS[tag] | JUNK})),
    lambda values: (
        st.fixed_dictionaries({"L": st.lists(values, max_size=2)})
        | st.fixed_dictionaries({"M": st.dictionaries(st.text(max_size=2), values, max_size=2)})
    ),
    max_leaves=4,
)


def about(shape: Shape) -> st.SearchStrategy[Any]:
    """Values that are of the shape, or nearly."""
    valid: st.SearchStrategy[Any]
    if isinstance(shape, Struct):
        members = {name: about(member) for name, member in shape.members.items()}
        valid = st.fixed_dictionaries(
            {name: member for name, member in members.items() if name in shape.required},
            optional={name: member for name, member in members.items() if name not in shape.required},
        )
    elif isinstance(shape, List):
        valid = st.lists(about(shape.member), max_size=3)
    elif isinstance(shape, Map):
        valid = st.dictionaries(st.sampled_from(["abc", "table", "a;"]), about(shape.value), max_size=2)
    elif isinstance(shape, AttributeValue):
        valid = ATTRIBUTE_VALUES
    elif isinstance(shape, String):
        valid = st.sampled_from([*shape.enum, "table", "x" * (shape.min or 3)])
    elif isinstance(shape, Number):
        valid = st.integers(-1, 5)
    else:
        valid = st.booleans() if isinstance(shape, Boolean) else st.integers(0, 9)
    return st.integers(0, 29).flatmap(lambda chance: valid if chance else JUNK)


@pytest.mark.parametrize("operation", sorted(INPUTS))
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_quick_answer_is_the_careful_one_and_clean_requests_stay_as_they_are(
    operation: str, data: st.DataObject
) -> None:
    request = data.draw(about(INPUTS[operation].shape))
    try:
        clean = check_request(operation, request)
    except DynamoError:
        return
    size = clean.pop(ITEM_SIZE, None)
    assert examine_request(operation, request) == clean
    assert check_request(operation, clean) == (clean if size is None else {**clean, ITEM_SIZE: size})


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=2) | JUNK.filter(lambda junk: not isinstance(junk, (list, dict))), ATTRIBUTE_VALUES
    )
)
def test_what_is_measured_in_one_walk_is_what_two_would_find(item: dict[Any, Any]) -> None:
    size = plain_size(item)
    if size is not None:
        assert is_attribute_map(item)
        assert checked_item(item) == (item, size)


def test_clients_cannot_set_the_internal_size_of_an_item() -> None:
    for item in ({"pk": {"S": "a"}}, {"pk": {"SS": ["a"]}}):
        request = {"TableName": "table", "Item": item, ITEM_SIZE: 1000}
        assert check_request("PutItem", request).get(ITEM_SIZE) != 1000
