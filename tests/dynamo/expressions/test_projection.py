"""What a projection returns of an item."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import ValidationException
from tablewright.dynamo.expressions import compile_projection

ITEM: dict[str, dict[str, Any]] = {
    "pk": {"S": "p"},
    "m": {"M": {"x": {"N": "1"}, "y": {"N": "2"}, "z": {"M": {"q": {"S": "deep"}}}}},
    "l": {"L": [{"S": "0"}, {"S": "1"}, {"M": {"a": {"N": "1"}, "b": {"N": "2"}, "c": {"N": "3"}}}]},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pk", {"pk": {"S": "p"}}),
        ("pk, absent", {"pk": {"S": "p"}}),
        ("m.x", {"m": {"M": {"x": {"N": "1"}}}}),
        (
            "m.x, pk, m.z.q",
            {"pk": ITEM["pk"], "m": {"M": {"x": {"N": "1"}, "z": {"M": {"q": {"S": "deep"}}}}}},
        ),
        ("l[0]", {"l": {"L": [{"S": "0"}]}}),
        ("l[1], l[0]", {"l": {"L": [{"S": "0"}, {"S": "1"}]}}),
        ("l[2].b, l[0]", {"l": {"L": [{"S": "0"}, {"M": {"b": {"N": "2"}}}]}}),
        ("l[2].b, l[2].a", {"l": {"L": [{"M": {"a": {"N": "1"}, "b": {"N": "2"}}}]}}),
        ("m.nope", {}),
        ("l[9]", {}),
        ("m.x.deeper", {}),
        ("pk[0]", {}),
        ("m[0], l.a", {}),
        ("m.nope, l[9], pk", {"pk": {"S": "p"}}),
    ],
)
def test_paths_bring_their_structure_with_them(text: str, expected: dict[str, Any]) -> None:
    assert compile_projection(text).apply(ITEM) == expected


def test_names_are_replaced_and_reported() -> None:
    projection = compile_projection("#m.#x, pk", {"#m": "m", "#x": "x", "#other": "other"})
    assert projection.used_names == {"#m", "#x"}
    assert projection.top_level_attributes == {"m", "pk"}
    assert projection.nested_attributes == {"m"}
    assert projection.apply(ITEM) == {"m": {"M": {"x": {"N": "1"}}}, "pk": {"S": "p"}}


def test_a_name_with_a_dot_is_one_attribute() -> None:
    assert compile_projection("#a", {"#a": "m.x"}).apply({**ITEM, "m.x": {"N": "9"}}) == {"m.x": {"N": "9"}}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "#x",
            "An expression attribute name used in the document path is not defined; attribute name: #x",
        ),
        (
            "#x, year",
            "Attribute name is a reserved keyword; reserved keyword: year",
        ),
        (
            "a, b, a.c",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; "
            "path one: [a], path two: [a, c]",
        ),
        (
            "a, #a",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; "
            "path one: [a], path two: [a]",
        ),
        (
            "a[0], a.b",
            "Two document paths conflict with each other; must remove or rewrite one of these paths; "
            "path one: [a, [0]], path two: [a, b]",
        ),
    ],
)
def test_an_invalid_projection_is_refused_before_any_item_is_read(text: str, problem: str) -> None:
    with pytest.raises(ValidationException) as caught:
        compile_projection(text, {"#a": "a"})
    assert caught.value.message == f"Invalid ProjectionExpression: {problem}"
