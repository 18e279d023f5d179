"""The screens of a process: all applications in one frame, with one sign-in, under ``/app``.

    browser ──▶ gate ──▶ BrowserGuard (origin, session) ──▶ CachedFiles ──▶ sign-in, NiceGUI's page ──▶ view
                                                            view ──▶ Api ──▶ gate ──▶ the system's routes

``make_screens`` is passed to ``runtime.http.application``. There is one ``BrowserPages`` per process, so there can be
one ``Screens``; other pages, such as the studio, are added to its pages and its ``apps``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module

from fastapi import FastAPI, Request
from starlette.types import ASGIApp

from tablewright.runtime import Runtime, Settings, SettingsError, System, calls_of
from tablewright.runtime.http.declared_calls import runtime_calls
from tablewright.runtime.identity.ended_sessions import EndedSessions
from tablewright.runtime.identity.read_notices import ReadNotices
from tablewright.runtime.identity.stored_notices import StoredNotices
from tablewright.ui.applications import Application, Calls, check
from tablewright.ui.browser_pages import BrowserPages
from tablewright.ui.cached_files import CachedFiles
from tablewright.ui.frame_views.notice_bell import Notices
from tablewright.ui.frame_views.start_view import frame_views
from tablewright.ui.identity.browser_guard import BrowserGuard, session_in
from tablewright.ui.identity.session_cookie import Sessions
from tablewright.ui.identity.sign_in import SignIn
from tablewright.ui.live_changes import LiveChanges
from tablewright.ui.screen_page import Page, Shell
from tablewright.ui.texts import Texts

__all__ = ["OTHERS", "Screens", "check_settings", "make_screens"]

ROOT = "/app"
OTHERS: tuple[str, ...] = ("tablewright.ui.admin.admin_app",)
"""Modules of applications that belong to no system; each has an ``app``, like those of systems."""


def check_settings(settings: Settings) -> None:
    """SettingsError if users could not stay signed in: a session signed by one process must be valid in another."""
    own = settings.session_secret or settings.master_secret
    if settings.mode == "production" and not settings.is_embedded and own is None:
        raise SettingsError("processes in production have to share their secrets: set TABLEWRIGHT_SESSION_SECRET")


def make_screens(runtime: Runtime, systems: Sequence[System], api: ASGIApp) -> Screens:
    """The screens of some systems, on the application with their APIs."""
    check_settings(runtime.settings)
    return Screens(runtime, systems, api)


class Screens:
    """The screens: ASGI applications, and what runs as long as they do."""

    def __init__(self, runtime: Runtime, systems: Sequence[System], api: ASGIApp) -> None:
        self._runtime = runtime
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
        ended = EndedSessions(runtime.store)
        sessions = Sessions(runtime.session_secret, runtime.settings.session_hours, runtime.clock, ended)
        self._shell = Shell(
            systems={system.name: system for system in systems},
            applications=applications,
            calls=calls,
            texts=texts,
            sessions=sessions,
            live=LiveChanges(runtime.store),
            api=api,
        )
        self._notices = Notices(ReadNotices(runtime.store), StoredNotices(runtime.store))
        self.pages = BrowserPages()
        self.pages.add(ROOT, self._page, texts)
        outer = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
        head = partial(self.pages.head, ROOT)
        outer.include_router(SignIn(runtime, systems, sessions, texts, head, ROOT).router())
        outer.mount("", self.pages.app)
        # By the first step of their paths.
        self.apps: dict[str, ASGIApp] = {ROOT[1:]: BrowserGuard(CachedFiles(outer), sessions, runtime.public_url)}

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        async with self.pages.lifespan():
            try:
                yield
            finally:
                await self._shell.live.stop()

    async def _page(self, request: Request, t: Texts) -> None:
        session = session_in(request.scope)
        assert session is not None, "the guard admits no request without a session"
        # Offered is what the roles allow that count now; calls are made as the session was signed.
        caller = await self._runtime.people.admitted(session.caller)
        page = Page(self._shell, replace(session, caller=caller, signed=session.caller), t, ROOT)
        self._notices.add(page)
        query = request.url.query
        await page.open(request.scope["path"] + (f"?{query}" if query else ""), is_first=True)
