"""The ready-made tokens of the start page: for somebody at this machine, and for no page of somebody else's."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from tablewright.systems import load
from tests.systems.harness import Served, serving


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(load("servicedesk"), memory=True, cors_origins=["https://app.example.org"]) as served:
        yield served


def _answer(served: Served, *headers: str) -> bytes:
    address = urlsplit(served.url)
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=10) as connection:
        connection.sendall("\r\n".join(["GET /tokens.json HTTP/1.1", *headers, "Connection: close", "", ""]).encode())
        parts = iter(lambda: connection.recv(65536), b"")
        return b"".join(parts)


def test_there_is_one_for_everybody_whom_a_system_names_though_two_have_the_same_name() -> None:
    systems = load("calls", "tasks")
    with serving(systems, memory=True) as both:
        shown = [(each["user"], tuple(each["roles"])) for each in both.client().get("/tokens.json").json()]
    named = [
        (user.user_id, tuple(role.name for role in user.roles)) for system in systems for user in system.demo_users
    ]
    admin = ("admin", ("runtime:Admins", "calls:Admins", "tasks:Admins"))
    assert sorted(shown) == sorted([*named, admin])
    assert {roles for user, roles in shown if user == "ada"} == {("calls:Customers",), ("tasks:Admins",)}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8080", "LOCALHOST", "[::1]:8080", "127.8.9.10:1"])
def test_they_are_shown_for_host_names_of_this_machine(served: Served, host: str) -> None:
    assert b'"token":' in _answer(served, f"Host: {host}")


@pytest.mark.parametrize(
    "host",
    [
        "example.org",
        "127.0.0.1.example.org",
        "example.org@127.0.0.1",
        "127.0.0.1@example.org",
        "127.0.0.1/example.org",
        "example.org#@127.0.0.1",
        "[",
        "[::1",
        "127.0.0.1 example.org",
        "127.0.0.1:port",
        "",
    ],
)
def test_any_other_name_gets_none_even_one_that_cannot_be_read(served: Served, host: str) -> None:
    assert b'"token":' not in _answer(served, f"Host: {host}")


def test_neither_does_a_request_with_two_names_or_none(served: Served) -> None:
    assert b'"token":' not in _answer(served, "Host: 127.0.0.1", "Host: example.org")
    assert b'"token":' not in _answer(served, "Host: example.org", "Host: 127.0.0.1")


def test_a_page_from_elsewhere_gets_none_even_one_that_may_call_the_systems(served: Served) -> None:
    client: httpx.Client = served.client()
    for headers in ({"Origin": "https://app.example.org"}, {"Sec-Fetch-Site": "cross-site"}):
        assert client.get("/tokens.json", headers=headers).status_code == 404
    own = {"Origin": served.url, "Sec-Fetch-Site": "same-origin"}
    assert client.get("/tokens.json", headers=own).status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        "X-Forwarded-For: 203.0.113.7",
        "x-forwarded-host: example.org",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Server: a",
        "Forwarded: for=127.0.0.1",
        "Via: 1.1 proxy",
        "X-Real-IP: 127.0.0.1",
    ],
)
def test_a_request_that_came_through_a_proxy_gets_none(served: Served, header: str) -> None:
    assert b'"token":' not in _answer(served, "Host: 127.0.0.1", header)
