"""Copies of the rows of a table, made in slices while others change it.

Rows are copied in the order of their rowids. A change of a row that is already copied is made in the copy as well
(``Database.change``); a row that is not is copied later, as it is then. So the copy is of one instant: the one in which
its last row was copied.

    rows   1 ─── copied, changes follow ─── position ─── to be copied as they are then ─── last

A copy begins under the name of a discarded table, and ``finish`` renames it. If it ends before that, by an error or a
crash, it leaves a table that the background work removes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import thread_time

from tablewright.engine.database import Database, RowCopy
from tablewright.engine.discarded_tables import LOOK_SECONDS, new_name
from tablewright.engine.slices import Sliced, slice_end

# In a statement; one row at least, however large.
ROWS_AT_ONCE = 200
_BYTES_AT_ONCE = 256 * 1024
# What is written in a slice is also committed and synced, together with that of some others.
_SLICE_BYTES = 1024 * 1024


@contextmanager
def new_copy(db: Database, source: str, create: Callable[[str], str]) -> Iterator[RowCopy]:
    """An empty SQL table, created by the statement that ``create`` returns for its name.

    Changes of the SQL table ``source`` are repeated in it, once rows are copied.
    """
    db.storage.check_room()
    name = new_name(db)
    db.storage.write()(create(name))
    copy = RowCopy(source, name)
    db.unfinished_copies[name] = copy
    # However it ends, the background work finds what is left.
    db.on_schedule(LOOK_SECONDS)
    try:
        yield copy
    finally:
        # Only in memory: this may run at any time, when a handler that was left unfinished is thrown away. After a
        # rollback another copy may have the name by now.
        if db.unfinished_copies.get(name) is copy:
            del db.unfinished_copies[name]


def copy_rows(db: Database, copy: RowCopy, check_source: Callable[[], object]) -> Sliced[None]:
    """Copy all rows. The last of them is copied in the slice in which this returns.

    ``check_source`` raises if the source was deleted between two slices.
    """
    until, written = slice_end(), 0
    while True:
        db.storage.check_room()
        execute = db.storage.write(unseen=True)
        following = next_rows(db, copy.source, copy.position)
        if following is None:
            return
        last, size = following
        some = (copy.position, last)
        copied = execute(f"INSERT INTO {copy.rows} SELECT * FROM {copy.source} WHERE id > ? AND id <= ?", some).rowcount
        copy.has_grown(copied)
        copy.position = last
        written += size
        if is_over(until, written):
            yield
            check_source()
            until, written = slice_end(), 0


def is_over(until: float, written: int) -> bool:
    """Whether a slice has lasted long enough, or has written enough."""
    return written >= _SLICE_BYTES or thread_time() > until


def next_rows(db: Database, rows: str, position: int) -> tuple[int, int] | None:
    """The rowid at which the next few rows of an SQL table end, and the bytes of their items; None without any."""
    some = f"SELECT id, ifnull(length(item), 0) AS bytes FROM {rows} WHERE id > ? ORDER BY id LIMIT {ROWS_AT_ONCE}"
    last, size = db.storage.execute(f"SELECT max(id), sum(bytes) FROM ({some})", (position,)).fetchone()
    if last is None:
        return None
    if size > _BYTES_AT_ONCE:
        size = 0
        for rowid, length in db.storage.execute(some, (position,)).fetchall():
            last, size = rowid, size + length
            if size >= _BYTES_AT_ONCE:
                break
    return last, size


def finish(db: Database, copy: RowCopy, name: str) -> None:
    """Give a complete copy its name; changes are no longer repeated in it."""
    db.storage.write()(f"ALTER TABLE {copy.rows} RENAME TO {name}")
    del db.unfinished_copies[copy.rows]
