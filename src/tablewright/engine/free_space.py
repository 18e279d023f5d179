"""Free pages are given back to the file system, some at a time, and then the log is emptied.

SQLite keeps the pages of deleted data for later writes. When they are more than an eighth of the file, a step of the
background work moves pages from the end of the file into their place; the file becomes shorter with the next
checkpoint. Some are left, so that a table whose items come and go does not pay for it all the time.

On a full disk almost all of them go, until there is room again for the reserve (``storage.reserve``).
"""

from __future__ import annotations

from tablewright.engine.database import Database

# In pages. Below a megabyte, a smaller file has no advantage.
_LEAST = 256
_AT_ONCE = 100
# Enough for what deletes write: stream records, idempotency tokens. Another program might use the space given back.
_LEAST_WHEN_FULL = 64
# Each that goes takes several pages of the log, which is short then.
_AT_ONCE_WHEN_FULL = 8
_ONE_IN = 8
# Seconds until the next attempt to empty the log during writes, or to find space on a full disk.
LATER = 1.0


def are_there(db: Database) -> bool:
    """Whether there are so many free pages that some should be given back."""
    return db.storage.folder is not None and _too_many(db) > 0


def _too_many(db: Database) -> int:
    (free,) = db.storage.execute("PRAGMA freelist_count").fetchone()
    if db.storage.lacks_room:
        return int(free) - _LEAST_WHEN_FULL
    (pages,) = db.storage.execute("PRAGMA page_count").fetchone()
    return int(free) if free > max(_LEAST, pages // _ONE_IN) else 0


def step(db: Database) -> float | None:
    """A step of the background work: give some free pages back, and empty the log after the last of them."""
    storage = db.storage
    storage.regain_room()
    if are_there(db):
        # No read shows which page something is on.
        at_once = _AT_ONCE_WHEN_FULL if storage.lacks_room else _AT_ONCE
        execute = storage.write(0)
        for _ in range(min(_too_many(db), at_once)):
            # Whatever the number, Python's sqlite3 moves only one page: it does not step through a statement
            # without columns.
            execute("PRAGMA incremental_vacuum(1)")
        storage.has_vacuumed = True
        return 0.0
    if storage.lacks_room:
        # The log keeps its file size, which deletes need.
        return 0.0 if storage.write_log_back() and storage.regain_room() else LATER
    if storage.has_vacuumed and not storage.empty_log():
        return LATER
    storage.has_vacuumed = False
    return None
