"""Pages as Markdown and as HTML."""

import re

from tablewright.design.report.charts import Bar, bar_chart
from tablewright.design.report.html_report import to_html
from tablewright.design.report.report_blocks import (
    Bullets,
    Code,
    DesignReport,
    Diagram,
    Drawing,
    Grid,
    Heading,
    Text,
    to_markdown,
)

PAGE = DesignReport(
    "A & B",
    [
        Text("some `a < b` text"),
        Heading("First"),
        Bullets(["one", "two"]),
        Grid(["name", "size"], [["`x|y`", "1"], ["<b>", "2"]], ["size"]),
        Code('{"a": 1}', "json"),
        Diagram("flowchart LR\n    A --> B", "<svg></svg>"),
        Diagram("erDiagram"),
        Drawing("<svg><title>bars</title></svg>", "what it shows"),
    ],
)


def test_markdown_has_every_block_but_pictures() -> None:
    assert to_markdown(PAGE) == (
        "# A & B\n\nsome `a < b` text\n\n## First\n\n- one\n- two\n\n"
        "| name | size |\n|---|---:|\n| `x\\|y` | 1 |\n| <b> | 2 |\n\n"
        '```json\n{"a": 1}\n```\n\n```mermaid\nflowchart LR\n    A --> B\n```\n\n```mermaid\nerDiagram\n```\n'
    )


def test_html_is_one_page_that_needs_nothing_else() -> None:
    page = to_html(PAGE)
    assert page.startswith("<!DOCTYPE html>")
    assert not re.search(r"<script|<link|@import|url\(|\ssrc=", page)
    addresses = set(re.findall(r"https?://[^\"'\s<]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}


def test_html_escapes_what_a_model_says() -> None:
    page = to_html(PAGE)
    assert "<title>A &amp; B</title>" in page
    assert "some <code>a &lt; b</code> text" in page
    assert "<td>&lt;b&gt;</td>" in page
    assert '<td class="number">2</td>' in page


def test_html_shows_drawings_and_keeps_the_source_of_diagrams() -> None:
    page = to_html(PAGE)
    assert "<figure><svg></svg></figure>" in page
    assert "A --&gt; B" in page
    assert '<pre class="mermaid">erDiagram</pre>' in page
    assert "<figcaption>what it shows</figcaption>" in page
    assert '<a href="#first">First</a>' in page


def test_bars_are_as_long_as_their_values_say() -> None:
    chart = bar_chart("Units", [Bar("a", 10, "10"), Bar("b & c", 5, "5"), Bar("none", 0, "-")])
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', chart)]
    assert widths[0] == 2 * widths[1]
    assert widths[2] == 0
    assert "b &amp; c" in chart
    assert bar_chart("Nothing", []).count("<rect") == 0
