"""Key conditions: which partition, and which range in it."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import ValidationException
from tablewright.dynamo.expressions import bind_bounds, compile_key_condition

NAMES = {"#pk": "pk", "#sk": "sk"}
VALUES: dict[str, dict[str, Any]] = {
    ":s": {"S": "x"},
    ":n": {"N": "1"},
    ":m": {"N": "2"},
    ":bool": {"BOOL": True},
}


Value = dict[str, Any]
# The partition, and the conditions on the sort key from the left.
Bound = tuple[dict[str, Value], list[tuple[str, str, tuple[Value, ...]]]]


def parse(text: str, partition_keys: tuple[str, ...] = ("pk",), sort_keys: tuple[str, ...] = ("sk",)) -> Bound:
    program = compile_key_condition(text, NAMES)
    program.check(VALUES)
    return bind_bounds(program.bounds(VALUES), partition_keys, sort_keys)


def refusal(text: str, partition_keys: tuple[str, ...] = ("pk",), sort_keys: tuple[str, ...] = ("sk",)) -> str | None:
    with pytest.raises(ValidationException) as caught:
        parse(text, partition_keys, sort_keys)
    return caught.value.message


def too_many(conditions: int, attributes: int) -> str:
    return (
        f"The number of query conditions ({conditions}) exceeds the number of key attributes defined in the "
        f"schema ({attributes})"
    )


@pytest.mark.parametrize(
    ("text", "operator", "operands"),
    [
        ("pk = :s AND sk = :n", "=", ({"N": "1"},)),
        ("sk < :n AND pk = :s", "<", ({"N": "1"},)),
        ("#pk = :s AND #sk >= :n", ">=", ({"N": "1"},)),
        ("(pk = :s) AND (sk <= :n)", "<=", ({"N": "1"},)),
        ("(pk = :s AND (sk > :n))", ">", ({"N": "1"},)),
        ("pk = :s and sk between :n and :m", "BETWEEN", ({"N": "1"}, {"N": "2"})),
        ("pk = :s AND begins_with(sk, :s)", "begins_with", ({"S": "x"},)),
        (":s = pk AND :n <= sk", ">=", ({"N": "1"},)),
        (":s = pk AND :n > sk", "<", ({"N": "1"},)),
    ],
)
def test_one_partition_and_a_range_in_it(text: str, operator: str, operands: tuple[dict[str, Any], ...]) -> None:
    assert parse(text) == ({"pk": {"S": "x"}}, [("sk", operator, operands)])


def test_the_partition_alone() -> None:
    assert parse("pk = :s") == parse("#pk = :s", sort_keys=()) == ({"pk": {"S": "x"}}, [])


def test_what_a_program_uses_is_known() -> None:
    program = compile_key_condition("#pk = :s", NAMES)
    assert program.used_names == {"#pk"}
    assert program.used_values == {":s"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sk = :s", "Query condition missed key schema element: pk"),
        ("extra = :s", "Query condition missed key schema element: pk"),
        ("pk = :s AND extra = :s", "Query condition missed key schema element: sk"),
        ("pk > :s", "Query key condition not supported"),
        ("begins_with(pk, :s)", "Query key condition not supported"),
        ("pk = :s AND sk = :s AND extra = :s", too_many(3, 2)),
        (
            "pk = :s AND pk = :s",
            "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key",
        ),
        (
            "pk = :s AND #pk > :n",
            "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key",
        ),
        ("pk = :s OR sk = :s", "Invalid operator used in KeyConditionExpression: OR"),
        ("NOT pk = :s", "Invalid operator used in KeyConditionExpression: NOT"),
        ("pk = :s AND sk IN (:s)", "Invalid operator used in KeyConditionExpression: IN"),
        ("pk = :s AND sk <> :s", "Invalid operator used in KeyConditionExpression: <>"),
        ("contains(pk, :s)", "Invalid operator used in KeyConditionExpression: contains"),
        ("attribute_exists(pk)", "Invalid operator used in KeyConditionExpression: attribute_exists"),
        (
            "pk = :s AND size(sk) = :n",
            "Invalid KeyConditionExpression: KeyConditionExpressions cannot contain nested operations",
        ),
        (
            ":n BETWEEN sk AND :m AND pk = :s",
            "Invalid condition in KeyConditionExpression: "
            "BETWEEN operator must have the key attribute as its first operand",
        ),
        (
            "pk = :s AND begins_with(:s, sk)",
            "Invalid condition in KeyConditionExpression: "
            "begins_with operator must have the key attribute as its first operand",
        ),
        (
            "pk = sk",
            "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
        ),
        (":s = :s", "Invalid condition in KeyConditionExpression: No key attribute specified"),
        (
            "pk.a = :s",
            "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes",
        ),
    ],
)
def test_what_a_key_condition_cannot_be(text: str, message: str) -> None:
    assert refusal(text) == message


def test_a_key_without_sort_attribute_takes_one_condition() -> None:
    assert refusal("pk = :s AND sk = :s", sort_keys=()) == too_many(2, 1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "The expression can not be empty;"),
        ("pk", 'Syntax error; token: "<EOF>", near: "pk"'),
        ("((pk = :s)) AND sk = :s", "The expression has redundant parentheses;"),
        ("hash = :s", "Attribute name is a reserved keyword; reserved keyword: hash"),
        ("pk = :x", "An expression attribute value used in expression is not defined; attribute value: :x"),
        (
            "#x = :s OR pk = :s",
            "An expression attribute name used in the document path is not defined; attribute name: #x",
        ),
        (
            "pk = :s AND begins_with(sk, :n)",
            "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
        ),
        (
            "pk = :s AND sk BETWEEN :m AND :n",
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
            "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
        ),
        (
            "pk = :s AND sk < :bool",
            "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
        ),
    ],
)
def test_it_is_a_condition_like_any_other_first(text: str, problem: str) -> None:
    assert refusal(text) == f"Invalid KeyConditionExpression: {problem}"


def test_the_steps_can_be_taken_one_by_one() -> None:
    program = compile_key_condition("pk = :s OR sk = :s")
    program.check(VALUES)
    with pytest.raises(ValidationException):
        program.bounds(VALUES)
    program = compile_key_condition("sk = :s")
    assert program.bounds(VALUES) == {"sk": ("=", ({"S": "x"},))}
    with pytest.raises(ValidationException):
        bind_bounds(program.bounds(VALUES), ("pk",), ("sk",))


class TestMultiAttributeKeys:
    partition = ("a", "b")
    sort = ("c", "d", "e")

    def parse(self, text: str) -> Bound:
        return parse(text, self.partition, self.sort)

    def refusal(self, text: str) -> str | None:
        return refusal(text, self.partition, self.sort)

    def test_sort_attributes_are_used_from_the_left(self) -> None:
        both = {"a": {"S": "x"}, "b": {"N": "1"}}
        assert self.parse("a = :s AND b = :n") == (both, [])
        partition, sort = self.parse("d > :n AND c = :s AND b = :n AND a = :s")
        assert partition == both
        assert sort == [("c", "=", ({"S": "x"},)), ("d", ">", ({"N": "1"},))]

    def test_every_partition_attribute_needs_equality(self) -> None:
        for text, attributes in (
            ("a = :s", "b"),
            ("a = :s AND c = :s", "b"),
            ("a = :s AND b > :n", "b"),
            ("begins_with(a, :s) AND b = :n", "a"),
            ("c = :s", "a, b"),
        ):
            assert self.refusal(text) == (
                f"HASH key attributes {attributes} must have equality conditions specified in the query"
            )
        assert refusal("c = :s", ("a",), ("c", "d")) == (
            "HASH key attributes a must have equality conditions specified in the query"
        )

    def lacking(self, attributes: str, later: str) -> str:
        return (
            f"RANGE key attributes {attributes} must have equality conditions specified in the query "
            f"because a condition is present on key attribute {later}"
        )

    def test_sort_attributes_have_no_gap(self) -> None:
        assert self.refusal("a = :s AND b = :n AND d = :s") == self.lacking("c", "d")
        assert self.refusal("a = :s AND b = :n AND c = :s AND e > :s") == self.lacking("d", "e")
        assert self.refusal("a = :s AND b = :n AND e = :s") == self.lacking("c, d", "e")

    def test_only_the_last_sort_attribute_has_a_range(self) -> None:
        assert self.refusal("a = :s AND b = :n AND c > :s AND d = :s") == self.lacking("c", "d")

    def test_other_attributes_are_not_part_of_it(self) -> None:
        text = "a = :s AND b = :n AND c = :s AND d = :s AND e = :s"
        _, sort = self.parse(text)
        assert len(sort) == 3
        assert self.refusal(text + " AND f = :s") == too_many(6, 5)
        other = "a = :s AND b = :n AND f = :s"
        assert self.refusal(other) == "Query condition missed key schema element: c"
