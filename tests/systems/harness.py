"""Systems as users meet them: an application on a real port, and clients with tokens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tablewright.runtime.http.application import MakeScreens, application
from tablewright.runtime.http.bounded_connection import ConnectionLimits, bounded
from tablewright.runtime.identity.access import RUNTIME_ADMINS
from tablewright.runtime.identity.stored_notices import Notice
from tablewright.runtime.settings import Secrets, Settings
from tablewright.runtime.system import Runtime, System
from tablewright.runtime.table_readiness import tables_of


class Clock:
    """The time, moved on by tests."""

    def __init__(self) -> None:
        self.offset = 0.0

    def __call__(self) -> float:
        return time.time() + self.offset

    def advance(self, seconds: float) -> None:
        self.offset += seconds


@dataclass(slots=True, eq=False)
class Served:
    """An application that is running."""

    url: str
    runtime: Runtime
    clock: Clock
    systems: Sequence[System]
    # Functions have no search index, and say so.
    has_search: bool = True
    _clients: list[httpx.Client] = field(default_factory=list)

    def token(self, user_id: str, *roles: str, email: str | None = None, path: str = "") -> str:
        assert self.runtime.issuer is not None
        named = [full for role in roles for full in roles_called(role, self.systems, path)]
        return self.runtime.issuer.token(user_id, roles=named, email=email)

    def client(self, user_id: str | None = None, *roles: str, email: str | None = None, path: str = "") -> httpx.Client:
        """A client for somebody, or for nobody; ``path`` is what all its addresses begin with.

        Roles are those of the system at the path, such as Admins; without a path, those of all systems.
        """
        headers = {}
        if user_id is not None:
            headers["Authorization"] = f"Bearer {self.token(user_id, *roles, email=email, path=path)}"
        limits = httpx.Limits(max_connections=100)
        # Plain HTTP: with verification, every client would read all certificate authorities (30 ms).
        client = httpx.Client(base_url=self.url + path, headers=headers, timeout=90, limits=limits, verify=False)
        self._clients.append(client)
        return client

    def close_clients(self) -> None:
        for client in self._clients:
            client.close()
        self._clients.clear()


def roles_called(name: str, systems: Sequence[System], path: str = "") -> list[str]:
    """The roles with a short name, of the system at a path or of all of them; a full name is itself."""
    if ":" in name:
        return [name]
    known = [RUNTIME_ADMINS, *(role for system in systems for role in system.roles)]
    within = path.strip("/").partition("/")[0]
    found = [role.name for role in known if role.name.endswith(f":{name}") and role.system.startswith(within)]
    assert found, f"no role {name} at {path or '/'}: there are {', '.join(role.name for role in known)}"
    return found


@cache
def _issuer_key() -> str:
    """A key that is good for every test of a process: making one takes as long as a dozen requests."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


@contextmanager
def serving(systems: Sequence[System], make_screens: MakeScreens | None = None, /, **settings: Any) -> Iterator[Served]:
    """Run an application with some systems; settings as they are given, in memory by default."""
    clock = Clock()
    defaults: dict[str, Any] = {
        "memory": "data" not in settings and "endpoint" not in settings,
        "rate_limit": 1e6,
        "rate_burst": 1_000_000,
        "log_level": "WARNING",
    }
    if "data" in settings:
        Secrets(Path(settings["data"])).get("issuer_key", _issuer_key)
    runtime = Runtime.open(Settings(**{**defaults, **settings}), systems, clock=clock)
    try:
        app = application(runtime, systems, make_screens=make_screens)
    except TypeError:
        runtime.close()
        raise
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        http=bounded(ConnectionLimits()),
        ws_max_size=runtime.settings.max_body,
        log_config=None,
        lifespan="on",
        access_log=False,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started or not thread.is_alive())
    assert server.started
    port = server.servers[0].sockets[0].getsockname()[1]
    served = Served(f"http://127.0.0.1:{port}", runtime, clock, systems)
    try:
        yield served
    finally:
        served.close_clients()
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def opened_runtime(systems: Sequence[System], **settings: Any) -> Runtime:
    """A runtime with the tables of some systems, which nothing is served from; close it."""
    runtime = Runtime.open(Settings(**settings), systems)
    runtime.sync_store.ensure_tables(*tables_of(systems))
    return runtime


def notices_in(served: Served, system: str, user_id: str) -> list[tuple[str, str]]:
    """What somebody is told of in a system, newest first: the thing that somebody wrote about, and who did."""
    found = served.runtime.sync_store.query(Notice.of_user(user_id, system), consistent=True).items
    return [*{each.thing_id: (each.thing_id, each.by) for each in reversed(found)}.values()]


def wait_for(condition: Callable[[], Any], seconds: float = 30) -> Any:
    """Wait until something holds, and give what it gave."""
    end = time.monotonic() + seconds
    pause = 0.005
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(pause)
        # Whoever asks all the time takes the processor from the work that is waited for.
        pause = min(pause * 1.5, 0.05)


def at_once(number: int, work: Callable[[int], Any]) -> list[Any]:
    """Run something in so many threads at the same moment; what each gave."""
    results: list[Any] = [None] * number
    ready = threading.Barrier(number)

    def run(index: int) -> None:
        ready.wait()
        results[index] = work(index)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results
