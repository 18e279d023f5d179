"""Laws of the expression language, on whatever text and items Hypothesis comes up with."""

from __future__ import annotations

import base64
import contextlib
import copy
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tablewright.dynamo import ValidationException, canonical_number, checked
from tablewright.dynamo.attribute_values import set_order
from tablewright.dynamo.expressions import (
    bind_bounds,
    compile_condition,
    compile_key_condition,
    compile_projection,
    compile_update,
)
from tests.examples import examples

Value = dict[str, Any]

names = st.sampled_from(["a", "b", "c", "pk"])
numbers = st.decimals(min_value=-1000, max_value=1000, places=2).map(lambda number: canonical_number(str(number)))
texts = st.text(max_size=4)
binaries = st.binary(max_size=4).map(lambda data: base64.b64encode(data).decode())
scalars: st.SearchStrategy[Value] = st.one_of(
    texts.map(lambda text: {"S": text}),
    numbers.map(lambda number: {"N": number}),
    binaries.map(lambda data: {"B": data}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
    st.lists(texts, min_size=1, max_size=3, unique=True).map(lambda members: {"SS": set_order("SS", members)}),
    st.lists(numbers, min_size=1, max_size=3, unique=True).map(lambda members: {"NS": set_order("NS", members)}),
    st.lists(binaries, min_size=1, max_size=3, unique=True).map(lambda members: {"BS": set_order("BS", members)}),
)
attribute_values: st.SearchStrategy[Value] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda members: {"L": members}),
        st.dictionaries(names, inner, max_size=3).map(lambda members: {"M": members}),
    ),
    max_leaves=6,
)
items = st.dictionaries(names, attribute_values, max_size=4)
values = st.fixed_dictionaries({":v": attribute_values, ":w": attribute_values})

paths = st.builds(
    lambda head, steps: head + "".join(steps),
    names,
    st.lists(st.sampled_from([".a", ".b", "[0]", "[1]", "[7]"]), max_size=2),
)
operands = st.one_of(paths, st.sampled_from([":v", ":w"]), paths.map(lambda path: f"size({path})"))
comparisons = st.one_of(
    st.builds("{} {} {}".format, operands, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), operands),
    st.builds("{} BETWEEN {} AND {}".format, operands, operands, operands),
    st.builds("{} IN ({}, {})".format, operands, operands, operands),
    st.builds("attribute_exists({})".format, paths),
    st.builds("attribute_not_exists({})".format, paths),
    st.builds("begins_with({}, {})".format, operands, operands),
    st.builds("contains({}, {})".format, operands, operands),
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds("{} AND {}".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT {}".format, inner),
    ),
    max_leaves=5,
)
_WORDS = """
a #n :v :w ( ) [ ] 0 12 . , = <> < + - AND OR NOT BETWEEN IN SET REMOVE ADD DELETE ! é _ # : name
size contains if_not_exists list_append attribute_exists begins_with
"""
fragments = st.lists(st.sampled_from(_WORDS.split()), max_size=14).map(" ".join)


@given(text=st.one_of(st.text(), fragments), given_values=values)
@settings(max_examples=examples(300))
def test_any_text_is_either_understood_or_a_validation_exception(text: str, given_values: dict[str, Value]) -> None:
    placeholders = {"#n": "a"}
    with contextlib.suppress(ValidationException):
        condition = compile_condition(text, placeholders)
        condition.check(given_values)
        condition.evaluate({}, given_values)
    with contextlib.suppress(ValidationException):
        update = compile_update(text, placeholders)
        update.check(given_values)
        update.updated(update.apply({}, given_values))
    with contextlib.suppress(ValidationException):
        compile_projection(text, placeholders).apply({})
    with contextlib.suppress(ValidationException):
        program = compile_key_condition(text, placeholders)
        program.check(given_values)
        bind_bounds(program.bounds(given_values), ("a",), ("b",))


@given(text=conditions, item=items, given_values=values)
@settings(max_examples=examples(300))
def test_a_condition_that_passed_its_checks_never_fails_on_an_item(
    text: str, item: dict[str, Value], given_values: dict[str, Value]
) -> None:
    program = compile_condition(text)
    with contextlib.suppress(ValidationException):
        program.check(given_values)
        answer = program.evaluate(item, given_values)
        assert answer in (True, False)
        negation = compile_condition(f"NOT (attribute_exists(zz) OR {text})")
        assert negation.evaluate(item, given_values) is not answer


@given(one=scalars, other=scalars)
def test_comparators_agree_with_each_other(one: Value, other: Value) -> None:
    item, given_values = {"a": one}, {":v": other}

    def holds(operator: str) -> bool:
        return compile_condition(f"a {operator} :v").evaluate(item, given_values)

    assert holds("=") is not holds("<>")
    if one.keys() == other.keys() and set(one) <= {"S", "N", "B"}:
        assert [holds("<"), holds("="), holds(">")].count(True) == 1
        assert holds("<=") == (holds("<") or holds("="))
        assert holds(">=") == (holds(">") or holds("="))
    else:
        assert not any(holds(operator) for operator in ("<", "<=", ">", ">="))


@given(left=numbers, right=numbers)
def test_sums_are_canonical(left: str, right: str) -> None:
    update = compile_update("SET plus = a + :v, difference = a - :v")
    result = update.apply({"a": {"N": left}}, {":v": {"N": right}})
    for name, exact in (
        ("plus", Decimal(left) + Decimal(right)),
        ("difference", Decimal(left) - Decimal(right)),
    ):
        assert Decimal(result[name]["N"]) == exact
        assert canonical_number(result[name]["N"]) == result[name]["N"]


@given(item=items, given_values=values, targets=st.lists(paths, min_size=1, max_size=3))
@settings(max_examples=examples(300))
def test_an_update_leaves_the_old_item_alone_and_makes_a_valid_new_one(
    item: dict[str, Value], given_values: dict[str, Value], targets: list[str]
) -> None:
    before = copy.deepcopy(item)
    sets = ", ".join(f"{target} = if_not_exists({target}, :v)" for target in targets[1:])
    text = f"REMOVE {targets[0]}" + (f" SET {sets}" if sets else "")
    with contextlib.suppress(ValidationException):
        update = compile_update(text)
        update.check(given_values)
        after = update.apply(item, given_values)
        for value in after.values():
            assert checked(value)[0] == value
    assert item == before


@given(item=items, wanted=st.lists(paths, min_size=1, max_size=3))
def test_a_projection_finds_nothing_that_is_not_there(item: dict[str, Value], wanted: list[str]) -> None:
    with contextlib.suppress(ValidationException):
        projection = compile_projection(", ".join(wanted))
        result = projection.apply(item)
        assert result.keys() <= item.keys() & projection.top_level_attributes
        assert projection.apply(result).keys() <= result.keys()
