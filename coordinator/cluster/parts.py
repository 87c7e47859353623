"""Building of what a node in front of a cluster needs to coordinate groups; its ports are made in `front.py`."""

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from coordinator.audit.coordinator_events import coordinator_record
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.groups.audit_stream import ClusterAuditStream
from coordinator.cluster.groups.group_settings import ClusterGroupSettings
from coordinator.cluster.groups.group_topics import look_up, topics_of
from coordinator.cluster.groups.lost_partitions import LostPartitions
from coordinator.cluster.groups.topics import ClusterTopics
from coordinator.cluster.held_groups import HeldGroups
from coordinator.cluster.leads import PartitionLeads
from coordinator.cluster.log.access import LogAccess
from coordinator.cluster.log.cluster_log import ClusterLog
from coordinator.cluster.log.notes import Owner
from coordinator.cluster.log.store import ClusterStore
from coordinator.cluster.log.topics import LogTopics
from coordinator.cluster.nodes.lease import Lease
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.ownership_changes import OwnershipChanges
from coordinator.cluster.sentinels.forwarding import Forwarder
from coordinator.cluster.sentinels.sentinels import Sentinels
from coordinator.cluster.unused_groups import UnusedGroups
from coordinator.config.audit_keys import AUDIT_CHAIN, AUDIT_COMPRESSION_TYPE
from coordinator.config.cluster_keys import CLUSTER_ADOPT, CLUSTER_NODES_GROUP_ID
from coordinator.config.group_keys import (
    OFFSETS_LOAD_BUFFER_SIZE,
    OFFSETS_RETENTION_CHECK_INTERVAL_MS,
    OFFSETS_RETENTION_MINUTES,
)
from coordinator.config.key import ConfigError
from coordinator.config.settings import Config
from coordinator.core.topic_listing import TopicListing
from coordinator.front.group_parts import GroupHome, GroupLogs, GroupParts
from coordinator.front.node_loop import NodeLoop
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.groups.shared_partitions import SharedPartitions
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.internal_topics import AUDIT_TOPIC, MEMBERSHIP_TOPIC
from coordinator.runtime.shard import Shard

MS_PER_MINUTE = 60_000
TRANSACTIONAL_ID_PREFIX: Final = "__group_coordinator-"
"""The transactional id of a partition is this with its number: it is written by who got its last producer epoch."""


class ClusterLinks(msgspec.Struct, frozen=True, kw_only=True):
    """What connects a node to the cluster, and to the other nodes."""

    brokers: Brokers
    access: LogAccess
    sentinels: Sentinels
    topics: ClusterTopics
    settings: ClusterGroupSettings
    lease: Lease
    leads: PartitionLeads


class ClusterHome(msgspec.Struct, frozen=True, kw_only=True):
    """Which groups are the nodes', and what is done at the cluster for them."""

    owner: Owner
    lost: LostPartitions
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


def group_home(
    config: Config,
    loop: NodeLoop,
    links: ClusterLinks,
    log: LogTopics,
    owner: Owner,
    lost: LostPartitions,
    appended: Callable[[float], None],
    listing: TopicListing,
) -> GroupHome:
    """The topics of the nodes in the cluster. `appended` is told how long each append took, in ms.

    Raises:
        ConfigError: a setting that nodes in front of a cluster do not have.
    """
    if config[AUDIT_CHAIN]:
        raise ConfigError(f"{AUDIT_CHAIN.name}=true: the audit of nodes in front of a cluster has no chain")

    logs = partial(_logs, config, loop, links, log, owner, appended)
    return GroupHome(
        node_id=owner.node_id,
        coordinator_epoch=owner.coordinator_epoch,
        topic=MEMBERSHIP_TOPIC,
        partition_count=log.partition_count,
        logs=logs,
        topics=links.topics,
        audited=links.topics,
        listing=listing,
        look_up=partial(look_up, links.topics),
        settings=links.settings.by_kind,
        shared=SharedPartitions(may_lead=links.leads.may_lead, unload=lost.unload),
        keeps_offsets=False,
    )


def _logs(
    config: Config,
    loop: NodeLoop,
    links: ClusterLinks,
    log: LogTopics,
    owner: Owner,
    appended: Callable[[float], None],
    index: int,
) -> GroupLogs:
    audit = ClusterLog(links.access, AUDIT_TOPIC, index, log.audit)
    store = ClusterStore(
        links.access,
        ClusterLog(links.access, MEMBERSHIP_TOPIC, index, log.groups),
        audit,
        owner,
        transactional_id=f"{TRANSACTIONAL_ID_PREFIX}{index}",
        audit_record=lambda leadership: coordinator_record(leadership, leadership.time_ms),
        may_lead=partial(links.leads.may_lead, index),
        fenced=partial(links.leads.fenced, index),
        now_ms=loop.now_ms,
        wall=loop.wall,
        load_bytes=config[OFFSETS_LOAD_BUFFER_SIZE],
        audit_compression=config[AUDIT_COMPRESSION_TYPE],
        appended=appended,
    )
    return GroupLogs(store, ClusterAuditStream(audit, store, config[OFFSETS_LOAD_BUFFER_SIZE]))


def make_cluster_home(
    config: Config, loop: NodeLoop, links: ClusterLinks, groups: GroupParts, owner: Owner, lost: LostPartitions
) -> ClusterHome:
    """Make it; no partition is led yet."""
    coordinator, sentinels, wall_ms = groups.coordinator, links.sentinels, loop.wall_ms
    list_groups = links.brokers.list_groups
    ownership = GroupOwnership(coordinator, sentinels, config[CLUSTER_ADOPT], wall_ms)
    changes = OwnershipChanges(coordinator, ownership, sentinels, list_groups, groups.pending, wall_ms)
    forwarder = Forwarder(sentinels)
    unused = UnusedGroups(
        coordinator,
        ownership,
        changes,
        forwarder,
        check_ms=config[OFFSETS_RETENTION_CHECK_INTERVAL_MS],
        retention_ms=config[OFFSETS_RETENTION_MINUTES] * MS_PER_MINUTE,
        now_ms=loop.now_ms,
    )
    nodes_group_id = config[CLUSTER_NODES_GROUP_ID]
    held = HeldGroups(
        coordinator, ownership, sentinels, list_groups, owner, nodes_group_id=nodes_group_id, wall_ms=wall_ms
    )
    lost.follow(coordinator)
    ownership.on_held(held.asked_for)
    coordinator.on_loaded(held.loaded)
    _follow(links, coordinator, ownership)
    close_heartbeats = groups.sessions.close_all_heartbeats
    links.topics.on_change(close_heartbeats)
    links.settings.on_change(close_heartbeats)
    # Whether the assignment interval is over depends on the wall clock.
    loop.wall.add_step_listener(lambda step_ms: close_heartbeats())
    return ClusterHome(
        owner=owner,
        lost=lost,
        ownership=ownership,
        changes=changes,
        unused=unused,
        held=held,
        forwarder=forwarder,
    )


def _follow(links: ClusterLinks, coordinator: GroupCoordinator, ownership: GroupOwnership) -> None:
    """Have partitions served and given up as the node leads them."""

    def learn(shard: Shard[GroupStateMachine]) -> None:
        """Have what the cluster knows of loaded groups looked up, before one of them rebalances."""
        for group in shard.machine.groups.values():
            if group.kind.name in links.settings.by_kind:
                links.settings.know(group.group_id, _ignore)
            links.topics.know(topics_of(group), _ignore)

    links.leads.on_gained(coordinator.load)
    links.leads.on_lost(coordinator.unload)
    links.leads.on_lost(ownership.unloaded)
    coordinator.on_loaded(ownership.loaded)
    coordinator.on_loaded(learn)


def _ignore(result: bool | None) -> None:
    """Nobody waits."""
