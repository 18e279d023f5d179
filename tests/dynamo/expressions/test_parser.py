"""What DynamoDB says about the text of an expression, before names and values matter."""

from __future__ import annotations

import pytest

from tablewright.dynamo import RequestValidationException, ValidationException
from tablewright.dynamo.expressions import compile_condition, compile_projection, compile_update
from tablewright.dynamo.expressions.reserved_words import RESERVED_WORDS, is_reserved

NAMES = {"#a": "a", "#b": "b"}


def condition_error(text: str) -> str | None:
    with pytest.raises(ValidationException) as caught:
        compile_condition(text, NAMES)
    return caught.value.message


def update_error(text: str) -> str | None:
    with pytest.raises(ValidationException) as caught:
        compile_update(text, NAMES)
    return caught.value.message


def projection_error(text: str) -> str | None:
    with pytest.raises(ValidationException) as caught:
        compile_projection(text, NAMES)
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("a", "<EOF>", "a"),
        ("a =", "<EOF>", "="),
        ("attribute_not_exists(", "<EOF>", "("),
        ("attribute_exists()", ")", "()"),
        ("(a = :v", "<EOF>", ":v"),
        ("a = :v)", ")", ":v)"),
        ("a = = :v", "=", "= = :v"),
        ("a = :v :w", ":w", ":v :w"),
        ("a AND b = :v", "AND", "a AND b"),
        ("(a) AND b = :v", "AND", ") AND b"),
        ("(a AND b = :v)", "AND", "a AND b"),
        ("a = (b = :v)", "=", "b = :v"),
        ("(NOT a)", ")", "a)"),
        ("NOT", "<EOF>", "NOT"),
        ("a BETWEEN :v OR :w", "OR", ":v OR :w"),
        ("a IN :v", ":v", "IN :v"),
        ("a IN ()", ")", "()"),
        ("a IN ((:v, :w))", ",", ":v, :w"),
        ("a.b. = :v", "=", ". = :v"),
        ("a[b] = :v", "b", "[b]"),
        ("a[01] = :v", "1", "01]"),
        ("_a = :v", "_", "_a"),
        ("a-b = :v", "-", "a-b"),
        ("# = :v", "#", "# ="),
        ("a = :", ":", "= :"),
        ("a = 1", "1", "= 1"),
        ("a = 'x'", "'", "= 'x"),
        ("a = :v AND AND b = :v", "AND", "AND AND b"),
        ("set = :v", "set", "set ="),
        ("é = :v", "é", "é ="),
    ],
)
def test_a_condition_that_cannot_be_read_shows_where(text: str, token: str, near: str) -> None:
    assert condition_error(text) == (f'Invalid ConditionExpression: Syntax error; token: "{token}", near: "{near}"')


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("INVALID SYNTAX HERE", "INVALID", "INVALID SYNTAX"),
        ("SET", "<EOF>", "SET"),
        ("SET a", "<EOF>", "a"),
        ("SET a = :v,", "<EOF>", ","),
        ("SET a = b + c + d", "+", "c + d"),
        ("SET a = (b + c) + d", "+", ") + d"),
        ("SET a :v", ":v", "a :v"),
        ("ADD a b", "b", "a b"),
        ("ADD a = :v", "=", "a = :v"),
        ("DELETE a", "<EOF>", "a"),
        ("REMOVE a = :v", "=", "a = :v"),
        ("SET a = :v b = :w", "b", ":v b ="),
        ("REMOVE SET a = :v", "SET", "REMOVE SET a"),
    ],
)
def test_an_update_that_cannot_be_read_shows_where(text: str, token: str, near: str) -> None:
    assert update_error(text) == f'Invalid UpdateExpression: Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [("!!!", "!", "!!"), ("a,", "<EOF>", ","), ("a b", "b", "a b"), (":v", ":v", ":v"), ("a.", "<EOF>", ".")],
)
def test_a_projection_that_cannot_be_read_shows_where(text: str, token: str, near: str) -> None:
    assert projection_error(text) == (f'Invalid ProjectionExpression: Syntax error; token: "{token}", near: "{near}"')


def test_an_expression_can_not_be_empty() -> None:
    assert condition_error("") == "Invalid ConditionExpression: The expression can not be empty;"
    assert update_error("") == "Invalid UpdateExpression: The expression can not be empty;"
    assert projection_error("") == "Invalid ProjectionExpression: The expression can not be empty;"


def test_the_kind_of_expression_is_named() -> None:
    with pytest.raises(ValidationException) as caught:
        compile_condition("a", None, "FilterExpression")
    assert caught.value.message == 'Invalid FilterExpression: Syntax error; token: "<EOF>", near: "a"'


def test_errors_of_expressions_are_of_the_family_that_is_counted() -> None:
    for text in ("a", ""):
        with pytest.raises(RequestValidationException):
            compile_condition(text)


def test_an_expression_is_at_most_4096_bytes_of_utf_8() -> None:
    too_long = "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size;"
    compile_condition("a = :v".ljust(4096))
    assert condition_error("a = :v".ljust(4097)) == too_long
    assert condition_error("é" * 2049) == too_long


@pytest.mark.parametrize(
    "text",
    [
        "((a = :v))",
        "((a)) = :v",
        "a = ((:v))",
        "NOT ((a = :v))",
        "((a = :v)) AND b = :v",
        "b = :v AND ((a = :v OR c = :v))",
        "begins_with(((a)), :v)",
        "a IN (:v, ((:w)))",
        "((attribute_exists(a)))",
        "((a = :v)) and then nonsense",
    ],
)
def test_two_parentheses_around_the_same_thing_are_redundant(text: str) -> None:
    assert condition_error(text) == "Invalid ConditionExpression: The expression has redundant parentheses;"


@pytest.mark.parametrize(
    "text",
    [
        "(a = :v)",
        "(a) = (:v)",
        "((a) = :v)",
        "((a = :v) AND (b = :v))",
        "(NOT (a = :v))",
        "((size(a)) < b.c) AND (d > :v)",
        "(attribute_exists(a)) AND (attribute_not_exists(b))",
        "(a.b).c = :v",
        "a.b[0].c[1][2] = :v",
        "a = :v and not b = :v or c between :v and :w",
    ],
)
def test_other_parentheses_and_any_case_are_fine(text: str) -> None:
    compile_condition(text)


def test_redundant_parentheses_of_an_update() -> None:
    assert update_error("SET a = ((:v))") == ("Invalid UpdateExpression: The expression has redundant parentheses;")
    compile_update("SET a = (b - :v), c = (:v), d = list_append((e), :v)")


def test_at_most_300_operators_and_functions() -> None:
    compile_condition(" AND ".join(["a=:v"] * 150))
    for comparisons in (151, 400):
        assert condition_error(" AND ".join(["a=:v"] * comparisons)) == (
            "Invalid ConditionExpression: The expression contains too many operators; operator count: 301"
        )


@pytest.mark.parametrize(
    "text",
    [
        "(" * 4000,
        "(" * 2000 + "a = :v" + ")" * 2000,
        "NOT " * 1000 + "a = :v",
        "size(" * 800,
        "a = " + "(" * 4000,
        "(a=:v AND " * 400,
        "a" + ".a" * 2000 + " = :v",
        "a" + "[0]" * 1300 + " = :v",
        "a IN (" + ",".join([":v"] * 1300) + ")",
    ],
)
def test_deep_nesting_gets_an_answer(text: str) -> None:
    with pytest.raises(ValidationException):
        compile_condition(text).check({":v": {"S": "x"}})


def test_the_deepest_conditions_that_fit_can_be_evaluated() -> None:
    negated = compile_condition("NOT " * 299 + "attribute_exists(a)")
    assert negated.evaluate({}, {}) is True
    nested = compile_condition("(a=:v OR " * 149 + "b=:v" + ")" * 149)
    assert nested.evaluate({"b": {"S": "x"}}, {":v": {"S": "x"}}) is True


def test_deep_nesting_in_an_update_gets_an_answer() -> None:
    text = "SET a = " + "if_not_exists(a," * 200 + ":v" + ")" * 200
    program = compile_update(text)
    assert program.apply({}, {":v": {"S": "x"}}) == {"a": {"S": "x"}}
    with pytest.raises(ValidationException):
        compile_update("SET a = " + "f(" * 1500)


def test_all_573_reserved_words_are_refused_in_any_case() -> None:
    assert len(RESERVED_WORDS) == 573
    assert is_reserved("Status")
    assert not is_reserved("pk")
    assert condition_error("Status = :v") == (
        "Invalid ConditionExpression: Attribute name is a reserved keyword; reserved keyword: Status"
    )
    assert condition_error("a.b.zone = :v") == (
        "Invalid ConditionExpression: Attribute name is a reserved keyword; reserved keyword: zone"
    )
    assert update_error("SET a = name") == (
        "Invalid UpdateExpression: Attribute name is a reserved keyword; reserved keyword: name"
    )
    assert projection_error("a, year") == (
        "Invalid ProjectionExpression: Attribute name is a reserved keyword; reserved keyword: year"
    )


def test_a_list_index_has_a_range() -> None:
    compile_projection("a[2147483647]")
    assert projection_error("a[2147483648]") == (
        "Invalid ProjectionExpression: List index is not within the allowable range; index: [2147483648]"
    )


def test_functions_have_their_places() -> None:
    assert condition_error("foo(a)") == "Invalid ConditionExpression: Invalid function name; function: foo"
    assert condition_error("Begins_With(a, :v)") == (
        "Invalid ConditionExpression: Invalid function name; function: Begins_With"
    )
    assert condition_error("a = if_not_exists(b, :v)") == (
        "Invalid ConditionExpression: The function is not allowed in a condition expression; function: if_not_exists"
    )
    assert update_error("SET a = size(b)") == (
        "Invalid UpdateExpression: The function is not allowed in an update expression; function: size"
    )
    misused = (
        "Invalid ConditionExpression: The function is not allowed to be used this way in an expression; function: "
    )
    assert condition_error("size(a)") == misused + "size"
    assert condition_error("NOT size(a)") == misused + "size"
    assert condition_error("attribute_exists(a) = :v") == misused + "attribute_exists"
    assert condition_error("contains(a, begins_with(b, :v))") == misused + "begins_with"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("abort = :v AND size(a) AND foo(a)", "Invalid function name"),
        ("abort = :v AND size(a)", "The function is not allowed to be used this way"),
        ("a = #x AND abort = :v", "Attribute name is a reserved keyword"),
    ],
)
def test_the_order_of_checks_on_a_condition(text: str, problem: str) -> None:
    message = condition_error(text)
    assert message is not None
    assert message.startswith(f"Invalid ConditionExpression: {problem}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("SET a = foo(b) SET abort = :v", "Attribute name is a reserved keyword; reserved keyword: abort"),
        ("SET #x = :v SET a = foo(b)", "Invalid function name; function: foo"),
        ("SET #x = :v SET a = :v", 'The "SET" section can only be used once in an update expression;'),
        (
            "SET #x = :v, a = :v, a.b = :v",
            "An expression attribute name used in the document path is not defined; attribute name: #x",
        ),
    ],
)
def test_the_order_of_checks_on_an_update(text: str, problem: str) -> None:
    assert update_error(text) == f"Invalid UpdateExpression: {problem}"
