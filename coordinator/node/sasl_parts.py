"""The listeners with a login: makes what their connections log in with, from their settings."""

from typing import TYPE_CHECKING, Final

from coordinator.config.listener_overrides import ListenerConfig
from coordinator.config.sasl_keys import (
    CONNECTION_AUTHENTICATION_MAX_MS,
    CONNECTION_FAILED_AUTHENTICATION_DELAY_MS,
    CONNECTIONS_MAX_REAUTH_MS,
    SASL_SERVER_MAX_RECEIVE_SIZE,
)
from coordinator.config.settings import Config
from coordinator.front.listener import Listener
from coordinator.front.login import SaslListener
from coordinator.front.logins import LoginGate, Logins
from coordinator.front.node_loop import NodeLoop
from coordinator.front.request_dispatcher import RequestDispatcher
from coordinator.metadata.image import MetadataImage
from coordinator.metrics.login_meter import LoginMeter
from coordinator.node.sasl_mechanisms import SaslMechanisms

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics


class SaslParts:
    """The listeners with a login, and what their mechanisms need beside the event loop."""

    def __init__(
        self,
        config: Config,
        image: MetadataImage,
        dispatcher: RequestDispatcher,
        loop: NodeLoop,
        metrics: "NodeMetrics | None",
    ) -> None:
        self._mechanisms = SaslMechanisms(image, loop.wall_ms)
        self._config = config
        self._dispatcher = dispatcher
        self._loop = loop
        self._metrics = metrics
        self._logins: Logins | None = None
        self.gates: Final[dict[str, LoginGate]] = {}
        """Listener → what its connections have in place of the dispatcher."""

    def add(self, listener: Listener) -> None:
        """Prepare a listener with a login.

        Raises:
            ConfigError: a setting of a mechanism is missing or invalid, or a library is.
        """
        if self._logins is None:
            # Only now: what has timers is asked about each one that is due.
            loop = self._loop
            self._logins = Logins(
                self._config, self._dispatcher, loop.scheduler, now_ms=loop.now_ms, wall_ms=loop.wall_ms
            )
        self.gates[listener.name] = LoginGate(self._dispatcher, self._logins, self._sasl_listener(listener.config))

    def start(self) -> None:
        """Start to read the keys of tokens."""
        for keys in self._mechanisms.signing_keys:
            keys.start()

    def stop(self) -> None:
        for keys in self._mechanisms.signing_keys:
            keys.stop()

    def _sasl_listener(self, config: ListenerConfig) -> SaslListener:
        mechanisms = self._mechanisms.of(config)
        return SaslListener(
            name=config.name,
            mechanisms=mechanisms,
            max_reauth_ms={name: config.for_mechanism(name)[CONNECTIONS_MAX_REAUTH_MS] for name in mechanisms},
            receive_bytes_max=config[SASL_SERVER_MAX_RECEIVE_SIZE],
            failed_delay_ms=config[CONNECTION_FAILED_AUTHENTICATION_DELAY_MS],
            authentication_max_ms=config[CONNECTION_AUTHENTICATION_MAX_MS],
            meter=LoginMeter() if self._metrics is None else self._metrics.login_meter(config.name),
        )
