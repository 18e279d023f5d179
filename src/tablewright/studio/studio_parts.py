"""Parts shared by several views of the studio: code, sizes, units, names of keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from tablewright.ui.components import Tone, box, icon, pill, text
from tablewright.ui.texts import Texts

__all__ = [
    "code_block",
    "copy_button",
    "counted_units",
    "entity_pill",
    "entity_tone",
    "key_names",
    "size_text",
    "units_text",
]

_TONES: tuple[Tone, ...] = ("violet", "good", "warn", "info", "bad", "neutral")


def code_block(content: str, t: Texts | None = None, *, full: str | None = None) -> ui.element:
    """Text as code, which can be scrolled and, with ``t``, copied; ``full`` is the text to copy, if it is longer."""
    with box("st-code-box") as made:
        with box("st-code", "pre", tabindex="0"):
            text(content, "", "code")
        if t is not None:
            copy_button(t, full or content)
    return made


def copy_button(t: Texts, content: str) -> ui.element:
    """A copy button, which works in the browser, without a round trip."""
    label = t("studio.copy")
    made = box("tw-btn tw-btn-small tw-btn-icon st-copy", "button", type="button", aria_label=label, title=label)
    made.props["data-copy"] = content
    with made:
        icon("copy")
    return made


def entity_tone(name: str, names: Sequence[str]) -> Tone:
    """The colour of an entity, by its position among those of its table, so that neighbours differ."""
    return _TONES[names.index(name) % len(_TONES)] if name in names else "neutral"


def entity_pill(name: str, names: Sequence[str]) -> ui.element:
    return pill(name, entity_tone(name, names))


def key_names(schema: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The attributes of a key schema, the partition key first."""
    parts = sorted(schema, key=lambda part: part["KeyType"] != "HASH")
    return tuple(part["AttributeName"] for part in parts)


def size_text(size: float) -> str:
    """A number of bytes for people: 812 B, 2.1 KB, 3.4 GB."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("the last unit has no limit")


def counted_units(t: Texts, units: float) -> str:
    """A number of units: "1 unit", "0.5 units"."""
    return t("studio.units.one" if units == 1 else "studio.units.many", units=units_text(units))


def units_text(units: float) -> str:
    """Capacity units for people: 0.5, 4, 1,250."""
    return f"{units:,.0f}" if units >= 10 or units == int(units) else f"{units:.1f}"
