"""Requests to one endpoint as bytes, signed with one set of credentials.

Requests differ only in their time, operation and body, so everything else is prepared.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from tablewright import __version__
from tablewright.dynamo.credentials import AwsCredentials
from tablewright.dynamo.signing import (
    ALGORITHM,
    TIMESTAMP,
    canonical_path,
    canonical_request,
    credential_scope,
    payload_hash,
    signature_of_text,
    signing_key,
    string_to_sign,
)
from tablewright.store.backends.http.exchange import Destination

_CONTENT_TYPE = "application/x-amz-json-1.0"
# Placeholders for the parts that differ.
_GAP = "\0"


class _Second(NamedTuple):
    """The parts that requests of the same second share."""

    number: int
    timestamp: str
    scope: str
    authorization: str
    key: bytes


class RequestSigner:
    """Makes the requests to one endpoint: ``host`` as its header has it, ``path`` as it is sent."""

    def __init__(
        self, destination: Destination, host: str, path: str, region: str, credentials: AwsCredentials
    ) -> None:
        self.destination = destination
        self.credentials = credentials
        self._region = region
        token = credentials.token
        headers = [("content-type", _CONTENT_TYPE), ("host", host), ("x-amz-date", _GAP)]
        if token:
            headers.append(("x-amz-security-token", token))
        headers.append(("x-amz-target", _GAP))
        self._signed_headers = ";".join(name for name, _ in headers)
        canonical = canonical_request("POST", canonical_path(path), "", headers, self._signed_headers, _GAP)
        self._canonical = canonical.split(_GAP)
        # A proxy of a plain endpoint is sent the whole address.
        proxy = destination.proxy if destination.tls is None else None
        self._head = (
            f"POST {'' if proxy is None else f'http://{host}'}{path} HTTP/1.1\r\nHost: {host}\r\n"
            f"Content-Type: {_CONTENT_TYPE}\r\nUser-Agent: tablewright/{__version__}\r\nAccept-Encoding: identity\r\n"
            f"{'' if proxy is None else proxy.head.decode('latin-1')}"
        )
        if token:
            self._head += f"X-Amz-Security-Token: {token}\r\n"
        self._second = self._at(0)

    def request(self, target: str, body: bytes, now: float) -> bytes:
        """The bytes of a request: ``target`` is its operation as X-Amz-Target has it."""
        second = self._second
        if second.number != int(now):
            # Replaced as a whole, since other threads are signing.
            second = self._second = self._at(int(now))
        _, timestamp, scope, authorization, key = second
        before_date, before_target, before_hash, _ = self._canonical
        canonical = f"{before_date}{timestamp}{before_target}{target}{before_hash}{payload_hash(body)}"
        signature = signature_of_text(key, string_to_sign(timestamp, scope, canonical))
        head = (
            f"{self._head}X-Amz-Date: {timestamp}\r\nX-Amz-Target: {target}\r\n{authorization}{signature}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode("latin-1") + body

    def _at(self, number: int) -> _Second:
        timestamp = time.strftime(TIMESTAMP, time.gmtime(number))
        scope = credential_scope(timestamp[:8], self._region)
        authorization = (
            f"Authorization: {ALGORITHM} Credential={self.credentials.access_key}/{scope}, "
            f"SignedHeaders={self._signed_headers}, Signature="
        )
        # Five digests, once per second.
        key = signing_key(self.credentials.secret_key, timestamp[:8], self._region)
        return _Second(number, timestamp, scope, authorization, key)
