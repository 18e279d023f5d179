"""The screens of a process: applications in one frame, behind one sign-in, under ``/app``.

    browser ──▶ gate ──▶ BrowserGuard (origin, session) ──▶ sign-in, static files, NiceGUI's page ──▶ view
                                                            view ──▶ Api ──▶ gate ──▶ the system's routes

``make_screens`` is what ``runtime.http.application`` is given. NiceGUI has one application in a process, so there can
be one ``Screens`` in a process.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from html import escape
from importlib import import_module
from importlib.resources import files

from fastapi import FastAPI, Request
from nicegui import app as nicegui_app
from nicegui import ui
from starlette.responses import Response
from starlette.types import ASGIApp

from tablewright.runtime import Runtime, Settings, SettingsError, System, calls_of
from tablewright.runtime.http.declared_calls import runtime_calls
from tablewright.ui.applications import Application, Calls, check
from tablewright.ui.identity.browser_guard import BrowserGuard, session_in
from tablewright.ui.identity.session_cookie import Sessions
from tablewright.ui.identity.sign_in import SignIn
from tablewright.ui.live_changes import LiveChanges
from tablewright.ui.screen_page import Page, Shell
from tablewright.ui.start_view import frame_views
from tablewright.ui.texts import Texts, language_of, zone_of

__all__ = ["OTHERS", "Screens", "check_settings", "make_screens"]

ROOT = "/app"
OTHERS: tuple[str, ...] = ()
"""Modules of applications that belong to no system; each has an ``app``, as those of systems do."""

_SCRIPTS = ("shell.js", "calendar.js")
_CACHED = {"Cache-Control": "public, max-age=31536000, immutable"}
_LOGO = (
    '<svg viewBox="0 0 32 32" xmlns="http://www.w3.org/2000/svg"><rect width="32" height="32" rx="8" fill="#5b5ee6"/>'
    '<path d="M9 10h14M16 10v13" stroke="white" stroke-width="3.5" stroke-linecap="round"/></svg>'
)
# How long a view may take until it is drawn, on an endpoint that is slow.
_DRAWN_WITHIN = 30.0


def check_settings(settings: Settings) -> None:
    """SettingsError if people could not stay signed in: sessions that one process signs, another has to know."""
    own = settings.session_secret or settings.master_secret
    if settings.mode == "production" and not settings.is_embedded and own is None:
        raise SettingsError("processes in production have to share their secrets: set TABLEWRIGHT_SESSION_SECRET")


def make_screens(runtime: Runtime, systems: Sequence[System], api: ASGIApp) -> Screens:
    """The screens of some systems, on the application that has their APIs."""
    check_settings(runtime.settings)
    return Screens(runtime, systems, api)


class Screens:
    """The screens: an ASGI application, and what runs as long as it does."""

    def __init__(self, runtime: Runtime, systems: Sequence[System], api: ASGIApp) -> None:
        applications = {"": frame_views}
        calls = {"": Calls(()), "runtime": Calls(runtime_calls())}
        for system in systems:
            calls[system.name] = Calls(calls_of(system))
        for module in [*(each.screens for each in systems if each.screens is not None), *OTHERS]:
            application: Application = import_module(module).app
            applications[application.name] = application
        texts = {key: each for application in applications.values() for key, each in application.texts.texts.items()}
        for application in applications.values():
            check(application, calls[application.name], texts)
        sessions = Sessions(runtime.session_secret, runtime.settings.session_hours, runtime.clock)
        self._shell = Shell(
            runtime=runtime,
            systems={system.name: system for system in systems},
            applications=applications,
            calls=calls,
            texts=texts,
            sessions=sessions,
            live=LiveChanges(runtime.store),
            api=api,
        )
        self._static = {
            name: files("tablewright.ui").joinpath("static", name).read_bytes() for name in ("design.css", *_SCRIPTS)
        }
        self._outer = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
        self._outer.include_router(SignIn(runtime, systems, sessions, texts, self._head, ROOT).router())
        self._outer.add_api_route("/static/{name}", self._file, include_in_schema=False, response_class=Response)
        self._outer.add_api_route("/favicon.ico", self._favicon, include_in_schema=False, response_class=Response)
        ui.page("/{path:path}", response_timeout=_DRAWN_WITHIN)(self._page)
        # Only web sockets: what is polled would need a session of its own.
        nicegui_app.config.socket_io_js_transports = ["websocket"]
        ui.run_with(
            self._outer,
            title="Tablewright",
            favicon=_LOGO,
            dark=False,
            # Nothing is bound to values that would have to be looked at all the time.
            binding_refresh_interval=None,
            reconnect_timeout=20.0,
            message_history_length=200,
            tailwind=False,
            show_welcome_message=False,
        )
        nicegui_app.on_exception(lambda error: logging.getLogger(__name__).error("a screen failed", exc_info=error))
        self.app: ASGIApp = BrowserGuard(self._outer, sessions, runtime.public_url)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        async with self._outer.router.lifespan_context(self._outer):
            try:
                yield
            finally:
                await self._shell.live.stop()

    async def _page(self, request: Request) -> None:
        session = session_in(request.scope)
        assert session is not None, "the guard lets nobody in without a session"
        language = language_of(request.cookies.get("tablewright_language"), request.headers.get("accept-language", ""))
        t = Texts(self._shell.texts, language, zone_of(request.cookies.get("tablewright_zone")))
        ui.add_head_html(self._links() + f'<script>document.documentElement.lang = "{language}"</script>')
        page = Page(self._shell, session, t, ROOT)
        query = request.url.query
        await page.open(request.scope["path"] + (f"?{query}" if query else ""), is_first=True)

    def _head(self, language: str) -> str:
        return (
            f'<!doctype html><html lang="{escape(language)}"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">{self._links()}</head>'
        )

    def _links(self) -> str:
        css, *scripts = (f"{ROOT}/static/{name}?{self._version(name)}" for name in ("design.css", *_SCRIPTS))
        icon = f'<link rel="icon" href="{ROOT}/favicon.ico" type="image/svg+xml">'
        return f'{icon}<link rel="stylesheet" href="{css}">' + "".join(
            f'<script src="{js}"></script>' for js in scripts
        )

    def _version(self, name: str) -> str:
        return sha256(self._static[name]).hexdigest()[:12]

    async def _file(self, name: str) -> Response:
        content = self._static.get(name)
        if content is None:
            return Response("there is no such file", 404, media_type="text/plain")
        media_type = "text/css" if name.endswith(".css") else "text/javascript"
        return Response(content, media_type=media_type, headers=_CACHED)

    async def _favicon(self) -> Response:
        return Response(_LOGO, media_type="image/svg+xml", headers=_CACHED)
