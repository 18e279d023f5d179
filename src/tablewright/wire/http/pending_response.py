"""A position in the queue of a connection's responses."""

from __future__ import annotations


class PendingResponse:
    """A response that keeps its position in the queue until it may be sent."""

    __slots__ = ("last", "ready", "response")

    def __init__(self, last: bool, response: bytes, ready: bool = False) -> None:
        self.last = last
        self.response = response
        self.ready = ready
