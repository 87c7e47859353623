"""How a node connects: to the brokers for itself, to the brokers in place of its clients, and to the other nodes."""

from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from coordinator.client.bootstrap import Bootstrap
from coordinator.client.login import PlainLogin, ScramLogin
from coordinator.client.security import SASL_JAAS_CONFIG, SECURITY_PROTOCOL, ClientSecurity
from coordinator.cluster.brokers.backoff import first_of
from coordinator.cluster.brokers.brokers import Broker
from coordinator.cluster.brokers.connecting import connect
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.config.cluster_keys import CLUSTER_COMMAND_CONFIG, CLUSTER_NODES_SECRET
from coordinator.config.key import ConfigError
from coordinator.config.properties import read_properties
from coordinator.config.settings import Config
from coordinator.security.protocols import SecurityProtocol

KEY_PREFIXES: Final = ("ssl.keystore.", "ssl.key.")
"""The settings of a client's own certificate."""


class NodeSecurity(msgspec.Struct, frozen=True):
    """The security settings of a node's connections."""

    own: ClientSecurity
    """To the brokers, for what the node does itself."""
    clients: ClientSecurity
    """To the brokers in place of a client, which logs in itself, if at all: only the TLS of it is used."""
    peers: ClientSecurity
    """To the listeners of the other nodes."""

    @property
    def hides_certificate(self) -> bool:
        """Whether connections in place of clients lack a certificate that the node has."""
        return self.clients is not self.own


def node_security(config: Config, listener: SecurityProtocol) -> NodeSecurity:
    """By the file that `cluster.command.config` names, and the security protocol of the listener, which all nodes have.

    Raises:
        ConfigError: the file cannot be read, or its settings cannot be used.
    """
    path = config[CLUSTER_COMMAND_CONFIG]
    own = ClientSecurity(read_properties(Path(path)) if path else {})
    return NodeSecurity(own, _for_clients(own), _for_peers(own, listener))


def _for_clients(own: ClientSecurity) -> ClientSecurity:
    """Without a login a broker takes who connects for the owner of the certificate: a client must not be the node."""
    has_key = any(name.startswith(KEY_PREFIXES) for name in own.settings)
    if own.tls_context is None or own.login is not None or not has_key:
        return own
    return ClientSecurity({name: text for name, text in own.settings.items() if not name.startswith(KEY_PREFIXES)})


def _for_peers(own: ClientSecurity, listener: SecurityProtocol) -> ClientSecurity:
    """A login is passed on to a broker, so the nodes log in at each other as at the brokers; TLS ends at a node."""
    has_login = own.login is not None
    protocol = next(
        security_protocol
        for security_protocol in SecurityProtocol
        if security_protocol.has_tls is listener.has_tls and security_protocol.has_sasl is has_login
    )
    return ClientSecurity({**own.settings, SECURITY_PROTOCOL: protocol.value})


def nodes_secret(config: Config, own: ClientSecurity) -> tuple[bytes, str]:
    """What the nodes know each other by, and the setting that it is from; both are empty if there is nothing.

    The password of a login is that of the nodes' user, which others do not have. A token is another one each time.
    """
    secret = config[CLUSTER_NODES_SECRET]
    if secret:
        return secret.value.encode(), CLUSTER_NODES_SECRET.name
    if isinstance(own.login, PlainLogin | ScramLogin):
        return f"{own.login.who}\0{own.login.password}".encode(), SASL_JAAS_CONFIG
    return b"", ""


async def check_connections_of_clients(
    security: NodeSecurity, brokers: list[Broker], client_id: str, timeout_seconds: float
) -> None:
    """Make sure that a broker takes connections without the node's certificate, if clients would have none.

    Raises:
        ConfigError: no broker does.
    """
    if not security.hides_certificate:
        return
    servers = [Bootstrap(broker.address, security.clients) for broker in brokers]
    try:
        connection = await first_of(
            [partial(connect, server, client_id, timeout_seconds, lambda: None) for server in servers]
        )
    except BrokerError as problem:
        raise ConfigError(
            f"{CLUSTER_COMMAND_CONFIG.name}: clients get no connection to the brokers, as a node never lends them its"
            f" certificate; name a listener of the brokers that has SASL_SSL, or ssl.client.auth=requested: {problem}"
        ) from None
    connection.close()
