"""Values as text and back; keys in addresses."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.studio.items.attribute_text import guessed_value, key_token, short_text, token_key, value_of

pytestmark = pytest.mark.requirement("ST2")

DIGITS = "12345678901234567890123456789012345678"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"S": "a\nb"}, "a b"),
        ({"N": DIGITS}, DIGITS),
        ({"B": "AAEC"}, "AAEC"),
        ({"B": "AAE="}, "AAE="),
        ({"B": ""}, "0 bytes"),
        ({"B": "AAEC" * 20}, "60 bytes"),
        ({"BOOL": False}, "false"),
        ({"NULL": True}, "null"),
        ({"M": {"a": {"L": [{"S": "x"}, {"N": "1"}]}}}, "{a: [x, 1]}"),
        ({"SS": ["a", "b"]}, "{a, b}"),
        ({"S": "x" * 400_000}, "x" * 79 + "…"),
    ],
)
def test_a_value_fits_into_a_cell(value: dict[str, Any], shown: str) -> None:
    assert short_text(value) == shown


def test_typed_text_is_the_value_of_its_type_or_says_why_not() -> None:
    assert value_of(f" {DIGITS} ", "N") == {"N": DIGITS}
    assert value_of("1e2", "N") == {"N": "100"}
    assert value_of("AAEC", "B") == {"B": "AAEC"}
    assert value_of("TRUE", "BOOL") == {"BOOL": True}
    for text, kind in [("x", "N"), (DIGITS + "9", "N"), ("not base64!", "B"), ("maybe", "BOOL"), ("", "N"), ("a", "M")]:
        with pytest.raises(ValueError, match=r"\w"):
            value_of(text, kind)


def test_the_type_of_a_value_is_guessed_from_its_text() -> None:
    for text, value in [
        ("3.50", {"N": "3.5"}),
        ('"3"', {"S": "3"}),
        ("true", {"BOOL": True}),
        ("null", {"NULL": True}),
        ("open", {"S": "open"}),
        ("2026-11-16", {"S": "2026-11-16"}),
    ]:
        assert guessed_value(text) == value


def test_a_key_in_an_address_comes_back_and_nothing_else_does() -> None:
    key = {"pk": {"S": "ü/?&=#"}, "n": {"N": DIGITS}}
    assert token_key(key_token(key)) == key
    for token in ("", "x", "e30", "W10", key_token({"pk": {"M": {}}}), "%%%", "ü"):
        with pytest.raises(ValueError, match="no key"):
            token_key(token)
