"""Addresses to listen on: how they are written in settings, and how a socket is bound to one."""

import errno
import socket
from typing import Final, NamedTuple

from coordinator.config.key import ConfigError

PORT_AT_MOST: Final = 65535


class ListenError(OSError):
    """The server cannot listen on an address. The message is one line with the address and the reason."""


class Address(NamedTuple):
    """The parts of NAME://HOST:PORT."""

    name: str
    host: str
    port: int


def parse_addresses(key_name: str, text: str) -> list[Address]:
    """Parse the value of a setting: a comma-separated list of NAME://HOST:PORT.

    Raises:
        ConfigError: a part is not of this form.
    """
    addresses = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, found, rest = part.partition("://")
        host, colon, port = rest.rpartition(":")
        if not found or not name or not colon or not port.isdecimal() or int(port) > PORT_AT_MOST:
            raise ConfigError(f"{key_name}={text}: {part!r} is not NAME://HOST:PORT")
        addresses.append(Address(name, host.strip("[]"), int(port)))
    return addresses


def bind(address: Address) -> socket.socket:
    """Bind a TCP socket.

    Raises:
        ListenError: the address cannot be bound.
    """
    host_port = f"{address.host}:{address.port}"
    # Of text Python first looks up its codec for international names, which takes 5 ms to import.
    host = address.host.encode() if address.host.isascii() else address.host
    try:
        found = socket.getaddrinfo(host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as problem:
        raise ListenError(f"cannot listen on {host_port}: {problem.strerror}") from None
    except UnicodeError:
        raise ListenError(f"cannot listen on {host_port}: not a host name") from None
    family, kind, protocol, _, socket_address = found[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(socket_address)
    except OSError as problem:
        sock.close()
        in_use = problem.errno == errno.EADDRINUSE
        hint = "; another process uses this port: choose another one, or 0 for a free one" if in_use else ""
        raise ListenError(f"cannot listen on {host_port}: {problem.strerror}{hint}") from None
    return sock
