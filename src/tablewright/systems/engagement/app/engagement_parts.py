"""Shared by the views of Engagement: a program as the API shows it, its pill, its addresses."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from tablewright.ui.components import Tone, pill
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import Texts

__all__ = [
    "Body",
    "configuration_of",
    "key_of",
    "number",
    "path_of",
    "place_of",
    "reason_text",
    "state_of",
    "state_pill",
    "subject_name",
]

Body = dict[str, Any]
"""An object as the API shows it."""

_TONES: dict[str, Tone] = {
    "draft": "neutral",
    "requested": "warn",
    "declined": "bad",
    "disabled": "neutral",
    "enabled": "good",
}
# Fields of a program that are not its configuration.
_NOT_SET = frozenset({"programId", "marketplaceId", "version", "approval"})


def number(t: Texts, value: float) -> str:
    """A number for display: a score with four digits, whole numbers as they are."""
    return t.number(int(value) if value == int(value) else round(value, 4))


def state_of(program: Body) -> str:
    """The state of a program: draft, requested, declined, disabled or enabled."""
    state = str(program["approval"]["state"])
    return state if state != "approved" else "enabled" if program["enabled"] else "disabled"


def state_pill(t: Texts, program: Body) -> None:
    state = state_of(program)
    pill(t(f"engagement.{state}").lower(), _TONES[state])


def place_of(program: Body) -> dict[str, Any]:
    """The parameters of a call about a program."""
    return {"program_id": program["programId"], "marketplace_id": program["marketplaceId"]}


def key_of(program: Body) -> str:
    return f"{program['marketplaceId']}/{program['programId']}"


def path_of(page: Page, program: Body, *steps: str, **query: str | None) -> str:
    """The address of a program, or of a part of it."""
    parts = [program["marketplaceId"], program["programId"], *steps]
    return page.path("/programs/" + "/".join(quote(step, safe="") for step in parts), **query)


def configuration_of(program: Body) -> Body:
    """The fields of a program that can be put."""
    return {name: value for name, value in program.items() if name not in _NOT_SET}


# The reasons of the service's own filters, by the key of their text; those of other filters are shown as they are.
_REASONS = {
    "the rule is not met": "why_rule",
    "no channel is left": "why_no_channel",
    "opted out": "why_out",
    "opted out of the program": "why_out_of_program",
    "opted out of every channel": "why_out_of_channels",
    "the customer does not want this channel": "why_out_of_channel",
}
_REACHED = re.compile(r"reached (\d+) times in (\S+) days")


def reason_text(t: Texts, reason: str) -> str:
    """Why a customer was left out."""
    reached = _REACHED.fullmatch(reason)
    if reached is not None:
        return t("engagement.why_reached", times=reached[1], days=reached[2])
    return t(f"engagement.{_REASONS[reason]}") if reason in _REASONS else reason


def subject_name(program_id: str, subject: Body) -> str:
    """What a candidate is about; empty if it is the program itself."""
    is_own = subject["type"] == "program" and subject["id"] == program_id
    return "" if is_own else f"{subject['type']} {subject['id']}"
