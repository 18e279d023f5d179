"""Document paths: parsed once, and looked up in items."""

from typing import Any

import pytest

from tablewright.dynamo import Path, non_null_at, parse_path, value_at

ITEM: dict[str, Any] = {
    "a": {"M": {"b": {"M": {"c": {"S": "x"}}}, "none": {"NULL": True}}},
    "lines": {"L": [{"M": {"count": {"N": "1"}}}]},
    "s": {"S": "y"},
    "none": {"NULL": True},
    "a.b": {"S": "foreign"},
    "x[0]": {"S": "odd"},
}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ("lines[0].count", ("lines", 0, "count")),
        ("grid[1][23]", ("grid", 1, 23)),
    ],
)
def test_a_path_is_names_and_positions(text: str, parts: tuple[str | int, ...]) -> None:
    assert parse_path(text) == Path(parts)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b.c", {"S": "x"}),
        ("lines[0].count", {"N": "1"}),
        ("none", {"NULL": True}),
        ("a.x.c", None),
        ("s.b", None),
        ("s[0]", None),
        ("lines[1].count", None),
        ("lines.count", None),
    ],
)
def test_a_value_is_found_where_the_path_leads(path: str, value: dict[str, Any] | None) -> None:
    assert value_at(ITEM, path) == value
    if value != {"NULL": True}:
        assert non_null_at(ITEM, path) == value


def test_a_dot_leads_into_a_map_even_where_an_attribute_has_one_in_its_name() -> None:
    assert non_null_at({"a.b": {"S": "foreign"}}, "a.b") is None


def test_a_null_counts_as_absent_where_a_key_is_made() -> None:
    assert non_null_at(ITEM, "none") is None
    assert non_null_at(ITEM, "a.none") is None


def test_the_name_of_an_attribute_may_have_brackets() -> None:
    assert non_null_at(ITEM, "x[0]") == {"S": "odd"}
