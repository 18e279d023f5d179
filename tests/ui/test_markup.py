"""Markup: what rows draw, as HTML in one element, in which every value is text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.ui.components import avatars, box, button, icon, link, pill, text
from tablewright.ui.markup import Markup, draw_markup

pytestmark = pytest.mark.requirement("AP2")

# What a browser takes for a character of HTML; others are replaced by it.
_VALUES = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


class _Read(HTMLParser):
    """What a browser makes of HTML: elements with their attributes, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def drawn(draw: object) -> str:
    outer = Markup("div")
    draw_markup(outer, draw)  # type: ignore[arg-type]
    return outer.inner_html()


@given(value=_VALUES, attribute=_VALUES)
def test_every_value_is_text_whatever_is_in_it(value: str, attribute: str) -> None:
    def draw() -> None:
        with box("tw-item", "a", href=attribute, data_go=True):
            text(value, "tw-clip", title=attribute)
            pill(value, "bad")

    read = _Read(drawn(draw))
    assert [tag for tag, _ in read.elements] == ["a", "span", "span", "span"]
    assert read.elements[0][1] == {"class": "tw-item", "href": attribute, "data-go": "true"}
    assert read.elements[1][1] == {"class": "tw-clip", "title": attribute}
    assert read.text == value * 2


def test_parts_of_rows_are_drawn_as_they_are_elsewhere() -> None:
    def draw() -> None:
        with box("tw-row").style("gap: 4px"):
            icon("clock")
            avatars(["ada", "grace", "linus", "sam"])
            link("All", "/app/tasks/list")
            box("", "input", type="search")

    html = drawn(draw)
    assert html.startswith('<div class="tw-row" style="gap: 4px"><span class="tw-i"><svg ')
    assert html.count('class="tw-avatar tw-avatar-') == 4
    assert "+1" in html
    assert html.endswith('<input type="search"></div>')
    assert not re.search("None|False", html)


def test_what_has_a_handler_cannot_be_in_it() -> None:
    with pytest.raises(AttributeError, match="as an element of its own"):
        drawn(lambda: button("Press", lambda: None))
    # What failed leaves nothing open behind it.
    assert drawn(lambda: text("next")) == "<span>next</span>"
