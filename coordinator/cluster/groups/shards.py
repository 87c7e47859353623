"""What a node in front of a cluster asks of all shards of its group coordinator."""

from functools import partial

from coordinator.audit.schema import GroupHeldByCluster
from coordinator.cluster.log.store import ClusterStore
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.runtime.shard import ShardState


def renew_epochs(coordinator: GroupCoordinator) -> None:
    """Have the epochs of partitions renewed that were taken over long ago."""
    for shard in coordinator.shards:
        if shard.is_active and isinstance(shard.store, ClusterStore):
            shard.store.renew_if_due(partial(coordinator.write_about_coordinator, shard))


def report_held(coordinator: GroupCoordinator, event: GroupHeldByCluster) -> None:
    """Write the event to the audit of the group, which need not have any other."""
    shard = coordinator.shard_of(event.group_id)
    if shard.is_active:
        coordinator.write_about_coordinator(shard, event)


def is_stored(coordinator: GroupCoordinator) -> bool:
    """Whether all that was decided is acknowledged by the cluster."""
    return all(shard.is_idle for shard in coordinator.shards if shard.state is ShardState.ACTIVE)
