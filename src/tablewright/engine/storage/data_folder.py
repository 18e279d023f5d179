"""The data folder: an SQLite database that one process owns.

    tablewright.db        the database           tablewright.lock     locked by its owner (``folder_lock``)
    tablewright.db-wal    its write-ahead log    tablewright.end      how far the log was synced (``log_check``)
    blobs/                large values           tablewright.reserve  reserves space for deletes (``reserve``)

The folder itself is locked by processes that copy it (``checkpoint_gate``).

``tablewright.end`` and the reserve are created after the tables of a new database are on disk. If one of them is there
and the tables are not, the database is lost, and no new one is created in its place.

Links are resolved once, before anything is opened (``Files``), so that the database, its log and the lock are in the
same folder even if a link changes later. Only the user that owns the folder can read it.

SQLite runs in WAL mode and does not sync the log itself at each commit: ``WriteAheadLog.sync`` does, so that the engine
can continue while the disk works, and many commits share one sync. A commit whose frames are synced is as durable as
with ``synchronous = FULL``; all other syncs (checkpoints, a log that starts over) are made by SQLite itself.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from tablewright.durable_files import sync_path
from tablewright.engine.storage.checksums import SQLITE_ERRORS, record_checksum, sqlite_message
from tablewright.engine.storage.folder_lock import FolderInUse, FolderLock
from tablewright.engine.storage.log_check import EndMark, LogState, check_log, log_frames, read_end_mark, wipe_behind
from tablewright.engine.storage.sql_schema import SCHEMA

_log = logging.getLogger("tablewright.engine")

FORMAT_VERSION = 3
_DATABASE = "tablewright.db"
# The first version with several ON CONFLICT clauses in one statement.
_OLDEST_SQLITE = (3, 35)
_SQLITE = b"SQLite format 3\0"
# After it: pages of 4096 bytes, WAL mode to write and to read, nothing reserved, and three constants.
_HEADER = bytes([0x10, 0, 2, 2, 0, 64, 32, 32])
# Of auto_vacuum: free pages are given back to the file system, some at a time.
_INCREMENTAL = 2
_APPLICATION_ID = 0x54_42_57_31  # "TBW1"
# The setting that identifies a data folder.
_FOLDER_ID = "folder"
# More cache does not make reads of a million items faster: the file is in the system's page cache.
_CACHE_KIB = 96 * 1024
# A longer log means fewer checkpoints, which write each page once however often it changed.
PAGE_BYTES = 4096
CHECKPOINT_PAGES = 16_000


class StorageError(Exception):
    """A data folder that cannot be opened, or is closed; the message says what to do."""


class DamagedError(StorageError):
    """A data folder whose database is damaged; restore a copy of it."""


@dataclass(frozen=True, slots=True)
class StorageFigures:
    """The size of the database and of its log in bytes, and the number of checkpoints."""

    database_bytes: int = 0
    log_bytes: int = 0
    checkpoints: int = 0


@dataclass(frozen=True, slots=True)
class Files:
    """The paths of the files of a data folder."""

    database: Path

    @classmethod
    def of(cls, folder: Path) -> Files:
        try:
            return cls((folder / _DATABASE).resolve())
        except (OSError, RuntimeError) as error:  # links that lead in a circle
            raise StorageError(f"cannot use {folder} as a data folder: {error}") from error

    @property
    def folder(self) -> Path:
        return self.database.parent

    @property
    def log(self) -> Path:
        return self.database.with_name(f"{self.database.name}-wal")

    @property
    def end(self) -> Path:
        return self.folder / "tablewright.end"

    @property
    def lock(self) -> Path:
        return self.folder / "tablewright.lock"

    @property
    def reserve(self) -> Path:
        return self.folder / "tablewright.reserve"


class WriteAheadLog:
    """The file that has commits until a checkpoint; opened when there is something to sync."""

    __slots__ = ("_descriptor", "_end", "_end_descriptor", "_mark", "_path", "_written_back")

    def __init__(self, files: Files) -> None:
        self._path = files.log
        self._end = files.end
        self._mark: EndMark | None = None
        self._written_back = 0
        self._descriptor: int | None = None
        self._end_descriptor: int | None = None

    def sync(self) -> None:
        """Return when everything committed so far is on disk; OSError if it may not be."""
        if self._descriptor is None:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            sync_path(self._path.parent)
        _sync_data(self._descriptor)

    @property
    def size(self) -> int:
        return 0 if self._descriptor is None else os.fstat(self._descriptor).st_size

    @property
    def frames(self) -> int:
        """The number of pages in the log when it was synced."""
        return 0 if self._mark is None else self._mark.frames

    @property
    def growth(self) -> int:
        """The number of pages added by the commits before that sync."""
        return 0 if self._mark is None else self._mark.growth

    @property
    def frames_to_write_back(self) -> int:
        """The number of pages that a checkpoint has to write to the database."""
        return 0 if self.frames == self._written_back else self.frames

    def written_back(self) -> int:
        """There was a checkpoint, and the next commit starts the log over; returns its number of pages until then,
        synced or not.
        """
        mark = None if self._descriptor is None else log_frames(self._descriptor, self._mark)
        self._written_back = 0 if mark is None else mark.frames
        return self._written_back

    @property
    def pages(self) -> int:
        """The number of pages of the database when the log was synced."""
        return 0 if self._mark is None else self._mark.pages

    def figures(self) -> StorageFigures:
        """The sizes of the log, and of the database that it belongs to."""
        return StorageFigures((self._path.parent / _DATABASE).stat().st_size, self.size, self.checkpoints)

    @property
    def checkpoints(self) -> int:
        """How many times the log has started over since it was created, from its header."""
        header = b"" if self._descriptor is None else os.pread(self._descriptor, 16, 0)
        return int.from_bytes(header[12:])

    def take_room(self, size: int) -> None:
        """Extend the file to this length, or as far as there is space; zeros after its end have no meaning."""
        while self._descriptor is not None and size > max(self.size, PAGE_BYTES):
            try:
                os.posix_fallocate(self._descriptor, 0, size)
                return
            except (OSError, AttributeError):  # no room, or no such call
                size //= 2

    def forget_failed_commit(self) -> None:
        """SQLite will overwrite what a failed commit has left, but maybe not all of it; only while everything committed
        is synced.
        """
        if self._descriptor is not None:
            wipe_behind(self._descriptor, self._mark)

    def mark_end(self) -> None:
        """Record how far the log is synced, for the next process; only right after a sync, with no commit since."""
        if self._descriptor is None:
            return
        mark = log_frames(self._descriptor, self._mark)
        if mark is not None and mark != self._mark:
            # Known, also where it cannot be written.
            self._mark = mark
            if self._end_descriptor is None:
                self._end_descriptor = os.open(self._end, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.pwrite(self._end_descriptor, mark.packed(), 0)

    def close(self) -> None:
        for descriptor in (self._descriptor, self._end_descriptor):
            if descriptor is not None:
                os.close(descriptor)
        self._descriptor = self._end_descriptor = None


# Not every platform has fdatasync; fsync does more than necessary.
_sync_data = getattr(os, "fdatasync", os.fsync)


def resolve_folder(path: str | os.PathLike[str]) -> Path:
    """The folder that a user names: ``~`` is the home folder, as in a shell."""
    if not os.fspath(path):
        raise StorageError("the path of the data folder is empty; use . for the current folder")
    try:
        if b"\0" in os.fsencode(path):
            raise ValueError
    except ValueError:
        raise StorageError(
            f"cannot use {os.fspath(path)!r} as a data folder: no path may have such a character; give another one"
        ) from None
    try:
        return Path(path).expanduser()
    except RuntimeError as error:  # ~user, and there is no such user
        raise StorageError(f"cannot use {path} as a data folder: {error}") from None


def holds_database(folder: Path) -> bool:
    """Whether the folder has a database to open, or had one; nothing is created or changed."""
    files = Files.of(folder)
    return any(file.is_file() and _has_content(file) for file in (files.database, files.log)) or _was_used(files)


def require_database(files: Files) -> None:
    """StorageError if there is no database, DamagedError if it is lost."""
    try:
        if not _has_database(files):
            raise StorageError(f"there is no Tablewright database in {files.folder}")
    except OSError as error:
        raise StorageError(f"cannot use {files.folder} as a data folder: {error}") from error


def _has_database(files: Files) -> bool:
    """Whether there is a database; DamagedError if there is not, and other files show that there was."""
    has_database, has_log = _has_content(files.database), _has_content(files.log)
    if has_log and not has_database:
        raise DamagedError(
            f"there is a log at {files.log}, but no database beside it; restore both from a copy of the folder"
        )
    if not has_database and _was_used(files):
        raise DamagedError(
            f"the database {files.database} is missing or empty, but the folder has had one; restore a copy of the "
            f"folder, or delete {files.end.name} and {files.reserve.name} to begin with an empty database"
        )
    return has_database


def _has_content(file: Path) -> bool:
    """Whether there is such a file, and it is not empty; its engine may be removing it."""
    try:
        return file.stat().st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        return False


def _was_used(files: Files) -> bool:
    """Whether the folder has had a database with tables: these files are created when that has been synced."""
    return files.end.exists() or files.reserve.exists()


def connect_memory() -> sqlite3.Connection:
    """A database in memory."""
    _check_sqlite()
    connection = _opened(":memory:")
    for statement in SCHEMA:
        connection.execute(statement)
    return connection


def connect(files: Files, *, accept_loss: bool = False) -> tuple[sqlite3.Connection, FolderLock]:
    """Open the database of a folder that no other process has open, and create it if it does not exist.

    A damaged log is refused, unless ``accept_loss``.
    """
    _check_sqlite()
    lock = _claim(files)
    try:
        return _connected(files, accept_loss), lock
    except BaseException:
        lock.release()
        raise


def claim_folder(folder: Path) -> FolderLock:
    """Keep every engine out of a folder that will have data folders below it; create it if it does not exist."""
    return _claim(Files.of(folder))


def _claim(files: Files) -> FolderLock:
    folder = files.folder
    try:
        _make(files)
        # SQLite would notice later, and report an I/O error.
        for place in (folder, files.database):
            if place.exists() and not os.access(place, os.W_OK):
                raise PermissionError(f"{place} is not writable")
        return FolderLock(files.lock)
    except FolderInUse as error:
        raise in_use(folder) from error
    except OSError as error:
        raise StorageError(f"cannot use {folder} as a data folder: {error.strerror or error}") from error


def _connected(files: Files, accept_loss: bool) -> sqlite3.Connection:
    folder = files.folder
    try:
        _check_log(files, accept_loss)
        _restrict(files)
        connection = _opened(files.database)
    except (OSError, sqlite3.OperationalError) as error:
        raise StorageError(f"cannot use {folder} as a data folder: {error}") from error
    try:
        _prepare(connection, files, accept_loss)
    except sqlite3.OperationalError as error:
        connection.close()
        if "locked" in str(error):
            raise in_use(folder) from error
        raise StorageError(f"cannot open the data folder {folder}: {error}") from error
    # A message with a damaged name in it cannot be decoded.
    except (*SQLITE_ERRORS, UnicodeDecodeError) as error:
        connection.close()
        what = "is damaged" if _is_sqlite(files) else "is damaged, or not a Tablewright database"
        raise DamagedError(
            f"{files.database} {what} ({sqlite_message(error)}); restore a copy of the folder, or choose another"
        ) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _check_log(files: Files, accept_loss: bool) -> None:
    """Refuse a damaged log before SQLite opens it, and cut off frames after the end of an undamaged one."""
    state = log_state(files)
    if state.damage is None:
        if state.is_torn:
            _cut_log(files, state)
        return
    aside = _set_aside(files)
    if not accept_loss:
        where = "" if aside is None else f" A copy of it is at {aside}."
        raise DamagedError(
            f"the log {files.log} is damaged: {state.damage}; commits that may be lost: {_count(state)}.{where} "
            "Restore a copy of the folder; or open it without these commits, with --accept-loss or accept_loss=True"
        )
    _log.warning("the log %s is damaged: %s; opened without commits: %s", files.log, state.damage, _count(state))
    forget_end(files)
    _cut_log(files, state)


def _cut_log(files: Files, state: LogState) -> None:
    """Frames of this generation after the end would look like commits that were lost.

    SQLite would not read them, and removing them frees space on a full disk, which a checkpoint would need first.
    """
    if not state.end:
        # An empty log would contradict the mark.
        forget_end(files)
    if files.log.exists():
        os.truncate(files.log, state.size)
        sync_path(files.log)


def _count(state: LogState) -> str:
    return "unknown" if state.in_doubt is None else str(state.in_doubt)


def log_state(files: Files) -> LogState:
    """The state of the folder's log; DamagedError if its database is lost."""
    try:
        return check_log(files.log, read_end_mark(files.end) if _has_database(files) else None)
    except OSError as error:
        raise StorageError(f"cannot use {files.folder} as a data folder: {error}") from error


def forget_end(files: Files) -> None:
    """Called before the log is emptied: a missing log is no damage from now on. The file keeps its size."""
    if files.end.exists() and (size := files.end.stat().st_size):
        with open(files.end, "r+b", buffering=0) as file:
            file.write(bytes(size))
            os.fsync(file.fileno())


def _set_aside(files: Files) -> Path | None:
    """Copy the log to a file whose name says what it is, once for each log; None if there is no log."""
    if not files.log.exists():
        return None
    checksum = 0
    with open(files.log, "rb") as log:
        while chunk := log.read(1024 * 1024):
            checksum = crc32(chunk, checksum)
    copy = files.folder / f"damaged-log-{checksum:08x}.wal"
    if not copy.exists():
        unfinished = copy.with_suffix(".tmp")
        shutil.copyfile(files.log, unfinished)
        unfinished.chmod(0o600)
        sync_path(unfinished)
        unfinished.rename(copy)
        sync_path(files.folder)
    return copy


def _check_sqlite() -> None:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        wanted = ".".join(map(str, _OLDEST_SQLITE))
        raise StorageError(f"this Python has SQLite {sqlite3.sqlite_version}; Tablewright needs {wanted} or newer")


def in_use(folder: Path, otherwise: str = "choose another folder") -> StorageError:
    return StorageError(f"the data folder {folder} is in use by another engine; close that engine, or {otherwise}")


def _is_sqlite(files: Files) -> bool:
    with open(files.database, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _make(files: Files) -> None:
    """Create a folder and its parents, durably. Only its owner may access a folder that was empty so far."""
    folder = files.folder
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise StorageError(f"{place} is a file, not a folder")
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if new or not any(folder.iterdir()):
        with suppress(PermissionError):  # it belongs to another user, who has given access
            folder.chmod(0o700)
    for place in new:
        sync_path(place.parent)


def _restrict(files: Files) -> None:
    """Restrict the files to their owner; SQLite gives its log the permissions of the database."""
    os.close(os.open(files.database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    for file in (files.database, files.log, files.end, files.lock, files.reserve):
        if file.exists() and file.stat().st_mode & 0o077:
            with suppress(PermissionError):
                file.chmod(0o600)


def reading(database: Path, files: Files, *, immutable: bool) -> sqlite3.Connection:
    """Open a database of this format for reading. SQLite does not write to an immutable one either."""
    _check_sqlite()
    connection = _opened(f"{database.as_uri()}?mode=ro&immutable=1" if immutable else database)
    try:
        if _check_format(connection, files):
            _check_new(files)
            raise StorageError(f"there is no Tablewright database in {files.folder}")
    except (MemoryError, UnicodeDecodeError) as error:  # the latter: of a message with a damaged name in it
        connection.close()
        raise sqlite3.DatabaseError(sqlite_message(error)) from error
    except BaseException:
        connection.close()
        raise
    return connection


def folder_id(files: Files) -> str:
    """The id of this data folder and its copies; empty if it cannot be read."""
    with (
        suppress(StorageError, *SQLITE_ERRORS),
        closing(reading(files.database, files, immutable=True)) as connection,
    ):
        found = connection.execute("SELECT * FROM settings WHERE name = ?", (_FOLDER_ID,)).fetchone()
        if found is not None and record_checksum(*found[:2]) == found[2]:
            return f"{found[1]:016x}"
    return ""


def _opened(database: str | Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        database, isolation_level=None, check_same_thread=False, cached_statements=512, timeout=0, uri=True
    )
    # Text that is no longer valid is left to the checksums to refuse.
    connection.text_factory = lambda text: text.decode(errors="surrogateescape")
    return connection


def _prepare(connection: sqlite3.Connection, files: Files, accept_loss: bool) -> None:
    execute = connection.execute
    # Keeps other programs out, and the index of the log in memory; it takes effect with the first lock.
    execute("PRAGMA locking_mode = EXCLUSIVE")
    # Before anything is changed: the database of another application stays unchanged.
    is_new = _check_format(connection, files)
    if is_new:
        if not accept_loss:
            _check_new(files)
        execute(f"PRAGMA page_size = {PAGE_BYTES}")
        execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")
    execute("PRAGMA journal_mode = WAL")
    execute("PRAGMA synchronous = NORMAL")
    execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    # Some builds of SQLite overwrite free pages with zeros: a delete would take as much log as a write.
    execute("PRAGMA secure_delete = FAST")
    # Enabled for commits that may make a checkpoint (``group_commit``).
    execute("PRAGMA wal_autocheckpoint = 0")
    # After a larger commit, the log is truncated to this again.
    execute(f"PRAGMA journal_size_limit = {CHECKPOINT_PAGES * PAGE_BYTES}")
    execute("BEGIN IMMEDIATE")
    if is_new:
        for statement in SCHEMA:
            execute(statement)
        columns = (_FOLDER_ID, int.from_bytes(os.urandom(8)) >> 1)
        execute("INSERT INTO settings VALUES (?, ?, ?)", (*columns, record_checksum(*columns)))
        execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        execute(f"PRAGMA user_version = {FORMAT_VERSION}")
    execute("COMMIT")


def _check_new(files: Files) -> None:
    """Refuse a database without tables in a folder that has had some: they were in a log that is lost."""
    if _was_used(files):
        raise DamagedError(
            f"the database {files.database} has no tables, but its log has had some, and is missing; restore a copy of "
            "the folder, or open it without what was in the log, with --accept-loss or accept_loss=True"
        )


def _check_header(connection: sqlite3.Connection, files: Files) -> None:
    """The values in the header of SQLite's file, which SQLite would trust."""
    with open(files.database, "rb") as file:
        start = file.read(24)
    (encoding,) = connection.execute("PRAGMA encoding").fetchone()
    (vacuum,) = connection.execute("PRAGMA auto_vacuum").fetchone()
    if start[16:] != _HEADER or encoding != "UTF-8" or vacuum != _INCREMENTAL:
        raise DamagedError(f"{files.database} is damaged (its header); restore a copy of the folder")


def _check_format(connection: sqlite3.Connection, files: Files) -> bool:
    """Whether the database is new and empty; one of another format is refused."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (contents,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if not (version or application or contents):
        return True
    if application != _APPLICATION_ID:
        raise StorageError(f"{files.database} is a SQLite database of another application; choose another folder")
    _check_header(connection, files)
    if version != FORMAT_VERSION:
        age, remedy = (
            ("a newer", "upgrade Tablewright to open it")
            if version > FORMAT_VERSION
            else ("an older", "open it with the version that wrote it, or choose another folder")
        )
        raise StorageError(
            f"{files.folder} was written by {age} version of Tablewright "
            f"(storage format {version}; this one reads format {FORMAT_VERSION}); {remedy}"
        )
    return False
