"""The two ways to call a backend, from threads and from an event loop, for tests that are about both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from tablewright.store.backends.endpoint_backend import EndpointBackend
from tablewright.store.errors import ServiceError
from tablewright.store.flow.driver import Request, Response

LIST = Request("ListTables", {})


class Face(Protocol):
    def __call__(self, backend: EndpointBackend, request: Request = LIST) -> Response: ...


@pytest.fixture(params=["threads", "asyncio"])
def call(request: pytest.FixtureRequest) -> Iterator[Face]:
    """Calls a backend; all calls of a test are made on one event loop."""
    if request.param == "threads":
        yield lambda backend, request=LIST: backend.call(request)
        return
    with asyncio.Runner() as runner:
        yield lambda backend, request=LIST: runner.run(backend.call_async(request))


def connected(port: int, *, scheme: str = "http", host: str = "127.0.0.1", **options: Any) -> EndpointBackend:
    """A backend whose time-outs are short."""
    from botocore.config import Config

    quick = {"connect_timeout": 0.3, "read_timeout": 0.3}
    config = Config(**(quick | options.pop("config", {})))
    given = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "config": config, **options}
    return EndpointBackend("us-east-1", f"{scheme}://{host}:{port}", given)


def failure(call: Face, backend: EndpointBackend, request: Request = LIST) -> ServiceError:
    with pytest.raises(ServiceError) as failed:
        call(backend, request)
    return failed.value
