"""A configuration is no way into the house: what may be called, and what is done with an answer."""

from __future__ import annotations

import pytest

from tablewright.systems.engagement.outbound import Outbound, Refusal, Unanswered
from tests.systems.engagement.web import Web


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
    with pytest.raises(Refusal, match="address of this network"):
        post(Outbound(), f"http://{host}:9/")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/", "gopher://x", "//x", "http://", ""])
def test_only_http_is_called(url: str) -> None:
    with pytest.raises(Refusal, match="only http"):
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


def test_an_answer_has_a_size_and_a_time() -> None:
    with Web(lambda asked: (200, b"x" * 6_000_000)) as web, pytest.raises(Unanswered, match="too large"):
        post(Outbound(["127.0.0.1"]), web.url)
    with Web(lambda asked: None) as web, pytest.raises(Unanswered, match="Timeout"):
        post(Outbound(["127.0.0.1"]), web.url, within=0.1)
    with pytest.raises(Unanswered, match="ConnectError"):
        post(Outbound(["127.0.0.1"]), "http://127.0.0.1:9/")
