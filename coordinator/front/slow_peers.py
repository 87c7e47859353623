"""Connections whose client does not read its responses, or does not end a request that it has begun to send.

Both hold memory of the server for as long as the client likes, so both have a time, and all of them together a budget.
Kafka has only the budget of requests (`queued.max.request.bytes`), and stops reading where it is used up: then a few
clients that send nothing more keep all others waiting. Here the connection that holds the most is closed.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from coordinator.config.network_keys import (
    CONNECTIONS_MAX_STALLED_MS,
    CONNECTIONS_MAX_UNSENT_BYTES,
    QUEUED_MAX_REQUEST_BYTES,
)
from coordinator.config.settings import Config
from coordinator.front.connection import Connection
from coordinator.front.loop_scheduler import LoopScheduler

CHECK_INTERVAL_MS: Final = 1_000
BYTES_PER_MS_MIN: Final = 16
"""Who keeps to this rate is given the time for it: 16 kB/s are a slow modem, and nobody's byte by byte."""


class SlowPeersKey(msgspec.Struct, frozen=True):
    """The timer key that checks the connections."""


class SlowPeers:
    """`connections.max.stalled.ms`, `queued.max.request.bytes` and `connections.max.unsent.bytes`."""

    def __init__(self, config: Config, scheduler: LoopScheduler, now_ms: Callable[[], int]) -> None:
        self._stalled_ms = config[CONNECTIONS_MAX_STALLED_MS]
        self._request_bytes_max = config[QUEUED_MAX_REQUEST_BYTES]
        self._unsent_bytes_max = config[CONNECTIONS_MAX_UNSENT_BYTES]
        self._scheduler = scheduler
        self._now_ms = now_ms
        self._request_bytes: dict[Connection, int] = {}
        self._request_bytes_total = 0
        self._unsent_bytes: dict[Connection, int] = {}
        self._unsent_bytes_total = 0
        self._has_timer = False

    def holds_requests(self, connection: Connection, size_bytes: int) -> None:
        """The connection holds so many bytes of requests that are not handled yet; 0 from now on none."""
        self._request_bytes_total += size_bytes - self._request_bytes.pop(connection, 0)
        if size_bytes:
            self._request_bytes[connection] = size_bytes
            self._watch()
            if 0 <= self._request_bytes_max < self._request_bytes_total:
                self._abort(
                    _largest(self._request_bytes),
                    "all connections together hold more requests than queued.max.request.bytes, and this one the most",
                )

    def holds_responses(self, connection: Connection, size_bytes: int) -> None:
        """The client of a connection has not read so many bytes yet; 0: there is room again for the next response."""
        self._unsent_bytes_total += size_bytes - self._unsent_bytes.pop(connection, 0)
        if size_bytes:
            self._unsent_bytes[connection] = size_bytes
            self._watch()
            if self._unsent_bytes_total > self._unsent_bytes_max:
                self._abort(
                    _largest(self._unsent_bytes),
                    "all connections together hold more responses than connections.max.unsent.bytes, and this one the "
                    "most",
                )

    def closed(self, connection: Connection) -> None:
        if connection in self._request_bytes:
            self.holds_requests(connection, 0)
        if connection in self._unsent_bytes:
            self.holds_responses(connection, 0)

    timer_keys = (SlowPeersKey,)

    def due(self, key: object, now_ms: int) -> None:
        """Close the connections without progress."""
        if not isinstance(key, SlowPeersKey):
            return
        self._has_timer = False
        for connection, size_bytes in list(self._request_bytes.items()):
            begun_ms = connection.begun_ms
            if begun_ms and now_ms - begun_ms > self._stalled_ms + size_bytes // BYTES_PER_MS_MIN:
                self._abort(connection, "a request was not sent to its end (connections.max.stalled.ms)")
        for connection in list(self._unsent_bytes):
            if connection not in self._unsent_bytes:
                continue
            unsent_bytes = connection.unsent_bytes()
            read_bytes = connection.congested_bytes - unsent_bytes
            if now_ms - connection.congested_ms > self._stalled_ms + read_bytes // BYTES_PER_MS_MIN:
                self._abort(connection, "the client does not read its responses (connections.max.stalled.ms)")
            else:
                self.holds_responses(connection, connection.kept_bytes(unsent_bytes))
        if self._request_bytes or self._unsent_bytes:
            self._watch()

    def _abort(self, connection: Connection, reason: str) -> None:
        # The loop tells of its end later. Until then it would stay the largest, and be closed in place of others.
        self.closed(connection)
        connection.abort(reason)

    def _watch(self) -> None:
        if not self._has_timer:
            self._has_timer = True
            self._scheduler.start(SlowPeersKey(), self._now_ms() + CHECK_INTERVAL_MS)


def _largest(sizes: Mapping[Connection, int]) -> Connection:
    return max(sizes, key=sizes.__getitem__)
