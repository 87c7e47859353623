"""The limits on the number of connections and on their idle time (Kafka's ConnectionQuotas and IdleExpiryManager)."""

from collections import Counter
from typing import NamedTuple

from coordinator.config import CONNECTIONS_MAX_IDLE_MS, MAX_CONNECTIONS, MAX_CONNECTIONS_PER_IP, Config
from coordinator.deadlines import deadline_after
from coordinator.server.connection import Connection
from coordinator.server.loop_scheduler import LoopScheduler


class IdleKey(NamedTuple):
    """The timer key that checks whether a connection has been idle for `connections.max.idle.ms`."""

    connection: Connection


class ConnectionLimits:
    """`max.connections`, `max.connections.per.ip` and `connections.max.idle.ms`.

    A connection above a limit is closed at once. Kafka instead stops accepting connections at `max.connections`, so a
    client waits without knowing why.
    """

    def __init__(self, config: Config, scheduler: LoopScheduler) -> None:
        self._max = config[MAX_CONNECTIONS]
        self._max_per_ip = config[MAX_CONNECTIONS_PER_IP]
        self._idle_ms = config[CONNECTIONS_MAX_IDLE_MS]
        self._scheduler = scheduler
        self._open = 0
        self._per_ip: Counter[str] = Counter()
        self._timers: dict[Connection, int] = {}

    def opened(self, connection: Connection) -> str | None:
        """Count a new connection; return the reason to close it, or None if it is within the limits."""
        self._open += 1
        self._per_ip[connection.client_host] += 1
        if self._open > self._max:
            return f"more than {self._max} connections (max.connections)"
        if self._per_ip[connection.client_host] > self._max_per_ip:
            return f"more than {self._max_per_ip} connections from one address (max.connections.per.ip)"
        self._watch(connection, connection.last_heard_ms)
        return None

    def closed(self, connection: Connection) -> None:
        """Stop counting a connection."""
        self._open -= 1
        self._per_ip[connection.client_host] -= 1
        if not self._per_ip[connection.client_host]:
            del self._per_ip[connection.client_host]
        timer = self._timers.pop(connection, 0)
        if timer:
            self._scheduler.cancel(timer)

    def due(self, key: object, now_ms: int) -> None:
        """Close the connection of an IdleKey if it is idle; otherwise check again when it can be idle."""
        if not isinstance(key, IdleKey):
            return
        connection = key.connection
        self._timers.pop(connection, None)
        has_request = connection.call is not None
        if not has_request and deadline_after(connection.last_heard_ms, self._idle_ms) <= now_ms:
            connection.close()
        else:
            self._watch(connection, now_ms if has_request else connection.last_heard_ms)

    def _watch(self, connection: Connection, since_ms: int) -> None:
        if self._idle_ms >= 0:
            self._timers[connection] = self._scheduler.start(
                IdleKey(connection), deadline_after(since_ms, self._idle_ms)
            )
