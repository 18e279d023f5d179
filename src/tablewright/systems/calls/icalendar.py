"""Calls as an iCalendar (RFC 5545), for other calendar programs.

A call keeps its UID when it is moved, and its version is the SEQUENCE: importing it again updates it instead of adding
a second one.
Times are in UTC, which every calendar shows in its own zone.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from tablewright.systems.calls.model import Call, Status

__all__ = ["MEDIA_TYPE", "icalendar"]

MEDIA_TYPE = "text/calendar; charset=utf-8"

# Octets of a line; a longer one is folded.
_LINE = 75
_ESCAPES = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n", "\r": ""})


def icalendar(calls: Iterable[Call], now: datetime) -> str:
    """An iCalendar of some calls, as of ``now``."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Tablewright//Calls//EN", "CALSCALE:GREGORIAN"]
    for call in calls:
        lines += [
            "BEGIN:VEVENT",
            f"UID:{_text(call.call_id)}",
            f"DTSTAMP:{_time(now)}",
            f"DTSTART:{_time(call.scheduled_for)}",
            f"DTEND:{_time(call.scheduled_for + call.duration)}",
            f"SUMMARY:{_text(f'{call.user_id} with {call.provider_id}')}",
            f"STATUS:{'CANCELLED' if call.status is Status.CANCELLED else 'CONFIRMED'}",
            f"SEQUENCE:{call.version}",
            "END:VEVENT",
        ]
    lines.append("END:VCALENDAR")
    return "".join(f"{_folded(line)}\r\n" for line in lines)


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _text(value: str) -> str:
    return value.translate(_ESCAPES)


def _folded(line: str) -> str:
    """A line folded to at most 75 octets, each part but the first after a space; no character is split."""
    found, length = "", 0
    for character in line:
        size = len(character.encode("utf-8", "replace"))
        if length + size > _LINE:
            found, length = found + "\r\n ", 1
        found, length = found + character, length + size
    return found
