"""A configuration is no way into the house: what may be called, and what is done with an answer."""

from __future__ import annotations

import socket
import threading

import pytest

from tablewright.systems.engagement.delivery.outbound_http import Outbound, Refusal, Unanswered
from tests.systems.engagement.web import Web, unruly


def post(outbound: Outbound, url: str, within: float = 5) -> int:
    try:
        return outbound.post(url, b"{}", {}, within).status
    finally:
        outbound.close()


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "0.0.0.0", "[::ffff:10.0.0.1]", "2130706433"],
)
def test_addresses_of_this_network_are_refused_unless_they_are_allowed(host: str) -> None:
    with pytest.raises(Refusal, match="it is an internal address"):
        post(Outbound(), f"http://{host}:9/")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/", "gopher://x", "//x", "http://", ""])
def test_only_http_is_called(url: str) -> None:
    with pytest.raises(Refusal, match="starts with http://"):
        post(Outbound(["x"]), url)


@pytest.mark.parametrize(
    ("allowed", "url", "is_allowed"),
    [
        ("models.example.org", "https://models.example.org/a", True),
        ("models.example.org", "https://models.example.org.evil.org/a", False),
        ("models.example.org", "https://evil.org/models.example.org", False),
        ("*.example.org", "https://a.b.example.org/", True),
        ("*.example.org", "https://example.org/", False),
        ("*.example.org", "https://badexample.org/", False),
        ("127.0.0.1:9000", "http://127.0.0.1:9000/", True),
        ("127.0.0.1:9000", "http://127.0.0.1:9001/", False),
        ("models.example.org:443", "https://models.example.org/", True),
        ("MODELS.example.org", "https://models.EXAMPLE.org/", True),
        ("[::1]:9000", "http://[::1]:9000/", True),
    ],
)
def test_with_a_list_only_its_hosts_are_called(allowed: str, url: str, is_allowed: bool) -> None:
    outbound = Outbound([allowed])
    if is_allowed:
        outbound.check(url)
    else:
        with pytest.raises(Refusal, match="outbound_hosts"):
            outbound.check(url)
    outbound.close()


def test_a_redirect_is_not_followed() -> None:
    with Web(lambda asked: (302, b"", {"Location": "/elsewhere"})) as web:
        assert post(Outbound(["127.0.0.1"]), f"{web.url}/here") == 302
    assert [asked.path for asked in web.asked] == ["/here"]


def test_the_size_and_time_of_a_response_are_limited() -> None:
    with Web(lambda asked: (200, b"x" * 6_000_000)) as web, pytest.raises(Unanswered, match="too large"):
        post(Outbound(["127.0.0.1"]), web.url)
    with Web(lambda asked: None) as web, pytest.raises(Unanswered, match="Timeout"):
        post(Outbound(["127.0.0.1"]), web.url, within=0.1)
    with pytest.raises(Unanswered, match="ConnectError"):
        post(Outbound(["127.0.0.1"]), "http://127.0.0.1:9/")


_STEPS = 60
_PAUSE = 0.05


def drop_by_drop(connection: socket.socket, closing: threading.Event, drop: bytes) -> None:
    for _ in range(_STEPS):
        connection.sendall(drop)
        if closing.wait(_PAUSE):
            raise OSError("nobody waited for it")


@pytest.mark.parametrize(
    ("begins", "drop", "ends"),
    [
        (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x", b"\r\nContent-Length: 2\r\n\r\n{}"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 62\r\n\r\n", b"x", b"{}"),
    ],
    ids=["header", "hints", "body"],
)
def test_a_slow_response_has_the_same_time_limit(begins: bytes, drop: bytes, ends: bytes) -> None:
    answered: list[bool] = []

    def behave(connection: socket.socket, closing: threading.Event) -> None:
        connection.recv(65536)
        connection.sendall(begins)
        drop_by_drop(connection, closing, drop)
        connection.sendall(ends)
        answered.append(True)

    with unruly(behave) as url, pytest.raises(Unanswered, match="ReadTimeout"):
        post(Outbound(["127.0.0.1"]), url, within=0.3)
    assert not answered


def test_a_slow_receiver_has_the_same_time_limit() -> None:
    body = b"x" * 20_000_000
    listened: list[bool] = []

    def behave(connection: socket.socket, closing: threading.Event) -> None:
        left = len(body)
        while left > 0 and not closing.wait(_PAUSE):
            heard = sum(len(connection.recv(65536)) for _ in range(4))
            if not heard:
                return
            left -= heard
        if left <= 0:
            listened.append(True)

    outbound = Outbound(["127.0.0.1"])
    with unruly(behave) as url, pytest.raises(Unanswered, match="WriteTimeout"):
        outbound.post(url, body, {}, 0.3)
    assert not listened
    outbound.close()


def test_a_name_lookup_has_the_same_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    found = threading.Event()
    real = socket.getaddrinfo

    def slow(host: str, *more: object, **named: object) -> object:
        if host == "slow.example.org":
            found.wait(20)
        return real("127.0.0.1", *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    with pytest.raises(Unanswered, match="ConnectTimeout"):
        post(Outbound(["slow.example.org"]), "http://slow.example.org:9/", within=0.2)
    found.set()


def test_a_connection_is_reused_after_a_response() -> None:
    with Web(lambda asked: (200, b"{}")) as web:
        outbound = Outbound(["127.0.0.1"])
        assert [outbound.post(web.url, b"{}", {}, 5).status for _ in range(3)] == [200] * 3
        outbound.close()
    assert len(web.asked) == 3
