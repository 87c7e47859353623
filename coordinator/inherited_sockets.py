"""Listening sockets that a service manager opened before it started this process, by systemd's protocol
(sd_listen_fds(3)).

The manager keeps them open while the process is away, so clients that connect during a restart wait, and are not
refused. Each has a name, FileDescriptorName= of its socket unit, which is that of the listener it is for.
"""

import os
import socket
import stat
from collections.abc import Collection, Mapping, MutableMapping
from typing import Final

from coordinator.config.key import ConfigError
from coordinator.listen_address import Address

LISTEN_PID: Final = "LISTEN_PID"
LISTEN_FDS: Final = "LISTEN_FDS"
LISTEN_FDNAMES: Final = "LISTEN_FDNAMES"
FIRST_DESCRIPTOR: Final = 3
"""SD_LISTEN_FDS_START."""
SOCKETS_MAX: Final = 64


class InheritedSockets:
    """The sockets by the name of their listener, in upper case. Each is taken once."""

    def __init__(self, sockets: Mapping[str, socket.socket] | None = None) -> None:
        self._sockets = dict(sockets or {})

    def __bool__(self) -> bool:
        return bool(self._sockets)

    def check(self, listeners: Collection[str]) -> None:
        """Raises ConfigError: a socket has a name that is no listener's, so nobody would ever be served there."""
        for name in self._sockets:
            if name not in listeners:
                raise ConfigError(
                    f"{LISTEN_FDNAMES}: the socket {name} has the name of no listener; "
                    f"write FileDescriptorName= with one of {', '.join(listeners)} in its socket unit"
                )

    def claim(self, address: Address) -> socket.socket | None:
        """The socket of a listener, which is owned by the caller from now on; None if it has to bind its own.

        Raises:
            ConfigError: the port of the settings is another one than that of the socket.
        """
        sock = self._sockets.pop(address.name, None)
        if sock is None:
            return None
        port = sock.getsockname()[1]
        if address.port not in (0, port):
            sock.close()
            raise ConfigError(
                f"{LISTEN_FDNAMES}: the socket {address.name} has the port {port}, and its listener {address.port}: "
                "write the same port in both"
            )
        return sock


def inherited_sockets(environment: MutableMapping[str, str] = os.environ) -> InheritedSockets:
    """Take the sockets that the environment tells of, and what it says out of it.

    Raises:
        ConfigError: what it says cannot be understood, or is not true.
    """
    pid, count = environment.pop(LISTEN_PID, ""), environment.pop(LISTEN_FDS, "")
    names = environment.pop(LISTEN_FDNAMES, "").split(":")
    if not count or pid != str(os.getpid()):
        return InheritedSockets()
    if not count.isdecimal() or int(count) > SOCKETS_MAX:
        raise ConfigError(f"{LISTEN_FDS}={count}: it is not a number of sockets, at most {SOCKETS_MAX}")
    if len(names) != int(count):
        raise ConfigError(f"{LISTEN_FDNAMES}={':'.join(names)}: it has not a name for each of {count} sockets")
    sockets: dict[str, socket.socket] = {}
    for descriptor, name in enumerate(map(str.upper, names), FIRST_DESCRIPTOR):
        if name in sockets:
            raise ConfigError(f"{LISTEN_FDNAMES}: {name} is there twice, and a listener has one socket")
        sockets[name] = _listening(descriptor, name)
    return InheritedSockets(sockets)


def _listening(descriptor: int, name: str) -> socket.socket:
    try:
        is_socket = stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        is_socket = False
    if not is_socket:
        raise ConfigError(f"{LISTEN_FDS}: descriptor {descriptor} ({name}) is no socket")
    sock = socket.socket(fileno=descriptor)
    sock.set_inheritable(False)
    is_tcp = sock.family in (socket.AF_INET, socket.AF_INET6) and sock.type == socket.SOCK_STREAM
    if not is_tcp or not sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise ConfigError(f"{LISTEN_FDS}: the socket {name} does not listen on TCP: write ListenStream= in its unit")
    return sock
