"""A process that dies, played by a backend that stops for good at one of its requests."""

from __future__ import annotations

from tablewright.store.flow.driver import Backend, Request, Response


class Died(BaseException):
    """The process is gone: nothing catches it."""


class Mortal:
    """A backend that carries out so many requests (None: all) and dies at the next, before it takes effect or after."""

    def __init__(self, backend: Backend, last: int | None = None, *, after: bool = False) -> None:
        self._backend = backend
        self.requests: list[Request] = []
        self.live_for(last, after=after)

    def live_for(self, requests: int | None, *, after: bool = False) -> None:
        """The same from now on."""
        self._end = None if requests is None else len(self.requests) + requests
        self._after = after

    def call(self, request: Request) -> Response:
        self.requests.append(request)
        if self._end is None or len(self.requests) <= self._end:
            return self._backend.call(request)
        if self._after and len(self.requests) == self._end + 1:
            self._backend.call(request)
        raise Died

    async def call_async(self, request: Request) -> Response:
        raise NotImplementedError

    def close(self) -> None:
        self._backend.close()
