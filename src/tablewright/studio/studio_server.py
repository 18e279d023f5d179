"""``Studio``: the studio as an ASGI application under ``/studio``; ``serve_studio`` serves it alone.

browser ──▶ StudioAccess (host, token, cookie, origin) ──▶ sign-in, static files, NiceGUI's page ──▶ view
                                                           view ──▶ StudioDatabase ──▶ engine or endpoint
"""

from __future__ import annotations

import asyncio
import getpass
import logging
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from importlib.resources import files

import uvicorn
from fastapi import FastAPI, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp

from tablewright.listening import bind_all
from tablewright.runtime import Runtime, System
from tablewright.store import EmbeddedBackend
from tablewright.studio.designs.design_texts import texts as design_texts
from tablewright.studio.observe.observe_texts import observe_texts
from tablewright.studio.observe.sql_sessions import SqlSessions
from tablewright.studio.studio_access import SESSION_HOURS, OneTimeToken, StudioAccess, StudioSignIn
from tablewright.studio.studio_database import StudioDatabase
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_texts import texts
from tablewright.studio.studio_views import HIDDEN_VIEWS, VIEWS
from tablewright.ui.applications import Application, Calls
from tablewright.ui.browser_pages import BrowserPages
from tablewright.ui.cached_files import CachedFiles
from tablewright.ui.identity.browser_guard import session_in
from tablewright.ui.identity.session_cookie import Sessions
from tablewright.ui.live_changes import LiveChanges
from tablewright.ui.screen_page import Shell
from tablewright.ui.screens import Screens
from tablewright.ui.shell_texts import texts as shell_texts
from tablewright.ui.texts import Texts

__all__ = [
    "ROOT",
    "MakeApplicationScreens",
    "Studio",
    "beside_applications",
    "open_socket",
    "run_studio",
    "studio_in_thread",
]

ROOT = "/studio"
_GRACE = 3


class Studio:
    """The studio of one database, drawn into the pages of a process."""

    def __init__(self, database: StudioDatabase, pages: BrowserPages, *, hosts: frozenset[str] = frozenset()) -> None:
        """``hosts`` are its host names, besides addresses and ``localhost``."""
        self.database = database
        self.token = OneTimeToken()
        self._sql = SqlSessions(database)
        self._texts = {**shell_texts.texts, **texts.texts, **observe_texts.texts, **design_texts.texts}
        sessions = Sessions(secrets.token_bytes(32), SESSION_HOURS)
        application = Application("", title="studio.title", icon="database", texts=texts)
        for view in (*VIEWS, *HIDDEN_VIEWS):
            paths = (*view.paths, "/") if view is VIEWS[0] else view.paths
            application.view(*paths, title=view.title)(view.draw)
        own_files = {
            name: files("tablewright.studio").joinpath("static", name).read_bytes()
            for name in ("studio.css", "studio.js")
        }
        pages.add(ROOT, self._page, self._texts, own_files)
        sign_in = StudioSignIn(sessions, self._texts, partial(pages.head, ROOT))
        outer = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
        outer.include_router(sign_in.router())
        outer.mount("", pages.app)
        self._shell = Shell(
            systems={},
            applications={"": application},
            calls={"": Calls(())},
            texts=self._texts,
            sessions=sessions,
            live=LiveChanges(database.store),
            api=outer,
        )
        self.app = sign_in.access = StudioAccess(CachedFiles(outer), sessions, self.token, user=_user(), hosts=hosts)

    def address(self, url: str) -> str:
        """The address to open, with the token, for a studio that is served at a URL."""
        return f"{url}{ROOT}/?token={self.token.value}"

    def announce(self, url: str, say: Callable[[str], None]) -> None:
        """Print the address to open, and the next one as soon as it has been used."""
        say(f"Studio: {self.address(url)}")
        self.token.on_spent = lambda: say(f"Studio, for another browser: {self.address(url)}")

    async def stop(self) -> None:
        await asyncio.to_thread(self._sql.close)
        await self._shell.live.stop()

    async def _page(self, request: Request, t: Texts) -> None:
        session = session_in(request.scope)
        assert session is not None, "the guard admits no request without a session"
        page = StudioPage(self._shell, session, t, ROOT, self.database, self._sql, VIEWS)
        query = request.url.query
        await page.open(request.scope["path"] + (f"?{query}" if query else ""), is_first=True)


MakeApplicationScreens = Callable[[Runtime, Sequence[System], ASGIApp], Screens]


def beside_applications(make_screens: MakeApplicationScreens, *, may_write: bool) -> MakeApplicationScreens:
    """The screens of some systems, together with the studio of their tables."""

    def make(runtime: Runtime, systems: Sequence[System], api: ASGIApp) -> Screens:
        screens = make_screens(runtime, systems, api)
        settings = runtime.settings
        name = "memory" if settings.memory else str(settings.data)
        database = StudioDatabase(
            name if settings.is_embedded else settings.endpoint or f"aws:{settings.region}",
            # The engine itself, whose past and heat can be looked at.
            runtime.store.backend if runtime.engine is None else EmbeddedBackend(runtime.engine, owned=False),
            [system.design for system in systems],
            may_write=may_write,
            consumers=runtime.consumers,
            name_of=settings.name_of,
        )
        studio = Studio(database, screens.pages)
        screens.apps[ROOT[1:]] = studio.app
        runtime.on_listening.append(lambda url: studio.announce(url, lambda line: print(line, flush=True)))
        return screens

    return make


def _user() -> str:
    """Who runs the studio, for the log."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def alone(studio: Studio, pages: BrowserPages) -> ASGIApp:
    """An application with only the studio: ``/`` redirects to it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with pages.lifespan():
            try:
                yield
            finally:
                await studio.stop()

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)

    async def lead(request: Request) -> Response:
        query = request.url.query
        return RedirectResponse(f"{ROOT}/" + (f"?{query}" if query else ""), 303)

    for path in ("/", ROOT):
        app.add_api_route(path, lead, include_in_schema=False, response_class=Response)
    app.mount(ROOT, studio.app)
    return app


def open_socket(host: str, port: int) -> socket.socket:
    """A socket on the first usable address of the host; OSError if there is none."""
    listener, *others = bind_all(host, port)
    for other in others:
        other.close()
    return listener


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    # A wildcard address cannot be connected to.
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """uvicorn's server that says when it is up."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()


def _server(studio: Studio, pages: BrowserPages, started: Callable[[], None]) -> _Server:
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    return _Server(
        uvicorn.Config(
            alone(studio, pages),
            ws="auto",
            ws_max_size=2_000_000,
            limit_concurrency=200,
            log_config=None,
            access_log=False,
            lifespan="on",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE,
        ),
        started,
    )


def run_studio(
    database: StudioDatabase, listener: socket.socket, hosts: frozenset[str], started: Callable[[Studio, str], None]
) -> None:
    """Serve the studio until SIGTERM or SIGINT; ``started`` is called with it and its URL."""
    pages = BrowserPages()
    studio = Studio(database, pages, hosts=hosts)
    server = _server(studio, pages, lambda: started(studio, url_of(listener)))
    # uvicorn raises the signal once more, when it has stopped.
    with suppress(KeyboardInterrupt):
        asyncio.run(server.serve([listener]))


@contextmanager
def studio_in_thread(
    database: StudioDatabase, listener: socket.socket, hosts: frozenset[str] = frozenset()
) -> Iterator[tuple[Studio, str]]:
    """Serve the studio in a thread, next to a server in the main thread; returns it and its URL."""
    pages = BrowserPages()
    studio = Studio(database, pages, hosts=hosts)
    is_up = threading.Event()
    server = _server(studio, pages, is_up.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])), name="studio", daemon=True)
    thread.start()
    if not is_up.wait(30):
        raise RuntimeError("the studio did not start within 30 s")
    try:
        yield studio, url_of(listener)
    finally:
        server.should_exit = True
        thread.join(_GRACE + 5)
