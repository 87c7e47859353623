"""Which logs grew, and who waits for that."""

from collections.abc import Callable, Iterable

from coordinator.log.partition_log import PartitionLog

Listener = Callable[[], None]


class AppendNotifier:
    """Logs that grew are noted at once; whoever watches them is called once per loop turn (`notify`).

    `request_iteration` is called when there is something to tell.
    """

    def __init__(self, request_iteration: Callable[[], None]) -> None:
        self._request_iteration = request_iteration
        self._listeners: dict[PartitionLog, dict[Listener, None]] = {}
        self._appended: dict[PartitionLog, None] = {}

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
        if log in self._listeners:
            if not self._appended:
                self._request_iteration()
            self._appended[log] = None

    def notify(self, now_ms: int) -> None:
        """Call each listener of a log that grew, once."""
        if not self._appended:
            return
        appended, self._appended = self._appended, {}
        for listener in {listener: None for log in appended for listener in self._listeners.get(log, ())}:
            listener()
