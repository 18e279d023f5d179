"""Raw HTTP over a socket: what the tests send is byte for byte what the server gets."""

from __future__ import annotations

import socket
import struct
import zlib
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

AUTHORIZATION = (
    b"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-1/dynamodb/aws4_request,"
    b" SignedHeaders=host;x-amz-date, Signature=" + b"0" * 64
)


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    body: bytes

    def check_sum(self) -> None:
        assert int(self.headers["x-amz-crc32"]) == zlib.crc32(self.body)


def request(
    body: bytes = b"{}",
    target: bytes | None = b"DynamoDB_20120810.ListTables",
    *,
    method: bytes = b"POST",
    path: bytes = b"/",
    length: bool = True,
    **headers: bytes | None,
) -> bytes:
    """A request as an SDK would send it; a header set to None is left out."""
    fields: dict[str, bytes | None] = {
        "host": b"localhost:8000",
        "content_type": b"application/x-amz-json-1.0",
        "x_amz_target": target,
        "x_amz_date": b"20260101T000000Z",
        "authorization": AUTHORIZATION,
        "content_length": str(len(body)).encode() if length else None,
    } | headers
    lines = [b"%b %b HTTP/1.1" % (method, path)]
    lines += [name.replace("_", "-").encode() + b": " + value for name, value in fields.items() if value is not None]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


class Client:
    """One connection."""

    def __init__(self, url: str, timeout: float = 10.0) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout)
        self._buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def ask(self, data: bytes, *, head_only: bool = False) -> Response:
        self.send(data)
        return self.receive(head_only=head_only)

    def receive(self, *, head_only: bool = False) -> Response:
        while b"\r\n\r\n" not in self._buffer:
            self._more()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        status_line, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            while not self._buffer.endswith(b"0\r\n\r\n"):
                self._more()
            assert self._buffer == b"0\r\n\r\n"
            self._buffer = b""
        elif not head_only:
            length = int(headers.get("content-length", "0"))
            while len(self._buffer) < length:
                self._more()
            body, self._buffer = self._buffer[:length], self._buffer[length:]
        return Response(int(status_line.split()[1]), headers, body)

    def reset(self) -> None:
        """Leaves at once, as a process that is killed does; what only closes may still want its responses."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def closed(self) -> bool:
        """Waits for the server to close; False where it sends something instead."""
        return self._buffer == b"" and self.socket.recv(1) == b""

    def _more(self) -> None:
        data = self.socket.recv(1 << 20)
        if not data:
            raise ConnectionError(f"the server closed the connection after {self._buffer[:100]!r}")
        self._buffer += data
