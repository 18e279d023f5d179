"""Addresses in a configuration: their syntax, and whether they are internal.

An address is plain ASCII with a host and an optional port; a host with other letters is written in its ``xn--`` form,
so that the same text is checked, listed as allowed and looked up.

Only addresses of the public internet are public. An address that embeds another one (``::ffff:10.0.0.1``, and those of
NAT64, 6to4, Teredo and ISATAP) leads there, so both have to be public.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

_PRINTABLE = re.compile(r"[\x21-\x7e]*").fullmatch
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*").fullmatch
_PORTS = {"http": 80, "https": 443}

# Addresses assigned to networks of the internet; and those by which an IPv6 network reaches IPv4 addresses.
_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
# For examples in documents, as 2001:db8::/32 is; newer (RFC 9637) than some lists of such addresses.
_EXAMPLES = IPv6Network("3fff::/20")
_ISATAP = (0x00005EFE, 0x02005EFE)


@dataclass(frozen=True, slots=True)
class Address:
    """The target of a request."""

    scheme: str
    host: str
    port: int


def parsed(text: str) -> Address:
    """The parsed URL; ValueError with the reason if it is invalid."""
    if not _PRINTABLE(text):
        raise ValueError(
            "use plain ASCII without spaces: write an international host name as xn--..., and other characters as %.."
        )
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").lower()
    except ValueError:
        raise ValueError("the host is not valid") from None
    if parts.scheme not in _PORTS or not host or parts.username is not None or parts.password is not None:
        raise ValueError("use a URL that starts with http:// or https:// and has no password in it")
    if not (_is_literal(host) if "[" in parts.netloc else _NAME(host)):
        raise ValueError("the host is neither a name nor an IP address")
    try:
        port = _PORTS[parts.scheme] if parts.port is None else parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError("the port must be a number from 1 to 65535")
    return Address(parts.scheme, host, port)


def _is_literal(host: str) -> bool:
    """Whether it is an IPv6 address; one with a zone is local."""
    try:
        IPv6Address(host)
    except ValueError:
        return False
    return "%" not in host


def is_public(address: str) -> bool:
    """Whether an address, as it was looked up, is public and leads to a public one."""
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv4Address):
        return found.is_global and not (found.is_multicast or found.is_reserved)
    if found.ipv4_mapped is not None:
        return is_public(str(found.ipv4_mapped))
    if found in _NAT64:
        return is_public(str(_last_four(found)))
    inner = [found.sixtofour, *(found.teredo or ())]
    if (int(found) >> 32) & 0xFFFFFFFF in _ISATAP:
        inner.append(_last_four(found))
    # Newer versions of Python never call a 6to4 address global; the embedded address decides.
    is_global = found.is_global or found.sixtofour is not None
    is_given = found in _UNICAST and found not in _EXAMPLES and is_global
    return is_given and all(each is None or is_public(str(each)) for each in inner)


def _last_four(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)
