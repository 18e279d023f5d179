"""Charts as plain SVG, in the colours of the design: lines over time, and bars with links.

    line_chart(label, ["9:00", "10:00"], [Series(t("..."), "accent", [4, 7])])
    bar_list(label, [Bar("NEW", 12, "12", "info", path)])

Each is drawn from numbers alone. For screen readers, a chart is an image with a description (``label``), and the same
numbers are in a table that opens below it; bars are a list of texts and links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from nicegui import ui

from tablewright.ui.components import Column, Tone, box, table, text

__all__ = ["Bar", "Series", "bar_list", "line_chart", "nice_maximum"]

Colour = Literal["accent", "good", "warn", "bad", "info"]

# The drawing is stretched to the width of its card; what is written stands around it, and is not.
_WIDTH, _HEIGHT = 600.0, 180.0
_LINES = 4


@dataclass(frozen=True, slots=True)
class Series:
    """A line: its name, its colour, and a number for each place."""

    name: str
    colour: Colour
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its name, its length, the text after it, and the target of a click."""

    name: str
    value: float
    shown: str
    tone: Tone = "info"
    path: str | None = None


def nice_maximum(value: float) -> int:
    """A round number that is at least as large: the top of a scale whose lines are whole numbers."""
    wanted = max(float(_LINES), value)
    size = 1
    while True:
        for factor in (4, 8, 12, 20):
            if factor * size >= wanted:
                return factor * size
        size *= 10


def line_chart(
    label: str, places: Sequence[str], series: Sequence[Series], *, table_label: str, every: int = 1
) -> None:
    """Lines over the same places; every few places have a label below."""
    top = nice_maximum(max((value for each in series for value in each.values), default=0))
    with box("tw-legend"):
        for each in series:
            with box(f"tw-legend-item tw-chart-{each.colour}", "span"):
                text(each.name)
    with box("tw-chart"):
        with box("tw-chart-scale tw-num", aria_hidden="true"):
            for number in range(_LINES, -1, -1):
                text(f"{top * number / _LINES:g}")
        # Only numbers of ours and escaped texts are in it.
        ui.html(_svg(label, places, series, top), sanitize=False).classes("tw-chart-drawing")
        with box("tw-chart-places tw-num", aria_hidden="true"):
            for number, place in enumerate(places):
                if number % every == 0:
                    left = 100 * number / max(1, len(places) - 1)
                    text(place).style(f"left: {left:.1f}%")
    with box("tw-chart-table", "details"):
        text(table_label, "tw-mute tw-small", "summary")
        rows = list(range(len(places)))
        columns: list[Column[int]] = [Column("", lambda row: places[row])]
        columns += [
            Column(each.name, lambda row, each=each: f"{each.values[row]:g}", end=True)  # type: ignore[misc]
            for each in series
        ]
        table(columns, rows, caption=label)


def _svg(label: str, places: Sequence[str], series: Sequence[Series], top: int) -> str:
    step = _WIDTH / max(1, len(places) - 1)

    def y(value: float) -> float:
        return round(_HEIGHT * (1 - value / top), 1)

    size = f"0 0 {_WIDTH:g} {_HEIGHT:g}"
    parts = [f'<svg viewBox="{size}" role="img" aria-label="{escape(label)}" preserveAspectRatio="none">']
    for number in range(_LINES + 1):
        at = y(top * number / _LINES)
        parts.append(f'<line class="tw-chart-line" x1="0" x2="{_WIDTH:g}" y1="{at}" y2="{at}"/>')
    for each in series:
        points = " ".join(f"{step * number:.1f},{y(value)}" for number, value in enumerate(each.values))
        parts.append(f'<polyline class="tw-chart-path tw-chart-{each.colour}" points="{points}"/>')
    for number, place in enumerate(places):
        values = ", ".join(f"{each.name} {each.values[number]:g}" for each in series)
        # What is pointed at says its numbers.
        parts.append(
            f'<rect class="tw-chart-place" x="{step * (number - 0.5):.1f}" y="0" width="{step:.1f}" '
            f'height="{_HEIGHT:g}"><title>{escape(f"{place}: {values}")}</title></rect>'
        )
    return "".join([*parts, "</svg>"])


def bar_list(label: str, bars: Sequence[Bar]) -> None:
    """Bars below each other, in proportion to the longest."""
    longest = max((bar.value for bar in bars), default=0) or 1
    with box("tw-bars", "ul", aria_label=label):
        for bar in bars:
            with box("", "li"):
                attributes = {} if bar.path is None else {"href": bar.path, "data_go": True, "data_row": True}
                with box("tw-bar", "div" if bar.path is None else "a", **attributes):
                    text(bar.name, "tw-bar-name")
                    with box("tw-bar-space", aria_hidden="true"):
                        box(f"tw-bar-fill tw-bar-{bar.tone}").style(f"width: {round(100 * bar.value / longest, 1)}%")
                    text(bar.shown, "tw-bar-value tw-num")
