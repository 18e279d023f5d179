"""The engine: one entry point, ``call``, in DynamoDB's own JSON.

    call ──▶ check_request ──▶ operation (in a turn of the storage) ──▶ response ──▶ commit is durable ──▶ caller

``execute`` is the same without the last step: it returns the response as JSON bytes together with the commit it has to
wait for, so that a server can let many requests share one commit. An item in a response is the stored bytes, inserted
by the serializer; only ``call`` parses them.

An operation that takes longer than a few milliseconds is done in slices, each in its own turn, so that other requests
need not wait for all of it. ``begin`` does the first slice; the rest is an ``Unfinished``, which a server resumes
between other requests, and ``execute`` at once.
"""

from __future__ import annotations

import logging
import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import orjson

from tablewright.dynamo import DynamoError, InternalServerError
from tablewright.engine.background_work import BackgroundWork
from tablewright.engine.database import Database
from tablewright.engine.metering import Meter, Sink, open_meter_log
from tablewright.engine.operations import HANDLERS, Handler
from tablewright.engine.requests import check_request
from tablewright.engine.slices import Outcome, Steps, Unfinished, refusal
from tablewright.engine.storage.checksums import SQLITE_ERRORS, DamagedRecord, sqlite_message
from tablewright.engine.storage.data_folder import DamagedError, StorageError, StorageFigures, resolve_folder
from tablewright.engine.storage.durable_commit import Commit
from tablewright.engine.storage.group_commit import Storage, Turn
from tablewright.engine.verify_folder import VerifyReport, definition_problems, verify

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    from tablewright.engine.copies.copy_folder import FolderCopy
    from tablewright.engine.past.past_changes import ChangedItems, ItemVersions

_log = logging.getLogger("tablewright.engine")

# In memory, a task yields to the event loop after so many writes.
_IN_A_ROW = 64
# Iterations of the event loop: a request may take two from its arrival to its write; no commit waits for more than 16.
_QUIET_ITERATIONS = 2
_MAX_ITERATIONS = 16


def epoch_seconds(time: float | datetime) -> float:
    """A time by the engine's clock."""
    if not isinstance(time, datetime):
        return float(time)
    if time.tzinfo is None:
        raise ValueError("a datetime without a time zone is ambiguous; give it one, such as datetime.now(UTC)")
    return time.timestamp()


def _check_definitions(db: Database) -> None:
    with db.storage.turn():
        problems = definition_problems(db)
    if problems:
        raise ValueError("; ".join(problems[:3]))


class Engine:
    """An embedded DynamoDB. Open one with ``Engine.open``; it is safe to use from any number of threads and tasks.

    with Engine.open("./data") as engine:
        engine.call("PutItem", {"TableName": "Calls", "Item": {"id": {"S": "c-1"}}})
    """

    def __init__(
        self,
        folder: Path | None,
        clock: Callable[[], float],
        entropy: random.Random,
        region: str,
        account: str,
        accept_loss: bool,
    ) -> None:
        self._meter_log = open_meter_log()
        self._meter = None if self._meter_log is None else Meter(self._meter_log)
        self._storage = Storage(folder, accept_loss=accept_loss)
        try:
            self._database = Database(self._storage, clock, entropy, region, account)
            self._storage.on_rollback = self._database.after_rollback
            if folder is not None:
                _check_definitions(self._database)
            self._background = BackgroundWork(self._database)
            self._storage.on_full = self._background.wake
            self._background.start()
        except (InternalServerError, *SQLITE_ERRORS, ValueError, LookupError, TypeError, AttributeError) as error:
            self._storage.close()
            reason = error.what if isinstance(error, DamagedRecord) else sqlite_message(error.__cause__ or error)
            raise DamagedError(
                f"the data folder {folder} is damaged: its tables cannot be read ({reason}); "
                "restore a copy of it, or choose another folder"
            ) from error
        except BaseException:
            self._storage.close()
            raise
        self._closed = False
        self._handlers: Mapping[str, Handler] = HANDLERS
        # How often a task had to wait for a commit.
        self._waits = 0
        # The threads that make commits durable, each for the tasks of one event loop.
        self._waiting: dict[tuple[AbstractEventLoop, Commit], Future[None]] = {}

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        entropy: random.Random | None = None,
        region: str = "us-east-1",
        account: str = "123456789012",
        accept_loss: bool = False,
    ) -> Self:
        """Open the data folder at ``path``, and create it if it does not exist; without a path, a database in memory.

        ``clock`` returns the time in epoch seconds, ``entropy`` is the random source for ids and tokens, ``region`` and
        ``account`` are used in ARNs. Raises StorageError if the folder cannot be opened. ``accept_loss`` opens a folder
        whose log is damaged, without the commits after the damage; a copy of the log is kept.
        """
        folder = None if path is None else resolve_folder(path)
        return cls(folder, clock, entropy or random.SystemRandom(), region, account, accept_loss)

    @property
    def folder(self) -> Path | None:
        """The data folder; None for a database in memory."""
        return self._storage.folder

    @property
    def region(self) -> str:
        """The region in its ARNs."""
        return self._database.region

    # -- calls --------------------------------------------------------------------------------------------------

    def call(self, operation: str, request: Mapping[str, Any], *, pattern: str = "") -> dict[str, Any]:
        """Run one operation; raise a DynamoError, or return its response once it is durable.

        ``pattern`` names the access pattern that the call serves, for ``tablewright meter``.
        """
        releases = self._storage.releases
        try:
            body, commit = self.execute(operation, request, pattern=pattern)
            if commit is not None:
                self._storage.wait_durable(commit)
        except DynamoError as error:
            if error.commit is not None:
                self._storage.wait_durable(error.commit)
            if self._storage.releases == releases or not isinstance(error, InternalServerError):
                raise
            # The write that finds the disk full frees the reserve, for a write that needs little.
            body, commit = self.execute(operation, request, pattern=pattern)
            if commit is not None:
                self._storage.wait_durable(commit)
        response: dict[str, Any] = orjson.loads(body)
        return response

    async def call_async(self, operation: str, request: Mapping[str, Any], *, pattern: str = "") -> dict[str, Any]:
        """``call`` for asyncio: tasks that are ready together share one commit."""
        try:
            outcome = self.begin(operation, check_request(operation, request), pattern=pattern)
            while isinstance(outcome, Unfinished):
                await self._other_tasks(outcome)
                outcome = outcome.resume()
        except DynamoError as error:
            if error.commit is not None:
                await self._wait_durable(error.commit)
            raise
        body, commit = outcome
        if commit is not None:
            await self._wait_durable(commit)
        response: dict[str, Any] = orjson.loads(body)
        return response

    async def _other_tasks(self, unfinished: Unfinished) -> None:
        """Let other tasks run between slices; a cancelled task leaves no commit and no copy open."""
        import asyncio

        try:
            if unfinished.beside is None:
                await asyncio.sleep(0)
            else:
                await asyncio.to_thread(unfinished.beside)
        except BaseException:
            unfinished.close()
            self._storage.flush()
            raise

    async def _wait_durable(self, commit: Commit) -> None:
        """Return once the commit is durable. With a data folder, wait while other tasks on the event loop write: one
        sync covers all of them.

        In memory there is no sync to share, but other tasks get to run from time to time.
        """
        self._waits += 1
        if self._storage.folder is None and self._waits % _IN_A_ROW:
            self._storage.wait_durable(commit)
            return
        import asyncio  # here, because it would take a third of the time that importing the engine takes

        storage, quiet = self._storage, 0
        try:
            for _ in range(_MAX_ITERATIONS):
                writes = storage.writes
                await asyncio.sleep(0)
                quiet = quiet + 1 if storage.writes == writes else 0
                if commit.done or quiet == _QUIET_ITERATIONS:
                    break
        except BaseException:
            # A cancelled task leaves no commit open.
            storage.wait_durable(commit)
            raise
        # The first task to get here commits for the others, which share its thread if it needs one.
        if not commit.done and storage.sync_takes_long:
            loop = asyncio.get_running_loop()
            waiting = self._waiting.get((loop, commit))
            if waiting is None:
                waiting = self._waiting[loop, commit] = loop.run_in_executor(None, storage.wait_durable, commit)
                waiting.add_done_callback(partial(self._end_of_wait, (loop, commit)))
            with suppress(InternalServerError):
                await asyncio.shield(waiting)
        storage.wait_durable(commit)

    def _end_of_wait(self, key: tuple[AbstractEventLoop, Commit], done: Future[None]) -> None:
        del self._waiting[key]
        if not done.cancelled():
            # Each task raises an error of its own; if none is left, asyncio would report this one as forgotten.
            done.exception()

    def execute(self, operation: str, request: Any, *, pattern: str = "") -> Outcome:
        """The response as JSON, and the commit that must be durable before it may be sent; None if all is durable.

        A DynamoError carries that commit as ``error.commit``.
        """
        outcome = self.begin(operation, self.check(operation, request), pattern=pattern)
        while isinstance(outcome, Unfinished):
            outcome = outcome.resume()
        return outcome

    check = staticmethod(check_request)

    def begin(self, operation: str, request: dict[str, Any], *, pattern: str = "") -> Outcome | Unfinished:
        """``execute`` for a request returned by ``check``; a long one is left unfinished after its first slice."""
        handler = self._handlers[operation]
        if self._meter is not None:
            handler = self._meter.metering(operation, handler, pattern)
        turn = Turn(self._storage)
        try:
            with self._storage.lock, turn:
                response: dict[str, Any] | None
                if type(given := handler(self._database, request)) is dict:
                    response = given
                else:
                    unfinished = Unfinished(self._storage, operation, request, cast(Steps, given))
                    response = unfinished.advance()
        except DynamoError as error:
            if isinstance(error.__cause__, SQLITE_ERRORS):
                name, key, cause = request.get("TableName"), request.get("Key"), sqlite_message(error.__cause__)
                _log.error("%s failed (table %s, key %s): %s", operation, name, key, cause)
            raise refusal(operation, error, turn, request) from error.__cause__
        return unfinished.paused(turn) if response is None else (orjson.dumps(response), turn.commit)

    @property
    def flush_takes_long(self) -> bool:
        """Whether ``flush`` should not be called on an event loop: its disk syncs slowly, or is syncing already."""
        return self._storage.sync_takes_long

    def flush(self) -> None:
        """Make all pending writes durable; everyone who waits for them is called back."""
        self._storage.flush()

    # -- health -------------------------------------------------------------------------------------------------------

    def problems(self) -> list[str]:
        """The present problems of the disk and the background work, as messages. Empty if all is well."""
        return [*self._storage.health.problems(), *self._background.problems()]

    def when_failed(self, callback: Callable[[str], None]) -> None:
        """Call back, with the reason, if the disk fails so that no call can be answered any more.

        From the thread that notices it; at once if it has already happened.
        """
        self._storage.health.when_failed(callback)

    def meter(self, sink: Sink) -> None:
        """Call ``sink`` with a record of what each request consumes, from now on; see ``metering``."""
        self._meter = Meter(sink) if self._meter is None else Meter(*self._meter.sinks, sink)

    def stop_metering(self, sink: Sink) -> None:
        """Stop calling a sink; without any, requests are not metered."""
        left = () if self._meter is None else tuple(each for each in self._meter.sinks if each != sink)
        self._meter = Meter(*left) if left else None

    def storage_figures(self) -> StorageFigures:
        """The sizes of the files on disk; zeros for a database in memory."""
        return self._storage.figures()

    # -- the past -----------------------------------------------------------------------------------------------------

    def at(self, time: float | datetime) -> Self:
        """This engine as it was at a time, for reading: every table with point-in-time recovery, at any time in its
        recovery window, without a restore.

        GetItem, BatchGetItem, Query, Scan, TransactGetItems, PartiQL's SELECT and DescribeTable respond with the items
        of then, in the tables and indexes of now; a write is refused. A read costs what it costs now, and a single pass
        over the changes since then. It uses the data folder of this engine, which is the one to close.
        """
        from tablewright.engine.past.past_operations import past_operations  # most programs read the present only

        past = copy(self)
        past._handlers = past_operations(epoch_seconds(time), HANDLERS)
        past._meter = None
        # Closing it closes nothing.
        past._closed = True
        return past

    def item_versions(
        self,
        table: str,
        key: Mapping[str, Any],
        start: float | datetime,
        end: float | datetime,
        *,
        limit: int = 100,
        after: int | None = None,
    ) -> ItemVersions:
        """The states of one item between two times of the recovery window: at the first, and after each change.

        ``after`` is ``next`` of the previous page. In slices, like all long reads; with asyncio, run it in a thread.
        """
        from tablewright.engine.past import past_changes

        first, last = epoch_seconds(start), epoch_seconds(end)
        work = past_changes.item_versions(self._database, table, key, first, last, limit, after)
        return past_changes.finish(self._storage, work)

    def changed_items(
        self,
        table: str,
        start: float | datetime,
        end: float | datetime,
        *,
        limit: int = 100,
        after: int | None = None,
    ) -> ChangedItems:
        """The items that differ between two times of the recovery window, each as it was at both."""
        from tablewright.engine.past import past_changes

        first, last = epoch_seconds(start), epoch_seconds(end)
        work = past_changes.changed_items(self._database, table, first, last, limit, after)
        return past_changes.finish(self._storage, work)

    # -- maintenance --------------------------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Do the background work that is due (expiry, backfills, trimming) now, in this thread."""
        self._background.run_due()

    def verify(self) -> VerifyReport:
        """Check that items, indexes, expiry entries, streams, histories and backups agree; see ``VerifyReport``."""
        with self._storage.turn() as turn:
            report = verify(self._database)
        if turn.commit is not None:
            self._storage.wait_durable(turn.commit)
        return report

    def copy_to(self, folder: str | os.PathLike[str], *, keep: int | None = None) -> FolderCopy:
        """Add a verified copy of the data folder, as of one instant, to a folder of copies; writes continue meanwhile.

        ``keep`` deletes the copies older than so many intact ones. With asyncio, run it in a thread.
        """
        from tablewright.engine.copies.folder_backup import back_up  # a program that makes no copies need not load it

        if self.folder is None:
            raise StorageError("a database in memory has no data folder to copy; open one with a path")
        return back_up(self.folder, resolve_folder(folder), keep=keep, database=self._storage.reading())

    @staticmethod
    def restore_copy(
        copies: str | os.PathLike[str], path: str | os.PathLike[str], *, at: float | None = None
    ) -> FolderCopy:
        """Create a data folder at ``path`` from the newest copy in a folder of copies, or from the newest one taken by
        ``at``, in epoch seconds; returns that copy. Raises StorageError if the folder is not empty.
        """
        from tablewright.engine.copies.copy_folder import CopyFolder
        from tablewright.engine.copies.folder_backup import restore

        source = CopyFolder(resolve_folder(copies))
        copy = source.choose(at)
        restore(source, copy, resolve_folder(path))
        return copy

    def close(self) -> None:
        """Make everything durable and release the data folder."""
        if self._closed:
            return
        self._closed = True
        self._background.stop()
        self._storage.close()
        if self._meter_log is not None:
            self._meter_log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
