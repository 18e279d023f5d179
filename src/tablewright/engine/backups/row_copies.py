"""Copies of the rows of a table, made in slices while others go on changing it.

Rows are copied in the order of their rowids. A change of a row that has been copied is made in the copy as well
(``Database.change``), and one of a row that has not is copied when its turn comes. So the copy is of one instant: the
one in which its last row was copied.

    rows   1 ─── copied, changes follow ─── position ─── to be copied as they are then ─── last

A copy begins with the name of a discarded table, and ``finish`` gives it its own. Whatever ends it before that, an
error or a crash, leaves a table that the background work removes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import thread_time

from tablewright.engine.database import Database, RowCopy
from tablewright.engine.discarded_tables import LOOK_SECONDS, new_name
from tablewright.engine.slices import Sliced, slice_end

ROWS_AT_ONCE = 200


@contextmanager
def new_copy(db: Database, source: str, create: Callable[[str], str]) -> Iterator[RowCopy]:
    """An empty SQL table, made by the statement that ``create`` gives for its name.

    Changes of the SQL table ``source`` follow in it, once rows are copied.
    """
    db.storage.check_room()
    name = new_name(db)
    db.storage.write()(create(name))
    copy = RowCopy(source, name)
    db.unfinished_copies[name] = copy
    # Whatever becomes of it, the background work finds what is left.
    db.on_schedule(LOOK_SECONDS)
    try:
        yield copy
    finally:
        # Only in memory: this may run at any time, when a handler that was left unfinished is thrown away. After a
        # rollback another copy may have the name by now.
        if db.unfinished_copies.get(name) is copy:
            del db.unfinished_copies[name]


def copy_rows(db: Database, copy: RowCopy, check_source: Callable[[], object]) -> Sliced[int]:
    """Copy all rows; gives how many there were. The last of them is copied in the slice in which this returns.

    ``check_source`` raises when what is copied has been deleted between two slices.
    """
    until = slice_end()
    while True:
        db.storage.check_room()
        execute = db.storage.write()
        last = next_rowid(db, copy.source, copy.position)
        if last is None:
            return int(execute(f"SELECT count(*) FROM {copy.rows}").fetchone()[0])
        execute(f"INSERT INTO {copy.rows} SELECT * FROM {copy.source} WHERE id > ? AND id <= ?", (copy.position, last))
        copy.position = last
        if thread_time() > until:
            yield
            check_source()
            until = slice_end()


def next_rowid(db: Database, rows: str, position: int) -> int | None:
    """The rowid with which the next few rows of an SQL table end; None if there are none."""
    (last,) = db.storage.execute(
        f"SELECT max(id) FROM (SELECT id FROM {rows} WHERE id > ? ORDER BY id LIMIT {ROWS_AT_ONCE})", (position,)
    ).fetchone()
    return None if last is None else int(last)


def finish(db: Database, copy: RowCopy, name: str) -> None:
    """Give a copy that is complete its name; no change follows any more."""
    db.storage.write()(f"ALTER TABLE {copy.rows} RENAME TO {name}")
    del db.unfinished_copies[copy.rows]
