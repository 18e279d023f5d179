"""Checks of the addresses that a command listens on."""

from __future__ import annotations

import errno
import ipaddress

from tablewright.cli.argument_parser import UsageError

_Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


def check_address(host: str, port: int, option: str = "--port") -> None:
    """Refuses an address that cannot be listened on, before a data folder is created."""
    check_addresses((option, host, port))


def check_addresses(*addresses: tuple[str, str, int]) -> None:
    """Refuses options with an address that cannot be listened on, or that is another option's as well."""
    taken: list[tuple[str, int, set[_Ip]]] = []
    for option, host, port in addresses:
        found = _usable(host, port, option)
        for other, other_port, others in taken:
            if port == other_port != 0 and any(_overlap(one, two) for one in found for two in others):
                raise UsageError(f"{option} and {other} are both {port}; choose different ports")
        taken.append((option, port, found))


def _usable(host: str, port: int, option: str) -> set[_Ip]:
    from tablewright.listening import bind_all

    if not host:
        raise UsageError("the address to listen on is empty; give an address, such as 0.0.0.0 for all of them")
    try:
        bound = bind_all(host, port)
    except OSError as error:
        raise UsageError(why_not_listening(host, port, error, option)) from None
    found = set()
    for each in bound:
        found.add(ipaddress.ip_address(each.getsockname()[0]))
        each.close()
    return found


def _overlap(one: _Ip, other: _Ip) -> bool:
    return one.version == other.version and (one == other or one.is_unspecified or other.is_unspecified)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def why_not_listening(host: str, port: int, error: OSError, option: str = "--port") -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is in use; stop the program that uses it, or choose another port with {option}"
    if error.errno == errno.EACCES:
        return f"this user may not open port {port}; choose one above 1023 with {option}"
    return f"cannot listen on {host}:{port}: {error.strerror or error}"
