"""Parts of views that show figures: a grid of rows, bars, a line over time. All values are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from html import escape
from typing import Any

from nicegui import ui

from tablewright.ui.components import box

__all__ = ["bar_chart", "is_number", "line_chart", "result_grid", "shown_value"]

_LONGEST = 300
_BARS = 30
_WIDTH, _HEIGHT = 720, 160
_NUMBERS = frozenset({"BIGINT", "HUGEINT", "INTEGER", "DOUBLE", "FLOAT", "UBIGINT"})


def shown_value(value: Any) -> str:
    """A value of a result on one line."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            found = f"{value:,.6g}" if abs(value) < 1e15 else f"{value:g}"
        case bytes():
            found = value.hex(" ")
        case datetime() | date():
            found = value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
        case _:
            found = str(value)
    return found if len(found) <= _LONGEST else found[: _LONGEST - 1] + "…"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def result_grid(
    columns: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]], caption: str
) -> ui.element:
    """Rows as a table that is a single element, however many rows it has."""
    heads = "".join(map(_head, columns, types))
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="{"tw-end" if is_number(value) else ""}">'
            + ('<span class="st-null">null</span>' if value is None else escape(shown_value(value)))
            + "</td>"
            for value in row
        )
        + "</tr>"
        for row in rows
    )
    with box("st-result", tabindex="0", role="region", aria_label=caption) as made:
        ui.html(
            f'<table><caption class="tw-hidden">{escape(caption)}</caption><thead><tr>{heads}</tr></thead>'
            f"<tbody>{body}</tbody></table>",
            sanitize=False,
        )
    return made


def _head(name: str, kind: str) -> str:
    end = "tw-end" if kind in _NUMBERS or kind.startswith("DECIMAL") else ""
    return (
        f'<th scope="col" class="{end}">{escape(name)}<span class="st-column-type">{escape(kind.lower())}</span></th>'
    )


def bar_chart(labels: Sequence[str], values: Sequence[float], caption: str) -> ui.element:
    """Horizontal bars with their values; only the first ones if there are many."""
    most = max((abs(value) for value in values[:_BARS]), default=0.0) or 1.0
    rows = "".join(
        f'<div class="st-bar-label" title="{escape(label)}">{escape(label)}</div>'
        f'<div class="st-bar-track"><div class="st-bar-fill" style="width:{100 * abs(value) / most:.1f}%"></div></div>'
        f'<div class="st-bar-value">{escape(shown_value(value))}</div>'
        for label, value in zip(labels[:_BARS], values[:_BARS], strict=True)
    )
    return ui.html(f'<div class="st-bars" role="img" aria-label="{escape(caption)}">{rows}</div>', sanitize=False)


def line_chart(
    series: Sequence[tuple[str, str, Sequence[float]]], caption: str, *, height: int = _HEIGHT
) -> ui.element:
    """Lines over time, each with its name and colour token; all start at the left and have the same length."""
    most = max((value for _, _, values in series for value in values), default=0.0) or 1.0
    lines, legend = "", ""
    for name, colour, values in series:
        step = _WIDTH / max(1, len(values) - 1)
        points = [
            f"{number * step:.1f},{height - (height - 8) * value / most:.1f}" for number, value in enumerate(values)
        ]
        area = f"0,{height} " + " ".join(points) + f" {_WIDTH},{height}"
        lines += f'<polygon points="{area}" fill="var({colour})" opacity="0.12"/>'
        lines += f'<polyline points="{" ".join(points)}" fill="none" stroke="var({colour})" stroke-width="2"/>'
        legend += f'<span><i style="background:var({colour})"></i>{escape(name)}</span>'
    return ui.html(
        f'<figure class="st-lines"><svg viewBox="0 0 {_WIDTH} {height}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(caption)}">{lines}</svg><figcaption>{legend}<span class="st-lines-most">'
        f"{escape(shown_value(most))} max/s</span></figcaption></figure>",
        sanitize=False,
    )
