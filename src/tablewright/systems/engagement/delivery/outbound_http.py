"""Requests to addresses in a configuration: models and webhooks.

A configuration must not give access to the internal network. Without a list of allowed hosts, only public addresses are
called; with one, only those hosts, wherever they are. The address is checked when the connection is made, after the
name was looked up, so that a name cannot resolve differently in between. Redirects are not followed, proxies are not
used, and the size of a response is limited.

Credentials are in the settings (``outbound_credentials``); a configuration has their names. Each is for one host, so
that editors of a configuration cannot have it sent elsewhere, and is sent by HTTPS unless the host is an allowed one.
Messages and logs never contain credentials.

A request has one deadline for everything: to look up the name, connect, send, and read the whole response. A server
that sends a byte now and then cannot extend it. The timeout that httpcore passes to each step is this deadline, a time
of the clock; ``_Stream`` gives each step the time that is left.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import httpcore

from tablewright.runtime.settings import Credential
from tablewright.systems.engagement.delivery.network_addresses import is_public, parsed

_MAX_RESPONSE_BYTES = 5_000_000
_MIN_WAIT = 0.01
_MAX_CONNECTIONS = 20
# A name is looked up in a thread, which cannot be stopped; this is their maximum number.
_LOOKING_UP = threading.BoundedSemaphore(_MAX_CONNECTIONS)
_OURS = "it is an internal address; to allow its host, add it to outbound_hosts"


class Refusal(Exception):
    """An address that must not be called."""


class Unanswered(Exception):
    """No response: the host cannot be reached or is too slow, or the response is too large."""


@dataclass(frozen=True, slots=True)
class OutboundResponse:
    status: int
    body: bytes


class Outbound:
    """Sends requests. Safe from any number of threads."""

    def __init__(
        self,
        allowed: Sequence[str] = (),
        credentials: Mapping[str, Credential] = MappingProxyType({}),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``allowed`` has hosts: ``models.example.org``, ``*.example.org``, ``127.0.0.1:9000``."""
        self._allowed = [host.lower() for host in allowed]
        self._credentials = credentials
        self._clock = clock
        self._pool = httpcore.ConnectionPool(
            network_backend=_Guarded(bool(self._allowed), clock),
            max_connections=_MAX_CONNECTIONS,
            max_keepalive_connections=5,
            keepalive_expiry=10,
        )

    def post(self, url: str, body: bytes, headers: dict[str, str], within: float) -> OutboundResponse:
        """Post a body and read the response, in so many seconds in total."""
        self.check(url)
        wait = {**dict.fromkeys(("connect", "read", "write"), self._clock() + within), "pool": within}
        sent = {"Content-Type": "application/json", "User-Agent": "tablewright", **headers}
        try:
            with self._pool.stream(
                "POST", url, headers=list(sent.items()), content=body, extensions={"timeout": wait}
            ) as answer:
                return OutboundResponse(answer.status, _read(answer.iter_stream()))
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError) as error:
            raise Unanswered(type(error).__name__) from error

    def check(self, url: str) -> None:
        """Raise Refusal if an address must not be called; a name is only resolved when it is called."""
        try:
            address = parsed(url)
        except ValueError as error:
            raise Refusal(str(error)) from None
        if self._allowed:
            if not any(_matches(allowed, address.host, address.port) for allowed in self._allowed):
                raise Refusal(f"{address.host} is not one of the allowed hosts; add it to outbound_hosts")
        elif not all(map(is_public, _literal(address.host))):
            raise Refusal(_OURS)

    def credentials(self, url: str, named: Mapping[str, str]) -> dict[str, str]:
        """The headers of a request: ``named`` has a credential's name for each; Refusal if one is not for this host."""
        if not named:
            return {}
        try:
            address = parsed(url)
        except ValueError as error:
            raise Refusal(str(error)) from None
        if address.scheme != "https" and not self._allowed:
            raise Refusal("credentials are only sent by https, or to hosts in outbound_hosts")
        headers: dict[str, str] = {}
        for header, name in named.items():
            credential = self._credentials.get(name)
            if credential is None:
                raise Refusal(f"there is no credential {name} in the settings (outbound_credentials)")
            if not _matches(credential.host.lower(), address.host, address.port):
                raise Refusal(f"the credential {name} is not for {address.host} (outbound_credentials)")
            headers[header] = credential.value.get_secret_value()
        return headers

    def close(self) -> None:
        self._pool.close()


def _read(stream: Iterable[bytes]) -> bytes:
    parts: list[bytes] = []
    size = 0
    for part in stream:
        size += len(part)
        if size > _MAX_RESPONSE_BYTES:
            raise Unanswered("the response is too large")
        parts.append(part)
    return b"".join(parts)


def _matches(allowed: str, host: str, port: int) -> bool:
    name, colon, number = allowed.rpartition(":")
    if colon and number.isdigit() and not name.endswith(":"):
        if int(number) != port:
            return False
        allowed = name
    if allowed.startswith("*."):
        return host.endswith(allowed[1:])
    return host == allowed.strip("[]")


def _literal(host: str) -> list[str]:
    """The address of a host, however it is written (2130706433); None if it is a name."""
    try:
        return _looked_up(host, None, socket.AI_NUMERICHOST)
    except OSError:
        return []


def _looked_up(host: str, port: int | None, flags: int = 0) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _looked_up_by(end: float, clock: Callable[[], float], host: str, port: int) -> list[str]:
    """The addresses of a name, if they are found in time."""
    found: list[str] = []
    failed: list[Exception] = []

    def look() -> None:
        try:
            found.extend(_looked_up(host, port))
        except (OSError, UnicodeError) as error:
            failed.append(error)
        finally:
            _LOOKING_UP.release()

    if not _LOOKING_UP.acquire(timeout=_left(end, clock, httpcore.ConnectTimeout)):
        raise httpcore.ConnectTimeout("too many names are being looked up")
    thread = threading.Thread(target=look, name="engagement.name", daemon=True)
    thread.start()
    thread.join(max(0.0, end - clock()))
    if failed:
        raise httpcore.ConnectError(str(failed[0])) from failed[0]
    if not found:
        raise httpcore.ConnectTimeout("the name was not resolved in time")
    return found


def _left(end: float, clock: Callable[[], float], late: type[Exception]) -> float:
    """The seconds until a deadline; ``late`` is raised after it."""
    left = end - clock()
    if left <= 0:
        raise late("the time limit was exceeded")
    return left


class _Guarded(httpcore.SyncBackend):
    """Connects to the address of a name after it was checked; ``timeout`` is a deadline."""

    def __init__(self, any_address: bool, clock: Callable[[], float]) -> None:
        super().__init__()
        self._any_address = any_address
        self._clock = clock

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        assert timeout is not None
        addresses = _looked_up_by(timeout, self._clock, host, port)
        if not self._any_address and not all(map(is_public, addresses)):
            raise Refusal(_OURS)
        for number, address in enumerate(addresses):
            left = _left(timeout, self._clock, httpcore.ConnectTimeout)
            share = max(_MIN_WAIT, left / (len(addresses) - number))
            try:
                stream = super().connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(addresses) - 1:
                    raise
            else:
                return _Stream(stream, self._clock)
        raise httpcore.ConnectError("the name has no address")


class _Stream(httpcore.NetworkStream):
    """A connection; ``timeout`` is a deadline."""

    def __init__(self, stream: httpcore.NetworkStream, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        assert timeout is not None
        return self._stream.read(max_bytes, _left(timeout, self._clock, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # Not with the stream's own iteration, whose timeout applies to each part.
        assert timeout is not None
        connection = self._stream.get_extra_info("socket")
        rest = memoryview(buffer)
        while rest:
            connection.settimeout(_left(timeout, self._clock, httpcore.WriteTimeout))
            try:
                rest = rest[connection.send(rest) :]
            except TimeoutError as error:
                raise httpcore.WriteTimeout(str(error)) from error
            except OSError as error:
                raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        assert timeout is not None
        left = _left(timeout, self._clock, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
