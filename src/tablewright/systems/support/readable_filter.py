"""What goes through a table while it is read from its beginning: all that is wanted of it and can be read.

A consumer puts aside what it cannot read, one record at a time (dead letters). A rebuild has nowhere to put anything,
and would end at the first such item, leaving nothing counted at all. So it leaves them out, and says so.
"""

from __future__ import annotations

from tablewright.store import ChangeFilter, RawChange, Unreadable, readable_filter
from tablewright.systems.support.model import Event, Feedback, Ticket
from tablewright.systems.unreadable_items import Notes


class Sieve:
    """A filter of changes that leaves out what cannot be read, and notes it."""

    def __init__(self, wanted: ChangeFilter, notes: Notes) -> None:
        self._wanted = wanted
        self._readable = readable_filter(Ticket, Event, Feedback, on_unreadable=self._leave_out)
        self._notes = notes
        self.left_out: set[tuple[str, str]] = set()

    def __call__(self, change: RawChange) -> bool:
        return self._wanted(change) and self._readable(change)

    def _leave_out(self, error: Unreadable) -> None:
        self._notes.add(error)
        self.left_out.add((error.entity, str(error.key)))

    @property
    def told(self) -> str:
        """What was left out, in a sentence."""
        entity, key = min(self.left_out)
        return f"{len(self.left_out)} cannot be read and count for nothing, such as {entity} {key}"
