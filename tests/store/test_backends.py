"""An endpoint that does not answer is a refusal like any other."""

from __future__ import annotations

import socket

import pytest

from tablewright.store.backends import UNREACHABLE, BotocoreBackend
from tablewright.store.errors import ServiceError
from tablewright.store.flow import Request
from tablewright.store.retry import is_transient

CREDENTIALS = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}


def test_an_endpoint_that_cannot_be_reached_is_a_passing_refusal() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    backend = BotocoreBackend("us-east-1", f"http://127.0.0.1:{port}", CREDENTIALS)
    with pytest.raises(ServiceError) as refused:
        backend.call(Request("ListTables", {}))
    assert refused.value.code == UNREACHABLE
    assert is_transient(refused.value)
    backend.close()


def test_botocore_does_not_try_again_by_itself() -> None:
    backend = BotocoreBackend("us-east-1", "http://127.0.0.1:1", CREDENTIALS)
    assert backend._client.meta.config.retries["total_max_attempts"] == 1
    backend.close()
