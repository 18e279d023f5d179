"""Keys by state, and keys of tables that exist already: raw templates, forms, and which template makes a key."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tablewright.model import Keys, ModelError, Template, TemplateError, first_of, raw, sharded, when
from tablewright.model.keys.key_rules import KeyRule


def text(value: str) -> dict[str, Any]:
    return {"S": value}


def num(value: int) -> dict[str, Any]:
    return {"N": str(value)}


# -- raw templates --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "separator", "values", "key"),
    [
        ("$mall#city_{city}#street_{street}", "#", {"city": "new york", "street": "5th ave"},
         "$mall#city_new york#street_5th ave"),
        ("{tenant}|{user}", "|", {"tenant": "a b", "user": "x#y"}, "a b|x#y"),
        ("user_{user}:{day}", ":", {"user": "ada", "day": "2026-01-05"}, "user_ada:2026-01-05"),
        ("FILE/{path:rest}", "/", {"path": "a/b c/d#e"}, "FILE/a/b c/d#e"),
        ("{a}-{b}#{c}", "#", {"a": "1", "b": "2-3", "c": "4"}, "1-2-3#4"),
    ],
)  # fmt: skip
def test_a_raw_key_has_its_values_as_they_are(template: str, separator: str, values: dict[str, str], key: str) -> None:
    rule = raw(template, separator)
    item = {name: text(value) for name, value in values.items()}
    assert rule.template.render(item) == key
    assert rule.parse(key) == item
    assert rule.matches(key)


@pytest.mark.parametrize(
    ("template", "separator", "name", "value", "refused"),
    [
        ("{a}|{b}", "|", "a", "x|y", "|"),
        ("{a}|{b}", "|", "b", "x|y", "|"),
        ("A#{a}", "#", "a", "x#y", "#"),
        ("{a}-{b}#{c}", "#", "a", "1-2", "-"),
        ("{a}-{b}#{c}", "#", "c", "1#2", "#"),
    ],
)
def test_a_value_that_would_end_early_is_refused(
    template: str, separator: str, name: str, value: str, refused: str
) -> None:
    item = {each: text("x") for each in "abc"} | {name: text(value)}
    with pytest.raises(TemplateError, match=rf"{name} is '.*', and '[{refused}]' ends a value in this raw key"):
        raw(template, separator).template.render(item)


SHAPES = [("{a}|{b}|{c}", "|"), ("A#{a}#B#{b}#{c}", "#"), ("{a}/x{b}#{c:rest}", "#"), ("{a}::{b}--{c}", ":")]
LETTERS = st.text(st.sampled_from("ab|#:/-x $\x00\U0010ffff"), max_size=5)


@given(st.sampled_from(SHAPES), LETTERS, LETTERS, LETTERS, LETTERS)
def test_raw_keys_are_read_back_or_refused_and_their_prefixes_are_exact(
    shape: tuple[str, str], a: str, b: str, c: str, other: str
) -> None:
    template = Template(*shape)
    values = {"a": text(a), "b": text(b), "c": text(c)}
    try:
        key = template.render(values)
    except TemplateError:
        assume(False)
    assert key is not None
    assert template.parse(key) == values
    try:
        prefix, missing = template.prefix({"a": text(other)})
    except TemplateError:
        assume(False)
    assert missing is not None
    assert missing.name == "b"
    assert key.startswith(prefix) == (a == other)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: raw("{a}{b}"), "nothing is between {a} and {b}"),
        (lambda: raw("{a:rest}#{b}"), "takes the rest of the key, so it must be at its end"),
        (lambda: raw("{a}[#{b}]"), "a raw template has no optional part; use first_of"),
        (lambda: raw("{a}", "##"), "use one character"),
        (lambda: raw("$#{a}"), "begins like the keys that the store reserves"),
        (lambda: raw(when("A", x=1)), r"raw\(...\) takes a template as text; write when\(raw"),  # type: ignore[arg-type]
        (lambda: Template("A#{a:rest}"), "rest is a format of raw templates"),
        (lambda: Template("A b#{a}"), r"write raw\(...\) around the template"),
    ],
)
def test_a_raw_template_that_could_not_be_read_back_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_a_raw_key_is_never_one_of_the_stores_own() -> None:
    with pytest.raises(TemplateError, match="reserves for itself"):
        raw("{a}|{b}", "|").template.render({"a": text("$#unique"), "b": text("x")})
    assert not raw("{a}|{b}", "|").matches("$#unique|x")


# -- forms ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "value", "key", "back"),
    [
        ("{a:lower}", text("Ada Lovelace"), "ada$`lovelace", text("ada lovelace")),
        ("{a:upper}", text("ab"), "AB", text("AB")),
        ("{a:-04}", num(7), "9992", num(7)),
        ("{a:-4}", num(0), "9999", num(0)),
        ("{a}", {"BOOL": True}, "true", text("true")),
        ("{a:Y|N}", {"BOOL": False}, "N", {"BOOL": False}),
        ("{a:minute}", text("2026-01-05T10:11:12.000000Z"), "2026-01-05T10:11", text("2026-01-05T10:11")),
        ("{a:second}", text("2026-01-05T10:11:12.000000Z"), "2026-01-05T10:11:12", text("2026-01-05T10:11:12")),
    ],
)
def test_forms_of_values(template: str, value: dict[str, Any], key: str, back: dict[str, Any]) -> None:
    assert Template(template).render({"a": value}) == key
    assert Template(template).parse(key) == {"a": back}


@given(st.integers(0, 9999), st.integers(0, 9999))
def test_descending_numbers_sort_the_other_way(one: int, other: int) -> None:
    template = Template("A#{n:-04}")
    first, second = template.render({"n": num(one)}), template.render({"n": num(other)})
    assert first is not None
    assert second is not None
    assert (first < second) == (one > other)


@pytest.mark.parametrize("key", ["Ada", "aDa"])
def test_a_key_in_another_case_is_not_of_the_template(key: str) -> None:
    assert Template("{a:lower}").parse(key) is None


@pytest.mark.parametrize(
    ("template", "value", "message"),
    [
        ("{a:Y|N}", text("Y"), "a has the type S, and a boolean is needed"),
        ("{a:-04}", num(10000), "not a whole number of up to 4 digits"),
    ],
)
def test_a_value_that_does_not_fit_its_form_is_refused(template: str, value: dict[str, Any], message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        Template(template).render({"a": value})


def test_the_two_texts_of_a_boolean_differ() -> None:
    with pytest.raises(TemplateError, match="has the same text for true and false"):
        Template("{a:Y|Y}")


# -- states ---------------------------------------------------------------------------------------------------------

STATES = first_of(when("DRAFT#{author}", state="draft"), when("LIVE", state="live", hidden=None), "OTHER#{author}")


@pytest.mark.parametrize(
    ("item", "key"),
    [
        ({"state": text("draft")}, "DRAFT#ada"),
        ({"state": text("live")}, "LIVE"),
        ({"state": text("live"), "hidden": {"NULL": True}}, "LIVE"),
        ({"state": text("live"), "hidden": text("x")}, "OTHER#ada"),
        ({}, "OTHER#ada"),
    ],
)
def test_the_first_state_that_holds_makes_the_key(item: dict[str, Any], key: str) -> None:
    assert STATES.render({"author": text("ada"), **item}) == key
    assert STATES.parse(key) is not None


def test_without_a_last_resort_other_states_have_no_key() -> None:
    assert first_of(when("A", x=1), when("B", x=None)).render({"x": num(2)}) is None


@pytest.mark.parametrize(
    ("known", "templates"),
    [
        ({}, ["DRAFT#{author}", "LIVE", "OTHER#{author}"]),
        ({"state": text("draft")}, ["DRAFT#{author}"]),
        ({"state": text("live")}, ["LIVE", "OTHER#{author}"]),
        ({"state": text("live"), "hidden": None}, ["LIVE"]),
        ({"state": text("gone")}, ["OTHER#{author}"]),
    ],
)
def test_which_templates_are_possible_where_some_values_are_known(known: dict[str, Any], templates: list[str]) -> None:
    assert [case.template.text for case in STATES.possible(known)] == templates


def test_a_key_with_several_templates_overlaps_what_any_of_them_does() -> None:
    for other in ("DRAFT#{x}", "LIVE", "OTHER#{x}"):
        assert STATES.overlaps(Keys(PK=other)["PK"])
    assert not STATES.overlaps(Keys(PK="DRAFT")["PK"])
    assert sharded(STATES, 4).overlaps(Keys(PK="LIVE#{x}")["PK"])
    assert not sharded(STATES, 4).overlaps(Keys(PK="LIVE")["PK"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: first_of("A"), "needs at least two templates"),
        (lambda: first_of("A", "B"), "'A' has no state, so nothing behind it is ever used"),
        (lambda: first_of(when("A", x=1), sharded("B", 2)), r"write sharded\(first_of\(...\), n\) around it"),
        (lambda: when(STATES, x=1), "give each template its state"),
        (lambda: when("A", x=[]), r"when\(x=...\) needs a value"),
    ],
)
def test_states_that_contradict_each_other_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_states_of_nested_calls_add_up() -> None:
    rule: KeyRule = when(when("A", x=1), y=None)
    assert rule.when == {"x": (num(1),), "y": (None,)}
