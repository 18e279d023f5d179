"""Tokens that their issuer signed, and that are odd all the same."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from contextlib import suppress
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tablewright.runtime.errors import ServiceUnavailable, Unauthenticated
from tablewright.runtime.identity import tokens
from tablewright.runtime.identity.tokens import Keys, Verifier, keys_at, parse_keys

_NOW = 1_800_000_000.0
_PRIVATE = rsa.generate_private_key(public_exponent=65537, key_size=2048)


async def _keys() -> Keys:
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(_PRIVATE.public_key()))
    return parse_keys({"keys": [{**public, "kid": "k"}]})


def _user_of(**claims: Any) -> str:
    plain = {"sub": "u", "iss": "i", "aud": "c", "iat": _NOW, "exp": _NOW + 60}
    token = jwt.encode({**plain, **claims}, _PRIVATE, algorithm="RS256", headers={"kid": "k"})
    verifier = Verifier("i", "c", _keys, clock=lambda: _NOW)
    return asyncio.run(verifier.caller(f"Bearer {token}")).user_id


@pytest.mark.parametrize("user_id", ["u", "é" * 127, "x" * 255])
def test_a_user_id_is_any_text_that_a_key_can_hold(user_id: str) -> None:
    assert _user_of(sub=user_id) == user_id


@pytest.mark.parametrize("user_id", ["", "x" * 256, "é" * 128, "\ud800"])
def test_tokens_with_any_other_user_id_are_refused(user_id: str) -> None:
    with pytest.raises(Unauthenticated):
        _user_of(sub=user_id)


@pytest.mark.parametrize("claim", ["exp", "iat", "nbf"])
@pytest.mark.parametrize("time", [float("nan"), float("inf"), 10**400, -1])
def test_what_is_no_time_is_refused(claim: str, time: float) -> None:
    with pytest.raises(Unauthenticated):
        _user_of(**{claim: time})


class Dripping:
    """An issuer whose keys come byte by byte, without end."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/keys"
        self._thread = threading.Thread(target=self._drip, daemon=True)
        self._thread.start()

    def _drip(self) -> None:
        with suppress(OSError):
            connection, _ = self._socket.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                while True:
                    connection.sendall(b" ")
                    time.sleep(0.02)

    def close(self) -> None:
        self._socket.close()


def test_keys_that_come_too_slowly_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_FETCH_TIMEOUT", 0.3)
    issuer = Dripping()
    try:
        with pytest.raises(ServiceUnavailable):
            asyncio.run(asyncio.wait_for(keys_at(issuer.url)(), 10))
    finally:
        issuer.close()


def test_keys_at_what_is_no_address_cannot_be_read() -> None:
    for url in ("", "::", "http://[", "http://\x00"):
        with pytest.raises(ServiceUnavailable):
            asyncio.run(asyncio.wait_for(keys_at(url)(), 10))
