"""Nothing is open: every route of every system, with every kind of caller who should be turned away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

import httpx
import jwt
import pytest
from fastapi.routing import APIRoute

from tablewright.runtime.http.admin_routes import router as operations
from tablewright.runtime.identity.local_issuer import LocalIssuer
from tablewright.runtime.settings import Secrets
from tablewright.systems import load
from tests.systems.harness import Served, serving

SYSTEMS = load()
# Open by intention: they show nothing of anybody.
OPEN = {"/healthz", "/readyz", "/metrics"}
EVERY_GROUP = ("Admins", "Members", "Services", "Customers", "Operators", "Engineers")


@dataclass(frozen=True)
class Route:
    address: str
    method: str
    # Groups that the route demands one of; empty for anyone with a token, None where nobody asks.
    groups: tuple[str, ...] | None


def demanded(route: APIRoute) -> tuple[str, ...] | None:
    waiting = list(route.dependant.dependencies)
    while waiting:
        found = waiting.pop()
        groups = getattr(found.call, "groups", None)
        if groups is not None:
            return tuple(groups)
        waiting += found.dependencies
    return None


def routes_of(prefix: str, routes: Sequence[Any]) -> Iterator[Route]:
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is not None:
            yield from routes_of(prefix + route.include_context.prefix, included.routes)
        if isinstance(route, APIRoute) and route.path not in OPEN:
            for method in sorted(route.methods or ()):
                address = prefix + re.sub(r"\{[^}]+\}", "00000000-0000-4000-8000-000000000000", route.path)
                yield Route(address, method, demanded(route))


def everything() -> list[Route]:
    found = list(routes_of("", operations.routes))
    for system in SYSTEMS:
        found += routes_of(f"/{system.name}", system.router.routes)
    return found


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(SYSTEMS, memory=True) as served:
        yield served


@cache
def nobody(served: Served) -> httpx.Client:
    """One client for all requests: making one takes longer than a request."""
    return served.client()


def answer(served: Served, route: Route, token: str | None) -> httpx.Response:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with nobody(served).stream(route.method, route.address, headers=headers, json={}) as found:
        # A stream of events has no end to wait for.
        if not found.headers["content-type"].startswith("text/event-stream"):
            found.read()
    return found


def test_every_route_asks_who_is_calling() -> None:
    assert len(everything()) > 5
    assert [route for route in everything() if route.groups is None] == []


def strangers(served: Served) -> dict[str, str | None]:
    issuer = served.runtime.issuer
    assert issuer is not None
    claims = jwt.decode(issuer.token("u", groups=EVERY_GROUP), options={"verify_signature": False})
    pem = served.runtime.secrets.get("issuer_key")

    def signed(**changes: Any) -> str:
        return jwt.encode({**claims, **changes}, pem, algorithm="RS256", headers={"kid": "local"})

    good = issuer.token("u", groups=EVERY_GROUP)
    head, body, signature = good.split(".")
    return {
        "no token": None,
        "nonsense": "a.b.c",
        "expired": issuer.token("u", groups=EVERY_GROUP, lifetime=timedelta(minutes=-5)),
        "another issuer's name": signed(iss="https://evil.example"),
        "another client's": signed(aud="somebody-else"),
        "another key's": LocalIssuer(Secrets(None)).token("u", groups=EVERY_GROUP),
        "unsigned": jwt.encode(claims, "", algorithm="none"),
        "altered": f"{head}.{body[:-4]}AAAA.{signature}",
        "without a subject": signed(sub=None),
    }


@pytest.mark.requirement("TM6")
@pytest.mark.parametrize(
    "who",
    [
        "no token",
        "nonsense",
        "expired",
        "another issuer's name",
        "another client's",
        "another key's",
        "unsigned",
        "altered",
        "without a subject",
    ],
)
def test_strangers_are_turned_away_everywhere(served: Served, who: str) -> None:
    token = strangers(served)[who]
    for route in everything():
        found = answer(served, route, token)
        assert found.status_code == 401, (route, found.text)
        assert found.headers["content-type"] == "application/problem+json"
        assert found.headers["www-authenticate"] == "Bearer"


def test_a_caller_in_the_wrong_group_is_refused_everywhere(served: Served) -> None:
    for route in everything():
        for groups in ((), *((group,) for group in EVERY_GROUP)):
            found = answer(served, route, served.token("somebody", *groups))
            if route.groups and not set(groups) & set(route.groups):
                assert found.status_code == 403, (route, groups, found.text)
            else:
                assert found.status_code not in (401, 500), (route, groups)
