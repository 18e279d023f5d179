"""Which items a condition holds for: DynamoDB's rules on types and on what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo.expressions import compile_condition, condition_from_node
from tablewright.dynamo.expressions.nodes import And, Compare, Function, Literal, Not, Path

Value = dict[str, Any]

ITEM: dict[str, Value] = {
    "s": {"S": "hello"},
    "n": {"N": "12"},
    "b": {"B": "AQID"},
    "yes": {"BOOL": True},
    "nil": {"NULL": True},
    "ss": {"SS": ["x", "y"]},
    "ns": {"NS": ["1", "2"]},
    "bs": {"BS": ["AQ==", "Ag=="]},
    "l": {"L": [{"S": "zero"}, {"M": {"k": {"N": "1"}}}, {"SS": ["p", "q"]}]},
    "m": {"M": {"k": {"S": "v"}, "l": {"L": [{"N": "7"}]}}},
}


def holds(text: str, **values: Value) -> bool:
    program = compile_condition(text)
    given = {f":{name}": value for name, value in values.items()}
    program.check(given)
    return program.evaluate(ITEM, given)


def test_equality_is_by_type_and_value() -> None:
    assert holds("s = :v", v={"S": "hello"})
    assert not holds("s = :v", v={"S": "Hello"})
    assert not holds("n = :v", v={"S": "12"})
    assert holds("n <> :v", v={"S": "12"})
    assert holds("yes = :v", v={"BOOL": True})
    assert holds("yes <> :v", v={"BOOL": False})
    assert holds("nil = :v", v={"NULL": True})
    assert holds("b = :v", v={"B": "AQID"})


def test_sets_are_equal_in_any_order_at_any_depth() -> None:
    assert holds("ss = :v", v={"SS": ["y", "x"]})
    assert not holds("ss = :v", v={"SS": ["y"]})
    assert holds("l = :v", v={"L": [{"S": "zero"}, {"M": {"k": {"N": "1"}}}, {"SS": ["q", "p"]}]})
    assert holds("m = :v", v={"M": {"l": {"L": [{"N": "7"}]}, "k": {"S": "v"}}})
    assert not holds("m = :v", v={"M": {"k": {"S": "v"}}})


def test_numbers_compare_as_numbers() -> None:
    assert holds("n > :v", v={"N": "9"})
    assert holds("n < :v", v={"N": "100"})
    assert holds("n >= :v AND n <= :v", v={"N": "12"})
    assert holds("n > :v", v={"N": "-13"})
    assert holds("n < :v", v={"N": "12.00000000000000000000000000000000001"})


def test_strings_and_binaries_compare_as_bytes() -> None:
    assert holds("s > :v", v={"S": "Z"})
    assert holds("s < :v", v={"S": "\u00e9"})
    program = compile_condition("s < :v")
    # Code points beyond the first plane sort after all others in UTF-8, but not in UTF-16.
    assert program.evaluate({"s": {"S": "\uffff"}}, {":v": {"S": "\U0001f600"}})
    assert holds("b > :v", v={"B": "AQI="})
    assert holds("b < :v", v={"B": "/w=="})


def test_an_order_needs_two_values_of_one_type() -> None:
    assert not holds("s > :v", v={"N": "0"})
    assert not holds("s <= :v", v={"N": "0"})
    assert not holds("n BETWEEN :v AND :v", v={"S": "12"})
    assert not holds("l < :v", v={"S": "x"})
    assert not holds("yes < nil")


def test_what_is_missing_equals_nothing() -> None:
    assert not holds("zz = :v", v={"S": "x"})
    assert holds("zz <> :v", v={"S": "x"})
    assert holds("zz <> yy")
    assert holds("NOT zz = :v", v={"S": "x"})
    assert not holds("zz < :v OR zz >= :v", v={"S": "x"})
    assert not holds("zz BETWEEN :v AND :v", v={"S": "x"})
    assert not holds("zz IN (:v)", v={"S": "x"})
    assert not holds("contains(zz, :v) OR begins_with(zz, :v) OR size(zz) >= :n", v={"S": ""}, n={"N": "0"})
    assert compile_condition("#s <> :v", {"#s": "status"}).evaluate({}, {":v": {"S": "x"}})


def test_paths_go_into_maps_and_lists() -> None:
    assert holds("m.k = :v", v={"S": "v"})
    assert holds("m.l[0] = :v", v={"N": "7"})
    assert holds("l[1].k = :v", v={"N": "1"})
    assert not holds("attribute_exists(l[3])")
    assert not holds("attribute_exists(s.k) OR attribute_exists(s[0]) OR attribute_exists(m[0])")
    assert holds("attribute_exists(m.l) AND attribute_not_exists(m.l.x)")


def test_between_includes_its_bounds() -> None:
    assert holds("n BETWEEN :a AND :b", a={"N": "12"}, b={"N": "12"})
    assert holds(":x BETWEEN n AND :b", x={"N": "12"}, b={"N": "13"})
    assert not holds("n BETWEEN :a AND :b", a={"N": "13"}, b={"N": "14"})


def test_in_compares_with_each() -> None:
    assert holds("s IN (:a, n, :b)", a={"N": "1"}, b={"S": "hello"})
    assert holds("ss IN (:a)", a={"SS": ["y", "x"]})
    assert not holds("s IN (:a, zz)", a={"S": "x"})


def test_begins_with_is_for_strings_and_binaries() -> None:
    assert holds("begins_with(s, :v)", v={"S": "hell"})
    assert holds("begins_with(s, :v)", v={"S": ""})
    assert holds("begins_with(b, :v)", v={"B": "AQI="})
    assert not holds("begins_with(b, :v)", v={"B": "Ag=="})
    assert not holds("begins_with(s, :v)", v={"B": "AQ=="})
    assert not holds("begins_with(n, :v)", v={"S": "1"})


def test_contains_looks_into_strings_binaries_sets_and_lists() -> None:
    assert holds("contains(s, :v)", v={"S": "ell"})
    assert not holds("contains(s, :v)", v={"N": "1"})
    assert holds("contains(b, :v)", v={"B": "AgM="})
    assert holds("contains(ss, :v)", v={"S": "x"})
    assert not holds("contains(ss, :v)", v={"SS": ["x"]})
    assert holds("contains(ns, :v)", v={"N": "2"})
    assert not holds("contains(ns, :v)", v={"S": "2"})
    assert holds("contains(bs, :v)", v={"B": "Ag=="})
    assert holds("contains(l, :v)", v={"S": "zero"})
    assert holds("contains(l, :v)", v={"SS": ["q", "p"]})
    assert not holds("contains(m, :v)", v={"S": "k"})
    assert not holds("contains(yes, :v)", v={"S": "t"})
    assert holds("contains(:v, s)", v={"S": "oh hello"})


def test_size_counts_by_type() -> None:
    assert holds("size(s) = :v", v={"N": "5"})
    assert holds("size(b) = :v", v={"N": "3"})
    assert holds("size(ss) = :v AND size(ns) = :v AND size(bs) = :v AND size(m) = :v", v={"N": "2"})
    assert holds("size(l) > size(m)")
    assert not holds("size(n) >= :v OR size(yes) >= :v OR size(nil) >= :v", v={"N": "0"})


@pytest.mark.parametrize(("text", "length"), [("", "0"), ("é", "1"), ("日本", "2"), ("😀", "2")])
def test_size_of_a_string_is_in_utf_16_units(text: str, length: str) -> None:
    assert compile_condition("size(a) = :v").evaluate({"a": {"S": text}}, {":v": {"N": length}})


def test_attribute_type_is_by_name() -> None:
    for name, value in ITEM.items():
        (tag,) = value
        assert holds(f"attribute_type({name}, :v)", v={"S": tag})
    assert not holds("attribute_type(s, :v)", v={"S": "SS"})
    assert not holds("attribute_type(zz, :v)", v={"S": "NULL"})


def test_not_binds_tighter_than_and_and_and_tighter_than_or() -> None:
    assert holds("attribute_exists(s) OR attribute_exists(zz) AND attribute_exists(zz)")
    assert not holds("(attribute_exists(s) OR attribute_exists(zz)) AND attribute_exists(zz)")
    assert not holds("NOT attribute_exists(s) AND attribute_exists(s)")
    assert holds("NOT attribute_exists(zz) AND attribute_exists(s)")
    assert not holds("NOT (attribute_exists(zz) OR attribute_exists(s))")
    assert holds("attribute_exists(a) OR attribute_exists(z) OR attribute_exists(n)")
    assert not holds("attribute_exists(s) AND attribute_exists(n) AND attribute_exists(z)")


def test_a_tree_built_by_hand_runs_the_same() -> None:
    node = And(
        (
            Compare("=", Path(("m", "k")), Literal({"S": "v"})),
            Not(Function("attribute_exists", (Path(("zz",)),))),
            Compare(">", Function("size", (Path(("l",)),)), Literal({"N": "2"})),
        )
    )
    program = condition_from_node(node)
    program.check({})
    assert program.evaluate(ITEM, {})
    assert not program.evaluate({}, {})
    assert program.top_level_attributes == {"m", "zz", "l"}
