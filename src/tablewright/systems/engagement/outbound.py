"""Requests to addresses that a configuration names: models and webhooks.

A configuration must not be a way into the house. Without a list of allowed hosts, only public addresses are called;
with one, only those hosts, wherever they are. The address is checked when the connection is made, after the name was
looked up, so that a name cannot mean something else by then. There are no redirects, no proxies, and an answer has a
size and a time in which it has to be there.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

import httpcore

_LARGEST_ANSWER = 5_000_000
_LEAST_WAIT = 0.01


class Refusal(Exception):
    """An address that must not be called."""


class Unanswered(Exception):
    """No answer: the host cannot be reached, is too slow, or says too much."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes


class Outbound:
    """Sends requests. Safe from any number of threads."""

    def __init__(self, allowed: Sequence[str] = (), *, clock: Callable[[], float] = time.monotonic) -> None:
        """``allowed`` has hosts: ``models.example.org``, ``*.example.org``, ``127.0.0.1:9000``."""
        self._allowed = [host.lower() for host in allowed]
        self._clock = clock
        backend = _Guarded(bool(self._allowed))
        self._pool = httpcore.ConnectionPool(
            network_backend=backend, max_connections=20, max_keepalive_connections=5, keepalive_expiry=10
        )

    def post(self, url: str, body: bytes, headers: dict[str, str], within: float) -> Answer:
        """Post a body and read the answer, all of it in so many seconds."""
        self.check(url)
        end = self._clock() + within
        wait = dict.fromkeys(("connect", "read", "write", "pool"), within)
        sent = {"Content-Type": "application/json", "User-Agent": "tablewright", **headers}
        try:
            with self._pool.stream(
                "POST", url, headers=list(sent.items()), content=body, extensions={"timeout": wait}
            ) as answer:
                return Answer(answer.status, self._read(answer.iter_stream(), end))
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError) as error:
            raise Unanswered(type(error).__name__) from error

    def check(self, url: str) -> None:
        """Refusal, if an address must not be called; what its name means is looked at when it is called."""
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        if parts.scheme not in ("http", "https") or not host:
            raise Refusal("only http:// and https:// are called")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if self._allowed and not any(_matches(allowed, host, port) for allowed in self._allowed):
            raise Refusal(f"{host} is not among the hosts that may be called (outbound_hosts)")

    def close(self) -> None:
        self._pool.close()

    def _read(self, stream: Iterable[bytes], end: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        for part in stream:
            size += len(part)
            if size > _LARGEST_ANSWER:
                raise Unanswered("the answer is too large")
            if self._clock() > end:
                raise Unanswered("ReadTimeout")
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


def _is_public(address: str) -> bool:
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        # An address within an address goes to the inner one.
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo or (None, None))[1]
        if inner is not None and not inner.is_global:
            return False
    return found.is_global and not found.is_multicast


class _Guarded(httpcore.SyncBackend):
    """Connects to what a name means once it was looked at."""

    def __init__(self, any_address: bool) -> None:
        super().__init__()
        self._any_address = any_address

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        if not self._any_address and not all(_is_public(each) for each in addresses):
            raise Refusal("it is an address of this network; allow its host by outbound_hosts")
        share = None if timeout is None else max(_LEAST_WAIT, timeout / len(addresses))
        for number, address in enumerate(addresses, 1):
            try:
                return super().connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise httpcore.ConnectError("the name has no address")
