"""AWS Signature Version 4 as pure functions: the canonical form of a request, and its signature.

The server verifies with it (``wire.sigv4``), and the store's requests to an endpoint are signed with it.

    canonical request ─▶ string to sign ─┐
    secret, day, region ─▶ signing key ──┴─▶ signature
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

# What other packages use.
__all__ = [
    "ALGORITHM",
    "SERVICE",
    "TERMINATOR",
    "TIMESTAMP",
    "canonical_path",
    "canonical_request",
    "credential_scope",
    "payload_hash",
    "signature_of_text",
    "signing_key",
    "string_to_sign",
]

ALGORITHM: Final = "AWS4-HMAC-SHA256"
SERVICE: Final = "dynamodb"
TERMINATOR: Final = "aws4_request"
TIMESTAMP: Final = "%Y%m%dT%H%M%SZ"
"""The format of a time, for ``strftime``; its first eight characters are the day."""


def canonical_request(
    method: str, path: str, query: str, headers: Iterable[tuple[str, str]], signed_headers: str, body_hash: str
) -> str:
    """The signed text of a request: its headers in lower case and in order, their values without extra spaces."""
    lines = [method, path, query]
    lines += [f"{name}:{' '.join(value.split())}" for name, value in headers]
    lines += ["", signed_headers, body_hash]
    return "\n".join(lines)


def canonical_path(path: str) -> str:
    """The path of a URL as it is signed: already encoded parts are encoded again."""
    return quote(path or "/", safe="/~")


def payload_hash(body: bytes | bytearray) -> str:
    return hashlib.sha256(body).hexdigest()


def credential_scope(day: str, region: str, service: str = SERVICE) -> str:
    return f"{day}/{region}/{service}/{TERMINATOR}"


def string_to_sign(timestamp: str, scope: str, canonical: str) -> str:
    return f"{ALGORITHM}\n{timestamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"


def signing_key(secret: str, day: str, region: str, service: str = SERVICE) -> bytes:
    """The key of a day, a region and a service, to be kept as long as these stay the same."""
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, TERMINATOR):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def signature_of_text(key: bytes, text: str) -> str:
    return hmac.digest(key, text.encode(), "sha256").hex()
