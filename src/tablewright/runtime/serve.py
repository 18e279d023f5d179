"""One process: the systems served over HTTP, with their consumers, until it is told to stop.

Demo data goes into a data folder that is new, or into tables that were just created, and nowhere else. A folder keeps a
note of it, so that a fill that was cut short is finished by the next start (what is there already is left as it is).
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import uvicorn

from tablewright.runtime.application import application, prepare
from tablewright.runtime.connections import BoundedConnection
from tablewright.runtime.system import Runtime, System

_NOTE = "demo"
_GRACE = 15


class Steps(Protocol):
    """Whoever shows how far things are."""

    def begin(self, what: str) -> None: ...

    def tell(self, what: str, done: int, total: int) -> None: ...

    def end(self) -> None: ...


def serve(runtime: Runtime, systems: Sequence[System], *, demo: bool, steps: Steps) -> int:
    """Serve until SIGTERM or SIGINT."""
    with asyncio.Runner(loop_factory=_loop) as runner:
        return runner.run(_serve(runtime, systems, demo, steps))


def _loop() -> asyncio.AbstractEventLoop:
    """uvloop, where the platform has it."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def _serve(runtime: Runtime, systems: Sequence[System], demo: bool, steps: Steps) -> int:
    settings = runtime.settings
    server: uvicorn.Server | None = None
    try:
        steps.begin("creating tables")
        created = await prepare(runtime, systems)
        if demo:
            await _fill(runtime, systems, created, steps)
        steps.begin("starting")
        config = uvicorn.Config(
            application(runtime, systems),
            host=settings.host,
            port=settings.port,
            http=BoundedConnection,
            ws="none",
            log_config=None,
            access_log=False,
            lifespan="on",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=_GRACE,
            limit_concurrency=2000,
        )
        server = Server(config, lambda url: _greet(runtime, url, steps), runtime.stopping)
        await server.serve()
    finally:
        if server is None or not server.started:
            runtime.close()
    if server.started:
        _say("Tablewright stopped")
    return 0 if server.started else 1


class Server(uvicorn.Server):
    """A server that says where it is once it is there, and that it is about to stop before it waits for anybody."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[str], None], stopping: asyncio.Event) -> None:
        super().__init__(config)
        self._announce = announce
        self._stopping = stopping

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn does, but without raising the signal once more at the end: being told to stop is no failure."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            # What is there by now stays: looking through it for garbage, again and again, would stop everything for
            # 20 ms each time.
            gc.collect()
            gc.freeze()
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            self._announce(f"http://{shown}:{port}")

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        self._stopping.set()
        await super().shutdown(sockets)


def _greet(runtime: Runtime, url: str, steps: Steps) -> None:
    steps.end()
    settings = runtime.settings
    where = "in memory" if settings.memory else f"in {settings.data.absolute()}"
    if not settings.is_embedded:
        where = f"on {settings.endpoint or 'Amazon DynamoDB'}"
    _say(f"Tablewright is up at {url} with its data {where}; Ctrl-C stops it")


def _say(text: str) -> None:
    print(text, flush=True)


async def _fill(runtime: Runtime, systems: Sequence[System], created: bool, steps: Steps) -> None:
    """Demo data, where there is nothing yet."""
    note = None if runtime.settings.memory else runtime.settings.data / _NOTE
    state = _read(note)
    if state == "finished":
        return
    if not created and state != "begun":
        steps.end()
        print("tablewright: there is data already, so no demo data is added to it", file=sys.stderr)
        return
    _write(note, "begun")
    for system in systems:
        if system.demo is not None:
            steps.begin(f"filling {system.title}")
            service = system.service(runtime)
            await system.demo(runtime, service, lambda what, done, total: steps.tell(what, done, total))
    _write(note, "finished")


def _read(note: Path | None) -> str | None:
    return note.read_text("utf-8").strip() if note is not None and note.exists() else None


def _write(note: Path | None, state: str) -> None:
    if note is not None:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(state + "\n", "utf-8")
