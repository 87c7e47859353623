"""Which logs grew, and who waits for that."""

from collections.abc import Callable, Iterable

from coordinator.log.partition_log import PartitionLog

Watcher = Callable[[], None]


class Growth:
    """Logs that grew are noted at once; whoever watches them is called once per loop turn (`tell`).

    `wake` is called when there is something to tell.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._watchers: dict[PartitionLog, dict[Watcher, None]] = {}
        self._grown: dict[PartitionLog, None] = {}

    def watch(self, logs: Iterable[PartitionLog], watcher: Watcher) -> None:
        for log in logs:
            self._watchers.setdefault(log, {})[watcher] = None

    def unwatch(self, logs: Iterable[PartitionLog], watcher: Watcher) -> None:
        for log in logs:
            watchers = self._watchers.get(log)
            if watchers is not None:
                watchers.pop(watcher, None)
                if not watchers:
                    del self._watchers[log]

    def note(self, log: PartitionLog) -> None:
        if log in self._watchers:
            if not self._grown:
                self._wake()
            self._grown[log] = None

    def tell(self, now_ms: int) -> None:
        """Call each watcher of a log that grew, once."""
        if not self._grown:
            return
        grown, self._grown = self._grown, {}
        for watcher in {watcher: None for log in grown for watcher in self._watchers.get(log, ())}:
            watcher()
