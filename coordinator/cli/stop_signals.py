"""SIGTERM and SIGINT, also while a long start keeps the event loop busy."""

import asyncio
import os
import signal
from collections.abc import Callable
from threading import Event, Thread
from types import FrameType
from typing import Final

START_GRACE_SECONDS: Final = 1.5
"""How long a start has, after a signal, to come to a point where it can be stopped like any other one."""
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """Sets `requested` at the first signal. Made in the running event loop.

    A start may read logs for minutes without a turn of the loop, and what it does then cannot be stopped halfway. So a
    thread ends the process if the start does not end in time, as `kill -9` would: the next start checks the logs.
    """

    def __init__(self, on_forced_end: Callable[[], None]) -> None:
        """`on_forced_end` is called in the thread before the process ends without a stop."""
        self.requested = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._on_forced_end = on_forced_end
        self._is_started = Event()
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        for number in SIGNALS:
            signal.signal(number, self._received)
        Thread(target=self._watch, name="stop-signals", daemon=True).start()

    def started(self) -> None:
        """The start has ended: from now on the loop turns, and a stop takes the time that it needs."""
        self._is_started.set()

    def close(self) -> None:
        """Ignore the signals: the process is about to end, and ends with the status of its stop."""
        self._is_started.set()
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        os.close(self._writing)

    def _received(self, number: int, frame: FrameType | None) -> None:
        # A handler interrupts any code of this thread, so it takes no lock that this code may have.
        self._loop.call_soon_threadsafe(self.requested.set)
        try:
            os.write(self._writing, b"x")
        except BlockingIOError:
            return  # so many signals wait already

    def _watch(self) -> None:
        # The reading end stays open, or a second signal could not be written.
        was_received = bool(os.read(self._reading, 1))
        if was_received and not self._is_started.wait(START_GRACE_SECONDS):
            self._on_forced_end()
            os._exit(0)
