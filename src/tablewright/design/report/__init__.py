"""What reports are made of: blocks, rendered as Markdown or HTML; charts; numbers as text.

to_markdown(DesignReport("Calls", [Text("..."), Heading("Tables"), Grid(["name"], [["Calls"]])]))

report_blocks   the blocks, and Markdown
html_report     a self-contained HTML page
charts          bar charts as SVG
number_format   units, money, sizes
"""

from tablewright.design.report.html_report import to_html, to_html_body
from tablewright.design.report.report_blocks import (
    Block,
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

__all__ = [
    "Block",
    "Bullets",
    "Code",
    "DesignReport",
    "Diagram",
    "Drawing",
    "Grid",
    "Heading",
    "Text",
    "to_html",
    "to_html_body",
    "to_markdown",
]
