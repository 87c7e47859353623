"""The groups of a node with logs of its own: where they are stored, and how that begins."""

from functools import partial
from typing import TYPE_CHECKING

from _wire.compression import COMPRESSIONS
from coordinator.broker.configs.group_configs import current_group_settings
from coordinator.broker.partitions import Partitions
from coordinator.config.audit_keys import AUDIT_CHAIN, AUDIT_COMPRESSION_TYPE, GROUP_AUDIT_LINGER_MS
from coordinator.config.group_keys import OFFSETS_LOAD_BUFFER_SIZE, OFFSETS_TOPIC_COMPRESSION_CODEC
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.core.share_states import ShareStates
from coordinator.core.topic_listing import TopicListing, visible_by
from coordinator.front.group_parts import GroupHome, GroupLogs, GroupParts, make_group_parts
from coordinator.front.node_loop import NodeLoop
from coordinator.groups.audit_checkpoints import AuditCheckpoints
from coordinator.groups.audit_stream import AuditStream
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.groups.offsets_stream import OffsetsStream
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC
from coordinator.log.data_dirs.checkpoints import GROUP_AUDIT
from coordinator.node.authorizers import describes_topics
from coordinator.node.internal_topic_creation import InternalTopicCreation
from coordinator.node.storage import Storage
from coordinator.runtime.interfaces import AppendMeter
from coordinator.runtime.shard import ShardState
from coordinator.runtime.store import LogStore

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics


def make_groups(
    config: Config, loop: NodeLoop, storage: Storage, share_states: ShareStates, metrics: "NodeMetrics | None"
) -> GroupParts:
    """Make the group coordinator; no partition is loaded yet."""
    groups = make_group_parts(config, loop, group_home(config, loop, storage, share_states, metrics), metrics)
    close_heartbeats = groups.sessions.close_all_heartbeats
    # Topics, configs of groups and features are in the metadata.
    storage.metadata.add_record_listener(close_heartbeats)
    # Whether the assignment interval is over depends on the wall clock.
    loop.wall.add_step_listener(lambda step_ms: close_heartbeats())
    storage.failures.add_listener(partial(unload_offline_groups, storage.partitions, groups.coordinator))
    return groups


def group_home(
    config: Config, loop: NodeLoop, storage: Storage, share_states: ShareStates, metrics: "NodeMetrics | None"
) -> GroupHome:
    """The log directories of this node."""
    checkpoints = AuditCheckpoints(storage.directories.metadata_checkpoint(GROUP_AUDIT))
    meter = None if metrics is None else metrics.runtime.appends
    may_describe = describes_topics(storage.authorizer)
    visible = None if may_describe is None else visible_by(may_describe)
    return GroupHome(
        node_id=config[NODE_ID],
        coordinator_epoch=storage.directories.next_coordinator_epoch(),
        after_clean_stop=storage.directories.metadata.had_clean_shutdown,
        topic=OFFSETS_TOPIC,
        partition_count=storage.image.partition_count(OFFSETS_TOPIC),
        logs=partial(_logs, config, loop, storage, checkpoints, meter),
        topics=storage.image,
        audited=storage.partitions,
        checkpoints=checkpoints,
        producer_ids=storage.producer_ids,
        settings=current_group_settings(config, storage.image),
        listing=TopicListing(storage.image, lambda: storage.metadata.end_offset, visible),
        share_states=share_states,
        topic_creation=InternalTopicCreation(storage.topics, storage.metadata, storage.authorizer, loop.now_ms),
        drain_meter=None if metrics is None else metrics.drain_meter(loop.scheduler.request_iteration),
    )


def _logs(
    config: Config,
    loop: NodeLoop,
    storage: Storage,
    checkpoints: AuditCheckpoints,
    meter: AppendMeter | None,
    index: int,
) -> GroupLogs:
    partitions = storage.partitions
    audit = AuditStream(
        partitions.get(AUDIT_TOPIC, index),
        partitions.leader_epoch,
        compression=config[AUDIT_COMPRESSION_TYPE],
        has_chain=config[AUDIT_CHAIN],
        is_lingering=config[GROUP_AUDIT_LINGER_MS] > 0,
        load_bytes=config[OFFSETS_LOAD_BUFFER_SIZE],
        checkpoints=checkpoints,
    )
    offsets = OffsetsStream(
        partitions.get(OFFSETS_TOPIC, index),
        partitions.leader_epoch,
        COMPRESSIONS[config[OFFSETS_TOPIC_COMPRESSION_CODEC]],
    )
    store = LogStore(
        offsets,
        audit,
        appended=storage.notifier.mark_appended,
        load_bytes=config[OFFSETS_LOAD_BUFFER_SIZE],
        meter=meter,
        when_durable=storage.when_durable,
        is_disk_failure=partitions.is_disk_failure,
        wall=loop.wall,
    )
    return GroupLogs(store, audit, local=store)


def unload_offline_groups(partitions: Partitions, groups: GroupCoordinator) -> None:
    """Unload the shards whose partitions have lost their leader: a log directory has failed."""
    for shard in groups.shards:
        index = shard.partition
        is_led = partitions.leads(OFFSETS_TOPIC, index) and partitions.leads(AUDIT_TOPIC, index)
        if shard.state is not ShardState.INACTIVE and not is_led:
            groups.unload(index)


def load_groups(coordinator: GroupCoordinator, partitions: Partitions) -> None:
    """Begin to load the partitions that this node leads."""
    coordinator.load(
        index
        for index in range(len(coordinator.shards))
        if partitions.leads(OFFSETS_TOPIC, index) and partitions.leads(AUDIT_TOPIC, index)
    )
