"""One node in front of an existing cluster: starts and stops its parts, in order."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from coordinator.audit.schema import CoordinatorPaused
from coordinator.client.bootstrap import Bootstrap
from coordinator.cluster.brokers.brokers import Broker, Brokers
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks, completed
from coordinator.cluster.directory import NodeDirectory
from coordinator.cluster.front import FrontParts, front_home, login_terms, make_broker_listeners
from coordinator.cluster.groups.group_settings import ClusterGroupSettings
from coordinator.cluster.groups.lost_partitions import LostPartitions
from coordinator.cluster.groups.shards import is_stored, renew_epochs
from coordinator.cluster.groups.topic_names import TopicNames
from coordinator.cluster.groups.topics import ClusterTopics
from coordinator.cluster.handlers.owners import OwnerHandlers
from coordinator.cluster.leads import PartitionLeads
from coordinator.cluster.lease_timer import LeaseTimer
from coordinator.cluster.log.broker_access import BrokerLogAccess
from coordinator.cluster.log.notes import Owner
from coordinator.cluster.log.topics import LogTopics, TopicError, log_topics, prepare_sightings, prepare_topics
from coordinator.cluster.measured import MeasuredParts, measure_cluster_node
from coordinator.cluster.nodes.lease import Lease
from coordinator.cluster.nodes.membership import LEASE_MS, NodesGroupMember
from coordinator.cluster.nodes.messages import NodeAddress
from coordinator.cluster.nodes.peers import Peers, peer_client_id
from coordinator.cluster.nodes.seals import Seals
from coordinator.cluster.parts import ClusterHome, ClusterLinks, group_home, make_cluster_home
from coordinator.cluster.relay.broker_listeners import BrokerListeners, BrokerPortError
from coordinator.cluster.relay.upstreams import Upstreams
from coordinator.cluster.rights.rights import CachedRights
from coordinator.cluster.rights.visible_topics import VisibleTopics
from coordinator.cluster.security import check_connections_of_clients, node_security, nodes_secret
from coordinator.cluster.sentinels.sentinels import Sentinels
from coordinator.cluster.watch_changes import WatchChanges
from coordinator.cluster.watched_groups import WatchedGroups
from coordinator.cluster.watching import Watching
from coordinator.config import cluster_keys as keys
from coordinator.config.key import ConfigError
from coordinator.config.listener_keys import LISTENERS
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.core.topic_listing import TopicListing
from coordinator.front.front import make_front
from coordinator.front.group_parts import make_group_parts
from coordinator.front.host import Host, this_host
from coordinator.front.listener import Listener, parse_listeners
from coordinator.front.node import ServingNode
from coordinator.listen_address import ListenError
from coordinator.logger import logger

if TYPE_CHECKING:
    from coordinator.metrics.timing import TimeHistogram

APPEND_BOUNDS_MS: Final = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000)
RENEWAL_CHECK_SECONDS: Final = 600
UNCHECKED: Final = (
    "any client that may READ the group of the nodes is taken for a node: set "
    f"{keys.CLUSTER_NODES_SECRET.name} at all nodes"
)
STOP_SECONDS: Final = 3
"""How long a stop waits for what was decided to be acknowledged by the cluster."""


class ClusterNode(ServingNode):
    """A coordinator whose log is in the cluster behind it."""

    home: ClusterHome
    broker_listeners: BrokerListeners
    member: NodesGroupMember
    """The parts of a node that has been started, beside its groups and its front."""

    def __init__(
        self, config: Config, *, host: Host | None = None, log_lines_dropped: Callable[[], int] = lambda: 0
    ) -> None:
        """`log_lines_dropped` is only for the metrics.

        Raises:
            ConfigError: the listener or the security settings cannot be used.
        """
        self._host = host or this_host(counts_suspension=True)  # the lease goes on at the cluster
        super().__init__(config, self._host, log_lines_dropped)
        self._owner = Owner(node_id=config[NODE_ID], coordinator_epoch=self.loop.wall_ms())
        self._client_id = f"coordinator-node-{self._owner.node_id}"
        self._timeout_seconds = config[keys.CLUSTER_REQUEST_TIMEOUT_MS] / 1000
        self._append_times: TimeHistogram | None = None
        self._tasks = Tasks()
        self._watching: Watching | None = None
        self._is_started = False
        self._rights = CachedRights()
        self._listener = node_listener(config)
        self._security = node_security(config, self._listener.security_protocol)
        endpoint = self._listener.endpoint_at(self._listener.address.port)
        self.address: Final = NodeAddress(
            node_id=self._owner.node_id,
            host=endpoint.host,
            port=endpoint.port,
            broker_port_base=config[keys.CLUSTER_BROKER_PORT_BASE],
        )
        lease = Lease(LEASE_MS, self.loop.now_ms)
        self.leads: Final = PartitionLeads(self.address, lease, self._owner.coordinator_epoch, self.loop.now_ms)
        secret, self._checked_by = nodes_secret(config, self._security.own)
        self._seals = Seals(secret, config[keys.CLUSTER_NODES_GROUP_ID])
        token = self._seals.peer_token
        self._peers = Peers(self._security.peers, self.leads.check_lease, peer_client_id(token))
        brokers = Brokers(
            Bootstrap(config[keys.CLUSTER_BOOTSTRAP_SERVERS], self._security.own),
            client_id=self._client_id,
            timeout_seconds=self._timeout_seconds,
            before_responses=self.leads.check_lease,
        )
        self._access = BrokerLogAccess(brokers, self.leads.check_lease)
        self.links: Final = ClusterLinks(
            brokers=brokers,
            access=self._access,
            sentinels=Sentinels(brokers),
            topics=ClusterTopics(brokers, TopicNames(brokers, self.loop.slices)),
            settings=ClusterGroupSettings(config, brokers),
            lease=lease,
            leads=self.leads,
        )
        self._visible = VisibleTopics(self.links.topics)

    # ---------------------------------------------------------------------------------------------------------- start

    async def start(self) -> None:
        """Reach the cluster, make the topics of the log, listen, and join the other nodes.

        Raises:
            ConfigError: settings that cannot be used, or a cluster that cannot be.
            ListenError: an address that cannot be bound.
        """
        try:
            await self._start()
        except BaseException as problem:
            await self._close()
            if isinstance(problem, BrokerError | TopicError):
                raise ConfigError(f"{keys.CLUSTER_BOOTSTRAP_SERVERS.name}: {problem}") from None
            raise
        self._warn_about_security()
        if not self._seals.are_checked:
            logger.warning("security", problem=UNCHECKED)
        cluster = self._config[keys.CLUSTER_BOOTSTRAP_SERVERS]
        logger.info("serving", bootstrap=self.bootstrap, cluster=cluster, node=self._owner.node_id)

    async def _start(self) -> None:
        self._bind_admin()
        if self._admin is not None:
            from coordinator.metrics.timing import TimeHistogram

            self._append_times = TimeHistogram(APPEND_BOUNDS_MS)
        log = await self._reach_cluster()
        config, loop, links, lost = self._config, self.loop, self.links, LostPartitions(self.loop.now_ms)
        appended = _ignore_time if self._append_times is None else self._append_times.observe
        listing = TopicListing(links.topics.all, _no_metadata_log, self._visible.visible)
        logs = group_home(config, loop, links, log, self._owner, lost, appended, listing)
        self.groups = make_group_parts(config, loop, logs, self.metrics)
        self.home = make_cluster_home(config, loop, links, self.groups, self._owner, lost)
        await self._make_watching(log)
        self._make_front()
        self._is_started = True
        self._schedule()
        await self._listen()
        self._begin(log.partition_count)
        self._serve_admin()

    async def _reach_cluster(self) -> LogTopics:
        config = self._config
        await self.links.brokers.refresh()
        brokers = self.links.brokers.by_id
        self._check_ids(brokers)
        await check_connections_of_clients(self._security, [*brokers.values()], self._client_id, self._timeout_seconds)
        return await prepare_topics(
            self.links.brokers,
            log_topics(config[keys.MEMBERSHIP_TOPIC_MIN_ISR], config[keys.AUDIT_TOPIC_RETENTION_MS]),
            config[keys.MEMBERSHIP_TOPIC_NUM_PARTITIONS],
            config[keys.MEMBERSHIP_TOPIC_REPLICATION_FACTOR],
        )

    async def _make_watching(self, log: LogTopics) -> None:
        """Make it; where a setting names groups, a cluster where none can be watched ends the start."""
        config, links, ownership = self._config, self.links, self.home.ownership
        patterns = config[keys.CLUSTER_WATCH]
        min_in_sync, replicas = config[keys.MEMBERSHIP_TOPIC_MIN_ISR], config[keys.MEMBERSHIP_TOPIC_REPLICATION_FACTOR]
        self._watching = Watching(
            Bootstrap(config[keys.CLUSTER_BOOTSTRAP_SERVERS], self._security.own),
            self._owner.node_id,
            WatchedGroups(patterns, config[keys.CLUSTER_NODES_GROUP_ID], ownership.is_owned),
            log.partition_count,
            self.leads,
            partial(prepare_sightings, links.brokers, log, min_in_sync, replicas),
            self.loop.wall_ms,
        )
        self._watching.follow(self.groups.coordinator, ownership)
        if patterns:
            await completed(self._watching.prepare())

    def _make_front(self) -> None:
        config, links, groups, home = self._config, self.links, self.groups, self.home
        directory = NodeDirectory(
            links.brokers,
            self.leads,
            home.ownership,
            self._peers,
            nodes_group_id=config[keys.CLUSTER_NODES_GROUP_ID],
            node_id_base=config[keys.CLUSTER_NODE_ID_BASE],
            partition_of=groups.coordinator.partition_of,
        )
        assert self._watching is not None
        watch_changes = WatchChanges(
            groups.coordinator, home.ownership, self._watching, links.brokers.list_groups, self.loop.wall_ms
        )
        owners = OwnerHandlers(
            groups.coordinator,
            self.leads,
            home.ownership,
            home.changes,
            watch_changes,
            links.sentinels,
            self._checked_by,
        )
        parts = FrontParts(
            config=config,
            host=self._host,
            loop=self.loop,
            groups=groups,
            home=home,
            owners=owners,
            topics=links.topics,
            visible=self._visible,
            settings=links.settings,
            directory=directory,
            upstreams=Upstreams(directory, self._security.clients.tls_context),
            broker_ids=lambda: links.brokers.by_id,
            peers_log_in=self._security.own.login is not None,
            peer_token=self._seals.peer_token,
            check_lease=self.leads.check_lease,
            tap=self._watching.tap,
        )
        terms = login_terms(parts, self._listener) if parts.peers_log_in else None
        front = front_home(parts, self._listener, self._rights, terms)
        self.front = make_front(config, self._host, self.loop, groups, front, self.metrics)
        self.broker_listeners = make_broker_listeners(parts, self._listener, self.front, terms)

    def _schedule(self) -> None:
        scheduler, coordinator = self.loop.scheduler, self.groups.coordinator
        lease_timer = LeaseTimer(self.links.lease, scheduler)
        self.leads.on_gained(lease_timer.gained)
        # First of all, as what follows may belong to a partition that this node leads no more.
        scheduler.on_iteration_end(lambda now_ms: self.leads.check_lease())
        scheduler.on_iteration_end(self.loop.wall.follow)
        scheduler.on_iteration_end(coordinator.drain)
        scheduler.on_due(lambda key, now_ms: self.leads.check_lease())
        scheduler.on_due(lease_timer.due)
        scheduler.on_due(coordinator.due)

    async def _listen(self) -> None:
        await self.front.listeners.open()
        self._open_broker_ports()

    def _begin(self, partition_count: int) -> None:
        """Begin all that goes on without requests."""
        links = self.links
        links.topics.start()
        links.settings.start()
        links.sentinels.start()
        self.home.unused.start()
        self.home.held.start()
        group_id = self._config[keys.CLUSTER_NODES_GROUP_ID]
        self.member = NodesGroupMember(
            links.brokers, group_id, partition_count, self.leads, links.lease, self.loop.now_ms, self._seals
        )
        self.leads.on_lease_over(self.member.rejoin)
        self.member.start()
        self._tasks.every(RENEWAL_CHECK_SECONDS, self._renew)
        if self._watching is not None:
            self._watching.start()

    def _serve_admin(self) -> None:
        if self._admin is None or self._append_times is None:
            return
        parts = MeasuredParts(loop=self.loop, links=self.links, groups=self.groups, home=self.home)
        self._admin.metrics.register(self.front.denials.samples)
        measure_cluster_node(self._admin.metrics, parts, self._append_times)
        if self._watching is not None:
            self._admin.metrics.register(self._watching.samples)
        self._admin.serve(tuple, self.front.listeners.secure_admin())

    def _check_ids(self, brokers: Mapping[int, Broker]) -> None:
        base = self._config[keys.CLUSTER_NODE_ID_BASE]
        clashing = sorted(broker_id for broker_id in brokers if broker_id >= base)
        if clashing:
            raise ConfigError(
                f"{keys.CLUSTER_NODE_ID_BASE.name}={base}: the cluster has a broker {clashing[0]}; choose a larger one"
            )

    # -------------------------------------------------------------------------------------------------- while it runs

    def _open_broker_ports(self) -> None:
        """Raises ListenError: clients are sent to these ports, so a node without one of them must not start."""
        listeners = self.broker_listeners
        try:
            listeners.follow(self.links.brokers.by_id)
        except BrokerPortError as problem:
            raise ListenError(f"{keys.CLUSTER_BROKER_PORT_BASE.name}: {problem}") from None
        brokers = self.links.brokers
        brokers.on_brokers(lambda _: listeners.keep_following(lambda: brokers.by_id))

    async def _renew(self) -> None:
        renew_epochs(self.groups.coordinator)

    def _paused(self, from_ms: int, until_ms: int, pause_kind: str) -> CoordinatorPaused:
        self.leads.check_lease()
        paused = super()._paused(from_ms, until_ms, pause_kind)
        self.home.lost.paused(paused, from_ms)
        return paused

    # ----------------------------------------------------------------------------------------------------------- stop

    async def stop(self) -> None:
        """Have what was decided stored, then leave to the other nodes what this one leads."""
        coordinator = self.groups.coordinator
        coordinator.report(self._stopped())
        # No snapshots, as where there are logs of its own: another node waits for these partitions.
        coordinator.drain(self.loop.now_ms())
        until = self.loop.now_ms() + STOP_SECONDS * 1000
        while not is_stored(coordinator) and self.loop.now_ms() < until:
            await asyncio.sleep(0.005)
        self.leads.give_up_all("the node stops")
        await self.member.stop()
        await self._close()
        logger.info("stopped")

    async def _close(self) -> None:
        self._tasks.cancel()
        if self._admin is not None:
            await self._admin.stop()
        if self._is_started:
            self.front.listeners.close()
            self.broker_listeners.close()
            self._close_connections()
            self._rights.close()
            self.home.stop()
        if self._watching is not None:
            self._watching.stop()
        self._peers.close()
        self.links.topics.stop()
        self.links.settings.stop()
        self.links.sentinels.stop()
        self._access.close()
        self.links.brokers.close()
        self.loop.abandon()


def node_listener(config: Config) -> Listener:
    """The one listener that there is. Raises ConfigError."""
    listeners = parse_listeners(config)
    if len(listeners) != 1:
        raise ConfigError(f"{LISTENERS.name}: a node in front of a cluster has one listener")
    if not listeners[0].address.port:
        raise ConfigError(f"{LISTENERS.name}: a node in front of a cluster needs a port that is not 0")
    return listeners[0]


def _no_metadata_log() -> int:
    """The end of a log that the cluster has and a node does not read."""
    return 0


def _ignore_time(ms: float) -> None:
    """Nobody scrapes."""
