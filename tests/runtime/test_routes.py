"""Routes that are laid out beforehand answer as FastAPI's own do."""

from __future__ import annotations

import asyncio
from datetime import date
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tablewright.runtime.routes import Route, Router


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=5)
    number: int = 3


class View(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    full_name: str
    day: date | None = None


seen: list[str] = []


async def who(request: Request) -> str:
    seen.append("who")
    return request.headers.get("x-who", "nobody")


async def greeting(name: Annotated[str, Depends(who)], loud: bool = False) -> str:
    return f"HELLO {name}" if loud else f"hello {name}"


async def of_day(day: Annotated[date, Path()]) -> date:
    return day


def declare(router: APIRouter) -> APIRouter:
    @router.get("/plain")
    async def plain() -> dict[str, int]:
        return {"a": 1}

    @router.get("/items/{item_id}")
    async def item(
        item_id: UUID,
        colour: Colour = Colour.RED,
        limit: Annotated[int, Query(ge=1, le=5)] = 2,
        key: Annotated[str | None, Header(alias="X-Key", max_length=3)] = None,
        tags: Annotated[list[str], Query()] = [],  # noqa: B006
    ) -> dict[str, Any]:
        return {"item": item_id, "colour": colour, "limit": limit, "key": key, "tags": tags}

    @router.post("/things", status_code=201)
    async def things(body: Body, text: Annotated[str, Depends(greeting)], name: Annotated[str, Depends(who)]) -> View:
        return View(full_name=f"{body.name} {body.number} {text} {name}")

    @router.get("/days/{day}")
    async def days(day: Annotated[date, Depends(of_day)]) -> View:
        return View(full_name="x", day=day)

    @router.delete("/things/{name}", status_code=204)
    async def delete(name: str) -> None:
        return None

    @router.get("/text", response_class=PlainTextResponse)
    async def text() -> PlainTextResponse:
        return PlainTextResponse("text")

    @router.get("/stream", response_class=StreamingResponse)
    async def stream() -> StreamingResponse:
        return StreamingResponse(iter(["a", "b"]), media_type="text/event-stream")

    @router.get("/headed")
    async def headed(response: Response) -> str:
        response.headers["X-More"] = "more"
        return "headed"

    @router.get("/threaded")
    def threaded() -> str:
        return "from a thread"

    return router


def served(router: APIRouter) -> FastAPI:
    return FastAPI(routes=list(declare(router).routes))


def answer(app: FastAPI, method: str, path: str, **more: Any) -> tuple[int, str | None, Any]:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.request(method, path, **more)

    found = asyncio.run(ask())
    if not found.content:
        return found.status_code, None, None
    content = found.json() if "json" in found.headers["content-type"] else found.content
    return found.status_code, found.headers["content-type"], content


ID = "33567ee8-f182-4f8a-b03e-2f1515915471"
REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/plain", {}),
    ("GET", f"/items/{ID}", {}),
    (
        "GET",
        f"/items/{ID}",
        {"params": {"colour": "blue", "limit": 5, "tags": ["a", "b"]}, "headers": {"X-Key": "abc"}},
    ),
    ("GET", f"/items/{ID}", {"params": {"colour": "green", "limit": 6}, "headers": {"X-Key": "abcd"}}),
    ("GET", "/items/none", {"params": {"limit": "many"}}),
    ("POST", "/things", {"json": {"name": "x"}}),
    ("POST", "/things", {"json": {"name": "x", "number": 7}, "params": {"loud": True}, "headers": {"X-Who": "ada"}}),
    ("POST", "/things", {"json": {"name": "", "number": "y", "more": 1}, "params": {"loud": "perhaps"}}),
    ("POST", "/things", {}),
    ("POST", "/things", {"json": []}),
    ("POST", "/things", {"json": None}),
    ("POST", "/things", {"content": b'{"name": "x"}', "headers": {"Content-Type": "application/merge+json"}}),
    ("POST", "/things", {"content": b'{"name": "x"}', "headers": {"Content-Type": "Application/JSON; charset=utf-8"}}),
    ("GET", "/days/2026-02-28", {}),
    ("GET", "/days/2026-02-30", {}),
    ("DELETE", "/things/x", {}),
    ("GET", "/text", {}),
    ("GET", "/stream", {}),
    ("GET", "/headed", {}),
    ("GET", "/threaded", {}),
    ("PATCH", "/plain", {}),
    ("GET", "/nowhere", {}),
]


@pytest.mark.parametrize(("method", "path", "more"), REQUESTS)
def test_the_answer_is_the_same(method: str, path: str, more: dict[str, Any]) -> None:
    ours, theirs = served(Router()), served(APIRouter())
    assert answer(ours, method, path, **more) == answer(theirs, method, path, **more)


def test_the_description_is_the_same() -> None:
    assert served(Router()).openapi() == served(APIRouter()).openapi()


@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"name": NaN}', b"[" * 100_000, b'{"name": Infinity}'])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    assert answer(served(Router()), "POST", "/things", content=body, headers=headers)[0] == 400


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
def test_a_body_that_does_not_say_that_it_is_json_is_told_to(kind: str) -> None:
    status, _, content = answer(
        served(Router()), "POST", "/things", content=b'{"name": "x"}', headers={"Content-Type": kind}
    )
    assert (status, content["detail"]) == (415, "send JSON, and say so: Content-Type: application/json")


def test_a_dependency_that_is_needed_twice_is_asked_once() -> None:
    seen.clear()
    answer(served(Router()), "POST", "/things", json={"name": "x"})
    assert seen == ["who"]


def test_routes_out_of_the_ordinary_are_left_to_fastapi() -> None:
    routes = {route.path: route for route in declare(Router()).routes if isinstance(route, Route)}
    own = {path for path, route in routes.items() if route.app.__module__ == "tablewright.runtime.routes"}
    assert set(routes) - own == {"/headed", "/threaded"}
