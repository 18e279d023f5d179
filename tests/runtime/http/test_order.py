"""Who is asking is found out before anything that they send is read."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tablewright.systems import load
from tests.systems.harness import Served, serving


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(load("servicedesk"), memory=True, rate_limit=0.001, rate_burst=3) as served:
        yield served


def test_an_unauthenticated_request_is_refused_before_its_body_arrives(served: Served) -> None:
    address = urlsplit(served.url)
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=10) as connection:
        connection.sendall(b"POST /servicedesk/tickets HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 401 ")


def test_malformed_bodies_count_against_the_rate_limit(served: Served) -> None:
    client = served.client("agent", "Agents", path="/servicedesk")
    headers = {"Content-Type": "application/json"}
    statuses = [client.post("/tickets", content=b"{", headers=headers).status_code for _ in range(5)]
    assert statuses == [400, 400, 400, 429, 429]
