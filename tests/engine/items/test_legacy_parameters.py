"""The parameters from before expressions."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import ValidationException
from tablewright.dynamo.expressions import bind_bounds
from tablewright.engine.items.legacy_parameters import (
    AttributeUpdates,
    bounds_from_key_conditions,
    condition_from_expected,
    condition_from_filter,
    projection_from_attributes,
)

Value = dict[str, Any]
INVALID = "One or more parameter values were invalid: "

ITEM: dict[str, Value] = {
    "s": {"S": "hello"},
    "n": {"N": "12"},
    "yes": {"BOOL": True},
    "ss": {"SS": ["x", "y"]},
    "l": {"L": [{"S": "x"}]},
    "a.b": {"S": "dotted"},
}


def filtered(name: str, operator: str, *values: Value) -> bool:
    condition = condition_from_filter({name: {"ComparisonOperator": operator, "AttributeValueList": list(values)}})
    assert condition is not None
    return condition.evaluate(ITEM, {})


def expectation_error(expectation: dict[str, Any]) -> str | None:
    with pytest.raises(ValidationException) as caught:
        condition_from_expected({"a": expectation})
    return caught.value.message


def filter_error(operator: str, *values: Value) -> str | None:
    with pytest.raises(ValidationException) as caught:
        condition_from_filter({"a": {"ComparisonOperator": operator, "AttributeValueList": list(values)}})
    return caught.value.message


# -- conditions ------------------------------------------------------------------------------------


def test_every_comparison_operator() -> None:
    assert filtered("s", "EQ", {"S": "hello"})
    assert not filtered("s", "EQ", {"S": "x"})
    assert filtered("s", "NE", {"S": "x"})
    assert filtered("zz", "NE", {"S": "x"})
    assert filtered("yes", "EQ", {"BOOL": True})
    assert filtered("ss", "EQ", {"SS": ["y", "x"]})
    assert filtered("n", "LT", {"N": "100"})
    assert filtered("n", "LE", {"N": "12.0"})
    assert filtered("n", "GT", {"N": "9"})
    assert filtered("n", "GE", {"N": "12"})
    assert not filtered("n", "GT", {"S": "1"})
    assert filtered("n", "BETWEEN", {"N": "9"}, {"N": "100"})
    assert filtered("s", "BEGINS_WITH", {"S": "hell"})
    assert filtered("s", "CONTAINS", {"S": "ell"})
    assert filtered("ss", "CONTAINS", {"S": "x"})
    assert filtered("l", "CONTAINS", {"S": "x"})
    assert filtered("ss", "NOT_CONTAINS", {"S": "z"})
    assert not filtered("s", "NOT_CONTAINS", {"S": "ell"})
    assert filtered("s", "IN", {"S": "x"}, {"S": "hello"})
    assert filtered("zz", "NULL")
    assert not filtered("s", "NULL")
    assert filtered("s", "NOT_NULL")
    assert filtered("a.b", "EQ", {"S": "dotted"})


def test_conditions_are_joined_by_and_unless_or_is_given() -> None:
    conditions = {
        "s": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "hello"}]},
        "n": {"ComparisonOperator": "EQ", "AttributeValueList": [{"N": "0"}]},
    }
    for operator, answer in ((None, False), ("AND", False), ("OR", True)):
        for make in (condition_from_filter, condition_from_expected):
            condition = make(conditions, operator)
            assert condition is not None
            assert condition.evaluate(ITEM, {}) is answer
            assert condition.top_level_attributes == {"s", "n"}
    assert condition_from_filter(None) is None
    assert condition_from_expected({}) is None


def test_a_conditional_operator_needs_two_conditions() -> None:
    one = {"s": {"ComparisonOperator": "NULL"}}
    for make in (condition_from_filter, condition_from_expected):
        with pytest.raises(ValidationException) as caught:
            make(None, "AND")
        assert caught.value.message == "ConditionalOperator cannot be used without Filter or Expected"
        with pytest.raises(ValidationException) as caught:
            make(one, "OR")
        assert caught.value.message == (
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )


@pytest.mark.parametrize(
    ("expectation", "item", "answer"),
    [
        ({"Exists": False}, {}, True),
        ({"Exists": False}, {"a": {"S": "x"}}, False),
        ({"Value": {"S": "x"}}, {"a": {"S": "x"}}, True),
        ({"Exists": True, "Value": {"N": "1.0"}}, {"a": {"N": "1"}}, True),
        ({"Exists": True, "Value": {"S": "x"}}, {"a": {"S": "y"}}, False),
        ({"ComparisonOperator": "EQ", "Value": {"S": "x"}}, {"a": {"S": "x"}}, True),
        ({"ComparisonOperator": "GT", "AttributeValueList": [{"N": "1"}]}, {"a": {"N": "2"}}, True),
        ({"ComparisonOperator": "NOT_NULL"}, {}, False),
    ],
)
def test_what_a_write_expects(expectation: dict[str, Any], item: dict[str, Value], answer: bool) -> None:
    condition = condition_from_expected({"a": expectation})
    assert condition is not None
    condition.check({})
    assert condition.evaluate(item, {}) is answer


@pytest.mark.parametrize(
    ("expectation", "problem"),
    [
        (
            {"AttributeValueList": [], "Value": {"S": "x"}, "Exists": True},
            "Value and AttributeValueList cannot be used together for Attribute: a",
        ),
        (
            {"ComparisonOperator": "EQ", "Exists": True},
            "Exists and ComparisonOperator cannot be used together for Attribute: a",
        ),
        (
            {"ComparisonOperator": "LT"},
            "Value or AttributeValueList must be used with ComparisonOperator: LT for Attribute: a",
        ),
        (
            {"ComparisonOperator": "LT", "AttributeValueList": []},
            "Invalid number of argument(s) for the LT ComparisonOperator",
        ),
        (
            {"ComparisonOperator": "NULL", "Value": {"S": "x"}},
            "Invalid number of argument(s) for the NULL ComparisonOperator",
        ),
        (
            {"ComparisonOperator": "BETWEEN", "AttributeValueList": [{"N": "1"}]},
            "Invalid number of argument(s) for the BETWEEN ComparisonOperator",
        ),
        (
            {"ComparisonOperator": "IN", "AttributeValueList": [{"N": "1"}, {"S": "x"}]},
            "AttributeValues inside AttributeValueList must be of same type",
        ),
        (
            {"AttributeValueList": [{"S": "x"}]},
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
        ),
        ({}, "Value must be provided when Exists is null for Attribute: a"),
        ({"Exists": True}, "Value must be provided when Exists is true for Attribute: a"),
        (
            {"Exists": False, "Value": {"S": "x"}},
            "Value cannot be used when Exists is false for Attribute: a",
        ),
    ],
)
def test_what_a_write_cannot_expect(expectation: dict[str, Any], problem: str) -> None:
    assert expectation_error(expectation) == INVALID + problem


def test_the_values_of_expectations_are_checked() -> None:
    message = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
    assert expectation_error({"Value": {}}) == message
    assert expectation_error({"ComparisonOperator": "EQ", "AttributeValueList": [{}]}) == message


def test_filters_are_checked() -> None:
    count = INVALID + "Invalid number of argument(s) for the {} ComparisonOperator"
    assert filter_error("EQ") == count.format("EQ")
    assert filter_error("IN") == count.format("IN")
    assert filter_error("NOT_NULL", {"S": "x"}) == count.format("NOT_NULL")
    assert filter_error("BETWEEN", {"S": "x"}) == count.format("BETWEEN")
    assert filter_error("EQ", {"N": "x"}, {"N": "1"}) == ("The parameter cannot be converted to a numeric value: x")
    assert filter_error("BETWEEN", {"S": "x"}, {"N": "1"}) == (
        INVALID + "AttributeValues inside AttributeValueList must be of same type"
    )
    assert filter_error("BETWEEN", {"N": "2"}, {"N": "1"}) == (
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    )
    wrong = INVALID + "ComparisonOperator {} is not valid for {} AttributeValue type"
    assert filter_error("LT", {"SS": ["x"]}) == wrong.format("LT", "SS")
    assert filter_error("CONTAINS", {"L": []}) == wrong.format("CONTAINS", "L")
    assert filter_error("BEGINS_WITH", {"N": "1"}) == wrong.format("BEGINS_WITH", "N")
    assert filter_error("IN", {"NS": ["1"]}) == wrong.format("IN", "NS")


# -- keys ------------------------------------------------------------------------------------------


def key_condition(operator: str, *values: Value) -> dict[str, Any]:
    return {"ComparisonOperator": operator, "AttributeValueList": list(values)}


def bound(conditions: dict[str, Any]) -> tuple[dict[str, Value], list[tuple[str, str, tuple[Value, ...]]]]:
    return bind_bounds(bounds_from_key_conditions(conditions), ("pk",), ("sk",))


def test_key_conditions_are_a_partition_and_a_range() -> None:
    partition, sort = bound({"sk": key_condition("BEGINS_WITH", {"S": "x"}), "pk": key_condition("EQ", {"N": "1.0"})})
    assert partition == {"pk": {"N": "1"}}
    assert sort == [("sk", "begins_with", ({"S": "x"},))]
    for operator, symbol in (("EQ", "="), ("LT", "<"), ("LE", "<="), ("GT", ">"), ("GE", ">=")):
        _, sort = bound({"pk": key_condition("EQ", {"S": "x"}), "sk": key_condition(operator, {"S": "x"})})
        assert sort == [("sk", symbol, ({"S": "x"},))]


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({}, "Conditions can be of length 1 or 2 only"),
        ({"sk": key_condition("EQ", {"S": "x"})}, "Query condition missed key schema element: pk"),
        (
            {"pk": key_condition("EQ", {"S": "x"}), "other": key_condition("EQ", {"S": "x"})},
            "Query condition missed key schema element: sk",
        ),
        ({"pk": key_condition("LT", {"S": "x"})}, "Query key condition not supported"),
        (
            {"pk": key_condition("NE", {"S": "x"})},
            "Attempted conditional constraint is not an indexable operation",
        ),
        (
            {"pk": key_condition("EQ", {"S": "x"}), "sk": key_condition("CONTAINS", {"S": "x"})},
            "Attempted conditional constraint is not an indexable operation",
        ),
        (
            {"pk": key_condition("EQ")},
            INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator",
        ),
    ],
)
def test_key_conditions_that_do_not_fit(conditions: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationException) as caught:
        bound(conditions)
    assert caught.value.message == message


# -- projections -----------------------------------------------------------------------------------


def test_attributes_to_get_are_names() -> None:
    projection = projection_from_attributes(["s", "a.b", "zz"])
    assert projection.apply(ITEM) == {"s": {"S": "hello"}, "a.b": {"S": "dotted"}}
    with pytest.raises(ValidationException) as caught:
        projection_from_attributes(["a", "b", "a"])
    assert caught.value.message == INVALID + "Duplicate value in attribute name: a"


# -- updates ---------------------------------------------------------------------------------------


def updated(name: str, **update: Any) -> dict[str, Value]:
    before = {attribute: dict(value) for attribute, value in ITEM.items()}
    after = AttributeUpdates({name: update}).apply(ITEM)
    assert before == ITEM
    return after


def test_put_is_the_default_action() -> None:
    assert updated("s", Action="PUT", Value={"N": "1.0"})["s"] == {"N": "1"}
    assert updated("new", Value={"S": "x"})["new"] == {"S": "x"}


def test_add_counts_unites_and_appends() -> None:
    assert updated("n", Action="ADD", Value={"N": "-2"})["n"] == {"N": "10"}
    assert updated("new", Action="ADD", Value={"N": "3"})["new"] == {"N": "3"}
    assert updated("ss", Action="ADD", Value={"SS": ["y", "z"]})["ss"] == {"SS": ["x", "y", "z"]}
    assert updated("l", Action="ADD", Value={"L": [{"S": "x"}]})["l"] == {"L": [{"S": "x"}, {"S": "x"}]}


def test_delete_removes_the_attribute_or_elements_of_a_set() -> None:
    assert "s" not in updated("s", Action="DELETE")
    assert updated("zz", Action="DELETE") == ITEM
    assert updated("ss", Action="DELETE", Value={"SS": ["y"]})["ss"] == {"SS": ["x"]}
    assert "ss" not in updated("ss", Action="DELETE", Value={"SS": ["y", "x"]})
    assert updated("zz", Action="DELETE", Value={"SS": ["y"]}) == ITEM


def test_updates_of_the_wrong_type() -> None:
    for update in (
        {"Action": "ADD", "Value": {"SS": ["x"]}},
        {"Action": "DELETE", "Value": {"NS": ["1"]}},
    ):
        with pytest.raises(ValidationException) as caught:
            updated("n", **update)
        assert caught.value.message == "Type mismatch for attribute to update"


@pytest.mark.parametrize(
    ("update", "problem"),
    [
        ({"Action": "PUT"}, "Only DELETE action is allowed when no attribute value is specified"),
        ({}, "Only DELETE action is allowed when no attribute value is specified"),
        (
            {"Action": "DELETE", "Value": {"N": "1"}},
            "DELETE action with value is not supported for the type N",
        ),
        ({"Action": "ADD", "Value": {"S": "x"}}, "ADD action is not supported for the type S"),
        ({"Action": "ADD", "Value": {"M": {}}}, "ADD action is not supported for the type M"),
    ],
)
def test_updates_that_cannot_be(update: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationException) as caught:
        AttributeUpdates({"a": update})
    assert caught.value.message == INVALID + problem


def test_updates_tell_what_an_update_tells() -> None:
    updates = AttributeUpdates(
        {"s": {"Value": {"N": "1"}}, "n": {"Action": "ADD", "Value": {"N": "1"}}, "l": {"Action": "DELETE"}}
    )
    updates.check({})
    assert updates.top_level_attributes == {"s", "n", "l"}
    assert updates.nested_attributes == updates.used_names == updates.used_values == frozenset()
    assert updates.static_types({}) == {"s": "N", "n": "N"}
    after = updates.apply(ITEM, {})
    assert updates.updated(ITEM) == {"s": {"S": "hello"}, "n": {"N": "12"}, "l": ITEM["l"]}
    assert updates.updated(after) == {"s": {"N": "1"}, "n": {"N": "13"}}


def test_not_contains_is_met_only_by_what_could_contain_the_value() -> None:
    """Neither a missing attribute nor one of a type that holds no such value meets it."""
    holders: list[dict[str, Any]] = [{"S": "abc"}, {"SS": ["abc"]}, {"NS": ["1"]}, {"B": "YWJj"}, {"BS": ["YWJj"]}]
    holders += [{"L": []}, {"N": "1"}, {"M": {}}, {"BOOL": True}, {"NULL": True}]
    for operand, met_by in (
        ({"S": "z"}, [{"S": "abc"}, {"SS": ["abc"]}, {"L": []}]),
        ({"N": "2"}, [{"NS": ["1"]}, {"L": []}]),
        ({"B": "eg=="}, [{"B": "YWJj"}, {"BS": ["YWJj"]}, {"L": []}]),
        ({"S": "abc"}, [{"L": []}]),
    ):
        condition = {"v": {"ComparisonOperator": "NOT_CONTAINS", "AttributeValueList": [operand]}}
        program = condition_from_filter(condition)
        assert program is not None
        assert [value for value in holders if program.evaluate({"v": value}, {})] == met_by
        assert not program.evaluate({}, {})
