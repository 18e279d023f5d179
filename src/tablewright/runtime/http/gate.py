"""The gate, which every request to a system and every response passes through.

    system         chosen by the first step of the path
    ETag           of one thing that is shown or changed (``conditional_requests``)
    request id     taken from X-Request-Id if that is a plain one, otherwise generated; in every response and log line
    body           no larger than allowed; its time is limited by the connection (``bounded_connection``)
    HEAD           answered as a GET, without the body
    caching        disabled unless a response says otherwise: it may be personal data
    log, metrics   one line and one count for each request, by route template, never by path

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

from tablewright.runtime.http.conditional_requests import ETAG
from tablewright.runtime.http.problems import problem
from tablewright.runtime.metrics import Metrics

_PLAIN_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")
_NO_CACHING = (b"cache-control", b"no-store")
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})

_log = logging.getLogger("tablewright.access")


class Gate:
    """The ASGI middleware around all systems."""

    def __init__(self, app: ASGIApp, systems: Mapping[str, ASGIApp], *, metrics: Metrics, max_body: int) -> None:
        """``systems`` are applications by the first segment of their paths; ``app`` has all other paths."""
        self._app = app
        self._systems = systems
        self._metrics = metrics
        self._max_body = max_body
        # By system, route, method and status: metrics with their labels, looked up once.
        self._metrics_of: dict[tuple[str, str, str, int], tuple[Counter, Histogram]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        app, name = self._app_of(scope)
        if scope["type"] == "websocket":
            await app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        state = scope.setdefault("state", {})
        exchange = _Exchange(receive, send, _request_id(headers.get(b"x-request-id")), self._max_body, state)
        if scope["method"] == "HEAD":
            # A copy: the server has to know what it was asked.
            exchange.is_head, scope = True, {**scope, "method": "GET"}
        state["request_id"] = exchange.request_id
        length = headers.get(b"content-length")
        # A body with a length is no longer than that; the server sees to it.
        is_counted = b"transfer-encoding" in headers
        try:
            if length is not None and length.isdigit() and int(length) > self._max_body:
                response = problem("too-large", exchange.too_large, exchange.request_id)
                await response(scope, receive, exchange.send)
            else:
                await app(scope, exchange.receive if is_counted else receive, exchange.send)
        except asyncio.CancelledError:
            # Only by a server that stops, and has waited long enough for the response.
            if exchange.has_started:
                raise
            response = problem("unavailable", "this process is stopping; send the request again", exchange.request_id)
            response.headers["Retry-After"] = "1"
            await response(scope, receive, exchange.send)
        except Exception as error:
            # Starlette raises again what it has responded to and logged; the server would log it again, with its text.
            if not exchange.has_started:
                _log.error("request failed", exc_info=error, extra={"request_id": exchange.request_id})
                response = problem(
                    "internal",
                    "an unexpected error occurred; find it in the log by this request id",
                    exchange.request_id,
                )
                await response(scope, receive, exchange.send)
        finally:
            self._record(name, scope, exchange)

    def _app_of(self, scope: Scope) -> tuple[ASGIApp, str]:
        """The application that a path belongs to, and its name; the name becomes part of the root path."""
        _, name, *rest = scope["path"].split("/", 2) if scope["path"].startswith("/") else ("", "")
        app = self._systems.get(name)
        if app is None or not rest:
            return self._app, ""
        scope["root_path"] = f"{scope.get('root_path', '')}/{name}"
        return app, name

    def _record(self, system: str, scope: Scope, exchange: _Exchange) -> None:
        seconds = time.perf_counter() - exchange.began
        method = "HEAD" if exchange.is_head else method_label(scope["method"])
        route, status = _route(scope), exchange.status
        counted = self._metrics_of.get((system, route, method, status))
        if counted is None:
            metrics = self._metrics
            counted = self._metrics_of[system, route, method, status] = (
                metrics.requests.labels(system, route, method, str(status)),
                metrics.request_seconds.labels(system, route, method),
            )
        counted[0].inc()
        counted[1].observe(seconds)
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
    """One request and its response, as they pass through the gate."""

    __slots__ = (
        "_max_body",
        "_read",
        "_receive",
        "_send",
        "_state",
        "began",
        "has_ended",
        "has_started",
        "is_head",
        "request_id",
        "status",
    )

    def __init__(self, receive: Receive, send: Send, request_id: str, max_body: int, state: Mapping[str, Any]) -> None:
        self.began = time.perf_counter()
        self.request_id = request_id
        self.status = 500
        self.has_started = False
        self.has_ended = False
        self.is_head = False
        self._receive = receive
        self._send = send
        self._max_body = max_body
        self._state = state
        self._read = 0

    async def receive(self) -> Message:
        """The next part of the body, in bounds."""
        message = await self._receive()
        self._read += len(message.get("body", b""))
        if self._read > self._max_body and not self.has_started:
            raise HTTPException(413, self.too_large)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.has_started = message["status"], True
            marks = [(b"x-request-id", self.request_id.encode()), _NO_SNIFFING]
            # Of what is sent, not of what a refusal is about.
            if ETAG in self._state and self.status < 400:
                marks.append((b"etag", f'"{self._state[ETAG]}"'.encode()))
            if not any(name == b"cache-control" for name, _ in message["headers"]):
                marks.append(_NO_CACHING)
            message = {**message, "headers": [*message["headers"], *marks]}
        elif self.is_head:
            if self.has_ended:
                # A stream goes on until its client is gone; this one wanted only the head.
                raise OSError("the response to HEAD has ended")
            self.has_ended = True
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    @property
    def too_large(self) -> str:
        return f"a request body may have at most {self._max_body} bytes"


def _request_id(given: bytes | None) -> str:
    """The request's own id if that is a plain one, else a new one."""
    if given is not None and _PLAIN_ID.fullmatch(text := given.decode("latin-1")):
        return text
    return os.urandom(16).hex()


def method_label(method: str) -> str:
    """The label of a method in metrics, from a fixed set, as clients can invent methods."""
    return method if method in _METHODS else "other"


def _route(scope: Scope) -> str:
    """The route's template, never the path: that may have personal data in it, and there are any number of paths."""
    route: Any = scope.get("route")
    return str(getattr(route, "path", "")) or "unmatched"
