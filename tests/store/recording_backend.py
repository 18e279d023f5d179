"""A backend that records the operations it is asked for, and can let another writer go first."""

from __future__ import annotations

from typing import Any

from tablewright.store import Store
from tablewright.store.flow.driver import Request, Response
from tests.store.bench import Bench


class Watched:
    """A backend that notes what it is asked, and lets somebody else go first."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.operations: list[str] = []
        self.before: dict[str, Any] = {}

    def call(self, request: Request) -> Response:
        self.operations.append(request.operation)
        interruption = self.before.pop(request.operation, None)
        if interruption is not None:
            interruption()
        return self.bench.backend.call(request)

    async def call_async(self, request: Request) -> Response:
        return self.call(request)

    def close(self) -> None:
        """Nothing of its own."""


def watched(bench: Bench, **settings: Any) -> tuple[Store, Watched]:
    backend = Watched(bench)
    return Store(backend, clock=bench.clock, table_names=bench.names, **settings), backend
