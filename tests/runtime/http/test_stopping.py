"""A process that is told to stop: answers without an end end, and work in the background is told at the same time."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn
from fastapi import APIRouter

from tablewright.model import Design, Entity, Get, Keys, Table
from tablewright.runtime.http.application import application
from tablewright.runtime.http.bounded_connection import ConnectionLimits, bounded
from tablewright.runtime.http.dependencies import Public
from tablewright.runtime.http.serve import Server
from tablewright.runtime.settings import Settings
from tablewright.runtime.system import Background, Runtime, System
from tests.runtime.commands import issued, up
from tests.systems.harness import wait_for


def test_metrics_streams_end_at_once_on_sigterm(tmp_path: Path) -> None:
    token = issued(tmp_path, "op_9", "support:Operators")
    with up("--system", "support", cwd=tmp_path) as (process, url):
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
            watching = [client.stream("GET", f"{url}/support/metrics/live") for _ in range(3)]
            answers = [each.__enter__() for each in watching]
            lines = [answer.iter_lines() for answer in answers]
            assert [next(each) for each in lines] == ["event: metrics"] * 3
            process.send_signal(signal.SIGTERM)
            # To its proper end: one that is broken off is an error here.
            for each in lines:
                list(each)
            for opened in watching:
                opened.__exit__(None, None, None)
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out.strip()) == (0, "Tablewright stopped")
    assert "ERROR" not in errors.upper()


things = Table("things", "PK")


class Thing(Entity, table=things):
    thing_id: str

    keys = Keys(PK="{thing_id}")

    @Get()
    def by_id(self, thing_id: str) -> None:
        """A thing."""


class Work:
    """Work in the background that counts how often it was told to stop."""

    def __init__(self) -> None:
        self.told = threading.Semaphore(0)

    def start(self) -> None: ...

    def stop(self) -> None:
        self.told.release()


def test_background_work_is_stopped_while_requests_are_still_answered() -> None:
    work, began = Work(), threading.Event()
    router = APIRouter()

    @router.get("/until-told")
    async def until_told(_: Public) -> str:
        """Is answered once the work beside it was told to stop."""
        began.set()
        await asyncio.to_thread(work.told.acquire)
        return "told"

    answer = asked_before_the_stop(router, "until-told", began, work, grace=20)
    assert answer.json() == "told"
    # And once more, when nobody was left who could have begun something.
    assert work.told.acquire(timeout=30)


def test_a_request_that_exceeds_the_grace_period_gets_503_with_retry_after(caplog: pytest.LogCaptureFixture) -> None:
    began = threading.Event()
    router = APIRouter()

    @router.get("/never")
    async def never(_: Public) -> str:
        began.set()
        await asyncio.Event().wait()
        return "never"

    answer = asked_before_the_stop(router, "never", began, Work(), grace=1)
    assert (answer.status_code, answer.json()["type"]) == (503, "/problems/unavailable")
    assert answer.headers["retry-after"]
    assert not [record for record in caplog.records if record.exc_info]


def test_a_second_signal_stops_at_once_with_exit_code_0(tmp_path: Path) -> None:
    token = issued(tmp_path, "ivr", "servicedesk:VoiceAgents")
    with up("--system", "servicedesk", cwd=tmp_path) as (process, url):
        parts = urlsplit(url)
        with socket.create_connection((parts.hostname, parts.port or 0), timeout=30) as waiting:
            # A body that never comes.
            head = ("POST /servicedesk/tickets HTTP/1.1", "Host: here", f"Authorization: Bearer {token}")
            lines = (*head, "Content-Type: application/json", "Content-Length: 9", "Expect: 100-continue", "", "")
            waiting.sendall("\r\n".join(lines).encode())
            assert waiting.recv(100).startswith(b"HTTP/1.1 100 ")
            process.send_signal(signal.SIGINT)
            with pytest.raises(httpx.TransportError):
                wait_for(lambda: httpx.get(f"{url}/healthz").is_error)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert "ERROR" not in errors


def asked_before_the_stop(
    router: APIRouter, route: str, began: threading.Event, work: Work, *, grace: int
) -> httpx.Response:
    """What a route answers to a request that has begun when the process is told to stop."""

    def background(runtime: Runtime, service: object) -> Sequence[Background]:
        return [work]

    design = Design("Things", tables=[things])
    system = System(
        "things", "Things", "Things.", design, router, service=lambda runtime: object(), background=background
    )
    runtime = Runtime.open(Settings.model_validate({"memory": True}), [system])
    found: list[str] = []
    app = application(runtime, [system])
    config = uvicorn.Config(
        app, port=0, http=bounded(ConnectionLimits()), log_config=None, lifespan="on", timeout_graceful_shutdown=grace
    )
    server = Server(config, found.append, runtime.stopping)
    answers: list[httpx.Response] = []

    def ask() -> None:
        try:
            [url] = wait_for(lambda: found)
            answers.append(httpx.get(f"{url}/things/{route}", timeout=30))
        finally:
            began.set()

    def stop() -> None:
        began.wait(60)
        server.should_exit = True

    threads = [threading.Thread(target=each, daemon=True) for each in (ask, stop)]
    for thread in threads:
        thread.start()
    # Here, as signals are heard in the main thread only.
    asyncio.run(server.serve())
    for thread in threads:
        thread.join(30)
    [answer] = answers
    return answer
