"""The application: systems under their names, and what all of them need around them.

/                      start page
/healthz /readyz /metrics
/problems/{kind}       what a kind of problem means
/runtime/...           events, consumers and dead letters, for Admins
/<system>/...          a system; /<system>/docs is its API page, /<system>/openapi.json its description
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from tablewright.runtime import operations, pages, problems
from tablewright.runtime.event_bridge import event_bridge
from tablewright.runtime.http import Gate
from tablewright.runtime.system import Runtime, System
from tablewright.runtime.tables import events_table, notes_table
from tablewright.runtime.workers import Consuming, Workers
from tablewright.store import Aspect

# What any route that asks for a caller may answer.
_COMMON = (400, 401, 403, 408, 413, 415, 422, 429, 500, 503)

_log = logging.getLogger(__name__)


def application(runtime: Runtime, systems: Sequence[System]) -> ASGIApp:
    """The whole of it; its lifespan runs the consumers, and closes the runtime at the end."""
    services = {system.name: system.service(runtime) for system in systems}
    workers = Workers(runtime.blocking, _consuming(runtime, systems, services), runtime.metrics)
    background = [each for system in systems for each in system.background(runtime, services[system.name])]

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await prepare(runtime, systems)
        # Whoever has the data folder open is the only one.
        await asyncio.to_thread(workers.start, alone=runtime.settings.is_embedded)
        for each in background:
            await asyncio.to_thread(each.start)
        try:
            yield
        finally:
            for each in background:
                await asyncio.to_thread(each.stop)
            await asyncio.to_thread(workers.stop)
            runtime.close()

    app = FastAPI(
        title="Tablewright",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.runtime = runtime
    app.state.workers = workers
    app.state.systems = list(systems)
    problems.install(app)
    app.include_router(pages.router)
    app.include_router(operations.router)
    apps = {system.name: _with_cors(runtime, described(runtime, system, services[system.name])) for system in systems}
    return Gate(_with_cors(runtime, app), apps, metrics=runtime.metrics, max_body=runtime.settings.max_body)


def described(runtime: Runtime, system: System, service: Any) -> FastAPI:
    """A system as an application of its own.

    It has its routes directly, where ``include_router`` would look each of them up anew for every request.
    """
    app = FastAPI(
        title=system.title,
        description=system.about,
        docs_url=None,
        redoc_url=None,
        # A redirect would lead to whatever host the request names.
        redirect_slashes=False,
        routes=[*_flat(system.router.routes), *pages.api_router.routes],
    )
    app.state.runtime = runtime
    app.state.service = service
    app.state.system = system
    problems.install(app)
    problems.describe(app, _COMMON)
    return app


def _flat(routes: Sequence[Any]) -> Iterator[Any]:
    """Routes, with those of routers that were included in their place."""
    for route in routes:
        included, how = getattr(route, "original_router", None), getattr(route, "include_context", None)
        if included is None or how is None or how.prefix or how.dependencies:
            yield route
        else:
            yield from _flat(included.routes)


def _with_cors(runtime: Runtime, app: ASGIApp) -> ASGIApp:
    """Open to browsers of the origins that are listed; closed to all others."""
    if not runtime.settings.cors_origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=runtime.settings.cors_origins,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "X-Request-Id"],
        expose_headers=["X-Request-Id"],
    )


async def prepare(runtime: Runtime, systems: Sequence[System]) -> bool:
    """Create what tables are missing; whether all of the systems' tables were."""
    tables = [events_table, notes_table, *(table for system in systems for table in system.tables)]
    differences = await runtime.store.ensure_tables(*tables)
    if differences:
        _log.info("tables were brought in line with the design", extra={"count": len(differences)})
    created = {difference.table for difference in differences if difference.aspect == Aspect.TABLE}
    return all(runtime.settings.table_prefix + table.name in created for system in systems for table in system.tables)


def _consuming(runtime: Runtime, systems: Sequence[System], services: dict[str, Any]) -> list[Consuming]:
    found = [each for system in systems for each in system.consumers(runtime, services[system.name])]
    settings = runtime.settings
    if settings.event_bus is not None:
        handler = event_bridge(settings.event_bus, settings.region, settings.aws_endpoint)
        found.append(Consuming("runtime.event-bridge", events_table, handler))
    return found
