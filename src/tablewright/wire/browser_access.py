"""Which web pages may use a server: none, unless their origins are allowed.

A browser can reach servers on its own machine for any page that it shows, also a malicious one. Two checks:

- A request with an ``Origin`` comes from a page. It is refused unless that origin was allowed (``serve --cors``); the
  response to an allowed one says so, and names the headers that the page may read (CORS).
- A page can have its own name resolve to 127.0.0.1 after it is loaded (DNS rebinding). Its requests then have no
  ``Origin``, but that name in ``Host``: a server on a loopback address only accepts the names of this machine, and the
  one that it listens on.

A program that is not a browser sends no ``Origin`` and the ``Host`` of its endpoint URL, so it notices neither.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from tablewright.dynamo import AccessDeniedException
from tablewright.wire.http.messages import Request

# DynamoDB's value.
_EXPOSED: Final = b"Access-Control-Expose-Headers: x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date\r\n"
_MAX_AGE: Final = b"Access-Control-Max-Age: 172800\r\n"
_ORIGIN: Final = re.compile(
    r"([a-z][a-z0-9+.-]*)://([a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?", re.ASCII | re.IGNORECASE
)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_MAX_KNOWN_HOSTS: Final = 1000


class ForbiddenRequest(AccessDeniedException):
    """The request of a web page that may not use this server."""

    status = 403

    @property
    def code(self) -> str:
        return "AccessDeniedException"


def parse_origin(text: str) -> str:
    """An origin as browsers send it; ValueError, with what to do, if it is not one. ``*`` stands for all of them."""
    if text in ("*", "null"):
        return text
    found = _ORIGIN.fullmatch(text.removesuffix("/"))
    if found is None:
        raise ValueError(
            "an origin is a scheme, a host and an optional port, such as http://localhost:3000, or * for all origins;"
            f" not {text!r}"
        )
    scheme, host, port = found[1].lower(), found[2].lower(), found[3]
    return f"{scheme}://{host}" if port in (None, _DEFAULT_PORTS.get(scheme)) else f"{scheme}://{host}:{port}"


class BrowserAccess:
    """The origins whose pages may use the server."""

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self._origins = {parse_origin(origin).encode() for origin in origins}
        self._names: set[str] | None = None
        self._known_hosts: set[bytes] = set()

    def on_loopback(self, name: str) -> None:
        """The server listens on a loopback address, by this name: check ``Host`` from now on."""
        self._names = {"localhost", name.lower()}

    def check(self, request: Request) -> None:
        """Refuses a request that a page could have sent; returns the response headers of an allowed one."""
        headers = request.headers
        if self._names is not None:
            host = headers.get(b"host")
            if host is not None and host not in self._known_hosts:
                self._check_host(host, self._names)
        if b"origin" in headers:
            self._check_origin(request, headers[b"origin"])

    def _check_host(self, host: bytes, names: set[str]) -> None:
        text = host.decode("latin-1").strip().lower()
        name = _without_port(text)
        if not (name in names or name.endswith(".localhost") or _is_loopback(name)):
            raise ForbiddenRequest(
                f"This server listens on a loopback address and does not accept the host name '{name}', which a "
                "web page could have invented (DNS rebinding). Use localhost or 127.0.0.1 in the endpoint URL, or "
                "start the server with that name as --host."
            )
        if len(self._known_hosts) >= _MAX_KNOWN_HOSTS:
            self._known_hosts.clear()
        self._known_hosts.add(host)

    def _check_origin(self, request: Request, origin: bytes) -> None:
        if b"*" in self._origins:
            request.cors = b"Access-Control-Allow-Origin: *\r\n" + _EXPOSED
        elif origin in self._origins:
            request.cors = b"Access-Control-Allow-Origin: %b\r\nVary: Origin\r\n%b" % (origin, _EXPOSED)
        else:
            raise ForbiddenRequest(
                f"Web pages of {origin.decode('latin-1')} may not use this server. Start it with --cors and that "
                "origin to allow them."
            )


def preflight_headers(request: Request) -> bytes:
    """What the response to a preflight of an allowed origin grants: everything requested, as the service does."""
    granted = _MAX_AGE
    for asked, allowed in (
        (b"access-control-request-headers", b"Access-Control-Allow-Headers"),
        (b"access-control-request-method", b"Access-Control-Allow-Methods"),
    ):
        if asked in request.headers:
            granted += b"%b: %b\r\n" % (allowed, request.headers[asked])
    return granted


def _without_port(host: str) -> str:
    if host.startswith("["):
        address, bracket, port = host[1:].partition("]")
        # As it is, and not a name: without its closing bracket, or followed by something that is not a port.
        return address if bracket and (not port or port.startswith(":")) else host
    name, _, port = host.partition(":")
    return name.removesuffix(".") if not port or port.isdecimal() else host


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
