"""Items as HTML: whatever is in them is text; what is large or deep stays small."""

from __future__ import annotations

import time
from html.parser import HTMLParser
from typing import Any

import pytest

from tablewright.studio.items.item_grid import columns_of, head_html, rows_html
from tablewright.studio.items.value_tree import item_html

pytestmark = pytest.mark.requirement("ST2")

EVIL = "\"'><img src=x onerror=alert(1)></td><script>alert(2)</script>&amp;"


class Tags(HTMLParser):
    """The tags of some HTML, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text += data


def rows(items: list[dict[str, Any]], columns: list[str]) -> str:
    return rows_html(
        items,
        columns,
        address=lambda item: f"/studio/items/t?item={EVIL}",
        token=lambda item: EVIL,
        entity=lambda item: (EVIL, "info"),
        select=f"Choose {EVIL}",
        link=columns[0],
    )


def test_html_in_names_and_values_is_text() -> None:
    item: dict[str, Any] = {"pk": {"S": EVIL}, EVIL: {"M": {EVIL: {"SS": [EVIL]}}}, "l": {"L": [{"S": EVIL}]}}
    found = Tags(
        rows([item], ["pk", EVIL]) + head_html(["pk", EVIL], select="x", entity="y") + item_html(item, {"pk"}, "…")
    )
    assert set(found.tags) <= {
        *("tr", "td", "th", "a", "span", "input", "dt", "dd", "details", "summary", "ul", "li", "b", "em"),
    }
    assert "<script>alert(2)</script>" in found.text


def test_large_and_deep_items_are_shown_by_their_beginning() -> None:
    deep: dict[str, Any] = {"S": "end"}
    for _ in range(31):
        deep = {"M": {"m": deep}}
    large = {"pk": {"S": "k"}, "text": {"S": "x" * 399_000}, "deep": deep}
    html = item_html(large, {"pk"}, "{number} bytes more")
    assert len(html) < 20_000
    assert "398,000 bytes more" in html
    assert html.count("<details") == 31
    assert len(rows([large] * 50, ["pk", "text", "deep"])) < 100_000


def test_a_page_of_rows_is_made_in_milliseconds() -> None:
    items = [{f"a{n}": {"S": f"value {n} of {row}"} for n in range(14)} for row in range(50)]
    began = time.perf_counter()
    html = rows(items, list(items[0]))
    # Not a limit of the test: it is what is promised, tenfold.
    assert html.count("<tr") == 50
    assert time.perf_counter() - began < 1.0


def test_columns_are_keys_first_then_what_most_items_have() -> None:
    items = [{"pk": {"S": "1"}, "b": {"S": ""}, "c": {"S": ""}}, {"pk": {"S": "2"}, "c": {"S": ""}}]
    assert columns_of(items, ["pk"]) == ["pk", "c", "b"]
    assert columns_of(items, ["pk"], ["b", "gone"]) == ["pk", "b", "c"]
    many = [{f"a{n}": {"S": ""} for n in range(40)}]
    assert len(columns_of(many, ["a39"])) == 14
