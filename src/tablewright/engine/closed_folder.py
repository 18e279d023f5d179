"""Verify a data folder that no engine has open, without changing a byte of it.

SQLite cannot read a log without taking over the folder: it creates files of its own, and writes the log into the
database at the end. If the log has no commits, as in a folder that was closed, the database is opened as immutable, and
the log is ignored. Otherwise both are copied, and the copy is opened.
"""

from __future__ import annotations

import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tablewright.dynamo import InternalServerError
from tablewright.engine.database import Database
from tablewright.engine.storage.checksums import SQLITE_ERRORS, DamagedRecord, sqlite_message
from tablewright.engine.storage.data_folder import (
    DamagedError,
    Files,
    StorageError,
    in_use,
    log_state,
    reading,
    require_database,
)
from tablewright.engine.storage.folder_lock import FolderInUse, FolderLock
from tablewright.engine.storage.group_commit import Storage
from tablewright.engine.verify_folder import OnItem, Progress, VerifyReport, verify

__all__ = ["verify_closed"]

_BLOCK = 1024 * 1024


def verify_closed(folder: Path, progress: Progress | None = None, on_item: OnItem | None = None) -> VerifyReport:
    """Verify a data folder that no engine has open; StorageError if it is in use, or cannot be read.

    ``progress`` is called with the current step, how much of it is done, and the total. ``on_item`` is called with
    every item of tables and backups and its location, for checks beyond the engine's.
    """
    files = Files.of(folder)
    with _unused(files):
        state = log_state(files)
        report = VerifyReport()
        if state.damage is not None:
            doubt = "unknown" if state.in_doubt is None else state.in_doubt
            report.found(f"the log is damaged: {state.damage}; commits that may be lost: {doubt}")
        try:
            with _readable(files, progress, with_log=state.end > 0) as connection:
                found = _verified(connection, progress, on_item)
        except DamagedError as error:
            if not report.problems:
                raise
            found = VerifyReport(problems=[str(error)])
        found.problems[:0] = report.problems
        return found


def _verified(connection: sqlite3.Connection, progress: Progress | None, on_item: OnItem | None) -> VerifyReport:
    try:
        storage = Storage(None, connection=connection)
        # It does not depend on the time.
        database = Database(storage, time.time, random.Random(0), "us-east-1", "123456789012")
    except (InternalServerError, *SQLITE_ERRORS, ValueError, LookupError, TypeError, AttributeError) as error:
        what = error.what if isinstance(error, DamagedRecord) else sqlite_message(error)
        return VerifyReport(problems=[f"the tables cannot be read: {what}"])
    return verify(database, progress, on_item)


@contextmanager
def _unused(files: Files) -> Iterator[None]:
    """Prevent engines from opening the folder meanwhile, if one has ever been opened in it."""
    with ExitStack() as held:
        try:
            if files.lock.exists():
                held.callback(FolderLock(files.lock, shared=True).release)
        except FolderInUse:
            raise in_use(files.folder, "use `tablewright scrub` to check it meanwhile") from None
        except OSError as error:
            raise StorageError(f"cannot read the data folder {files.folder}: {error}") from error
        yield


@contextmanager
def _readable(files: Files, progress: Progress | None, *, with_log: bool) -> Iterator[sqlite3.Connection]:
    """A connection that reads the folder, or a copy of it, and is closed afterwards."""
    with ExitStack() as held:
        require_database(files)
        if not os.access(files.database, os.R_OK):
            # SQLite would report damage.
            raise StorageError(f"no permission to read {files.database}")
        database, immutable = files.database, True
        if with_log:
            copy = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="tablewright-verify-")))
            try:
                for file in (files.database, files.log):
                    _copy(file, copy / file.name, progress)
            except OSError as error:
                raise StorageError(
                    f"cannot copy {files.database} to {copy} to read it with its log: {error}"
                ) from error
            database, immutable = copy / files.database.name, False
        try:
            connection = reading(database, files, immutable=immutable)
        except sqlite3.DatabaseError as error:
            raise DamagedError(f"{files.database} is damaged ({error}); restore a copy of the folder") from error
        held.callback(connection.close)
        yield connection


def _copy(source: Path, target: Path, progress: Progress | None) -> None:
    size = source.stat().st_size
    with open(source, "rb") as reading_from, open(target, "wb") as writing_to:
        while block := reading_from.read(_BLOCK):
            writing_to.write(block)
            if progress is not None:
                progress("copying to read it (MB)", writing_to.tell() // _BLOCK, size // _BLOCK)
