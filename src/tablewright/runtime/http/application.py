"""The application: systems under their names, and the routes and pages that they share.

/                      the applications, or without their screens the start page of the APIs
/api                   start page of the APIs
/app/...               screens of the applications (``tablewright.ui``), where they are installed
/healthz /readyz /metrics
/problems/{kind}       what a kind of problem means
/runtime/...           events, consumers and dead letters, for runtime:Admins; /runtime/docs, /runtime/openapi.json
/<system>/...          a system; /<system>/docs is its API page, where /<system> redirects,
                       /<system>/openapi.json its description
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from fastapi import FastAPI
from starlette.types import ASGIApp

from tablewright.runtime.admin import admin_routes
from tablewright.runtime.background.consumer_threads import ConsumerSpec, ConsumerThreads
from tablewright.runtime.background.periodic_thread import PeriodicThread
from tablewright.runtime.endpoint_differences import check_differences
from tablewright.runtime.events.event_bridge import BRIDGE, event_bridge
from tablewright.runtime.http import html_pages, problems
from tablewright.runtime.http.api_description import describe
from tablewright.runtime.http.compiled_routes import CompiledRoutes
from tablewright.runtime.http.declared_calls import runtime_calls
from tablewright.runtime.http.gate import Gate
from tablewright.runtime.http.system_application import COMMON, public_calls, system_application, with_cors
from tablewright.runtime.internal_tables import events_table
from tablewright.runtime.mail.event_mail import MailRetries
from tablewright.runtime.system import Background, Runtime, System
from tablewright.runtime.table_readiness import are_ready, tables_of
from tablewright.store import Resolution

# What other packages use.
__all__ = [
    "MakeScreens",
    "services_of",
]

_log = logging.getLogger(__name__)


class Screens(Protocol):
    """Screens: ASGI applications by the first segment of their paths, such as ``app``, and what runs as long as they
    do.

    No system has the name of one of them.
    """

    @property
    def apps(self) -> Mapping[str, ASGIApp]: ...

    def lifespan(self) -> AbstractAsyncContextManager[None]: ...


# Makes the screens, given the application whose calls they make.
MakeScreens = Callable[[Runtime, Sequence[System], ASGIApp], Screens]


def application(
    runtime: Runtime,
    systems: Sequence[System],
    services: Mapping[str, Any] | None = None,
    make_screens: MakeScreens | None = None,
) -> ASGIApp:
    """The ASGI application of some systems. Its lifespan runs the consumers, and closes the runtime at the end.

    ``services`` are those of the systems, by name, if they exist already; ``make_screens`` adds screens.
    """
    if services is None:
        services = services_of(runtime, systems)
    threads, background = _work_beside_requests(runtime, systems, services)
    if make_screens is not None and not any(isinstance(each, MailRetries) for each in background):
        # Who is invited gets mail, also where no system sends any.
        background.insert(0, MailRetries(runtime.mailer, role="runtime"))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await prepare(runtime, systems)
        # Only one process can have the data folder open.
        await asyncio.to_thread(threads.start, alone=runtime.settings.is_embedded)
        for each in background:
            await asyncio.to_thread(each.start)
        stops = [*(each.stop for each in background), threads.stop]
        stopped = asyncio.create_task(_stop_beside_requests(runtime.stopping, stops))
        try:
            async with AsyncExitStack() as stack:
                if app.state.screens is not None:
                    await stack.enter_async_context(app.state.screens.lifespan())
                yield
        finally:
            runtime.stopping.set()
            try:
                await stopped
                # Once more, for what the last requests may have begun.
                await _at_once(stops)
            finally:
                runtime.close()

    app = _runtime_routes(runtime, systems, services, threads, background, lifespan)
    apps = {system.name: system_application(runtime, system, services[system.name], threads) for system in systems}
    gate = Gate(
        with_cors(runtime, CompiledRoutes(app)), apps, metrics=runtime.metrics, max_body=runtime.settings.max_body
    )
    if make_screens is not None:
        # Not with CORS: no page of another origin has anything to do here.
        app.state.screens = make_screens(runtime, systems, gate)
        runtime.has_screens = True
        apps.update(app.state.screens.apps)
        for name in app.state.screens.apps:
            app.add_api_route(f"/{name}", html_pages.lead_to_screens, include_in_schema=False)
    return gate


def runtime_application(runtime: Runtime, systems: Sequence[System], services: Mapping[str, Any]) -> ASGIApp:
    """What an application has besides its systems: health, metrics, pages, admin routes. It runs nothing."""
    app = _runtime_routes(runtime, systems, services, *_work_beside_requests(runtime, systems, services))
    return with_cors(runtime, CompiledRoutes(app))


def _work_beside_requests(
    runtime: Runtime, systems: Sequence[System], services: Mapping[str, Any]
) -> tuple[ConsumerThreads, list[Background]]:
    threads = ConsumerThreads(runtime.consumer_store, _consumer_specs(runtime, systems, services), runtime.metrics)
    runtime.consumers = threads
    background = [each for system in systems for each in system.background_work(runtime, services[system.name])]
    return threads, [*background, runtime.search, runtime.privacy]


def _runtime_routes(
    runtime: Runtime,
    systems: Sequence[System],
    services: Mapping[str, Any],
    threads: ConsumerThreads,
    background: Sequence[Background],
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None,
) -> FastAPI:
    entrances = html_pages.entrances([system.name for system in systems])
    routes = [*html_pages.router.routes, *entrances.routes, *admin_routes.router.routes]
    calls = runtime_calls(routes)
    app = FastAPI(
        title="Runtime",
        description="Health, metrics, events, consumers and dead letters of this process.",
        lifespan=lifespan,
        routes=routes,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.runtime = runtime
    app.state.consumer_threads = threads
    app.state.periodic = [each for each in background if isinstance(each, PeriodicThread)]
    app.state.systems = list(systems)
    app.state.services = services
    app.state.screens = None
    problems.install(app)
    describe(app, COMMON, public=public_calls(calls))
    app.state.admit = None
    return app


async def _stop_beside_requests(stopping: asyncio.Event, stops: Sequence[Callable[[], None]]) -> None:
    """Stop background work while the last requests are served, instead of after them."""
    await stopping.wait()
    await _at_once(stops)


async def _at_once(stops: Sequence[Callable[[], None]]) -> None:
    """All in threads of their own: requests need those of the event loop."""
    loop, threads = asyncio.get_running_loop(), ThreadPoolExecutor(len(stops), "stop")
    try:
        await asyncio.gather(*(loop.run_in_executor(threads, stop) for stop in stops))
    finally:
        threads.shutdown(wait=False)


async def prepare(runtime: Runtime, systems: Sequence[System]) -> None:
    """Create missing tables, and update others to match the design; once for a runtime.

    On an endpoint, existing tables are used as they are, unless ``ensure_tables`` is set: a serving process need not be
    allowed to describe tables. Before any is created there, features of DynamoDB that the endpoint lacks are logged;
    SettingsError if a system cannot work without one.
    """
    settings = runtime.settings
    if runtime.is_prepared:
        return
    if not settings.is_embedded and not settings.ensure_tables and await are_ready(runtime, systems):
        runtime.is_prepared = True
        return
    if not settings.is_embedded:
        await check_differences(runtime, systems)
    tables = tables_of(systems)
    differences = await runtime.store.ensure_tables(*tables)
    # Not what an endpoint does not support, and what is left as it is.
    applied = [difference for difference in differences if difference.resolution is Resolution.APPLIED]
    if applied:
        _log.info("tables were updated to match the design", extra={"count": len(applied)})
    runtime.is_prepared = True


def services_of(runtime: Runtime, systems: Sequence[System]) -> dict[str, Any]:
    return {system.name: system.service(runtime) for system in systems}


def _consumer_specs(runtime: Runtime, systems: Sequence[System], services: Mapping[str, Any]) -> list[ConsumerSpec]:
    found = [each for system in systems for each in system.consumers(runtime, services[system.name])]
    if not runtime.is_function:
        found += runtime.search.consumers()
    settings = runtime.settings
    if settings.event_bus is not None:
        handler = event_bridge(settings.event_bus, settings.region, settings.aws_endpoint)
        found.append(ConsumerSpec(BRIDGE, events_table, handler))
    return found
