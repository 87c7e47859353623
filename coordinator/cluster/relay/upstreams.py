"""Connections to the brokers themselves."""

import asyncio
import ssl
from collections.abc import Callable, Collection
from typing import Any, Final

from coordinator.cluster.relay.directory import Directory
from coordinator.logger import logger

CONNECT_SECONDS: Final = 10
"""The default of socket.connection.setup.timeout.ms of Kafka's clients, after which they would give up."""
LOG_INTERVAL_SECONDS: Final = 10
AVOIDED_SECONDS: Final = 10
"""For how long a broker that could not be reached is left alone, where another one will do."""
WRITE_BUFFER_HIGH_BYTES: Final = 1 << 18
WRITE_BUFFER_LOW_BYTES: Final = 1 << 16
"""Above the first one, the relay reads no more of what is to be written there, until the second one is reached."""
READ_BYTES_MAX: Final = 1 << 18
"""What both event loops read at once."""


class UpstreamUnreachable(Exception):
    """Why a broker cannot be reached."""


class Upstreams:
    """Connects to brokers. Lives in the running event loop."""

    def __init__(self, directory: Directory, tls: ssl.SSLContext | None = None) -> None:
        """`tls` is the context of a client (`coordinator.client.tls.client_context`) if the brokers' port has TLS."""
        self._loop = asyncio.get_running_loop()
        self._directory = directory
        self._tls = tls
        self._logged_at: dict[int, float] = {}
        """Broker → when a failure was logged last."""
        self._suppressed: dict[int, int] = {}
        self._failed_at: dict[int, float] = {}
        """Broker → when it could not be reached, if it has not been reached since."""
        self._turn = 0

    def some_broker(self, broker_ids: Collection[int]) -> int | None:
        """One of these brokers, each in its turn: one that was reached when it was last tried, if there is one."""
        since = self._loop.time() - AVOIDED_SECONDS
        reached = [broker_id for broker_id in broker_ids if self._failed_at.get(broker_id, since) <= since]
        candidates = reached or list(broker_ids)
        self._turn += 1
        return candidates[self._turn % len(candidates)] if candidates else None

    def start(
        self, broker_id: int, protocol: asyncio.Protocol, unreachable: Callable[[], None]
    ) -> "asyncio.Task[None]":
        """Connect a protocol to a broker. `unreachable` is called, and a line is logged, if it cannot be reached."""
        return self._loop.create_task(self._connect(broker_id, protocol, unreachable))

    async def _connect(self, broker_id: int, protocol: asyncio.Protocol, unreachable: Callable[[], None]) -> None:
        try:
            await self.connect(broker_id, protocol)
        except UpstreamUnreachable as problem:
            self._log(broker_id, str(problem))
            unreachable()
        else:
            self._failed_at.pop(broker_id, None)

    async def connect(self, broker_id: int, protocol: asyncio.Protocol) -> None:
        """Raises UpstreamUnreachable: there is no such broker, it does not answer in time, or it is not trusted."""
        address = self._directory.broker_upstream(broker_id)
        if address is None:
            raise UpstreamUnreachable("it is not in the cluster")
        host, port = address
        tls: dict[str, Any] = {} if self._tls is None else {"ssl": self._tls, "server_hostname": host}
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._loop.create_connection(lambda: protocol, host, port, **tls)
        except TimeoutError:
            raise UpstreamUnreachable(f"{host}:{port} does not answer within {CONNECT_SECONDS} s") from None
        except (OSError, UnicodeError) as problem:
            reason = getattr(problem, "verify_message", "") or str(problem)
            raise UpstreamUnreachable(f"{host}:{port}: {reason}") from None

    def _log(self, broker_id: int, reason: str) -> None:
        """Log the failure, for each broker once in an interval: clients try again and again."""
        now = self._failed_at[broker_id] = self._loop.time()
        logged_at = self._logged_at.get(broker_id)
        if logged_at is None or now - logged_at >= LOG_INTERVAL_SECONDS:
            suppressed = self._suppressed.pop(broker_id, 0)
            others = {"suppressed": suppressed} if suppressed else {}
            logger.warning(
                "broker cannot be reached; its client is disconnected", broker=broker_id, reason=reason, **others
            )
            self._logged_at[broker_id] = now
        else:
            self._suppressed[broker_id] = self._suppressed.get(broker_id, 0) + 1


def bound_write_buffer(transport: Any) -> None:
    """Let a transport tell its protocol when much is unsent. That of TLS at a listener has bounds of its own."""
    set_limits = getattr(transport, "set_write_buffer_limits", None)
    if set_limits is not None:
        set_limits(high=WRITE_BUFFER_HIGH_BYTES, low=WRITE_BUFFER_LOW_BYTES)
