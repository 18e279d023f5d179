"""pytest fixtures: a DynamoDB of its own for every test.

    tablewright_engine   an engine in memory, fresh for each test
    dynamodb             boto3's resource on that engine, in process (needs boto3)
    dynamodb_client      a botocore client on that engine, in process
    patched_boto3        clients that the code under test makes itself use that engine
    tablewright_store    a store on that engine
    tablewright_server   the URL of an HTTP server on that engine, for anything that wants an endpoint

Every fixture imports what it needs when it is used: pytest loads this module in every run of every
project that has Tablewright installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tablewright.engine import Engine
    from tablewright.store import Store


@pytest.fixture
def tablewright_engine() -> Iterator[Engine]:
    """A fresh in-memory engine, closed after the test."""
    from tablewright.engine import Engine

    with Engine.open() as engine:
        yield engine


@pytest.fixture
def dynamodb(tablewright_engine: Engine) -> Any:
    """boto3's DynamoDB resource on the test's engine."""
    if find_spec("boto3") is None:
        pytest.fail("the fixture dynamodb needs boto3: pip install 'tablewright[boto3]'", pytrace=False)
    from tablewright.wire import boto

    return boto.resource(tablewright_engine)


@pytest.fixture
def dynamodb_client(tablewright_engine: Engine) -> Any:
    """A DynamoDB client on the test's engine."""
    from tablewright.wire import boto

    return boto.client(tablewright_engine)


@pytest.fixture
def patched_boto3(tablewright_engine: Engine) -> Iterator[Engine]:
    """The test's engine, which every DynamoDB client of boto3 and botocore uses during the test."""
    from tablewright.wire import boto

    with boto.patch(tablewright_engine):
        yield tablewright_engine


@pytest.fixture
def tablewright_store(tablewright_engine: Engine) -> Iterator[Store]:
    """A store on the test's engine; tables are made with ``ensure_tables``."""
    from tablewright.store import Store

    with Store.on(tablewright_engine) as store:
        yield store


@pytest.fixture
def tablewright_server(tablewright_engine: Engine) -> Iterator[str]:
    """The URL of a server on the test's engine, on a port of its own."""
    from tablewright.wire import serve_in_thread

    with serve_in_thread(tablewright_engine) as url:
        yield url
