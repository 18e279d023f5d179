"""The layers between TCP and HTTP: a proxy's tunnel, and TLS.

Nothing here does I/O. The steps before the first request are a generator: it yields bytes to send, and is sent the
bytes received. TLS runs on buffers in memory, so that blocking sockets and asyncio share it, and TLS inside of TLS (an
encrypted connection to a proxy, and through it) is two layers.

    endpoint                         [TLS to the endpoint]
    proxy, for http://               [TLS to the proxy]
    proxy, for https://              [TLS to the proxy], CONNECT, TLS to the endpoint
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Generator, Sequence

from tablewright.store.backends.http.exchange import Destination

# Yields what is to be sent, and is sent what was received: nothing, if the peer has closed.
Opening = Generator[bytes, bytes, None]

_MAX_TUNNEL_RESPONSE = 16 * 1024
_READ_SIZE = 256 * 1024


class TunnelError(Exception):
    """A proxy refuses, or closes the connection."""


class TlsLayer:
    """One layer of TLS, as a client."""

    __slots__ = ("_incoming", "_object", "_outgoing")

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    def handshake(self) -> Opening:
        while True:
            try:
                self._object.do_handshake()
            except ssl.SSLWantReadError:
                self._take(data := (yield self._outgoing.read()))
                if not data:
                    raise TunnelError("the connection was closed during the TLS handshake") from None
            else:
                # The remaining bytes are sent with the first request.
                return

    def seal(self, data: bytes) -> bytes:
        """What is sent for these bytes."""
        self._object.write(data)
        return self._outgoing.read()

    def unseal(self, data: bytes) -> bytes:
        """The bytes that were received; an alert of the peer is an SSLError."""
        self._take(data)
        pieces = []
        while True:
            try:
                piece = self._object.read(_READ_SIZE)
            except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
                break
            if not piece:
                break
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _take(self, data: bytes) -> None:
        self._incoming.write(data) if data else self._incoming.write_eof()


class Channel:
    """The layers of one connection."""

    __slots__ = ("layers",)

    def __init__(self) -> None:
        self.layers: list[TlsLayer] = []

    def opening(self, destination: Destination) -> Opening:
        """The steps before the first request."""
        proxy = destination.proxy
        if proxy is not None:
            if proxy.tls is not None:
                yield from self._secured(proxy.tls, proxy.host)
            if destination.tls is not None:
                yield from _through(self.layers, _tunnel(destination))
        if destination.tls is not None:
            yield from self._secured(destination.tls, destination.host)

    def _secured(self, context: ssl.SSLContext, host: str) -> Opening:
        layer = TlsLayer(context, host)
        yield from _through(self.layers, layer.handshake())
        self.layers.append(layer)

    def seal(self, data: bytes) -> bytes:
        for layer in reversed(self.layers):
            data = layer.seal(data)
        return data

    def unseal(self, data: bytes) -> bytes:
        for layer in self.layers:
            if data:
                data = layer.unseal(data)
        return data


def _through(layers: Sequence[TlsLayer], opening: Opening) -> Opening:
    """The same opening, inside of some layers."""
    if not layers:
        yield from opening
        return
    try:
        data = next(opening)
        while True:
            for layer in reversed(layers):
                data = layer.seal(data)
            received = b""
            while not received:
                encrypted = received = yield data
                for layer in layers:
                    received = layer.unseal(received) if received else b""
                data = b""
                if not encrypted:
                    break
            data = opening.send(received)
    except StopIteration:
        return


def _tunnel(destination: Destination) -> Opening:
    """Ask a proxy for a tunnel to an endpoint."""
    proxy = destination.proxy
    assert proxy is not None
    host = f"[{destination.host}]" if ":" in destination.host else destination.host
    address = f"{host}:{destination.port}".encode()
    data = b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (address, address, proxy.head)
    received = b""
    while b"\r\n\r\n" not in received:
        piece = yield data
        data = b""
        received += piece
        if not piece or len(received) > _MAX_TUNNEL_RESPONSE:
            raise TunnelError("the proxy did not respond to CONNECT")
    status = re.match(rb"HTTP/1\.[01] (\d{3})([^\r\n]*)", received)
    if status is None or status[1] != b"200":
        line = received.partition(b"\r\n")[0].decode("latin-1")
        raise TunnelError(f"the proxy refuses the connection: {line}")
