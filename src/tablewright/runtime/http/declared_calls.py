"""The calls of a system, as its routes declare them: ``calls_of(system)``.

A route declares who may make its call with one parameter:

    caller: Annotated[Caller, allow(AGENTS, ADMINS)]     callers with one of the roles
    _: Public                                            anyone, without a token; limited by address
    _: Probe                                             the same without a limit, for probes and pages

A route without such a parameter, or with a role of another system, is an error when the application is created: no call
is open by oversight. The matrix in the documentation, its test over HTTP and pages are made from these calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from fastapi import params
from fastapi.routing import APIRoute, APIWebSocketRoute

from tablewright.runtime.http.dependencies import GRANTS
from tablewright.runtime.identity.access import RUNTIME_ADMINS, Call, Grant, Role
from tablewright.runtime.system import System

__all__ = ["calls_of", "runtime_calls"]


class UndeclaredCall(TypeError):
    """A route that does not declare who may call it, or names roles that its system does not have."""


def calls_of(system: System) -> tuple[Call, ...]:
    """The calls of a system, in the order of its routes; UndeclaredCall if one does not declare who may make it."""
    return _calls(system.name, system.roles, system.router.routes)


def runtime_calls(routes: Sequence[Any] | None = None) -> tuple[Call, ...]:
    """The calls of the runtime itself: admin routes, probes and pages; of all its routes, or of some."""
    if routes is None:
        from tablewright.runtime.admin import admin_routes
        from tablewright.runtime.http import html_pages

        routes = [*admin_routes.router.routes, *html_pages.router.routes]
    return _calls(RUNTIME_ADMINS.system, [RUNTIME_ADMINS], routes)


def _calls(system: str, roles: Iterable[Role], routes: Sequence[Any]) -> tuple[Call, ...]:
    known, found = frozenset(roles), []
    for route in routes:
        if not isinstance(route, APIRoute | APIWebSocketRoute):
            raise UndeclaredCall(
                f"{system}: {route!r} is not a route of an APIRouter; add its routes to the router itself"
            )
        methods = sorted(route.methods or ()) if isinstance(route, APIRoute) else ["WEBSOCKET"]
        where = f"{methods[0]} {route.path} of {system}"
        grants = _declared(route.endpoint, route.dependencies)
        if grants is None:
            raise UndeclaredCall(
                f"{where} does not declare who may call it: give {route.name} the parameter `caller: Annotated[Caller, "
                f"allow(...)]` with roles of {system} ({_names(known)}), or `_: Public` if it is for everyone"
            )
        unknown = {grant.role for grant in grants} - known
        if unknown:
            raise UndeclaredCall(
                f"{where} allows {_names(unknown)}, which {system} does not declare; it has {_names(known)}"
            )
        found += [Call(system, route.name, method, route.path, grants) for method in methods]
    return tuple(found)


def _names(roles: Iterable[Role]) -> str:
    return ", ".join(sorted(role.name for role in roles)) or "no roles"


def _declared(function: Callable[..., Any], more: Iterable[params.Depends] = ()) -> tuple[Grant, ...] | None:
    """What the first declaration among the parameters of a function, or of its dependencies, grants."""
    hints = get_type_hints(inspect.unwrap(function), include_extras=True)
    markers = [*more]
    for hint in hints.values():
        if get_origin(hint) is Annotated:
            markers += [each for each in get_args(hint)[1:] if isinstance(each, params.Depends)]
    for marker in markers:
        if marker.dependency is not None:
            own: tuple[Grant, ...] | None = getattr(marker.dependency, GRANTS, None)
            found = _declared(marker.dependency) if own is None else own
            if found is not None:
                return found
    return None
