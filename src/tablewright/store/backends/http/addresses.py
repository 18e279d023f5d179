"""The addresses of a host, some of which may not respond: the next one is tried a moment later, and the first wins.

A name often has addresses of IPv6 and of IPv4, and a network may silently drop packets to one of them. A client that
waits for the first until its timeout never tries the second (RFC 8305).
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any, TypeAlias

Address: TypeAlias = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[Any, ...]]

NEXT_AFTER = 0.25
"""Seconds until the next address is tried beside those that have not answered yet."""


def numeric_addresses(host: str, port: int) -> Sequence[Address]:
    """The address that a host is, without a lookup; none if it is a name."""
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except OSError:
        return []
