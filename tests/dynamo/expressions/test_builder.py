"""An expression that a program builds means the same here as its text means to the service."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.dynamo import parse_path
from tablewright.dynamo.expressions import Arithmetic, Function, Literal, compile_condition
from tablewright.dynamo.expressions.builder import (
    Condition,
    Placeholders,
    UpdateActions,
    all_of,
    any_of,
    begins_with,
    between,
    compare,
    compare_size,
    contains,
    equals,
    exists,
    holds,
    missing,
    one_of,
    render,
    with_expressions,
)

texts = st.sampled_from(["", "a", "ab", "b"]).map(lambda value: {"S": value})
numbers = st.sampled_from(["-1", "0", "2", "10"]).map(lambda value: {"N": value})
sets = st.sets(st.sampled_from("abc"), min_size=1).map(lambda members: {"SS": sorted(members)})
lists = st.lists(st.one_of(texts, numbers), max_size=3).map(lambda members: {"L": members})
maps = st.dictionaries(st.sampled_from("xy"), st.one_of(texts, numbers, lists), max_size=2).map(lambda v: {"M": v})
values = st.one_of(texts, numbers, sets, lists, maps)
items = st.dictionaries(st.sampled_from("pqrm"), values, max_size=4)
paths = st.sampled_from(["p", "q", "r", "m", "m.x", "m.y[0]", "r[1]"])
operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
ordered = st.one_of(texts, numbers)
leaves = st.one_of(
    st.builds(compare, paths, operators, ordered),
    st.builds(compare_size, paths, operators, numbers),
    st.builds(between, paths, st.just({"N": "0"}), numbers.filter(lambda value: int(value["N"]) >= 0)),
    st.builds(one_of, paths, st.lists(values, min_size=1, max_size=3)),
    st.builds(begins_with, paths, texts),
    st.builds(contains, paths, ordered),
    st.builds(exists, paths),
    st.builds(missing, paths),
    st.builds(equals, paths, st.one_of(st.none(), values)),
)
conditions: st.SearchStrategy[Condition] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda one, other: one & other, inner, inner),
        st.builds(lambda one, other: one | other, inner, inner),
        st.builds(lambda part: ~part, inner),
        st.lists(inner, min_size=1, max_size=3).map(any_of),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: all_of(parts) or parts[0]),
    ),
    max_leaves=6,
)


@given(condition=conditions, item=items)
def test_a_condition_holds_here_exactly_if_its_text_holds(condition: Condition, item: dict[str, Any]) -> None:
    placeholders = Placeholders()
    program = compile_condition(render(condition, placeholders), placeholders.names)
    program.check(placeholders.values)
    assert holds(condition, item) == program.evaluate(item, placeholders.values)


operands = st.one_of(
    paths.map(parse_path),
    values.map(Literal),
    st.builds(lambda path, value: Function("if_not_exists", (parse_path(path), Literal(value))), paths, values),
    st.builds(lambda path, value: Arithmetic("+", parse_path(path), Literal(value)), paths, numbers),
)
updates = st.builds(
    UpdateActions,
    sets=st.dictionaries(st.sampled_from("abc"), values, max_size=2),
    computed=st.dictionaries(st.sampled_from("de"), operands, max_size=2),
    removes=st.lists(st.sampled_from("fg"), unique=True),
    adds=st.dictionaries(st.sampled_from("hi"), numbers, max_size=2),
    appends=st.dictionaries(st.sampled_from("jk"), lists, max_size=2),
    deletes=st.dictionaries(st.sampled_from("lo"), sets, max_size=2),
)


@given(st.none() | conditions, st.none() | updates)
def test_what_was_rendered_for_a_shape_has_the_values_of_each_request(
    condition: Condition | None, update: UpdateActions | None
) -> None:
    placeholders, anew = Placeholders(), dict[str, Any]()
    if update is not None and not update.is_empty:
        anew["UpdateExpression"] = update.render(placeholders)
    if condition is not None:
        anew["ConditionExpression"] = render(condition, placeholders)
    placeholders.into(anew)
    for _ in range(2):
        assert with_expressions({}, condition, update) == anew


def test_names_are_shared_and_values_are_not() -> None:
    condition = equals("a.b", {"S": "1"}) & (equals("a", {"S": "1"}) | missing("b[2].a"))
    request = with_expressions({}, condition, UpdateActions(sets={"b": {"N": "1"}}, removes=["c[0]"]))
    assert request == {
        "UpdateExpression": "SET #n0 = :v0 REMOVE #n1[0]",
        "ConditionExpression": "#n2.#n0 = :v1 AND (#n2 = :v2 OR attribute_not_exists(#n0[2].#n2))",
        "ExpressionAttributeNames": {"#n0": "b", "#n1": "c", "#n2": "a"},
        "ExpressionAttributeValues": {":v0": {"N": "1"}, ":v1": {"S": "1"}, ":v2": {"S": "1"}},
    }


@pytest.mark.parametrize("update", [None, UpdateActions()])
def test_without_a_condition_and_actions_a_request_stays_as_it_is(update: UpdateActions | None) -> None:
    assert with_expressions({"Key": {}}, None, update) == {"Key": {}}
