"""Responses that are rendered in pieces are those that are rendered at once."""

from __future__ import annotations

import zlib

import pytest

from tablewright.wire.http.messages import JSON, RENDERED_AT_ONCE, Request, render, render_in_pieces

LARGE = b"".join(b"%d," % number for number in range(100_000))
assert len(LARGE) > 4 * RENDERED_AT_ONCE


@pytest.mark.parametrize("accepted", [b"", b"gzip", b"deflate"])
@pytest.mark.parametrize("body", [b"{}", LARGE[:RENDERED_AT_ONCE], LARGE])
def test_a_response_in_pieces_is_the_same(accepted: bytes, body: bytes) -> None:
    request = Request()
    request.headers[b"accept-encoding"] = accepted
    pieces = render_in_pieces(request, 200, body, JSON)
    turns = 0
    while True:
        try:
            next(pieces)
        except StopIteration as done:
            response = done.value
            break
        turns += 1
    assert turns == -(-len(body) // RENDERED_AT_ONCE)
    sent, headers = content(response)
    at_once, expected = content(render(request, 200, body, JSON))
    assert headers.keys() == expected.keys()
    assert headers[b"x-amz-crc32"] == b"%d" % zlib.crc32(sent)
    assert headers[b"Content-Length"] == b"%d" % len(sent)
    assert headers.get(b"Content-Encoding") == expected.get(b"Content-Encoding")
    assert decoded(sent, headers) == decoded(at_once, expected) == body


def content(response: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    head, _, body = response.partition(b"\r\n\r\n")
    lines = [line.partition(b": ") for line in head.split(b"\r\n")[1:]]
    return body, {name: value for name, _, value in lines}


def decoded(body: bytes, headers: dict[bytes, bytes]) -> bytes:
    return zlib.decompress(body, 47) if b"Content-Encoding" in headers else body
