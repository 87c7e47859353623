"""What is read at a scrape of the records of share groups. They are counted where they happen, also if nobody asks.

Counterpart in Kafka: `ShareGroupMetrics`, `SharePartitionMetrics`, `ShareSessionCache`, `ShareCoordinatorMetrics`.
"""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from coordinator.internal_topics import SHARE_STATE_TOPIC

if TYPE_CHECKING:
    from coordinator.broker.share.share_partition import SharePartition
    from coordinator.metrics.histogram import Samples
    from coordinator.metrics.metric import Metric
    from coordinator.node.share_plane import SharePlane
    from coordinator.share_state.coordinator import ShareCoordinator

PARTITIONS_MEASURED_MAX: Final = 1_000
"""Share partitions with metrics of their own: those that were loaded first."""


class ShareMeter:
    """All but the writes is 0 until somebody fetches for a share group: before that there is no share plane."""

    def __init__(self, coordinator: "ShareCoordinator") -> None:
        self._coordinator = coordinator
        self._plane: SharePlane | None = None

    def measure(self, plane: "SharePlane") -> None:
        """Read this share plane from now on."""
        self._plane = plane

    def samples(self) -> "Iterator[tuple[Metric, Samples]]":
        """The values of its metrics."""
        from coordinator.metrics.declarations import share as d

        plane = self._plane
        total = None if plane is None else plane.reports.tallies.total
        counts = (0,) * 4 if total is None else (total.accepted, total.released, total.rejected, total.renewed)
        yield (
            d.SHARE_ACKNOWLEDGEMENTS,
            [((name,), count) for name, count in zip(("Accept", "Release", "Reject", "Renew"), counts, strict=True)],
        )
        yield d.SHARE_SESSIONS, [((), 0 if plane is None else len(plane.sessions))]
        yield d.SHARE_SESSION_PARTITIONS, [((), 0 if plane is None else plane.sessions.partition_count)]
        yield d.SHARE_FETCHES_EXPIRED, [((), 0 if plane is None else plane.waiting.expired)]
        yield d.SHARE_STATE_WRITES, [((), self._coordinator.writes)]
        pruned = self._coordinator.pruned.items()
        yield d.SHARE_STATE_PRUNED, [((SHARE_STATE_TOPIC, str(partition)), offset) for partition, offset in pruned]
        some = [] if plane is None else list(islice(plane.share_partitions, PARTITIONS_MEASURED_MAX))
        names = [(partition, _names(partition)) for partition in some]
        yield d.SHARE_IN_FLIGHT_MESSAGES, [(labels, partition.window.record_count) for partition, labels in names]
        yield d.SHARE_IN_FLIGHT_BATCHES, [(labels, partition.window.piece_count) for partition, labels in names]
        yield d.SHARE_LOCK_TIMEOUTS, [(labels, partition.locks_ended) for partition, labels in names]


def _names(share_partition: "SharePartition") -> tuple[str, str, str]:
    key = share_partition.key
    return key.group_id, share_partition.log.topic, str(key.partition)
