"""A funnel: how many pass each step of a process, as bars.

funnel([Step("Read", 292), Step("Eligibility", 116, note="-176 the rule is not met"), Step("E-mail", 116, "good")])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nicegui import ui

from tablewright.ui.components import box, text
from tablewright.ui.texts import Texts

__all__ = ["Step", "funnel"]


@dataclass(frozen=True, slots=True)
class Step:
    """A step: how many are left after it, and a note."""

    label: str
    count: int
    tone: Literal["step", "good"] = "step"
    note: str = ""


def funnel(t: Texts, steps: Sequence[Step]) -> ui.element:
    """Bars in proportion to the largest step; the number and the note are text."""
    most = max((step.count for step in steps), default=0) or 1
    with box("tw-funnel", "dl") as made:
        for step in steps:
            text(step.label, "", "dt")
            with box("tw-funnel-bar", "dd"):
                with box("tw-funnel-track"):
                    box(f"tw-funnel-fill tw-funnel-{step.tone}").style(f"width: {100 * step.count / most:.2f}%")
                text(t.number(step.count), "tw-num tw-strong")
                text(step.note, "tw-mute tw-small tw-funnel-note")
    return made
