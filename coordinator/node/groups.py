"""Building of what a node needs to coordinate groups, and its start."""

import random
import uuid
from functools import partial
from typing import TYPE_CHECKING

from coordinator import __version__
from coordinator.audit.schema import CoordinatorStarted
from coordinator.broker.group_configs import current_group_settings
from coordinator.broker.partitions import Partitions
from coordinator.broker.retention import Retention
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.core.address_limits import AddressLimits
from coordinator.core.decision import Environment
from coordinator.core.pauses import Pauses
from coordinator.core.topic_listing import TopicListing
from coordinator.front.group_parts import GroupParts
from coordinator.front.node_loop import NodeLoop
from coordinator.front.pending_requests import PendingRequests
from coordinator.groups.audit_checkpoints import AuditCheckpoints
from coordinator.groups.audit_retention import AuditRetention
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.groups.sessions import SessionTable
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC
from coordinator.log.data_dirs.checkpoints import GROUP_AUDIT
from coordinator.node.authorizers import describes_topics
from coordinator.node.coordinators import make_group_coordinator, unload_offline_groups
from coordinator.node.storage import Storage

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics


def make_groups(config: Config, loop: NodeLoop, storage: Storage, metrics: "NodeMetrics | None") -> GroupParts:
    """Make the group coordinator; no partition is loaded yet."""
    pending, pauses = PendingRequests(), Pauses()
    sessions = SessionTable(loop.wheel, random.SystemRandom().getrandbits(64))
    # Topics, configs of groups and features are in the metadata.
    storage.metadata.add_record_listener(sessions.close_all_heartbeats)
    # Whether the assignment interval is over depends on the wall clock.
    loop.wall.add_step_listener(lambda step_ms: sessions.close_all_heartbeats())
    environment = Environment(
        config,
        storage.image,
        sessions,
        _new_id,
        addresses=AddressLimits(config),
        producer_ids=storage.producer_ids,
        wall=loop.wall,
        pauses=pauses,
        settings=current_group_settings(config, storage.image),
        listing=TopicListing(storage.image, lambda: storage.metadata.end_offset, describes_topics(storage.authorizer)),
    )
    drain_meter = None if metrics is None else metrics.drain_meter(loop.scheduler.request_iteration)
    coordinator_epoch = storage.directories.next_coordinator_epoch()
    coordinator = make_group_coordinator(
        storage.partitions,
        environment,
        storage.notifier,
        pending,
        sessions,
        wheel=loop.wheel,
        request_iteration=(drain_meter or loop.scheduler).request_iteration,
        coordinator_epoch=coordinator_epoch,
        checkpoints=AuditCheckpoints(storage.directories.metadata_checkpoint(GROUP_AUDIT)),
        start_steps=loop.slices.start,
        when_durable=storage.when_durable,
        metrics=metrics,
    )
    coordinator.announce(
        CoordinatorStarted(
            time_ms=0, node_id=config[NODE_ID], coordinator_epoch=coordinator_epoch, software_version=__version__
        )
    )
    storage.failures.add_listener(partial(unload_offline_groups, storage.partitions, coordinator))
    return GroupParts(
        coordinator=coordinator,
        coordinator_epoch=coordinator_epoch,
        environment=environment,
        sessions=sessions,
        pauses=pauses,
        pending=pending,
        drain_meter=drain_meter,
    )


def load_groups(coordinator: GroupCoordinator, partitions: Partitions) -> None:
    """Begin to load the partitions that this node leads."""
    coordinator.load(
        index
        for index in range(len(coordinator.shards))
        if partitions.leads(OFFSETS_TOPIC, index) and partitions.leads(AUDIT_TOPIC, index)
    )


def start_retention(config: Config, loop: NodeLoop, storage: Storage, groups: GroupCoordinator) -> None:
    """Delete what is older or larger than topics keep; of the audit topic, never the last events of a live group."""
    audit = AuditRetention(
        groups.shards,
        lambda shard: groups.audit.request_snapshots(shard, loop.now_ms()),
        storage.flusher.request_flush,
    )
    retention = Retention(
        storage.image,
        storage.partitions,
        config,
        loop.scheduler,
        store_start_offsets=storage.flusher.store_log_start_offsets,
        wall_ms=loop.wall_ms,
        audit_retained_from=audit.retained_from,
    )
    retention.start(loop.now_ms())
    loop.scheduler.on_due(retention.due)


def _new_id() -> str:
    return str(uuid.uuid4())
