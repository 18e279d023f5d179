"""An endpoint that does not answer is a refusal like any other."""

from __future__ import annotations

import socket

import pytest

from tablewright.store.backends.botocore_backend import UNREACHABLE, BotocoreBackend
from tablewright.store.errors import ServiceError
from tablewright.store.flow.driver import Request
from tablewright.store.flow.retry import is_transient

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


def test_a_transaction_keeps_its_token_however_often_it_is_sent() -> None:
    """So that one whose answer got lost is not done twice."""
    backend = BotocoreBackend("us-east-1", "http://127.0.0.1:1", CREDENTIALS)
    sent: list[str] = []
    events = backend._client.meta.events
    events.register("provide-client-params.*.*", lambda params, **_: sent.append(params["ClientRequestToken"]))
    delete = {"Delete": {"TableName": "rows", "Key": {"pk": {"S": "a"}}}}
    requests = [Request("TransactWriteItems", {"TransactItems": [delete]}) for _ in range(2)]
    for request in [*requests, *requests]:
        with pytest.raises(ServiceError):
            backend.call(request)
    assert sent[:2] == sent[2:]
    assert sent[0] != sent[1]
    backend.close()
