"""SQL tables that are no longer needed are emptied in the background, some rows at a time.

Dropping an SQL table takes time in proportion to its pages, and blocks everything else. So a table that is not small is
renamed, and its rows are deleted by a step of the background work, until it is empty and can be dropped.

    items_7 ──▶ discarded_1 ──▶ ... fewer rows ... ──▶ gone

The name is all that is needed, also after a crash. That is why a copy of a table is also created under such a name, and
renamed when it is complete (``row_copies``): a copy that is not completed is discarded already.
"""

from __future__ import annotations

import time

from tablewright.engine.database import Database

PREFIX = "discarded_"

_SMALL = 1000
# Rows deleted by one statement: few at first, since each may be large.
_ROWS_AT_FIRST = 4
_ROWS_AT_ONCE = 500
_STEP_SECONDS = 0.003
# How often to check whether an unfinished copy was abandoned.
LOOK_SECONDS = 10.0


def discard(db: Database, *names: str) -> None:
    """Drop SQL tables: small ones now, others in the background."""
    execute = db.storage.write()
    for name in names:
        cut_copies(db, name)
        if execute(f"SELECT 1 FROM {name} LIMIT 1 OFFSET {_SMALL}").fetchone() is None:
            execute(f"DROP TABLE {name}")
        else:
            execute(f"ALTER TABLE {name} RENAME TO {new_name(db)}")
    db.on_schedule()


def cut_copies(db: Database, source: str) -> None:
    """Notify copies of an SQL table, and caches of its changes, that it was replaced."""
    if db.changes_by_key is not None:
        db.changes_by_key.forget(source)
    for copy in db.unfinished_copies.values():
        copy.is_cut |= copy.source == source


def new_name(db: Database) -> str:
    """An unused name for a discarded table."""
    return f"{PREFIX}{max([int(name.removeprefix(PREFIX)) for name in _names(db)], default=0) + 1}"


def are_there(db: Database) -> bool:
    """Whether there is anything to empty."""
    return any(True for _ in _names(db))


def step(db: Database) -> float | None:
    """A step of the background work: delete some rows of a discarded table, and drop it once it is empty."""
    names = [name for name in _names(db) if name not in db.unfinished_copies]
    later = LOOK_SECONDS if db.unfinished_copies else None
    if not names:
        return later
    execute, name = db.storage.write(unseen=True), names[0]
    columns = _key_columns(db, name)
    began, rows = time.perf_counter(), _ROWS_AT_FIRST
    took = 0.0
    while took < _STEP_SECONDS:
        deleted = execute(
            f"DELETE FROM {name} WHERE ({columns}) IN (SELECT {columns} FROM {name} LIMIT {rows})"
        ).rowcount
        if deleted < rows:
            execute(f"DROP TABLE {name}")
            return 0.0 if len(names) > 1 else later
        before, took = took, time.perf_counter() - began
        if took - before < _STEP_SECONDS / 4:
            rows = min(2 * rows, _ROWS_AT_ONCE)
    return 0.0


def _key_columns(db: Database, name: str) -> str:
    """The columns that identify a row of an SQL table."""
    execute = db.storage.execute
    (definition,) = execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    if "WITHOUT ROWID" not in definition:
        return "rowid"
    return ", ".join(column for _, column, *_, in_key in execute(f"PRAGMA table_info({name})") if in_key)


def _names(db: Database) -> list[str]:
    found = db.storage.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ?", (f"{PREFIX}*",))
    return [name for (name,) in found.fetchall()]
