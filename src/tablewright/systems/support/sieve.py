"""What goes through a table while it is read from its beginning: all that is wanted of it and can be read.

A consumer puts aside what it cannot read, one record at a time (dead letters). A rebuild has nowhere to put anything,
and would end at the first such item, leaving nothing counted at all. So it leaves them out, and says so.
"""

from __future__ import annotations

from tablewright.model import schema_of
from tablewright.store import ChangeFilter, RawChange, Unreadable
from tablewright.store.decoding import entity_of
from tablewright.systems.support.model import Event, Feedback, Ticket
from tablewright.systems.unreadable import Notes

_SCHEMAS = [schema_of(entity) for entity in (Ticket, Event, Feedback)]


class Sieve:
    """A filter of changes that leaves out what cannot be read, and notes it."""

    def __init__(self, wanted: ChangeFilter, notes: Notes) -> None:
        self._wanted = wanted
        self._notes = notes
        self.left_out: set[tuple[str, str]] = set()

    def __call__(self, change: RawChange) -> bool:
        return self._wanted(change) and self._is_readable(change)

    def _is_readable(self, change: RawChange) -> bool:
        for item in (change.before, change.after):
            schema = None if item is None else next((each for each in _SCHEMAS if each.is_of(item)), None)
            if item is None or schema is None:
                continue
            try:
                entity_of(schema, item)
            except Unreadable as error:
                self._notes.add(error)
                self.left_out.add((error.entity, str(error.key)))
                return False
        return True

    @property
    def told(self) -> str:
        """What was left out, in a sentence."""
        entity, key = min(self.left_out)
        return f"{len(self.left_out)} cannot be read and count for nothing, such as {entity} {key}"
