"""An item as a tree of its values, in HTML: maps and lists can be unfolded, and only the start of long text is shown.

Every value goes through ``escape``.
"""

from __future__ import annotations

from collections.abc import Collection
from html import escape

from tablewright.dynamo import AttributeValue, Item, value_size
from tablewright.studio.items.attribute_text import TYPES, short_text, type_of

__all__ = ["item_html"]

_LONG = 1_000
_OPEN_LEVELS = 2


def item_html(item: Item, keys: Collection[str], more: str) -> str:
    """The attributes of an item; ``keys`` are marked, ``more`` says how many bytes of a long text are not shown."""
    rows = []
    for name, value in item.items():
        mark = ' class="st-key"' if name in keys else ""
        rows.append(f"<dt{mark}>{escape(name)}{_type(value)}</dt><dd>{_value(value, more, 0)}</dd>")
    return "".join(rows)


def _type(value: AttributeValue) -> str:
    kind = type_of(value)
    return f' <span class="st-kind" title="{TYPES[kind]}">{kind}</span>'


def _value(value: AttributeValue, more: str, level: int) -> str:
    kind, content = next(iter(value.items()))
    if kind == "M":
        parts = [
            f"<li><b>{escape(name)}</b>{_type(each)} {_value(each, more, level + 1)}</li>"
            for name, each in content.items()
        ]
        return _unfolding(value, parts, level)
    if kind == "L":
        parts = [f"<li>{_type(each)} {_value(each, more, level + 1)}</li>" for each in content]
        return _unfolding(value, parts, level)
    if kind in ("SS", "NS", "BS"):
        return "".join(f'<span class="st-member">{escape(each)}</span>' for each in content)
    if kind in ("S", "B") and len(content) > _LONG:
        left = value_size(value) - _LONG
        return (
            f'<span class="st-text">{escape(content[:_LONG])}</span><em>{escape(more.format(number=f"{left:,}"))}</em>'
        )
    shown = content if kind in ("S", "N", "B") else short_text(value)
    return f'<span class="st-text st-{kind.lower()}">{escape(shown)}</span>'


def _unfolding(value: AttributeValue, parts: list[str], level: int) -> str:
    is_open = " open" if level < _OPEN_LEVELS else ""
    return f"<details{is_open}><summary>{escape(short_text(value, 40))}</summary><ul>{''.join(parts)}</ul></details>"
