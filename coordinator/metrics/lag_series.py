"""The lag of single groups by partition, in records and in seconds, for a bounded number of partitions."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from coordinator.audit.world import OffsetsByTopic, committed_count, committed_partitions
from coordinator.core.lag import lag_ms
from coordinator.groups.audit_schedule import audit_of
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.metrics.census import Pause
from coordinator.metrics.declarations import single_groups as d
from coordinator.metrics.group_series import group_label
from coordinator.metrics.histogram import Samples
from coordinator.metrics.metric import Metric

PARTITIONS_AT_ONCE: Final = 25
"""Partitions that are looked up before others have their turn: some half a millisecond."""
MS_PER_SECOND: Final = 1000

TimestampAt = Callable[[str, int, int], int | None]


class PartitionLagValues(NamedTuple):
    """`lag_ms` is None if it is unknown."""

    topic: str
    partition: int
    lag: int
    lag_ms: int | None


class GroupLagValues(NamedTuple):
    """The partitions of one group whose lag is known."""

    label: str
    partitions: list[PartitionLagValues]


async def read_lags(
    group_ids: Sequence[str],
    coordinator: GroupCoordinator,
    partitions_max: int,
    timestamp_at: TimestampAt,
    now_ms: int,
    pause: Pause,
) -> list[GroupLagValues]:
    """The lags of those groups whose committed partitions are not more than `partitions_max` together.

    The groups with the fewest partitions come first. `pause` is awaited between slices; a group that is removed
    meanwhile has the lags that it had.
    """
    sizes = []
    for group_id in group_ids:
        sizes.append((_committed_count(group_id, coordinator), group_id))
        await pause()  # each has to look at all topics of the group
    lags, left = [], partitions_max
    for size, group_id in sorted(sizes):
        left -= size
        if left < 0:
            break
        partitions = await _read_group(group_id, coordinator, timestamp_at, now_ms, pause)
        lags.append(GroupLagValues(group_label(group_id), partitions))
    return sorted(lags)


def _committed_count(group_id: str, coordinator: GroupCoordinator) -> int:
    return committed_count(_offsets_of(group_id, coordinator))


def _offsets_of(group_id: str, coordinator: GroupCoordinator) -> OffsetsByTopic:
    group = coordinator.shard_of(group_id).machine.groups.get(group_id)
    return {} if group is None else group.offsets.by_topic


async def _read_group(
    group_id: str, coordinator: GroupCoordinator, timestamp_at: TimestampAt, now_ms: int, pause: Pause
) -> list[PartitionLagValues]:
    found = []
    cluster = audit_of(coordinator.shard_of(group_id)).world.cluster
    for number, committed_partition in enumerate(committed_partitions(_offsets_of(group_id, coordinator), cluster)):
        if committed_partition.lag is not None:
            oldest_ms = (
                timestamp_at(
                    committed_partition.topic, committed_partition.partition, committed_partition.committed_offset
                )
                if committed_partition.lag > 0
                else None
            )
            found.append(
                PartitionLagValues(
                    committed_partition.topic,
                    committed_partition.partition,
                    committed_partition.lag,
                    lag_ms(committed_partition.lag, oldest_ms, now_ms),
                )
            )
        if number % PARTITIONS_AT_ONCE == PARTITIONS_AT_ONCE - 1:
            await pause()
    await pause()
    return found


def lag_samples(groups: Sequence[GroupLagValues]) -> Iterator[tuple[Metric, Samples]]:
    """The samples of each metric of lags."""
    partitions = [
        ((group.label, partition.topic, str(partition.partition)), partition)
        for group in groups
        for partition in group.partitions
    ]
    yield (
        d.GROUP_LAG_SECONDS,
        [
            ((group.label,), max(ages_ms) / MS_PER_SECOND)
            for group in groups
            if (ages_ms := [partition.lag_ms for partition in group.partitions if partition.lag_ms is not None])
        ],
    )
    yield d.GROUP_PARTITION_LAG, [(labels, partition.lag) for labels, partition in partitions]
    yield (
        d.GROUP_PARTITION_LAG_SECONDS,
        [
            (labels, partition.lag_ms / MS_PER_SECOND)
            for labels, partition in partitions
            if partition.lag_ms is not None
        ],
    )
