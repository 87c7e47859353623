"""SIGHUP: the settings are read again. When the terminal of the server is gone, it is a stop, as ever."""

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Generic, TypeVar

from coordinator.config.key import ConfigError
from coordinator.logger import logger

TERMINAL = "/dev/tty"

Settings = TypeVar("Settings")


class ReloadSignal(Generic[Settings]):
    """Handles SIGHUP from a start to a stop. Made in the running event loop."""

    def __init__(self, read: Callable[[], Settings], stop: Callable[[], None]) -> None:
        """`read` reads the settings again and may raise ConfigError; `stop` begins a stop."""
        self._read = read
        self._stop = stop
        self._apply: Callable[[Settings], None] | None = None
        # nohup has the signal ignored: then the server goes on without its terminal.
        self._had_terminal = has_terminal() and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
        self._loop = asyncio.get_running_loop()
        self._loop.add_signal_handler(signal.SIGHUP, self.received)

    def started(self, apply: Callable[[Settings], None]) -> None:
        """From now on `apply` gets the settings that were read again; it may raise ConfigError."""
        self._apply = apply

    def close(self) -> None:
        """Ignore the signal: the process is about to end."""
        self._loop.remove_signal_handler(signal.SIGHUP)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def received(self) -> None:
        """Apply the settings, or stop."""
        if self._had_terminal and not has_terminal():
            self._stop()
            return
        if self._apply is None:
            logger.warning("SIGHUP before the start has ended: the settings are not read again")
            return
        try:
            self._apply(self._read())
        except ConfigError as problem:
            logger.error("the settings cannot be read again; nothing has changed", problem=str(problem))


def has_terminal() -> bool:
    """Whether the process has a terminal that controls it."""
    try:
        os.close(os.open(TERMINAL, os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
