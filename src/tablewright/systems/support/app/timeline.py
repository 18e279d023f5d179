"""The events of a ticket, in words."""

from __future__ import annotations

import json
from typing import Any

from tablewright.systems.support.model import CUSTOMER_MESSAGE, NOTE, STAFF_MESSAGE
from tablewright.ui.texts import Texts

__all__ = ["is_said", "said_event"]

_SAID = (CUSTOMER_MESSAGE, STAFF_MESSAGE, NOTE)
# The most characters of a value that another program wrote.
_MOST = 160


def is_said(event: dict[str, Any]) -> bool:
    """Whether it is a message or a note."""
    return event["event_type"] in _SAID


def said_event(t: Texts, event: dict[str, Any], *, for_customer: bool) -> str:
    """An event in one line: who did what."""
    kind, details = event["event_type"], event["details"]
    who = event["author"] or "?"
    if kind == "status_changed":
        # If another program wrote it, the status may be unknown.
        old, new = (_status(t, event[name]) for name in ("old_status", "new_status"))
        given = details.get("assigned_to")
        key = "support.did_escalate" if given else "support.did_status"
        return t(key, who=who, old=old, new=new, to=given)
    if kind in ("assigned", "reassigned"):
        return t("support.did_assign", who=who, to=details.get("assigned_to") or t("support.nobody"))
    if kind == "priority_changed":
        old, new = (_priority(t, details.get(name)) for name in ("priority_before", "priority"))
        return t("support.did_priority", who=who, old=old, new=new)
    what = kind.replace("_", " ").replace(".", " ")
    if for_customer or not details:
        return t("support.did_something", who=who, what=what)
    # Details may be as large as an item: only a part of them is formatted.
    shown = ", ".join(f"{name}: {_short(value)}" for name, value in list(details.items())[:6])
    return t("support.did_something", who=who, what=f"{what} ({shown})")[: 3 * _MOST]


def _status(t: Texts, value: Any) -> str:
    key = f"support.{value}"
    return t(key) if value and key in t else "—"


def _priority(t: Texts, value: Any) -> str:
    return _status(t, value)


def _short(value: Any) -> str:
    if isinstance(value, str):
        found = value[: _MOST + 1]
    elif isinstance(value, dict | list):
        found = f"{len(value)} …" if len(value) > 20 else json.dumps(value, ensure_ascii=False)[: _MOST + 1]
    else:
        found = str(value)[: _MOST + 1]
    return found if len(found) <= _MOST else f"{found[:_MOST]}…"
