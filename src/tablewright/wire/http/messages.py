"""HTTP messages: a request as it was read, and a response as it is sent.

A response is rendered once, to the bytes that are sent; nothing is kept between the engine's response and the socket. A
large one is compressed in pieces, with turns for others in between. The head is DynamoDB's: ``Server``, ``Date``,
``Content-Type``, ``Content-Length``, ``Connection``, ``x-amzn-RequestId``, ``x-amz-crc32``, with the checksum of the
bytes sent (after compression, if the client asked for it).
"""

from __future__ import annotations

import os
import re
import time
import zlib
from collections.abc import Generator, Sequence
from email.utils import formatdate
from functools import lru_cache
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

RENDERED_AT_ONCE: Final = 128 * 1024
"""How much of a large body is compressed at once: at most a few milliseconds."""

_WEIGHT: Final = re.compile(rb"0(\.\d{0,3})?|1(\.0{0,3})?")

# The gzip container; a body may have several in a row, each compressed separately.
_GZIP: Final = 31
_MAX_MEMBERS: Final = 64
_PIECE: Final = 64 * 1024

STATUS_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_RESPONSE: Final = (
    b"%bServer: Server\r\nDate: %b\r\n%bContent-Length: %d\r\nConnection: %b\r\nx-amzn-RequestId: %b\r\n%b\r\n%b"
)


# Of the objects of a request, and of each of its headers.
_REQUEST_BYTES: Final = 600
_HEADER_BYTES: Final = 120


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

    @property
    def held_bytes(self) -> int:
        """About how much memory a request takes while it waits."""
        headers = self.headers
        text = sum(map(len, headers)) + sum(map(len, headers.values()))
        return _REQUEST_BYTES + _HEADER_BYTES * len(headers) + text + len(self.body)


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
    """The ``Date`` header, rendered once per second."""

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
    coding = _coding(request, body)
    if coding is not None:
        body = compress(body, coding)
    return _rendered(request, status, body, content_type, extra_headers, coding, zlib.crc32(body) if checksum else None)


def render_in_pieces(
    request: Request, status: int, body: bytes, content_type: bytes | None = None
) -> Generator[None, None, bytes]:
    """``render`` for a body that takes long to compress: yields so that others get a turn."""
    coding = _coding(request, body)
    compressor = None if coding is None else _compressor(coding)
    parts: list[bytes] = []
    checksum = 0
    view = memoryview(body)
    for at in range(0, len(body), RENDERED_AT_ONCE):
        part: bytes | memoryview = view[at : at + RENDERED_AT_ONCE]
        if compressor is not None:
            part = compressor.compress(part)
            parts.append(part)
        checksum = zlib.crc32(part, checksum)
        yield
    if compressor is not None:
        parts.append(compressor.flush())
        checksum = zlib.crc32(parts[-1], checksum)
        body = b"".join(parts)
    return _rendered(request, status, body, content_type, b"", coding, checksum)


def _rendered(
    request: Request,
    status: int,
    body: bytes,
    content_type: bytes | None,
    extra_headers: bytes,
    coding: bytes | None,
    checksum: int | None,
) -> bytes:
    """A response whose body is already compressed, if it should be."""
    if coding is not None:
        extra_headers += b"Content-Encoding: %b\r\n" % coding
    extra_headers += request.cors
    if checksum is not None:
        extra_headers += b"x-amz-crc32: %d\r\n" % checksum
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


def render_health(request: Request, problems: Sequence[str]) -> bytes:
    """The response to a health check, as the service's load balancers send it; or the problems."""
    if problems:
        return render(request, 503, f"unhealthy: {'; '.join(problems)}".encode(), b"text/plain")
    return render(request, 200, b"healthy: " + request.headers.get(b"host", b"localhost"), b"text/plain")


def render_unavailable(request: Request) -> bytes:
    """The response while the server has reached its limit of connections or memory; SDKs retry it."""
    return render(request, 503, _UNAVAILABLE, JSON_1_0)


# Each client sends the same with all of its requests.
@lru_cache(maxsize=64)
def accepted_coding(accept_encoding: bytes) -> tuple[bytes | None, bool]:
    """The content coding that the client prefers, None for the plain body; and whether it has to be encoded."""
    weights: dict[bytes, float] = {}
    for entry in accept_encoding.lower().split(b","):
        coding, *parameters = (part.strip() for part in entry.split(b";"))
        text = next((each[2:] for each in parameters if each.startswith(b"q=")), b"1")
        weights[coding] = float(text) if _WEIGHT.fullmatch(text) else 0.0
    if b"x-gzip" in weights:
        weights.setdefault(b"gzip", weights[b"x-gzip"])
    others = weights.get(b"*", 0.0)
    best = max((b"gzip", b"deflate"), key=lambda coding: weights.get(coding, others))
    weight = weights.get(best, others)
    # A plain body is always acceptable unless excluded; and preferred only if stated.
    as_it_is = weights.get(b"identity", 0.0)
    excluded = as_it_is == 0.0 and (b"identity" in weights or (b"*" in weights and others == 0.0))
    return (best, excluded) if weight > 0 and weight >= as_it_is else (None, False)


def _coding(request: Request, body: bytes) -> bytes | None:
    """The content coding of the response with this body; None for the plain body."""
    accept_encoding = request.headers.get(b"accept-encoding")
    if accept_encoding is None or not body:
        return None
    coding, required = accepted_coding(accept_encoding)
    return coding if required or len(body) >= COMPRESS_FROM else None


def compress(body: bytes, coding: bytes) -> bytes:
    compressor = _compressor(coding)
    return compressor.compress(body) + compressor.flush()


def _compressor(coding: bytes) -> zlib._Compress:
    # Level 1: the event loop waits for this, and most of the gain is in the first level.
    return zlib.compressobj(level=1, wbits=_GZIP if coding == b"gzip" else 15)


class BodyTooLarge(Exception):
    """A body that is larger, once decompressed, than the service accepts."""


def decompress(body: bytes | bytearray, coding: bytes, limit: int) -> bytes | bytearray:
    """The decoded body; raises BodyTooLarge past ``limit``, ValueError if it cannot be decoded."""
    coding = coding.strip().lower()
    if coding in (b"", b"identity"):
        return body
    if coding in (b"gzip", b"x-gzip"):
        windows: tuple[int, ...] = (_GZIP,)
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
    """Decompresses piece by piece: never produces more than one byte past the limit, whatever the input."""
    view, at = memoryview(body), 0
    parts: list[bytes] = []
    size = members = 0
    while at < len(view):
        members += 1
        if members > (_MAX_MEMBERS if window == _GZIP else 1):
            raise zlib.error("data after the end")
        inflater = zlib.decompressobj(wbits=window)
        while at < len(view) and not inflater.eof:
            piece = view[at : at + _PIECE]
            part = inflater.decompress(piece, limit + 1 - size)
            at += len(piece) - len(inflater.unconsumed_tail) - len(inflater.unused_data)
            parts.append(part)
            size += len(part)
            if size > limit:
                raise BodyTooLarge
        if not inflater.eof:
            raise zlib.error("incomplete body")
    return b"".join(parts)
