"""Group commit: concurrent writes share one SQLite transaction and one sync of the log.

Every operation runs with the lock held, on the one connection. The first write opens a SQLite transaction, a
``Commit``, and leaves it open; the operations that follow join it, until one caller commits it for all of them. A
commit is durable once the log has been synced, which is done outside the lock: while the disk works, other operations
run, and the next sync covers all of them.

    lock ─ Turn: apply to the open commit ─ unlock ─▶ commit ─ sync ─▶ durable, for everyone who waits for that commit

A response may be sent only when everything that it could have seen is durable: ``Turn.commit`` is the commit to wait
for, for reads and errors as much as for writes. It is the same object throughout: ``Engine.execute`` returns it, a
``DynamoError`` carries it, and the wire sends the response when it is durable.

If a sync takes long, because of the disk or of much data (``disk_pace``), a commit notes the rows that it changes,
and a read that declares what it has read (``has_read``) waits only for a commit that changed some of it. Otherwise that
would cost more than the wait. In that case an event loop leaves the sync to a thread, and otherwise does it itself.

When the disk is full, the reserve is released, and operations that need space are refused until there is some
(``check_room``); deletes continue, with frequent checkpoints so that the log does not grow.

When SQLite fails (disk full, I/O error), or an operation fails halfway through its writes, the whole commit is rolled
back, everyone waiting for it gets an InternalServerError, and earlier commits are unaffected. When a sync fails, the
state of the disk is unknown: the storage refuses every operation from then on, until it is opened again.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter
from types import TracebackType

from tablewright.dynamo import InternalServerError
from tablewright.engine.storage import forks
from tablewright.engine.storage.checkpoint_gate import CheckpointGate
from tablewright.engine.storage.checksums import SQLITE_ERRORS, is_damage, sqlite_message
from tablewright.engine.storage.data_folder import (
    CHECKPOINT_PAGES,
    PAGE_BYTES,
    Files,
    StorageError,
    StorageFigures,
    WriteAheadLog,
    connect,
    connect_memory,
    forget_end,
)
from tablewright.engine.storage.database_descriptor import DatabaseDescriptor
from tablewright.engine.storage.disk_health import DiskHealth
from tablewright.engine.storage.disk_pace import CheckpointPace, SyncPace
from tablewright.engine.storage.durable_commit import Commit
from tablewright.engine.storage.folder_lock import FolderLock
from tablewright.engine.storage.reserve import Reserve, pages_for_log

_REFUSED = "The write could not be made durable and was rolled back"
# SQLITE_FULL, and SQLITE_IOERR_WRITE, which SQLite reports for a quota.
_NO_ROOM = (13, 778)
_FULL = "The disk is full: deletes are accepted, but this write is refused until there is free space"
# How many pages may be in the log then, before a checkpoint; and while the database is being copied.
_FEW_PAGES = 16
_FEW_PAGES_WHILE_COPIED = 1024
# How much a delete may add, in pages that are not full.
_SLACK = 4 * PAGE_BYTES
_UNSURE = "The disk failed to sync, so its content is unknown; restart to read what was stored"
# Of SQLite's virtual machine.
_STEPS_BETWEEN_CALLS = 1_000_000

_log = logging.getLogger("tablewright.engine")

Execute = Callable[..., sqlite3.Cursor]


class Turn:
    """One operation's turn on the connection, as a ``with`` block inside that of the lock. An operation that raises
    halfway through its writes rolls back the open commit.

    The lock is not taken here: a signal may raise between any two lines of Python, and if it raised at the end of
    ``__enter__`` or the start of ``__exit__``, the lock would never be released. ``with lock`` has no such gap.
    """

    __slots__ = ("_storage", "_writes", "commit")

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        # Afterwards: what must be durable before anything that was seen here may leave the engine.
        self.commit: Commit | None = None

    def __enter__(self) -> None:
        storage = self._storage
        if storage.refusal is not None:
            raise type(storage.refusal)(*storage.refusal.args)
        self._writes = storage.writes
        storage.depends_on_all = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        storage = self._storage
        if error is not None:
            if storage.writes == self._writes and is_damage(error):
                # A read of a damaged page does not affect others.
                storage.health.refused(sqlite_message(error))
                raise InternalServerError(f"Internal server error: {sqlite_message(error)}") from error
            if isinstance(error, sqlite3.Error):
                raise storage.abort(error) from error
            if storage.writes > max(self._writes, storage.kept):
                refusal = storage.abort(error)
                if isinstance(error, MemoryError):
                    raise refusal from error
        self.commit = storage.newest_commit() if storage.depends_on_all else storage.dependency


class Storage:
    """The connection. ``execute`` reads; ``write`` returns a function for reads and writes in the open commit."""

    def __init__(
        self, folder: Path | None, *, accept_loss: bool = False, connection: sqlite3.Connection | None = None
    ) -> None:
        """Without a folder, a database in memory, or one that is open already."""
        self.folder = folder
        # Called after a rollback, so that copies of stored data in memory are read again.
        self.on_rollback: Callable[[], None] = lambda: None
        # Called, inside a turn, when the disk is full.
        self.on_full: Callable[[], None] = lambda: None
        self.lock = threading.RLock()
        # Why every turn is refused: closed, forked, or the disk failed.
        self.refusal: Exception | None = None
        self.health = DiskHealth()
        # The failed sync after which nothing can become durable any more.
        self._failure: InternalServerError | None = None
        # How many times ``write`` was called, and up to which call writes stay even if the operation fails later.
        self.writes = self.kept = 0
        # The open commit, and those that SQLite has committed and that are not known to be on disk yet.
        self.open_commit: Commit | None = None
        self._unsynced: list[Commit] = []
        self._sync_lock = threading.RLock()
        self.syncs = SyncPace()
        # Whether the turn may have seen everything; if not, the commit that it depends on.
        self.depends_on_all = True
        self.dependency: Commit | None = None
        # Whether the file will be shorter after a checkpoint.
        self.has_vacuumed = False
        self._log: WriteAheadLog | None = None
        self._folder_lock: FolderLock | None = None
        self._gate: CheckpointGate | None = None
        self._reserve: Reserve | None = None
        self._ending: weakref.finalize[..., Storage] | None = None
        # Whether the disk is full; see ``check_room``. And how many times it was.
        self.lacks_room = False
        self.releases = 0
        # From this many pages in the log on, a commit makes a checkpoint; fewer if that would take long.
        self.checkpoint_pages = CHECKPOINT_PAGES
        self.checkpoint_pace = CheckpointPace()
        self._descriptor = DatabaseDescriptor()
        if folder is None:
            self._connection = connect_memory() if connection is None else connection
        else:
            self._files = Files.of(folder)
            self._connection, self._folder_lock = connect(self._files, accept_loss=accept_loss)
            self._log = WriteAheadLog(self._files)
            self._reserve = Reserve(self._files)
        self.execute = self._connection.execute
        if self._log is not None:
            self._sync_leftovers(self._log)
            if self._reserve is not None and self._reserve.is_released and not self._reserve.regain(self._pages()):
                self._do_without_room(self._log)
        if folder is not None:
            self._ending = weakref.finalize(self, _end, os.getpid(), weakref.ref(self), self._connection, self._files)
        forks.register(self)

    def _sync_leftovers(self, log: WriteAheadLog) -> None:
        """Commits of a killed process can be read from now on, so they have to be durable."""
        try:
            self._gate = CheckpointGate(self._files)
            self._timed_sync(log)
            with suppress(OSError):  # on a full disk: a missing mark says less, and nothing wrong
                log.mark_end()
        except OSError as error:
            self._release()
            raise StorageError(f"cannot use {self.folder} as a data folder: it cannot be synced: {error}") from error

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """The lock and a turn in one, where a microsecond does not matter."""
        turn = Turn(self)
        with self.lock, turn:
            yield turn

    def write(self, table: int | None = None, key: bytes = b"", *, unseen: bool = False) -> Execute:
        """``execute`` with a transaction open for it: to change the row with that key, or by default anything;
        ``unseen``: only what no other operation can see yet.
        """
        self.writes += 1
        if self.open_commit is not None and not self._connection.in_transaction:
            # It is committed, and a signal has kept that from being noted.
            self._commit()
        if self.open_commit is None:
            self.execute("BEGIN IMMEDIATE")
            self.open_commit = Commit(notes_rows=self.syncs.are_slow)
        if unseen:
            return self.execute
        self.open_commit.can_be_seen = True
        touched = self.open_commit.touched
        if touched is not None:
            if table is None:
                self.open_commit.touched = None
            else:
                touched.add((table, key))
        return self.execute

    def expect(self, size: int) -> None:
        """An operation is about to write so many bytes. On a fast disk, too, syncing many of them takes long."""
        if self._log is not None:
            self.syncs.expect(size)
            if self.checkpoint_pace.is_due(size):
                # Otherwise the checkpoint after it would have the pages of both to write.
                self.write_log_back()

    def keep(self) -> None:
        """What this turn has written so far is complete, even if the rest of it fails."""
        self.kept = self.writes

    def watch(self, callback: Callable[[], None] | None) -> None:
        """Call back from time to time while a statement is executed, or stop that."""
        self._connection.set_progress_handler(callback, _STEPS_BETWEEN_CALLS)

    def newest_commit(self) -> Commit | None:
        """The newest commit with anything to see that is not known to be durable."""
        if self.open_commit is not None and self.open_commit.can_be_seen:
            return self.open_commit
        return next((commit for commit in reversed(self._unsynced) if commit.can_be_seen), None)

    def has_read(self, rows: Sequence[tuple[int, bytes]], *, ranges: bool = False) -> None:
        """This turn has read nothing but these rows, by table and key; ``ranges``: all whose keys begin so."""
        pending = [*self._unsynced] if self.open_commit is None else [*self._unsynced, self.open_commit]
        self.depends_on_all = False
        self.dependency = next((commit for commit in reversed(pending) if commit.may_change(rows, ranges)), None)

    # -- room ---------------------------------------------------------------------------------------------------

    def check_room(self) -> None:
        """Before a write that adds data: refuse it while the disk is full. Inside a turn."""
        if self.lacks_room and not self.regain_room():
            raise InternalServerError(_FULL)

    def check_room_for(self, size: int) -> None:
        """The same before a write that adds so many bytes, if that is more than a full disk has left."""
        if self.lacks_room and self._reserve is not None:
            (free,) = self.execute("PRAGMA freelist_count").fetchone()
            if free * PAGE_BYTES + self._reserve.free_bytes() < size + _SLACK:
                self.check_room()

    def regain_room(self) -> bool:
        """Whether the disk has space again, for the reserve and for writes. Inside a turn."""
        if not self.lacks_room:
            return True
        if self._reserve is None or not self._reserve.regain(self._pages()):
            return False
        self.lacks_room = False
        self.health.has_room()
        _log.warning("the disk has free space again; all writes are accepted")
        return True

    def _pages(self) -> int:
        (pages,) = self.execute("PRAGMA page_count").fetchone()
        return int(pages)

    def _follow(self, log: WriteAheadLog) -> None:
        """Let the reserve grow with the database."""
        if self._reserve is not None and not self._reserve.follow(log.pages, log.frames):
            with self.lock:
                self._release_reserve()

    def _release_reserve(self) -> None:
        """The disk is full: use the reserve. Often a checkpoint is all that is needed."""
        if self._reserve is None or self._log is None or self.lacks_room:
            return
        self.releases += 1
        self._reserve.release()
        try:
            emptied = self.empty_log()
        except SQLITE_ERRORS:
            emptied = False
        if not emptied:
            self._checkpoint(self._log.size)
        if not self._reserve.regain(self._pages()):
            self._do_without_room(self._log)
            self.on_full()

    def _do_without_room(self, log: WriteAheadLog) -> None:
        self.lacks_room = True
        self.health.without_room()
        _log.error("the disk is full: deletes are accepted, other writes are refused until there is free space")
        log.take_room(pages_for_log(self._pages()) * PAGE_BYTES)

    # -- durability ---------------------------------------------------------------------------------------------

    @property
    def sync_takes_long(self) -> bool:
        """Whether an event loop should let a thread make commits durable.

        Another thread that is doing it may continue with a checkpoint.
        """
        if self.syncs.are_slow or not self._sync_lock.acquire(blocking=False):
            return True
        self._sync_lock.release()
        return False

    def wait_durable(self, commit: Commit) -> None:
        """Return when the commit is durable, or raise why it is not."""
        if not commit.done:
            with self._sync_lock:
                with self.lock:
                    if self.open_commit is commit:
                        self._commit()
                self._sync()
        if commit.error is not None or not commit.done:
            # Each waiter raises an error of its own: a traceback belongs to one thread.
            raise InternalServerError(_UNSURE if commit.error is None else commit.error.message)

    def flush(self) -> None:
        """Make the open commit durable, for everyone who waits for it."""
        with self._sync_lock:
            try:
                with self.lock:
                    self._commit()
            finally:
                self._sync()

    def _commit(self) -> None:
        """Commit the open transaction. The caller also has the lock of syncs: no commit is written before the previous
        one is on disk, so if there are two in a log, the first was (``log_check``).
        """
        commit = self.open_commit
        if commit is None:
            return
        try:
            if self._connection.in_transaction:
                self._commit_transaction()
        except SQLITE_ERRORS as error:
            if self._log is not None and not self._unsynced:
                self._roll_back()
                with suppress(OSError):
                    self._log.forget_failed_commit()
            self.abort(error)
        finally:
            # Also when a signal handler raised in between: what is committed is committed. If one raises here, the
            # commit stays open without a transaction, and the next call does all of this again.
            if self.open_commit is commit and not self._connection.in_transaction:
                if self._log is None:
                    self.health.durable()
                    # Those who are called back may write, and open another commit.
                    commit.finish(None)
                else:
                    self._unsynced.append(commit)
                if self.open_commit is commit:
                    self.open_commit = None

    def _commit_transaction(self) -> None:
        """COMMIT, and let SQLite make a checkpoint if the log is too long; not while the database is being copied.

        Most checkpoints are made before (``_checkpoint_in_time``). This one is for a log that was written to without
        pause until then.
        """
        if self._log is None or self._gate is None or self._log.frames_to_write_back < self._longest_log():
            self.execute("COMMIT")
            return
        with self._gate.passing() as is_open:
            # The copy starts over; without a checkpoint, deletes would no longer be possible.
            is_open |= self.lacks_room and self._log.frames >= _FEW_PAGES_WHILE_COPIED
            try:
                self.execute(f"PRAGMA wal_autocheckpoint = {int(is_open)}")
                self._timed_checkpoint(self._log, "COMMIT", is_open=is_open)
            finally:
                self.execute("PRAGMA wal_autocheckpoint = 0")

    def _checkpoint_in_time(self, log: WriteAheadLog) -> None:
        """Make a checkpoint if the next commit would make the log too long, unless an operation is running.

        Then no caller waits for a commit and for a checkpoint at the same time. The next commit probably is as large as
        the previous one.
        """
        is_long = log.frames_to_write_back + log.growth >= self._longest_log()
        if self._gate is None or not (is_long or self.checkpoint_pace.is_due()):
            return
        if not self.lock.acquire(blocking=False):
            return
        try:
            with self._gate.passing() as is_open:
                if is_open and not self._connection.in_transaction:
                    # If it fails, the log grows until that is reported (``disk_health``).
                    with suppress(*SQLITE_ERRORS):
                        self._timed_checkpoint(log, "PRAGMA wal_checkpoint(PASSIVE)", is_open=is_open)
        finally:
            self.lock.release()

    def _longest_log(self) -> int:
        """The number of pages in the log from which a checkpoint is made."""
        if self.lacks_room:
            return _FEW_PAGES
        limit = min(self.checkpoint_pages, self.checkpoint_pace.pages)
        return limit if self._reserve is None else min(limit, self._reserve.log_pages)

    def _timed_checkpoint(self, log: WriteAheadLog, statement: str, *, is_open: bool) -> None:
        """Execute a statement that makes a checkpoint, if the gate is open, and learn from its duration."""
        began, checkpoints = perf_counter(), log.checkpoints
        self.execute(statement).fetchall()
        # Right after a checkpoint the log starts over, and is shorter than it was.
        if is_open and log.checkpoints == checkpoints:
            seconds = perf_counter() - began
            self.checkpoint_pace.made(log.written_back(), seconds, self.syncs.mean)

    def _sync(self) -> None:
        """Make everything that is committed durable. A caller that had to wait for the lock finds it done."""
        with self._sync_lock:
            commits = self._unsynced[:]
            if not commits or self._log is None:
                return
            # Once one has failed, a sync that succeeds proves nothing: the system may have dropped data that it could
            # not write.
            if self._failure is None:
                try:
                    self._timed_sync(self._log)
                    with suppress(OSError):  # an older mark says less, and nothing wrong
                        self._log.mark_end()
                except OSError as failure:
                    _log.critical("the disk failed to sync: %s", failure)
                    self.refusal = self._failure = InternalServerError(f"{_UNSURE}: {failure}")
                    self.health.failed(failure)
            if self._failure is None:
                del self._unsynced[: len(commits)]
                self.health.durable()
                self._follow(self._log)
                if self._log.size > self.health.log_limit:
                    self._checkpoint(self._log.size)
            # Otherwise they stay, for operations that have seen them and are still in their turn.
            for commit in commits:
                commit.finish(self._failure)
            if self._failure is None:
                self._checkpoint_in_time(self._log)

    def _timed_sync(self, log: WriteAheadLog) -> None:
        began = perf_counter()
        log.sync()
        self.syncs.took(perf_counter() - began)

    def _checkpoint(self, log_size: int) -> None:
        """Make a checkpoint, since SQLite's own seem to fail; later, if an operation is running."""
        if self._gate is None or not self.lock.acquire(blocking=False):
            return
        try:
            with self._gate.passing() as is_open:
                if is_open and not self._connection.in_transaction:
                    self.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                    self.health.checkpoint_made(log_size)
        except SQLITE_ERRORS as error:
            _log.error("a checkpoint failed: %s", sqlite_message(error))
            self.health.checkpoint_failed(sqlite_message(error), log_size)
        finally:
            self.lock.release()

    def empty_log(self) -> bool:
        """Write the log into the database and truncate it, unless there are writers or copies; returns whether it was.

        Inside a turn.
        """
        return self._write_back("TRUNCATE")

    def write_log_back(self) -> bool:
        """The same, if there is space for it, and the file keeps its size; it starts over from its beginning."""
        try:
            return self._write_back("PASSIVE")
        except SQLITE_ERRORS:
            return False

    def _write_back(self, mode: str) -> bool:
        # Others take the lock of syncs before the one of turns: waiting for it here would be a deadlock.
        if self._gate is None or not self._sync_lock.acquire(blocking=False):
            return False
        try:
            if self._connection.in_transaction or self._unsynced or self._failure is not None:
                return False
            with self._gate.passing() as is_open:
                if not is_open:
                    return False
                if mode == "TRUNCATE":
                    forget_end(self._files)
                (busy, _, _) = self.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
                self.checkpoint_pace.starts_over()
                return not busy
        finally:
            self._sync_lock.release()

    def figures(self) -> StorageFigures:
        return StorageFigures() if self._log is None else self._log.figures()

    def abort(self, error: BaseException) -> InternalServerError:
        """Roll back the open commit and refuse it to everyone who waits for it; returns their error."""
        refusal = InternalServerError(f"{_REFUSED}: {sqlite_message(error)}")
        if isinstance(error, SQLITE_ERRORS):
            self.health.refused(sqlite_message(error))
        commit, self.open_commit = self.open_commit, None
        try:
            self._roll_back()
            if commit is not None:
                _log.error("a commit was rolled back: %s", sqlite_message(error))
                self.on_rollback()
            if getattr(error, "sqlite_errorcode", 0) in _NO_ROOM:
                self._release_reserve()
        except SQLITE_ERRORS:
            # The disk is failing; stale copies in memory fail when they are used, and are read again then.
            _log.exception("the tables could not be read again after a rollback")
        finally:
            if commit is not None:
                commit.finish(refusal)
        return refusal

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with suppress(*SQLITE_ERRORS):
                self.execute("ROLLBACK")

    @contextmanager
    def reading(self) -> Iterator[int]:
        """A descriptor of the database, for copying it."""
        with self.turn():
            descriptor = self._descriptor.acquire(self._files.database)
        try:
            yield descriptor
        finally:
            with self.lock:
                self._descriptor.release()

    def leave_to_parent(self) -> None:
        """This is the copy in the child of a fork: refuse every call, and leave the files alone."""
        forks.never_release(self._connection)
        if self._folder_lock is not None:
            self._folder_lock.release()
        # Its transaction and its log are the parent's to finish.
        self.open_commit, self._unsynced, self._log = None, [], None
        self.refusal = StorageError(
            f"the data folder {self.folder} belongs to the process that opened it, and this process is a fork of "
            "it; use the engine in the parent, or open another folder here"
        )

    def close(self) -> None:
        """Make everything durable and release the data folder; every later call is refused."""
        with self._sync_lock:
            with self.lock:
                if isinstance(self.refusal, StorageError):
                    return
                self._commit()
                self.refusal = StorageError("this engine has been closed; open the data folder again to use it")
            self._sync()
            with self.lock:
                self._release()

    def _release(self) -> None:
        if self._ending is not None:
            self._ending.detach()
        if self._log is not None:
            # SQLite is about to remove the log.
            with suppress(OSError):
                forget_end(self._files)
        self._connection.close()
        if self._log is not None:
            self._log.close()
        if self._reserve is not None and self.lacks_room:
            # The log is gone, and the next process to open the folder needs its space.
            self._reserve.remake()
        if self._gate is not None:
            self._gate.close()
            self._gate = None
        self._descriptor.end()
        if self._folder_lock is not None:
            self._folder_lock.release()


def _end(process: int, of: weakref.ref[Storage], connection: sqlite3.Connection, files: Files) -> None:
    """The program ends, or a storage is no longer referenced: close it.

    SQLite would also do that, and remove the log; then nothing may say that there should be one.
    """
    if os.getpid() != process:
        # A child leaves the files to its parent.
        return
    storage = of()
    if storage is not None:
        storage.close()
        return
    with suppress(OSError):
        forget_end(files)
    connection.close()
