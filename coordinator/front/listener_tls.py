"""Building of what the listeners with TLS need, if there are any."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from coordinator.config.metrics_keys import ADMIN_LISTENER
from coordinator.config.settings import Config
from coordinator.front.limits import ConnectionLimits
from coordinator.front.listener import Listener, admin_listener
from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.front.rejection_log import RejectionLog
from coordinator.runtime.slices import Slices

if TYPE_CHECKING:
    from coordinator.front.tls_listeners import TlsListeners


class TlsParts(msgspec.Struct, frozen=True):
    """What TLS needs of the node."""

    scheduler: LoopScheduler
    slices: Slices
    now_ms: Callable[[], int]
    limits: ConnectionLimits
    rejections: RejectionLog


def make_tls(config: Config, listeners: Iterable[Listener], parts: TlsParts) -> "TlsListeners | None":
    """Those of the listeners, and of the admin port, that have TLS. None if there is none: nothing of it is imported.

    Raises:
        ConfigError: a key or a certificate cannot be used.
    """
    admin = [admin_listener(config)] if config[ADMIN_LISTENER] else []
    with_tls = [listener for listener in (*listeners, *admin) if listener.security_protocol.has_tls]
    if not with_tls:
        return None
    from coordinator.front.tls_handshakes import TlsHandshakes
    from coordinator.front.tls_listeners import TlsListeners

    handshakes = TlsHandshakes(
        config,
        parts.scheduler,
        parts.slices,
        parts.now_ms,
        limits=parts.limits,
        on_rejected=parts.rejections.rejected_address,
    )
    return TlsListeners(config, with_tls, handshakes)
