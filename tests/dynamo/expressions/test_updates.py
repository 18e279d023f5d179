"""What update expressions do to items, and what they refuse."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tablewright.dynamo import RequestValidationException, ValidationException
from tablewright.dynamo.expressions import compile_update

Value = dict[str, Any]
Item = dict[str, Value]

PREFIX = "Invalid UpdateExpression: "
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
MISSING = "The provided expression refers to an attribute that does not exist in the item"
BAD_PATH = "The document path provided in the update expression is invalid for update"


def strings(*texts: str) -> Value:
    return {"L": [{"S": text} for text in texts]}


def apply(text: str, item: Item, names: dict[str, str] | None = None, **values: Value) -> Item:
    program = compile_update(text, names)
    given = {f":{name}": value for name, value in values.items()}
    program.check(given)
    before = copy.deepcopy(item)
    after = program.apply(item, given)
    assert item == before, "the old item stays as it was"
    return after


def refusal(text: str, item: Item | None = None, **values: Value) -> str | None:
    with pytest.raises(ValidationException) as caught:
        apply(text, item or {}, **values)
    return caught.value.message


# -- SET -------------------------------------------------------------------------------------------


def test_set_creates_and_replaces() -> None:
    assert apply("SET a = :v, b = :w", {"a": {"N": "1"}}, v={"S": "x"}, w={"BOOL": True}) == {
        "a": {"S": "x"},
        "b": {"BOOL": True},
    }


def test_every_right_side_sees_the_old_item() -> None:
    assert apply("SET a = b, b = a", {"a": {"N": "1"}, "b": {"N": "2"}}) == {"a": {"N": "2"}, "b": {"N": "1"}}
    assert apply(
        "SET a = :v, b = a REMOVE c ADD d :n", {"a": {"N": "1"}, "c": {"N": "3"}}, v={"N": "9"}, n={"N": "1"}
    ) == {
        "a": {"N": "9"},
        "b": {"N": "1"},
        "d": {"N": "1"},
    }
    assert apply("REMOVE a SET b = a", {"a": {"N": "1"}}) == {"b": {"N": "1"}}


def test_set_goes_into_maps_and_lists_that_exist() -> None:
    item = {"m": {"M": {"x": {"M": {"y": {"N": "1"}}}, "l": strings("a", "b")}}}
    assert apply("SET m.x.y = :v, m.#n = :v, m.l[1] = :v", item, {"#n": "new"}, v={"S": "v"}) == {
        "m": {"M": {"x": {"M": {"y": {"S": "v"}}}, "l": strings("a", "v"), "new": {"S": "v"}}}
    }


@pytest.mark.parametrize("path", ["zz.a", "zz[0]", "m.zz.a", "s.a", "s[0]", "m[0]", "l.a", "l[9].a"])
def test_set_does_not_make_its_way(path: str) -> None:
    item: Item = {"m": {"M": {}}, "s": {"S": "x"}, "l": strings("a")}
    assert refusal(f"SET {path} = :v", item, v={"S": "x"}) == BAD_PATH


def test_arithmetic() -> None:
    item: Item = {"c": {"N": "10"}, "m": {"M": {"c": {"N": "1.5"}}}}
    assert apply("SET c = c + :n", item, n={"N": "5"})["c"] == {"N": "15"}
    assert apply("SET c = (:n - c)", item, n={"N": "5"})["c"] == {"N": "-5"}
    assert apply("SET c = m.c + c", item)["c"] == {"N": "11.5"}
    assert apply("SET d = if_not_exists(d, :z) + :n", item, z={"N": "0"}, n={"N": "1"})["d"] == {"N": "1"}


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [
        ("9007199254740993", "1", "9007199254740994"),
        ("0.1", "0.2", "0.3"),
        ("99999999999999999999999999999999999998", "1", "99999999999999999999999999999999999999"),
        ("1" + "0" * 125, "-" + "1" + "0" * 125, "0"),
        ("-1.5", "1.5", "0"),
        ("999999999999999999", "1", "1000000000000000000"),
        ("0." + "0" * 129 + "1", "0." + "0" * 129 + "1", "0." + "0" * 129 + "2"),
    ],
)
def test_sums_are_exact(left: str, right: str, total: str) -> None:
    assert apply("SET a = a + :n", {"a": {"N": left}}, n={"N": right}) == {"a": {"N": total}}
    assert apply("ADD a :n", {"a": {"N": left}}, n={"N": right}) == {"a": {"N": total}}


def test_sums_that_cannot_be_stored_overflow_whatever_is_wrong_with_them() -> None:
    overflow = "Number overflow. Attempting to store a number with magnitude larger than supported range"
    largest, smallest = {"N": "9" * 38 + "0" * 88}, {"N": "0." + "0" * 129 + "1"}
    assert refusal("SET a = a + :n", {"a": largest}, n=largest) == overflow
    assert refusal("ADD a :n", {"a": {"N": "1"}}, n={"N": "0." + "0" * 40 + "1"}) == overflow
    assert refusal("SET a = a - :n", {"a": {"N": smallest["N"] + "1"}}, n=smallest) == overflow


def test_list_append_joins_in_the_order_given() -> None:
    item = {"l": strings("a", "b")}
    assert apply("SET l = list_append(l, :v)", item, v=strings("c"))["l"] == strings("a", "b", "c")
    assert apply("SET l = list_append(:v, l)", item, v=strings("c"))["l"] == strings("c", "a", "b")
    text = "SET n = list_append(if_not_exists(n, :e), :v)"
    assert apply(text, item, e={"L": []}, v=strings("c"))["n"] == strings("c")


def test_if_not_exists_reads_the_item() -> None:
    assert apply("SET a = if_not_exists(a, :v)", {"a": {"N": "1"}}, v={"N": "2"}) == {"a": {"N": "1"}}
    assert apply("SET a = if_not_exists(b, a)", {"a": {"N": "1"}}) == {"a": {"N": "1"}}
    assert apply("SET a = if_not_exists(m.x, :v)", {"m": {"M": {}}}, v={"N": "2"})["a"] == {"N": "2"}


def test_what_a_value_refers_to_must_exist() -> None:
    assert refusal("SET a = b") == MISSING
    assert refusal("SET a = b.c[0] + :n", n={"N": "1"}) == MISSING
    assert refusal("SET a = list_append(b, :l)", l={"L": []}) == MISSING
    assert refusal("SET a = if_not_exists(b, c)") == MISSING


def test_what_a_value_refers_to_must_be_of_the_type_needed() -> None:
    item = {"s": {"S": "x"}}
    assert refusal("SET a = s + :n", item, n={"N": "1"}) == WRONG_TYPE
    assert refusal("SET a = :n - s", item, n={"N": "1"}) == WRONG_TYPE
    assert refusal("SET a = list_append(s, :l)", item, l={"L": []}) == WRONG_TYPE
    assert refusal("SET a = list_append(:l, s)", item, l={"L": []}) == WRONG_TYPE


# -- lists -----------------------------------------------------------------------------------------


def test_an_index_past_the_end_appends_in_the_order_of_the_indexes() -> None:
    item = {"l": strings("a", "b", "c")}
    assert apply("SET l[5] = :v", item, v={"S": "x"})["l"] == strings("a", "b", "c", "x")
    assert apply("SET l[9] = :v, l[4] = :w", item, v={"S": "x"}, w={"S": "y"})["l"] == (
        strings("a", "b", "c", "y", "x")
    )
    assert apply("SET l[0] = :v", {"l": {"L": []}}, v={"S": "x"})["l"] == strings("x")


def test_positions_are_those_before_the_update() -> None:
    item = {"l": strings("a", "b", "c", "d")}
    assert apply("REMOVE l[0], l[2]", item)["l"] == strings("b", "d")
    assert apply("REMOVE l[2], l[0]", item)["l"] == strings("b", "d")
    assert apply("REMOVE l[0] SET l[1] = :v, l[7] = :v", item, v={"S": "x"})["l"] == strings("x", "c", "d", "x")
    assert apply("SET l[1] = l[0], l[0] = l[1]", item)["l"] == strings("b", "a", "c", "d")
    nested = {"l": {"L": [{"M": {"k": {"N": "1"}}}, {"M": {"k": {"N": "2"}}}]}}
    assert apply("REMOVE l[0] SET l[1].k = :v", nested, v={"N": "9"}) == {"l": {"L": [{"M": {"k": {"N": "9"}}}]}}


# -- REMOVE, ADD, DELETE ---------------------------------------------------------------------------


def test_remove_forgives_what_is_not_there_but_not_a_missing_way_to_it() -> None:
    item: Item = {"a": {"N": "1"}, "m": {"M": {"k": {"S": "v"}}}, "l": strings("a")}
    assert apply("REMOVE a, zz, m.zz, l[5]", item) == {"m": item["m"], "l": item["l"]}
    assert apply("REMOVE m.k, l[0]", item) == {"a": {"N": "1"}, "m": {"M": {}}, "l": {"L": []}}
    assert refusal("REMOVE zz.a", item) == BAD_PATH
    assert refusal("REMOVE a.b", item) == BAD_PATH


def test_add_counts_and_unites() -> None:
    item: Item = {"n": {"N": "1"}, "ss": {"SS": ["a", "b"]}, "ns": {"NS": ["1"]}, "m": {"M": {}}}
    assert apply("ADD n :v", item, v={"N": "-3"})["n"] == {"N": "-2"}
    assert apply("ADD zz :v", item, v={"N": "3"})["zz"] == {"N": "3"}
    assert apply("ADD ss :v", item, v={"SS": ["b", "c"]})["ss"] == {"SS": ["a", "b", "c"]}
    assert apply("ADD ns :v", item, v={"NS": ["1", "2"]})["ns"] == {"NS": ["1", "2"]}
    assert apply("ADD zz :v", item, v={"BS": ["AQ=="]})["zz"] == {"BS": ["AQ=="]}
    assert apply("ADD m.c :v", item, v={"N": "1"})["m"] == {"M": {"c": {"N": "1"}}}


def test_delete_takes_elements_out_and_the_set_with_the_last() -> None:
    item: Item = {"ss": {"SS": ["a", "b"]}, "m": {"M": {"ns": {"NS": ["1"]}}}}
    assert apply("DELETE ss :v", item, v={"SS": ["b", "c"]})["ss"] == {"SS": ["a"]}
    assert "ss" not in apply("DELETE ss :v", item, v={"SS": ["b", "a"]})
    assert apply("DELETE m.ns :v", item, v={"NS": ["1"]})["m"] == {"M": {}}
    assert apply("DELETE zz :v", item, v={"SS": ["a"]}) == item


def test_add_and_delete_need_the_same_type() -> None:
    item: Item = {"n": {"N": "1"}, "ss": {"SS": ["a"]}}
    assert refusal("ADD ss :v", item, v={"N": "1"}) == WRONG_TYPE
    assert refusal("ADD n :v", item, v={"SS": ["a"]}) == WRONG_TYPE
    assert refusal("DELETE ss :v", item, v={"NS": ["1"]}) == WRONG_TYPE
    assert refusal("ADD zz.a :v", item, v={"N": "1"}) == BAD_PATH
    assert refusal("DELETE n.a :v", item, v={"SS": ["1"]}) == BAD_PATH


def test_runtime_errors_are_not_counted_and_static_ones_are() -> None:
    with pytest.raises(ValidationException) as caught:
        apply("SET a = b", {})
    assert not isinstance(caught.value, RequestValidationException)
    with pytest.raises(RequestValidationException):
        apply("SET a = :v", {})


# -- checks with values ----------------------------------------------------------------------------


def test_values_must_be_defined() -> None:
    undefined = PREFIX + "An expression attribute value used in expression is not defined; attribute value: "
    assert refusal("SET a = :v") == undefined + ":v"
    assert refusal("SET a = if_not_exists(b, :v) + :w", w={"N": "1"}) == undefined + ":v"
    assert refusal("SET a = :v, a.b = :w", v={"N": "1"}) == undefined + ":w"


@pytest.mark.parametrize(
    ("text", "problem", "one", "two"),
    [
        ("SET a = :v, a = :v", "overlap", "[a]", "[a]"),
        ("SET a = :v, a.b = :v", "overlap", "[a]", "[a, b]"),
        ("SET a.b = :v REMOVE a", "overlap", "[a, b]", "[a]"),
        ("SET a.#b[1] = :v REMOVE a.b[1].c", "overlap", "[a, b, [1]]", "[a, b, [1], c]"),
        ("SET a[0] = :v REMOVE a.b", "conflict", "[a, [0]]", "[a, b]"),
        ("SET a[0] = :v REMOVE a.b, c, c", "overlap", "[c]", "[c]"),
    ],
)
def test_paths_must_not_get_in_each_others_way(text: str, problem: str, one: str, two: str) -> None:
    with pytest.raises(ValidationException) as caught:
        compile_update(text, {"#b": "b"}).check({":v": {"S": "x"}})
    assert caught.value.message == (
        f"{PREFIX}Two document paths {problem} with each other; must remove or rewrite one of these paths; "
        f"path one: {one}, path two: {two}"
    )


def test_paths_side_by_side_are_fine() -> None:
    compile_update("SET a.b = :v, a.c = :v, b[0] = :v, b[1] = a.b REMOVE c").check({":v": {"S": "x"}})


@pytest.mark.parametrize(
    ("tag", "value", "name"),
    [
        ("S", "x", "STRING"),
        ("B", "AQ==", "BINARY"),
        ("BOOL", True, "BOOL"),
        ("NULL", True, "NULL"),
        ("L", [], "LIST"),
        ("M", {}, "MAP"),
    ],
)
def test_add_and_delete_take_numbers_and_sets_only(tag: str, value: object, name: str) -> None:
    problem = PREFIX + "Incorrect operand type for operator or function; operator: "
    allowed = "typeSet: ALLOWED_FOR_ADD_OPERAND"
    assert refusal("ADD a :v", v={tag: value}) == f"{problem}ADD, operand type: {name}, {allowed}"
    assert refusal("DELETE a :v", v={tag: value}) == f"{problem}DELETE, operand type: {name}, {allowed}"


def test_delete_takes_no_number() -> None:
    assert refusal("DELETE a :v", v={"N": "1"}) == (
        PREFIX + "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, "
        "typeSet: ALLOWED_FOR_ADD_OPERAND"
    )


def test_functions_and_arithmetic_want_their_operands() -> None:
    wrong_type = PREFIX + "Incorrect operand type for operator or function; operator or function: "
    wrong_count = PREFIX + "Incorrect number of operands for operator or function; operator or function: "
    assert refusal("SET a = list_append(a, :v)", v={"S": "x"}) == wrong_type + "list_append, operand type: S"
    assert refusal("SET a = a + :v", v={"S": "x"}) == wrong_type + "+, operand type: S"
    assert refusal("SET a = :v - a", v={"SS": ["x"]}) == wrong_type + "-, operand type: SS"
    assert refusal("SET a = list_append(a)") == wrong_count + "list_append, number of operands: 1"
    assert refusal("SET a = if_not_exists(a, b, c)") == wrong_count + "if_not_exists, number of operands: 3"
    assert refusal("SET a = if_not_exists(:v, a)", v={"S": "x"}) == (
        PREFIX + "Operator or function requires a document path; operator or function: if_not_exists"
    )


# -- what the caller asks --------------------------------------------------------------------------


def test_a_program_tells_what_it_uses_and_touches() -> None:
    program = compile_update("SET #a.b = c + :n, d = :v REMOVE e ADD f :n", {"#a": "a"})
    assert program.used_names == {"#a"}
    assert program.used_values == {":n", ":v"}
    assert program.top_level_attributes == {"a", "d", "e", "f"}
    assert program.nested_attributes == {"a"}


def test_static_types_are_those_known_without_the_item() -> None:
    program = compile_update(
        "SET a = :v, b = c, d = c + :n, e = if_not_exists(e, :v), f.g = :v, h = list_append(h, i) ADD j :n REMOVE k"
    )
    assert program.static_types({":v": {"S": "x"}, ":n": {"N": "1"}}) == {
        "a": "S",
        "d": "N",
        "e": "S",
        "h": "L",
        "j": "N",
    }


def test_updated_attributes_are_the_touched_paths_only() -> None:
    old: Item = {
        "a": {"N": "1"},
        "b": {"N": "2"},
        "m": {"M": {"x": {"N": "1"}, "y": {"N": "2"}}},
        "l": strings("p", "q", "r"),
    }
    program = compile_update("SET a = :v, m.x = :v, l[2] = :v, l[0] = :v REMOVE b, zz")
    new = program.apply(old, {":v": {"S": "v"}})
    assert program.updated(old) == {
        "a": {"N": "1"},
        "b": {"N": "2"},
        "m": {"M": {"x": {"N": "1"}}},
        "l": strings("p", "r"),
    }
    assert program.updated(new) == {"a": {"S": "v"}, "m": {"M": {"x": {"S": "v"}}}, "l": strings("v", "v")}
    assert compile_update("REMOVE b").updated({"a": {"N": "1"}}) == {}


def test_an_update_that_only_removes_says_so() -> None:
    assert compile_update("REMOVE a, b.c DELETE d :v").only_removes
    assert not compile_update("REMOVE a ADD b :v").only_removes
    assert not compile_update("REMOVE a SET b = :v").only_removes


def test_old_and_new_items_share_no_container_that_was_written() -> None:
    old: Item = {"m": {"M": {"l": strings("a")}}, "untouched": {"M": {}}}
    program = compile_update("SET m.l[0] = :v")
    new = program.apply(old, {":v": {"S": "b"}})
    assert new["m"] is not old["m"]
    assert new["m"]["M"]["l"]["L"] is not old["m"]["M"]["l"]["L"]
    assert new["untouched"] is old["untouched"]
    again = program.apply(new, {":v": {"S": "c"}})
    assert (old["m"]["M"]["l"], new["m"]["M"]["l"], again["m"]["M"]["l"]) == (
        strings("a"),
        strings("b"),
        strings("c"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "SET a = list_append(list_append(l, :v), :v)",
        "SET a = list_append(:v, list_append(l, :v))",
        "SET a = if_not_exists(list_append(l, :v), :v)",
        "SET a = if_not_exists(a, list_append(l, :v))",
        "SET a = list_append(l, :v) + :v",
        "SET a = :v - list_append(l, :v)",
        "SET a = list_append(list_append(#undefined, :undefined), :v)",
    ],
)
def test_list_append_is_not_part_of_another_operand(text: str) -> None:
    assert refusal(text, v={"L": []}) == (
        PREFIX + "The function is not allowed to be used this way in an expression; function: list_append"
    )


def test_if_not_exists_may_be_part_of_another_operand() -> None:
    compile_update("SET a = list_append(if_not_exists(l, :v), if_not_exists(m, :v))").check({":v": {"L": []}})
    compile_update("SET a = if_not_exists(a, :v) + if_not_exists(b, if_not_exists(c, :v))").check({":v": {"N": "1"}})


def test_if_not_exists_takes_two_operands_that_differ() -> None:
    for text in ("SET a = if_not_exists(b.c, b.c)", "SET a = if_not_exists(b.c, #b.c) + :v"):
        with pytest.raises(ValidationException) as caught:
            compile_update(text, {"#b": "b"}).check({":v": {"N": "1"}})
        assert caught.value.message == (
            PREFIX + "The first operand must be distinct from the remaining operands for this operator or function; "
            "operator: if_not_exists, first operand: [b, c]"
        )
    compile_update("SET a = list_append(b, b)").check({})
