"""HTTP messages: a request as it was read, and a response as it is sent.

A response is rendered once, to the bytes that are sent; nothing is kept between the engine's response and
the socket. The head is DynamoDB's: ``Server``, ``Date``, ``Content-Type``, ``Content-Length``,
``Connection``, ``x-amzn-RequestId``, ``x-amz-crc32``, the checksum being that of the bytes sent (after
compression, where the client asked for it).
"""

from __future__ import annotations

import os
import time
import zlib
from email.utils import formatdate
from http import HTTPStatus
from typing import Final

JSON_1_0: Final = b"application/x-amz-json-1.0"
JSON: Final = b"application/json"

_UNAVAILABLE: Final = (
    b'{"__type":"com.amazon.coral.service#ServiceUnavailableException",'
    b'"message":"The server is holding as many requests and responses as it may. Try again."}'
)

# Below about one network segment compression costs more than it saves; the service leaves small
# bodies alone as well.
COMPRESS_FROM: Final = 1024

STATUS_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_RESPONSE: Final = (
    b"%bServer: Server\r\nDate: %b\r\n%bContent-Length: %d\r\nConnection: %b\r\nx-amzn-RequestId: %b\r\n%b\r\n%b"
)


class Request:
    """One HTTP request: header names in lower case, repeated headers joined by commas."""

    __slots__ = ("body", "cors", "headers", "keep_alive", "method", "url")

    def __init__(self) -> None:
        self.method: bytes = b""
        self.url: bytes = b""
        self.headers: dict[bytes, bytes] = {}
        self.body: bytes | bytearray = b""
        self.keep_alive: bool = True
        # Lines of the response's head that allow a web page to read it.
        self.cors: bytes = b""


class _RequestIds:
    """Request ids: 52 characters, half of them random and the rest as all of DynamoDB's ids end.

    Made in batches, because that is cheap; taken one by one, because in-process clients are used by several threads.
    """

    _SUFFIX: Final = b"VV4KQNSO5AEMVJF66Q9ASUAAJG"
    _ALPHABET: Final = bytes(b"0123456789ABCDEFGHIJKLMNOPQRSTUV"[i & 31] for i in range(256))

    def __init__(self) -> None:
        self._ready: list[bytes] = []

    def next(self) -> bytes:
        while True:
            try:
                return self._ready.pop()
            except IndexError:
                batch = os.urandom(26 * 256).translate(self._ALPHABET)
                self._ready.extend(batch[at : at + 26] + self._SUFFIX for at in range(0, len(batch), 26))


class _Clock:
    """The ``Date`` header, rendered once a second."""

    def __init__(self) -> None:
        self._rendered = (0, b"")

    def text(self) -> bytes:
        second, text = self._rendered
        now = int(time.time())
        if now != second:
            text = formatdate(now, usegmt=True).encode()
            self._rendered = (now, text)
        return text


next_request_id = _RequestIds().next
http_date = _Clock().text


def render(
    request: Request,
    status: int,
    body: bytes,
    content_type: bytes | None = None,
    extra_headers: bytes = b"",
    *,
    checksum: bool = True,
) -> bytes:
    """The bytes of a response to ``request``; ``extra_headers`` are whole lines."""
    headers = request.headers
    if b"accept-encoding" in headers and len(body) >= COMPRESS_FROM:
        coding = accepted_coding(headers[b"accept-encoding"])
        if coding is not None:
            body = compress(body, coding)
            extra_headers += b"Content-Encoding: %b\r\n" % coding
    extra_headers += request.cors
    if checksum:
        extra_headers += b"x-amz-crc32: %d\r\n" % zlib.crc32(body)
    return _RESPONSE % (
        STATUS_LINES[status],
        http_date(),
        b"Content-Type: %b\r\n" % content_type if content_type is not None else b"",
        len(body),
        b"keep-alive" if request.keep_alive else b"close",
        next_request_id(),
        extra_headers,
        body if request.method != b"HEAD" else b"",
    )


def render_error(status: int) -> bytes:
    """The response to a request that could not be read to its end; the connection closes after it."""
    if status == 503:
        request = Request()
        request.keep_alive = False
        return render_unavailable(request)
    # The service sends its 413 as an empty chunked body, and the rest without one.
    framing = b"Transfer-Encoding: chunked\r\n" if status == 413 else b"Content-Length: 0\r\n"
    return b"%bServer: Server\r\nDate: %b\r\n%bConnection: close\r\n\r\n%b" % (
        STATUS_LINES[status],
        http_date(),
        framing,
        b"0\r\n\r\n" if status == 413 else b"",
    )


def render_unavailable(request: Request) -> bytes:
    """The response while the server has as many connections, or holds as much for them, as it may; SDKs retry it."""
    return render(request, 503, _UNAVAILABLE, JSON_1_0)


def accepted_coding(accept_encoding: bytes) -> bytes | None:
    """The content coding that the client prefers of those supported, or None for the body as it is."""
    weights: dict[bytes, float] = {}
    for entry in accept_encoding.lower().split(b","):
        coding, _, parameter = entry.partition(b";")
        name, _, weight = parameter.strip().partition(b"=")
        try:
            weights[coding.strip()] = float(weight) if name == b"q" else 1.0
        except ValueError:
            weights[coding.strip()] = 0.0
    others = weights.get(b"*", 0.0)
    best = max((b"gzip", b"deflate"), key=lambda coding: weights.get(coding, others))
    return best if weights.get(best, others) > 0 else None


def compress(body: bytes, coding: bytes) -> bytes:
    # Level 1: the event loop waits for this, and most of the gain is in the first level.
    compressor = zlib.compressobj(level=1, wbits=31 if coding == b"gzip" else 15)
    return compressor.compress(body) + compressor.flush()


class BodyTooLarge(Exception):
    """A body that is larger, once decompressed, than the service accepts."""


def decompress(body: bytes | bytearray, coding: bytes, limit: int) -> bytes | bytearray:
    """The decoded body; raises BodyTooLarge past ``limit``, ValueError where it cannot be decoded."""
    coding = coding.strip().lower()
    if coding in (b"", b"identity"):
        return body
    if coding in (b"gzip", b"x-gzip"):
        windows: tuple[int, ...] = (31,)
    elif coding == b"deflate":
        # The zlib container by the standard; bare deflate from clients that took the name literally.
        windows = (15, -15)
    else:
        raise ValueError(f"unknown content coding {coding!r}")
    for window in windows:
        try:
            return _inflate(body, window, limit)
        except zlib.error:
            continue
    raise ValueError("the body does not match its Content-Encoding")


def _inflate(body: bytes | bytearray, window: int, limit: int) -> bytes:
    inflater = zlib.decompressobj(wbits=window)
    # Never more than one byte past the limit is produced, whatever the body would expand to.
    decoded = inflater.decompress(body, limit + 1)
    if len(decoded) > limit:
        raise BodyTooLarge
    if not inflater.eof:
        raise zlib.error("incomplete body")
    return decoded
