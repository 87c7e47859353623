"""What the service manager that started this process is told, by systemd's protocol (sd_notify(3)).

The manager gives the address of a socket in NOTIFY_SOCKET, and in WATCHDOG_USEC how often it wants to hear that the
process is alive. Without them nothing is sent, so a server runs the same way without a manager.
"""

import asyncio
import os
import socket
from collections.abc import MutableMapping
from typing import Final

from coordinator.config.key import ConfigError
from coordinator.logger import logger

NOTIFY_SOCKET: Final = "NOTIFY_SOCKET"
WATCHDOG_USEC: Final = "WATCHDOG_USEC"
WATCHDOG_PID: Final = "WATCHDOG_PID"
USEC_PER_SECOND: Final = 1_000_000
SEND_SECONDS: Final = 1.0
"""How long a message waits for a manager that is busy."""


class ServiceManager:
    """Sends READY=1, STOPPING=1 and WATCHDOG=1. Does nothing if no manager asked for it."""

    def __init__(self, environment: MutableMapping[str, str] = os.environ) -> None:
        """Takes what the manager said out of the environment, so that processes that are started do not answer it.

        Raises:
            ConfigError: the manager's address or interval cannot be understood, or nobody is there.
        """
        address = environment.pop(NOTIFY_SOCKET, "")
        interval = environment.pop(WATCHDOG_USEC, "")
        watched = environment.pop(WATCHDOG_PID, "")
        self._socket = _connected(address) if address else None
        self.watchdog_seconds: Final = _seconds(interval) if interval and watched in ("", str(os.getpid())) else 0.0
        """How long the manager waits for WATCHDOG=1 until it ends this process; 0: forever."""
        self._timer: asyncio.TimerHandle | None = None

    def ready(self, status: str) -> None:
        """Say that clients are served, and from now on, from turns of the running loop, that it turns."""
        self._send(f"READY=1\nSTATUS={status}")
        if self._socket is not None and self.watchdog_seconds:
            self._alive(asyncio.get_running_loop())

    def stopping(self) -> None:
        """Say that a stop has begun."""
        self._send("STOPPING=1\nSTATUS=stopping")

    def close(self) -> None:
        """Send nothing any more. May be called again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _alive(self, loop: asyncio.AbstractEventLoop) -> None:
        """As sd_watchdog_enabled(3) recommends, twice in the time that the manager waits."""
        self._send("WATCHDOG=1")
        self._timer = loop.call_later(self.watchdog_seconds / 2, self._alive, loop)

    def _send(self, message: str) -> None:
        if self._socket is None:
            return
        try:
            self._socket.send(message.encode())
        except OSError as problem:
            logger.warning("cannot notify systemd", message=message.partition("\n")[0], reason=str(problem))


def _connected(address: str) -> socket.socket:
    if address[0] not in "/@":
        raise ConfigError(f"{NOTIFY_SOCKET}={address}: it is neither a path nor a name that begins with @")
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        sock.settimeout(SEND_SECONDS)
        sock.connect(f"\0{address[1:]}" if address[0] == "@" else address)
    except OSError as problem:
        sock.close()
        raise ConfigError(f"{NOTIFY_SOCKET}={address}: nobody listens there: {problem}") from None
    return sock


def _seconds(interval: str) -> float:
    if not interval.isdecimal() or not int(interval):
        raise ConfigError(f"{WATCHDOG_USEC}={interval}: it is not a number of microseconds")
    return int(interval) / USEC_PER_SECOND
