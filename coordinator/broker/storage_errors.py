"""Says in the log that requests fail because of the disk, but not once for each of them."""

from time import monotonic
from typing import Final

from coordinator.logger import logger

AGAIN_AFTER_SECONDS: Final = 10
LOGS_MAX: Final = 1_000
"""Of so many logs it is remembered when they were last named; with more, all may be named again."""


class StorageErrors:
    """One line per log and `AGAIN_AFTER_SECONDS`, with how many failed since the one before."""

    def __init__(self, event: str) -> None:
        """`event` is what the line says."""
        self._event = event
        self._told: dict[str, tuple[float, int]] = {}

    def report(self, log: str, problem: Exception) -> None:
        """A request that needed a log failed."""
        now = monotonic()
        at, failed = self._told.get(log, (-AGAIN_AFTER_SECONDS, 0))
        if now < at + AGAIN_AFTER_SECONDS:
            self._told[log] = (at, failed + 1)
            return
        if len(self._told) >= LOGS_MAX:
            self._told.clear()
        self._told[log] = (now, 0)
        logger.error(
            "cannot append to a log; what is stored is still served", log=log, problem=str(problem), more=failed
        )
