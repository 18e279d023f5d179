"""Stores to test with: one suite, on several endpoints.

``store`` runs a test on each endpoint (see ``endpoints``), with tables of its own. ``clock`` is the time of the store.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.store import FolderBlobStore, Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Backend
from tests.clocks import Clock
from tests.store import endpoints
from tests.store.bench import Bench
from tests.store.large_value_design import Shelf, shelved
from tests.store.members import assert_in_step, people
from tests.store.models import TABLES, calls, desk


@pytest.fixture
def clock() -> Clock:
    return Clock(1_763_000_000.0)


@pytest.fixture(scope="session")
def own_server() -> Iterator[Backend]:
    with Engine.open() as engine, endpoints.started("own_server", engine) as backend:
        yield backend


@pytest.fixture(scope="session")
def moto_server() -> Iterator[Backend]:
    with endpoints.moto_server() as backend:
        yield backend


@pytest.fixture(scope="session")
def dynoxide() -> Iterator[Backend]:
    with endpoints.dynoxide() as backend:
        yield backend


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[Backend]:
    with endpoints.dynamodb_local() as backend:
        yield backend


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with Engine.open(clock=clock, entropy=random.Random(7)) as engine:
        yield engine


@pytest.fixture(params=endpoints.ENDPOINTS)
def bench(request: pytest.FixtureRequest, clock: Clock) -> Bench:
    """A store with its tables, on each endpoint in turn."""
    endpoints.expect_known_differences(request, request.param)
    if request.param == "embedded":
        backend: Backend = EmbeddedBackend(request.getfixturevalue("engine"), owned=False)
    else:
        backend = request.getfixturevalue(request.param)
    bench = Bench(backend, clock)
    bench.create_on_demand(*TABLES)
    return bench


@pytest.fixture
def embedded(engine: Engine, clock: Clock) -> Bench:
    """A store on the embedded engine only, for what has nothing to do with where it runs."""
    bench = Bench(EmbeddedBackend(engine, owned=False), clock)
    bench.create_on_demand(*TABLES)
    return bench


@pytest.fixture
def store(bench: Bench) -> Store:
    return bench.store


@pytest.fixture
def written(bench: Bench) -> Iterator[Bench]:
    """A store to write to; after the test, all that is stored must be in step with the model."""
    bench.create_own(people)
    yield bench
    assert_in_step(bench, *(table for table in (people, calls, desk) if not bench.names.is_missing(table.name)))


@pytest.fixture
def shelf(bench: Bench, tmp_path: Path) -> Iterator[Shelf]:
    """A store with a folder of blobs; after the test, nothing is outside of its item that should not be."""
    shelf = shelved(bench, FolderBlobStore(tmp_path / "blobs"))
    yield shelf
    shelf.assert_tidy()
    shelf.assert_small()
