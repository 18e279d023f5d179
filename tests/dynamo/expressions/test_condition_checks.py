"""What DynamoDB refuses once it knows the names and values, before it looks at any item."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import ValidationException
from tablewright.dynamo.expressions import compile_condition, condition_from_node
from tablewright.dynamo.expressions.nodes import Between, Compare, In, Literal, Path

NAMES = {"#a": "a", "#b": "b"}
VALUES: dict[str, dict[str, Any]] = {
    ":s": {"S": "x"},
    ":n": {"N": "1"},
    ":two": {"N": "2"},
    ":b": {"B": "AQ=="},
    ":bool": {"BOOL": True},
    ":null": {"NULL": True},
    ":ss": {"SS": ["x"]},
    ":l": {"L": []},
    ":m": {"M": {}},
}
PREFIX = "Invalid ConditionExpression: "
UNDEFINED_NAME = "An expression attribute name used in the document path is not defined; attribute name: "
UNDEFINED_VALUE = "An expression attribute value used in expression is not defined; attribute value: "
WRONG_TYPE = "Incorrect operand type for operator or function; operator or function: "
WRONG_COUNT = "Incorrect number of operands for operator or function; operator or function: "
NOT_DISTINCT = (
    "The first operand must be distinct from the remaining operands for this operator or function; operator: "
)
NEEDS_PATH = "Operator or function requires a document path; operator or function: "


def problem(text: str) -> str:
    program = compile_condition(text, NAMES)
    with pytest.raises(ValidationException) as caught:
        program.check(VALUES)
    message = caught.value.message
    assert message is not None
    assert message.startswith(PREFIX)
    return message[len(PREFIX) :]


def test_names_and_values_must_be_defined() -> None:
    assert problem("#x = :s") == UNDEFINED_NAME + "#x"
    assert problem("a.#x[0] = :s") == UNDEFINED_NAME + "#x"
    assert problem("a = :x") == UNDEFINED_VALUE + ":x"
    assert problem("a = :x AND #x = :s") == UNDEFINED_VALUE + ":x"
    assert problem("#x = :x") == UNDEFINED_NAME + "#x"
    assert problem(":x = #x") == UNDEFINED_VALUE + ":x"


def test_without_any_values_the_first_one_used_is_reported() -> None:
    with pytest.raises(ValidationException) as caught:
        compile_condition("a = :s").check(None)
    assert caught.value.message == PREFIX + UNDEFINED_VALUE + ":s"


def test_a_path_is_at_most_32_deep() -> None:
    compile_condition("a" + ".a" * 31 + " = :s").check(VALUES)
    assert problem("a" + ".a" * 32 + " = :s") == ("The document path has too many nesting levels; nesting levels: 33")


def test_functions_have_their_number_of_operands() -> None:
    assert problem("attribute_exists(a, b)") == WRONG_COUNT + "attribute_exists, number of operands: 2"
    assert problem("begins_with(a)") == WRONG_COUNT + "begins_with, number of operands: 1"
    assert problem("size(a, b) > :n") == WRONG_COUNT + "size, number of operands: 2"
    assert problem("contains(a, :s, :s)") == WRONG_COUNT + "contains, number of operands: 3"


def test_in_takes_at_most_100_operands() -> None:
    compile_condition(f"a IN ({','.join([':s'] * 100)})").check(VALUES)
    assert problem(f"a IN ({','.join([':s'] * 101)})") == (
        "The IN operator is provided with too many operands; number of operands: 101"
    )


def test_the_first_operand_must_differ_from_the_rest() -> None:
    assert problem("a = a") == NOT_DISTINCT + "=, first operand: [a]"
    assert problem("a.b[1] <> a.b[1]") == NOT_DISTINCT + "<>, first operand: [a, b, [1]]"
    assert problem("a = #a") == NOT_DISTINCT + "=, first operand: [a]"
    assert problem("contains(a, (a))") == NOT_DISTINCT + "contains, first operand: [a]"
    assert problem("a BETWEEN :n AND a") == NOT_DISTINCT + "BETWEEN, first operand: [a]"
    assert problem("a IN (:n, a)") == NOT_DISTINCT + "IN, first operand: [a]"
    compile_condition(":s = :s AND a = b AND size(a) = size(b)").check(VALUES)


def test_only_strings_numbers_and_binaries_have_an_order() -> None:
    for operator in ("<", "<=", ">", ">="):
        for name, tag in ((":bool", "BOOL"), (":null", "NULL"), (":ss", "SS"), (":l", "L"), (":m", "M")):
            assert problem(f"a {operator} {name}") == WRONG_TYPE + f"{operator}, operand type: {tag}"
    assert problem("a BETWEEN :l AND :n") == WRONG_TYPE + "BETWEEN, operand type: L"
    compile_condition("a = :bool AND a <> :m AND a IN (:null, :ss)").check(VALUES)


def test_functions_want_their_types() -> None:
    assert problem("begins_with(a, :n)") == WRONG_TYPE + "begins_with, operand type: N"
    assert problem("begins_with(:bool, a)") == WRONG_TYPE + "begins_with, operand type: BOOL"
    assert problem("begins_with(a, size(b))") == WRONG_TYPE + "begins_with, operand type: N"
    assert problem("size(:n) = :n") == WRONG_TYPE + "size, operand type: N"
    assert problem("size(size(a)) = :n") == WRONG_TYPE + "size, operand type: N"
    assert problem("attribute_exists(:s)") == NEEDS_PATH + "attribute_exists"
    assert problem("attribute_not_exists(size(a))") == NEEDS_PATH + "attribute_not_exists"
    compile_condition("begins_with(a, :b) AND size(:m) = :n AND contains(:s, a)").check(VALUES)


def test_attribute_type_wants_the_name_of_a_type() -> None:
    assert problem("attribute_type(a, :n)") == WRONG_TYPE + "attribute_type, operand type: N"
    assert problem("attribute_type(a, b)") == (
        WRONG_TYPE + "attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
    )
    assert problem("attribute_type(a, :s)") == (
        "Invalid attribute type name found; type: x, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
    )
    compile_condition("attribute_type(a, :t)").check({":t": {"S": "BOOL"}})
    # Its first operand may be any.
    values = {":t": {"S": "S"}, ":n": {"S": "N"}}
    typed = compile_condition("attribute_type(:t, :t) AND attribute_type(size(a), :n)")
    typed.check(values)
    assert typed.evaluate({"a": {"S": "text"}}, values)


def test_between_wants_bounds_of_one_type_in_order() -> None:
    assert problem("a BETWEEN :two AND :n") == (
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
        "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"
    )
    assert problem("a BETWEEN :n AND :s") == (
        "The BETWEEN operator requires same data type for lower and upper bounds; "
        "lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:x}"
    )
    compile_condition("a BETWEEN :n AND :n AND a BETWEEN b AND :n").check(VALUES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = :x AND begins_with(a)", UNDEFINED_VALUE + ":x"),
        ("begins_with(a) AND a = :x", WRONG_COUNT + "begins_with, number of operands: 1"),
        ("begins_with(:x)", UNDEFINED_VALUE + ":x"),
        ("a = a AND a < :bool", NOT_DISTINCT + "=, first operand: [a]"),
        ("a < :bool AND a = a", WRONG_TYPE + "<, operand type: BOOL"),
    ],
)
def test_each_comparison_is_checked_in_turn(text: str, expected: str) -> None:
    assert problem(text) == expected


def test_the_same_program_takes_other_values() -> None:
    program = compile_condition("a < :v")
    program.check({":v": {"N": "1"}})
    with pytest.raises(ValidationException):
        program.check({":v": {"BOOL": True}})
    with pytest.raises(ValidationException):
        program.check({})
    program.check({":v": {"S": "x"}})


def test_programs_are_kept_by_text_and_names() -> None:
    assert compile_condition("#a = :s", NAMES) is compile_condition("#a = :s", dict(NAMES))
    assert compile_condition("#a = :s", NAMES) is not compile_condition("#a = :s", {"#a": "other"})
    assert compile_condition("a = :s") is not compile_condition("a = :s", None, "FilterExpression")


def test_a_program_tells_what_it_uses() -> None:
    program = compile_condition("#a.b[0] = :s AND size(c) > :n AND attribute_exists(#b)", NAMES)
    assert program.used_names == {"#a", "#b"}
    assert program.used_values == {":s", ":n"}
    assert program.top_level_attributes == {"a", "b", "c"}
    assert program.nested_attributes == {"a"}


def test_the_rules_of_expressions_are_not_those_of_other_conditions() -> None:
    path, one, two = Path(("a",)), Literal({"N": "1"}), Literal({"N": "2"})
    for condition in (Compare("=", path, one), Between(path, two, one), In(path, (one,) * 101)):
        condition_from_node(condition).check(None)
    assert condition_from_node(In(path, (one,) * 101)).evaluate({"a": {"N": "1"}}, {})
