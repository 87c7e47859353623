"""TLS of the page as the server's listeners have it: with limits for handshakes, of which Uvicorn has none."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

from coordinator.config.settings import Config
from coordinator.front.limits import ConnectionLimits
from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.front.tls_handshakes import TlsHandshakes
from coordinator.front.tls_transport import TlsTransport
from coordinator.runtime.slices import Slices
from coordinator.timers.system_clock import SystemClock
from coordinator.timers.wheel import TimerWheel


class PageTls:
    """Made in the running loop. The limits are the defaults of a server: `ssl.handshake.timeout.ms` and its like."""

    def __init__(self, context: ssl.SSLContext, http: Callable[..., Any]) -> None:
        """`http` makes the HTTP of a connection."""
        loop, now_ms, defaults = asyncio.get_running_loop(), SystemClock().now_ms, Config()
        self._context = context
        self._http = http
        self._scheduler = LoopScheduler(loop, TimerWheel(now_ms()), now_ms)
        self._handshakes = TlsHandshakes(
            defaults,
            self._scheduler,
            Slices(loop.call_soon),
            now_ms,
            limits=ConnectionLimits(defaults, self._scheduler),
            on_rejected=_unreported,
        )

    def connection(self, **options: Any) -> asyncio.Protocol:
        """A new connection; `options` are those of its HTTP."""
        return TlsTransport(self._http(**options), "", self._context, self._handshakes, _anybody)

    def close(self) -> None:
        """End the handshakes that are under way."""
        self._handshakes.close()
        self._scheduler.stop()


def _unreported(address: str, reason: str) -> None:
    """The page has no log."""


def _anybody(connection: Any, peer: ssl.SSLObject) -> None:
    """Who the client is its login says, if the page has one."""
