"""Which logs grew or were removed, and who waits for that."""

from collections.abc import Callable, Iterable

from coordinator.log.partition_log import PartitionLog

Listener = Callable[[], None]


class AppendNotifier:
    """Changes of logs are noted at once; the listeners of a log are called once per loop iteration (`notify`).

    `request_iteration` is called when there is something to notify of.
    """

    def __init__(self, request_iteration: Callable[[], None]) -> None:
        self._request_iteration = request_iteration
        self._listeners: dict[PartitionLog, dict[Listener, None]] = {}
        self._changed: dict[PartitionLog, None] = {}

    def add_listener(self, logs: Iterable[PartitionLog], listener: Listener) -> None:
        for log in logs:
            self._listeners.setdefault(log, {})[listener] = None

    def remove_listener(self, logs: Iterable[PartitionLog], listener: Listener) -> None:
        for log in logs:
            listeners = self._listeners.get(log)
            if listeners is not None:
                listeners.pop(listener, None)
                if not listeners:
                    del self._listeners[log]

    def mark_appended(self, log: PartitionLog) -> None:
        self._mark_changed(log)

    def mark_removed(self, log: PartitionLog) -> None:
        """The topic of the log was deleted: what waits for the log would wait in vain."""
        self._mark_changed(log)

    def _mark_changed(self, log: PartitionLog) -> None:
        if log in self._listeners:
            if not self._changed:
                self._request_iteration()
            self._changed[log] = None

    def notify(self, now_ms: int) -> None:
        """Call each listener of a log that changed, once."""
        if not self._changed:
            return
        changed, self._changed = self._changed, {}
        for listener in {listener: None for log in changed for listener in self._listeners.get(log, ())}:
            listener()
