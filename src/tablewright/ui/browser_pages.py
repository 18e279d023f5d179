"""The browser pages of a process: NiceGUI's single application, with a draw function for each root.

    /app/...       the screens of the applications
    /studio/...    the studio

NiceGUI has one application per process, so there is one ``BrowserPages`` per process; each user of it adds a root, and
puts a guard of its own around ``app``.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from html import escape
from importlib.resources import files

from fastapi import FastAPI, Request
from nicegui import app as nicegui_app
from nicegui import ui
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response

from tablewright.ui.texts import Texts, language_of, zone_of

__all__ = ["BrowserPages"]

Draw = Callable[[Request, Texts], Awaitable[None]]

_SHELL_FILES = ("design.css", "shell.js", "calendar.js")
_CACHED = {"Cache-Control": "public, max-age=31536000, immutable"}
_LOGO = (
    '<svg viewBox="0 0 32 32" xmlns="http://www.w3.org/2000/svg"><rect width="32" height="32" rx="8" fill="#5b5ee6"/>'
    '<path d="M9 10h14M16 10v13" stroke="white" stroke-width="3.5" stroke-linecap="round"/></svg>'
)
# How long a view may take until it is drawn, on an endpoint that is slow.
_DRAWN_WITHIN = 30.0
_PAGE_COMPRESSION = 3


def _said_by_the_browser(t: Texts) -> str:
    """The language of the page, and its texts for when the server is not reachable (``shell.js``)."""
    words = json.dumps({"lost": t("shell.lost"), "lostAbout": t("shell.lost_about")})
    return f'document.documentElement.lang = "{t.language}"; Object.assign(document.documentElement.dataset, {words})'


class _Root:
    """What is drawn below one path: in which words, with which files."""

    def __init__(self, draw: Draw, texts: Mapping[str, tuple[str, str]], names: tuple[str, ...]) -> None:
        self.draw = draw
        self.texts = texts
        self.names = names


class BrowserPages:
    """The pages of a process: an ASGI application, and what runs as long as it does."""

    def __init__(self) -> None:
        self._roots: dict[str, _Root] = {}
        self._files = {name: files("tablewright.ui").joinpath("static", name).read_bytes() for name in _SHELL_FILES}
        self.app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
        self.app.add_api_route("/static/{name}", self._file, include_in_schema=False, response_class=Response)
        self.app.add_api_route("/favicon.ico", self._favicon, include_in_schema=False, response_class=Response)
        ui.page("/{path:path}", response_timeout=_DRAWN_WITHIN)(self._page)
        # Only web sockets: what is polled would need a session of its own.
        nicegui_app.config.socket_io_js_transports = ["websocket"]
        ui.run_with(
            self.app,
            title="Tablewright",
            favicon=_LOGO,
            dark=False,
            # Nothing is bound to values that would have to be looked at all the time.
            binding_refresh_interval=None,
            reconnect_timeout=20.0,
            message_history_length=200,
            # A page is made for one browser at one moment: most of its size goes at the first level.
            gzip_middleware_factory=partial(GZipMiddleware, compresslevel=_PAGE_COMPRESSION),
            tailwind=False,
            show_welcome_message=False,
        )
        nicegui_app.on_exception(lambda error: logging.getLogger(__name__).error("a screen failed", exc_info=error))

    def add(
        self, root: str, draw: Draw, texts: Mapping[str, tuple[str, str]], own_files: Mapping[str, bytes] | None = None
    ) -> None:
        """Add a function that draws the pages below a root; ``own_files`` are further styles and scripts."""
        self._files |= own_files or {}
        self._roots[root] = _Root(draw, texts, (*_SHELL_FILES, *(own_files or ())))

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        async with self.app.router.lifespan_context(self.app):
            yield

    def head(self, root: str, language: str) -> str:
        """The head of a plain HTML page, such as the sign-in page."""
        return (
            f'<!doctype html><html lang="{escape(language)}"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">{self._links(root)}</head>'
        )

    async def _page(self, request: Request) -> None:
        root = request.scope["root_path"]
        found = self._roots[root]
        language = language_of(request.cookies.get("tablewright_language"), request.headers.get("accept-language", ""))
        t = Texts(found.texts, language, zone_of(request.cookies.get("tablewright_zone")))
        ui.add_head_html(f"{self._links(root)}<script>{_said_by_the_browser(t)}</script>")
        await found.draw(request, t)

    def _links(self, root: str) -> str:
        links = [f'<link rel="icon" href="{root}/favicon.ico" type="image/svg+xml">']
        for name in self._roots[root].names:
            path = f"{root}/static/{name}?{sha256(self._files[name]).hexdigest()[:12]}"
            is_style = name.endswith(".css")
            links.append(f'<link rel="stylesheet" href="{path}">' if is_style else f'<script src="{path}"></script>')
        return "".join(links)

    async def _file(self, name: str) -> Response:
        content = self._files.get(name)
        if content is None:
            return Response("there is no such file", 404, media_type="text/plain")
        media_type = "text/css" if name.endswith(".css") else "text/javascript"
        return Response(content, media_type=media_type, headers=_CACHED)

    async def _favicon(self) -> Response:
        return Response(_LOGO, media_type="image/svg+xml", headers=_CACHED)
