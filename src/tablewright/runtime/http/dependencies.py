"""Dependencies of routes: the caller, the system's service, an idempotency key, a page.

    @router.get("/tickets/{ticket_id}")
    async def get_ticket(ticket_id: str, desk: Desk, caller: Annotated[Caller, allow(AGENTS, ADMINS)]) -> Ticket: ...

Dependencies are async, because FastAPI would run others in threads, which costs more than the work they do.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Query
from starlette.requests import HTTPConnection

from tablewright.runtime.errors import Unauthenticated
from tablewright.runtime.identity.access import Caller, Grant, Role
from tablewright.runtime.identity.actor import Actor, acting
from tablewright.runtime.parameter_texts import matching
from tablewright.runtime.system import Runtime

# What other packages use.
__all__ = [
    "SIGNED_IN",
]


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


SIGNED_IN = "tablewright.caller"
"""The key in a scope that has the caller of a request, for calls that the screens of this process make for a signed-in
user. No server sets it, so it cannot come from outside."""
GRANTS = "grants"
"""The attribute of a dependency that says whom it admits; ``declared_calls`` reads it."""


def allow(*granted: Role | Grant) -> Any:
    """A dependency: the caller, who must have one of the roles.

    It is for routes and web sockets, and the only place where callers are checked: the token, the rate limit, the roles
    (of the token, or of ``people``), the deny list, and the system's own check (``System.admit``).
    """
    grants = tuple(each if isinstance(each, Grant) else Grant(each) for each in granted)
    roles = tuple(grant.role for grant in grants)
    if not roles:
        raise ValueError("say which roles may make this call; Public is for calls without a token")

    async def admitted(request: HTTPConnection) -> Caller:
        runtime = runtime_of(request)
        caller: Caller | None = request.scope.get(SIGNED_IN)
        if caller is None:
            try:
                caller = await runtime.verifier.caller(_authorization(request))
            except Unauthenticated:
                # Guessing is limited by address, as there is no caller.
                runtime.limit.take(f"address {_address(request)}")
                raise
        runtime.limit.take(f"caller {caller.user_id}")
        caller = await runtime.people.admitted(caller)
        caller.require(*roles)
        await runtime.deny_list.check(caller.user_id)
        state = request.app.state
        if state.admit is not None:
            caller = await state.admit(state.service, caller)
            caller.require(*roles)
        acting.set(Actor(caller.user_id, request.scope["route"].name))
        return caller

    setattr(admitted, GRANTS, grants)
    return Depends(admitted)


def _address(request: HTTPConnection) -> str:
    return request.client.host if request.client else ""


async def _public(request: HTTPConnection) -> None:
    runtime_of(request).limit.take(f"address {_address(request)}")


async def _probe() -> None:
    # Nothing is limited: whatever asks whether the process is well may share its address with everybody.
    pass


setattr(_public, GRANTS, ())
setattr(_probe, GRANTS, ())
Public = Annotated[None, Depends(_public)]
"""A dependency: the call is open to everyone, without a token; the rate is limited by address."""
Probe = Annotated[None, Depends(_probe)]
"""A dependency: the call is open to everyone, without a limit: probes and pages, which show no user data."""

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=matching(r"^[\x21-\x7e]+$", "use printable ASCII characters without spaces, such as a UUID"),
        description="a key for this request, chosen by the caller: a retry with the same key gets the first response",
    ),
]
"""The header `Idempotency-Key` of a request, if it has one."""
# A cursor has a position for each shard that is read.
Cursor = Annotated[str | None, Query(max_length=16_384, description="the `cursor` of the previous page")]
"""The query parameter `cursor` of a list, if it has one."""
Limit = Annotated[int, Query(ge=1, le=100, description="maximum number of items")]
"""The query parameter `limit`: the maximum number of items of a page."""
