"""Building of what a node in front of a cluster needs to coordinate groups; its ports are made in `front.py`."""

import random
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.groups.coordinator import ClusterGroupCoordinator, make_cluster_group_coordinator
from coordinator.cluster.groups.topics import ClusterTopics
from coordinator.cluster.handlers.forwarding import Forwarder
from coordinator.cluster.held_groups import HeldGroups
from coordinator.cluster.leads import PartitionLeads
from coordinator.cluster.log.access import LogAccess
from coordinator.cluster.log.notes import Owner
from coordinator.cluster.log.topics import LogTopics
from coordinator.cluster.nodes.lease import Lease
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.ownership_changes import OwnershipChanges
from coordinator.cluster.sentinels.sentinels import Sentinels
from coordinator.cluster.unused_groups import UnusedGroups
from coordinator.config.cluster_keys import CLUSTER_ADOPT, CLUSTER_NODES_GROUP_ID
from coordinator.config.group_keys import OFFSETS_RETENTION_CHECK_INTERVAL_MS, OFFSETS_RETENTION_MINUTES
from coordinator.config.settings import Config
from coordinator.core.address_limits import AddressLimits
from coordinator.core.decision import Environment
from coordinator.core.pauses import Pauses
from coordinator.front.node_loop import NodeLoop
from coordinator.front.pending_requests import PendingRequests
from coordinator.groups.sessions import SessionTable
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.runtime.shard import Shard

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics

MS_PER_MINUTE = 60_000


class ClusterLinks(msgspec.Struct, frozen=True, kw_only=True):
    """What connects a node to the cluster, and to the other nodes."""

    brokers: Brokers
    access: LogAccess
    sentinels: Sentinels
    topics: ClusterTopics
    lease: Lease
    leads: PartitionLeads


class ClusterGroups(msgspec.Struct, frozen=True, kw_only=True):
    """The group coordinator of a node, and which groups are the nodes'."""

    owner: Owner
    environment: Environment
    sessions: SessionTable
    pending: PendingRequests
    pauses: Pauses
    coordinator: ClusterGroupCoordinator
    ownership: GroupOwnership
    changes: OwnershipChanges
    unused: UnusedGroups
    held: HeldGroups
    forwarder: Forwarder

    def stop(self) -> None:
        """Ask the cluster for nothing more."""
        self.forwarder.stop()
        self.ownership.stop()
        self.unused.stop()
        self.held.stop()


def make_cluster_groups(
    config: Config,
    loop: NodeLoop,
    links: ClusterLinks,
    log: LogTopics,
    owner: Owner,
    *,
    appended: Callable[[float], None],
    metrics: "NodeMetrics | None",
) -> ClusterGroups:
    """Make them; no partition is led yet. `appended` is told how long each append took, in ms.

    Raises:
        ConfigError: a setting that nodes in front of a cluster do not have.
    """
    pending, pauses = PendingRequests(), Pauses()
    sessions = SessionTable(loop.wheel, random.SystemRandom().getrandbits(64))
    environment = Environment(
        config, links.topics, sessions, _new_id, addresses=AddressLimits(config), wall=loop.wall, pauses=pauses
    )
    coordinator = make_cluster_group_coordinator(
        config,
        log,
        links.access,
        environment,
        sessions,
        pending,
        wheel=loop.wheel,
        now_ms=loop.now_ms,
        request_iteration=loop.scheduler.request_iteration,
        owner=owner,
        cluster=links.topics,
        may_lead=links.leads.may_lead,
        fenced=links.leads.fenced,
        appended=appended,
        metrics=metrics,
    )
    ownership = GroupOwnership(coordinator, links.sentinels, config[CLUSTER_ADOPT], loop.wall_ms)
    changes = OwnershipChanges(
        coordinator, ownership, links.sentinels, links.brokers.list_groups, pending, loop.wall_ms
    )
    unused = UnusedGroups(
        coordinator,
        ownership,
        changes,
        links.sentinels,
        check_ms=config[OFFSETS_RETENTION_CHECK_INTERVAL_MS],
        retention_ms=config[OFFSETS_RETENTION_MINUTES] * MS_PER_MINUTE,
        now_ms=loop.now_ms,
    )
    held = HeldGroups(
        coordinator,
        ownership,
        links.sentinels,
        links.brokers.list_groups,
        owner,
        nodes_group_id=config[CLUSTER_NODES_GROUP_ID],
        wall_ms=loop.wall_ms,
    )
    ownership.on_held(held.asked_for)
    coordinator.on_loaded(held.loaded)
    _follow(links, coordinator, ownership)
    return ClusterGroups(
        owner=owner,
        environment=environment,
        sessions=sessions,
        pending=pending,
        pauses=pauses,
        coordinator=coordinator,
        ownership=ownership,
        changes=changes,
        unused=unused,
        held=held,
        forwarder=Forwarder(links.sentinels),
    )


def _follow(links: ClusterLinks, coordinator: ClusterGroupCoordinator, ownership: GroupOwnership) -> None:
    """Have partitions served and given up as the node leads them."""

    def know_topics(shard: Shard[GroupStateMachine]) -> None:
        """Have the topics looked up that members of loaded groups read, before one of the groups rebalances."""
        for group in shard.machine.groups.values():
            topics = group.kind.offsets.topics_read(group.membership)
            if isinstance(topics, frozenset):
                links.topics.know(topics, _ignore)

    links.leads.on_gained(coordinator.load)
    links.leads.on_lost(coordinator.unload)
    links.leads.on_lost(ownership.unloaded)
    coordinator.on_loaded(ownership.loaded)
    coordinator.on_loaded(know_topics)


def _new_id() -> str:
    return str(uuid.uuid4())


def _ignore(result: None) -> None:
    """Nobody waits."""
