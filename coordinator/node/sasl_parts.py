"""The listeners with a login: makes what their connections log in with, from their settings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coordinator.config.listener_overrides import ListenerConfig
from coordinator.config.sasl_keys import (
    CONNECTION_AUTHENTICATION_MAX_MS,
    CONNECTION_FAILED_AUTHENTICATION_DELAY_MS,
    CONNECTIONS_MAX_REAUTH_MS,
    SASL_SERVER_MAX_RECEIVE_SIZE,
)
from coordinator.config.settings import Config
from coordinator.front.listener import Listener
from coordinator.front.listeners import ListenerLogins
from coordinator.front.login import SaslListener
from coordinator.front.logins import LoginGate, Logins
from coordinator.front.node_loop import NodeLoop
from coordinator.front.request_dispatcher import RequestDispatcher
from coordinator.metadata.image import MetadataImage
from coordinator.metrics.login_meter import LoginMeter
from coordinator.node.sasl_mechanisms import SaslMechanisms

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics


def make_logins(
    config: Config,
    listeners: Sequence[Listener],
    image: MetadataImage,
    dispatcher: RequestDispatcher,
    loop: NodeLoop,
    metrics: "NodeMetrics | None",
) -> ListenerLogins:
    """Make what these listeners need, which have a login.

    Raises:
        ConfigError: a setting of a mechanism is missing or invalid, or a library is.
    """
    mechanisms = SaslMechanisms(image.scram_credentials, loop.wall_ms)
    described = [_sasl_listener(listener.config, mechanisms, metrics) for listener in listeners]
    logins = Logins(config, dispatcher, loop.scheduler, now_ms=loop.now_ms, wall_ms=loop.wall_ms)
    return ListenerLogins(
        gates={sasl_listener.name: LoginGate(dispatcher, logins, sasl_listener) for sasl_listener in described},
        keys=mechanisms.signing_keys,
    )


def _sasl_listener(config: ListenerConfig, mechanisms: SaslMechanisms, metrics: "NodeMetrics | None") -> SaslListener:
    made = mechanisms.of(config)
    return SaslListener(
        name=config.name,
        mechanisms=made,
        max_reauth_ms={name: config.for_mechanism(name)[CONNECTIONS_MAX_REAUTH_MS] for name in made},
        receive_bytes_max=config[SASL_SERVER_MAX_RECEIVE_SIZE],
        failed_delay_ms=config[CONNECTION_FAILED_AUTHENTICATION_DELAY_MS],
        authentication_max_ms=config[CONNECTION_AUTHENTICATION_MAX_MS],
        meter=LoginMeter() if metrics is None else metrics.login_meter(config.name),
    )
