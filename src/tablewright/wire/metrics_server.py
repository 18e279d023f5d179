"""The metrics of a server, on a separate address.

``GET /metrics`` returns them in Prometheus' text format, and ``GET /`` is the health check, as on the server itself.
Clients of that address see names of tables and figures, but no data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from typing import Final

import orjson

from tablewright.listening import url_of
from tablewright.wire.browser_access import BrowserAccess, ForbiddenRequest
from tablewright.wire.http.connection import Connection
from tablewright.wire.http.connection_limits import Limits
from tablewright.wire.http.connection_registry import ConnectionRegistry
from tablewright.wire.http.listener import Listener
from tablewright.wire.http.messages import JSON_1_0, Request, render, render_error, render_health, render_unavailable

_TEXT: Final = b"text/plain; version=0.0.4; charset=utf-8"
_LIMITS: Final = Limits(connections=20, pipelined=1, body_bytes=1024, received_bytes=0, unsent_bytes=8 * 1024 * 1024)


class MetricsAddressError(OSError):
    """The address of a server's metrics cannot be used; the server's own is not the reason."""


class MetricsServer(ConnectionRegistry):
    """Listens between ``start`` and ``stop``; ``text`` returns the metrics, ``problems`` the current problems."""

    def __init__(self, host: str, port: int, text: Callable[[], str], problems: Callable[[], list[str]]) -> None:
        super().__init__(_LIMITS)
        self.host = host
        self.port = port
        self.browser_access = BrowserAccess()
        self.text = text
        self.problems = problems

    @property
    def url(self) -> str:
        return url_of(self.host, self.port)

    async def start(self) -> None:
        """Listens; raises OSError if it cannot use the address. Port 0 is replaced by the port that was chosen."""
        self._listener = Listener(partial(_MetricsConnection, self))
        addresses = await self._listener.listen(self.host, self.port)
        self.port = self._listener.port
        if all(ip_address(address).is_loopback for address in addresses):
            self.browser_access.on_loopback(self.host)

    def stop(self) -> None:
        self.stopping = True
        self._listener.close()
        self.abort_all()
        if self._timer is not None:
            self._timer.cancel()


class _MetricsConnection(Connection):
    def __init__(self, server: MetricsServer) -> None:
        super().__init__(server)
        self._server = server

    def respond(self, request: Request) -> None:
        self.send(self._response(request), request)

    def _response(self, request: Request) -> bytes:
        server = self._server
        try:
            server.browser_access.check(request)
        except ForbiddenRequest as error:
            return render(request, error.status, orjson.dumps(error.body()), JSON_1_0)
        path = request.url.partition(b"?")[0]
        if request.method not in (b"GET", b"HEAD") or path not in (b"/", b"/metrics"):
            return render(request, 404, b"use /metrics, or / for health\n", b"text/plain")
        if path == b"/":
            return render_health(request, server.problems())
        return render(request, 200, server.text().encode(), _TEXT)

    def unavailable_response(self, request: Request) -> bytes:
        return render_unavailable(request)

    def error_response(self, status: int) -> bytes:
        return render_error(status)
