"""Turns, and group commit.

Every operation runs with the lock held, on the one connection. A write opens a SQLite transaction and leaves it open;
the operations that follow join it, until somebody commits it for all of them. A commit is durable once the log has been
synced, which is done outside the lock: while the disk works, others go on, and the next sync is for all of them.

    execute ─ lock ─ apply ─ unlock ─ commit ─ sync ─▶ durable, for everyone who came meanwhile

A response may leave only when everything that it could have seen is durable: ``Turn.batch`` is what to wait for, for
reads and errors as much as for writes.

When SQLite refuses (disk full, I/O error), or an operation breaks off halfway through its writes, the whole batch is
rolled back, everyone waiting for it gets an InternalServerError, and what was committed before is untouched. When the
disk fails to sync, nobody knows what is on it: the storage refuses everything from then on, until it is opened anew.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from tablewright.dynamo import InternalServerError
from tablewright.engine.storage import forks
from tablewright.engine.storage.data_folder import StorageError, WriteAheadLog, connect

_REFUSED = "The write could not be made durable and was not kept"
_UNSURE = "The disk failed, and it is not known what it holds; restart to find out"

_log = logging.getLogger("tablewright.engine")


class Batch:
    """The writes of one commit."""

    __slots__ = ("_callbacks", "_lock", "done", "error")

    def __init__(self) -> None:
        self.done = False
        self.error: InternalServerError | None = None
        self._callbacks: list[Callable[[InternalServerError | None], None]] = []
        self._lock = threading.Lock()

    def when_durable(self, callback: Callable[[InternalServerError | None], None]) -> None:
        """Call back once the batch is on disk, or was refused; from whichever thread sees to it."""
        with self._lock:
            if not self.done:
                self._callbacks.append(callback)
                return
        callback(self.error)

    def finish(self, error: InternalServerError | None) -> None:
        with self._lock:
            self.done = True
            self.error = error
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback(error)
            except Exception:
                _log.exception("a callback of a finished commit failed")


class Turn:
    """The engine to oneself, as a ``with`` block inside one of the lock. What raises halfway through its writes ends
    the batch.

    The lock is not taken here: a signal may raise between any two lines of Python, and what it raised at the end of
    ``__enter__`` or the start of ``__exit__`` would leave the lock with nobody to release it. ``with lock`` has no
    such gap.
    """

    __slots__ = ("_storage", "_writes", "batch")

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        # Afterwards: what must be durable before anything that was seen here may be told.
        self.batch: Batch | None = None

    def __enter__(self) -> None:
        storage = self._storage
        if storage.refusal is not None:
            raise type(storage.refusal)(*storage.refusal.args)
        self._writes = storage.writes

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        storage = self._storage
        if error is not None:
            if isinstance(error, sqlite3.Error):
                raise storage.abort(error) from error
            if storage.writes > max(self._writes, storage.kept):
                storage.abort(error)
        self.batch = storage.unsettled()


class Storage:
    """The connection. ``execute`` reads; ``write`` reads and writes, inside the open batch."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        # Called after a rollback, for whoever keeps a copy of something stored.
        self.on_rollback: Callable[[], None] = lambda: None
        self.lock = threading.RLock()
        # Why nobody gets a turn any more.
        self.refusal: Exception | None = None
        # Why nothing can become durable any more.
        self._failure: InternalServerError | None = None
        # How often somebody was about to write, and up to where that stands whatever the operation does next.
        self.writes = self.kept = 0
        # The batch that is open, and those that are committed and not yet known to be on disk.
        self.pending: Batch | None = None
        self._committed: list[Batch] = []
        self._sync_lock = threading.RLock()
        self._connection = connect(folder)
        self.execute = self._connection.execute
        self._log = None if folder is None else WriteAheadLog(folder)
        if self._log is not None:
            self._sync_what_was_left(self._log)
        forks.watch(self)

    def _sync_what_was_left(self, log: WriteAheadLog) -> None:
        """What a killed process had committed can be seen from now on, so it has to be durable."""
        try:
            log.sync()
        except OSError as error:
            self._connection.close()
            raise StorageError(f"cannot use {self.folder} as a data folder: it cannot be synced: {error}") from error

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """The lock and a turn in one, where a microsecond does not matter."""
        turn = Turn(self)
        with self.lock, turn:
            yield turn

    def write(self) -> Callable[..., sqlite3.Cursor]:
        """``execute``, with a transaction open for it."""
        self.writes += 1
        if self.pending is not None and not self._connection.in_transaction:
            # It is committed, and a signal has kept that from being noted.
            self._commit()
        if self.pending is None:
            self.execute("BEGIN IMMEDIATE")
            self.pending = Batch()
        return self.execute

    def keep(self) -> None:
        """What this turn has written so far is whole, even if the rest of it fails."""
        self.kept = self.writes

    def unsettled(self) -> Batch | None:
        """The newest batch that is not known to be durable."""
        if self.pending is not None:
            return self.pending
        newest = self._committed[-1:]
        return newest[0] if newest else None

    # -- durability ---------------------------------------------------------------------------------------------

    def settle(self, batch: Batch) -> None:
        """Return once the batch is durable, or raise why it is not."""
        if not batch.done:
            with self.lock:
                if self.pending is batch:
                    self._commit()
            self._sync()
        if batch.error is not None or not batch.done:
            # Each of those who wait raises an error of its own: a traceback belongs to one thread.
            raise InternalServerError(_UNSURE if batch.error is None else batch.error.message)

    def flush(self) -> None:
        """Make the open batch durable, for everyone in it; they are told."""
        try:
            with self.lock:
                self._commit()
        finally:
            self._sync()

    def _commit(self) -> None:
        batch = self.pending
        if batch is None:
            return
        try:
            if self._connection.in_transaction:
                self.execute("COMMIT")
        except sqlite3.Error as error:
            self.abort(error)
        finally:
            # Also when a signal was raised in between: what is committed is committed. One that is raised here leaves
            # the batch pending without a transaction, so that all of this is done once more.
            if self.pending is batch and not self._connection.in_transaction:
                if self._log is None:
                    batch.finish(None)
                else:
                    self._committed.append(batch)
                self.pending = None

    def _sync(self) -> None:
        """Make everything that is committed durable. Who waits here meanwhile finds it done."""
        with self._sync_lock:
            batches = self._committed[:]
            if not batches or self._log is None:
                return
            # Once it has failed, a sync that succeeds proves nothing: what could not be written may be forgotten.
            if self._failure is None:
                try:
                    self._log.sync()
                except OSError as failure:
                    _log.critical("the disk failed to sync: %s", failure)
                    self.refusal = self._failure = InternalServerError(f"{_UNSURE}: {failure}")
            if self._failure is None:
                del self._committed[: len(batches)]
            # Otherwise they stay, for those who have seen them and have not left their turn yet.
            for batch in batches:
                batch.finish(self._failure)

    def abort(self, error: BaseException) -> InternalServerError:
        """Roll the open batch back and tell those who wait for it; gives what they are told."""
        refusal = InternalServerError(f"{_REFUSED}: {error}")
        batch, self.pending = self.pending, None
        try:
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self.execute("ROLLBACK")
            if batch is not None:
                _log.error("a batch of writes was rolled back: %s", error)
                self.on_rollback()
        except sqlite3.Error:
            # The disk is in trouble; what is stale in memory fails when it is used, and is read again then.
            _log.exception("the state before the rollback could not be read")
        finally:
            if batch is not None:
                batch.finish(refusal)
        return refusal

    def leave_to_parent(self) -> None:
        """This is the copy that a fork made: refuse to be used, and leave the files alone."""
        forks.never_release(self._connection)
        # Its transaction and its log are the parent's to finish.
        self.pending, self._committed, self._log = None, [], None
        self.refusal = StorageError(
            f"the data folder {self.folder} belongs to the process that opened it, and this one is a fork of it; "
            "call the parent, or open a folder of its own here"
        )

    def close(self) -> None:
        """Make everything durable and let go of the data folder; who comes later is told."""
        with self.lock:
            if isinstance(self.refusal, StorageError):
                return
            self._commit()
            self.refusal = StorageError("this engine has been closed; open the data folder again to use it")
        self._sync()
        with self.lock:
            self._connection.close()
            if self._log is not None:
                self._log.close()
