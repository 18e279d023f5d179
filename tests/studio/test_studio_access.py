"""The way into the studio: a token that is good once, cookies, and which hosts and pages may ask."""

from __future__ import annotations

import asyncio
import re

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from tablewright.studio.studio_access import OneTimeToken, StudioAccess, StudioSignIn
from tablewright.studio.studio_texts import texts
from tablewright.ui.identity.session_cookie import Sessions
from tablewright.ui.shell_texts import texts as shell_texts

pytestmark = pytest.mark.requirement("ST1")

HERE = "http://127.0.0.1:8081"


class Served:
    """The guard around an application that says hello to whoever gets in."""

    def __init__(self) -> None:
        self.token = OneTimeToken()
        sessions = Sessions(b"s" * 32, 12)
        sign_in = StudioSignIn(sessions, {**shell_texts.texts, **texts.texts}, lambda language: "<head>")
        inner = FastAPI()
        inner.include_router(sign_in.router())

        async def hello(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "websocket":
                await send({"type": "websocket.accept"})
                return
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"hello"})

        inner.mount("", hello)
        self.guard = sign_in.access = StudioAccess(inner, sessions, self.token, user="ada", hosts=frozenset({"box"}))
        outer = FastAPI()
        outer.mount("/studio", self.guard)
        self.app = outer

    def client(self, base_url: str = HERE) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url=base_url)


@pytest.fixture
def served() -> Served:
    return Served()


def test_the_token_is_good_once_and_removed_from_the_address(served: Served) -> None:
    async def run() -> None:
        token = served.token.value
        async with served.client() as browser:
            first = await browser.get(f"/studio/items/t?pk=1&token={token}")
            assert (first.status_code, first.headers["location"]) == (303, "/studio/items/t?pk=1")
            # Neither a cache nor another page is told of the token.
            assert (first.headers["cache-control"], first.headers["referrer-policy"]) == ("no-store", "no-referrer")
            cookie = first.headers["set-cookie"]
            assert re.match(r"tablewright_studio_8081=\S+; HttpOnly; Max-Age=\d+; Path=/studio/; SameSite=lax", cookie)
            assert (await browser.get("/studio/")).text == "hello"
        async with served.client() as other:
            again = await other.get(f"/studio/?token={token}")
            assert again.headers["location"] == "/studio/sign-in?used=1"
            assert "set-cookie" not in again.headers
            assert "was already used" in (await other.get(again.headers["location"])).text
        assert served.token.value != token

    asyncio.run(run())


def test_the_token_can_be_pasted_or_the_whole_address(served: Served) -> None:
    async def run() -> None:
        async with served.client() as browser:
            typed = {"token": f"{HERE}/studio/?token={served.token.value}"}
            answer = await browser.post("/studio/sign-in", data=typed, headers={"origin": HERE})
            assert (answer.status_code, answer.headers["location"]) == (303, "/studio/")
            assert (await browser.get("/studio/")).text == "hello"
            assert (await browser.post("/studio/sign-out", headers={"origin": HERE})).status_code == 303
            assert (await browser.get("/studio/")).status_code == 303
            large = await browser.post("/studio/sign-in", content=b"x" * 5000, headers={"origin": HERE})
            assert large.status_code == 413

    asyncio.run(run())


def test_a_request_without_a_session_is_sent_to_sign_in(served: Served) -> None:
    async def run() -> None:
        async with served.client() as browser:
            answer = await browser.get("/studio/tables")
            assert (answer.status_code, answer.headers["location"]) == (303, "/studio/sign-in?to=%2Ftables")
            assert (await browser.get("/studio/?token=wrong")).headers["location"] == "/studio/sign-in?used=1"
            browser.cookies.set("tablewright_studio_8081", "made-up")
            assert (await browser.get("/studio/tables")).status_code == 303

    asyncio.run(run())


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:8081", "localhost.evil", "", "a b", "box:1:2"]
)
def test_a_name_that_is_not_ours_is_refused(served: Served, host: str) -> None:
    """A page of somebody else whose name resolves to this machine (DNS rebinding) has its own Host."""

    async def run() -> None:
        async with served.client() as browser:
            answer = await browser.get(f"/studio/?token={served.token.value}", headers={"host": host})
            assert (answer.status_code, "set-cookie" in answer.headers) == (421, False)

    asyncio.run(run())


@pytest.mark.parametrize(
    "host", ["localhost:8081", "127.0.0.1:8081", "[::1]:8081", "10.0.0.7", "box:8081", "LOCALHOST"]
)
def test_addresses_and_names_that_were_given_are_ours(served: Served, host: str) -> None:
    async def run() -> None:
        async with served.client() as browser:
            assert (await browser.get("/studio/sign-in", headers={"host": host})).status_code == 200

    asyncio.run(run())


def test_pages_of_others_can_neither_post_nor_frame_nor_listen(served: Served) -> None:
    async def run() -> None:
        async with served.client() as browser:
            await browser.get(f"/studio/?token={served.token.value}")
            crossing = await browser.post("/studio/sign-out", headers={"origin": "http://evil.example"})
            assert crossing.status_code == 403
            no_origin = await browser.post("/studio/sign-out", headers={"sec-fetch-site": "cross-site"})
            assert no_origin.status_code == 403
            page = await browser.get("/studio/")
            assert page.text == "hello", "nobody was signed out"
            assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
            assert page.headers["x-frame-options"] == "DENY"
            cookie = f"tablewright_studio_8081={browser.cookies['tablewright_studio_8081']}"
        assert await socket_answer(served, {"origin": HERE, "cookie": cookie}) == "websocket.accept"
        assert await socket_answer(served, {"origin": "http://evil.example", "cookie": cookie}) == "websocket.close"
        assert await socket_answer(served, {"origin": HERE}) == "websocket.close"
        assert await socket_answer(served, {"host": "evil.example", "cookie": cookie}) == "websocket.close"

    asyncio.run(run())


async def socket_answer(served: Served, headers: dict[str, str]) -> str:
    """What is sent first to a browser that opens a web socket."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    given = {"host": "127.0.0.1:8081", **headers}
    raw = [(name.encode(), value.encode()) for name, value in given.items()]
    scope = {"type": "websocket", "path": "/studio/ws", "root_path": "/studio", "headers": raw, "query_string": b""}
    await served.guard(scope, receive, send)
    return str(sent[0]["type"])
