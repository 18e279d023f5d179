"""An engine for each region, as in the service: ``serve --by-region``.

The region of a request is the one in its credential scope, which every SDK takes from its own settings. Its engine has
its own folder below the data folder, and its tables, streams, backups and ARNs belong to that region alone:

    data/eu-west-1/   data/us-east-1/   ...

A region is opened with the first request for it; those that have a folder are opened at the start, since their
background work continues. The data folder itself is locked from the start, with the lock that a single engine would
take. The class is used like one engine, by a server that asks it for the engine of each request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self

from tablewright.dynamo import LimitExceededException
from tablewright.engine import Engine, FolderLock, StorageFigures, claim_folder, holds_database
from tablewright.wire.http.messages import Request
from tablewright.wire.sigv4 import REGION, check_region, region_of

# More than exist; a caller may name one that does not.
_MAX_REGIONS: Final = 64
_DEFAULT: Final = "us-east-1"


def region_folders(folder: Path) -> list[Path]:
    """The folders of regions below a data folder."""
    if not folder.is_dir():
        return []
    return sorted(each for each in folder.iterdir() if REGION.fullmatch(each.name) and holds_database(each))


class RegionalEngines:
    """The engines below a data folder, or in memory; close them with ``close``, or a ``with`` block."""

    def __init__(self, folder: Path | None, *, accept_loss: bool = False) -> None:
        self._folder = folder
        self._accept_loss = accept_loss
        self._engines: dict[str, Engine] = {}
        # Requests with large bodies are checked in a thread, which may be the first to need a region.
        self._lock = threading.Lock()
        self._when_failed: list[Callable[[str], None]] = []
        self._sinks: list[Callable[[dict[str, Any]], None]] = []
        self._lock_of_folder: FolderLock | None = None if folder is None else claim_folder(folder)
        try:
            for found in [] if folder is None else region_folders(folder):
                self._open(found.name)
        except BaseException:
            self.close()
            raise

    def engine_of(self, request: Request) -> Engine:
        """The engine of the region that a request is signed for."""
        region = region_of(request) or _DEFAULT
        engine = self._engines.get(region)
        if engine is None:
            check_region(region)
            with self._lock:
                engine = self._engines.get(region) or self._open(region)
        return engine

    def _open(self, region: str) -> Engine:
        if len(self._engines) >= _MAX_REGIONS:
            raise LimitExceededException(f"This server has tables in {_MAX_REGIONS} regions, which is the maximum")
        folder = None if self._folder is None else self._folder / region
        engine = Engine.open(folder, region=region, accept_loss=self._accept_loss)
        for callback in self._when_failed:
            engine.when_failed(callback)
        for sink in self._sinks:
            engine.meter(sink)
        self._engines = {**self._engines, region: engine}  # others may be iterating over them
        return engine

    @property
    def flush_takes_long(self) -> bool:
        return any(engine.flush_takes_long for engine in self._engines.values())

    def flush(self) -> None:
        """Make all pending writes durable, in all regions."""
        failure: Exception | None = None
        for engine in self._engines.values():
            try:
                engine.flush()
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def problems(self) -> list[str]:
        """The present problems, by region."""
        return [f"{region}: {each}" for region, engine in self._engines.items() for each in engine.problems()]

    def when_failed(self, callback: Callable[[str], None]) -> None:
        """Call back if the disk of one of the engines fails."""
        self._when_failed.append(callback)
        for engine in self._engines.values():
            engine.when_failed(callback)

    def meter(self, sink: Callable[[dict[str, Any]], None]) -> None:
        """Call ``sink`` with a record of what each request consumes, in all regions."""
        self._sinks.append(sink)
        for engine in self._engines.values():
            engine.meter(sink)

    def storage_figures(self) -> StorageFigures:
        """The sizes of the files on disk, of all regions together."""
        all_figures = [engine.storage_figures() for engine in self._engines.values()]
        return StorageFigures(
            sum(figures.database_bytes for figures in all_figures),
            sum(figures.log_bytes for figures in all_figures),
            sum(figures.checkpoints for figures in all_figures),
        )

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()
        if self._lock_of_folder is not None:
            self._lock_of_folder.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
