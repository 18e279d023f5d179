"""The short way to a route leads to the same answers as FastAPI's own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.types import ASGIApp
from typing_extensions import TypedDict

from tablewright.runtime.http import problems
from tablewright.runtime.http.compiled_routes import CompiledRoutes


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


class Shown(TypedDict):
    id: UUID
    colour: Colour
    at: datetime
    later: datetime
    none: str | None


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

    @router.get("/plain/{item_id}")
    async def plain_item(
        item_id: UUID,
        what: Annotated[str, Query(alias="q", max_length=20)] = "",
        colour: Colour | None = None,
        limit: Annotated[int, Query(ge=1, le=5)] = 2,
        loud: bool = False,
        day: date | None = None,
        key: Annotated[str | None, Header(alias="X-Key", max_length=3)] = None,
        user_agent: Annotated[str | None, Header()] = None,
    ) -> dict[str, Any]:
        return {"item": item_id, "what": what, "colour": colour, "limit": limit, "loud": loud, "day": day, "key": key}

    @router.get("/needed")
    async def needed(q: str, number: int, more: Annotated[str, Header()]) -> dict[str, Any]:
        return {"q": q, "number": number, "more": more}

    @router.get("/shown")
    async def shown() -> Shown:
        at = datetime(2026, 2, 28, 9, tzinfo=UTC)
        return {"id": UUID(ID), "colour": Colour.BLUE, "at": at, "later": at.replace(microsecond=1200), "none": None}

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

    @router.get("/parts-of-{name}")
    async def parts(name: str) -> str:
        return name

    @router.get("/{name}")
    async def first(name: str) -> str:
        return f"first {name}"

    @router.get("/things/{name}/colour")
    async def thing(name: str) -> str:
        return f"of the thing {name}"

    @router.get("/things/none/{what}")
    async def hidden(what: str) -> str:
        return "the one before it is taken for some of these"

    @router.get("/threaded/of/a/pool")
    def threaded() -> str:
        return "from a thread"

    return router


def described() -> FastAPI:
    app = FastAPI(routes=list(declare(APIRouter()).routes))
    problems.install(app)
    return app


def served() -> ASGIApp:
    return CompiledRoutes(described())


def answer(app: ASGIApp, method: str, path: str, **more: Any) -> tuple[int, str | None, Any]:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.request(method, path, **more)

    found = asyncio.run(ask())
    if not found.content:
        return found.status_code, None, None
    content = found.json() if "json" in found.headers["content-type"] else found.content
    return found.status_code, found.headers["content-type"], content


JSON = {"Content-Type": "application/json"}
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
    ("POST", "/things", {"json": {"name": "", "number": [], "more": 1}, "params": {"loud": "perhaps"}}),
    ("POST", "/things", {}),
    ("POST", "/things", {"json": None}),
    ("POST", "/things", {"content": b'{"name": "x"}', "headers": {"Content-Type": "application/merge+json"}}),
    ("POST", "/things", {"content": b'{"name": "x"}', "headers": {"Content-Type": "Application/JSON; charset=utf-8"}}),
    ("GET", "/days/2026-02-28", {}),
    ("GET", "/days/2026-02-30", {}),
    ("DELETE", "/things/x", {}),
    ("GET", "/text", {}),
    ("GET", "/stream", {}),
    ("GET", "/headed", {}),
    ("GET", "/threaded/of/a/pool", {}),
    ("GET", "/parts-of-x", {}),
    ("GET", "/first-x", {}),
    ("GET", "/things/none/colour", {}),
    ("GET", "/things/none/other", {}),
    ("DELETE", "/things/", {}),
    ("DELETE", "/things/a%2Fb", {}),
    ("GET", f"/items/{ID}?limit=1&limit=4&colour=&tags=%ff&x", {"headers": [("X-Key", "a"), ("x-key", "bbbbb")]}),
    ("GET", f"/items/{ID}?&limit=3&&colour=blue=&=x&tags", {}),
    ("GET", f"/items/{ID}?limit=3&colour=blue&limit", {}),
    ("GET", f"/items/{ID}?limit=3;colour=blue", {}),
    ("GET", f"/items/{ID}?limit=+4&colour=bl%75e", {"headers": {"X-KEY": b"\xe9"}}),
    ("POST", "/things", {"content": b'{"name": "x", "name": "y"} ', "headers": {"Content-Type": "application/json"}}),
    ("PATCH", "/plain", {}),
    ("GET", "/nowhere", {}),
]


QUERIES = [
    "",
    "?",
    "?q=word&limit=5&colour=blue&loud=true&day=2026-02-28",
    "?q=&colour=",
    "?q",
    "?&q=a&&limit=3&",
    "?q=a=b&=x&==",
    "?q=a;limit=3",
    "?limit=1&limit=4",
    "?limit=4&limit",
    "?limit=4&q=a+b",
    "?q=%C3%A9&colour=bl%75e",
    "?q=%ff%zz%",
    "?limit=6&colour=green&loud=perhaps&day=today",
    "?Q=x&unknown=1",
]
REQUESTS += [("GET", f"/plain/{ID}{query}", {}) for query in QUERIES]
REQUESTS += [("GET", f"/needed{query}", {}) for query in ("", "?q=a", "?q=a&number=x", "?q=&number=7")]
REQUESTS += [
    ("GET", f"/plain/{ID}", {"headers": [("X-Key", "a"), ("x-key", "bbbbb")]}),
    ("GET", f"/plain/{ID}", {"headers": {"X-KEY": b"\xe9"}}),
    ("GET", f"/plain/{ID}", {"headers": {"X-Key": ""}}),
    ("GET", "/plain/none", {"params": {"limit": 9}, "headers": {"X-Key": "abcd"}}),
    ("GET", "/needed", {"params": {"q": "a", "number": 1}, "headers": {"More": "m"}}),
    ("GET", "/shown", {}),
]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=%2B4", "limit"),
        ("limit=+4", "limit"),
        ("limit=0_4", "limit"),
        ("limit=4.0", "limit"),
        ("limit=true", "limit"),
        ("loud=yes", "loud"),
        ("loud=1", "loud"),
        ("loud=on", "loud"),
        ("loud=TRUE", "loud"),
        ("day=0", "day"),
        ("day=1767225600", "day"),
        ("day=2026-02-28T00:00:00", "day"),
        ("day=", "day"),
    ],
)
def test_a_text_that_is_not_written_as_its_type_is_refused(query: str, field: str) -> None:
    status, _, problem = answer(served(), "GET", f"/plain/{ID}?{query}")
    assert (status, [error["field"] for error in problem["errors"]]) == (422, [f"query.{field}"])


def test_true_may_be_written_as_python_does() -> None:
    assert answer(served(), "GET", f"/plain/{ID}?loud=True")[2]["loud"] is True


@pytest.mark.parametrize("number", ["7", True, 7.0, 7.5, None, {}, ""])
def test_what_is_no_number_in_json_is_not_taken_for_one(number: Any) -> None:
    status, _, problem = answer(served(), "POST", "/things", json={"name": "x", "number": number})
    assert (status, [error["field"] for error in problem["errors"]]) == (422, ["body.number"])


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"\x00",
        b"\xff",
        b'{"name": "\xff"}',
        b'{"name": NaN}',
        b'{"name": -Infinity}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_json_is_refused(content: bytes) -> None:
    status, _, problem = answer(served(), "POST", "/things", content=content, headers=JSON)
    assert (status, problem["type"]) == (400, "/problems/malformed")


@pytest.mark.parametrize(
    ("content", "field"),
    [(b'{"name": "\\ud800"}', "name"), (b'{"name": "x", "more": [1, {"a": "\\udfff!"}]}', "more.1.a")],
)
def test_half_a_character_is_refused_by_its_place(content: bytes, field: str) -> None:
    status, _, problem = answer(served(), "POST", "/things", content=content, headers=JSON)
    assert (status, [error["field"] for error in problem["errors"]]) == (422, [f"body.{field}"])


def test_a_text_may_have_what_is_no_number() -> None:
    assert answer(served(), "POST", "/things", json={"name": "NaN"})[0] == 201


@pytest.mark.parametrize("body", [[], None, "x", 5])
def test_a_body_is_an_object(body: Any) -> None:
    assert answer(served(), "POST", "/things", content=json.dumps(body), headers=JSON)[0] == 422


@pytest.mark.parametrize(("method", "path", "more"), REQUESTS)
def test_the_answer_is_the_same(method: str, path: str, more: dict[str, Any]) -> None:
    assert answer(served(), method, path, **more) == answer(described(), method, path, **more)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
def test_a_body_without_the_json_content_type_is_refused_with_415(kind: str) -> None:
    status, _, content = answer(served(), "POST", "/things", content=b'{"name": "x"}', headers={"Content-Type": kind})
    assert (status, content["detail"]) == (415, "send JSON, with the header Content-Type: application/json")


def test_a_dependency_that_is_needed_twice_is_asked_once() -> None:
    seen.clear()
    answer(served(), "POST", "/things", json={"name": "x"})
    assert seen == ["who"]


def test_routes_out_of_the_ordinary_are_left_to_fastapi() -> None:
    """Only they are: a route that is reached by the long way passes through the layers of the application."""
    app = described()
    passed: list[str] = []

    @app.middleware("http")
    async def note(request: Request, call_next: Any) -> Response:
        passed.append(request.url.path)
        return await call_next(request)  # type: ignore[no-any-return]

    for method, path, more in REQUESTS:
        answer(CompiledRoutes(app), method, path, **more)
    assert set(passed) == {
        # Lists, and responses that are not JSON.
        f"/items/{ID}",
        "/items/none",
        "/text",
        "/stream",
        "/headed",
        "/threaded/of/a/pool",
        "/parts-of-x",
        "/first-x",
        "/nowhere",
        "/plain",
        "/things/",
        "/things/a/b",
    }


def test_a_stream_that_breaks_off_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    router = APIRouter()

    async def parts() -> AsyncIterator[str]:
        yield "a"
        raise RuntimeError("nothing more")

    @router.get("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(parts())

    with pytest.raises(RuntimeError, match="nothing more"):
        answer(CompiledRoutes(FastAPI(routes=router.routes)), "GET", "/stream")
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == ["request failed"]
