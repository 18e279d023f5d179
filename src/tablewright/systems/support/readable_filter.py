"""Changes of a table that is read from its beginning: those that are wanted and can be read.

A consumer stores what it cannot read as dead letters, one record at a time. A rebuild has no such place, and would end
at the first unreadable item with nothing counted at all. So it leaves such items out, and reports them.
"""

from __future__ import annotations

from tablewright.store import ChangeFilter, RawChange, Unreadable, readable_filter
from tablewright.systems.support.model import Event, Feedback, Ticket
from tablewright.systems.unreadable_log import UnreadableLog


class ReadableFilter:
    """A change filter that leaves out what cannot be read, and logs it."""

    def __init__(self, wanted: ChangeFilter, unreadable_log: UnreadableLog) -> None:
        self._wanted = wanted
        self._readable = readable_filter(Ticket, Event, Feedback, on_unreadable=self._leave_out)
        self._unreadable_log = unreadable_log
        self.left_out: set[tuple[str, str]] = set()

    def __call__(self, change: RawChange) -> bool:
        return self._wanted(change) and self._readable(change)

    def _leave_out(self, error: Unreadable) -> None:
        self._unreadable_log.add(error)
        self.left_out.add((error.entity, str(error.key)))

    @property
    def summary(self) -> str:
        """What was left out, in a sentence."""
        entity, key = min(self.left_out)
        return f"{len(self.left_out)} cannot be read and were left out, such as {entity} {key}"
