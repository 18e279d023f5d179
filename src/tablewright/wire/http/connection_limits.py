"""Limits of connections, requests and waiting times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_BODY_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True)
class Limits:
    connections: int = 1000
    pipelined: int = 64  # responses of one connection that may wait for commits
    head_bytes: int = 64 * 1024
    head_fields: int = 128
    body_bytes: int = MAX_BODY_BYTES
    allowance_bytes: int = 64 * 1024  # of a connection, in each direction, not counted in these totals:
    received_bytes: int = 128 * 1024 * 1024  # input that is unfinished or waiting
    unsent_bytes: int = 128 * 1024 * 1024  # responses that are waiting, or not read by clients
    idle_seconds: float = 120.0  # longer than SDKs keep a pooled connection, so that they close it first
    head_seconds: float = 10.0  # from a request's first byte to the end of its head
    body_seconds: float = 60.0  # for the whole body
    write_seconds: float = 30.0  # for a client that does not read its responses
    drain_seconds: float = 2.0  # continued reading after an error response, so that the client receives it
    stop_seconds: float = 8.0  # for requests in progress when the server stops; Docker kills after 10

    @property
    def tick_seconds(self) -> float:
        """How often deadlines are checked: often enough for the shortest of them, at most every second."""
        shortest = min(self.idle_seconds, self.head_seconds, self.body_seconds, self.write_seconds, self.drain_seconds)
        return max(0.02, min(1.0, shortest / 4))
