"""The log lines about closed connections: at most one per client address and second, whatever clients do."""

from collections.abc import Callable
from typing import Final

import msgspec

from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.logger import logger

INTERVAL_MS: Final = 1_000
ADDRESSES_MAX: Final = 1_000
"""How many addresses have lines of their own in one interval. The others are counted together."""


class RejectionLogKey(msgspec.Struct, frozen=True):
    """The timer key at the end of an interval."""


class _Unreported:
    """What was closed since the last line about an address."""

    __slots__ = ("count", "newest_reason")

    def __init__(self) -> None:
        self.count = 0
        self.newest_reason = ""


class RejectionLog:
    """Logs the first closed connection of an address, and after a second how many others there were."""

    def __init__(self, scheduler: LoopScheduler, now_ms: Callable[[], int]) -> None:
        self._scheduler = scheduler
        self._now_ms = now_ms
        self._unreported: dict[str, _Unreported] = {}
        """Client address → what its next line tells; it has had a line in this interval."""
        self._elsewhere = 0
        self._has_timer = False

    def rejected(self, client_host: str, reason: str) -> None:
        """Log that a connection was closed because of `reason`, now or with the next line of its address."""
        unreported = self._unreported.get(client_host)
        if unreported is not None:
            unreported.count += 1
            unreported.newest_reason = reason
            return
        if len(self._unreported) < ADDRESSES_MAX:
            self._unreported[client_host] = _Unreported()
            logger.warning("connection closed", client=client_host, reason=reason)
        else:
            self._elsewhere += 1
        self._watch()

    def rejected_address(self, address: str, reason: str) -> None:
        """Log that a connection of an address was closed before it began."""
        self.rejected(f"/{address}", reason)

    timer_keys = (RejectionLogKey,)

    def due(self, key: object, now_ms: int) -> None:
        if isinstance(key, RejectionLogKey):
            self._has_timer = False
            self.report()

    def report(self) -> None:
        """Log what has not been told yet."""
        unreported, self._unreported = self._unreported, {}
        for client_host, last in unreported.items():
            if last.count:
                self._unreported[client_host] = _Unreported()
                others = {"suppressed": last.count - 1} if last.count > 1 else {}
                logger.warning("connection closed", client=client_host, reason=last.newest_reason, **others)
        elsewhere, self._elsewhere = self._elsewhere, 0
        if elsewhere:
            logger.warning("connections of further clients closed", count=elsewhere)
        if self._unreported:
            self._watch()

    def _watch(self) -> None:
        if not self._has_timer:
            self._has_timer = True
            self._scheduler.start(RejectionLogKey(), self._now_ms() + INTERVAL_MS)
