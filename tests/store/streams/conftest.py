"""A desk whose tickets are counted, on the embedded engine or on each endpoint in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tablewright.engine import Engine
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tests.clocks import Clock
from tests.store import endpoints
from tests.store.streams.counted_tickets import Desk


@pytest.fixture
def desk(engine: Engine, clock: Clock) -> Desk:
    return Desk(EmbeddedBackend(engine, owned=False), engine, clock)


@pytest.fixture(params=endpoints.ENDPOINTS)
def any_desk(request: pytest.FixtureRequest, engine: Engine, clock: Clock) -> Iterator[Desk]:
    endpoints.expect_known_differences(request, request.param)
    with endpoints.started(request.param, engine) as backend:
        yield Desk(backend, engine, clock)
