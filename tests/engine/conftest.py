"""An engine in memory for each test, and a client of it."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tablewright.engine import Engine
from tests.clocks import Clock
from tests.engine.table_client import TableClient


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with Engine.open(clock=clock, entropy=random.Random(7)) as opened:
        yield opened


@pytest.fixture
def db(engine: Engine, clock: Clock) -> TableClient:
    return TableClient(engine, clock)
