"""Listening on the addresses of a host: those that this machine lacks, names that cannot be one, URLs."""

import errno
import socket
from typing import Any

import pytest

from tablewright.listening import bind_all, url_of


def resolves_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def found(_: str | None, port: int, **__: Any) -> list[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", found)


def test_addresses_that_this_machine_lacks_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    resolves_to(monkeypatch, "192.0.2.1", "127.0.0.1", "127.0.0.2")
    bound = bind_all("box", 0)
    names = [each.getsockname() for each in bound]
    for each in bound:
        each.close()
    assert [host for host, _ in names] == ["127.0.0.1", "127.0.0.2"]
    assert names[0][1] == names[1][1]


def test_a_host_without_an_address_of_this_machine_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    resolves_to(monkeypatch, "192.0.2.1", "198.51.100.1")
    with pytest.raises(OSError, match="assign requested address") as refused:
        bind_all("box", 0)
    assert refused.value.errno == errno.EADDRNOTAVAIL


def test_an_address_in_use_is_an_error_even_if_another_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.2", 0)) as taken:
        resolves_to(monkeypatch, "127.0.0.1", "127.0.0.2")
        with pytest.raises(OSError, match="in use"):
            bind_all("box", taken.getsockname()[1])


def test_a_name_that_cannot_be_encoded_is_an_error_like_an_unknown_one() -> None:
    with pytest.raises(OSError, match="not a host name"):
        bind_all("a..b", 0)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("::1", "http://[::1]:80"),
        ("", "http://127.0.0.1:80"),
        ("box", "http://box:80"),
    ],
)
def test_a_url_can_be_opened(host: str, url: str) -> None:
    assert url_of(host, 80) == url
