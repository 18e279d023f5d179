"""Deferred routes are FastAPI's own, made later."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Path
from fastapi.exceptions import FastAPIError
from fastapi.routing import APIRoute
from pydantic import BaseModel

from tablewright.runtime.http.deferred_routes import DeferredRoute


class Thing(BaseModel):
    name: str
    size: int = 1


class Strange:
    """Nothing that can be described."""


async def nobody() -> None:
    """A dependency."""


def _app(route_class: type[APIRoute]) -> FastAPI:
    router = APIRouter(prefix="/of", tags=["things"], dependencies=[Depends(nobody)], route_class=route_class)

    @router.get("/things/{thing_id}", responses={404: {"description": "none"}})
    async def thing(thing_id: Annotated[str, Path(max_length=3)], size: int = 2) -> Thing:
        """One of them."""
        return Thing(name=thing_id, size=size)

    @router.api_route("/things", methods=["put"], name="other", status_code=201)
    async def add(given: Thing) -> Thing:
        return given

    @router.delete("/things/{thing_id}", status_code=204)
    async def remove(thing_id: str) -> None: ...

    return FastAPI(routes=router.routes)


def _is_made(route: Any) -> bool:
    return "dependant" in vars(route)


REQUESTS = [
    ("GET", "/of/things/a?size=4", None),
    ("GET", "/of/things/abcd", None),
    ("GET", "/of/nothing", None),
    ("PUT", "/of/things/a", None),
    ("PUT", "/of/things", {"name": "a"}),
    ("PUT", "/of/things", {}),
    ("DELETE", "/of/things/a", None),
]


def _answers(app: FastAPI, *requests: tuple[str, str, Any]) -> list[tuple[int, bytes, httpx.Headers]]:
    async def answers() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
            return [await client.request(method, path, json=body) for method, path, body in requests]

    return [(each.status_code, each.content, each.headers) for each in asyncio.run(answers())]


def test_requests_are_answered_as_by_routes_that_are_made_at_once() -> None:
    assert _answers(_app(DeferredRoute), *REQUESTS) == _answers(_app(APIRoute), *REQUESTS)


def test_the_description_is_the_same() -> None:
    assert _app(DeferredRoute).openapi() == _app(APIRoute).openapi()


def test_a_route_is_made_with_the_first_request_for_it_and_not_to_be_found() -> None:
    app = _app(DeferredRoute)
    routes = [route for route in app.routes if isinstance(route, DeferredRoute)]
    assert [(route.path, route.name, route.methods) for route in routes] == [
        ("/of/things/{thing_id}", "thing", {"GET"}),
        ("/of/things", "other", {"PUT"}),
        ("/of/things/{thing_id}", "remove", {"DELETE"}),
    ]
    assert all([each.dependency for each in route.dependencies] == [nobody] for route in routes)
    assert _answers(app, ("GET", "/of/nothing", None))[0][0] == 404
    assert [_is_made(route) for route in routes] == [False, False, False]
    assert _answers(app, ("DELETE", "/of/things/a", None))[0][0] == 204
    assert [_is_made(route) for route in routes] == [False, False, True]


def test_an_invalid_declaration_raises_on_each_access() -> None:
    router = APIRouter(route_class=DeferredRoute)

    async def wrong(given: object) -> None: ...

    router.add_api_route("/", wrong, response_model=Strange)
    for _ in range(2):
        with pytest.raises(FastAPIError, match="Invalid args"):
            _ = router.routes[0].app  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = _app(DeferredRoute).routes[-1].nothing_like_it  # type: ignore[attr-defined]
