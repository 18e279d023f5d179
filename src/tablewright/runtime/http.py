"""What every request passes through, before it reaches a system and after.

    system         found by the first step of the address
    request id     taken from X-Request-Id if it is a plain one, else made; in every answer and log line
    body           no larger than allowed, and no slower
    log, metrics   one line and one count for each request, by route, never by address

One ASGI layer does all of it, because each layer costs every request.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tablewright.runtime.metrics import Metrics
from tablewright.runtime.problems import problem

_PLAIN_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# How long a client may keep silent while it sends its body, and how long all of it may take.
_BODY_TIMEOUT = 20.0
_WHOLE_BODY_TIMEOUT = 120.0
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})

_log = logging.getLogger("tablewright.access")


class Gate:
    """The one layer around all systems."""

    def __init__(self, app: ASGIApp, systems: Mapping[str, ASGIApp], *, metrics: Metrics, max_body: int) -> None:
        """``systems`` are applications by the first step of their addresses; ``app`` has all other addresses."""
        self._app = app
        self._systems = systems
        self._metrics = metrics
        self._max_body = max_body
        self._too_large = f"a body has at most {max_body} bytes"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = given if _PLAIN_ID.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        name = scope["path"].split("/", 2)[1] if scope["path"].startswith("/") else ""
        app = self._systems.get(name)
        if app is None:
            app, name = self._app, ""
        else:
            scope["root_path"] = f"{scope.get('root_path', '')}/{name}"
        status = 500
        answered = False
        read = 0

        async def bounded_receive() -> Message:
            nonlocal read
            if answered:
                return await receive()
            try:
                left = began + _WHOLE_BODY_TIMEOUT - time.perf_counter()
                async with asyncio.timeout(min(_BODY_TIMEOUT, left)):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "the body did not come; send it again") from None
            read += len(message.get("body", b""))
            if read > self._max_body:
                raise HTTPException(413, self._too_large)
            return message

        async def marked_send(message: Message) -> None:
            nonlocal status, answered
            if message["type"] == "http.response.start":
                status, answered = message["status"], True
                message = {**message, "headers": [*message["headers"], *_headers(request_id)]}
            await send(message)

        try:
            if _length(headers) > self._max_body:
                await problem("too-large", self._too_large, request_id)(scope, receive, marked_send)
            else:
                await app(scope, bounded_receive, marked_send)
        except Exception as error:
            # Starlette raises what it has answered and logged already; the server would log it once more, text and all.
            if not answered:
                _log.error("request failed", exc_info=error, extra={"request_id": request_id})
                answer = problem("internal", "something went wrong here; the log has more", request_id)
                await answer(scope, receive, marked_send)
        finally:
            self._note(name, scope, status, time.perf_counter() - began, request_id)

    def _note(self, system: str, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        route = _route(scope)
        method = method_label(scope["method"])
        metrics = self._metrics
        metrics.of(metrics.requests, system, route, method, str(status)).inc()
        metrics.of(metrics.request_seconds, system, route, method).observe(seconds)
        if route not in _QUIET and _log.isEnabledFor(logging.INFO):
            fields = {
                "request_id": request_id,
                "system": system,
                "method": method,
                "route": route,
                "status": status,
                "milliseconds": round(seconds * 1000, 2),
            }
            _log.info("request", extra=fields)


def method_label(method: str) -> str:
    """How a method is counted: there are dozens that nobody uses, and each would be measured for each route."""
    return method if method in _METHODS else "other"


def _headers(request_id: str) -> list[tuple[bytes, bytes]]:
    return [(b"x-request-id", request_id.encode()), (b"x-content-type-options", b"nosniff")]


def _length(headers: dict[bytes, bytes]) -> int:
    value = headers.get(b"content-length", b"")
    return int(value) if value.isdigit() else 0


def _route(scope: Scope) -> str:
    """The route's template: an address may have a name in it, a template has not."""
    route: Any = scope.get("route")
    return str(getattr(route, "path", "")) or "unknown"
