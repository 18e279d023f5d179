"""Reads that take a moment, so that requests at the same time have all read before any of them writes."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tablewright.store.backends.botocore_backend import BotocoreBackend
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Request

_READS = frozenset({"GetItem", "Query", "BatchGetItem"})


def slow_reads(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.05) -> None:
    def patch(backend: type[Any]) -> None:
        call, call_async = backend.call, backend.call_async

        def slow_call(self: Any, request: Request) -> Any:
            response = call(self, request)
            if request.operation in _READS:
                time.sleep(seconds)
            return response

        async def slow_call_async(self: Any, request: Request) -> Any:
            response = await call_async(self, request)
            if request.operation in _READS:
                await asyncio.sleep(seconds)
            return response

        monkeypatch.setattr(backend, "call", slow_call)
        monkeypatch.setattr(backend, "call_async", slow_call_async)

    patch(EmbeddedBackend)
    patch(BotocoreBackend)
