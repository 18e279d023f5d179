"""`tablewright up`: the systems and their consumers in one process, until SIGTERM or SIGINT.

Demo data is written only where the systems have no tables yet. A marker in the data folder records the progress, so
that the next start finishes what was interrupted (and does not change what exists already).
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import uvicorn

from tablewright.event_loops import server_process_loop
from tablewright.listening import bind_all
from tablewright.runtime.background.blob_ownership import owns_blobs
from tablewright.runtime.http.application import MakeScreens, application, prepare, services_of
from tablewright.runtime.http.bounded_connection import ConnectionLimits, bounded
from tablewright.runtime.internal_tables import events_table
from tablewright.runtime.logs import keep_visible
from tablewright.runtime.settings import Settings, SettingsError
from tablewright.runtime.system import Runtime, System
from tablewright.runtime.table_readiness import is_any_there
from tablewright.store import FolderBlobStore, StoreError

# What other packages use.
__all__ = [
    "serve",
]

_log = logging.getLogger(__name__)

_DEMO_MARKER = "demo"
_GRACE = 15
_MAX_CONNECTIONS = 2000


class ProgressDisplay(Protocol):
    """Shows the steps of a start, and their progress."""

    def begin(self, what: str) -> None: ...

    def update(self, what: str, done: int, total: int) -> None: ...

    def end(self) -> None: ...


def serve(
    runtime: Runtime,
    systems: Sequence[System],
    *,
    demo: bool,
    steps: ProgressDisplay,
    make_screens: MakeScreens | None = None,
) -> int:
    """Serve until SIGTERM or SIGINT."""
    with server_process_loop() as runner:
        return runner.run(_serve(runtime, systems, demo, steps, make_screens))


async def _serve(
    runtime: Runtime,
    systems: Sequence[System],
    demo: bool,
    steps: ProgressDisplay,
    make_screens: MakeScreens | None,
) -> int:
    settings = runtime.settings
    server: uvicorn.Server | None = None
    try:
        steps.begin("creating tables")
        is_wanted = demo and await wants_demo(runtime, systems)
        await prepare(runtime, systems)
        await asyncio.to_thread(_check_blobs, runtime, systems)
        services = services_of(runtime, systems)
        if is_wanted:
            await _fill(runtime, systems, services, steps)
        elif demo and _read_marker(_marker(runtime)) != "finished":
            steps.end()
            print("tablewright: the tables exist already; no demo data is added", file=sys.stderr)
        steps.begin("starting")
        config = uvicorn.Config(
            application(runtime, systems, services, make_screens),
            http=bounded(ConnectionLimits()),
            ws="auto",
            ws_max_size=settings.max_body,
            limit_concurrency=_MAX_CONNECTIONS,
            log_config=None,
            access_log=False,
            lifespan="on",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=settings.keep_alive,
            timeout_graceful_shutdown=_GRACE,
        )
        server = Server(config, lambda url: _greet(runtime, url, steps), runtime.stopping)
        # A Ctrl-C so far ends the start here, before there is anything that would have to be stopped.
        await asyncio.sleep(0)
        with _listening(settings) as sockets:
            await server.serve(sockets)
    finally:
        if server is None or not server.started:
            runtime.close()
    if server.started:
        keep_visible("")
        _say("Tablewright stopped")
    return 0 if server.started else 1


@contextmanager
def _listening(settings: Settings) -> Iterator[list[socket.socket]]:
    try:
        bound = bind_all(settings.host, settings.port)
    except OSError as error:
        raise SettingsError(f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}") from None
    try:
        yield bound
    finally:
        for each in bound:
            each.close()


class Server(uvicorn.Server):
    """A uvicorn server that announces its address, and sets ``stopping`` before it waits for the last requests."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[str], None], stopping: asyncio.Event) -> None:
        super().__init__(config)
        self._announce = announce
        self._stopping = stopping

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As in uvicorn, but without raising the signal again at the end: a requested stop is not a failure."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            # What exists by now stays: collecting it again and again would pause everything for 20 ms each time.
            gc.collect()
            gc.freeze()
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            self._announce(f"http://{shown}:{port}")

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        self._stopping.set()
        await super().shutdown(sockets)
        if self.force_exit:
            # A second signal: requests that are left unfinished are not errors.
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)


def _greet(runtime: Runtime, url: str, steps: ProgressDisplay) -> None:
    steps.end()
    settings = runtime.settings
    where = "in memory" if settings.memory else f"in {settings.data.absolute()}"
    if not settings.is_embedded:
        where = f"on {settings.endpoint or 'Amazon DynamoDB'}"
    for announce in runtime.on_listening:
        announce(url)
    _say(f"Tablewright is up at {url} with its data {where}; Ctrl-C stops it")
    keep_visible(f"Tablewright is up at {url}; Ctrl-C stops it", at_once=not sys.stdout.isatty())


def _say(text: str) -> None:
    print(text, flush=True)


async def wants_demo(runtime: Runtime, systems: Sequence[System]) -> bool:
    """Whether there are no tables yet, or demo data was begun and not finished.

    The marker is written before there are tables: a start that is interrupted leaves some of them.
    """
    if _read_marker(_marker(runtime)) == "begun":
        return True
    if await is_any_there(runtime, systems):
        return False
    _write_marker(_marker(runtime), "begun")
    return True


def _check_blobs(runtime: Runtime, systems: Sequence[System]) -> None:
    """Refuse a folder with the blobs of another database: each of the two would delete those of the other."""
    blobs = runtime.maintenance_store.context.blobs
    tables = [table for system in systems for table in system.tables_with_blobs]
    if not isinstance(blobs, FolderBlobStore) or not tables:
        return
    try:
        is_owner = owns_blobs(runtime.maintenance_store, tables)
    except StoreError as error:
        # Such as a full disk, which requests report, and on which deletes still work.
        _log.warning("whose blobs these are is not known", exc_info=error)
        return
    if not is_owner:
        raise SettingsError(
            f"the large values in {blobs.folder} belong to another database; give this one a folder of its own with "
            "--data (TABLEWRIGHT_DATA), or a bucket (TABLEWRIGHT_BLOB_BUCKET)"
        )


async def _fill(
    runtime: Runtime, systems: Sequence[System], services: Mapping[str, Any], steps: ProgressDisplay
) -> None:
    for system in systems:
        if system.demo is not None:
            steps.begin(f"filling {system.title}")
            # In a task, so that the caller that it sets does not outlive it.
            await asyncio.create_task(_demo_of(system, runtime, services[system.name], steps))
    _write_marker(_marker(runtime), "finished")


async def _demo_of(system: System, runtime: Runtime, service: Any, steps: ProgressDisplay) -> None:
    assert system.demo is not None
    await system.demo(runtime, service, steps.update)


def _marker(runtime: Runtime) -> Path | None:
    """The file that says how far demo data is; each endpoint has its own."""
    settings = runtime.settings
    if settings.is_embedded:
        return None if settings.memory else settings.data / _DEMO_MARKER
    place = f"{settings.endpoint} {settings.region} {settings.name_of(events_table)}"
    return settings.data / f"{_DEMO_MARKER}-{sha256(place.encode()).hexdigest()[:12]}"


def _read_marker(marker: Path | None) -> str | None:
    if marker is None or not marker.exists():
        return None
    with _accessible(marker):
        return marker.read_text("utf-8", "replace").strip()


def _write_marker(marker: Path | None, state: str) -> None:
    if marker is not None:
        with _accessible(marker):
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.write_text(state + "\n", "utf-8")


@contextmanager
def _accessible(marker: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SettingsError(f"{marker} cannot be used: {error.strerror}") from None
