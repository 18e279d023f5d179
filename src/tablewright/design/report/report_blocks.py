"""Reports of the design tools: a list of blocks, which is rendered as Markdown, as HTML or on a terminal.

    page = DesignReport("Calls", [Text("..."), Heading("Tables"), Grid(["name"], [["Calls"]])])
    to_markdown(page)

Text may have `code` in backticks. The content is written once; each renderer decides how it looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["Block", "Bullets", "Code", "DesignReport", "Diagram", "Drawing", "Grid", "Heading", "Text", "to_markdown"]


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list with bullets."""

    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; columns in ``right`` are right-aligned."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Code:
    """A block of code."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Diagram:
    """A mermaid diagram. ``drawing`` is the same as SVG, for renderers without mermaid."""

    mermaid: str
    drawing: str | None = None


@dataclass(frozen=True, slots=True)
class Drawing:
    """An SVG picture with its caption; only HTML shows it."""

    svg: str
    text: str


Block = Heading | Text | Bullets | Grid | Code | Diagram | Drawing
"""What a report is made of."""


@dataclass(frozen=True, slots=True)
class DesignReport:
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)


def to_markdown(page: DesignReport) -> str:
    parts = [f"# {page.title}", *(_markdown(block) for block in page.blocks if not isinstance(block, Drawing))]
    return "\n\n".join(parts) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Text(text):
            return text
        case Bullets(items):
            return "\n".join(f"- {item}" for item in items)
        case Grid():
            return "\n".join(_rows(block))
        case Code(text, language):
            return f"```{language}\n{text}\n```"
        case Diagram(mermaid):
            return f"```mermaid\n{mermaid}\n```"
        case Drawing():
            return ""


def _rows(grid: Grid) -> Iterator[str]:
    yield "| " + " | ".join(map(_cell, grid.columns)) + " |"
    yield "|" + "|".join("---:" if column in grid.right else "---" for column in grid.columns) + "|"
    for row in grid.rows:
        yield "| " + " | ".join(map(_cell, row)) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
