"""What every request passes through, before it reaches a system and after.

    system         found by the first step of the address
    request id     taken from X-Request-Id if it is a plain one, else made; in every answer and log line
    body           no larger than allowed; how long it may take is the connection's business (``bounded_connection``)
    log, metrics   one line and one count for each request, by route, never by address

One ASGI layer does all of it, because each layer costs every request.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Mapping
from typing import Any

from fastapi import HTTPException
from prometheus_client import Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tablewright.runtime.http.problems import problem
from tablewright.runtime.metrics import Metrics

_PLAIN_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")
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
        # By system, route, method and status: what is counted, looked up once.
        self._measures: dict[tuple[str, str, str, int], tuple[Counter, Histogram]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        exchange = _Exchange(receive, send, _request_id(headers.get(b"x-request-id")), self._max_body)
        state = scope.setdefault("state", {})
        state["request_id"] = exchange.request_id
        _, name, *rest = scope["path"].split("/", 2) if scope["path"].startswith("/") else ("", "")
        app = self._systems.get(name)
        if app is None or not rest:
            app, name = self._app, ""
        else:
            scope["root_path"] = f"{scope.get('root_path', '')}/{name}"
        length = headers.get(b"content-length")
        # A body with a length is no longer than that; the server sees to it.
        is_counted = b"transfer-encoding" in headers
        try:
            if length is not None and length.isdigit() and int(length) > self._max_body:
                answer = problem("too-large", exchange.too_large, exchange.request_id)
                await answer(scope, receive, exchange.send)
            else:
                await app(scope, exchange.receive if is_counted else receive, exchange.send)
        except asyncio.CancelledError:
            # Only by a server that stops, and has waited for the answer long enough.
            if exchange.answered:
                raise
            answer = problem("unavailable", "this process is stopping; send it again", exchange.request_id)
            answer.headers["Retry-After"] = "1"
            await answer(scope, receive, exchange.send)
        except Exception as error:
            # Starlette raises what it has answered and logged already; the server would log it once more, text and all.
            if not exchange.answered:
                _log.error("request failed", exc_info=error, extra={"request_id": exchange.request_id})
                answer = problem("internal", "something went wrong here; the log has more", exchange.request_id)
                await answer(scope, receive, exchange.send)
        finally:
            self._note(name, scope, exchange)

    def _note(self, system: str, scope: Scope, exchange: _Exchange) -> None:
        seconds = time.perf_counter() - exchange.began
        route, method, status = _route(scope), method_label(scope["method"]), exchange.status
        measures = self._measures.get((system, route, method, status))
        if measures is None:
            metrics = self._metrics
            measures = self._measures[system, route, method, status] = (
                metrics.requests.labels(system, route, method, str(status)),
                metrics.request_seconds.labels(system, route, method),
            )
        measures[0].inc()
        measures[1].observe(seconds)
        if route not in _QUIET and _log.isEnabledFor(logging.INFO):
            fields = {
                "request_id": exchange.request_id,
                "system": system,
                "method": method,
                "route": route,
                "status": status,
                "milliseconds": round(seconds * 1000, 2),
            }
            _log.info("request", extra=fields)


class _Exchange:
    """One request and its answer, as they pass through the gate."""

    __slots__ = ("_max_body", "_read", "_receive", "_send", "answered", "began", "request_id", "status")

    def __init__(self, receive: Receive, send: Send, request_id: str, max_body: int) -> None:
        self.began = time.perf_counter()
        self.request_id = request_id
        self.status = 500
        self.answered = False
        self._receive = receive
        self._send = send
        self._max_body = max_body
        self._read = 0

    async def receive(self) -> Message:
        """The next part of the body, in bounds."""
        message = await self._receive()
        self._read += len(message.get("body", b""))
        if self._read > self._max_body and not self.answered:
            raise HTTPException(413, self.too_large)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.answered = message["status"], True
            marks = (b"x-request-id", self.request_id.encode()), _NO_SNIFFING
            message = {**message, "headers": [*message["headers"], *marks]}
        await self._send(message)

    @property
    def too_large(self) -> str:
        return f"a body has at most {self._max_body} bytes"


def _request_id(given: bytes | None) -> str:
    """The request's own id if that is a plain one, else one that is made for it."""
    if given is not None and _PLAIN_ID.fullmatch(text := given.decode("latin-1")):
        return text
    return os.urandom(16).hex()


def method_label(method: str) -> str:
    """How a method is counted: there are dozens that nobody uses, and each would be measured for each route."""
    return method if method in _METHODS else "other"


def _route(scope: Scope) -> str:
    """The route's template: an address may have a name in it, a template has not."""
    route: Any = scope.get("route")
    return str(getattr(route, "path", "")) or "unknown"
