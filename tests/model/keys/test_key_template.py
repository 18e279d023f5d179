"""The laws of the key codec, one by one, and the seeds' keys to the letter."""

import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tablewright.model import Template, TemplateError
from tablewright.model.keys.key_forms import Field, decode_number, encode_number, escape, unescape
from tablewright.model.keys.key_template import PAST

# Surrogates are no characters: UTF-8 cannot hold them, nor can DynamoDB.
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
# What attacks a codec: separators, escapes and their letters, the edges of ASCII and of Unicode, in small alphabets.
HOSTILE_TEXT = st.text(st.sampled_from('#$@cd`a \x00\x1f!"%~\x7f\x80\uffff\U00010000\U0010ffff'), max_size=6)
TEXT = st.one_of(HOSTILE_TEXT, ANY_TEXT)
PLAIN_TEXT = st.text(st.characters(min_codepoint=0x25, exclude_categories=["Cs"]), max_size=8)

# All that DynamoDB can store: 38 digits, from 1E-130 to 9.99...E+125.
NUMBERS = st.one_of(
    st.builds(
        lambda negative, digits, exponent: Decimal((int(negative), tuple(map(int, str(digits))), exponent)),
        st.booleans(),
        st.integers(0, 10**38 - 1),
        st.integers(-130, 88),
    ),
    st.integers(-(10**6), 10**6).map(Decimal),
    st.decimals(-1000, 1000, allow_nan=False, places=3),
)


def text(value: str) -> dict[str, Any]:
    return {"S": value}


def num(value: Decimal | int) -> dict[str, Any]:
    return {"N": f"{value:f}" if isinstance(value, Decimal) else str(value)}


def rendered(template: Template, **values: Any) -> str:
    key = template.render(values)
    assert key is not None
    return key


# -- text -----------------------------------------------------------------------------------------------------------


@given(TEXT)
def test_escaped_text_comes_back(value: str) -> None:
    assert unescape(escape(value)) == value


@given(TEXT)
def test_escaped_text_has_neither_separator_nor_a_lone_escape(value: str) -> None:
    assert re.fullmatch(r"(?:[^\x00-\x24]|\$[@-d])*", escape(value), re.DOTALL)


@given(TEXT, TEXT)
def test_escaped_text_sorts_as_it_did(one: str, other: str) -> None:
    assert (escape(one) < escape(other)) == (one < other)


@given(TEXT, TEXT)
def test_code_points_sort_as_the_bytes_that_dynamodb_compares(one: str, other: str) -> None:
    assert (escape(one).encode() < escape(other).encode()) == (one < other)


@given(PLAIN_TEXT)
def test_plain_text_stays_as_it_is(value: str) -> None:
    assert escape(value) == value


# -- numbers --------------------------------------------------------------------------------------------------------


@given(NUMBERS)
@example(Decimal(0))
@example(Decimal("-0"))
@example(Decimal("1E-130"))
@example(Decimal("-1E-130"))
@example(Decimal("9" * 38 + "E+88"))
@example(Decimal("-" + "9" * 38 + "E+88"))
@example(Decimal("12345678901234567890123456789012345678"))
def test_a_number_comes_back(number: Decimal) -> None:
    assert decode_number(encode_number(number)) == number


@given(NUMBERS, NUMBERS)
@example(Decimal("-1.5"), Decimal("-1"))
@example(Decimal("-10"), Decimal("-9"))
@example(Decimal("0.001"), Decimal("-0.001"))
@example(Decimal("1E-130"), Decimal(0))
@example(Decimal("1"), Decimal("1.00"))
def test_numbers_sort_by_value(one: Decimal, other: Decimal) -> None:
    assert (encode_number(one) < encode_number(other)) == (one < other)
    assert (encode_number(one) == encode_number(other)) == (one == other)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_refused(number: str) -> None:
    with pytest.raises(TemplateError, match="is not a finite number, so it cannot be part of a key"):
        encode_number(Decimal(number))


@pytest.mark.parametrize("number", ["1E+500", "1E-600"])
def test_a_number_beyond_all_others_is_refused(number: str) -> None:
    with pytest.raises(TemplateError, match="is out of the range of DynamoDB's numbers"):
        encode_number(Decimal(number))


# -- templates ------------------------------------------------------------------------------------------------------

THREE = Template("ONE#{a}#TWO#{b}#{c}")
MIXED = Template("EVENT#{a}#{n:number}#{w:04}")
OPTIONAL = Template("SUBJECT#{a}[#{b}#{n:number}]")


@given(TEXT, TEXT, TEXT)
def test_a_key_of_texts_comes_back(a: str, b: str, c: str) -> None:
    values = {"a": text(a), "b": text(b), "c": text(c)}
    assert THREE.parse(rendered(THREE, **values)) == values


@given(st.tuples(TEXT, TEXT, TEXT), st.tuples(TEXT, TEXT, TEXT))
def test_keys_are_equal_and_sort_as_the_tuples_of_their_values(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    first, second = (rendered(THREE, **dict(zip("abc", map(text, values), strict=True))) for values in (one, other))
    assert (first == second) == (one == other)
    assert (first < second) == (one < other)


WIDTH = st.integers(0, 9999)


@given(TEXT, NUMBERS, WIDTH)
def test_a_key_of_texts_and_numbers_comes_back(a: str, n: Decimal, w: int) -> None:
    parsed = MIXED.parse(rendered(MIXED, a=text(a), n=num(n), w=num(w)))
    assert parsed is not None
    assert parsed["a"] == text(a)
    assert Decimal(parsed["n"]["N"]) == n
    assert parsed["w"] == num(w)


@given(st.tuples(HOSTILE_TEXT, NUMBERS, WIDTH), st.tuples(HOSTILE_TEXT, NUMBERS, WIDTH), st.booleans())
def test_keys_of_texts_and_numbers_sort_as_tuples(
    one: tuple[str, Decimal, int], other: tuple[str, Decimal, int], same_text: bool
) -> None:
    if same_text:
        other = (one[0], *other[1:])
    first, second = (rendered(MIXED, a=text(a), n=num(n), w=num(w)) for a, n, w in (one, other))
    assert (first == second) == (one == other)
    assert (first < second) == (one < other)


OPTIONAL_VALUES = st.tuples(HOSTILE_TEXT, st.one_of(st.just(()), st.tuples(HOSTILE_TEXT, NUMBERS)))


def optional_item(values: tuple[str, tuple[()] | tuple[str, Decimal]]) -> dict[str, Any]:
    a, rest = values
    return {"a": text(a), **({"b": text(rest[0]), "n": num(rest[1])} if rest else {})}


@given(OPTIONAL_VALUES)
def test_a_key_with_an_optional_part_comes_back(values: tuple[str, tuple[()] | tuple[str, Decimal]]) -> None:
    item = optional_item(values)
    parsed = OPTIONAL.parse(rendered(OPTIONAL, **item))
    assert parsed is not None
    assert parsed.keys() == item.keys()
    assert parsed["a"] == item["a"]


@given(OPTIONAL_VALUES, OPTIONAL_VALUES)
def test_a_key_without_its_optional_part_sorts_before_those_with_one(
    one: tuple[str, tuple[()] | tuple[str, Decimal]], other: tuple[str, tuple[()] | tuple[str, Decimal]]
) -> None:
    first, second = rendered(OPTIONAL, **optional_item(one)), rendered(OPTIONAL, **optional_item(other))
    assert (first == second) == (one == other)
    assert (first < second) == (one < other)


def test_an_optional_part_that_is_there_in_part_is_left_out() -> None:
    assert OPTIONAL.render({"a": text("x"), "b": text("y")}) == "SUBJECT#x"


@given(TEXT, TEXT, TEXT, TEXT)
def test_a_prefix_has_exactly_the_keys_of_its_values(a: str, b: str, c: str, given_a: str) -> None:
    prefix, missing = THREE.prefix({"a": text(given_a)})
    assert missing == Field("b", "text")
    assert rendered(THREE, a=text(a), b=text(b), c=text(c)).startswith(prefix) == (a == given_a)


@given(HOSTILE_TEXT, HOSTILE_TEXT, HOSTILE_TEXT, HOSTILE_TEXT)
def test_past_is_above_all_that_goes_on_behind_a_value_and_below_the_next_value(
    value: str, other: str, b: str, c: str
) -> None:
    assume(other != value)
    past = "ONE#" + escape(value) + PAST
    assert rendered(THREE, a=text(value), b=text(b), c=text(c)) < past
    assert (rendered(THREE, a=text(other), b=text(b), c=text(c)) < past) == (other < value)
    assert THREE.parse(past + "#TWO##") is None


@given(NUMBERS, NUMBERS, WIDTH)
def test_past_divides_numbers_as_well(value: Decimal, other: Decimal, w: int) -> None:
    assume(other != value)
    past = "EVENT#a#" + encode_number(value) + PAST
    assert rendered(MIXED, a=text("a"), n=num(value), w=num(w)) < past
    assert (rendered(MIXED, a=text("a"), n=num(other), w=num(w)) < past) == (other < value)


def test_past_of_a_value_at_the_end_of_a_key() -> None:
    template = Template("A#{a}")
    keys = [rendered(template, a=text(value)) for value in ("v", "v\x00", "v#", "v$", "va")]
    assert sorted([*keys, "A#v" + PAST]) == ["A#v", "A#v$", "A#v$@", "A#v$c", "A#v$d", "A#va"]


@given(st.one_of(TEXT, st.from_regex(r"(ONE|EVENT|SUBJECT)#[#$@a0-9~]*", fullmatch=True)))
def test_only_keys_that_would_be_made_are_taken(key: str) -> None:
    for template in (THREE, MIXED, OPTIONAL):
        parsed = template.parse(key)
        assert parsed is None or template.render(parsed) == key


@pytest.mark.parametrize(
    "key",
    [
        "EVENT#a#5#12",
        "EVENT#a#5#00012",
        "EVENT#a#5#\u0660\u0660\u0660\u0667",
        "EVENT#a#65010#0001",
        "EVENT#a b#5#0001",
        "EVENT#$z#5#0001",
    ],
)
def test_a_foreign_key_is_not_taken(key: str) -> None:
    assert MIXED.parse(key) is None


# -- overlapping templates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("METADATA", "METADATA", True),
        ("METADATA", "FEEDBACK#{id}", False),
        ("TICKET#{id}", "SESSION#{id}", False),
        ("TICKET#{id}", "TICKET#{id}#X", False),
        ("TICKET#{id}", "TICKET#{id}[#{part}]", True),
        ("{user}", "TICKET", True),
        ("{user}", "TICKET#{id}", False),
        ("{user}#{at:04}", "TICKET#{id}", True),
        ("A#{at:04}", "A#0007", True),
        ("A#{at:04}", "A#007", False),
        ("A#{at:04}", "A#{at:05}", False),
        ("A#{at:04}", "A#{at:4}", True),
        ("A#{at:04}", "A#{at:date}", False),
        ("A#{at:date}", "A#2025-11-18", True),
        ("A#{at:date}", "A#{name}", True),
        ("A#{at:number}", "A#{name}", True),
        ("A#{at:number}", "A#{at:date}", False),
        ("A#X{name}", "A#XY{name}", True),
        ("A#X{n:04}", "A#XY{name}", False),
        ("A#X{name}", "A#X", True),
        ("A#X{n:04}", "A#X", False),
    ],
)
def test_templates_that_can_make_the_same_key_overlap(one: str, other: str, expected: bool) -> None:
    assert Template(one).overlaps(Template(other)) is expected
    assert Template(other).overlaps(Template(one)) is expected


SHAPES = ["{a}", "A{a}", "A#{a}", "A#{a}[#{b}]", "A#{n:02}", "{a}#{b}", "A#{n:number}"]
OTHER_SHAPES = ["{x}", "A{x}", "A#{x}", "A#{x}#{y}", "A#{x:02}", "{x}#{y}[#{z}]", "A#{x:number}", "A#"]


@given(st.sampled_from(SHAPES), TEXT, TEXT, WIDTH)
def test_a_key_of_two_templates_is_an_overlap(template: str, a: str, b: str, n: int) -> None:
    first = Template(template)
    assume(a or template != "{a}")
    key = rendered(first, a=text(a), b=text(b), n=num(n % 100))
    for other in map(
        Template, ["{x}", "A{x}", "A#{x}", "A#{x}#{y}", "A#{x:02}", "{x}#{y}[#{z}]", "A#{x:number}", "A#"]
    ):
        if other.parse(key) is not None:
            assert first.overlaps(other)
            assert other.overlaps(first)


# -- the seeds' keys ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "values", "key"),
    [
        ("TICKET#{ticket_id}", {"ticket_id": text("tkt_123")}, "TICKET#tkt_123"),
        ("METADATA", {}, "METADATA"),
        ("STATUS#{status}#{at}", {"status": text("OPEN"), "at": text("2025-11-18T10:00:00Z")},
         "STATUS#OPEN#2025-11-18T10:00:00Z"),
        ("EVENT#{day}#{number:04}", {"day": text("2025-11-18"), "number": num(7)}, "EVENT#2025-11-18#0007"),
        ("EVENT#{at:date}#{n:03}", {"at": text("2025-11-18T23:59:59.999999Z"), "n": num(1)}, "EVENT#2025-11-18#001"),
        ("{scheduledFor:013}#{callId}", {"scheduledFor": num(1762000000000), "callId": text("call-9")},
         "1762000000000#call-9"),
        ("{scheduledFor:013}#{callId}", {"scheduledFor": num(1762000), "callId": text("call-9")},
         "0000001762000#call-9"),
        ("{userId}#{status}", {"userId": text("u-1"), "status": text("SCHEDULED")}, "u-1#SCHEDULED"),
        ("CUSTOMER#{c}#PROGRAM#{p}#MARKETPLACE#{m}", {"c": text("c"), "p": text("p"), "m": text("US")},
         "CUSTOMER#c#PROGRAM#p#MARKETPLACE#US"),
        ("SUBJECT#{subject.type}#{subject.id}",
         {"subject": {"M": {"type": text("PRODUCT"), "id": text("PRODUCT-ABC")}}}, "SUBJECT#PRODUCT#PRODUCT-ABC"),
        ("SCORE#{value:number}#CUSTOMER#{c}", {"value": num(Decimal("0.85")), "c": text("12345")},
         "SCORE#650085#CUSTOMER#12345"),
        ("CREATED_AT#{at}", {"at": text("2025-01-01T00:00:00.000000Z")}, "CREATED_AT#2025-01-01T00:00:00.000000Z"),
    ],
)  # fmt: skip
def test_plain_values_give_the_plain_keys_of_the_designs(template: str, values: dict[str, Any], key: str) -> None:
    assert Template(template).render(values) == key


# -- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("", "could be empty, which a key cannot be"),
        ("[#{a}]", "could be empty, which a key cannot be"),
        ("{a}{b}", "what follows {a} must begin with '#'"),
        ("{a}-{b}", "what follows {a} must begin with '#'"),
        ("{a}#{a}", r"'\{a\}#\{a\}' has the same field twice"),
        ("A#{a}[#{b}]#C", "must be at the end"),
        ("A#{a}[#{b}", "must be at the end"),
        ("A#[{b}]", "must begin with '#'"),
        ("A[B{b}]", "must begin with '#'"),
        ("A[#B]", r"'A\[#B\]': an optional part needs a field; without one it would never be left out"),
        ("A#{a", "neither literal text nor a field"),
        ("A#{}", "neither literal text nor a field"),
        ("A#{a}]", r"'A#\{a\}\]': '\]' is neither literal text nor a field"),
        ("A#{a:0}", "is not a format; use number, lower, upper, year, month, date, hour, minute, second, a width"),
        ("A#{a:hex}", "is not a format; use number, lower, upper, year, month, date, hour, minute, second, a width"),
        ("A B#{a}", "space"),
        ("A$#{a}", "space"),
    ],
)
def test_a_template_that_cannot_keep_its_promises_is_refused(template: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        Template(template)


@pytest.mark.parametrize(
    ("form", "value", "message"),
    [
        ("{a}", {"L": []}, "only text, numbers and booleans"),
        ("{a}", {"B": "YQ=="}, "only text, numbers and booleans"),
        ("{a}", {"S": ""}, "is empty"),
        ("{a:04}", {"S": "7"}, "a has the type S, and a number is needed"),
        ("{a:04}", {"N": "10000"}, "whole number of up to 4 digits"),
        ("{a:04}", {"N": "-1"}, "whole number of up to 4 digits"),
        ("{a:04}", {"N": "1.5"}, "whole number of up to 4 digits"),
        ("{a:number}", {"S": "1"}, "a has the type S, and a number is needed"),
        ("{a:date}", {"N": "1"}, "not a time"),
        ("{a:date}", {"S": "18/11/2025"}, "not a time"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(form: str, value: dict[str, Any], message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        Template(form).render({"a": value})


def test_without_a_required_field_there_is_no_key() -> None:
    assert THREE.render({"a": text("x"), "b": text("y")}) is None
    assert THREE.render({"a": text("x"), "b": text("y"), "c": {"NULL": True}}) is None


def test_a_renamed_template_makes_the_same_keys_of_other_attributes() -> None:
    renamed = OPTIONAL.renamed(lambda name: f"the-{name}")
    assert renamed.render({"the-a": text("x"), "the-b": text("y"), "the-n": num(1)}) == "SUBJECT#x#y#65011"
    assert renamed.required == {"the-a"}
    assert renamed.text == "SUBJECT#{the-a}[#{the-b}#{the-n:number}]"
    assert renamed != OPTIONAL


def test_a_date_has_only_the_day() -> None:
    assert [field.reversible for field in Template("{a:date}#{b}").fields] == [False, True]
