"""Limits on the number of connections, and on how long one may be idle."""

from collections import Counter
from typing import NamedTuple

from coordinator.config import CONNECTIONS_MAX_IDLE_MS, MAX_CONNECTIONS, MAX_CONNECTIONS_PER_IP, Config
from coordinator.deadlines import deadline_after
from coordinator.server.connection import Connection
from coordinator.server.loop_scheduler import LoopScheduler


class IdleKey(NamedTuple):
    """Ask whether this connection has been idle for `connections.max.idle.ms`."""

    connection: Connection


class ConnectionLimits:
    """`max.connections`, `max.connections.per.ip` and `connections.max.idle.ms`.

    One connection too many is closed at once. Kafka instead stops accepting when `max.connections` is reached, which
    leaves the client waiting without an error.
    """

    def __init__(self, config: Config, scheduler: LoopScheduler) -> None:
        self._most = config[MAX_CONNECTIONS]
        self._most_per_ip = config[MAX_CONNECTIONS_PER_IP]
        self._idle_ms = config[CONNECTIONS_MAX_IDLE_MS]
        self._scheduler = scheduler
        self._open = 0
        self._per_ip: Counter[str] = Counter()
        self._timers: dict[Connection, int] = {}

    def opened(self, connection: Connection) -> str | None:
        """Count a new connection. Returns why it is over a limit, or None."""
        self._open += 1
        self._per_ip[connection.client_host] += 1
        if self._open > self._most:
            return f"more than {self._most} connections (max.connections)"
        if self._per_ip[connection.client_host] > self._most_per_ip:
            return f"more than {self._most_per_ip} connections from one address (max.connections.per.ip)"
        self._watch(connection, connection.last_heard_ms)
        return None

    def closed(self, connection: Connection) -> None:
        """A counted connection was closed."""
        self._open -= 1
        self._per_ip[connection.client_host] -= 1
        if not self._per_ip[connection.client_host]:
            del self._per_ip[connection.client_host]
        timer = self._timers.pop(connection, 0)
        if timer:
            self._scheduler.cancel(timer)

    def due(self, key: object, now_ms: int) -> None:
        """Close the connection that the key names if it is idle; else look again when it could be."""
        if not isinstance(key, IdleKey):
            return
        connection = key.connection
        self._timers.pop(connection, None)
        waits = connection.call is not None
        if not waits and deadline_after(connection.last_heard_ms, self._idle_ms) <= now_ms:
            connection.close()
        else:
            self._watch(connection, now_ms if waits else connection.last_heard_ms)

    def _watch(self, connection: Connection, since_ms: int) -> None:
        if self._idle_ms >= 0:
            self._timers[connection] = self._scheduler.start(
                IdleKey(connection), deadline_after(since_ms, self._idle_ms)
            )
