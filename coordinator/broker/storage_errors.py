"""Says in the log that requests fail because of the disk, but not once for each of them."""

from time import monotonic
from typing import Final

from coordinator.logger import logger

AGAIN_AFTER_SECONDS: Final = 10
NAMES_MAX: Final = 1_000
"""Of so many it is remembered when they were last named; with more, all may be named again."""


class StorageErrors:
    """One line per log and `AGAIN_AFTER_SECONDS`, with how many requests failed since the one before."""

    def __init__(self, event: str, field: str = "log") -> None:
        """`event` is the text of the line. `field` is the key under which the line has the name of the log or API."""
        self._event = event
        self._field = field
        self._told: dict[str, tuple[float, int]] = {}

    def report(self, name: str, problem: Exception) -> None:
        """A request that needed this log, or was of this API, failed."""
        now = monotonic()
        at, failed = self._told.get(name, (-AGAIN_AFTER_SECONDS, 0))
        if now < at + AGAIN_AFTER_SECONDS:
            self._told[name] = (at, failed + 1)
            return
        if len(self._told) >= NAMES_MAX:
            self._told.clear()
        self._told[name] = (now, 0)
        logger.error(self._event, **{self._field: name}, problem=str(problem), more=failed)
