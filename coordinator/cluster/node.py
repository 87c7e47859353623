"""One node in front of an existing cluster: starts and stops its parts, in order."""

import asyncio
import random
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coordinator import __version__
from coordinator.audit.schema import CoordinatorPaused, CoordinatorStarted
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from coordinator.cluster.brokers.brokers import Broker, Brokers
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.directory import NodeDirectory
from coordinator.cluster.front import ClusterFront, FrontParts, make_cluster_front, without_login
from coordinator.cluster.groups.coordinator import ClusterGroupCoordinator, make_cluster_group_coordinator
from coordinator.cluster.groups.topics import ClusterTopics
from coordinator.cluster.handlers.forwarding import Forwarder
from coordinator.cluster.handlers.owners import OwnerHandlers
from coordinator.cluster.leads import PartitionLeads
from coordinator.cluster.log.broker_access import BrokerLogAccess
from coordinator.cluster.log.notes import Owner
from coordinator.cluster.log.topics import TopicError, log_topics, prepare_topics
from coordinator.cluster.measured import MeasuredParts, measure_cluster_node
from coordinator.cluster.nodes.lease import Lease
from coordinator.cluster.nodes.membership import LEASE_MS, NodesGroupMember
from coordinator.cluster.nodes.messages import NodeAddress
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.ownership_changes import OwnershipChanges
from coordinator.cluster.peers import Peers
from coordinator.cluster.relay.broker_listeners import BrokerPortError
from coordinator.cluster.relay.upstreams import Upstreams
from coordinator.cluster.sentinels.sentinels import Sentinels
from coordinator.config import cluster_keys as keys
from coordinator.config.key import ConfigError
from coordinator.config.listener_keys import LISTENERS
from coordinator.config.metrics_keys import ADMIN_LISTENER
from coordinator.config.properties import read_properties
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.core.address_limits import AddressLimits
from coordinator.core.decision import Environment
from coordinator.core.pauses import Pauses
from coordinator.groups.sessions import SessionTable
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.listen_address import ListenError
from coordinator.log.errors import LogError
from coordinator.logger import logger
from coordinator.runtime.shard import Shard
from coordinator.server.host import Host, this_host
from coordinator.server.listener import Listener, parse_listeners
from coordinator.server.metered import bind_admin
from coordinator.server.node_loop import NodeLoop
from coordinator.server.pending_requests import PendingRequests

if TYPE_CHECKING:
    from coordinator.admin.port import AdminPort
    from coordinator.metrics.node_metrics import NodeMetrics

APPEND_BOUNDS_MS: Final = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000)
RENEWAL_CHECK_SECONDS: Final = 600
STOP_SECONDS: Final = 3
"""How long a stop waits for what was decided to be acknowledged by the cluster."""


class ClusterNode:
    """Made and started in a running loop, stopped once."""

    def __init__(
        self, config: Config, *, host: Host | None = None, log_lines_dropped: Callable[[], int] = lambda: 0
    ) -> None:
        """`log_lines_dropped` is only for the metrics."""
        self._config = config
        self._host = host or this_host()
        self.loop: Final = NodeLoop(self._host)
        self._node_id = config[NODE_ID]
        self._started_ms = self.loop.wall_ms()
        self._renewing: asyncio.Task[None] | None = None
        self._log_lines_dropped = log_lines_dropped
        self._admin: AdminPort | None = None
        self._metrics: NodeMetrics | None = None
        self._lease = Lease(LEASE_MS, self.loop.now_ms)
        self.brokers = Brokers(
            Bootstrap(config[keys.CLUSTER_BOOTSTRAP_SERVERS], security_of(config)),
            client_id=f"coordinator-node-{self._node_id}",
            timeout_seconds=config[keys.CLUSTER_REQUEST_TIMEOUT_MS] / 1000,
            before_responses=self.check_lease,
        )
        self.access = BrokerLogAccess(self.brokers, self.check_lease)
        self.sentinels = Sentinels(self.brokers)
        self.topics = ClusterTopics(self.brokers)
        self.pauses = Pauses()
        self.listener = _listener(config)
        endpoint = self.listener.endpoint_at(self.listener.address.port)
        self.address = NodeAddress(
            node_id=self._node_id,
            host=endpoint.host,
            port=endpoint.port,
            broker_port_base=config[keys.CLUSTER_BROKER_PORT_BASE],
        )
        self.leads = PartitionLeads(self.address, self._lease, self._started_ms, self.loop.now_ms)
        self._peers = Peers(security_of(config), self.check_lease)

    @property
    def failure(self) -> "asyncio.Future[LogError]":
        """Done when the process must end without a stop; it has no disk that may fail."""
        return self.loop.failure

    @property
    def bootstrap(self) -> str:
        return f"{self.address.host}:{self.address.port}"

    @property
    def admin(self) -> str | None:
        """HOST:PORT of the admin port; None when there is none."""
        return None if self._admin is None else self._admin.address

    def check_lease(self) -> None:
        """Give up what this node leads if its lease is over: before anything is answered or sent."""
        self.leads.check_lease()

    # ---------------------------------------------------------------------------------------------------------- start

    async def start(self) -> None:
        """Reach the cluster, make the topics of the log, listen, and join the other nodes.

        Raises:
            ConfigError: settings that cannot be used, or a cluster that cannot be.
            ListenError: an address that cannot be bound.
        """
        try:
            await self._start()
        except (BrokerError, TopicError) as problem:
            raise ConfigError(f"{keys.CLUSTER_BOOTSTRAP_SERVERS.name}: {problem}") from None
        except BaseException:
            await self._close()
            raise
        logger.info(
            "serving",
            bootstrap=self.bootstrap,
            cluster=self._config[keys.CLUSTER_BOOTSTRAP_SERVERS],
            node=self._node_id,
        )

    async def _start(self) -> None:
        config = self._config
        append_times = None
        if config[ADMIN_LISTENER]:
            from coordinator.metrics.timing import TimeHistogram

            self._admin, self._metrics = bind_admin(config, self._log_lines_dropped)
            append_times = TimeHistogram(APPEND_BOUNDS_MS)
        await self.brokers.refresh()
        self._check_ids(self.brokers.by_id)
        made = log_topics(config[keys.MEMBERSHIP_TOPIC_MIN_ISR], config[keys.AUDIT_TOPIC_RETENTION_MS])
        log = await prepare_topics(
            self.brokers,
            made,
            config[keys.MEMBERSHIP_TOPIC_NUM_PARTITIONS],
            config[keys.MEMBERSHIP_TOPIC_REPLICATION_FACTOR],
        )
        loop = self.loop
        pending = PendingRequests()
        sessions = SessionTable(loop.wheel, random.SystemRandom().getrandbits(64))
        environment = Environment(
            config,
            self.topics,
            sessions,
            lambda: str(uuid.uuid4()),
            addresses=AddressLimits(config),
            wall=loop.wall,
            pauses=self.pauses,
        )
        owner = Owner(node_id=self._node_id, coordinator_epoch=self._started_ms)
        self.coordinator: ClusterGroupCoordinator = make_cluster_group_coordinator(
            config,
            log,
            self.access,
            environment,
            sessions,
            pending,
            wheel=loop.wheel,
            now_ms=loop.now_ms,
            request_iteration=loop.scheduler.request_iteration,
            owner=owner,
            cluster=self.topics,
            may_lead=self.leads.may_lead,
            fenced=self.leads.fenced,
            appended=_ignore_time if append_times is None else append_times.observe,
            metrics=self._metrics,
        )
        self.ownership = GroupOwnership(self.coordinator, self.sentinels, config[keys.CLUSTER_ADOPT], loop.wall_ms)
        self.leads.on_gained(self.coordinator.load)
        self.leads.on_lost(self.coordinator.unload)
        self.leads.on_lost(self.ownership.unloaded)
        self.coordinator.on_loaded(self.ownership.loaded)
        self.coordinator.on_loaded(self._know_topics)
        directory = NodeDirectory(
            self.brokers,
            self.leads,
            self.ownership,
            self._peers,
            nodes_group_id=config[keys.CLUSTER_NODES_GROUP_ID],
            node_id_base=config[keys.CLUSTER_NODE_ID_BASE],
            partition_of=self.coordinator.partition_of,
        )
        self.forwarder = Forwarder(self.sentinels)
        changes = OwnershipChanges(
            self.coordinator, self.ownership, self.sentinels, self.brokers.list_groups, pending, loop.wall_ms
        )
        self.front: ClusterFront = make_cluster_front(
            FrontParts(
                config=config,
                host=self._host,
                loop=loop,
                environment=environment,
                sessions=sessions,
                pending=pending,
                coordinator=self.coordinator,
                ownership=self.ownership,
                owner=owner,
                owners=OwnerHandlers(self.coordinator, self.leads, self.ownership, changes, self.sentinels),
                topics=self.topics,
                forwarder=self.forwarder,
                directory=directory,
                upstreams=Upstreams(directory, security_of(config).tls_context),
                some_broker=lambda: next(iter(self.brokers.by_id), None),
                check_lease=self.check_lease,
            ),
            self.listener,
            self._metrics,
        )
        self._schedule()
        self.coordinator.announce(
            CoordinatorStarted(
                time_ms=0,
                node_id=self._node_id,
                coordinator_epoch=self._started_ms,
                software_version=__version__,
            )
        )
        await self.front.listeners.open()
        self._open_broker_ports()
        self.topics.start()
        self.sentinels.start()
        self.member = NodesGroupMember(
            self.brokers,
            config[keys.CLUSTER_NODES_GROUP_ID],
            log.partition_count,
            self.leads,
            self._lease,
            loop.now_ms,
        )
        self.leads.on_lease_over(self.member.rejoin)
        self.member.start()
        self._renewing = asyncio.get_running_loop().create_task(self._renew())
        if self._admin is not None and self._metrics is not None and append_times is not None:
            parts = MeasuredParts(
                loop=loop,
                coordinator=self.coordinator,
                coordinator_epoch=self._started_ms,
                sessions=sessions,
                pending=pending,
                leads=self.leads,
                lease=self._lease,
                ownership=self.ownership,
                sentinels=self.sentinels,
                brokers=self.brokers,
                denials=self.front.denials.counts,
            )
            measure_cluster_node(self._metrics, parts, append_times)
            await self._admin.start(self._metrics, ())

    def _schedule(self) -> None:
        scheduler = self.loop.scheduler
        scheduler.on_iteration_end(lambda now_ms: self.check_lease())
        scheduler.on_iteration_end(self.loop.wall.follow)
        scheduler.on_iteration_end(self.coordinator.drain)
        # First of all, as what is due belongs to a partition that this node may lead no more.
        scheduler.on_due(lambda key, now_ms: self.check_lease())
        scheduler.on_due(self.loop.delays.due)
        scheduler.on_due(self.coordinator.due)

    def _check_ids(self, brokers: Mapping[int, Broker]) -> None:
        base = self._config[keys.CLUSTER_NODE_ID_BASE]
        clashing = sorted(broker_id for broker_id in brokers if broker_id >= base)
        if clashing:
            raise ConfigError(
                f"{keys.CLUSTER_NODE_ID_BASE.name}={base}: the cluster has a broker {clashing[0]}; choose a larger one"
            )

    def _know_topics(self, shard: Shard[GroupStateMachine]) -> None:
        """Have the topics looked up that the members of loaded groups read, before one of the groups rebalances."""
        for group in shard.machine.groups.values():
            topics = group.kind.offsets.topics_read(group.membership)
            if isinstance(topics, frozenset):
                self.topics.know(topics, _ignore)

    def _open_broker_ports(self) -> None:
        """Raises ListenError: clients are sent to these ports, so a node without one of them must not start."""
        listeners = self.front.broker_listeners
        try:
            listeners.follow(self.brokers.by_id)
        except BrokerPortError as problem:
            raise ListenError(f"{keys.CLUSTER_BROKER_PORT_BASE.name}: {problem}") from None
        self.brokers.on_brokers(lambda brokers: listeners.keep_following(lambda: self.brokers.by_id))

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL_CHECK_SECONDS)
            self.coordinator.renew_epochs()

    # -------------------------------------------------------------------------------------------------- while it runs

    def stood_still(self, seconds: float, pause_kind: str) -> None:
        """The event loop stood still until now: whom it did not hear meanwhile need not have been silent."""
        self.check_lease()
        until_ms = self.loop.now_ms()
        from_ms = until_ms - round(seconds * 1000)
        self.pauses.add(from_ms, until_ms)
        self.coordinator.report(
            CoordinatorPaused(
                time_ms=0,
                node_id=self._node_id,
                coordinator_epoch=self._started_ms,
                from_ms=self.loop.wall.at(from_ms),
                until_ms=self.loop.wall.at(until_ms),
                pause_kind=pause_kind,
            )
        )

    # ----------------------------------------------------------------------------------------------------------- stop

    async def stop(self) -> None:
        """Have what was decided stored, then leave to the other nodes what this one leads."""
        self.coordinator.stop(self.loop.now_ms())
        until = self.loop.now_ms() + STOP_SECONDS * 1000
        while not self.coordinator.is_stored and self.loop.now_ms() < until:
            await asyncio.sleep(0.005)
        self.leads.give_up_all("the node stops")
        await self.member.stop()
        await self._close()
        logger.info("stopped")

    async def _close(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
        if self._admin is not None and self._metrics is not None:
            await self._admin.stop()
            self._metrics.loop.stop()
        if hasattr(self, "front"):
            self.front.listeners.close()
            self.front.broker_listeners.close()
            for connection in list(self.front.dispatcher.connections):
                connection.close()
            self.front.rights.close()
            self.forwarder.stop()
            self.ownership.stop()
        self._peers.close()
        self.topics.stop()
        self.sentinels.stop()
        self.access.close()
        self.brokers.close()
        self.loop.abandon()
        self.loop.disk_threads.stop()
        self.loop.compression_threads.stop()


def _ignore_time(ms: float) -> None:
    """Nobody scrapes."""


def _ignore(result: None) -> None:
    """Nobody waits."""


def security_of(config: Config) -> ClientSecurity:
    """How this node connects to the brokers. Raises ConfigError."""
    path = config[keys.CLUSTER_COMMAND_CONFIG]
    return ClientSecurity(read_properties(Path(path)) if path else {})


def _listener(config: Config) -> Listener:
    """The one listener that there is."""
    listeners = parse_listeners(config)
    if len(listeners) != 1:
        raise ConfigError(f"{LISTENERS.name}: a node in front of a cluster has one listener")
    if not listeners[0].address.port:
        raise ConfigError(f"{LISTENERS.name}: a node in front of a cluster needs a port that is not 0")
    if listeners[0].security_protocol.has_tls:
        raise ConfigError(f"{LISTENERS.name}: the listener of a node in front of a cluster cannot have TLS yet")
    return without_login(listeners[0])
