"""A fake engine behind a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tablewright.wire.server import serve_in_thread
from tests.wire.fakes import FakeEngine
from tests.wire.raw_http import Client


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def url(engine: FakeEngine) -> Iterator[str]:
    with serve_in_thread(engine) as url:
        yield url


@pytest.fixture
def http(url: str) -> Iterator[Client]:
    with Client(url) as client:
        yield client
