"""Bytes become responses: HTTP/1.1 as a client reads it, without I/O.

Parsing is llhttp's (through httptools). What an endpoint may send is bounded, in its head and in its body.
"""

from __future__ import annotations

import zlib

import httptools

# What the service sends is far below either: a page has 1 MB, a batch 16 MB, and base64 makes a third more of bytes.
MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 64 * 1024 * 1024

_FIRST_FINAL_STATUS = 200


class BrokenResponseError(Exception):
    """What came is not a response, or is one that is too large."""


class HttpResponse:
    """A whole response, checked; of its headers, those that matter to a client of DynamoDB."""

    __slots__ = ("body", "content_encoding", "crc32", "date", "keep_alive", "status")

    def __init__(self) -> None:
        self.status = 0
        self.body = b""
        self.crc32: bytes | None = None
        self.date: bytes | None = None
        self.content_encoding: bytes = b""
        self.keep_alive = False

    def check(self) -> None:
        """Check the body, and decompress it; the checksum is that of the bytes that were sent."""
        if self.crc32 is not None and self.crc32 != b"%d" % zlib.crc32(self.body):
            raise BrokenResponseError("the checksum of the response is wrong")
        if not self.content_encoding or self.content_encoding == b"identity":
            return
        if self.content_encoding != b"gzip":
            raise BrokenResponseError(
                f"the response has an unsupported Content-Encoding, {self.content_encoding.decode('latin-1')}"
            )
        decompressor = zlib.decompressobj(wbits=31)
        try:
            self.body = decompressor.decompress(self.body, MAX_BODY_BYTES)
        except zlib.error as error:
            raise BrokenResponseError(f"the response cannot be decompressed: {error}") from None
        if not decompressor.eof:
            raise BrokenResponseError("the compressed response is cut off, or too large")


class ResponseReader:
    """The responses of one connection, one after the other."""

    __slots__ = ("_complete", "_head_bytes", "_in_head", "_length_known", "_parser", "_pieces", "_response", "_size")

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._complete: HttpResponse | None = None
        self._begin()

    def _begin(self) -> None:
        self._response = HttpResponse()
        self._pieces: list[bytes] = []
        self._size = self._head_bytes = 0
        self._in_head, self._length_known = True, False

    def feed(self, data: bytes) -> HttpResponse | None:
        """The response that these bytes complete, if they do."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise BrokenResponseError("the endpoint does not speak HTTP/1.1") from None
        except httptools.HttpParserError as error:
            raise BrokenResponseError(str(error.__context__ or error)) from None
        complete = self._complete
        if complete is not None:
            self._complete = None
            complete.check()
            return complete
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                raise BrokenResponseError("the head of the response is too large")
        return None

    def end(self) -> HttpResponse | None:
        """The response that the end of the connection completes: one that does not say how long it is."""
        if self._in_head or self._length_known:
            return None
        response = self._response
        response.status, response.body = self._parser.get_status_code(), b"".join(self._pieces)
        response.check()
        return response

    def close(self) -> None:
        """Let go of the parser, which refers to its reader."""
        del self._parser

    # -- the parser's side ------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._complete is not None:
            raise BrokenResponseError("the endpoint sent more than one response")

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"x-amz-crc32":
            self._response.crc32 = value
        elif name == b"date":
            self._response.date = value
        elif name == b"content-encoding":
            self._response.content_encoding = value.lower()
        elif name in (b"content-length", b"transfer-encoding"):
            self._length_known = True

    def on_headers_complete(self) -> None:
        self._in_head = False

    def on_body(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > MAX_BODY_BYTES:
            raise BrokenResponseError("the response is too large")
        self._pieces.append(piece)

    def on_message_complete(self) -> None:
        response, pieces = self._response, self._pieces
        response.status = self._parser.get_status_code()
        if response.status >= _FIRST_FINAL_STATUS:
            response.body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            response.keep_alive = self._parser.should_keep_alive()
            self._complete = response
        self._begin()
