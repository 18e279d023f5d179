"""When two attribute values, or items, are equal."""

from __future__ import annotations

from tablewright.dynamo import same_item, same_value


def test_sets_are_equal_in_any_order_and_lists_are_not() -> None:
    assert same_value({"SS": ["a", "b"]}, {"SS": ["b", "a"]})
    assert same_value({"L": [{"NS": ["1", "2"]}]}, {"L": [{"NS": ["2", "1"]}]})
    assert same_value({"M": {"a": {"BS": ["AQ==", "Ag=="]}}}, {"M": {"a": {"BS": ["Ag==", "AQ=="]}}})
    assert not same_value({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]})
    assert not same_value({"S": "1"}, {"N": "1"})
    assert not same_value({"SS": ["a"]}, {"SS": ["a", "b"]})
    assert not same_value({"M": {"a": {"S": "x"}}}, {"M": {"b": {"S": "x"}}})
    assert same_item({"a": {"SS": ["x", "y"]}}, {"a": {"SS": ["y", "x"]}})
    assert not same_item({"a": {"S": "x"}}, {"a": {"S": "x"}, "b": {"S": "x"}})
