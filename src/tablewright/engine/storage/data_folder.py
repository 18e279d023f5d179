"""The data folder: one SQLite database that one process owns.

SQLite runs in WAL mode and does not sync the log itself at each commit: ``WriteAheadLog.sync`` does, so that the engine
can go on while the disk works, and many commits share one sync. A commit whose frames are synced is as durable as
with ``synchronous = FULL``; everything else that has to be synced (checkpoints, a log that starts over) SQLite syncs
itself.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from tablewright.engine.storage.durable_files import sync_path
from tablewright.engine.storage.sql_schema import SCHEMA

FORMAT_VERSION = 3
_DATABASE = "tablewright.db"
# The first version with several ON CONFLICT clauses in one statement.
_OLDEST_SQLITE = (3, 35)
_SQLITE = b"SQLite format 3\0"
# Behind it: pages of 4096 bytes, WAL mode to write and to read, nothing reserved, and three constants.
_HEADER = bytes([0x10, 0, 2, 2, 0, 64, 32, 32])
# Of auto_vacuum: pages that are free are given back to the system, some at a time.
_INCREMENTAL = 2
_APPLICATION_ID = 0x54_42_57_31  # "TBW1"
# Beyond this, more cache makes reads of a million items no faster: the file is in the page cache of the system.
_CACHE_KIB = 96 * 1024
# A longer log means fewer checkpoints, which write each page once however often it changed.
_PAGE_BYTES = 4096
_CHECKPOINT_PAGES = 16_000


class StorageError(Exception):
    """A data folder that cannot be opened, or has been closed; the message says what to do."""


class DamagedError(StorageError):
    """A data folder whose database is damaged; restore a copy of it."""


class WriteAheadLog:
    """The file that commits are in until a checkpoint; opened when there is something to sync."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"{_DATABASE}-wal"
        self._descriptor: int | None = None

    def sync(self) -> None:
        """Return when everything committed so far is on disk; OSError when it may not be."""
        if self._descriptor is None:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            sync_path(self._path.parent)
        _sync_data(self._descriptor)

    @property
    def size(self) -> int:
        return 0 if self._descriptor is None else os.fstat(self._descriptor).st_size

    @property
    def checkpoints(self) -> int:
        """How often the log has started over since it was created, as its header says."""
        header = b"" if self._descriptor is None else os.pread(self._descriptor, 16, 0)
        return int.from_bytes(header[12:])

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


# Not every platform has fdatasync; fsync does more than is needed.
_sync_data = getattr(os, "fdatasync", os.fsync)


def resolve_folder(path: str | os.PathLike[str]) -> Path:
    """The folder that a user names: ``~`` is the home folder, as in a shell."""
    if not os.fspath(path):
        raise StorageError("the path of the data folder is empty; for the current folder, use .")
    try:
        return Path(path).expanduser()
    except RuntimeError as error:  # ~user, and there is no such user
        raise StorageError(f"cannot use {path} as a data folder: {error}") from None


def holds_database(folder: Path) -> bool:
    """Whether the folder has a database to open; nothing is created or changed."""
    try:
        return (folder / _DATABASE).stat().st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        return False


def connect(folder: Path | None) -> sqlite3.Connection:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        wanted = ".".join(map(str, _OLDEST_SQLITE))
        raise StorageError(
            f"this Python comes with SQLite {sqlite3.sqlite_version}; Tablewright needs {wanted} or newer"
        )
    if folder is None:
        connection = _opened(":memory:")
        for statement in SCHEMA:
            connection.execute(statement)
        return connection
    try:
        _make(folder)
        # SQLite would find out later, and call it an I/O error.
        for place in (folder, folder / _DATABASE):
            if place.exists() and not os.access(place, os.W_OK):
                raise PermissionError(f"{place} is not writable")
        connection = _opened(folder / _DATABASE)
    except (OSError, sqlite3.OperationalError) as error:
        raise StorageError(f"cannot use {folder} as a data folder: {error}") from error
    try:
        _prepare(connection, folder)
    except sqlite3.OperationalError as error:
        connection.close()
        if "locked" in str(error):
            raise StorageError(
                f"the data folder {folder} is in use by another engine; close that one, or choose another folder"
            ) from error
        raise StorageError(f"cannot open the data folder {folder}: {error}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter: of a message with a damaged name in it
        connection.close()
        what = "is damaged" if _is_sqlite(folder) else "is damaged, or not a Tablewright database"
        raise DamagedError(
            f"{folder / _DATABASE} {what} ({error}); restore a copy of the folder, or choose another"
        ) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _is_sqlite(folder: Path) -> bool:
    with open(folder / _DATABASE, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _make(folder: Path) -> None:
    """Create a folder and its parents, durably."""
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise StorageError(f"{place} is a file, not a folder")
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in new:
        sync_path(place.parent)


def _opened(database: str | Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        database, isolation_level=None, check_same_thread=False, cached_statements=512, timeout=0
    )
    # Text that is none any more is left to the checksums to refuse.
    connection.text_factory = lambda text: text.decode(errors="surrogateescape")
    return connection


def _prepare(connection: sqlite3.Connection, folder: Path) -> None:
    execute = connection.execute
    # Exclusive mode makes one process the owner; it takes effect with the first lock.
    execute("PRAGMA locking_mode = EXCLUSIVE")
    # Before anything is changed: the database of another application stays as it is.
    is_new = _check_format(connection, folder)
    if is_new:
        execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")
    execute("PRAGMA journal_mode = WAL")
    execute("PRAGMA synchronous = NORMAL")
    execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    execute("BEGIN IMMEDIATE")
    if is_new:
        for statement in SCHEMA:
            execute(statement)
        execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        execute(f"PRAGMA user_version = {FORMAT_VERSION}")
    execute("COMMIT")


def _check_header(connection: sqlite3.Connection, folder: Path) -> None:
    """What SQLite says of itself at the start of its file, and would take at its word."""
    with open(folder / _DATABASE, "rb") as file:
        start = file.read(24)
    (encoding,) = connection.execute("PRAGMA encoding").fetchone()
    (vacuum,) = connection.execute("PRAGMA auto_vacuum").fetchone()
    if start[16:] != _HEADER or encoding != "UTF-8" or vacuum != _INCREMENTAL:
        raise DamagedError(f"{folder / _DATABASE} is damaged (its header); restore a copy of the folder")


def _check_format(connection: sqlite3.Connection, folder: Path) -> bool:
    """Whether the database is new, with nothing in it; one that is not of this format is refused."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (contents,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if not (version or application or contents):
        return True
    if application != _APPLICATION_ID:
        raise StorageError(f"{folder / _DATABASE} is a SQLite database of another application; choose another folder")
    _check_header(connection, folder)
    if version != FORMAT_VERSION:
        age, remedy = (
            ("a newer", "upgrade Tablewright to open it")
            if version > FORMAT_VERSION
            else ("an older", "open it with the version that wrote it, or choose another folder")
        )
        raise StorageError(
            f"{folder} was written by {age} version of Tablewright (storage format {version}; this one reads format "
            f"{FORMAT_VERSION}); {remedy}"
        )
    return False
