"""Notices a peer that reads nothing of what is to be written to it.

Reading from the other side is paused meanwhile, so that its end would not be noticed either.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

CLIENT_STALLED_SECONDS: Final = 60
"""The default of connections.max.stalled.ms."""
BROKER_STALLED_SECONDS: Final = 300
"""A broker reads nothing while it handles a request; the longest ones wait for a rebalance (max.poll.interval.ms)."""


class StallWatch:
    """Watches one transport while it is full. A timer runs on when it is not, as that changes with each megabyte."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, on_stalled: Callable[[], object]) -> None:
        self._loop = loop
        self._seconds = seconds
        self._on_stalled = on_stalled
        self._transport: Any = None
        self._unsent_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def full(self, transport: Any) -> None:
        """Its write buffer is full, and nothing is added to it until it is not."""
        self._transport = transport
        self._unsent_bytes = 1 << 62
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._check)

    def drained(self) -> None:
        self._transport = None

    def stop(self) -> None:
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        self._timer = None
        if self._transport is None:
            return
        unsent_bytes = self._transport.get_write_buffer_size()
        if unsent_bytes >= self._unsent_bytes:
            self._on_stalled()
            return
        self._unsent_bytes = unsent_bytes
        self._timer = self._loop.call_later(self._seconds, self._check)
