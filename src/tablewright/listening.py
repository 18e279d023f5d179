"""The addresses that a server listens on: every address of its host that this machine has."""

from __future__ import annotations

import errno
import socket
import sys
from typing import Final

__all__ = ["bind_all", "url_of"]

# Such as ::1, an address of localhost, on a machine without IPv6.
_NOT_HERE: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def bind_all(host: str, port: int) -> list[socket.socket]:
    """A socket bound to each address of the host, all on the same port; an empty host has all addresses.

    Raises OSError if none of them can be used, or one is in use.
    """
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except UnicodeError:  # such as a..b, which IDNA cannot encode
        raise socket.gaierror(socket.EAI_NONAME, "not a host name") from None
    bound: list[socket.socket] = []
    missing: OSError | None = None
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            at = (address[0], bound[0].getsockname()[1], *address[2:]) if bound else address
            try:
                bound.append(_bind(family, kind, protocol, at))
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                missing = error
        if missing is not None and not bound:
            raise missing
    except OSError:
        for each in bound:
            each.close()
        raise
    return bound


def _bind(family: int, kind: int, protocol: int, address: tuple[object, ...]) -> socket.socket:
    bound = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":  # there it would allow two servers on one port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def url_of(host: str, port: int) -> str:
    """Where a server on this machine is reached; an empty host is all addresses."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host or '127.0.0.1'}:{port}"
