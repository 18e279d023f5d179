"""One request and its response: its destination, its deadline, and the two ways in which it can fail.

``NotConnected``: the request was not sent as a whole, so it has not been executed. ``ConnectionError``: it was sent,
and there is no response, so it may have been executed.
"""

from __future__ import annotations

import os
import socket
import ssl
from dataclasses import dataclass, field

from tablewright.store.errors import ServiceError

NOT_CONNECTED = "NotConnected"
NO_RESPONSE = "ConnectionError"

_MAX_HEDGES = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class Proxy:
    """An HTTP proxy; with ``tls``, the connection to it is encrypted as well."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    # Lines of the head that the proxy reads, such as Proxy-Authorization.
    head: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Destination:
    """What a pool keeps connections to, and its bounds, in seconds and numbers."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    proxy: Proxy | None
    # For TCP, and again for what a proxy and TLS need.
    connect_seconds: float
    # For all of an exchange, from the wait for a free connection to the last byte of the response.
    response_seconds: float
    max_connections: int
    tcp_keepalive: bool

    def __str__(self) -> str:
        by = f" by the proxy {self.proxy.host}:{self.proxy.port}" if self.proxy else ""
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}{by}"

    @property
    def address(self) -> tuple[str, int]:
        """What TCP connects to."""
        return (self.host, self.port) if self.proxy is None else (self.proxy.host, self.proxy.port)


@dataclass(slots=True)
class Exchange:
    """A request, ready to be sent.

    ``deadline`` is a time of ``time.monotonic``, if the caller has set one. With ``hedge_after``, the request is sent a
    second time, on another connection, if there is no response after so many seconds.
    """

    destination: Destination
    data: bytes
    deadline: float | None = None
    hedge_after: float | None = None


class HedgeBudget:
    """One of ten requests may be sent twice: an endpoint that is slow as a whole must not get twice the load."""

    __slots__ = ("_tokens",)

    def __init__(self) -> None:
        self._tokens = _MAX_HEDGES

    def asked(self) -> None:
        """One more request that could be hedged."""
        self._tokens = min(_MAX_HEDGES, self._tokens + 0.1)

    def take(self) -> bool:
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


def not_connected(destination: Destination, reason: object) -> ServiceError:
    return ServiceError(NOT_CONNECTED, f"{destination} cannot be reached: {_words(reason)}")


def no_response(destination: Destination, reason: object) -> ServiceError:
    return ServiceError(NO_RESPONSE, f"{destination} did not respond: {_words(reason)}")


def _words(reason: object) -> str:
    if isinstance(reason, TimeoutError):
        return "timed out"
    if isinstance(reason, ConnectionError) and reason.errno:
        # The address is in the message already, and the number does not help.
        return os.strerror(reason.errno)
    if isinstance(reason, socket.gaierror):
        return reason.strerror or str(reason)
    return str(reason) or type(reason).__name__
