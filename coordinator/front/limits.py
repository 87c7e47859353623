"""The limits on the number of connections and on their idle time (Kafka's ConnectionQuotas and IdleExpiryManager)."""

from collections import Counter
from typing import Final

import msgspec

from coordinator.config.connection_overrides import IPV4_MAPPED, parse_overrides
from coordinator.config.network_keys import (
    CONNECTIONS_MAX_IDLE_MS,
    MAX_CONNECTIONS,
    MAX_CONNECTIONS_PER_IP,
    MAX_CONNECTIONS_PER_IP_OVERRIDES,
)
from coordinator.config.settings import Config
from coordinator.deadlines import deadline_after
from coordinator.front.connection import Connection
from coordinator.front.loop_scheduler import LoopScheduler

MUCH_BYTES: Final = 1 << 20
ABORTS_APART_MS: Final = 10
"""Between the ends of connections that hold more than MUCH_BYTES: to give 40 MB back takes some ms."""


class IdleKey(msgspec.Struct, frozen=True):
    """The timer key that checks whether a connection has been idle for `connections.max.idle.ms`."""

    connection: Connection
    unread_bytes: int = 0
    """What the client had not read when the time began."""


class ConnectionLimits:
    """`max.connections`, `max.connections.per.ip` with its overrides, and `connections.max.idle.ms`.

    At `max.connections` no more connections are accepted until some have gone; one above the limit of its address is
    closed at once. Both are as in Kafka (docs/decisions/018).
    """

    def __init__(self, config: Config, scheduler: LoopScheduler) -> None:
        """Raises ConfigError: `max.connections.per.ip.overrides` is invalid."""
        self._config = config
        self._overrides = parse_overrides(config[MAX_CONNECTIONS_PER_IP_OVERRIDES])
        config.when_changed([MAX_CONNECTIONS_PER_IP_OVERRIDES], self._change_overrides)
        self._idle_ms = config[CONNECTIONS_MAX_IDLE_MS]
        self._scheduler = scheduler
        self._accepted: dict[Connection, str] = {}
        """With the address of each, as the system says it."""
        self._accepted_by_address: Counter[str] = Counter()
        self._per_ip: Counter[str] = Counter()
        self._timers: dict[Connection, int] = {}
        self._next_abort_ms = 0

    @property
    def most(self) -> int:
        """The most connections of all addresses together."""
        return self._config[MAX_CONNECTIONS]

    def _change_overrides(self) -> None:
        self._overrides = parse_overrides(self._config[MAX_CONNECTIONS_PER_IP_OVERRIDES])

    def full(self) -> str:
        """Return why no connection may be accepted; empty if one may."""
        return f"there are {self.most} connections (max.connections)" if len(self._accepted) >= self.most else ""

    @property
    def accepted_count(self) -> int:
        """How many connections there are, those included that are about to begin."""
        return len(self._accepted)

    @property
    def room(self) -> int:
        """How many connections more `max.connections` allows."""
        return self._config[MAX_CONNECTIONS] - len(self._accepted)

    def accepted_from(self, address: str) -> int:
        """How many connections an address has, those included that are about to begin."""
        return self._accepted_by_address.get(address, 0)

    def accepted(self, connection: Connection, address: str) -> None:
        """Count a connection that is about to begin."""
        self._accepted[connection] = address
        self._accepted_by_address[address] += 1

    def not_begun(self, connection: Connection) -> None:
        """The connection was accepted and will not begin."""
        address = self._accepted.pop(connection, None)
        if address is not None:
            self._accepted_by_address[address] -= 1
            if not self._accepted_by_address[address]:
                del self._accepted_by_address[address]

    def opened(self, connection: Connection) -> str | None:
        """Count a new connection; return the reason to close it, or None if it is within the limit of its address."""
        address = self._accepted.get(connection) or address_of(connection)
        self._per_ip[address] += 1
        too_many = self._excess(address, self._per_ip[address])
        if too_many is not None:
            return too_many
        self._watch(connection, connection.last_heard_ms)
        return None

    def excess_of(self, address: str) -> str | None:
        """Return the reason to close the newest connection of an address before it begins, if it has too many."""
        return self._excess(address, self._accepted_by_address[address])

    def _excess(self, address: str, count: int) -> str | None:
        most = self._overrides.get(address, self._config[MAX_CONNECTIONS_PER_IP])
        return f"more than {most} connections from one address (max.connections.per.ip)" if count > most else None

    def closed(self, connection: Connection) -> None:
        """Stop counting a connection."""
        address = self._accepted.get(connection) or address_of(connection)
        self.not_begun(connection)
        self._per_ip[address] -= 1
        if not self._per_ip[address]:
            del self._per_ip[address]
        timer = self._timers.pop(connection, 0)
        if timer:
            self._scheduler.cancel(timer)

    timer_keys = (IdleKey,)

    def due(self, key: object, now_ms: int) -> None:
        """Close the connection of an IdleKey if it is idle; otherwise check again when it can be idle."""
        if not isinstance(key, IdleKey):
            return
        connection = key.connection
        self._timers.pop(connection, None)
        if connection.call is not None:
            self._watch(connection, now_ms)
        elif deadline_after(connection.last_heard_ms, self._idle_ms) > now_ms:
            self._watch(connection, connection.last_heard_ms)
        elif not (connection.unsent_bytes() or key.unread_bytes):
            connection.close()
        elif self._reads(connection, key, now_ms):
            self._watch(connection, now_ms, connection.unsent_bytes())
        elif now_ms < self._next_abort_ms:
            self._timers[connection] = self._scheduler.start(key, self._next_abort_ms)
        else:
            if connection.kept_bytes(connection.unsent_bytes()) > MUCH_BYTES:
                self._next_abort_ms = now_ms + ABORTS_APART_MS
            connection.abort("the client does not read its responses (connections.max.idle.ms)")

    def _reads(self, connection: Connection, key: IdleKey, now_ms: int) -> bool:
        """Whether the client of a connection may have read something since it is idle."""
        unread_bytes = connection.unsent_bytes()
        if unread_bytes == connection.congested_bytes:
            return deadline_after(connection.congested_ms, self._idle_ms) > now_ms
        return unread_bytes != key.unread_bytes

    def _watch(self, connection: Connection, since_ms: int, unread_bytes: int = 0) -> None:
        if self._idle_ms >= 0:
            self._timers[connection] = self._scheduler.start(
                IdleKey(connection, unread_bytes), deadline_after(since_ms, self._idle_ms)
            )


def address_of(connection: Connection) -> str:
    """The IP address of a client, the same one at IPv4 and IPv6 sockets."""
    return plain_address(connection.client_host.removeprefix("/"))


def plain_address(text: str) -> str:
    """An IP address, an IPv4 one also if it is written as of an IPv6 socket."""
    return text.removeprefix(IPV4_MAPPED)
