"""The evaluator of policies, rule by rule, as IAM documents them."""

from typing import Any

import pytest

from tablewright.design.iam.policy_evaluation import is_allowed

ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/Books"


def statement(
    effect: str = "Allow", action: Any = "dynamodb:GetItem", resource: Any = ARN, **more: Any
) -> dict[str, Any]:
    return {"Effect": effect, "Action": action, "Resource": resource, **more}


def policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def test_nothing_is_allowed_implicitly() -> None:
    assert not is_allowed(policy(), "dynamodb:GetItem", ARN)
    assert is_allowed(policy(statement()), "dynamodb:GetItem", ARN)
    assert not is_allowed(policy(statement()), "dynamodb:PutItem", ARN)
    assert not is_allowed(policy(statement()), "dynamodb:GetItem", f"{ARN}/index/byTitle")


def test_a_deny_overrides_every_allow() -> None:
    both = policy(statement(action="dynamodb:*"), statement("Deny", "dynamodb:DeleteItem"))
    assert is_allowed(both, "dynamodb:GetItem", ARN)
    assert not is_allowed(both, "dynamodb:DeleteItem", ARN)
    assert not is_allowed([policy(statement()), policy(statement("Deny"))], "dynamodb:GetItem", ARN)


def test_actions_are_compared_without_regard_to_case_and_resources_with() -> None:
    assert is_allowed(policy(statement(action="DynamoDB:getitem")), "dynamodb:GetItem", ARN)
    assert not is_allowed(policy(statement(resource=ARN.lower())), "dynamodb:GetItem", ARN)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("dynamodb:*", True),
        ("dynamodb:Get*", True),
        ("dynamodb:Get????", True),
        ("dynamodb:Get???", False),
        ("*", True),
    ],
)
def test_wildcards_match_anything(pattern: str, expected: bool) -> None:
    assert is_allowed(policy(statement(action=pattern)), "dynamodb:GetItem", ARN) is expected


def test_all_but_some() -> None:
    some = {"Effect": "Allow", "NotAction": ["dynamodb:DeleteItem"], "NotResource": f"{ARN}/index/*"}
    assert is_allowed(policy(some), "dynamodb:GetItem", ARN)
    assert not is_allowed(policy(some), "dynamodb:DeleteItem", ARN)
    assert not is_allowed(policy(some), "dynamodb:GetItem", f"{ARN}/index/byTitle")


def test_a_single_statement_need_not_be_a_list() -> None:
    assert is_allowed({"Version": "2012-10-17", "Statement": statement()}, "dynamodb:GetItem", ARN)


KEYS = "dynamodb:LeadingKeys"


@pytest.mark.parametrize(
    ("operator", "wanted", "given", "expected"),
    [
        ("StringEquals", "a", "a", True),
        ("StringEquals", "a", "b", False),
        ("StringEquals", ["a", "b"], "b", True),
        ("StringEquals", "a", None, False),
        ("StringEqualsIfExists", "a", None, True),
        ("StringNotEquals", "a", "b", True),
        ("StringNotEquals", ["a", "b"], "b", False),
        ("StringNotEquals", "a", None, True),
        ("StringEqualsIgnoreCase", "A", "a", True),
        ("StringLike", "a*", "abc", True),
        ("StringLike", "a?", "abc", False),
        ("StringNotLike", "a*", "abc", False),
        ("StringLike", "${*}", "abc", False),
        ("StringLike", "${*}", "*", True),
        ("Bool", "true", "true", True),
        ("Null", "true", None, True),
        ("Null", "false", None, False),
        ("Null", "false", "a", True),
        ("Null", False, ["a"], True),
        ("ForAllValues:StringEquals", ["a", "b"], ["a", "b"], True),
        ("ForAllValues:StringEquals", ["a", "b"], ["a", "c"], False),
        ("ForAllValues:StringEquals", ["a"], None, True),
        ("ForAllValues:StringEquals", ["a"], [], True),
        ("ForAllValues:StringLike", ["a*"], ["a1", "a2"], True),
        ("ForAllValues:StringLike", ["a*"], ["a1", "b2"], False),
        ("ForAnyValue:StringEquals", ["a"], ["a", "b"], True),
        ("ForAnyValue:StringEquals", ["a"], ["b"], False),
        ("ForAnyValue:StringEquals", ["a"], None, False),
    ],
)
def test_conditions(operator: str, wanted: Any, given: Any, expected: bool) -> None:
    document = policy(statement(Condition={operator: {KEYS: wanted}}))
    assert is_allowed(document, "dynamodb:GetItem", ARN, {} if given is None else {KEYS: given}) is expected


def test_all_conditions_have_to_hold() -> None:
    both = policy(statement(Condition={"ForAllValues:StringEquals": {KEYS: ["a"]}, "Null": {KEYS: "false"}}))
    assert is_allowed(both, "dynamodb:GetItem", ARN, {KEYS: ["a"]})
    assert not is_allowed(both, "dynamodb:GetItem", ARN, {})


def test_variables_stand_for_what_the_request_says() -> None:
    document = policy(statement(Condition={"StringEquals": {KEYS: "user-${aws:userid}"}}))
    assert is_allowed(document, "dynamodb:GetItem", ARN, {KEYS: "user-7", "aws:UserId": "7"})
    assert not is_allowed(document, "dynamodb:GetItem", ARN, {KEYS: "user-7", "aws:UserId": "8"})
    assert not is_allowed(document, "dynamodb:GetItem", ARN, {KEYS: "user-"})


def test_a_variable_s_value_is_no_pattern() -> None:
    document = policy(statement(Condition={"StringLike": {KEYS: "${aws:userid}#*"}}))
    assert is_allowed(document, "dynamodb:GetItem", ARN, {KEYS: "a#1", "aws:userid": "a"})
    assert not is_allowed(document, "dynamodb:GetItem", ARN, {KEYS: "b#1", "aws:userid": "*"})


@pytest.mark.parametrize("operator", ["NumericEquals", "ForSome:StringEquals", "IpAddress"])
def test_an_unknown_operator_is_an_error(operator: str) -> None:
    with pytest.raises(ValueError, match=f"{operator} is not supported"):
        is_allowed(policy(statement(Condition={operator: {KEYS: "1"}})), "dynamodb:GetItem", ARN, {KEYS: "1"})
