"""Reads that take a moment, so that requests at the same time have all read before any writes; and watched reads."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.backends.endpoint_backend import EndpointBackend
from tablewright.store.flow.driver import Request

_READS = frozenset({"GetItem", "Query", "BatchGetItem"})


def slow_reads(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.03) -> None:
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
    patch(EndpointBackend)


def watch_reads(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each read of a system from now on, of one of its own tables, is a consistent one."""
    reads: list[bool] = []

    def patch(backend: type[Any]) -> None:
        call_async = backend.call_async

        async def watched(self: Any, request: Request) -> Any:
            if request.operation == "BatchGetItem":
                reads.extend(each.get("ConsistentRead", False) for each in request.body["RequestItems"].values())
            elif request.operation in _READS:
                reads.append(request.body.get("ConsistentRead", False))
            return await call_async(self, request)

        monkeypatch.setattr(backend, "call_async", watched)

    patch(EmbeddedBackend)
    patch(EndpointBackend)
    return reads
