"""The engine: one entry, ``call``, in DynamoDB's own JSON.

    call ──▶ check_request ──▶ operation (with the storage's turn) ──▶ response ──▶ durable ──▶ caller

``execute`` is the same without the last step: it gives the response as JSON bytes together with the batch it has to
wait for, so that a server can let many requests share one commit. An item in a response is the stored bytes, spliced
in by the serializer; only ``call`` parses them.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from tablewright.dynamo.errors import DynamoError, InternalServerError, UnknownOperationException
from tablewright.engine.database import Database
from tablewright.engine.maintenance import Maintenance
from tablewright.engine.metering import open_ledger
from tablewright.engine.operations import OPERATIONS
from tablewright.engine.requests import check_request
from tablewright.engine.storage.data_folder import DamagedError, locate
from tablewright.engine.storage.group_commit import Batch, Storage, Turn
from tablewright.engine.storage.verify_folder import Report, verify

# The writes in memory that tasks make before others get their turn.
_IN_A_ROW = 64
# Turns of an event loop: a request may take two from its arrival to its write, and none waits for more than so many.
_QUIET_TURNS = 2
_MOST_TURNS = 16


class Engine:
    """An embedded DynamoDB. Open one with ``Engine.open``; it is safe from any number of threads and tasks."""

    def __init__(
        self, folder: Path | None, clock: Callable[[], float], entropy: random.Random, region: str, account: str
    ) -> None:
        self._ledger = open_ledger()
        self._storage = Storage(folder)
        try:
            self._database = Database(self._storage, clock, entropy, region, account)
            self._storage.on_rollback = self._database.load_tables
            self._maintenance = Maintenance(self._database)
            self._maintenance.start()
        except (InternalServerError, sqlite3.Error, ValueError, LookupError, TypeError, AttributeError) as error:
            self._storage.close()
            raise DamagedError(
                f"the data folder {folder} is damaged: its tables cannot be read ({error.__cause__ or error}); "
                "restore a copy of it, or choose another"
            ) from error
        except BaseException:
            self._storage.close()
            raise
        self._closed = False
        # How often a task has had to wait for a commit.
        self._waits = 0

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        entropy: random.Random | None = None,
        region: str = "us-east-1",
        account: str = "123456789012",
    ) -> Self:
        """Open the data folder at ``path``, making it if need be; without a path, a database in memory."""
        folder = None if path is None else locate(path)
        return cls(folder, clock, entropy or random.SystemRandom(), region, account)

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

        ``pattern`` is the access pattern that it serves, for a run that is metered.
        """
        try:
            body, batch = self.execute(operation, request, pattern=pattern)
        except DynamoError as error:
            if error.batch is not None:
                self._storage.settle(error.batch)
            raise
        if batch is not None:
            self._storage.settle(batch)
        response: dict[str, Any] = orjson.loads(body)
        return response

    async def call_async(self, operation: str, request: Mapping[str, Any], *, pattern: str = "") -> dict[str, Any]:
        """``call`` for asyncio: tasks that are ready together share one commit."""
        try:
            body, batch = self.execute(operation, request, pattern=pattern)
        except DynamoError as error:
            if error.batch is not None:
                await self._durable(error.batch)
            raise
        if batch is not None:
            await self._durable(batch)
        response: dict[str, Any] = orjson.loads(body)
        return response

    async def _durable(self, batch: Batch) -> None:
        """Settle a batch. In a data folder, wait while turns of the event loop bring others who write: one sync is for
        all of them.

        In memory there is nothing to share, but somebody else is let in now and then.
        """
        self._waits += 1
        if self._storage.folder is None and self._waits % _IN_A_ROW:
            self._storage.settle(batch)
            return
        import asyncio  # here, because it would be a third of the time it takes to import the engine

        storage, quiet = self._storage, 0
        try:
            for _ in range(_MOST_TURNS):
                writes = storage.writes
                await asyncio.sleep(0)
                quiet = quiet + 1 if storage.writes == writes else 0
                if batch.done or quiet == _QUIET_TURNS:
                    break
        finally:
            # The first to come back commits for the others; one that is cancelled leaves nothing undone.
            self._storage.settle(batch)

    def execute(self, operation: str, request: Any, *, pattern: str = "") -> tuple[bytes, Batch | None]:
        """The response as JSON, and the batch that must be durable before it may be shown to anyone.

        A DynamoError has that batch with it (``error.batch``).
        """
        handler = OPERATIONS.get(operation)
        if handler is None:
            raise UnknownOperationException(f"Tablewright does not support the operation {operation}")
        request = check_request(operation, request)
        if self._ledger is not None:
            handler = self._ledger.noting(operation, handler, pattern)
        turn = Turn(self._storage)
        try:
            with self._storage.lock, turn:
                response = handler(self._database, request)
        except DynamoError as error:
            error.batch = turn.batch
            raise
        return orjson.dumps(response), turn.batch

    def flush(self) -> None:
        """Make everything that is pending durable; everyone who waits for it is told."""
        self._storage.flush()

    # -- upkeep -------------------------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Do the background work that is due (expiry, backfills, trimming) now, in this thread."""
        self._maintenance.run_due()

    def verify(self) -> Report:
        """Prove that items, indexes, expiry entries and streams agree; see ``Report``."""
        with self._storage.turn() as turn:
            report = verify(self._database)
        if turn.batch is not None:
            self._storage.settle(turn.batch)
        return report

    def close(self) -> None:
        """Make everything durable and let go of the data folder."""
        if self._closed:
            return
        self._closed = True
        self._maintenance.stop()
        self._storage.close()
        if self._ledger is not None:
            self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
