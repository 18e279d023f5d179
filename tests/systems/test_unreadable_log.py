"""UnreadableLog of what could not be read."""

from __future__ import annotations

from datetime import UTC, datetime

from tablewright.store import Unreadable
from tablewright.systems.unreadable_log import UnreadableLog

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_notes_keep_the_latest_and_count() -> None:
    unreadable_log = UnreadableLog("test", now=lambda: NOW)
    for number in range(1_200):
        unreadable_log.add(Unreadable("Ticket", f"ticket_id {number}", "x"))
    unreadable_log.add(Unreadable("Ticket", "ticket_id 700", "y"))
    assert len(unreadable_log.latest) == 1_000
    assert (
        unreadable_log.latest[0].error.key,
        unreadable_log.latest[0].error.reason,
        unreadable_log.latest[0].times,
    ) == ("ticket_id 700", "y", 2)
