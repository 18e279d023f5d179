"""The application of a function: the routes of its system, and those of the runtime once one is requested.

Most functions are never asked for metrics, people or dead letters, and importing these takes a quarter of the start.
"""

from __future__ import annotations

from functools import cache

from starlette.types import ASGIApp, Receive, Scope, Send

from tablewright.runtime.functions.function_process import FunctionProcess
from tablewright.runtime.http.gate import Gate
from tablewright.runtime.http.system_application import system_application

__all__ = ["function_application"]


def function_application(here: FunctionProcess) -> ASGIApp:
    """The ASGI application of a function; it has no lifespan."""
    runtime, system = here.runtime, here.system

    @cache
    def others() -> ASGIApp:
        from tablewright.runtime.http.application import runtime_application

        return runtime_application(runtime, [system], {system.name: here.service})

    async def runtime_routes(scope: Scope, receive: Receive, send: Send) -> None:
        await others()(scope, receive, send)

    apps = {system.name: system_application(runtime, system, here.service, None)}
    return Gate(runtime_routes, apps, metrics=runtime.metrics, max_body=runtime.settings.max_body)
