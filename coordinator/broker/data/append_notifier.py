"""Notifies listeners of logs that were appended to or removed."""

from collections.abc import Callable, Iterable

from coordinator.log.partition.partition_log import PartitionLog

Listener = Callable[[PartitionLog], None]
"""Gets the log that changed."""


class AppendNotifier:
    """Collects changes of logs and calls the listeners of the changed logs once per loop iteration (`notify`).

    `request_iteration` is called at the first change of an iteration.
    """

    def __init__(self, request_iteration: Callable[[], None]) -> None:
        self._request_iteration = request_iteration
        self._listeners: dict[PartitionLog, dict[Listener, None]] = {}
        self._changed: dict[PartitionLog, None] = {}
        self._deferred: Listener | None = None

    def defer_to(self, deferred: Listener | None) -> None:
        """From now on appends count only later (`mark_durable`), and `deferred` gets the logs; None: they count."""
        self._deferred = deferred

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
        if self._deferred is not None:
            self._deferred(log)
        elif log in self._listeners:
            self._mark_changed(log)

    def mark_durable(self, log: PartitionLog) -> None:
        """Mark a log of which more is on stable storage now."""
        self._mark_changed(log)

    def mark_removed(self, log: PartitionLog) -> None:
        """Mark a log whose topic was deleted, so that its listeners do not wait forever."""
        self._mark_changed(log)

    def _mark_changed(self, log: PartitionLog) -> None:
        if log in self._listeners:
            if not self._changed:
                self._request_iteration()
            self._changed[log] = None

    def notify(self, now_ms: int) -> None:
        """Call the listeners of each changed log, with this log; one that is removed meanwhile is not called."""
        if not self._changed:
            return
        changed, self._changed = self._changed, {}
        for log in changed:
            for listener in list(self._listeners.get(log, ())):
                if listener in self._listeners.get(log, ()):
                    listener(log)
