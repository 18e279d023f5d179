"""HTML pages: the start page, an API page for each system, a page for each problem type.

Nothing is loaded from other sites.

The start page shows tokens to try the systems with. They are issued in development only, by a server that listens on
loopback only, to a client on this machine that uses a loopback name, and never through a proxy: neither a page of
another site nor a client behind a tunnel can get them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from tablewright.runtime.errors import ResourceNotFound
from tablewright.runtime.http.deferred_routes import DeferredRoute
from tablewright.runtime.http.dependencies import Probe, runtime_of
from tablewright.runtime.http.problems import KINDS
from tablewright.runtime.identity.access import RUNTIME_ADMINS
from tablewright.runtime.system import DemoUser, Runtime, System

# What other packages use.
__all__ = [
    "demo_admin",
    "is_private",
]

router = APIRouter(route_class=DeferredRoute, include_in_schema=False)
api_router = APIRouter(route_class=DeferredRoute, include_in_schema=False)

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# What proxies add, beside X-Forwarded-For and its like.
_FORWARDING = frozenset(
    {"forwarded", "via", "x-real-ip", "x-client-ip", "x-original-host", "true-client-ip", "cf-connecting-ip"}
)
_HOST = re.compile(r"(?P<name>[A-Za-z0-9.-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")


@router.get("/")
async def start_page(request: Request, _: Probe) -> Response:
    # Relative, as the host in a request may be anything.
    return _page("start.html") if request.app.state.screens is None else RedirectResponse("app/")


@router.get("/api")
async def apis_page(_: Probe) -> Response:
    return _page("start.html")


@router.get("/systems.json")
async def systems(request: Request, _: Probe) -> Response:
    """What the start page shows."""
    found: list[System] = request.app.state.systems
    return JSONResponse([{"name": each.name, "title": each.title, "about": each.about} for each in found])


@router.get("/tokens.json")
async def tokens(request: Request, _: Probe) -> Response:
    """Ready-made tokens, for requests from this machine."""
    runtime = runtime_of(request)
    issuer = runtime.issuer
    if issuer is None or not is_private(runtime, request):
        raise ResourceNotFound("tokens are issued in development only, on this machine; see `tablewright token`")
    found: list[System] = request.app.state.systems
    admin = demo_admin(found)
    users = [(system.name, user) for system in found for user in system.demo_users]
    return JSONResponse(
        [
            {
                # A token is for one system, but for the last.
                "system": system,
                "user": user.user_id,
                "roles": [role.name for role in user.roles],
                "about": user.about,
                "token": issuer.token(user.user_id, roles=[role.name for role in user.roles], email=user.email),
            }
            for system, user in [*users, (None, admin)]
        ],
        headers={"Cache-Control": "no-store"},
    )


@router.get("/problems/{kind}")
async def problem_page(kind: str, _: Probe) -> Response:
    if kind not in KINDS:
        raise ResourceNotFound(f"there is no problem type {kind}; the types are {', '.join(KINDS)}")
    status, title = KINDS[kind]
    text = (
        f"<!doctype html><meta charset=utf-8><title>{escape(kind)}</title><h1>{escape(kind)}</h1><p>{status}: {title}."
    )
    return HTMLResponse(text, headers={"Content-Security-Policy": _POLICY})


def entrances(names: Sequence[str]) -> APIRouter:
    """Redirects from the name of a system to its API page; relative, as the host of a request is not trusted."""
    found = APIRouter(route_class=DeferredRoute, include_in_schema=False)
    for name in names:
        found.add_api_route(f"/{name}", _lead)
    return found


async def _lead(request: Request, _: Probe) -> Response:
    return RedirectResponse(f"{request.scope['path'].rpartition('/')[2]}/docs")


async def lead_to_screens(request: Request) -> Response:
    """Redirect from an address of screens without its trailing slash to the one with it."""
    query = request.scope["query_string"].decode("latin-1")
    return RedirectResponse(f"{request.scope['path'].rpartition('/')[2]}/" + (f"?{query}" if query else ""))


@router.get("/runtime")
async def runtime_entrance(_: Probe) -> Response:
    return RedirectResponse("runtime/docs")


@router.get("/runtime/docs")
async def runtime_page(_: Probe) -> Response:
    return _page("api.html")


@router.get("/runtime/openapi.json")
async def runtime_description(request: Request, _: Probe) -> Response:
    return JSONResponse(request.app.openapi())


@api_router.get("/")
async def entrance(_: Probe) -> Response:
    return RedirectResponse("docs")


@api_router.get("/docs")
async def api_page(_: Probe) -> Response:
    return _page("api.html")


def _page(name: str) -> Response:
    from importlib.resources import files

    text = files("tablewright.runtime.http").joinpath("html", name).read_text("utf-8")
    return HTMLResponse(text, headers={"Content-Security-Policy": _POLICY})


def demo_admin(systems: Sequence[System]) -> DemoUser:
    """A demo person with a ready-made token."""
    everything = [role for system in systems for role in system.roles if role.name.endswith(":Admins")]
    return DemoUser("admin", (RUNTIME_ADMINS, *everything), "an administrator of everything", "admin@example.org")


def is_private(runtime: Runtime, request: Request) -> bool:
    """Whether a request is from this machine, and not from a page of another site.

    The header itself is read: where a URL cannot be made of it, there would be one of the server's own address.
    """
    if any(name in _FORWARDING or name.startswith("x-forwarded-") for name in request.headers):
        # Whoever is behind a proxy need not be at this machine.
        return False
    hosts = [_HOST.fullmatch(host) for host in request.headers.getlist("host")]
    if len(hosts) != 1 or hosts[0] is None:
        return False
    # Even a page that may call the systems (``cors_origins``) is not the start page.
    origin = request.headers.get("origin", f"http://{hosts[0][0]}")
    site = request.headers.get("sec-fetch-site", "none")
    own_page = origin.lower() == f"http://{hosts[0][0]}".lower() and site in ("none", "same-origin")
    client = request.client.host if request.client else ""
    addresses = runtime.settings.host, client, hosts[0]["name"].strip("[]").lower()
    return own_page and all(map(_is_loopback, addresses))


def _is_loopback(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
