"""Values while they are edited: members are typed, added, removed and moved; no change of a type loses anything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.studio.items.attribute_text import TYPES
from tablewright.studio.items.edited_value import EditedMember, EditedValue, item_of

pytestmark = pytest.mark.requirement("ST2")

SCALARS = st.one_of(
    st.builds(lambda text: {"S": text}, st.text(max_size=5)),
    st.builds(lambda number: {"N": str(number)}, st.integers(-99, 99)),
    st.builds(lambda flag: {"BOOL": flag}, st.booleans()),
    st.just({"NULL": True}),
    st.just({"B": "AAE="}),
    st.just({"SS": ["a", "b"]}),
    st.just({"NS": ["1", "2.5"]}),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.builds(lambda each: {"L": each}, st.lists(inner, max_size=3)),
        st.builds(lambda each: {"M": each}, st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=3)),
    ),
    max_leaves=6,
)


@given(VALUES)
def test_what_is_not_touched_stays_as_it_is(value: dict[str, Any]) -> None:
    assert EditedValue(value).value("it") == value


@given(VALUES, st.lists(st.sampled_from(list(TYPES)), max_size=4))
def test_changing_the_type_and_back_loses_nothing(value: dict[str, Any], kinds: list[str]) -> None:
    edited = EditedValue(value)
    before = edited.kind
    had_members = bool(edited.members)
    for kind in (*kinds, before):
        edited.change(kind)
    if had_members or not edited.has_members:
        assert edited.value("it") == value


def test_members_of_a_list_are_added_moved_and_removed() -> None:
    edited = EditedValue({"L": [{"S": "a"}, {"N": "1"}, {"M": {"b": {"BOOL": False}}}]})
    assert edited.move(2, -1) == 1
    assert edited.move(0, -1) == 0
    edited.remove(2)
    edited.add()
    edited.members[2].value.text = "new"
    assert edited.value("list") == {"L": [{"S": "a"}, {"M": {"b": {"BOOL": False}}}, {"S": "new"}]}
    assert edited.label_of("list", 1) == "list[1]"


def test_members_of_a_set_have_its_type_and_are_there_once() -> None:
    edited = EditedValue({"NS": ["1", "2"]})
    edited.add()
    edited.members[2].value.text = "1.0"
    with pytest.raises(ValueError, match=r"sizes: '1' is in the set twice"):
        edited.value("sizes")
    edited.members[2].value.text = "large"
    with pytest.raises(ValueError, match=r"sizes\[2\]: .*numeric"):
        edited.value("sizes")
    edited.change("SS")
    assert edited.value("sizes") == {"SS": ["1", "2", "large"]}
    edited.members.clear()
    with pytest.raises(ValueError, match="at least one member"):
        edited.value("sizes")


def test_a_text_becomes_the_first_member_of_a_list() -> None:
    edited = EditedValue({"N": "7"})
    edited.change("L")
    assert edited.value("it") == {"L": [{"N": "7"}]}
    edited.change("SS")
    assert edited.value("it") == {"SS": ["7"]}


def test_names_are_there_and_differ() -> None:
    two = [EditedMember("a", EditedValue({"S": ""})), EditedMember("a", EditedValue({"S": ""}))]
    with pytest.raises(ValueError, match="must be unique"):
        item_of(two)
    inner = EditedValue({"M": {}})
    inner.add()
    with pytest.raises(ValueError, match=r"^map: every attribute needs a name"):
        inner.value("map")
    inner.members[0].name = "deep"
    inner.members[0].value.change("N")
    with pytest.raises(ValueError, match=r"^map\.deep: "):
        inner.value("map")
