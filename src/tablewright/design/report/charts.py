"""Bar charts as self-contained SVG, readable without colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Bar", "bar_chart"]

_WIDTH = 900
_LABEL = 320
_ROW = 26
_FONT = 'font-family="system-ui, sans-serif" font-size="13" fill="currentColor"'
# Characters that fit beside the bars.
_MAX_CHARACTERS = 38


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    text: str


def bar_chart(title: str, bars: Sequence[Bar]) -> str:
    """Horizontal bars, in the order given, each followed by its value."""
    height = _ROW * (len(bars) + 1) + 12
    longest = max((bar.value for bar in bars), default=0) or 1
    room = _WIDTH - _LABEL - 130
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<text x="0" y="18" {_FONT} font-weight="bold">{escape(title)}</text>',
    ]
    for number, bar in enumerate(bars, 1):
        top = _ROW * number + 6
        width = max(1.0, room * bar.value / longest) if bar.value else 0.0
        parts.append(
            f'<text x="{_LABEL - 8}" y="{top + 16}" {_FONT} text-anchor="end">{escape(_short(bar.label))}</text>'
            f'<rect x="{_LABEL}" y="{top + 3}" width="{width:.1f}" height="{_ROW - 8}" fill="#4a7ebb" rx="2"/>'
            f'<text x="{_LABEL + width + 6:.1f}" y="{top + 16}" {_FONT}>{escape(bar.text)}</text>'
        )
    return "\n".join([*parts, "</svg>"])


def _short(label: str) -> str:
    return label if len(label) <= _MAX_CHARACTERS else label[: _MAX_CHARACTERS - 1] + "…"
