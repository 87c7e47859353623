"""How far the retention of the audit topic may delete: never the last events of a live group.

Kafka has no counterpart, because it has no audit topic.
"""

from collections.abc import Callable, Sequence
from typing import Final

from coordinator.groups.audit_schedule import audit_of
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.partition.retention import retained_from
from coordinator.runtime.shard import Shard

SEGMENTS_PER_RETENTION: Final = 4
"""A segment spans at most this part of `retention.ms` and `retention.bytes`, as only whole segments are deleted."""


class AuditRetention:
    """The limit of what may be deleted in each partition of the audit topic: the start of its last checkpoint.

    A checkpoint has a snapshot of each live group of the partition. It counts once it is on stable storage, so that a
    power loss after the deletion leaves it in the log.
    """

    def __init__(
        self,
        shards: Sequence[Shard[GroupStateMachine]],
        request_snapshots: Callable[[Shard[GroupStateMachine]], None],
        request_flush: Callable[[PartitionLog], None],
    ) -> None:
        """`request_snapshots` has a new checkpoint of a shard written; `request_flush` has a log flushed soon."""
        self._shards = shards
        self._request_snapshots = request_snapshots
        self._request_flush = request_flush
        self._durable_checkpoints: dict[int, int] = {}
        """Partition → start of the last checkpoint that is known to be on stable storage."""

    def retained_from(self, log: PartitionLog, wall_ms: int) -> int:
        """Return the offset before which a log of the audit topic may be deleted.

        If that is less than `retention.ms` and `retention.bytes` allow, a new checkpoint is requested, so that a later
        check can delete the rest. Nothing is deleted while the partition is not served, or while one of its groups is
        being rebuilt: its events are needed for that.

        Raises:
            OSError: a segment cannot be rolled, or the time at which it was written cannot be read.
        """
        if log.segments and _spans_too_much(log, wall_ms):
            log.roll()
        shard, offset = self._shards[log.partition], retained_from(log, wall_ms)
        if offset <= log.log_start_offset or not shard.is_active or shard.is_in_flight or shard.failed_keys.by_key:
            return log.log_start_offset
        audit = audit_of(shard)
        if not audit.groups:
            return offset
        if log.recovery_point >= audit.checkpoint_end_offset:
            self._durable_checkpoints[log.partition] = audit.checkpoint_offset
        else:
            self._request_flush(log)
        durable = self._durable_checkpoints.get(log.partition, log.log_start_offset)
        if durable < offset and audit.checkpoint_offset < offset:
            self._request_snapshots(shard)
        return min(offset, max(durable, log.log_start_offset))


def _spans_too_much(log: PartitionLog, wall_ms: int) -> bool:
    """Whether the active segment of an audit log spans so much that it would delay the retention.

    With the default segment.bytes and segment.ms a segment would span more than most retentions.
    """
    active, config = log.segments[-1], log.config
    if not active.size_bytes:
        return False
    is_old = 0 <= config.retention_ms <= SEGMENTS_PER_RETENTION * (wall_ms - active.first_timestamp_ms)
    return is_old or 0 <= config.retention_bytes <= SEGMENTS_PER_RETENTION * active.size_bytes
