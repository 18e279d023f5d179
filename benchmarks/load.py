"""A load generator that costs little: one thread, epoll, requests prepared as bytes.

Each connection sends its next request when the answer to the last one is complete, as an SDK does. An answer
is read as far as its status and length; its body is not parsed. Where the server closes after its answer, as
moto's does, the next request gets a new connection. Every target is driven by this code, in its own process.
"""

import select
import socket
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """`requests[c]` is the cycle of requests that connection `c` sends."""

    port: int
    requests: list[list[bytes]]
    seconds: float
    warm_up: float = 0.3


@dataclass(frozen=True, slots=True)
class Result:
    answered: int
    seconds: float
    failed: int
    first_failure: str
    p50: float
    p99: float

    @property
    def rate(self) -> float:
        return self.answered / self.seconds


class _Connection:
    __slots__ = ("buffer", "closing", "cycle", "missing", "position", "sent_at", "socket")

    def __init__(self, port: int, cycle: list[bytes]) -> None:
        self.cycle = cycle
        self.position = 0
        self.connect(port)

    def connect(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.missing = 0
        self.closing = False

    def send_next(self) -> None:
        request = self.cycle[self.position]
        self.position = (self.position + 1) % len(self.cycle)
        self.sent_at = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> bytes | None:
        """The answer, if it is complete now; `closing` says that it is the last one on this connection."""
        data = self.socket.recv(262144)
        if not data:
            raise ConnectionError("the server closed the connection without an answer")
        if self.buffer:
            data = self.buffer + data
        if self.missing <= len(data):
            end = data.find(b"\r\n\r\n")
            if end >= 0 and len(data) >= (length := end + 4 + _content_length(data[:end])):
                self.buffer = b""
                self.missing = 0
                self.closing = b"onnection: close" in data[:end]
                return data
            if end >= 0:
                self.missing = length
        self.buffer = data
        return None


def _content_length(head: bytes) -> int:
    head = head.lower()
    at = head.find(b"content-length:")
    if at < 0:
        raise ValueError(f"an answer without its length: {head!r}")
    end = head.find(b"\r", at)
    return int(head[at + 15 : end if end >= 0 else len(head)])


def run(load: Load) -> Result:
    poll = select.epoll()
    connections = {}
    for cycle in load.requests:
        connection = _Connection(load.port, cycle)
        connections[connection.socket.fileno()] = connection
        poll.register(connection.socket, select.EPOLLIN)
        connection.send_next()

    latencies: list[float] = []
    failed, first_failure = 0, ""
    started = time.perf_counter() + load.warm_up
    deadline = started + load.seconds
    while (now := time.perf_counter()) < deadline:
        for handle, _ in poll.poll(deadline - now):
            connection = connections[handle]
            answer = connection.receive()
            if answer is None:
                continue
            now = time.perf_counter()
            if now >= started:
                latencies.append(now - connection.sent_at)
            if answer[9:10] != b"2":
                failed += 1
                first_failure = first_failure or answer.decode("utf-8", "replace")
            if connection.closing:
                poll.unregister(connection.socket)
                connection.socket.close()
                del connections[handle]
                connection.connect(load.port)
                connections[connection.socket.fileno()] = connection
                poll.register(connection.socket, select.EPOLLIN)
            connection.send_next()
    elapsed = time.perf_counter() - started
    for connection in connections.values():
        connection.socket.close()
    poll.close()
    latencies.sort()
    return Result(
        answered=len(latencies),
        seconds=elapsed,
        failed=failed,
        first_failure=first_failure,
        p50=latencies[len(latencies) // 2] if latencies else 0.0,
        p99=latencies[len(latencies) * 99 // 100] if latencies else 0.0,
    )
