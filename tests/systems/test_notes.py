"""Notes of what could not be read."""

from __future__ import annotations

from datetime import UTC, datetime

from tablewright.store import Unreadable
from tablewright.systems.unreadable_items import Notes

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_notes_keep_the_latest_and_count() -> None:
    notes = Notes("test", now=lambda: NOW)
    for number in range(1_200):
        notes.add(Unreadable("Ticket", f"ticket_id {number}", "x"))
    notes.add(Unreadable("Ticket", "ticket_id 700", "y"))
    assert len(notes.latest) == 1_000
    assert (notes.latest[0].error.key, notes.latest[0].error.reason, notes.latest[0].times) == ("ticket_id 700", "y", 2)
