"""The thread in which logs are compacted, and the pace at which it may read and write."""

import threading
from collections.abc import Callable
from typing import Any, Final

from coordinator.log.compaction.cleaner import Place

PAUSE_SECONDS_MAX: Final = 3600.0


class Pace:
    """How long to pause so that on average no more than `bytes_per_second` are read and written."""

    def __init__(self, bytes_per_second: float, seconds: Callable[[], float]) -> None:
        self._bytes_per_second = bytes_per_second
        self._seconds = seconds
        self._free_at = 0.0

    def change(self, bytes_per_second: float) -> None:
        """Allow so much from now on."""
        self._bytes_per_second = bytes_per_second

    def pause_seconds(self, size_bytes: int) -> float:
        """The seconds until more may be read and written, after `size_bytes` more were."""
        now = self._seconds()
        self._free_at = max(self._free_at, now) + size_bytes / self._bytes_per_second
        return min(self._free_at - now, PAUSE_SECONDS_MAX)


class CleanerThread:
    """Takes steps of a cleaning outside of the event loop, up to the next one that has to run in it."""

    def __init__(self, call_soon_threadsafe: Callable[..., object]) -> None:
        self._call_soon = call_soon_threadsafe
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def run(
        self, step: Callable[[], Place | None], pause_seconds: Callable[[], float], done: Callable[[Place | None], None]
    ) -> None:
        """Call `step` again and again while it returns ANYWHERE, then `done` with what it returned, in the loop.

        Pauses come between the steps. After a `stop`, `done` is not called.
        """
        self._thread = threading.Thread(target=self._run, args=(step, pause_seconds, done), name="log-cleaner")
        self._thread.daemon = True
        self._thread.start()

    def _run(self, step: Callable[[], Place | None], pause_seconds: Callable[[], float], done: Any) -> None:
        place: Place | None = Place.ANYWHERE
        while place is Place.ANYWHERE:
            if self._stopping.wait(pause_seconds()):
                return
            place = step()
        self._call_soon(done, place)

    def stop(self) -> None:
        """End the work after the step that is under way; return when it has ended."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
