"""Threads for the batches that are compressed again: few at a time, and client addresses have turns."""

from collections import OrderedDict, deque
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from coordinator.broker.data.recompression import Recompression
from coordinator.log.disk_threads import DiskThreads

RUNNING_MAX: Final = 2
"""Each of them takes a processor, up to `produce.max.decompressed.bytes`, and the memory of its compression."""


class _Waiting(msgspec.Struct, frozen=True):
    recompression: Recompression
    is_awaited: Callable[[], bool]
    done: Callable[[], None]


class RecompressionThreads:
    """Runs recompressions. What one client address has queued delays those of another by one batch at most."""

    def __init__(self, threads: DiskThreads) -> None:
        self._threads = threads
        self._running = 0
        self._waiting: OrderedDict[str, deque[_Waiting]] = OrderedDict()
        """By client address; the one whose turn is next comes first."""

    def run(
        self, recompression: Recompression, source: str, is_awaited: Callable[[], bool], done: Callable[[], None]
    ) -> None:
        """Run it in a thread, then call `done` in the event loop; call neither if it is not awaited any more.

        `source` is the address of the client.
        """
        self._waiting.setdefault(source, deque()).append(_Waiting(recompression, is_awaited, done))
        self._start()

    def _start(self) -> None:
        while self._running < RUNNING_MAX and self._waiting:
            waiting = self._next()
            if waiting.is_awaited():
                self._running += 1
                self._threads.run((waiting.recompression.run,), partial(self._ended, waiting.done))

    def _next(self) -> _Waiting:
        source, queue = self._waiting.popitem(last=False)
        waiting = queue.popleft()
        if queue:
            self._waiting[source] = queue
        return waiting

    def _ended(self, done: Callable[[], None], problem: Exception | None) -> None:
        assert problem is None, "Recompression.result raises it"
        self._running -= 1
        self._start()
        done()
