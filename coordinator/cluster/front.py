"""Building of what takes requests from clients: a node's own port, and a port for each broker."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

import msgspec

from coordinator.cluster.client_upstreams import ClientUpstreams
from coordinator.cluster.dispatcher import ClusterDispatcher
from coordinator.cluster.forwarded_logins import ForwardedLogins
from coordinator.cluster.groups.topics import ClusterTopics
from coordinator.cluster.handlers.groups import ClusterGroupHandlers
from coordinator.cluster.handlers.owners import OwnerHandlers
from coordinator.cluster.parts import ClusterHome
from coordinator.cluster.relay.broker_listeners import BrokerListeners
from coordinator.cluster.relay.directory import Directory
from coordinator.cluster.relay.held_bytes import HeldBytes
from coordinator.cluster.relay.relayed_connection import RelayParts
from coordinator.cluster.relay.upstream_connection import UpstreamConnection
from coordinator.cluster.relay.upstreams import Upstreams
from coordinator.cluster.requirements import CLUSTER_REQUIREMENTS
from coordinator.cluster.rights.rights import ClusterRights, KnownRights
from coordinator.config.cluster_keys import CLUSTER_BROKER_PORT_BASE, CLUSTER_NODE_ID_BASE
from coordinator.config.network_keys import MAX_CONNECTION_CREATION_RATE, SOCKET_REQUEST_MAX_BYTES
from coordinator.config.sasl_keys import CONNECTION_AUTHENTICATION_MAX_MS, SASL_SERVER_MAX_RECEIVE_SIZE
from coordinator.config.settings import Config
from coordinator.front.connection_rate import ConnectionRate
from coordinator.front.denial_log import DenialLog
from coordinator.front.dispatch import DispatchTable
from coordinator.front.group_context import GroupContext
from coordinator.front.group_parts import GroupParts
from coordinator.front.host import Host
from coordinator.front.limits import ConnectionLimits
from coordinator.front.listener import Listener
from coordinator.front.listener_tls import TlsParts, make_tls
from coordinator.front.listeners import Listeners
from coordinator.front.login_limits import LoginLimits, LoginTerms
from coordinator.front.node_loop import NodeLoop
from coordinator.front.rejection_log import RejectionLog
from coordinator.front.request_chain import RequestChain
from coordinator.front.request_runner import RequestRunner
from coordinator.front.slow_peers import SlowPeers
from coordinator.front.throttling import Throttling, no_quotas
from coordinator.security.protocols import SecurityProtocol

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics

WITHOUT_LOGIN: Final = {
    SecurityProtocol.SASL_PLAINTEXT: SecurityProtocol.PLAINTEXT,
    SecurityProtocol.SASL_SSL: SecurityProtocol.SSL,
}
"""A login is passed on to a broker, like all that a client sends."""


class ClusterFront(msgspec.Struct, frozen=True, kw_only=True):
    """The ports of a node in front of a cluster."""

    dispatcher: ClusterDispatcher
    listeners: Listeners
    broker_listeners: BrokerListeners
    rejections: RejectionLog
    denials: DenialLog
    rights: KnownRights

    def close(self) -> None:
        """Accept nobody any more, and close all connections."""
        self.listeners.close()
        self.broker_listeners.close()
        for connection in list(self.dispatcher.connections):
            connection.close()
        self.rights.close()


class FrontParts(msgspec.Struct, frozen=True, kw_only=True):
    """What the ports of a node are made of."""

    config: Config
    host: Host
    loop: NodeLoop
    groups: GroupParts
    home: ClusterHome
    owners: OwnerHandlers
    topics: ClusterTopics
    directory: Directory
    upstreams: Upstreams
    broker_ids: Callable[[], Collection[int]]
    peers_log_in: bool
    """Whether the nodes log in at each other, as they do at the brokers."""
    peer_token: str
    """What other nodes show, if they share a secret."""
    check_lease: Callable[[], None]
    """Gives up what this node leads if its lease is over; called before anything is answered."""


def without_login(listener: Listener) -> Listener:
    """The listener as the node serves it: who logs in does so at a broker."""
    protocol = WITHOUT_LOGIN.get(listener.security_protocol, listener.security_protocol)
    return Listener(listener.address, listener.advertised, protocol, listener.config)


def _login_terms(parts: FrontParts, listener: Listener) -> LoginTerms:
    """Those of a server with this listener. Where the nodes log in at the brokers, all clients have to."""
    return LoginTerms(
        LoginLimits(parts.config, parts.loop.scheduler, parts.loop.now_ms),
        receive_bytes_max=listener.config[SASL_SERVER_MAX_RECEIVE_SIZE],
        authentication_max_ms=listener.config[CONNECTION_AUTHENTICATION_MAX_MS],
    )


def make_cluster_front(parts: FrontParts, listener: Listener, metrics: "NodeMetrics | None" = None) -> ClusterFront:
    """Make the ports, which are opened later. Those for brokers have the TLS of the listener.

    Raises:
        ConfigError: a key or a certificate cannot be used.
    """
    config, loop, groups, home = parts.config, parts.loop, parts.groups, parts.home
    scheduler, now_ms = loop.scheduler, loop.now_ms
    throttling = Throttling(config, no_quotas, scheduler, now_ms)
    limits = ConnectionLimits(config, scheduler)
    rejections = RejectionLog(scheduler, now_ms)
    tls = make_tls(config, [listener], TlsParts(scheduler, loop.slices, now_ms, limits, rejections))
    slow_peers = SlowPeers(config, scheduler, now_ms)
    for due in (limits.due, slow_peers.due, rejections.due, throttling.due):
        scheduler.on_due(due)

    def new_upstream() -> UpstreamConnection | None:
        broker_id = parts.upstreams.some_broker(parts.broker_ids())
        return None if broker_id is None else UpstreamConnection(parts.upstreams, broker_id)

    upstreams = ClientUpstreams(new_upstream)
    rights = KnownRights()
    denials = DenialLog(
        rights,
        scheduler,
        loop.slices,
        now_ms,
        report=lambda event: groups.coordinator.report(event, everywhere=False),
        node_id=home.owner.node_id,
        coordinator_epoch=groups.coordinator_epoch,
    )
    scheduler.on_due(denials.due)
    authorization = ClusterRights(rights, upstreams, parts.topics.ids, denials, groups.sessions)
    rights.on_change(groups.sessions.take_back_authorizations)
    table = DispatchTable(CLUSTER_REQUIREMENTS)
    context = GroupContext(config=config, coordinator=groups.coordinator, pending=groups.pending)
    parts.owners.add_to(table)
    ClusterGroupHandlers(
        context, groups.coordinator, home.ownership, parts.topics, home.forwarder, authorization
    ).add_to(table)

    def fire_due() -> None:
        parts.check_lease()
        scheduler.fire_due()

    dispatcher = ClusterDispatcher(
        RequestChain(table, groups.sessions, throttling, authorization),
        RequestRunner(loop.slices),
        throttling,
        pending=groups.pending,
        limits=limits,
        slow_peers=slow_peers,
        rejections=rejections,
        environment=groups.environment,
        slices=loop.slices,
        fire_due=fire_due,
        listed_id=config[CLUSTER_NODE_ID_BASE] + home.owner.node_id,
        peers_log_in=parts.peers_log_in,
        peer_token=parts.peer_token,
        directory=parts.directory,
        ownership=home.ownership,
        upstreams=upstreams,
        rights=rights,
        before_request=parts.check_lease,
    )
    terms = _login_terms(parts, listener) if parts.peers_log_in else None
    listeners = Listeners(
        config,
        [without_login(listener)],
        dispatcher,
        limits,
        groups.sessions,
        now_ms,
        rejections=rejections,
        tls=tls,
        sasl=None if terms is None else ForwardedLogins(listener.config, dispatcher, terms, now_ms),
        metrics=metrics,
        descriptors=parts.host.descriptors,
    )
    relay = RelayParts(
        directory=parts.directory,
        upstreams=parts.upstreams,
        slices=loop.slices,
        held=HeldBytes(),
        on_rejected=rejections.rejected_address,
        request_bytes_max=config[SOCKET_REQUEST_MAX_BYTES],
        logins=terms,
    )
    broker_listeners = BrokerListeners(
        listener.address.host,
        config[CLUSTER_BROKER_PORT_BASE],
        relay,
        limits,
        ConnectionRate(config[MAX_CONNECTION_CREATION_RATE]),
        parts.host.descriptors,
        None if tls is None else tls.protocol_of(listener.name),
    )
    return ClusterFront(
        dispatcher=dispatcher,
        listeners=listeners,
        broker_listeners=broker_listeners,
        rejections=rejections,
        denials=denials,
        rights=rights,
    )
