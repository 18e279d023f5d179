"""Files that browsers load once are read and compressed once, and nothing else is kept."""

from __future__ import annotations

import asyncio
import gzip

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tablewright.ui.cached_files import CachedFiles

pytestmark = pytest.mark.requirement("AP2")

_STYLE = ".tw-row { display: flex }\n" * 100


class Asked:
    """An application that counts what reaches it."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        app = Starlette(routes=[Route("/{path:path}", self._answer)])
        self._transport = httpx.ASGITransport(CachedFiles(app))

    def get(self, path: str, encoding: str = "br, gzip") -> httpx.Response:
        async def work() -> httpx.Response:
            async with httpx.AsyncClient(transport=self._transport, base_url="http://here") as browser:
                return await browser.get(path, headers={"Accept-Encoding": encoding})

        return asyncio.run(work())

    async def _answer(self, request: Request) -> Response:
        self.paths.append(request.url.path)
        if request.url.path.endswith("missing.js"):
            return Response("no", 404)
        if request.url.path.endswith(".png"):
            return Response(b"\x89PNG" * 500, media_type="image/png")
        return Response(_STYLE, media_type="text/css", headers={"Cache-Control": "immutable"})


def test_a_file_is_read_once_and_sent_as_each_browser_takes_it() -> None:
    asked = Asked()
    for path in ("/static/design.css", "/_nicegui/3.1/components/a/b.js"):
        for _ in range(3):
            compressed = asked.get(path)
            assert compressed.text == _STYLE
            assert compressed.headers["content-encoding"] == "gzip"
            assert int(compressed.headers["content-length"]) == len(gzip.compress(_STYLE.encode(), 9, mtime=0))
            assert compressed.headers["cache-control"] == "immutable"
            assert compressed.headers["vary"] == "Accept-Encoding"
        plain = asked.get(path, "identity")
        assert (plain.text, "content-encoding" in plain.headers) == (_STYLE, False)
    assert asked.paths == ["/static/design.css", "/_nicegui/3.1/components/a/b.js"]


def test_what_is_compressed_already_is_sent_as_it_is() -> None:
    asked = Asked()
    for _ in range(2):
        answer = asked.get("/_nicegui/3.1/static/a.png")
        assert "content-encoding" not in answer.headers
    assert len(asked.paths) == 1


@pytest.mark.parametrize(
    "path",
    ["/tasks/board", "/_nicegui/3.1/dynamic_resources/x", "/_nicegui_ws/socket.io", "/static/missing.js"],
)
def test_pages_what_is_dynamic_and_what_is_not_there_are_not_kept(path: str) -> None:
    asked = Asked()
    for _ in range(2):
        answer = asked.get(path)
        assert answer.status_code == (404 if path.endswith("missing.js") else 200)
    assert asked.paths == [path, path]
