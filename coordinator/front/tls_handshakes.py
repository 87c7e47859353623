"""The TLS handshakes under way, within limits: how many, from one address, for how long, and how much time they take.

A handshake costs a thousand times what a heartbeat costs, and its client has proven nothing. So they share the time
that the event loop has for long work in slices, address by address, and the oldest ones have to go for new ones: a
client that means it is done in a few round trips.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from coordinator.config.settings import Config
from coordinator.config.ssl_keys import SSL_HANDSHAKE_TIMEOUT_MS, SSL_HANDSHAKES_MAX, SSL_HANDSHAKES_MAX_PER_IP
from coordinator.front.connection import Connection
from coordinator.front.limits import ConnectionLimits
from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.front.tls_transport import TlsTransport
from coordinator.runtime.slices import Slices, Steps


class HandshakesKey(msgspec.Struct, frozen=True):
    """The timer key at which the oldest handshake has taken too long."""


class TlsHandshakes:
    """All of one server."""

    def __init__(
        self,
        config: Config,
        scheduler: LoopScheduler,
        slices: Slices,
        now_ms: Callable[[], int],
        *,
        limits: ConnectionLimits,
        on_rejected: Callable[[str, str], None],
    ) -> None:
        """`on_rejected` is called with the address of a connection that is closed, and the reason."""
        self._timeout_ms: Final = config[SSL_HANDSHAKE_TIMEOUT_MS]
        self._max: Final = config[SSL_HANDSHAKES_MAX]
        self._max_per_ip: Final = config[SSL_HANDSHAKES_MAX_PER_IP]
        self._scheduler = scheduler
        self._slices = slices
        self._now_ms = now_ms
        self._limits = limits
        self._on_rejected = on_rejected
        self._begun_ms: dict[TlsTransport, int] = {}
        """When each has begun, the oldest first."""
        self._by_address: dict[str, dict[TlsTransport, None]] = {}
        """The same, by the address of the client."""
        self._has_timer = False
        scheduler.on_due(self.due)

    @property
    def count(self) -> int:
        """How many handshakes are under way."""
        return len(self._begun_ms)

    def begin(self, handshake: TlsTransport) -> None:
        """Count a new handshake; above a limit the oldest one of an address ends."""
        too_many = self._limits.excess_of(handshake.address)
        if too_many is not None:
            handshake.give_up(too_many)
            return
        of_address = self._by_address.setdefault(handshake.address, {})
        of_address[handshake] = None
        self._begun_ms[handshake] = self._now_ms()
        self._watch()
        if len(of_address) > self._max_per_ip:
            next(iter(of_address)).give_up(
                f"more than {self._max_per_ip} TLS handshakes from one address (ssl.handshakes.max.per.ip)"
            )
        elif len(self._begun_ms) > self._max:
            most = max(self._by_address.values(), key=len)
            next(iter(most)).give_up(f"more than {self._max} TLS handshakes (ssl.handshakes.max)")

    def run(self, handshake: TlsTransport, step: Callable[[], None]) -> None:
        """Do a step of a handshake, at once if there is time in this iteration of the loop, else in its turn."""
        if self._slices.has_time():
            step()
        else:
            self._slices.start(_one_step(step), _nothing, _raise, handshake.address)

    def done(self, handshake: TlsTransport) -> None:
        """The handshake is complete, or its connection has gone."""
        if self._begun_ms.pop(handshake, None) is None:
            return
        of_address = self._by_address[handshake.address]
        del of_address[handshake]
        if not of_address:
            del self._by_address[handshake.address]

    def failed(self, handshake: TlsTransport, reason: str) -> None:
        """The connection is being closed before it has begun."""
        self._on_rejected(handshake.address, reason)

    def lost(self, handshake: TlsTransport, connection: Connection) -> None:
        """The connection has gone before it began."""
        self.done(handshake)
        self._limits.not_begun(connection)

    timer_keys = (HandshakesKey,)

    def due(self, key: object, now_ms: int) -> None:
        """Close what has taken too long."""
        if not isinstance(key, HandshakesKey):
            return
        self._has_timer = False
        while self._begun_ms:
            oldest, begun_ms = next(iter(self._begun_ms.items()))
            if begun_ms + self._timeout_ms > now_ms:
                break
            oldest.give_up(f"no TLS handshake within {self._timeout_ms} ms (ssl.handshake.timeout.ms)")
        self._watch()

    def close(self) -> None:
        """End all of them."""
        for handshake in list(self._begun_ms):
            handshake.give_up("")

    def _watch(self) -> None:
        if self._begun_ms and not self._has_timer:
            self._has_timer = True
            self._scheduler.start(HandshakesKey(), next(iter(self._begun_ms.values())) + self._timeout_ms)


def _one_step(step: Callable[[], None]) -> Steps[None]:
    step()
    return
    yield


def _nothing(result: object) -> None:
    """A step has no result."""


def _raise(problem: Exception) -> None:
    """A defect of the server, which the event loop logs."""
    raise problem
