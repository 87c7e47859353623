"""Building of what takes requests from clients: a node's own port, and a port for each broker."""

from collections.abc import Callable, Collection
from typing import Final

import msgspec

from coordinator.cluster.client_upstreams import ClientUpstreams
from coordinator.cluster.forwarded_logins import forwarded_logins
from coordinator.cluster.forwarded_requests import ForwardedRequests, PeerAnswers
from coordinator.cluster.groups.group_settings import ClusterGroupSettings
from coordinator.cluster.groups.group_topics import GroupTopics
from coordinator.cluster.groups.topics import ClusterTopics
from coordinator.cluster.handlers.groups import ClusterGroupHandlers
from coordinator.cluster.handlers.joining import JoiningHandlers
from coordinator.cluster.handlers.other_kinds import OtherKindHandlers
from coordinator.cluster.handlers.owners import OwnerHandlers
from coordinator.cluster.parts import ClusterHome
from coordinator.cluster.relay.broker_listeners import BrokerListeners
from coordinator.cluster.relay.directory import Directory
from coordinator.cluster.relay.held_bytes import HeldBytes
from coordinator.cluster.relay.relayed_connection import RelayParts
from coordinator.cluster.relay.tap import Tap
from coordinator.cluster.relay.upstream_connection import UpstreamConnection
from coordinator.cluster.relay.upstreams import Upstreams
from coordinator.cluster.requirements import CLUSTER_REQUIREMENTS
from coordinator.cluster.rights.rights import CachedRights, ClusterRights, RightsQuestions
from coordinator.cluster.rights.visible_topics import VisibleTopics
from coordinator.config.cluster_keys import CLUSTER_BROKER_PORT_BASE, CLUSTER_NODE_ID_BASE
from coordinator.config.network_keys import MAX_CONNECTION_CREATION_RATE, SOCKET_REQUEST_MAX_BYTES
from coordinator.config.sasl_keys import CONNECTION_AUTHENTICATION_MAX_MS, SASL_SERVER_MAX_RECEIVE_SIZE
from coordinator.config.settings import Config
from coordinator.front.connection_rate import ConnectionRate
from coordinator.front.dispatch import DispatchTable
from coordinator.front.front import Front, FrontHome
from coordinator.front.group_context import GroupContext
from coordinator.front.group_parts import GroupParts
from coordinator.front.host import Host
from coordinator.front.listener import Listener
from coordinator.front.listeners import ListenerLogins
from coordinator.front.login_limits import LoginLimits, LoginTerms
from coordinator.front.node_loop import NodeLoop
from coordinator.front.request_dispatcher import RequestDispatcher
from coordinator.security.principal import Principal
from coordinator.security.protocols import SecurityProtocol

WITHOUT_LOGIN: Final = {
    SecurityProtocol.SASL_PLAINTEXT: SecurityProtocol.PLAINTEXT,
    SecurityProtocol.SASL_SSL: SecurityProtocol.SSL,
}
"""A login is passed on to a broker, like all that a client sends."""


class FrontParts(msgspec.Struct, frozen=True, kw_only=True):
    """What the ports of a node are made of."""

    config: Config
    host: Host
    loop: NodeLoop
    groups: GroupParts
    home: ClusterHome
    owners: OwnerHandlers
    topics: ClusterTopics
    visible: VisibleTopics
    settings: ClusterGroupSettings
    directory: Directory
    upstreams: Upstreams
    broker_ids: Callable[[], Collection[int]]
    peers_log_in: bool
    """Whether the nodes log in at each other, as they do at the brokers."""
    peer_token: str
    """What other nodes show, if they share a secret."""
    tap: Tap | None
    """Sees what passes of watched groups."""
    check_lease: Callable[[], None]
    """Gives up what this node leads if its lease is over; called before anything is answered."""


def without_login(listener: Listener) -> Listener:
    """The listener as the node serves it: who logs in does so at a broker."""
    protocol = WITHOUT_LOGIN.get(listener.security_protocol, listener.security_protocol)
    return Listener(listener.address, listener.advertised, protocol, listener.config)


def login_terms(parts: FrontParts, listener: Listener) -> LoginTerms:
    """Those of a server with this listener. Where the nodes log in at the brokers, all clients have to."""
    return LoginTerms(
        LoginLimits(parts.config, parts.loop.scheduler, parts.loop.now_ms),
        receive_bytes_max=listener.config[SASL_SERVER_MAX_RECEIVE_SIZE],
        authentication_max_ms=listener.config[CONNECTION_AUTHENTICATION_MAX_MS],
    )


def client_upstreams(parts: FrontParts) -> ClientUpstreams:
    """The connections behind those of clients, each to some broker."""

    def new_upstream() -> UpstreamConnection | None:
        broker_id = parts.upstreams.some_broker(parts.broker_ids())
        return None if broker_id is None else UpstreamConnection(parts.upstreams, broker_id)

    return ClientUpstreams(new_upstream)


def front_home(parts: FrontParts, listener: Listener, rights: CachedRights, terms: LoginTerms | None) -> FrontHome:
    """What is answered here is about groups; all else is passed on. `terms` are those of logins, if there are any."""
    config, loop, sessions = parts.config, parts.loop, parts.groups.sessions
    upstreams = client_upstreams(parts)
    questions = RightsQuestions(rights, upstreams)
    table = cluster_table(parts, questions)

    def forget(principal: Principal) -> None:
        rights.forget(principal)
        parts.visible.forget(principal)

    peers = PeerAnswers(parts.home.ownership, peers_log_in=parts.peers_log_in, peer_token=parts.peer_token)
    forwarded = ForwardedRequests(
        table.served,
        upstreams,
        parts.directory,
        loop.slices,
        peers,
        listed_id=config[CLUSTER_NODE_ID_BASE] + parts.home.owner.node_id,
        before_request=parts.check_lease,
        forget=forget,
    )

    def fire_due() -> None:
        parts.check_lease()
        loop.scheduler.fire_due()

    def logins(dispatcher: RequestDispatcher) -> ListenerLogins | None:
        return None if terms is None else forwarded_logins(listener.name, forwarded, terms, loop.now_ms, dispatcher)

    rights.on_change(sessions.revoke_authorizations)
    return FrontHome(
        listeners=[listener],
        served=[without_login(listener)],
        table=lambda throttling, tls: table,
        authorizer=rights,
        authorization=lambda denials: ClusterRights(rights, questions, parts.topics.ids, denials, sessions),
        logins=logins,
        fire_due=fire_due,
        passes_on=forwarded.passes_on,
        names_old_clients=False,
    )


def cluster_table(parts: FrontParts, questions: RightsQuestions) -> DispatchTable:
    """All that is answered here."""
    table, groups, home = DispatchTable(CLUSTER_REQUIREMENTS), parts.groups, parts.home
    context = GroupContext(config=parts.config, coordinator=groups.coordinator, pending=groups.pending)
    parts.owners.add_to(table)
    OtherKindHandlers(home.ownership.find).add_to(table)
    group_topics = GroupTopics(groups.coordinator, parts.topics)
    joining = JoiningHandlers(context, home.ownership, group_topics, questions, parts.visible, parts.settings)
    ClusterGroupHandlers(context, home.ownership, joining, parts.topics, home.forwarder, questions).add_to(table)
    return table


def make_broker_listeners(
    parts: FrontParts, listener: Listener, front: Front, terms: LoginTerms | None
) -> BrokerListeners:
    """Make the ports for brokers, which are opened later. They have the TLS of the listener."""
    config, tls = parts.config, front.listeners.tls
    relay = RelayParts(
        directory=parts.directory,
        upstreams=parts.upstreams,
        slices=parts.loop.slices,
        held=HeldBytes(),
        on_rejected=front.peers.rejections.rejected_address,
        request_bytes_max=config[SOCKET_REQUEST_MAX_BYTES],
        logins=terms,
        tap=parts.tap,
    )
    return BrokerListeners(
        listener.address.host,
        config[CLUSTER_BROKER_PORT_BASE],
        relay,
        front.peers.limits,
        ConnectionRate(config[MAX_CONNECTION_CREATION_RATE]),
        parts.host.descriptors,
        None if tls is None else tls.protocol_of(listener.name),
    )
