"""Pages as HTML: one file, with its own style, that needs no network and no script.

A mermaid diagram is shown by a drawing of ours where there is one, with its source behind a fold for those who want it.
"""

from __future__ import annotations

import re
from html import escape

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
)

__all__ = ["to_html", "to_html_body"]

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; margin-top: 2rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: 1rem 0; font-size: 0.9rem; }
th, td { border: 1px solid var(--line); padding: 0.3rem 0.6rem; text-align: left; vertical-align: top; }
th { background: var(--soft); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
code { font-size: 0.9em; background: var(--soft); border-radius: 3px; padding: 0 0.2em; }
pre { background: var(--soft); padding: 0.8rem; overflow-x: auto; font-size: 0.85rem; }
pre code { background: none; padding: 0; }
svg { max-width: 100%; height: auto; }
nav { font-size: 0.9rem; }
"""


def to_html(page: DesignReport) -> str:
    """A report as one HTML file, which needs nothing else to be shown."""
    title = escape(page.title)
    contents = "".join(
        f'<li><a href="#{_anchor(block.text)}">{_inline(block.text)}</a></li>'
        for block in page.blocks
        if isinstance(block, Heading) and block.level == 2
    )
    body = to_html_body(page)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        + (f"<nav><ul>{contents}</ul></nav>\n" if contents else "")
        + f"{body}\n</body>\n</html>\n"
    )


def to_html_body(page: DesignReport) -> str:
    """The blocks of a report as HTML, for a page that has a style of its own; all text is escaped."""
    return "\n".join(_html(block) for block in page.blocks)


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f'<h{level} id="{_anchor(text)}">{_inline(text)}</h{level}>'
        case Text(text):
            return f"<p>{_inline(text)}</p>"
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"
        case Grid():
            return _table(block)
        case Code(text, language):
            return f'<pre><code class="language-{escape(language)}">{escape(text)}</code></pre>'
        case Diagram(mermaid, None):
            return f'<pre class="mermaid">{escape(mermaid)}</pre>'
        case Diagram(mermaid, drawing):
            source = f'<pre class="mermaid">{escape(mermaid)}</pre>'
            return f"<figure>{drawing}</figure>\n<details><summary>as mermaid</summary>{source}</details>"
        case Drawing(svg, text):
            return f"<figure>{svg}<figcaption>{_inline(text)}</figcaption></figure>"


def _table(grid: Grid) -> str:
    kinds = [' class="number"' if column in grid.right else "" for column in grid.columns]
    head = "".join(f"<th{kind}>{_inline(column)}</th>" for kind, column in zip(kinds, grid.columns, strict=True))
    rows = [
        "<tr>" + "".join(f"<td{kind}>{_inline(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in grid.rows
    ]
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody>\n</table>"


def _inline(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text, quote=False))


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
