"""Files that browsers load once: scripts and styles, cached compressed, in front of the application that serves them.

On its first visit, a browser requests some twenty of them before it shows anything. Each would be read, compressed and
sent through all layers of an application; after the first request they are served from memory. Their addresses include
their versions, so nothing here is ever out of date.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["CachedFiles"]

# Below the root of the screens. What is dynamic, and web sockets, have other names.
_FILES = re.compile(r"/(static|_nicegui/[^/]+/(static|components|libraries|esm))/")
_MOST = 300
_SMALLEST = 500
_COMPRESSED = (b"text/", b"application/javascript", b"application/json", b"image/svg+xml")
_NOT_KEPT = (b"content-length", b"content-encoding", b"vary", b"date")

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class _File:
    headers: Headers
    content: bytes
    # None where it would not be smaller.
    compressed: bytes | None


class CachedFiles:
    """The ASGI middleware that serves files."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._kept: dict[str, _File] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if scope["type"] != "http" or scope["method"] != "GET" or not _FILES.match(path):
            await self._app(scope, receive, send)
            return
        kept = self._kept.get(path)
        if kept is None:
            status, headers, content = await self._read(scope, receive)
            if status != 200:
                await _answer(send, status, headers, content)
                return
            kept = await asyncio.to_thread(_file, headers, content)
            if len(self._kept) < _MOST:
                self._kept[path] = kept
        headers = [*kept.headers, (b"vary", b"Accept-Encoding")]
        if kept.compressed is not None and _takes_gzip(scope):
            await _answer(send, 200, [*headers, (b"content-encoding", b"gzip")], kept.compressed)
        else:
            await _answer(send, 200, headers, kept.content)

    async def _read(self, scope: Scope, receive: Receive) -> tuple[int, Headers, bytes]:
        """The application's response to a request for the whole file, uncompressed."""
        plain = {**scope, "headers": [each for each in scope["headers"] if each[0] == b"host"]}
        status, headers, parts = 500, list[tuple[bytes, bytes]](), list[bytes]()

        async def take(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status, headers = message["status"], list(message["headers"])
            elif message["type"] == "http.response.body":
                parts.append(message.get("body", b""))

        await self._app(plain, receive, take)
        return status, [each for each in headers if each[0].lower() not in _NOT_KEPT], b"".join(parts)


def _file(headers: Headers, content: bytes) -> _File:
    kind = next((value for name, value in headers if name.lower() == b"content-type"), b"")
    if len(content) < _SMALLEST or not kind.startswith(_COMPRESSED):
        return _File(headers, content, None)
    compressed = gzip.compress(content, 9, mtime=0)
    return _File(headers, content, compressed if len(compressed) < len(content) else None)


def _takes_gzip(scope: Scope) -> bool:
    return any(name == b"accept-encoding" and b"gzip" in value for name, value in scope["headers"])


async def _answer(send: Send, status: int, headers: Headers, content: bytes) -> None:
    length = (b"content-length", str(len(content)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": content})
