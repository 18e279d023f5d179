"""The SQL tables of a data folder: those of every folder, and those that belong to a table or a backup.

    tables, streams, log, tokens, settings, backups      the whole folder's, one of each
    items_N                                              the items of table N
    index_N_M                                            the entries of its index M
    expiries_N, history_N                                with time to live, with point-in-time recovery
    backup_N                                             the items of backup N
    discarded_N                                          to be removed, or not complete yet

``checksum`` is that of the record, and an ``item`` ends in its own (``checksums``). SQLite's stored statements are
compared with these when a folder is opened: a column with another name or type would change what is read.
"""

from __future__ import annotations

SCHEMA = (
    "CREATE TABLE tables (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, definition BLOB NOT NULL, "
    "checksum INTEGER NOT NULL)",
    "CREATE TABLE streams (number INTEGER PRIMARY KEY, arn TEXT NOT NULL UNIQUE, table_number INTEGER NOT NULL, "
    "definition BLOB NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE log (sequence INTEGER PRIMARY KEY AUTOINCREMENT, stream INTEGER NOT NULL, at REAL NOT NULL, "
    "kind TEXT NOT NULL, principal TEXT, checksum INTEGER NOT NULL, item_key BLOB NOT NULL, old BLOB, new BLOB)",
    "CREATE INDEX log_by_stream ON log (stream, sequence)",
    "CREATE INDEX log_by_time ON log (at)",
    "CREATE TABLE tokens (token TEXT PRIMARY KEY, fingerprint BLOB NOT NULL, at REAL NOT NULL, "
    "response BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE INDEX tokens_by_time ON tokens (at)",
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE backups (number INTEGER PRIMARY KEY, arn TEXT NOT NULL UNIQUE, expires REAL, "
    "definition BLOB NOT NULL, checksum INTEGER NOT NULL)",
)
# Created by SQLite, for the numbers of the log.
SEQUENCE = "CREATE TABLE sqlite_sequence(name,seq)"


def items_table(name: str) -> str:
    return (
        f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, "
        "item BLOB NOT NULL)"
    )


def backup_table(name: str) -> str:
    """The columns are those of ``items_table``, in their order, so that SQLite copies rows without decoding them."""
    return f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, key BLOB NOT NULL, size INTEGER NOT NULL, item BLOB NOT NULL)"


def changes_table(name: str) -> str:
    """The first change of each key since a point in time, while that is being restored."""
    return f"CREATE TABLE {name} (key BLOB PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID"


def index_table(name: str) -> str:
    return f"CREATE TABLE {name} (key BLOB PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID"


def expiries_table(name: str) -> str:
    return f"CREATE TABLE {name} (at INTEGER, id INTEGER, PRIMARY KEY (at, id)) WITHOUT ROWID"


def history_table(name: str) -> str:
    return (
        f"CREATE TABLE {name} (sequence INTEGER PRIMARY KEY, at REAL NOT NULL, id INTEGER NOT NULL, "
        "key BLOB NOT NULL, size INTEGER NOT NULL, checksum INTEGER NOT NULL, item BLOB)"
    )
