"""The parameters around expressions, and the names and values that come with them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tablewright.dynamo import (
    NESTED_TOO_DEEPLY,
    AttributeValue,
    RequestValidationException,
    ValidationException,
    checked,
)
from tablewright.dynamo.expressions import (
    check_expression_attributes,
    check_parameters,
    check_placeholders,
    compile_projection,
)
from tablewright.dynamo.expressions.placeholders import hash_order
from tablewright.dynamo.limits import MAX_VARIABLES_BYTES


def canonical(value: AttributeValue) -> AttributeValue:
    return checked(value)[0]


def mixed(legacy: str, expressions: str) -> str:
    return (
        "Can not use both expression and non-expression parameters in the same request: "
        f"Non-expression parameters: {{{legacy}}} Expression parameters: {{{expressions}}}"
    )


@pytest.mark.parametrize(
    ("operation", "request_", "message"),
    [
        ("PutItem", {"ConditionExpression": "a", "Expected": {}}, mixed("Expected", "ConditionExpression")),
        (
            "UpdateItem",
            {"UpdateExpression": "a", "ConditionExpression": "", "AttributeUpdates": {}, "Expected": {}},
            mixed("AttributeUpdates, Expected", "UpdateExpression, ConditionExpression"),
        ),
        (
            "UpdateItem",
            {"ConditionExpression": "a", "AttributeUpdates": {}},
            mixed("AttributeUpdates", "ConditionExpression"),
        ),
        (
            "GetItem",
            {"ProjectionExpression": "a", "AttributesToGet": ["a"]},
            mixed("AttributesToGet", "ProjectionExpression"),
        ),
        (
            "Query",
            {"KeyConditionExpression": "a", "KeyConditions": {}, "QueryFilter": {}},
            mixed("QueryFilter, KeyConditions", "KeyConditionExpression"),
        ),
        (
            "Scan",
            {"FilterExpression": "a", "ConditionalOperator": "AND", "ScanFilter": {}},
            mixed("ScanFilter, ConditionalOperator", "FilterExpression"),
        ),
        (
            "GetItem",
            {"ExpressionAttributeNames": {}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            "PutItem",
            {"ExpressionAttributeValues": {}},
            "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null",
        ),
        (
            "UpdateItem",
            {"ExpressionAttributeValues": {}},
            "ExpressionAttributeValues can only be specified when using expressions: "
            "UpdateExpression and ConditionExpression are null",
        ),
        (
            "Query",
            {"ProjectionExpression": "a", "ExpressionAttributeValues": {}},
            "ExpressionAttributeValues can only be specified when using expressions: "
            "FilterExpression and KeyConditionExpression are null",
        ),
    ],
)
def test_parameters_that_do_not_go_together(operation: str, request_: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationException) as caught:
        check_parameters(operation, request_)
    assert caught.value.message == message


def test_parameters_that_go_together() -> None:
    check_parameters("Query", {"KeyConditions": {}, "FilterExpression": "a", "ExpressionAttributeNames": {}})
    check_parameters("Scan", {"ScanFilter": {}, "AttributesToGet": []})
    check_parameters("GetItem", {"ProjectionExpression": "a", "ExpressionAttributeNames": {}})
    check_parameters("UpdateItem", {})


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"ExpressionAttributeNames": {}}, "ExpressionAttributeNames must not be empty"),
        ({"ExpressionAttributeValues": {}}, "ExpressionAttributeValues must not be empty"),
        (
            {"ExpressionAttributeNames": {"a": "b"}},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "a"',
        ),
        (
            {"ExpressionAttributeNames": {"#a": "b", "#": "b"}},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "#"',
        ),
        (
            {"ExpressionAttributeNames": {"#a-b": "b"}},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "#a-b"',
        ),
        (
            {"ExpressionAttributeValues": {"#a": {"S": "x"}}},
            'ExpressionAttributeValues contains invalid key: Syntax error; key: "#a"',
        ),
        (
            {"ExpressionAttributeNames": {"#a": ""}},
            "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a",
        ),
        (
            {"ExpressionAttributeNames": {"#" + "a" * 255: "a"}},
            "ExpressionAttributeNames contains invalid key: "
            "The expression attribute map contains a key that is too long; size of key: 256",
        ),
        (
            {"ExpressionAttributeValues": {":a": {"S": "x"}, ":b": {}}},
            "ExpressionAttributeValues contains invalid value: Supplied AttributeValue is empty, "
            "must contain exactly one of the supported datatypes for key :b",
        ),
        (
            {"ExpressionAttributeValues": {":a": {"N": "x"}, "b": {}}},
            'ExpressionAttributeValues contains invalid key: Syntax error; key: "b"',
        ),
    ],
)
def test_names_and_values_that_are_malformed(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationException) as caught:
        check_placeholders(request_, canonical)
    assert caught.value.message == message


def test_values_come_back_in_canonical_form() -> None:
    request_ = {"ExpressionAttributeValues": {":a": {"N": "1.0"}, ":b": {"S": "x"}}}
    assert check_placeholders(request_, canonical) == {":a": {"N": "1"}, ":b": {"S": "x"}}
    assert request_["ExpressionAttributeValues"][":a"] == {"N": "1.0"}
    assert check_placeholders(request_) == request_["ExpressionAttributeValues"]
    assert check_placeholders({"ExpressionAttributeNames": {"#a": "b"}}) is None


def test_the_newer_words_for_a_value_are_without_its_name() -> None:
    deep: AttributeValue = {"L": []}
    for _ in range(40):
        deep = {"L": [deep]}
    with pytest.raises(RequestValidationException) as caught:
        check_placeholders({"ExpressionAttributeValues": {":a": deep}}, canonical)
    named = f"ExpressionAttributeValues contains invalid value: {NESTED_TOO_DEEPLY} for key :a"
    assert (caught.value.message, caught.value.newer().message) == (named, NESTED_TOO_DEEPLY)


def test_everything_given_must_be_used() -> None:
    request_ = {
        "ExpressionAttributeNames": {"#a": "a", "#b": "b", "#c": "c"},
        "ExpressionAttributeValues": {":v": {"S": "x"}},
    }
    check_expression_attributes(request_, {"#a", "#b", "#c"}, {":v"})
    with pytest.raises(ValidationException) as caught:
        check_expression_attributes(request_, {"#b"}, {":v"})
    assert caught.value.message == ("Value provided in ExpressionAttributeNames unused in expressions: keys: {#c, #a}")
    with pytest.raises(ValidationException) as caught:
        check_expression_attributes(request_, {"#a", "#b", "#c"}, set())
    assert caught.value.message == ("Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}")
    check_expression_attributes({}, set(), set())


def test_keys_are_listed_in_the_order_of_a_hash_table() -> None:
    assert hash_order(["#b", "#a"], 2) == ["#a", "#b"]
    assert hash_order(["#name", "#status", "#ttl"], 3) == ["#status", "#ttl", "#name"]
    # A table for more keys goes by more bits of the hash.
    assert hash_order(["#r", "#s"], 11) == ["#s", "#r"]
    assert hash_order(["#r", "#s"], 12) == ["#r", "#s"]


# -- very many ----------------------------------------------------------------------------------------------


def names(count: int, **more: str) -> dict[str, str]:
    return {**{f"#n{number}": "x" for number in range(count)}, **{f"#{key}": name for key, name in more.items()}}


@pytest.mark.parametrize("count", [5, 1500])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"#a b": "x"}, 'contains invalid key: Syntax error; key: "#a b"'),
        ({"b": "x"}, 'contains invalid key: Syntax error; key: "b"'),
        ({"#": "x"}, 'contains invalid key: Syntax error; key: "#"'),
        ({"#a\n#b": "x"}, "contains invalid key: Syntax error"),
        ({"#\u00e4": "x"}, "contains invalid key: Syntax error"),
        ({"#" + "a" * 255: "x"}, "contains a key that is too long; size of key: 256"),
        ({"#empty": ""}, "Empty attribute name for key #empty"),
        ({"#long": "x" * 65_536}, "for key #long"),
        ({"#long": "\u00e4" * 32_768}, "for key #long"),
    ],
)
def test_one_that_is_wrong_is_found_among_few_and_among_very_many(
    count: int, wrong: dict[str, str], message: str
) -> None:
    with pytest.raises(RequestValidationException, match=re.escape(message)):
        check_placeholders({"ExpressionAttributeNames": {**names(count), **wrong}})


@pytest.mark.parametrize("count", [5, 1500])
def test_good_ones_are_accepted_among_few_and_among_very_many(count: int) -> None:
    good = {**names(count), "#" + "a" * 254: "x" * 65_535, "#b": "\u00e4" * 32_767}
    assert check_placeholders({"ExpressionAttributeNames": good}) is None


def test_names_have_a_bound_together() -> None:
    at_most = {f"#{number:06}": "x" * 65_529 for number in range(32)}
    at_most["#000000"] = "x" * (65_529 - 32 * (65_529 + 7) + MAX_VARIABLES_BYTES)
    check_placeholders({"ExpressionAttributeNames": at_most})
    for more in ({**at_most, "#a": "x"}, {f"#n{number:06}": "x" for number in range(300_000)}):
        with pytest.raises(RequestValidationException, match="ExpressionAttributeNames exceeds max size"):
            check_placeholders({"ExpressionAttributeNames": more})


def test_an_expression_is_compiled_with_the_names_that_it_has() -> None:
    """Also when there are very many others."""
    many = names(1500, a="one", b="two")
    program = compile_projection("#a.#b, #n7", many)
    assert program.used_names == {"#a", "#b", "#n7"}
    assert program is compile_projection("#a.#b, #n7", names(2000, a="one", b="two"))
    with pytest.raises(ValidationException, match="#none"):
        compile_projection("#none", many)
