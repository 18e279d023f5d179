"""A system as an application: its routes, its OpenAPI document, and which origins may call it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from tablewright.runtime.http import html_pages, problems
from tablewright.runtime.http.api_description import describe
from tablewright.runtime.http.compiled_routes import CompiledRoutes
from tablewright.runtime.http.declared_calls import calls_of
from tablewright.runtime.identity.access import Call
from tablewright.runtime.system import Runtime, System

if TYPE_CHECKING:
    from tablewright.runtime.background.consumer_threads import ConsumerThreads

# What any route that needs a caller may respond with.
COMMON = (400, 401, 403, 408, 413, 415, 422, 429, 500, 503)


def system_application(runtime: Runtime, system: System, service: Any, threads: ConsumerThreads | None) -> ASGIApp:
    """A system as an application of its own; ``threads`` are its consumers, if they run in this process.

    It takes the routes of its router itself, as only those are compiled: not routers that a router includes.
    """
    # Before anything is served, as this fails if a route does not declare who may call it.
    calls = calls_of(system)
    app = FastAPI(
        title=system.title,
        description=system.about,
        docs_url=None,
        redoc_url=None,
        # A redirect would lead to whatever host the request names.
        redirect_slashes=False,
        routes=[*system.router.routes, *html_pages.api_router.routes],
    )
    app.state.runtime = runtime
    app.state.service = service
    app.state.consumer_threads = threads
    app.state.admit = system.admit
    app.state.system = system
    problems.install(app)
    describe(app, COMMON, public=public_calls(calls))
    return with_cors(runtime, CompiledRoutes(app))


def public_calls(calls: Sequence[Call]) -> set[tuple[str, str]]:
    """The methods and paths of calls that need no token."""
    return {(call.method, call.path) for call in calls if call.is_open}


def with_cors(runtime: Runtime, app: ASGIApp) -> ASGIApp:
    """Allow browsers from the listed origins, and no others."""
    if not runtime.settings.cors_origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=runtime.settings.cors_origins,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "X-Request-Id"],
        expose_headers=["ETag", "X-Request-Id", "Retry-After"],
    )
