"""Says in the log that requests fail because of the disk, but not once for each of them."""

from time import monotonic
from typing import Final

from coordinator.logger import logger

AGAIN_AFTER_SECONDS: Final = 10
NAMES_MAX: Final = 1_000
"""Of so many it is remembered when they were last named; with more, all may be named again."""
LINES_MAX: Final = 20
"""In `AGAIN_AFTER_SECONDS`, of all names together: a disk that fails has many logs."""


class StorageErrors:
    """One line per log and `AGAIN_AFTER_SECONDS`, with how many requests failed since the one before.

    Of many logs some are named, and the next line says how many failures there were elsewhere.
    """

    def __init__(self, event: str, field: str = "log") -> None:
        """`event` is the text of the line. `field` is the key under which the line has the name of the log or API."""
        self._event = event
        self._field = field
        self._reported: dict[str, tuple[float, int]] = {}
        self._period_ends = 0.0
        self._lines = 0
        """In this period."""
        self._elsewhere = 0
        """Failures of logs that were not named."""

    def report(self, name: str, problem: Exception) -> None:
        """A request that needed this log, or was of this API, failed."""
        now = monotonic()
        at, failed = self._reported.get(name, (-AGAIN_AFTER_SECONDS, 0))
        if now < at + AGAIN_AFTER_SECONDS:
            self._reported[name] = (at, failed + 1)
            return
        if now >= self._period_ends:
            self._period_ends, self._lines = now + AGAIN_AFTER_SECONDS, 0
        if self._lines >= LINES_MAX:
            self._elsewhere += 1
            return
        self._lines += 1
        if len(self._reported) >= NAMES_MAX:
            self._reported.clear()
        self._reported[name] = (now, 0)
        elsewhere = {"elsewhere": self._elsewhere} if self._elsewhere else {}
        self._elsewhere = 0
        logger.error(self._event, **{self._field: name}, problem=str(problem), more=failed, **elsewhere)
