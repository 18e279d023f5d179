"""Backends and blob stores whose process dies in the middle of its work."""

from __future__ import annotations

from pathlib import Path

from tablewright.store import FolderBlobStore
from tablewright.store.flow.driver import Backend, Request, Response


class Died(BaseException):
    """The end of a process."""


class Mortal:
    """A backend that dies at a request, before it takes effect or after."""

    def __init__(self, backend: Backend, last: int, *, after: bool) -> None:
        self._backend, self._left, self._after = backend, last, after

    def call(self, request: Request) -> Response:
        self._left -= 1
        if self._left < 0:
            if self._after and self._left == -1:
                self._backend.call(request)
            raise Died
        return self._backend.call(request)

    async def call_async(self, request: Request) -> Response:
        raise NotImplementedError

    def close(self) -> None: ...


class MortalBlobs(FolderBlobStore):
    """A folder whose owner dies when it has kept so many."""

    def __init__(self, folder: Path, left: int | None = None) -> None:
        super().__init__(folder)
        self._left = left

    def put(self, name: str, data: bytes) -> None:
        super().put(name, data)
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                raise Died
