"""Checks of the address that a command listens on."""

from __future__ import annotations

import errno
import ipaddress

from tablewright.cli.argument_parser import UsageError


def check_address(host: str, port: int, option: str = "--port") -> None:
    """Refuses an address that cannot be listened on, before a data folder is created."""
    import socket

    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found:
            try:
                probe = socket.socket(family, kind, protocol)
            except OSError:
                continue  # the name has an address of a family that this machine does not have
            with probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind(address)
    except OSError as error:
        raise UsageError(why_not_listening(host, port, error, option)) from None


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def why_not_listening(host: str, port: int, error: OSError, option: str = "--port") -> str:
    # The event loop puts the system's message at the end of its own.
    text = error.strerror or str(error)
    if error.errno == errno.EADDRINUSE or "in use" in text:
        return f"port {port} on {host} is in use; stop the program that uses it, or choose another port with {option}"
    if error.errno == errno.EACCES:
        return f"this user may not open port {port}; choose one above 1023 with {option}"
    return f"cannot listen on {host}:{port}: {text.rpartition(': ')[2]}"
