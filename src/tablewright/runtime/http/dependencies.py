"""Dependencies of routes: the caller, the system's service, an idempotency key, a page.

    @router.get("/tickets/{ticket_id}")
    async def get_ticket(ticket_id: str, desk: Desk, caller: Annotated[Caller, allow(MEMBERS, ADMINS)]) -> Ticket: ...

Dependencies are async, because FastAPI would run others in threads, which costs more than the work they do.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Query
from starlette.requests import HTTPConnection

from tablewright.runtime.errors import Unauthenticated
from tablewright.runtime.identity.tokens import Caller
from tablewright.runtime.system import Runtime


def runtime_of(request: HTTPConnection) -> Runtime:
    """The runtime of the application that a request, or a web socket, belongs to."""
    runtime: Runtime = request.app.state.runtime
    return runtime


async def service_of(request: HTTPConnection) -> Any:
    """The service of the system that a route belongs to: ``Desk = Annotated[ServiceDesk, Depends(service_of)]``."""
    return request.app.state.service


def _authorization(request: HTTPConnection) -> str | None:
    """The header itself: ``request.headers`` would decode all of them."""
    for name, value in request.scope["headers"]:
        if name == b"authorization":
            text: str = value.decode("latin-1")
            return text
    return None


def allow(*groups: str) -> Any:
    """A dependency: the caller, who has to be in one of the groups (without groups: anyone with a token).

    It is for routes and web sockets. Each request counts against the caller's rate limit.
    """

    async def allowed(request: HTTPConnection) -> Caller:
        runtime = runtime_of(request)
        try:
            caller = await runtime.verifier.caller(_authorization(request))
        except Unauthenticated:
            # Guessing is limited by address, as there is no caller.
            runtime.limit.take(f"address {request.client.host if request.client else ''}")
            raise
        runtime.limit.take(f"caller {caller.user_id}")
        if groups:
            caller.require(*groups)
        return caller

    # For tests of all routes, and for OpenAPI.
    allowed.groups = groups  # type: ignore[attr-defined]
    return Depends(allowed)


IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="a key for this request, chosen by the caller: a retry with the same key gets the first response",
    ),
]
"""The header `Idempotency-Key` of a request, if it has one."""
# A cursor has a position for each shard that is read.
Cursor = Annotated[str | None, Query(max_length=16_384, description="the `cursor` of the page before this one")]
"""The query parameter `cursor` of a list, if it has one."""
Limit = Annotated[int, Query(ge=1, le=100, description="how many at most")]
"""The query parameter `limit`: how many items a page has at most."""
