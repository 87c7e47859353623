"""The value of `max.connections.per.ip.overrides` (ConnectionQuotas.java)."""

import ipaddress
import socket
from typing import Final

from coordinator.config.key import INT32_MAX, ConfigError
from coordinator.config.network_keys import MAX_CONNECTIONS_PER_IP_OVERRIDES

IPV4_MAPPED: Final = "::ffff:"
"""How an IPv6 socket writes the address of an IPv4 client."""


def parse_overrides(text: str, *, names_allowed: bool = True) -> dict[str, int]:
    """Parse the value: IP address → the most connections.

    A host name stands for all addresses that it has now. To find them may take long: a server that runs allows none.

    Raises:
        ConfigError: a part is not HOST:COUNT, a host is named twice, or it cannot be resolved.
    """
    name = MAX_CONNECTIONS_PER_IP_OVERRIDES.name
    found: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        host, colon, count = (piece.strip() for piece in part.rpartition(":"))
        if not colon or not host or not (count.isascii() and count.isdecimal()) or int(count) > INT32_MAX:
            raise ConfigError(f"{name}={text}: {part!r} is not HOST:COUNT, with a count from 0 to {INT32_MAX}")
        host = host.strip("[]")
        if not names_allowed and not _is_address(host):
            raise ConfigError(f"{name}={text}: {host!r} is no IP address; names are only allowed at the start")
        for address in _addresses_of(name, text, host):
            if address in found:
                raise ConfigError(f"{name}={text}: {address} has two values")
            found[address] = int(count)
    return found


def _addresses_of(name: str, text: str, host: str) -> set[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ConfigError(f"{name}={text}: the host {host!r} is unknown") from None
    return {str(info[4][0]).removeprefix(IPV4_MAPPED) for info in found}


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
