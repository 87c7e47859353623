"""Tells in the log how far a node has loaded the partitions of a coordinator."""

from typing import Final

from coordinator.logger import logger

REPORT_SECONDS: Final = 5.0


class LoadProgress:
    """One line every `REPORT_SECONDS` while partitions are loaded, and one at the end if there was such a line."""

    def __init__(self, topic: str, keys: str) -> None:
        """`keys` is what the topic stores, as the lines call it."""
        self.topic = topic
        self._keys = keys
        self._partitions = 0
        self._ended = 0
        self._loaded = 0
        self._began = 0.0
        self._report_at = 0.0
        self._is_reported = False

    def begin(self, partitions: int, seconds: float) -> None:
        """More partitions are to be loaded. Times are in seconds of the same clock."""
        if self._ended == self._partitions:
            self._partitions = self._ended = self._loaded = 0
            self._began, self._report_at, self._is_reported = seconds, seconds + REPORT_SECONDS, False
        self._partitions += partitions

    def ended(self, keys: int) -> None:
        """The load of one of the partitions ended, in which there are so many keys."""
        self._ended += 1
        self._loaded += keys

    def unloaded(self) -> None:
        """One of the partitions is not to be loaded any more."""
        self._partitions -= 1

    def report(self, seconds: float) -> None:
        """Write a line if it is time for one."""
        is_over = self._ended == self._partitions
        if is_over and self._is_reported:
            self._is_reported = False
            logger.info(f"loaded {self._keys}", **self._described(seconds))
        elif not is_over and seconds >= self._report_at:
            self._report_at, self._is_reported = seconds + REPORT_SECONDS, True
            logger.info(f"loading {self._keys}", **self._described(seconds))

    def _described(self, seconds: float) -> dict[str, object]:
        return {
            "topic": self.topic,
            "partitions": f"{self._ended} of {self._partitions}",
            self._keys.replace(" ", "_"): self._loaded,
            "seconds": round(seconds - self._began, 1),
        }
